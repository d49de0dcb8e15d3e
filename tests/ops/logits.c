/* logits.c - log_softmax followed by search_step: a backend that runs the two together gives what
 * it gives for one after the other. */
#include "../harness/problem.h"

#include "base/memory.h"
#include "ops/search_state.h"

enum { SENTENCES = 3, LIMIT = 5, MOST = 4000, CASES = 30 };

struct searched {
    double v[MOST];
    size_t n;
};

static void note(struct searched *r, double x)
{
    TF_ASSERT(r->n < MOST);
    r->v[r->n++] = x;
}

/* Logits of all rows: some alike, some so near that their log-probabilities are, some of no
 * probability. */
static void draw_logits(float *z, size_t n, size_t V, uint64_t seed)
{
    struct tf_rng g = tf_rng_new(seed, 9);
    for (size_t r = 0; r < n; r++) {
        float scale = (float)PICK(&g, 1e-8, 1e-6, 1, 30), from = (float)PICK(&g, 0, -3, 500);
        for (size_t j = 0; j < V; j++)
            z[r * V + j] = chance(&g, 0.05)  ? -INFINITY
                           : chance(&g, 0.1) ? from
                                             : from + scale * normal(&g);
    }
}

/* A search to its end; `apart`: somebody waits between the two calls. */
static void run_search(struct searched *out, struct lane *l, const struct tf_search_opts *rule,
                       uint64_t seed, bool apart)
{
    struct tf_err err = {0};
    struct tf_search s;
    uint32_t off[SENTENCES + 1] = {0, 2, 3, 7}, limit[SENTENCES] = {LIMIT, 1, LIMIT - 1},
                             prefix[2] = {1, 0}, prefix_off[SENTENCES + 1] = {0, 2, 2, 2};
    uint64_t key[SENTENCES] = {1, 2, 3};
    struct tf_search_group g = {.n = SENTENCES,
                                .src_off = off,
                                .limit = limit,
                                .prefix = prefix,
                                .prefix_off = prefix_off,
                                .key = key};
    tf_search_init(&s, rule, l->be, l->c);
    if (tf_search_start(&s, &g, &err) < 0)
        TF_BUG("%s", err.msg);
    float *z = tf_xcalloc(s.max_rows * rule->V, sizeof *z);
    tf_mem *p = l->be->alloc(l->c, TF_ELEM_STAT, s.max_rows * rule->V, &err);
    if (p == NULL)
        TF_BUG("%s", err.msg);
    for (uint64_t t = 0; s.rows > 0 && t <= LIMIT; t++) {
        draw_logits(z, s.rows, rule->V, 100 * seed + t);
        l->be->upload(l->c, p, TF_ELEM_STAT, z, s.rows * rule->V);
        l->be->log_softmax(l->c, p, NULL, s.rows, (int)rule->V, 1);
        if (apart && l->be->sync(l->c, &err) < 0)
            TF_BUG("%s", err.msg);
        l->be->search_step(l->c, &s, p);
        if (tf_search_poll(&s, false, &err) < 0)
            TF_BUG("%s", err.msg);
    }
    if (tf_search_fetch(&s, &err) < 0)
        TF_BUG("%s", err.msg);
    out->n = 0;
    for (size_t i = 0; i < SENTENCES; i++)
        for (size_t k = 0; k < tf_search_count(&s, i); k++) {
            struct tf_search_hyp h = tf_search_result(&s, i, k);
            uint32_t ids[LIMIT];
            float terms[LIMIT + 1];
            tf_search_trace(&s, i, k, ids, terms);
            note(out, (double)h.n);
            note(out, h.logp);
            note(out, h.score);
            for (size_t j = 0; j < h.n; j++)
                note(out, ids[j]);
            for (size_t j = 0; j <= h.n; j++)
                note(out, (double)terms[j]);
        }
    l->be->free(l->c, p);
    tf_search_release(&s);
    free(z);
}

int main(void)
{
    static struct searched together, apart;
    struct candidate v[MAX_CANDIDATES];
    size_t n = candidates(v, false);
    for (size_t b = 0; b < n; b++) {
        struct lane l = open_lane_as(&v[b]);
        bool same = true;
        size_t results = 0;
        for (uint64_t seed = 0; seed < cases(CASES) && same; seed++) {
            struct tf_rng g = tf_rng_new(seed, 8);
            struct tf_search_opts rule = {.V = (size_t)PICK(&g, 2, 5, 64, 97, 1000, 1001, 5000),
                                          .alpha = 0.6,
                                          .ban = {0, 2},
                                          .n_ban = (size_t)PICK(&g, 0, 1, 2),
                                          .temperature = 1,
                                          .seed = seed};
            rule.K = (size_t)PICK(&g, 1, 2, 4, 33);
            rule.N = chance(&g, 0.5) ? rule.K : 1;
            rule.sample = chance(&g, 0.2);
            rule.N = rule.sample ? rule.K : rule.N;
            rule.eos = 1;
            rule.ngram = chance(&g, 0.2) ? 2 : 0;
            rule.repetition = chance(&g, 0.2) ? 1.3 : 0;
            rule.min_length = chance(&g, 0.2) ? 3 : 0;
            run_search(&together, &l, &rule, seed, false);
            run_search(&apart, &l, &rule, seed, true);
            same = together.n == apart.n &&
                   memcmp(together.v, apart.v, apart.n * sizeof *apart.v) == 0;
            results += apart.n;
            if (!same)
                printf("# seed %llu: V %zu K %zu N %zu\n", (unsigned long long)seed, rule.V, rule.K,
                       rule.N);
        }
        ok(same && results > 0, "%s: logits searched at once and in two steps, the same results",
           v[b].name);
        close_lane(&l);
    }
    return done();
}
