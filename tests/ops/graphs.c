/* graphs.c - graph_begin and graph_end: work is queued once per call, whether or not it is
 * replayed. The CUDA backend captures work at the second call with the same key and keeps the
 * graphs of the KEPT keys used last; more keys than that may have been called once. */
#include "../harness/problem.h"

/* lib/ops/cuda/graphs.cu; floats between the counters of two keys */
enum { KEPT = 512, KEYS = KEPT + 88, STRIDE = 64 };

struct counters {
    struct lane l;
    tf_mem *count, *one; /* PARAM [KEYS * STRIDE] and [1] */
    unsigned calls[KEYS];
};

/* Add 1 to the counter of a key; true if that was replayed. */
static bool call(struct counters *t, unsigned key)
{
    const struct tf_backend *be = t->l.be;
    bool replayed;
    t->calls[key]++;
    do {
        if ((replayed = be->graph_begin(t->l.c, &key, sizeof key)))
            break;
        be->add(t->l.c, tf_at(be, TF_ELEM_PARAM, t->count, key * STRIDE), t->one, 1);
    } while (!be->graph_end(t->l.c));
    return replayed;
}

/* The least recently used graph goes first. */
static void test_eviction(struct counters *t)
{
    for (unsigned key = 0; key < 2; key++) {
        bool first = call(t, key), second = call(t, key), third = call(t, key);
        ok(!first && !second && third, "%s: key %u is replayed from the third call on", t->l.name,
           key);
    }
    for (unsigned key = 2; key < KEYS; key++)
        call(t, key);
    ok(call(t, 1) && call(t, 0), "%s: keys that were called once evict no graph", t->l.name);
    for (unsigned key = 2; key < KEPT; key++)
        call(t, key);
    ok(call(t, 2), "%s: and are captured at the second call, however many they are", t->l.name);
    ok(call(t, 1) && call(t, 0), "%s: %d graphs are kept", t->l.name, KEPT);
    call(t, KEPT);
    ok(call(t, 0), "%s: one more leaves the graph that was just used", t->l.name);
    ok(!call(t, 3), "%s: and evicts the one used least recently", t->l.name);
    ok(!call(t, 3) && call(t, 3), "%s: an evicted key is captured again", t->l.name);
}

/* Graphs give way where they leave no memory, as in the emulation with TF_EMULATE_GRAPHS. A GPU has
 * memory for these. */
static void test_memory(struct counters *t)
{
    const struct tf_backend *be = t->l.be;
    struct tf_err err = {0};
    tf_mem *p = be->alloc(t->l.c, TF_ELEM_PARAM, 1, &err);
    be->free(t->l.c, p); /* with which all graphs go */
    setenv("TF_EMULATE_GRAPHS", "1", 1);
    for (unsigned key = 0; key < 2; key++) {
        bool first = call(t, key), second = call(t, key), third = call(t, key);
        ok(!first && !second && third, "%s: key %u is replayed in place of others", t->l.name, key);
    }
    if (ok((p = be->alloc(t->l.c, TF_ELEM_PARAM, 1, &err)) != NULL,
           "%s: memory is allocated in place of graphs: %s", t->l.name, err.msg))
        be->free(t->l.c, p);
    setenv("TF_EMULATE_GRAPHS", "0", 1);
    for (unsigned i = 0; i < 5; i++)
        call(t, 0);
    unsetenv("TF_EMULATE_GRAPHS");
    while (t->calls[0] % 16 != 0)
        call(t, 0);
    ok(call(t, 0), "%s: a key that there was no memory for is replayed later", t->l.name);
}

static void test(const struct candidate *v)
{
    struct counters t = {.l = open_lane_as(v)};
    const struct tf_backend *be = t.l.be;
    static float got[KEYS * STRIDE];
    const float one = 1;
    struct tf_err err = {0};
    t.count = be->alloc(t.l.c, TF_ELEM_PARAM, KEYS * STRIDE, &err);
    t.one = be->alloc(t.l.c, TF_ELEM_PARAM, 1, &err);
    if (t.count == NULL || t.one == NULL)
        bail_out("%s: %s", t.l.name, err.msg);
    be->upload(t.l.c, t.one, TF_ELEM_PARAM, &one, 1);
    be->zero(t.l.c, t.count, TF_ELEM_PARAM, KEYS * STRIDE);
    if (strcmp(be->name, "cuda") == 0) {
        test_eviction(&t);
        test_memory(&t);
    } else {
        bool replayed = false;
        for (unsigned i = 0; i < 6; i++)
            replayed = call(&t, i % 2) || replayed;
        ok(!replayed, "%s: work on host memory is never replayed", t.l.name);
    }
    must(be->download(t.l.c, got, TF_ELEM_PARAM, t.count, KEYS * STRIDE, &err), &err);
    unsigned wrong = 0;
    for (unsigned key = 0; key < KEYS; key++)
        wrong += got[key * STRIDE] != (float)t.calls[key];
    ok(wrong == 0, "%s: each call counts once: %u keys wrong", t.l.name, wrong);
    be->free(t.l.c, t.count);
    be->free(t.l.c, t.one);
    close_lane(&t.l);
}

int main(void)
{
    struct candidate v[MAX_CANDIDATES];
    size_t n = candidates(v, false);
    for (size_t i = 0; i < n; i++)
        test(&v[i]);
    return done();
}
