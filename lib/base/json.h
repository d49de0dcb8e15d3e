/* json.h - JSON (RFC 8259): a writer that appends to a buffer, and a pull parser. */
#ifndef TF_BASE_JSON_H
#define TF_BASE_JSON_H

#include "base/buf.h"
#include <stdbool.h>
#include <stdint.h>

/* Writer. It adds the commas. Text is UTF-8; unsafe characters (tf_utf8_unsafe) are escaped,
 * ill-formed bytes replaced by U+FFFD. Reals are written as tf_format_real does, NaN and infinities
 * as null. Zero-initialise and set out. */
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
void tf_json_ids(struct tf_json *j, const uint32_t *ids, size_t n); /* an array */
void tf_json_strs(struct tf_json *j, const char *const *v, size_t n); /* the same of texts */
void tf_json_real(struct tf_json *j, double x);
void tf_json_bool(struct tf_json *j, bool x);
void tf_json_null(struct tf_json *j);
void tf_json_raw(struct tf_json *j, const char *text); /* text is JSON */
/* A member of an object: a key and its value. */
void tf_json_put_str(struct tf_json *j, const char *key, const char *s);
void tf_json_put_strn(struct tf_json *j, const char *key, const char *s, size_t n);
void tf_json_put_open(struct tf_json *j, const char *key, char bracket); /* '{' or '[' */
void tf_json_put_int(struct tf_json *j, const char *key, int64_t x);
void tf_json_put_uint(struct tf_json *j, const char *key, uint64_t x);
void tf_json_put_real(struct tf_json *j, const char *key, double x);
void tf_json_put_bool(struct tf_json *j, const char *key, bool x);

/* Reader of one complete text, at most 64 levels deep. Everything that RFC 8259 does not allow is
 * an error with its byte offset. */
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
    /* Set after tf_json_read: also accept what Python writes for values that are not finite, NaN as
     * null and Infinity and -Infinity as numbers. */
    bool not_finite;
    /* Set after tf_json_read: accept \u0000 in strings, which are to be taken by their length then.
     * Else, and always in keys, it is an error, so that no text ends there in a C string. */
    bool nul;
    /* The last token: */
    struct tf_buf text;   /* KEY, STRING: decoded, p is not NULL; NUMBER: as written */
    double real;          /* NUMBER */
    bool whole, negative; /* NUMBER: no fraction or exponent */
    bool is_int;          /* NUMBER: whole, and its magnitude fits in uint */
    uint64_t uint;
    bool boolean;
};
/* Start; the text must outlive the reader. */
void tf_json_read(struct tf_json_reader *r, const char *text, size_t n);
/* The next token; its values in *r are valid until the next call. */
int tf_json_next(struct tf_json_reader *r, enum tf_json_kind *kind,
                 struct tf_err *err) TF_MUST_CHECK;
/* The same inside of an array or object: 1, or 0 at its end. */
int tf_json_more(struct tf_json_reader *r, enum tf_json_kind *kind,
                 struct tf_err *err) TF_MUST_CHECK;
/* The next token has to be of a kind; the message is `what` where it is not. */
int tf_json_expect(struct tf_json_reader *r, enum tf_json_kind kind, const char *what,
                   struct tf_err *err) TF_MUST_CHECK;
/* Skip the value that begins with the next token; its strings may have \u0000. */
int tf_json_skip(struct tf_json_reader *r, struct tf_err *err) TF_MUST_CHECK;
void tf_json_read_release(struct tf_json_reader *r);

#endif
