/* terms_private.h - what outputs must contain, from files: phrases for each input, and a glossary
 * whose terms are found in the sources. The search is that of wanted_private.h.
 *
 * Phrases are lines of pieces, as `tf-tokenize --pieces` writes them, between tabs. A file of
 * constraints has a line for each input. One of terms has lines of a source term, which is text,
 * and its targets, which are phrases: an output needs one of them.
 *
 * A source contains the terms that its text, as its ids spell it (text/spelling.h), has by the rule
 * of text/glossary.h; terms are normalised as sources are. A term that is there more than once
 * counts once. */
#ifndef TF_INFER_TERMS_PRIVATE_H
#define TF_INFER_TERMS_PRIVATE_H

#include "infer/ensemble_private.h"
#include "infer/wanted_private.h"
#include "text/glossary.h"
#include "text/spelling.h"

#define TF_TERMS_MOST ((size_t)1024) /* ids of all phrases of a line, or of those of a sentence */

struct tf_term {
    struct tf_wanted_term target;
    struct tf_text source; /* as the file has it */
    uint64_t line;
};

/* Zero-initialise. */
struct tf_terms {
    struct tf_arena mem;
    struct tf_spelling target, source;
    struct tf_continues continues;
    int64_t unk;             /* of sources */
    bool constrained;        /* there is a file of constraints, perhaps empty */
    struct tf_wanted *lines; /* of that file, n_lines */
    size_t n_lines, cap_lines;
    struct tf_term_set sources; /* numbers of terms */
    struct tf_term *terms;
    size_t n_terms, cap_terms;
};

/* Read the files, each a path or NULL (terms_name: what messages call it, or NULL), for a search
 * with these options; their SHA-256 go to the models' inputs as "constraints" and "terms". Errors
 * name the line: a piece that the vocabulary has not or that is never produced; a phrase that
 * continues a word, or ends within one; a source without target, or twice. */
int tf_terms_read(struct tf_terms *t, const char *constraints, const char *terms,
                  const char *terms_name, struct tf_ensemble *m, const struct tf_search_opts *opts,
                  struct tf_err *err) TF_MUST_CHECK;
void tf_terms_release(struct tf_terms *t);

/* What the output of record `number`, counted from 0, must contain; in memory of the arena. -1: the
 * file of constraints has no such line. */
int tf_terms_of(const struct tf_terms *t, struct tf_arena *mem, uint64_t number,
                const uint32_t *source, size_t n, struct tf_wanted *wanted) TF_MUST_CHECK;

#endif
