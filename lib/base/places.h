/* places.h - where in a text the sentences of a pipeline are (base/pipeline.h): its tools count
 * sentences, and users lines. The process that feeds them notes the line of each in memory that
 * they share, and they note there which sentences are bad: a line of text that comes back is empty
 * for these, but also where a model's output is. */
#ifndef TF_BASE_PLACES_H
#define TF_BASE_PLACES_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

/* How many sentences may be under way. */
enum { TF_PLACES = 1 << 16 };

/* Begin to note the lines of a text, for commands that this process starts from now on. */
int tf_places_begin(const char *name, struct tf_err *err) TF_MUST_CHECK;
/* The line, from 1, of the sentence with this number, from 0; 0 where it is not known. */
void tf_places_put(uint64_t number, uint64_t line);
/* Has a tool found that this sentence is bad? To be asked when its line has come back. */
bool tf_places_is_bad(uint64_t number);

/* What a message is about: "INPUT: WHAT NUMBER". */
struct tf_place_of {
    const char *input, *what; /* "stdin", "record" */
    uint64_t number;
    bool of_text; /* a line of the text */
};
/* An item of an input, counted from `first`, 0 or 1: a line of the text that it is from, if it is a
 * sentence of such a text and its line is known; else as it is given. */
struct tf_place_of tf_place(const char *input, const char *what, uint64_t number, uint64_t first);
/* Note that such an item is bad, before anything is written for it. */
void tf_place_set_bad(uint64_t number, uint64_t first);

#endif
