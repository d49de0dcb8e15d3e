/* recognise.h - names the format of a file by its first bytes, for every reader that refuses it. */
#ifndef TF_STREAM_RECOGNISE_H
#define TF_STREAM_RECOGNISE_H

#include <stdbool.h>
#include <stddef.h>

/* name: what the file is, as "data compressed by zstd". text, stream: what makes text or a stream
 * of it, as "zstd -dc"; "" if nothing does. */
struct tf_recognised {
    char name[80];
    const char *text, *stream;
    bool is_text;  /* UTF-8, JSON included */
    bool is_json;  /* begins like it */
    bool is_vocab; /* a SentencePiece model */
};

/* Recognise a format by the first n bytes of a file, 64 if it has so many. False if it is none of
 * the table, or empty. Only formats that are no UTF-8 text, or do not look like any, are not
 * is_text. */
bool tf_recognise(struct tf_recognised *found, const void *p, size_t n);

#endif
