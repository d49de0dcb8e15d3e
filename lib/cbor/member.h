/* member.h - members of a struct that are entries of a map. A row of a table says where a member
 * is, what it is called in the map, and which values it may have. */
#ifndef TF_CBOR_MEMBER_H
#define TF_CBOR_MEMBER_H

#include "cbor/value.h"
#include <stddef.h>

enum tf_member_kind { TF_MEMBER_INT, TF_MEMBER_REAL, TF_MEMBER_BOOL, TF_MEMBER_CHOICE };

struct tf_member {
    const char *name;
    enum tf_member_kind kind;   /* int64_t, double, bool, or an enum */
    size_t at;                  /* offset of the member */
    double lo, hi;              /* range of a number, both ends included */
    const char *const *choices; /* words of a CHOICE, NULL-terminated */
};

/* The offset of a member, if it is of the kind. An enum counts as unsigned. */
#define TF_INT_AT(s, member) _Generic(((s *)0)->member, int64_t: offsetof(s, member))
#define TF_REAL_AT(s, member) _Generic(((s *)0)->member, double: offsetof(s, member))
#define TF_BOOL_AT(s, member) _Generic(((s *)0)->member, bool: offsetof(s, member))
#define TF_CHOICE_AT(s, member) \
    _Generic(((s *)0)->member, int: offsetof(s, member), unsigned: offsetof(s, member))

/* The member of the struct at s. */
void *tf_member_of(const struct tf_member *f, const void *s);
/* As a number: 0 or 1 for a BOOL, the index of a CHOICE. */
double tf_member_number(const struct tf_member *f, const void *s);
void tf_member_set(const struct tf_member *f, void *s, double x);
/* As a value of a map. */
struct tf_value tf_member_value(const struct tf_member *f, const void *s, struct tf_arena *a);
/* From a map: 0; 1 if it has no such key; -1 if the value is not allowed. */
int tf_member_read(const struct tf_member *f, void *s, const struct tf_value *map,
                   struct tf_err *err) TF_MUST_CHECK;

#endif
