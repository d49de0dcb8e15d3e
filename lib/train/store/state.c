/* state.c - the state records of a checkpoint. */
#include "train/store/state.h"
#include "base/hash.h"
#include "base/parse.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static struct tf_value cursor_map(struct tf_arena *a, const struct tf_batch_cursor *c)
{
    struct tf_value v = tf_value_map();
    tf_value_put_uint(a, &v, "part", c->part);
    tf_value_put_uint(a, &v, "ordinal", c->ordinal);
    tf_value_put_uint(a, &v, "epoch", c->epoch);
    if (c->has_group)
        tf_value_put_uint(a, &v, "group", c->group);
    tf_value_put_uint(a, &v, "record", c->record);
    if (c->has_corpus)
        tf_value_put(a, &v, "corpus", tf_value_bytes(a, c->corpus, sizeof c->corpus));
    return v;
}

static struct tf_value best_map(struct tf_arena *a, const struct tf_run_state *s)
{
    struct tf_value v = tf_value_map();
    tf_value_put_uint(a, &v, "valid_step", s->valid_step);
    tf_value_put_uint(a, &v, "stale", s->stale);
    if (s->has_best) {
        tf_value_put_uint(a, &v, "step", s->best_step);
        tf_value_put(a, &v, "value", tf_value_real(s->best));
    }
    if (s->has_valid)
        tf_value_put(a, &v, "data", tf_value_bytes(a, s->valid, sizeof s->valid));
    return v;
}

bool tf_state_add_validation(struct tf_run_state *s, double value, bool larger_is_better)
{
    bool best = !s->has_best ? !isnan(value) : larger_is_better ? value > s->best : value < s->best;
    s->valid_step = s->step;
    s->stale++;
    if (best) {
        s->has_best = true;
        s->best = value;
        s->best_step = s->step;
        s->stale = 0;
    }
    return best;
}

void tf_state_forget_best(struct tf_run_state *s)
{
    s->has_best = false;
    s->best_step = s->stale = 0;
}

size_t tf_state_records(struct tf_state *out, struct tf_arena *a, const struct tf_run_state *s,
                        const struct tf_value *settings, const struct tf_value *batches)
{
    size_t n = 0;
    out[n++] = (struct tf_state){"step", tf_value_int((int64_t)s->step)};
    out[n++] = (struct tf_state){"micro", tf_value_int((int64_t)s->micro)};
    out[n++] = (struct tf_state){"src_tokens", tf_value_int((int64_t)s->src_tokens)};
    out[n++] = (struct tf_state){"tgt_tokens", tf_value_int((int64_t)s->tgt_tokens)};
    out[n++] = (struct tf_state){"cursor", cursor_map(a, &s->cursor)};
    out[n++] = (struct tf_state){"best", best_map(a, s)};
    out[n++] = (struct tf_state){"settings", *settings};
    out[n++] = (struct tf_state){"batches", *batches};
    return n;
}

/* What no run can reach by counting, and what leaves room to count on from. */
#define MOST (INT64_MAX / 2)

/* A count that must be there. */
static int need(const struct tf_value *map, const char *key, int64_t most, uint64_t *x,
                struct tf_err *err)
{
    int64_t i;
    int rc = tf_value_int_of(map, key, 0, most, &i, err);
    if (rc > 0)
        return tf_fail(err, "%s: missing", key);
    if (rc == 0)
        *x = (uint64_t)i;
    return rc;
}

static int read_cursor(struct tf_batch_cursor *c, const struct tf_value *v, struct tf_err *err)
{
    if (v == NULL || v->kind != TF_MAP)
        return tf_fail(err, v == NULL ? "missing" : "not a map");
    /* The stream decides these, up to the largest position that can be recorded. */
    if (need(v, "part", INT64_MAX, &c->part, err) != 0 ||
        need(v, "ordinal", INT64_MAX, &c->ordinal, err) != 0 ||
        need(v, "epoch", INT64_MAX, &c->epoch, err) != 0 ||
        need(v, "record", INT64_MAX, &c->record, err) != 0)
        return -1;
    c->has_group = tf_value_get(v, "group") != NULL;
    if (c->has_group && need(v, "group", INT64_MAX, &c->group, err) != 0)
        return -1;
    int rc = tf_value_sha_of(v, "corpus", c->corpus, err);
    c->has_corpus = rc == 0;
    return rc < 0 ? -1 : 0;
}

static int read_best(struct tf_run_state *s, const struct tf_value *v, struct tf_err *err)
{
    if (v == NULL || v->kind != TF_MAP)
        return tf_fail(err, v == NULL ? "missing" : "not a map");
    if (need(v, "valid_step", MOST, &s->valid_step, err) != 0 ||
        need(v, "stale", MOST, &s->stale, err) != 0)
        return -1;
    int rc = tf_value_real_of(v, "value", -INFINITY, INFINITY, &s->best, err);
    if (rc < 0 || (rc == 0 && need(v, "step", MOST, &s->best_step, err) != 0))
        return -1;
    if (s->valid_step > s->step || s->best_step > s->valid_step)
        return tf_fail(err, "step %" PRIu64 ", of a validation at step %" PRIu64, s->best_step,
                       s->valid_step);
    s->has_best = rc == 0;
    rc = tf_value_sha_of(v, "data", s->valid, err);
    s->has_valid = rc == 0;
    return rc < 0 ? -1 : 0;
}

int tf_state_read(struct tf_run_state *s, const struct tf_model_file *m, struct tf_err *err)
{
    *s = (struct tf_run_state){0};
    if (strcmp(m->header.kind, "checkpoint") != 0)
        return tf_fail(err, "a %s, not a checkpoint", m->header.kind);
    if (need(&m->state, "step", MOST, &s->step, err) != 0 ||
        need(&m->state, "micro", MOST, &s->micro, err) != 0 ||
        need(&m->state, "src_tokens", MOST, &s->src_tokens, err) != 0 ||
        need(&m->state, "tgt_tokens", MOST, &s->tgt_tokens, err) != 0)
        return tf_context(err, "state");
    if (read_cursor(&s->cursor, tf_value_get(&m->state, "cursor"), err) != 0)
        return tf_context(err, "state: cursor");
    if (read_best(s, tf_value_get(&m->state, "best"), err) != 0)
        return tf_context(err, "state: best");
    return 0;
}

static bool same_hash(bool has_a, const uint8_t *a, bool has_b, const uint8_t *b)
{
    return has_a == has_b && (!has_a || memcmp(a, b, 32) == 0);
}

bool tf_state_same(const struct tf_run_state *a, const struct tf_run_state *b)
{
    const struct tf_batch_cursor *x = &a->cursor, *y = &b->cursor;
    return a->step == b->step && a->micro == b->micro && a->src_tokens == b->src_tokens &&
           a->tgt_tokens == b->tgt_tokens && x->part == y->part && x->ordinal == y->ordinal &&
           x->epoch == y->epoch && x->has_group == y->has_group && x->group == y->group &&
           x->record == y->record && a->valid_step == b->valid_step && a->stale == b->stale &&
           a->has_best == b->has_best &&
           (!a->has_best || (a->best == b->best && a->best_step == b->best_step)) &&
           same_hash(x->has_corpus, x->corpus, y->has_corpus, y->corpus) &&
           same_hash(a->has_valid, a->valid, b->has_valid, b->valid);
}

int tf_state_step(uint64_t *step, const struct tf_model_file *m, struct tf_err *err)
{
    *step = 0;
    return tf_value_get(&m->state, "step") != NULL ? need(&m->state, "step", MOST, step, err) : 0;
}

static void show(char *dst, size_t size, const struct tf_value *v);

/* "3 0.25", or the beginning of more items. */
static void show_items(char *dst, size_t size, const struct tf_value *array)
{
    size_t at = 0;
    for (size_t i = 0; i < array->n && at + 40 < size; i++) {
        if (i > 0)
            dst[at++] = ' ';
        show(dst + at, size - at, &array->items[i]);
        at += strlen(dst + at);
    }
}

static void show(char *dst, size_t size, const struct tf_value *v)
{
    char number[32], hex[65];
    if (v == NULL)
        snprintf(dst, size, "nothing");
    else if (v->kind == TF_BOOL)
        snprintf(dst, size, "%s", v->boolean ? "true" : "false");
    else if (v->kind == TF_INT)
        snprintf(dst, size, "%" PRId64, v->integer);
    else if (v->kind == TF_REAL)
        snprintf(dst, size, "%s", tf_format_real(number, v->real));
    else if (v->kind == TF_TEXT)
        snprintf(dst, size, "'%.160s'", v->text);
    else if (v->kind == TF_BYTES && v->n == 32)
        snprintf(dst, size, "%s", tf_hex(hex, (const uint8_t *)v->text, 32));
    else if (v->kind == TF_ARRAY && v->n > 0)
        show_items(dst, size, v);
    else
        snprintf(dst, size, "another value");
}

/* Numbers compare by value: a whole real may have been read back as an integer, and -0 equals 0. */
static bool equal(const struct tf_value *a, const struct tf_value *b)
{
    if (a == NULL || b == NULL)
        return a == b;
    bool mixed =
        (a->kind == TF_INT && b->kind == TF_REAL) || (a->kind == TF_REAL && b->kind == TF_INT);
    if (mixed)
        return (a->kind == TF_INT ? (double)a->integer : a->real) ==
               (b->kind == TF_INT ? (double)b->integer : b->real);
    return (a->kind == TF_REAL && b->kind == TF_REAL && a->real == b->real) || tf_value_equal(a, b);
}

bool tf_differs(char *text, size_t size, size_t *at, const struct tf_value *a, const char *what_a,
                const struct tf_value *b, const char *what_b)
{
    const struct tf_value none = {.kind = TF_MAP};
    const struct tf_value *maps[] = {a != NULL && a->kind == TF_MAP ? a : &none,
                                     b != NULL && b->kind == TF_MAP ? b : &none};
    while (*at < maps[0]->n + maps[1]->n) {
        size_t i = (*at)++;
        bool second = i >= maps[0]->n;
        const char *key = second ? maps[1]->keys[i - maps[0]->n] : maps[0]->keys[i];
        const struct tf_value *x = tf_value_get(maps[0], key), *y = tf_value_get(maps[1], key);
        if (equal(x, y) || (second && x != NULL)) /* a key of both maps was compared before */
            continue;
        char left[170], right[170];
        show(left, sizeof left, x);
        show(right, sizeof right, y);
        snprintf(text, size, "%s: %s in %s, %s in %s", key, left, what_a, right, what_b);
        return true;
    }
    return false;
}
