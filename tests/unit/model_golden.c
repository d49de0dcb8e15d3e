/* A small model in two dialects against PyTorch in float64 (golden/model/make.py): logits, loss,
 * gradients, three updates of Adam. */
#include "../harness/model.h"
#include "model/incremental.h"
#include "ops/cpu/cpu.h"
#include "text/text_file.h"

#include <math.h>

/* The golden file: named rows of numbers. */
struct row {
    char *name;
    size_t n;
    double *v;
};
static struct row rows[400];
static size_t n_rows;

static void read_golden(const char *path)
{
    struct tf_err err = {0};
    char name[64], *text;
    size_t n;
    n_rows = 0;
    must(tf_text_read_file(&text, &n, path, 1 << 20, &err), &err);
    FILE *f = fmemopen(text, n, "r");
    while (n_rows < 400 && fscanf(f, "%63s %zu", name, &n) == 2 && n < 100000) {
        struct row *r = &rows[n_rows++];
        r->name = strdup(name);
        r->n = n;
        r->v = malloc(n * sizeof *r->v);
        for (size_t i = 0; i < n; i++)
            if (fscanf(f, "%lf", &r->v[i]) != 1)
                r->v[i] = NAN;
    }
    fclose(f);
    free(text);
}

static void drop_golden(void)
{
    for (size_t i = 0; i < n_rows; i++) {
        free(rows[i].name);
        free(rows[i].v);
    }
}

static const struct row *golden(const char *prefix, const char *name)
{
    char full[96];
    snprintf(full, sizeof full, "%s%s", prefix, name);
    for (size_t i = 0; i < n_rows; i++)
        if (strcmp(rows[i].name, full) == 0)
            return &rows[i];
    bail_out("golden row %s is missing", full);
}

/* Largest difference over the largest magnitude. */
static double distance(const double *a, const double *b, size_t n)
{
    double worst = 0, size = 1e-30;
    for (size_t i = 0; i < n; i++) {
        worst = fmax(worst, fabs(a[i] - b[i]));
        size = fmax(size, fabs(b[i]));
        if (isnan(a[i]))
            return INFINITY;
    }
    return worst / size;
}

/* The worst distance over all parameters of block (backend memory) to the golden rows with that
 * prefix. skip_keys leaves out biases with a key part: softmax does not see a key's bias, its
 * gradient is rounding noise about zero, and Adam scales noise up to full steps. */
static double block_distance(const struct small_model *r, const tf_mem *block, const char *prefix,
                             bool skip_keys)
{
    double worst = 0, *x = malloc(r->w.params.size * sizeof *x);
    small_model_get(r, x, TF_ELEM_PARAM, block, r->w.params.size);
    for (size_t i = 0; i < r->w.params.n; i++) {
        const struct tf_param *p = &r->w.params.v[i];
        const struct row *g = golden(prefix, p->name);
        if (skip_keys && (strstr(p->name, "qkv.b") || strstr(p->name, "cross.kv.b")))
            continue;
        double d = g->n == p->n ? distance(x + p->offset, g->v, p->n) : INFINITY;
        if (d > worst) {
            worst = d;
            if (d > 1e-4)
                printf("# %s%s: %g\n", prefix, p->name, d);
        }
    }
    free(x);
    return worst;
}

/* As decoding has them. */
static void pack_weights(struct tf_weights *w)
{
    struct tf_err err = {0};
    w->packed = calloc(w->params.n, sizeof(struct tf_packed *));
    w->tables_packed = w->be->tables_packed;
    for (size_t i = 0; i < w->params.n; i++) {
        const struct tf_param *p = &w->params.v[i];
        if (!tf_param_is_packed(p, w->tables_packed) && i != (size_t)w->params.project)
            continue;
        w->packed[i] =
            tf_pack_all(w->be, w->ctx, tf_weights_at(w, (int)i), (int)p->dims[!p->outputs],
                        (int)p->dims[p->outputs], p->outputs == 0, 0, &err);
        ok(w->packed[i] != NULL, "%s is packed", p->name);
    }
}

/* Logits by incremental decoding with the golden targets forced, all sentences at once as rows. */
static double logits_distance(struct small_model *r, const struct tf_pairs *p)
{
    const struct tf_backend *be = r->be;
    struct tf_err err = {0};
    struct tf_memory m = {0};
    struct tf_cache cache = {0};
    enum { N = 4, MAX = 8 };
    size_t V = (size_t)r->w.config.vocab_size;
    uint32_t src[32], off[N + 1], n_ids = 0;
    for (size_t s = 0; s < N; s++) { /* the ids without EOS again */
        off[s] = n_ids;
        for (uint32_t i = p->src_off[s]; i + 1 < p->src_off[s + 1]; i++)
            src[n_ids++] = p->src[i];
    }
    off[N] = n_ids;
    pack_weights(&r->w);
    struct tf_work *k = tf_work_new(&r->w, r->ctx), *whole = tf_work_new(&r->w, r->ctx);
    struct tf_sums sums = {0};
    must(tf_forward(whole, &sums, NULL, p, 0, p->n, &err), &err);
    must(tf_encode(k, &m, N, src, off, &err), &err);
    ok(2 * tf_work_bytes(k) < tf_work_bytes(whole), "encoding reserves no memory for a decoder");
    is_int((long long)tf_work_bytes(k),
           (long long)(tf_rows_round_up(1) * tf_encoder_token_bytes(&r->w)),
           "and tf_encoder_token_bytes for each row");
    tf_work_free(whole);
    must(tf_cache_init(&cache, &r->w, r->ctx, N * MAX, &err), &err);
    tf_mem *u[7], *z = be->alloc(r->ctx, TF_ELEM_STAT, N * V, &err);
    for (int i = 0; i < 7; i++)
        u[i] = be->alloc(r->ctx, TF_ELEM_U32, N * MAX, &err);
    double *all = calloc(p->tgt_off[N] * V, sizeof *all), *step = malloc(N * V * sizeof *step);
    for (uint32_t t = 0; t < p->longest; t++) {
        uint32_t ids[N], at[N], slot[N], table[N * MAX], past[N], first[N], n_src[N], who[N];
        size_t live = 0;
        for (uint32_t s = 0; s < N; s++) {
            if (t >= p->tgt_off[s + 1] - p->tgt_off[s])
                continue;
            ids[live] = p->tgt_in[p->tgt_off[s] + t];
            at[live] = t;
            slot[live] = s * MAX + (t * 5 + 3) % MAX; /* slots in no order */
            for (uint32_t i = 0; i <= t; i++)
                table[live * MAX + i] = s * MAX + (i * 5 + 3) % MAX;
            past[live] = t + 1;
            first[live] = m.off[s];
            n_src[live] = m.off[s + 1] - m.off[s];
            who[live++] = s;
        }
        if (!live)
            break;
        const uint32_t *host[7] = {ids, at, slot, table, past, first, n_src};
        for (int i = 0; i < 7; i++)
            be->upload(r->ctx, u[i], TF_ELEM_U32, host[i], i == 3 ? live * MAX : live);
        struct tf_decode_step d = {.rows = live,
                                   .ids = u[0],
                                   .at = u[1],
                                   .slot = u[2],
                                   .table = u[3],
                                   .n_past = u[4],
                                   .first = u[5],
                                   .n_src = u[6],
                                   .table_ld = MAX,
                                   .z = z};
        must(tf_decode_step(k, &m, &cache, &d, &err), &err);
        small_model_get(r, step, TF_ELEM_STAT, z, live * V);
        for (size_t i = 0; i < live; i++)
            memcpy(all + (p->tgt_off[who[i]] + t) * V, step + i * V, V * sizeof *all);
    }
    double d = distance(all, golden("", "logits")->v, p->tgt_off[N] * V);
    free(all);
    free(step);
    for (int i = 0; i < 7; i++)
        be->free(r->ctx, u[i]);
    be->free(r->ctx, z);
    tf_work_free(k);
    tf_cache_release(&cache, r->w.be, r->ctx);
    tf_memory_release(&m, r->w.be, r->ctx);
    return d;
}

static void update(struct small_model *r, struct tf_pairs *p, bool eps_hat)
{
    struct tf_err err = {0};
    size_t n = r->w.params.size;
    tf_mem *m = r->be->alloc(r->ctx, TF_ELEM_PARAM, n, &err),
           *v = r->be->alloc(r->ctx, TF_ELEM_PARAM, n, &err);
    tf_mem *norm2 = r->be->alloc(r->ctx, TF_ELEM_F64, 1, &err);
    for (uint64_t t = 1; t <= 3; t++) {
        struct tf_sums sums = {0};
        run_backward(r->k, r->grads, &sums, p, 0, p->n,
                     &(struct tf_rng_state){.update = (uint32_t)t});
        r->be->sumsq(r->ctx, norm2, r->grads, n, n);
        double s = (double)t, lr = 2 * pow(6, -0.5) * fmin(pow(s, -0.5), s * pow(4, -1.5));
        r->be->adam(r->ctx, r->w.flat, m, v, r->grads, n, norm2,
                    &(struct tf_adam){.lr = lr,
                                      .beta1 = 0.9,
                                      .beta2 = 0.98,
                                      .eps = 1e-9,
                                      .gscale = 1 / sums.tokens,
                                      .t = t,
                                      .eps_hat = eps_hat});
    }
    r->be->free(r->ctx, m);
    r->be->free(r->ctx, v);
    r->be->free(r->ctx, norm2);
}

static void run(const char *dialect, const struct tf_backend *be, double tolerance)
{
    struct tf_config c = small_config();
    bool t2t = strcmp(dialect, "t2t") == 0;
    if (t2t) {
        c.dialect = TF_AS_T2T;
        c.positions = TF_POS_LEARNED;
        c.max_positions = 8;
        c.tie = TF_TIE_NONE;
        c.start = TF_START_ZERO;
        c.pre_norm = c.final_norm = c.attention_bias = true;
        c.smoothing = TF_SMOOTH_V1;
    }
    struct tf_params t;
    tf_params_init(&t, &c);
    float *flat = calloc(t.size, sizeof *flat);
    for (size_t i = 0; i < t.n; i++) {
        const struct row *g = golden("w/", t.v[i].name);
        for (size_t j = 0; j < t.v[i].n && j < g->n; j++)
            flat[t.v[i].offset + j] = (float)g->v[j];
    }
    struct small_model r;
    struct tf_pairs p = {0};
    struct tf_err err = {0};
    small_model_open(&r, be, &c, flat);
    small_pairs(&p, &c);

    struct tf_sums sums = {0};
    run_backward(r.k, r.grads, &sums, &p, 0, p.n, &(struct tf_rng_state){0});
    is_near(sums.loss, golden("", "loss")->v[0], tolerance * sums.loss, "%s on %s: loss", dialect,
            be->name);
    is_near(sums.nll, golden("", "nll")->v[0], tolerance * sums.nll,
            "%s on %s: negative log-likelihood", dialect, be->name);
    double d = block_distance(&r, r.grads, "g/", false);
    ok(d < tolerance, "%s on %s: gradients, worst %.2g", dialect, be->name, d);
    struct tf_sums again = {0};
    must(tf_forward(r.k, &again, NULL, &p, 0, p.n, &err), &err);
    is_near(again.loss, sums.loss, 1e-6 * sums.loss, "%s on %s: forward alone gives the same loss",
            dialect, be->name);
    ok(again.correct == sums.correct && again.tokens == 12, "%s on %s: hits and tokens", dialect,
       be->name);
    d = logits_distance(&r, &p);
    ok(d < tolerance, "%s on %s: logits by incremental decoding, worst %.2g", dialect, be->name, d);
    update(&r, &p, t2t);
    d = block_distance(&r, r.w.flat, "u/", be != &tf_backend_ref_f64);
    ok(d < (be == &tf_backend_ref_f64 ? 1e-4 : 1e-3),
       "%s on %s: weights after three updates, worst %.2g", dialect, be->name, d);

    small_model_close(&r);
    tf_pairs_release(&p);
    tf_params_release(&t);
    free(flat);
}

int main(void)
{
    static const char *const dialects[] = {"paper", "t2t"};
    for (int i = 0; i < 2; i++) {
        char path[512];
        snprintf(path, sizeof path, "tests/golden/model/%s.txt.gz", dialects[i]);
        read_golden(path);
        run(dialects[i], &tf_backend_ref_f64, 1e-6);
        run(dialects[i], &tf_backend_ref_f32, 1e-4);
        run(dialects[i], tf_cpu_backends(NULL)[0], 1e-4);
        drop_golden();
    }
    return done();
}
