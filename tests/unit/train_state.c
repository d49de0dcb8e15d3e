/* train_state.c - the state records of a checkpoint: written and read back, and refused when any of
 * them is missing, of another kind or out of range. */
#include "../harness/tap.h"
#include "train/store/state.h"

#include <string.h>

static struct tf_arena a;

static struct tf_run_state full(void)
{
    struct tf_run_state s = {.step = 5,
                             .micro = 15,
                             .src_tokens = 100,
                             .tgt_tokens = 120,
                             .cursor = {1, 2, 3, 6, 4, true, true, {7}},
                             .valid_step = 4,
                             .has_best = true,
                             .best = 1.5,
                             .best_step = 2,
                             .stale = 1,
                             .has_valid = true,
                             .valid = {9}};
    return s;
}

/* A checkpoint with the records of s, as if it had been read. */
static struct tf_model_file checkpoint(const struct tf_run_state *s)
{
    const struct tf_value none = tf_value_map();
    struct tf_state records[TF_STATE_RECORDS];
    struct tf_model_file m = {.header = {.kind = "checkpoint"}, .state = tf_value_map()};
    size_t n = tf_state_records(records, &a, s, &none, &none);
    for (size_t i = 0; i < n; i++)
        tf_value_put(&a, &m.state, records[i].name, records[i].value);
    return m;
}

static void test_same(void)
{
    struct tf_run_state all = full(), fresh = {.step = 1}, got;
    const struct tf_run_state *states[] = {&all, &fresh};
    for (int i = 0; i < 2; i++) {
        struct tf_err err = {0};
        struct tf_model_file m = checkpoint(states[i]);
        uint64_t step;
        ok(tf_state_read(&got, &m, &err) == 0 && tf_state_same(&got, states[i]), "read back %s",
           err.msg);
        ok(tf_state_step(&step, &m, &err) == 0 && step == states[i]->step, "its step");
    }
}

/* Other states differ from it in one field each. */
static void test_differs(void)
{
    struct tf_run_state v[18];
    for (int i = 0; i < 18; i++)
        v[i] = full();
    v[0].step++, v[1].micro++, v[2].src_tokens++, v[3].tgt_tokens++;
    v[4].cursor.part++, v[5].cursor.ordinal++, v[6].cursor.epoch++, v[7].cursor.record++;
    v[8].cursor.has_corpus = false, v[9].cursor.corpus[31]++, v[10].valid_step++, v[11].stale++;
    v[12].has_best = false, v[13].best = 2, v[14].best_step++, v[15].valid[0]++;
    v[16].cursor.group++, v[17].cursor.has_group = false;
    struct tf_run_state whole = full();
    for (int i = 0; i < 18; i++)
        ok(!tf_state_same(&whole, &v[i]), "field %d differs", i);
}

/* The checkpoint with one value of it (or of a map in it) replaced, or without it. */
static void refused(const char *record, const char *key, const struct tf_value *value,
                    const char *why)
{
    struct tf_run_state s = full();
    struct tf_model_file m = checkpoint(&s);
    struct tf_value without = tf_value_map(), inner = tf_value_map();
    struct tf_err err = {0};
    const struct tf_value *map = key != NULL ? tf_value_get(&m.state, record) : &m.state;
    const char *name = key != NULL ? key : record;
    for (size_t i = 0; i < map->n; i++)
        if (strcmp(map->keys[i], name) != 0)
            tf_value_put(&a, &inner, map->keys[i], map->items[i]);
    if (value != NULL)
        tf_value_put(&a, &inner, name, *value);
    if (key != NULL) {
        for (size_t i = 0; i < m.state.n; i++)
            if (strcmp(m.state.keys[i], record) != 0)
                tf_value_put(&a, &without, m.state.keys[i], m.state.items[i]);
        tf_value_put(&a, &without, record, inner);
    }
    m.state = key != NULL ? without : inner;
    int rc = tf_state_read(&s, &m, &err);
    ok(rc == -1 && strstr(err.msg, why) != NULL, "%s %s %s: %s", record, key != NULL ? key : "",
       value != NULL ? "of another kind" : "missing", err.msg);
}

int main(void)
{
    static const struct {
        const char *record, *key, *why;
        bool optional;
    } parts[] = {
        {"step", NULL, "state: step", false},
        {"micro", NULL, "state: micro", false},
        {"src_tokens", NULL, "state: src_tokens", false},
        {"tgt_tokens", NULL, "state: tgt_tokens", false},
        {"cursor", NULL, "state: cursor: ", false},
        {"cursor", "part", "state: cursor: part", false},
        {"cursor", "ordinal", "state: cursor: ordinal", false},
        {"cursor", "epoch", "state: cursor: epoch", false},
        {"cursor", "record", "state: cursor: record", false},
        {"cursor", "corpus", "state: cursor: corpus", true},
        {"cursor", "group", "state: cursor: group", true},
        {"best", NULL, "state: best: ", false},
        {"best", "valid_step", "state: best: valid_step", false},
        {"best", "stale", "state: best: stale", false},
        {"best", "step", "state: best: step", false},
        {"best", "value", "state: best: value", true},
        {"best", "data", "state: best: data", true},
    };
    const struct tf_value text = tf_value_str(&a, "x"), negative = tf_value_int(-1);
    test_same();
    test_differs();
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        refused(parts[i].record, parts[i].key, &text, parts[i].why);
        if (!parts[i].optional) {
            refused(parts[i].record, parts[i].key, NULL, parts[i].why);
            refused(parts[i].record, parts[i].key, &negative, parts[i].why);
        }
    }
    refused("cursor", NULL, NULL, "state: cursor: missing");
    refused("cursor", NULL, &text, "state: cursor: not a map");
    refused("best", NULL, NULL, "state: best: missing");
    refused("best", NULL, &text, "state: best: not a map");
    struct tf_run_state s = full();
    struct tf_model_file m = checkpoint(&s);
    struct tf_err err = {0};
    m.header.kind = "model";
    ok(tf_state_read(&s, &m, &err) == -1 && strstr(err.msg, "a model, not a checkpoint"),
       "a model: %s", err.msg);
    tf_arena_release(&a);
    return done();
}
