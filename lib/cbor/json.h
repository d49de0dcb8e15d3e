/* json.h - CBOR values as JSON, and back to the same values. Reals keep a point or an exponent and
 * have as few digits as read back to the same number; byte strings are {"$hex": digits}, or the
 * digits alone where tf_value_is_hash_key expects a SHA-256; reals that JSON cannot express are
 * {"$real": "nan"}, "inf" or "-inf". */
#ifndef TF_CBOR_JSON_H
#define TF_CBOR_JSON_H

#include "base/json.h"
#include "cbor/value.h"

void tf_value_to_json(struct tf_json *j, const struct tf_value *v);
/* n bytes as lower-case hex digits. */
void tf_json_hex(struct tf_json *j, const void *p, size_t n);

/* Values read so far, of all calls with the same struct; more than max are refused. */
struct tf_json_values {
    struct tf_json_reader *r;
    struct tf_arena *a; /* of the values */
    size_t n, max;
};
/* Read the value that begins with the token `first`, which is the reader's last. key: of the value,
 * for messages and hashes. Refuses NUL in text, keys twice, integers outside int64 and more than
 * TF_MAX_VALUES keys in an object. */
int tf_value_from_json(struct tf_json_values *j, enum tf_json_kind first, const char *key,
                       struct tf_value *v, struct tf_err *err) TF_MUST_CHECK;
/* A key or string, the reader's last token, as a C string in the arena. */
int tf_json_text(const struct tf_json_values *j, char **s, struct tf_err *err) TF_MUST_CHECK;
/* Lower-case hex digits as BYTES. */
int tf_value_from_hex(struct tf_value *v, struct tf_arena *a, const char *s,
                      struct tf_err *err) TF_MUST_CHECK;
/* "nan", "inf" or "-inf"; false for other text. */
bool tf_special_real(const char *s, double *x);

#endif
