/* attention.c - scaled dot-product attention of many heads (paper, section 3.2), its gradients, and
 * single queries over cached keys. A query that sees no key has output 0 and log-sum-exp -inf. */
#include "ops/ref/ref_private.h"

#include <math.h>

/* One sentence and head of an attention, as pointers to its first rows. */
struct view {
    const struct tf_attention *a;
    size_t T, S;             /* queries and keys */
    size_t row, head;        /* first query's buffer row */
    uint32_t packed;         /* first query's packed row */
    const tf_real *q, *k, *v;
    double scale;
};

static struct view view_of(const struct tf_attention *a, size_t s, size_t h)
{
    const struct tf_rows *qr = a->q_rows, *kr = a->k_rows;
    size_t row = qr->off[s] - qr->off[0], key = kr->off[s] - kr->off[0];
    size_t dk = (size_t)a->dk, dv = (size_t)a->dv;
    return (struct view){
        .a = a,
        .T = qr->off[s + 1] - qr->off[s],
        .S = kr->off[s + 1] - kr->off[s],
        .row = row,
        .head = h,
        .packed = qr->off[s],
        .q = (const tf_real *)a->q + row * a->ldq + h * dk,
        .k = (const tf_real *)a->k + key * a->ldk + h * dk,
        .v = (const tf_real *)a->v + key * a->ldv + h * dv,
        .scale = 1 / sqrt((double)a->dk),
    };
}

static bool sees(const struct tf_attention *a, size_t i, size_t j)
{
    if (a->causal && j > i)
        return false;
    return a->window == 0 || (i > j ? i - j : j - i) <= (size_t)a->window;
}

static double dot(const tf_real *x, const tf_real *y, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)x[i] * (double)y[i];
    return sum;
}

static double score(const struct view *w, size_t i, size_t j)
{
    if (!sees(w->a, i, j))
        return -INFINITY;
    return w->scale * dot(w->q + i * w->a->ldq, w->k + j * w->a->ldk, (size_t)w->a->dk);
}

static double keep(const struct tf_ctx *c, const struct view *w, size_t i, size_t j)
{
    struct tf_dropout dropout = w->a->dropout;
    dropout.site |= (uint32_t)w->head << 16;
    return TF_REF(dropout_factor)(c, dropout, w->packed + i, j);
}

/* log sum exp x[0..n); -inf for none. */
static double log_sum_exp(const double *x, size_t n)
{
    double max = -INFINITY, sum = 0;
    for (size_t i = 0; i < n; i++)
        max = x[i] > max ? x[i] : max;
    if (max == -INFINITY)
        return max;
    for (size_t i = 0; i < n; i++)
        sum += exp(x[i] - max);
    return max + log(sum);
}

/* exp(x - lse), where both are -inf for a query without keys. */
static double weight(double x, double lse)
{
    return x == -INFINITY ? 0 : exp(x - lse);
}

static void forward(struct tf_ctx *c, const struct view *w, tf_real *probs)
{
    const struct tf_attention *a = w->a;
    size_t dv = (size_t)a->dv, heads = (size_t)a->heads;
    double *p = tf_ref_scratch(c, w->S);
    for (size_t i = 0; i < w->T; i++) {
        for (size_t j = 0; j < w->S; j++)
            p[j] = score(w, i, j);
        double lse = log_sum_exp(p, w->S);
        if (a->lse != NULL)
            ((tf_real *)a->lse)[(w->row + i) * heads + w->head] = (tf_real)lse;
        for (size_t j = 0; j < w->S; j++) {
            p[j] = weight(p[j], lse);
            if (probs != NULL)
                probs[i * w->S + j] = (tf_real)p[j];
            p[j] *= keep(c, w, i, j);
        }
        tf_real *o = (tf_real *)a->o + (w->row + i) * a->ldo + w->head * dv;
        for (size_t d = 0; d < dv; d++) {
            double sum = 0;
            for (size_t j = 0; j < w->S; j++)
                sum += p[j] * (double)w->v[j * a->ldv + d];
            o[d] = (tf_real)sum;
        }
    }
}

void TF_REF(attention_fwd)(struct tf_ctx *c, const struct tf_attention *a)
{
    TF_ASSERT(a->q_rows->n == a->k_rows->n);
    tf_real *probs = a->probs;
    for (size_t s = 0; s < a->q_rows->n; s++)
        for (size_t h = 0; h < (size_t)a->heads; h++) {
            struct view w = view_of(a, s, h);
            forward(c, &w, probs);
            if (probs != NULL)
                probs += w.T * w.S;
        }
}

/* With P the weights, M dropout's factors, o = (P M) v: dv = (P M)' do, dP = M (do v'), dz = P (dP
 * - sum_j P dP), dq = scale dz k, dk = scale dz' q. */
static void backward(struct tf_ctx *c, const struct view *w, size_t key)
{
    const struct tf_attention *a = w->a;
    size_t dk = (size_t)a->dk, dv = (size_t)a->dv, heads = (size_t)a->heads;
    double *p = tf_ref_scratch(c, w->S * (3 + dk + dv));
    double *m = p + w->S, *dp = m + w->S, *gk = dp + w->S, *gv = gk + w->S * dk;
    for (size_t i = 0; i < w->S * (dk + dv); i++)
        gk[i] = 0;

    for (size_t i = 0; i < w->T; i++) {
        const tf_real *q = w->q + i * a->ldq;
        const tf_real *d_o = (const tf_real *)a->d_o + (w->row + i) * a->ldo + w->head * dv;
        double lse = (double)((const tf_real *)a->lse)[(w->row + i) * heads + w->head];
        double mean = 0;
        for (size_t j = 0; j < w->S; j++) {
            p[j] = weight(score(w, i, j), lse);
            m[j] = keep(c, w, i, j);
            dp[j] = m[j] * dot(d_o, w->v + j * a->ldv, dv);
            mean += p[j] * dp[j];
        }
        tf_real *dq = (tf_real *)a->dq + (w->row + i) * a->ldq + w->head * dk;
        for (size_t d = 0; d < dk; d++) {
            double sum = 0;
            for (size_t j = 0; j < w->S; j++)
                sum += p[j] * (dp[j] - mean) * (double)w->k[j * a->ldk + d];
            dq[d] = (tf_real)(w->scale * sum);
        }
        for (size_t j = 0; j < w->S; j++) {
            for (size_t d = 0; d < dk; d++)
                gk[j * dk + d] += p[j] * (dp[j] - mean) * (double)q[d];
            for (size_t d = 0; d < dv; d++)
                gv[j * dv + d] += p[j] * m[j] * (double)d_o[d];
        }
    }
    for (size_t j = 0; j < w->S; j++) {
        tf_real *dk_out = (tf_real *)a->dk_ + (key + j) * a->ldk + w->head * dk;
        tf_real *dv_out = (tf_real *)a->dv_ + (key + j) * a->ldv + w->head * dv;
        for (size_t d = 0; d < dk; d++)
            dk_out[d] = (tf_real)(w->scale * gk[j * dk + d]);
        for (size_t d = 0; d < dv; d++)
            dv_out[d] = (tf_real)gv[j * dv + d];
    }
}

void TF_REF(attention_bwd)(struct tf_ctx *c, const struct tf_attention *a)
{
    TF_ASSERT(a->q_rows->n == a->k_rows->n);
    for (size_t s = 0; s < a->q_rows->n; s++)
        for (size_t h = 0; h < (size_t)a->heads; h++) {
            struct view w = view_of(a, s, h);
            backward(c, &w, a->k_rows->off[s] - a->k_rows->off[0]);
        }
}

void TF_REF(cached_attention)(struct tf_ctx *c, const struct tf_cached_attention *a, size_t rows)
{
    size_t dk = (size_t)a->dk, dv = (size_t)a->dv, heads = (size_t)a->heads;
    const uint32_t *table = a->table, *first = a->first, *n_keys = a->n_keys;
    double scale = 1 / sqrt((double)dk);
    for (size_t r = 0; r < rows; r++)
        for (size_t h = 0; h < heads; h++) {
            size_t from = tf_cached_attention_from(a, n_keys[r]), S = n_keys[r] - from;
            const uint32_t *slots = table != NULL ? table + r * a->table_ld + from : NULL;
            double *p = tf_ref_scratch(c, S + dv), *sum = p + S;
            const tf_real *q = (const tf_real *)a->q + r * a->ldq + h * dk;
            for (size_t j = 0; j < S; j++) {
                size_t key = slots != NULL ? slots[j] : first[r] + from + j;
                p[j] = scale * dot(q, (const tf_real *)a->k + key * a->ldk + h * dk, dk);
            }
            double lse = log_sum_exp(p, S);
            for (size_t d = 0; d < dv; d++)
                sum[d] = 0;
            for (size_t j = 0; j < S; j++) {
                size_t key = slots != NULL ? slots[j] : first[r] + from + j;
                const tf_real *v = (const tf_real *)a->v + key * a->ldv + h * dv;
                p[j] = weight(p[j], lse);
                for (size_t d = 0; d < dv; d++)
                    sum[d] += p[j] * (double)v[d];
            }
            tf_real *o = (tf_real *)a->o + r * a->ldo + h * dv;
            for (size_t d = 0; d < dv; d++)
                o[d] = (tf_real)sum[d];
        }
}
