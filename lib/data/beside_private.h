/* beside_private.h - a file of text beside a corpus, with a line for each of its records. */
#ifndef TF_DATA_BESIDE_PRIVATE_H
#define TF_DATA_BESIDE_PRIVATE_H

#include "base/hash.h"
#include "base/input.h"

/* Zero-initialised there is none. */
struct tf_beside {
    bool there;
    struct tf_in in;
    struct tf_sha256 sha; /* of the lines since tf_beside_add, each with a line feed */
};
int tf_beside_open(struct tf_beside *b, const char *path, struct tf_err *err) TF_MUST_CHECK;
void tf_beside_close(struct tf_beside *b);
/* The line of a record, counted from 1; valid until the next call. Fails when there is none.
 * corpus: its name, for messages. */
int tf_beside_line(struct tf_beside *b, uint64_t record, const char *corpus, const char **line,
                   size_t *n, struct tf_err *err) TF_MUST_CHECK;
/* After the lines of all records: fails when there is one more. */
int tf_beside_end(struct tf_beside *b, uint64_t records, const char *corpus,
                  struct tf_err *err) TF_MUST_CHECK;
/* Add the hash of the lines to that of a corpus. */
void tf_beside_add(struct tf_beside *b, struct tf_sha256 *corpus);

#endif
