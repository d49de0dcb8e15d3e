/* export_members.c - see export_members_private.h. */
#include "base/parse.h"
#include "convert/export_members_private.h"

#include <string.h>

/* Members that need no row: those that every format has, which completes biases with zeros, ... */
static const char common[] =
    "encoder_layers|decoder_layers|d_model|d_ff|heads|vocab_size|bos|eos|attention_bias|"
    "output_bias|d_k|d_v|" /* checked together in export.c */
    /* ... and those that do not change log-probabilities, dialect but by position_table. */
    "dialect|dropout|attention_dropout|relu_dropout|label_smoothing|smoothing|initializer|pad";
static const struct tf_export_member common_some[] = {
    {"tie", "all|decoder|none", NULL},
    {NULL, NULL, NULL},
};

static bool is_numeric(const struct tf_member *f)
{
    return f->kind == TF_MEMBER_INT || f->kind == TF_MEMBER_REAL;
}

/* The value of a member as a word, which is not one of a number. */
static const char *word_of(const struct tf_member *f, const struct tf_config *c)
{
    const int i = (int)tf_member_number(f, c);
    return f->kind == TF_MEMBER_CHOICE ? f->choices[i] : i != 0 ? "true" : "false";
}

static bool is_allowed(const struct tf_member *f, const struct tf_config *c, const char *values)
{
    double x;
    struct tf_err err = {0};
    if (!is_numeric(f))
        return tf_is_word_of(word_of(f, c), values);
    if (tf_parse_real(&x, values, f->lo, f->hi, &err) != 0)
        TF_BUG("%s: %s", f->name, err.msg);
    return tf_member_number(f, c) == x;
}

/* By its name and value: "final_norm", "source_eos false", "start bos", "norm_eps other than 1e-6".
 * values: of its row; NULL where it has none. */
static void refuse_member(struct tf_export *e, const struct tf_member *f, const char *values,
                   const char *more)
{
    const char *between = is_numeric(f) ? " other than " : " ",
               *word = is_numeric(f) ? values : word_of(f, &e->config);
    if (word == NULL || strcmp(word, "0") == 0 || strcmp(word, "true") == 0)
        between = word = "";
    tf_buf_item(&e->refused, "%s%s%s%s", f->name, between, word, more != NULL ? more : "");
}

static bool is_named(const struct tf_export_member *has, const char *name)
{
    while (has->name != NULL && strcmp(has->name, name) != 0)
        has++;
    return has->name != NULL;
}

/* Refuse members that are named, and have another value. */
static void check_named(struct tf_export *e, const struct tf_export_member *has)
{
    for (; has->name != NULL; has++) {
        const struct tf_member *f = tf_config_field(has->name);
        if (f == NULL)
            TF_BUG("%s: no member of a configuration", has->name);
        if (!is_allowed(f, &e->config, has->values))
            refuse_member(e, f, has->values, has->more);
    }
}

void tf_export_check_members(struct tf_export *e, const struct tf_export_format *format)
{
    size_t n;
    const struct tf_member *f = tf_config_fields(&n);
    check_named(e, format->has);
    check_named(e, common_some);
    for (size_t i = 0; i < n; i++)
        if (!is_named(format->has, f[i].name) && !is_named(common_some, f[i].name) &&
            !tf_is_word_of(f[i].name, format->has_any) && !tf_is_word_of(f[i].name, common) &&
            tf_member_number(&f[i], &e->config) != tf_config_implied(&e->config, &f[i]))
            refuse_member(e, &f[i], NULL, NULL);
}
