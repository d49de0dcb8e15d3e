/* hf_scale.c - see hf_scale_private.h. */
#include "base/memory.h"
#include "convert/hf_scale_private.h"

#include <math.h>
#include <stdlib.h>

struct scaling {
    struct tf_tensor *v;
    double s;
    bool embeddings; /* these, too */
    double last;     /* factor of the decoder's last norm */
    struct tf_arena *a;
    struct tf_err *err;
};

double tf_hf_scale_for(const struct tf_config *c)
{
    const double s = exp2(round(log2(TF_HF_NORM_EPS / c->norm_eps) / 2));
    return fmax(1 / TF_HF_MOST_SCALE, fmin(s, TF_HF_MOST_SCALE));
}

/* i: of a parameter, or -1 */
static int multiply_tensor(const struct scaling *x, int i, double by)
{
    if (i < 0 || by == 1)
        return 0;
    struct tf_tensor *t = &x->v[i];
    const size_t n = t->bytes / tf_dtype_size(t->dtype);
    void *data = tf_arena_alloc(x->a, t->bytes);
    float *f = tf_try_alloc(n * sizeof *f, x->err);
    if (f == NULL)
        return -1;
    tf_elements_as_floats(f, t, 0, n);
    for (size_t k = 0; k < n; k++)
        f[k] *= (float)by;
    const int rc = tf_floats_as(data, t->dtype, f, n, x->err);
    free(f);
    t->data = data;
    return rc != 0 ? tf_context(x->err, "tensor '%s'", t->name) : 0;
}

/* The matrix that reads the stream, and what writes it. */
static int scale_sublayer(const struct scaling *x, int in_w, int out_w, int out_b)
{
    return multiply_tensor(x, in_w, 1 / x->s) != 0 || multiply_tensor(x, out_w, x->s) != 0
               ? -1
               : multiply_tensor(x, out_b, x->s);
}

static int scale_norm(const struct scaling *x, int gain, int bias, double by)
{
    return multiply_tensor(x, gain, by) != 0 ? -1 : multiply_tensor(x, bias, by);
}

/* The steps of a post-norm model, which are a sublayer and its norm each. */
static int scale_stack(const struct scaling *x, const struct tf_stack *stack, double last)
{
    for (int i = 0; i < stack->n; i++) {
        const struct tf_step *s = &stack->step[i];
        if (((i > 0 || x->embeddings) && scale_sublayer(x, s->in_w, s->out_w, s->out_b) != 0) ||
            scale_norm(x, s->norm_g, s->norm_b, i < stack->n - 1 ? x->s : last) != 0)
            return -1;
    }
    return 0;
}

static int scale_embeddings(const struct scaling *x, const struct tf_params *p)
{
    const int target = p->dec.table != p->enc.table ? p->dec.table : -1;
    return multiply_tensor(x, p->enc.table, x->s) != 0 || multiply_tensor(x, target, x->s) != 0 ||
                   multiply_tensor(x, p->enc.pos, x->s) != 0
               ? -1
               : multiply_tensor(x, p->dec.pos, x->s);
}

int tf_hf_scale(struct tf_tensor *v, const struct tf_params *p, const struct tf_config *c, double s,
                struct tf_arena *a, struct tf_err *err)
{
    const bool learned = c->positions == TF_POS_LEARNED, tied = c->tie != TF_TIE_NONE;
    const struct scaling x = {v, s, learned, learned && tied ? 1 / s : 1, a, err};
    if (s == 1)
        return 0;
    return (learned && scale_embeddings(&x, p) != 0) || scale_stack(&x, &p->enc, 1) != 0
               ? -1
               : scale_stack(&x, &p->dec, x.last);
}
