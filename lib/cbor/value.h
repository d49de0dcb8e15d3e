/* value.h - trees of CBOR values in an arena, as in headers and states. */
#ifndef TF_CBOR_VALUE_H
#define TF_CBOR_VALUE_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

enum { TF_MAX_VALUES = 65536 /* values in one tree */ };

enum tf_value_kind { TF_NULL, TF_BOOL, TF_INT, TF_REAL, TF_TEXT, TF_BYTES, TF_ARRAY, TF_MAP };

/* Integers are those of int64; map keys are text and unique; tags are not kept. */
struct tf_value {
    enum tf_value_kind kind;
    uint32_t room; /* ARRAY and MAP: values that items can hold */
    size_t n;      /* bytes of text; items of an array; pairs of a map */
    union {
        bool boolean;
        int64_t integer;
        double real;
        const char *text;       /* TEXT (UTF-8) and BYTES: n bytes and a NUL */
        struct tf_value *items; /* ARRAY and MAP: n values */
    };
    const char **keys; /* MAP: n keys, sorted by length, then bytes */
};

struct tf_value tf_value_null(void);
struct tf_value tf_value_bool(bool x);
struct tf_value tf_value_int(int64_t x);
struct tf_value tf_value_real(double x);
struct tf_value tf_value_str(struct tf_arena *a, const char *s);
struct tf_value tf_value_bytes(struct tf_arena *a, const void *p, size_t n);
struct tf_value tf_value_array(void);
struct tf_value tf_value_map(void);

/* Set a key of a map, replacing its value; append to an array. The key is copied into the arena, v
 * shallowly. */
void tf_value_put(struct tf_arena *a, struct tf_value *map, const char *key, struct tf_value v);
void tf_value_put_uint(struct tf_arena *a, struct tf_value *map, const char *key, uint64_t x);
void tf_value_push(struct tf_arena *a, struct tf_value *array, struct tf_value v);
/* Make a map of n pairs, in any order; the array is sorted in place, keys are not copied. Returns
 * NULL, or a key that two pairs have. Faster than n calls of tf_value_put. */
struct tf_value_pair {
    const char *key;
    struct tf_value value;
};
const char *tf_value_from_pairs(struct tf_arena *a, struct tf_value *map,
                                struct tf_value_pair *pairs, size_t n);
/* Make an array of n values, which are copied shallowly. */
struct tf_value tf_value_from_items(struct tf_arena *a, const struct tf_value *items, size_t n);
/* The value of a key, or NULL: also of NULL and of what is no map. */
const struct tf_value *tf_value_get(const struct tf_value *map, const char *key);
/* The same, but NULL where it is of another kind. */
const struct tf_value *tf_value_find(const struct tf_value *map, const char *key,
                                     enum tf_value_kind kind);
struct tf_value tf_value_clone(struct tf_arena *a, const struct tf_value *v); /* deep copy */
bool tf_value_equal(const struct tf_value *a, const struct tf_value *b);

/* Typed look-up in a map: 0 and *out set; 1 if the key is absent (*out unchanged); -1 with a
 * message that begins with the key. Ranges are inclusive. */
int tf_value_int_of(const struct tf_value *map, const char *key, int64_t lo, int64_t hi,
                    int64_t *out, struct tf_err *err) TF_MUST_CHECK;
int tf_value_real_of(const struct tf_value *map, const char *key, double lo, double hi, double *out,
                     struct tf_err *err) TF_MUST_CHECK;
int tf_value_bool_of(const struct tf_value *map, const char *key, bool *out,
                     struct tf_err *err) TF_MUST_CHECK;
int tf_value_text_of(const struct tf_value *map, const char *key, const char **out,
                     struct tf_err *err) TF_MUST_CHECK;
int tf_value_sha_of(const struct tf_value *map, const char *key, uint8_t out[32],
                    struct tf_err *err) TF_MUST_CHECK; /* BYTES of 32 */

/* The order of text keys in deterministic CBOR (RFC 8949, 4.2.1): by length, then bytes. Negative,
 * 0 or positive as strcmp. */
int tf_key_order(const char *a, const char *b);
/* Is a byte string of 32 at this key a SHA-256? True for keys that end in "sha256", for "vocab",
 * "model" and "corpus", and for all keys of a map that is itself at the key "in" (parent). */
bool tf_value_is_hash_key(const char *parent, const char *key);
/* Append the deterministic encoding; hashes get tag 18540. */
void tf_cbor_value(struct tf_buf *b, const struct tf_value *v);
/* Decode n bytes, exactly one item, into the arena. Refuses depth > TF_CBOR_DEPTH, more than
 * TF_MAX_VALUES values, indefinite lengths, text that is not UTF-8 or contains NUL, map keys that
 * are not text or not unique, integers outside int64, undefined and other simple values, and
 * trailing bytes. Tags are dropped. */
int tf_cbor_parse(struct tf_value *v, struct tf_arena *a, const void *p, size_t n,
                  struct tf_err *err) TF_MUST_CHECK;

#endif
