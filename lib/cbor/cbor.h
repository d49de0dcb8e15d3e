/* cbor.h - CBOR (RFC 8949) items in memory: a writer that appends deterministic encodings to a
 * buffer, and a reader that walks one complete item within limits. Of libcbor only the streaming
 * calls are used; nothing outside lib/wire sees it. */
#ifndef TF_CBOR_CBOR_H
#define TF_CBOR_CBOR_H

#include "base/arena.h"
#include "base/buf.h"
#include <stdbool.h>
#include <stdint.h>

enum {
    TF_CBOR_DEPTH = 8,     /* arrays, maps and tags inside each other, at most */
    TF_MAX_VALUES = 65536, /* values in one tree */
};

/* ---- writer: shortest heads, definite lengths (RFC 8949, 4.2.1) ---- */
void tf_cbor_uint(struct tf_buf *b, uint64_t x);
void tf_cbor_int(struct tf_buf *b, int64_t x);
void tf_cbor_bytes(struct tf_buf *b, const void *p, size_t n);
void tf_cbor_text(struct tf_buf *b, const char *s, size_t n); /* s is UTF-8 */
void tf_cbor_str(struct tf_buf *b, const char *s);
void tf_cbor_array(struct tf_buf *b, uint64_t n); /* head; n items follow */
/* head; n pairs follow, keys in bytewise order of their encodings */
void tf_cbor_map(struct tf_buf *b, uint64_t n);
void tf_cbor_tag(struct tf_buf *b, uint64_t tag);
void tf_cbor_bool(struct tf_buf *b, bool x);
void tf_cbor_null(struct tf_buf *b);
/* shortest of half, single, double that keeps the value; NaN as f97e00 */
void tf_cbor_real(struct tf_buf *b, double x);
void tf_cbor_f32(struct tf_buf *b, float x);                  /* always binary32 (scores) */
/* head of a byte string whose payload is written apart */
void tf_cbor_bytes_head(struct tf_buf *b, uint64_t n);
void tf_cbor_sha256(struct tf_buf *b, const uint8_t sha[32]); /* tag 18540 */

/* ---- values: what headers and states hold ---- */
enum tf_value_kind { TF_NULL, TF_BOOL, TF_INT, TF_REAL, TF_TEXT, TF_BYTES, TF_ARRAY, TF_MAP };

/* A CBOR value as a small tree in an arena. Integers within int64. Tags are dropped but for typed
 * arrays, which become arrays of numbers only through the typed readers of stream.h. Map keys are
 * text, unique. */
struct tf_value {
    enum tf_value_kind kind;
    bool boolean;
    int64_t integer;
    double real;
    const char *text;       /* TEXT (terminated, UTF-8) and BYTES */
    size_t n;               /* bytes of text; items of array; pairs of map */
    struct tf_value *items; /* ARRAY: n; MAP: n values */
    const char **keys;      /* MAP: n keys, sorted by length then bytes */
};

struct tf_value tf_value_null(void);
struct tf_value tf_value_bool(bool x);
struct tf_value tf_value_int(int64_t x);
struct tf_value tf_value_real(double x);
struct tf_value tf_value_str(struct tf_arena *a, const char *s);
struct tf_value tf_value_bytes(struct tf_arena *a, const void *p, size_t n);
struct tf_value tf_value_array(void);
struct tf_value tf_value_map(void);
/* Put (or replace) a key of a map; append to an array. Memory from the arena; v is copied
 * shallowly. */
void tf_value_put(struct tf_arena *a, struct tf_value *map, const char *key, struct tf_value v);
void tf_value_push(struct tf_arena *a, struct tf_value *array, struct tf_value v);
/* The value of a key, or NULL. */
const struct tf_value *tf_value_get(const struct tf_value *map, const char *key);
struct tf_value tf_value_clone(struct tf_arena *a, const struct tf_value *v); /* deep copy */
bool tf_value_equal(const struct tf_value *a, const struct tf_value *b);
/* Typed look-up: 0 and *out filled; 1 when the key is absent (*out untouched); -1 with "key: not an
 * integer" or a range message. */
int tf_value_int_of(const struct tf_value *map, const char *key, int64_t lo, int64_t hi,
                    int64_t *out, struct tf_err *err) TF_MUST_CHECK;
int tf_value_real_of(const struct tf_value *map, const char *key, double lo, double hi, double *out,
                     struct tf_err *err) TF_MUST_CHECK;
int tf_value_bool_of(const struct tf_value *map, const char *key, bool *out,
                     struct tf_err *err) TF_MUST_CHECK;
int tf_value_text_of(const struct tf_value *map, const char *key, const char **out,
                     struct tf_err *err) TF_MUST_CHECK;
/* BYTES of 32 */
int tf_value_sha_of(const struct tf_value *map, const char *key, uint8_t out[32],
                    struct tf_err *err) TF_MUST_CHECK;

/* Deterministic encoding; BYTES of 32 under a key ending in "sha256", or named vocab/model/corpus,
 * or in a map named "in", get tag 18540. */
void tf_cbor_value(struct tf_buf *b, const struct tf_value *v);
/* Decode exactly one item of n bytes into an arena; refuses depth > TF_CBOR_DEPTH, more than
 * TF_MAX_VALUES values, indefinite lengths, invalid UTF-8, NUL in text, keys that are not text,
 * duplicate keys, integers outside int64, trailing bytes. Foreign tags are dropped. */
int tf_cbor_parse(struct tf_value *v, struct tf_arena *a, const void *p, size_t n,
                  struct tf_err *err) TF_MUST_CHECK;

const char *tf_cbor_library(void); /* the version of libcbor that this was built with: "0.8.0" */

#endif
