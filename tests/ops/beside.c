/* beside.c - gradients of weights that a device computes beside the rest of the backward pass: the
 * same bytes however a pass is queued, and in the emulation other bytes where one stream does not
 * wait for the other. There the second stream runs as late as CUDA may; with
 * TF_EMULATE_ORDER=reverse, which is for another run of this program, as early as it may. */
#include "../harness/model.h"
#include "../harness/problem.h"

#include <stdlib.h>
#include <string.h>

/* Of the weights of small_config() with a layer on each side: 4 of the encoder, 6 of the decoder,
 * and all keys and values of the encoder's output. At most so many waits. */
enum { PRODUCTS = 11, WAITS = 2 * PRODUCTS };

struct pass {
    struct small_model m;
    struct tf_pairs pairs;
    tf_mem *acc;  /* F64 [4] */
    float *grads; /* of the last pass */
    size_t n;
};

/* Pairs [from, to), whose gradients are downloaded. */
static void run(struct pass *p, size_t from, size_t to)
{
    struct tf_err err = {0};
    const struct small_model *m = &p->m;
    must(tf_queue_backward(m->k, m->grads, p->acc, &p->pairs, from, to,
                           &(struct tf_rng_state){.seed = 5, .update = 9}, &err), &err);
    must(m->be->download(m->ctx, p->grads, TF_ELEM_PARAM, m->grads, p->n, &err), &err);
}

/* All pairs, on memory that has the values of others. plain: not as a graph; left_out: a wait. */
static bool differs(struct pass *p, const float *want, bool plain, unsigned left_out)
{
    const struct small_model *m = &p->m;
    struct tf_err err = {0};
    char text[12];
    run(p, 0, 2);
    m->be->zero(m->ctx, m->grads, TF_ELEM_PARAM, p->n);
    if (plain) { /* with memory that is freed go all graphs, and what was seen once */
        tf_mem *more = m->be->alloc(m->ctx, TF_ELEM_PARAM, 1, &err);
        must(more != NULL ? 0 : -1, &err);
        m->be->free(m->ctx, more);
    }
    snprintf(text, sizeof text, "%u", left_out);
    setenv("TF_EMULATE_UNORDERED", text, left_out > 0);
    run(p, 0, p->pairs.n);
    unsetenv("TF_EMULATE_UNORDERED");
    return memcmp(p->grads, want, p->n * sizeof *want) != 0;
}

/* Leave out one wait after the other: of products in one order, for products in the other. One of
 * each shows nothing: the gradient of all keys and values was there before the product that came
 * last, and the embeddings' gradient, before which all products end, overwrites nothing of
 * theirs. */
static void test_waits(struct pass *p, const float *want)
{
    const char *order = getenv("TF_EMULATE_ORDER");
    const bool early = order != NULL && strcmp(order, "reverse") == 0;
    unsigned missed = 0, last = 0;
    for (unsigned n = 1; n <= WAITS; n++)
        if (differs(p, want, true, n)) {
            missed++;
            last = n;
        }
    if (early)
        is_int(missed, PRODUCTS - 1, "a product that does not wait for what it reads is noticed");
    else
        ok(last > PRODUCTS && missed == last - PRODUCTS - 1,
           "work that does not wait for a product is noticed: %u of %u waits", missed, last);
}

static void test(const struct tf_backend *be, bool emulated)
{
    struct tf_config c = small_config();
    struct tf_err err = {0};
    struct pass p = {0};
    c.encoder_layers = c.decoder_layers = 1;
    float *flat = small_weights(&c, 3);
    small_model_open(&p.m, be, &c, flat);
    small_pairs(&p.pairs, &c);
    p.n = p.m.w.params.size;
    p.grads = calloc(p.n, sizeof *p.grads);
    p.acc = be->alloc(p.m.ctx, TF_ELEM_F64, 4, &err);
    must(p.acc != NULL ? 0 : -1, &err);
    run(&p, 0, p.pairs.n);
    float *want = malloc(p.n * sizeof *want);
    memcpy(want, p.grads, p.n * sizeof *want);
    unsigned wrong = 0;
    for (unsigned i = 0; i < 4; i++) /* captured, and replayed */
        wrong += differs(&p, want, false, 0);
    is_int(wrong, 0, "cuda %s: the same bytes as a graph", be->precision);
    is_int(differs(&p, want, true, 0), 0, "cuda %s: the same bytes again", be->precision);
    if (emulated && strcmp(be->precision, "bf16") == 0) /* all precisions wait alike */
        test_waits(&p, want);
    free(want);
    free(p.grads);
    be->free(p.m.ctx, p.acc);
    small_model_close(&p.m);
    tf_pairs_release(&p.pairs);
    free(flat);
}

int main(void)
{
    struct candidate v[MAX_CANDIDATES];
    size_t n = candidates(v, false);
    for (size_t i = 0; i < n; i++) {
        if (strcmp(v[i].be->name, "cuda") != 0)
            continue;
        struct lane l = open_lane_as(&v[i]);
        const bool emulated = strncmp(l.be->describe(l.c), "emulation", 9) == 0;
        close_lane(&l);
        test(v[i].be, emulated);
    }
    return done();
}
