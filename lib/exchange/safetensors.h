/* safetensors.h - read and write safetensors (Hugging Face): 8 bytes of header length
 * (little-endian), a header in JSON of at most 100 MB, the data. The configuration is "config" of
 * its __metadata__, the vocabularies tensors "vocab" and "vocab_target" of U8. Read from n bytes
 * that outlive *b: dtypes of tf_dtype, offsets in order without gaps, unique names. Written tensors
 * begin at multiples of 64 bytes of the file where their sizes allow (the header is padded with
 * spaces), in order of names within a size of element, as the format's own library does. */
#ifndef TF_EXCHANGE_SAFETENSORS_H
#define TF_EXCHANGE_SAFETENSORS_H

#include "exchange/bundle.h"

/* Do these bytes, of which 9 are enough, begin such a file? */
bool tf_safetensors_begins(const void *p, size_t n);
int tf_safetensors_read(struct tf_bundle *b, const void *p, size_t n,
                        struct tf_err *err) TF_MUST_CHECK;
int tf_safetensors_write(struct tf_out *out, const struct tf_bundle *b,
                         struct tf_err *err) TF_MUST_CHECK;

#endif
