/* member.c - see member.h. */
#include "cbor/member.h"

#include <string.h>

void *tf_member_of(const struct tf_member *f, const void *s)
{
    return (char *)s + f->at;
}

double tf_member_number(const struct tf_member *f, const void *s)
{
    const void *p = tf_member_of(f, s);
    switch (f->kind) {
    case TF_MEMBER_INT:
        return (double)*(const int64_t *)p;
    case TF_MEMBER_REAL:
        return *(const double *)p;
    case TF_MEMBER_BOOL:
        return *(const bool *)p;
    case TF_MEMBER_CHOICE:
        return *(const int *)p;
    }
    return 0;
}

void tf_member_set(const struct tf_member *f, void *s, double x)
{
    void *p = tf_member_of(f, s);
    switch (f->kind) {
    case TF_MEMBER_INT:
        *(int64_t *)p = (int64_t)x;
        break;
    case TF_MEMBER_REAL:
        *(double *)p = x;
        break;
    case TF_MEMBER_BOOL:
        *(bool *)p = x != 0;
        break;
    case TF_MEMBER_CHOICE:
        *(int *)p = (int)x;
        break;
    }
}

struct tf_value tf_member_value(const struct tf_member *f, const void *s, struct tf_arena *a)
{
    const void *p = tf_member_of(f, s);
    switch (f->kind) {
    case TF_MEMBER_INT:
        return tf_value_int(*(const int64_t *)p);
    case TF_MEMBER_REAL:
        return tf_value_real(*(const double *)p);
    case TF_MEMBER_BOOL:
        return tf_value_bool(*(const bool *)p);
    case TF_MEMBER_CHOICE:
        return tf_value_str(a, f->choices[*(const int *)p]);
    }
    return tf_value_null();
}

static int read_choice(const struct tf_member *f, void *s, const struct tf_value *map,
                       struct tf_err *err)
{
    const char *word;
    int rc = tf_value_text_of(map, f->name, &word, err);
    if (rc != 0)
        return rc;
    for (int i = 0; f->choices[i] != NULL; i++)
        if (strcmp(f->choices[i], word) == 0) {
            tf_member_set(f, s, i);
            return 0;
        }
    return tf_fail(err, "%s '%s': unknown", f->name, word);
}

int tf_member_read(const struct tf_member *f, void *s, const struct tf_value *map,
                   struct tf_err *err)
{
    void *p = tf_member_of(f, s);
    switch (f->kind) {
    case TF_MEMBER_INT:
        return tf_value_int_of(map, f->name, (int64_t)f->lo, (int64_t)f->hi, p, err);
    case TF_MEMBER_REAL:
        return tf_value_real_of(map, f->name, f->lo, f->hi, p, err);
    case TF_MEMBER_BOOL:
        return tf_value_bool_of(map, f->name, p, err);
    case TF_MEMBER_CHOICE:
        return read_choice(f, s, map, err);
    }
    return 1;
}
