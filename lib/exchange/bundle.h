/* bundle.h - read and write the formats of other programs: safetensors (Hugging Face) and npz
 * (numpy). A bundle is what both can store: tensors, a configuration as JSON, and a vocabulary. */
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
    const char *config; /* JSON text of config_n bytes, or NULL */
    size_t config_n;
    /* SentencePiece model bytes, or NULL; the target's is NULL where one serves both sides */
    const uint8_t *vocab, *vocab_target;
    size_t vocab_n, vocab_target_n;
};
void tf_bundle_release(struct tf_bundle *b);

/* safetensors: 8 bytes of header length (little-endian), a header in JSON of at most 100 MB, the
 * data. The configuration is "config" of its __metadata__, the vocabulary a tensor "vocab" of U8.
 * Read from n bytes that outlive *b: dtypes of tf_dtype, offsets in order without gaps, unique
 * names. Written tensors begin at multiples of 64 bytes of the file where
 * their sizes allow (the header is padded with spaces), in order of names within a size of element,
 * as the format's own library does. */
/* Do these bytes, of which 9 are enough, begin such a file? */
bool tf_safetensors_begins(const void *p, size_t n);
int tf_safetensors_read(struct tf_bundle *b, const void *p, size_t n,
                        struct tf_err *err) TF_MUST_CHECK;
int tf_safetensors_write(struct tf_out *out, const struct tf_bundle *b,
                         struct tf_err *err) TF_MUST_CHECK;

/* npz: a ZIP archive (stored, not compressed; ZIP64 where it must) of NAME.npy files,
 * little-endian, in C order. The configuration and the vocabulary are one-dimensional arrays
 * "config" and "vocab" of uint8; tensors of these names can't be written. numpy has no bf16, so
 * writing it is an error. Read from n bytes that outlive *b; CRCs are checked.
 * Written data begin at multiples of 64 bytes of the archive; the same bundle makes the same
 * bytes. */
int tf_npz_read(struct tf_bundle *b, const void *p, size_t n, struct tf_err *err) TF_MUST_CHECK;
int tf_npz_write(struct tf_out *out, const struct tf_bundle *b, struct tf_err *err) TF_MUST_CHECK;

#endif
