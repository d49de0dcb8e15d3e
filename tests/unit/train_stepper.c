/* One update: the gradient is the fixed tree's for any number of lanes, also with fewer sentences
 * than shards; micro-batches add; Adam and the moving average see the whole block. */
#include "../harness/model.h"
#include "base/memory.h"
#include "base/rng.h"
#include "ops/cpu/cpu.h"
#include "ops/floats.h"
#include "train/step/stepper.h"

#include <stdlib.h>

enum { V = 31, MOST = 40 };

static struct tf_config config(void)
{
    struct tf_config c = small_config();
    c.vocab_size = V;
    c.dropout = 0.2;
    c.attention_dropout = c.relu_dropout = 0.1;
    return c;
}

static void make_pairs(struct tf_pairs *p, const struct tf_config *c, size_t n, uint64_t seed)
{
    struct tf_rng rng = tf_rng_new(seed, 0);
    struct tf_err err = {0};
    static uint32_t src[MOST * 16], tgt[MOST * 16], src_off[MOST + 1], tgt_off[MOST + 1];
    for (size_t i = 0; i < n; i++) {
        src_off[i + 1] = src_off[i] + (uint32_t)tf_rng_below(&rng, 12);
        tgt_off[i + 1] = tgt_off[i] + (uint32_t)tf_rng_below(&rng, 12);
    }
    for (uint32_t i = 0; i < src_off[n]; i++)
        src[i] = (uint32_t)(4 + tf_rng_below(&rng, V - 4));
    for (uint32_t i = 0; i < tgt_off[n]; i++)
        tgt[i] = (uint32_t)(4 + tf_rng_below(&rng, V - 4));
    must(tf_pairs_set(p, c, n, src, src_off, tgt, tgt_off, &err), &err);
}

static void open_stepper(struct tf_stepper *s, const struct tf_backend *be,
                         const struct tf_config *c, int threads, int64_t accumulate)
{
    struct tf_params params;
    struct tf_err err = {0};
    tf_params_init(&params, c);
    float *flat = tf_xcalloc(params.size, sizeof *flat);
    tf_params_fill(flat, &params, 7);
    tf_params_release(&params);
    must(tf_stepper_init(s, be, c,
                         &(struct tf_stepper_start){
                             .p = flat, .ema = true, .accumulate = accumulate, .threads = threads},
                         &err),
         &err);
    free(flat);
}

/* ((0+1)+(2+3))+((4+5)+(6+7)) by plain calls on one lane. */
static float *tree(const struct tf_backend *be, const struct tf_config *c, const struct tf_pairs *p,
                   const struct tf_rng_state *step, struct tf_sums *sums)
{
    struct tf_stepper s;
    struct tf_err err = {0};
    open_stepper(&s, be, c, 1, 1);
    size_t cut[9], n = s.w.params.size;
    tf_mem *g[8];
    must(tf_weights_positions(&s.w, p->longest, &err), &err);
    tf_pairs_cut(cut, 8, p);
    for (size_t i = 0; i < 8; i++) {
        g[i] = be->alloc(s.ctx[0], TF_ELEM_PARAM, n, &err);
        run_backward(s.work[0], g[i], sums, p, cut[i], cut[i + 1], step);
    }
    for (size_t width = 1; width < 8; width *= 2)
        for (size_t i = 0; i < 8; i += 2 * width)
            be->add(s.ctx[0], g[i], g[i + width], n);
    float *out = tf_xcalloc(n, sizeof *out);
    must(be->download(s.ctx[0], out, TF_ELEM_PARAM, g[0], n, &err), &err);
    for (size_t i = 0; i < 8; i++)
        be->free(s.ctx[0], g[i]);
    tf_stepper_release(&s);
    return out;
}

/* The sum of the gradient's squares. */
static double measure(struct tf_stepper *s, struct tf_sums *sums)
{
    struct tf_stepper_metrics m;
    struct tf_err err = {0};
    double norm2;
    must(tf_stepper_measure(s, &m, &err), &err);
    must(tf_stepper_wait_metrics(s, &m, sums, &norm2, &err), &err);
    return norm2;
}

static bool same(const float *a, const float *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (a[i] != b[i]) /* zeros of either sign are one */
            return false;
    return true;
}

static void test_tree(const struct tf_config *c)
{
    const struct tf_backend *be = tf_cpu_backends(NULL)[0];
    const size_t sizes[] = {1, 2, 5, 8, 11, MOST};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        struct tf_pairs p = {0};
        struct tf_rng_state step = {.seed = 3, .update = 5};
        struct tf_sums want_sums = {0};
        make_pairs(&p, c, sizes[k], k + 1);
        float *want = tree(be, c, &p, &step, &want_sums);
        for (int threads = 1; threads <= 9; threads += threads < 4 ? 1 : 5) {
            struct tf_stepper s;
            struct tf_err err = {0};
            open_stepper(&s, be, c, threads, 1);
            size_t n = s.w.params.size;
            float *got = tf_xcalloc(n, sizeof *got);
            bool good = true, sums_good = true;
            for (int turn = 0; turn < 20; turn++) {
                struct tf_sums sums = {0};
                tf_stepper_begin(&s);
                must(tf_stepper_add(&s, &p, &step, &err), &err);
                measure(&s, &sums);
                must(tf_floats_down(s.be, s.ctx[0], got, TF_ELEM_PARAM, s.total, n, &err), &err);
                good &= same(got, want, n);
                sums_good &= sums.tokens == want_sums.tokens && sums.correct == want_sums.correct &&
                             fabs(sums.loss - want_sums.loss) < 1e-9 * sums.loss;
            }
            ok(good, "%zu sentences on %d lanes: the tree's gradient, 20 times", sizes[k], threads);
            ok(sums_good, "and its sums");
            free(got);
            tf_stepper_release(&s);
        }
        free(want);
        tf_pairs_release(&p);
    }
}

/* Three micro-batches: total = (a + b) + c; then the norm and an update, the same on 1 and 3
 * lanes. */
static void test_update(const struct tf_config *c)
{
    const struct tf_backend *be = tf_cpu_backends(NULL)[0];
    float *after[2][4] = {{NULL}};
    double norm[2];
    size_t n = 0;
    for (int turn = 0; turn < 2; turn++) {
        struct tf_stepper s;
        struct tf_err err = {0};
        struct tf_sums sums = {0};
        float *sum = NULL;
        open_stepper(&s, be, c, turn == 0 ? 1 : 3, 3);
        n = s.w.params.size;
        tf_stepper_begin(&s);
        for (uint32_t i = 0; i < 3; i++) {
            struct tf_pairs p = {0};
            const struct tf_rng_state step = {.seed = 3, .update = i};
            struct tf_sums ignored = {0};
            make_pairs(&p, c, 12, 50 + i);
            must(tf_stepper_add(&s, &p, &step, &err), &err);
            float *g = tree(be, c, &p, &step, &ignored);
            for (size_t k = 0; sum != NULL && k < n; k++)
                sum[k] += g[k];
            if (sum == NULL)
                sum = g;
            else
                free(g);
            tf_pairs_release(&p);
        }
        norm[turn] = sqrt(measure(&s, &sums));
        float *total = tf_xcalloc(n, sizeof *total);
        must(tf_floats_down(s.be, s.ctx[0], total, TF_ELEM_PARAM, s.total, n, &err), &err);
        ok(same(total, sum, n), "micro-batches add in order");
        double want = 0;
        for (size_t k = 0; k < n; k++)
            want += (double)sum[k] * (double)sum[k];
        is_near(norm[turn], sqrt(want), 1e-9 * norm[turn], "norm");
        float *before = tf_xcalloc(n, sizeof *before);
        must(tf_floats_down(s.be, s.ctx[0], before, TF_ELEM_PARAM, s.w.flat, n, &err), &err);
        const struct tf_adam h = {.lr = 0.01,
                                  .beta1 = 0.9,
                                  .beta2 = 0.98,
                                  .eps = 1e-9,
                                  .gscale = 1 / sums.tokens,
                                  .t = 1};
        must(tf_stepper_apply(&s, &h, 0.75, &err), &err);
        const tf_mem *block[] = {s.w.flat, s.m, s.v, s.e};
        for (int k = 0; k < 4; k++) {
            after[turn][k] = tf_xcalloc(n, sizeof(float));
            must(tf_floats_down(s.be, s.ctx[0], after[turn][k], TF_ELEM_PARAM, block[k], n, &err),
                 &err);
        }
        double worst = 0, average = 0;
        for (size_t k = 0; k < n; k++) {
            /* The first step of Adam is lr * sign(g), but for eps. */
            double g = (double)sum[k] / sums.tokens,
                   move = (double)after[turn][0][k] - (double)before[k];
            worst = fmax(worst, fabs(move + 0.01 * g / (fabs(g) + 1e-9)));
            average =
                fmax(average, fabs((double)after[turn][3][k] -
                                   (0.75 * (double)before[k] + 0.25 * (double)after[turn][0][k])));
        }
        ok(worst < 1e-5, "Adam's first step (%g)", worst);
        ok(average < 1e-6, "moving average (%g)", average);
        free(sum);
        free(total);
        free(before);
        tf_stepper_release(&s);
    }
    ok(norm[0] == norm[1], "the norm's bits on 1 and 3 lanes");
    for (int k = 0; k < 4; k++) {
        ok(memcmp(after[0][k], after[1][k], n * sizeof(float)) == 0, "block %d on 1 and 3 lanes",
           k);
        free(after[0][k]);
        free(after[1][k]);
    }
}

/* The sum over a binary tree of n micro-batches, with absent ones on its right. */
static void test_micro_batches(const struct tf_config *c, int n)
{
    const struct tf_backend *be = tf_cpu_backends(NULL)[0];
    struct tf_stepper s;
    struct tf_err err = {0};
    struct tf_sums sums = {0}, ignored = {0};
    float *g[8] = {NULL};
    open_stepper(&s, be, c, 2, n);
    const size_t size = s.w.params.size;
    tf_stepper_begin(&s);
    for (int i = 0; i < n; i++) {
        struct tf_pairs p = {0};
        const struct tf_rng_state step = {.seed = 3, .update = (uint32_t)i};
        make_pairs(&p, c, 3, (uint64_t)(70 + i));
        must(tf_stepper_add(&s, &p, &step, &err), &err);
        g[i] = tree(be, c, &p, &step, &ignored);
        tf_pairs_release(&p);
    }
    measure(&s, &sums);
    for (int width = 1; width < 8; width *= 2)
        for (int i = 0; i + width < n; i += 2 * width)
            for (size_t k = 0; k < size; k++)
                g[i][k] += g[i + width][k];
    float *total = tf_xcalloc(size, sizeof *total);
    must(tf_floats_down(be, s.ctx[0], total, TF_ELEM_PARAM, s.total, size, &err), &err);
    ok(same(total, g[0], size), "%d micro-batches add over a tree", n);
    free(total);
    for (int i = 0; i < n; i++)
        free(g[i]);
    tf_stepper_release(&s);
}

/* The chunks of the norm are at work only beyond 65536 elements. */
static void test_large(void)
{
    struct tf_config c = config();
    c.vocab_size = 20000;
    struct tf_pairs p = {0};
    double norm[2];
    for (int turn = 0; turn < 2; turn++) {
        struct tf_stepper s;
        struct tf_err err = {0};
        struct tf_sums sums = {0}, eval = {0};
        open_stepper(&s, tf_cpu_backends(NULL)[0], &c, turn + 1, 1);
        make_pairs(&p, &c, 10, 1);
        tf_stepper_begin(&s);
        must(tf_stepper_add(&s, &p, &(struct tf_rng_state){.seed = 1}, &err), &err);
        norm[turn] = sqrt(measure(&s, &sums));
        size_t most = tf_stepper_bytes(&s);
        must(tf_stepper_evaluate(&s, &eval, &p, &err), &err);
        ok(tf_stepper_bytes(&s) == most,
           "validation, which needs less, does not hide what training took");
        ok(s.w.params.size > s.be->norm_chunk && eval.tokens == sums.tokens, "several chunks");
        tf_stepper_release(&s);
    }
    ok(norm[0] == norm[1] && norm[0] > 0, "one norm");
    tf_pairs_release(&p);
}

/* The reference backend has one shard: the same gradient but for rounding. */
static void test_one_shard(const struct tf_config *c)
{
    struct tf_pairs p = {0};
    float *g[2];
    size_t n = 0;
    make_pairs(&p, c, 9, 4);
    for (int turn = 0; turn < 2; turn++) {
        struct tf_stepper s;
        struct tf_err err = {0};
        struct tf_sums sums = {0};
        open_stepper(&s, turn == 0 ? tf_cpu_backends(NULL)[0] : &tf_backend_ref_f64, c, 2, 1);
        n = s.w.params.size;
        tf_stepper_begin(&s);
        must(tf_stepper_add(&s, &p, &(struct tf_rng_state){.seed = 1}, &err), &err);
        measure(&s, &sums);
        g[turn] = tf_xcalloc(n, sizeof(float));
        must(tf_floats_down(s.be, s.ctx[0], g[turn], TF_ELEM_PARAM, s.total, n, &err), &err);
        tf_stepper_release(&s);
    }
    double worst = 0, most = 0;
    for (size_t i = 0; i < n; i++) {
        worst = fmax(worst, fabs((double)g[0][i] - (double)g[1][i]));
        most = fmax(most, fabs((double)g[1][i]));
    }
    ok(most > 0.1 && worst < 1e-4 * most, "8 shards against one of ref64 (%g of %g)", worst, most);
    free(g[0]);
    free(g[1]);
    tf_pairs_release(&p);
}

int main(void)
{
    struct tf_config c = config();
    test_tree(&c);
    for (int n = 4; n <= 8; n++)
        test_micro_batches(&c, n);
    test_update(&c);
    for (int n = 4; n <= 8; n++)
        test_micro_batches(&c, n);
    test_large();
    test_one_shard(&c);
    return done();
}
