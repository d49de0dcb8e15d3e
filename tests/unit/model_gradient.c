/* Gradients of a whole small model against central differences on the double build of the
 * reference, for each option; and weights that do not reach a backend. */
/* tags: no-emulator */
#include "../harness/model.h"
#include "ops/cpu/cpu.h"

#include <math.h>

static double loss_of(struct small_model *r, const struct tf_pairs *p)
{
    struct tf_sums sums = {0};
    run_backward(r->k, r->grads, &sums, p, 0, p->n, &(struct tf_rng_state){.seed = 5, .update = 9});
    return sums.loss;
}

/* Rows that are reserved for n. */
static size_t reserved(size_t n)
{
    return tf_rows_round_up(n + n / 8);
}

/* What check() guides with, if its weight is not 0. */
static struct tf_guide guide;

/* The weights of small_pairs() that check() gives them, if it gives any. */
static const float *weighted;
static const float weights[] = {2, 0, 0.5f, 1.25f};

/* Links for small_pairs(): some rows have none, one has two. */
static void link_pairs(struct tf_pairs *p, const struct tf_config *c)
{
    static const uint32_t links[] = {0, 0, 1, 1, 0, 1, 2, 0};
    uint32_t off[8] = {0};
    const uint32_t S = p->src_off[1] - p->src_off[0] - c->source_eos,
                   T = p->tgt_off[1] - p->tgt_off[0] - 1;
    for (size_t i = 1; i <= p->n; i++)
        off[i] = 8;
    ok(S >= 3 && T >= 2 && p->n < 8, "the first pair is long enough for its links");
    tf_pairs_link(p, c, &guide, links, off);
}

static void check(const char *what, const struct tf_config *c)
{
    float *flat = small_weights(c, 3);
    struct small_model r;
    struct tf_pairs p = {0};
    small_model_open(&r, &tf_backend_ref_f64, c, flat);
    small_pairs(&p, c);
    if (guide.weight > 0)
        link_pairs(&p, c);
    if (weighted != NULL)
        tf_pairs_weigh(&p, weighted);
    size_t n = r.w.params.size;
    double *w = malloc(n * sizeof *w), *g = malloc(n * sizeof *g), worst = 0;
    small_model_get(&r, w, TF_ELEM_PARAM, r.w.flat, n);
    loss_of(&r, &p);
    small_model_get(&r, g, TF_ELEM_PARAM, r.grads, n);
    const char *where = "";
    for (size_t i = 0; i < r.w.params.n; i++) {
        const struct tf_param *q = &r.w.params.v[i];
        double size = 1e-3; /* the parameter's own largest gradient sets the scale */
        for (size_t j = 0; j < q->n; j++)
            size = fmax(size, fabs(g[q->offset + j]));
        size_t stride = q->n > 12 ? q->n / 12 : 1; /* a dozen elements of each */
        for (size_t j = 0; j < q->n; j += stride) {
            size_t at = q->offset + j;
            const double h = 1e-5;
            double up, down;
            small_model_put(&r, at, w[at] + h);
            up = loss_of(&r, &p);
            small_model_put(&r, at, w[at] - h);
            down = loss_of(&r, &p);
            small_model_put(&r, at, w[at]);
            double e = fabs((up - down) / (2 * h) - g[at]) / size;
            if (!(e <= worst)) {
                worst = e;
                where = q->name;
            }
        }
    }
    ok(worst < 1e-6, "%s: worst relative error %.2g (%s)", what, worst, where);
    is_int((long long)tf_work_training_bytes(r.be, c, reserved(p.src_off[p.n]),
                                             reserved(p.tgt_off[p.n])),
           (long long)tf_work_bytes(r.k), "%s: the memory of a pass is known before it", what);
    free(w);
    free(g);
    free(flat);
    small_model_close(&r);
    tf_pairs_release(&p);
}

/* The gradient of weighted pairs is the sum of those of single pairs times their weights, so one of
 * weight 2 counts as two; and weights that are all 1 change no byte. most: relative error. */
static void check_weights(const struct tf_backend *be, double most)
{
    static const float ones[] = {1, 1, 1, 1};
    const struct tf_config c = small_config();
    const struct tf_rng_state step = {.seed = 5, .update = 9};
    struct tf_err err = {0};
    struct small_model r;
    struct tf_pairs p = {0};
    struct tf_sums all = {0}, plain = {0}, one, same = {0};
    float *flat = small_weights(&c, 3);
    small_model_open(&r, be, &c, flat);
    small_pairs(&p, &c);
    if (guide.weight > 0)
        link_pairs(&p, &c);
    const size_t n = r.w.params.size, size = n * be->elem_size[TF_ELEM_PARAM];
    double *sum = calloc(n, sizeof *sum), *g = calloc(n, sizeof *g);
    double worst = 0, most_g = 0, loss = 0;
    void *bytes = malloc(size);
    for (size_t i = 0; i < p.n; i++) {
        one = (struct tf_sums){0};
        run_backward(r.k, r.grads, &one, &p, i, i + 1, &step);
        small_model_get(&r, g, TF_ELEM_PARAM, r.grads, n);
        loss += (double)weights[i] * one.loss;
        for (size_t j = 0; j < n; j++)
            sum[j] += (double)weights[i] * g[j];
    }
    run_backward(r.k, r.grads, &plain, &p, 0, p.n, &step);
    must(be->download(r.ctx, bytes, TF_ELEM_PARAM, r.grads, n, &err), &err);
    tf_pairs_weigh(&p, weights);
    run_backward(r.k, r.grads, &all, &p, 0, p.n, &step);
    small_model_get(&r, g, TF_ELEM_PARAM, r.grads, n);
    for (size_t j = 0; j < n; j++) {
        worst = fmax(worst, fabs(g[j] - sum[j]));
        most_g = fmax(most_g, fabs(sum[j]));
    }
    const char *guided = guide.weight > 0 ? ", guided" : "";
    ok(worst < most * most_g, "%s%s: weights multiply gradients, but for %.2g", be->name, guided,
       worst / most_g);
    ok(fabs(all.loss - loss) < most * loss, "%s%s: and the loss", be->name, guided);
    ok(all.nll == plain.nll && all.tokens == plain.tokens && all.correct == plain.correct,
       "%s%s: and no other sum", be->name, guided);
    tf_pairs_weigh(&p, ones);
    run_backward(r.k, r.grads, &same, &p, 0, p.n, &step);
    void *again = malloc(size);
    must(be->download(r.ctx, again, TF_ELEM_PARAM, r.grads, n, &err), &err);
    is_mem(again, bytes, size, "%s%s: weights of 1 change no byte", be->name, guided);
    ok(same.loss == plain.loss, "%s%s: nor the loss", be->name, guided);
    free(again);
    free(bytes);
    free(sum);
    free(g);
    free(flat);
    small_model_close(&r);
    tf_pairs_release(&p);
}

static int no_sync(struct tf_ctx *c, struct tf_err *err)
{
    (void)c;
    return tf_fail(err, "lost");
}

/* A table of positions that does not get there leaves the one before. */
static void check_lost_positions(void)
{
    struct small_model r;
    struct tf_err err = {0};
    struct tf_config c = small_config();
    float *flat = small_weights(&c, 3);
    small_model_open(&r, tf_cpu_backends(NULL)[0], &c, flat);
    struct tf_backend losing = *r.be;
    losing.sync = no_sync;
    r.w.be = &losing;
    size_t rows = r.w.pos_rows;
    const tf_mem *table = r.w.sinusoids;
    is_int(tf_weights_positions(&r.w, rows + 1, &err), -1, "positions that are lost");
    ok(r.w.pos_rows == rows && r.w.sinusoids == table, "the table before them stays");
    r.w.be = r.be;
    is_int(tf_weights_positions(&r.w, rows + 1, &err), 0, "and can still grow");
    small_model_close(&r);
    free(flat);
}

int main(void)
{
    check_lost_positions();
    const struct tf_config plain = small_config();
    struct tf_config c = plain;
    check("post-norm, d_k != d_v, tied three ways", &c);
    c.pre_norm = c.final_norm = true;
    check("pre-norm", &c);
    c = plain;
    c.positions = TF_POS_LEARNED;
    c.max_positions = 8;
    check("learned positions", &c);
    c = plain;
    c.tie = TF_TIE_DECODER;
    check("source embedding apart", &c);
    c.tie = TF_TIE_NONE;
    check("three matrices", &c);
    c = plain;
    c.attention_window = 1;
    check("attention window", &c);
    c = plain;
    c.attention_bias = true;
    check("attention biases", &c);
    c = plain;
    c.dropout = 0.3;
    c.attention_dropout = 0.2;
    c.relu_dropout = 0.1;
    check("dropout everywhere, mask fixed", &c);
    c.pre_norm = c.final_norm = true;
    check("dropout with pre-norm", &c);
    c.final_norm = false;
    check("dropout with pre-norm, the last sums as they are", &c);
    c = plain;
    c.start = TF_START_ZERO;
    c.smoothing = TF_SMOOTH_V1;
    c.dialect = TF_AS_T2T;
    check("t2t: zero start, smoothing over the others", &c);
    c = plain;
    c.final_norm = true;
    c.dropout = 0.3;
    check("post-norm with final norms", &c);
    c = plain;
    c.position_table = TF_TABLE_HALVES;
    c.position_offset = 2;
    check("another table of positions", &c);
    c = plain;
    c.source_eos = false;
    check("sources without their end, one of them empty", &c);
    c = plain;
    c.activation = TF_ACTIVATION_SWISH;
    c.output_bias = true;
    c.relu_dropout = 0.3;
    check("swish, output bias", &c);
    c.activation = TF_ACTIVATION_GELU;
    check("gelu, output bias", &c);
    c = plain;
    c.decoder_self = TF_DECODER_SSRU;
    check("recurrent units", &c);
    c.pre_norm = c.final_norm = true;
    c.d_k = c.d_v = 1;
    check("recurrent units wider than attention, pre-norm", &c);
    c = plain;
    c.embedding_norm = true;
    c.dropout = 0.3;
    check("a norm on the embeddings", &c);
    c.pre_norm = c.final_norm = c.unscaled_embeddings = true;
    check("a norm on embeddings as they are, pre-norm", &c);
    c = plain;
    c.decoder_norms = TF_NORMS_BEFORE;
    check("norms before the decoder's sublayers, and after the encoder's", &c);
    c.pre_norm = c.final_norm = true;
    c.decoder_norms = TF_NORMS_AFTER;
    check("norms before the encoder's sublayers, and after the decoder's", &c);
    c = plain;
    c.encoder_layers = 3;
    c.decoder_layers = 1;
    c.heads = 3;
    c.d_k = 1;
    c.label_smoothing = 0;
    check("uneven stacks, odd heads, no smoothing", &c);
    c = plain;
    c.dropout = 0.3;
    c.output_bias = true;
    weighted = weights;
    check("weights", &c);
    weighted = NULL;
    check_weights(&tf_backend_ref_f64, 1e-12);
    check_weights(tf_cpu_backends(NULL)[0], 1e-5);
    guide = (struct tf_guide){0.7, (int)plain.decoder_layers - 1, 1};
    c = plain;
    check("guided alignment of a head in the last layer", &c);
    c.pre_norm = c.final_norm = true;
    c.dropout = 0.3;
    c.attention_dropout = 0.2;
    guide.layer = guide.head = 0;
    check("guided alignment in the first, with dropout", &c);
    weighted = weights;
    check("guided alignment and weights", &c);
    check_weights(&tf_backend_ref_f64, 1e-12);
    check_weights(tf_cpu_backends(NULL)[0], 1e-5);
    return done();
}
