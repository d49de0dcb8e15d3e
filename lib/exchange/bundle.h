/* bundle.h - what the formats of other programs can store: tensors, a configuration as JSON, and a
 * vocabulary. */
#ifndef TF_EXCHANGE_BUNDLE_H
#define TF_EXCHANGE_BUNDLE_H

#include "stream/model.h"

/* The contents of a file. Zero-initialise; tf_bundle_release frees the memory of a reader. */
struct tf_bundle {
    struct tf_arena arena;
    /* A reader's are in the arena; names as in the file, unique; data not necessarily aligned; crc
     * is not set. */
    struct tf_tensor *tensors;
    size_t n;
    size_t file_n;      /* bytes of the file that was read */
    bool int8;          /* some had 8 bits in the file, and became f32 */
    const char *format; /* of safetensors, written: NULL is tf-tools */
    const char *config; /* JSON text of config_n bytes, or NULL */
    size_t config_n;
    /* SentencePiece model bytes, or NULL; the target's is NULL where one serves both sides */
    const uint8_t *vocab, *vocab_target;
    size_t vocab_n, vocab_target_n;
};
void tf_bundle_release(struct tf_bundle *b);
/* The tensor of that name, or NULL. */
struct tf_tensor *tf_bundle_find(const struct tf_bundle *b, const char *name);
/* Put rows of zeros before and after those of a tensor. Returns its data, which the arena has. */
char *tf_tensor_add_rows(struct tf_tensor *t, uint64_t before, uint64_t after, struct tf_arena *a);
/* Have two tensors the same type and bytes? */
bool tf_tensors_equal(const struct tf_tensor *a, const struct tf_tensor *b);

#endif
