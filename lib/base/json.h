/* json.h - JSON (RFC 8259), one value at a time: a writer that appends to a buffer, a reader that
 * walks text without building a tree. */
#ifndef TF_BASE_JSON_H
#define TF_BASE_JSON_H

#include "base/buf.h"
#include <stdbool.h>
#include <stdint.h>

/* Writer. Commas are put in by tf_json_* themselves: a value or key that follows another in the
 * same array or object gets one. Text must be UTF-8; other bytes become U+FFFD. Reals print by
 * tf_format_real; NaN and infinities as null. */
struct tf_json {
    struct tf_buf *out;
    bool comma;
};
void tf_json_open(struct tf_json *j, char bracket);  /* '{' or '[' */
void tf_json_close(struct tf_json *j, char bracket); /* '}' or ']' */
void tf_json_key(struct tf_json *j, const char *key);
void tf_json_str(struct tf_json *j, const char *s);
void tf_json_strn(struct tf_json *j, const char *s, size_t n);
void tf_json_int(struct tf_json *j, int64_t x);
void tf_json_uint(struct tf_json *j, uint64_t x);
void tf_json_real(struct tf_json *j, double x);
void tf_json_bool(struct tf_json *j, bool x);
void tf_json_null(struct tf_json *j);
void tf_json_raw(struct tf_json *j, const char *text); /* text that already is JSON */
/* A member of an object: a key and its value. */
void tf_json_put_str(struct tf_json *j, const char *key, const char *s);
void tf_json_put_int(struct tf_json *j, const char *key, int64_t x);
void tf_json_put_uint(struct tf_json *j, const char *key, uint64_t x);
void tf_json_put_real(struct tf_json *j, const char *key, double x);
void tf_json_put_bool(struct tf_json *j, const char *key, bool x);

/* Reader: a pull parser over one complete text. tf_json_next gives the next token; strings are
 * decoded into `text` (owned by the reader, valid until the next call). Depth at most 64. Anything
 * that RFC 8259 does not allow is an error with its byte offset. */
enum tf_json_kind {
    TF_JSON_END,
    TF_JSON_OBJECT,
    TF_JSON_OBJECT_END,
    TF_JSON_ARRAY,
    TF_JSON_ARRAY_END,
    TF_JSON_KEY,
    TF_JSON_STRING,
    TF_JSON_NUMBER,
    TF_JSON_BOOL,
    TF_JSON_NULL
};
struct tf_json_reader {
    const char *p, *end, *start;
    char stack[64];
    int depth;
    int state;
    struct tf_buf text;    /* of KEY, STRING; digits of NUMBER; its p is not NULL after these */
    double real;           /* NUMBER */
    bool is_int, negative; /* NUMBER without fraction or exponent that fits: magnitude in uint */
    uint64_t uint;
    bool boolean;
};
/* start; the text must outlive the reader */
void tf_json_read(struct tf_json_reader *r, const char *text, size_t n);
int tf_json_next(struct tf_json_reader *r, enum tf_json_kind *kind,
                 struct tf_err *err) TF_MUST_CHECK;
/* past the value that begins with the next token */
int tf_json_skip(struct tf_json_reader *r, struct tf_err *err) TF_MUST_CHECK;
void tf_json_read_release(struct tf_json_reader *r);

#endif
