/* msan_cbor.c - what MemorySanitizer can't see of libcbor, which is not compiled with it: the bytes
 * that an encoder wrote, the result of a decoding step, and the arguments of the callback that it
 * makes. Linked by row M with --wrap=NAME for each of WRAPPED. */
#include <cbor.h>
#include <sanitizer/msan_interface.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WRAPPED(name, type)                                            \
    size_t __real_##name(type, unsigned char *, size_t);               \
    size_t __wrap_##name(type, unsigned char *, size_t);               \
    size_t __wrap_##name(type x, unsigned char *p, size_t n)           \
    {                                                                  \
        size_t written = __real_##name(x, p, n);                       \
        __msan_unpoison(&written, sizeof written);                     \
        __msan_unpoison(p, written);                                   \
        return written;                                                \
    }

WRAPPED(cbor_encode_uint, uint64_t)
WRAPPED(cbor_encode_negint, uint64_t)
WRAPPED(cbor_encode_tag, uint64_t)
WRAPPED(cbor_encode_array_start, size_t)
WRAPPED(cbor_encode_map_start, size_t)
WRAPPED(cbor_encode_bytestring_start, size_t)
WRAPPED(cbor_encode_string_start, size_t)
WRAPPED(cbor_encode_bool, bool)
WRAPPED(cbor_encode_single, float)
WRAPPED(cbor_encode_double, double)

struct cbor_decoder_result __real_cbor_stream_decode(cbor_data, size_t,
                                                     const struct cbor_callbacks *, void *);
struct cbor_decoder_result __wrap_cbor_stream_decode(cbor_data, size_t,
                                                     const struct cbor_callbacks *, void *);
struct cbor_decoder_result __wrap_cbor_stream_decode(cbor_data p, size_t n,
                                                     const struct cbor_callbacks *callbacks,
                                                     void *context)
{
    /* of the callback: context, and a number or a pointer with a length */
    __msan_unpoison_param(3);
    struct cbor_decoder_result r = __real_cbor_stream_decode(p, n, callbacks, context);
    __msan_unpoison(&r, sizeof r);
    return r;
}
