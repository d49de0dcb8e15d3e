/* json.h - trees of values (value.h) to and from JSON, in one of two styles.
 *
 * TF_JSON_EXACT reads back to the same values, except maps and texts that look like what stands for
 * byte strings and reals here. Reals keep a point or an exponent (1.0 is not 1) and
 * have the fewest digits that read back to the same number. Byte strings are {"$hex": digits}, or
 * the digits alone where tf_value_is_hash_key expects a SHA-256. Reals that JSON cannot express are
 * {"$real": "nan"}, "inf" or "-inf".
 *
 * TF_JSON_PLAIN is JSON as other programs write and read it. Byte strings are written as hex digits
 * and read as text; NaN and infinities are written as null; integers outside int64 are read as
 * reals, -0 as 0. */
#ifndef TF_CBOR_JSON_H
#define TF_CBOR_JSON_H

#include "base/json.h"
#include "cbor/value.h"

enum tf_json_style { TF_JSON_EXACT, TF_JSON_PLAIN };

void tf_value_to_json(struct tf_json *j, const struct tf_value *v, enum tf_json_style style);
/* A member of an object. */
void tf_json_put_value(struct tf_json *j, const char *key, const struct tf_value *v,
                       enum tf_json_style style);
/* Write n bytes as lower-case hex digits. */
void tf_json_hex(struct tf_json *j, const void *p, size_t n);

/* Settings and state of tf_value_from_json. n counts the values that all calls with this struct
 * have read; more than max are an error. */
struct tf_json_values {
    struct tf_json_reader *r; /* without nul */
    struct tf_arena *a; /* of the values */
    size_t n, max;
    enum tf_json_style style;
};
/* Read the value that begins with the token `first`, which the reader has just returned. key is
 * that of the value, for messages and hashes. Errors: invalid JSON, a key twice, more than
 * TF_MAX_VALUES keys in an object; with TF_JSON_EXACT, integers outside int64. */
int tf_value_from_json(struct tf_json_values *j, enum tf_json_kind first, const char *key,
                       struct tf_value *v, struct tf_err *err) TF_MUST_CHECK;
/* A copy of the reader's last token, a key or string, in the arena. */
char *tf_json_text(const struct tf_json_reader *r, struct tf_arena *a);
/* Read n bytes of text that are one value of at most TF_MAX_VALUES values; what names it in
 * messages. */
int tf_value_from_json_text(struct tf_value *v, struct tf_arena *a, const char *text, size_t n,
                            enum tf_json_style style, const char *what,
                            struct tf_err *err) TF_MUST_CHECK;
/* n lower-case hex digits as BYTES. */
int tf_value_from_hex(struct tf_value *v, struct tf_arena *a, const char *s, size_t n,
                      struct tf_err *err) TF_MUST_CHECK;
/* "nan", "inf" or "-inf"; false for other text. */
bool tf_special_real(const char *s, double *x);

#endif
