/* sublayer_private.h - a kind of sublayer: one file with one struct of its functions. */
#ifndef TF_MODEL_SUBLAYER_PRIVATE_H
#define TF_MODEL_SUBLAYER_PRIVATE_H

#include "model/acts_private.h"
#include "model/params_private.h"

struct tf_sublayer {
    /* Add its parameters to the table, named after `name` ("enc.0.self"), and note in s what it has
     * of them, and its widths. */
    void (*add)(struct tf_params *p, const struct tf_config *c, struct tf_step *s,
                const char *name);
    /* side->u = f(in) */
    void (*forward)(struct tf_work *k, struct tf_stack_acts *side, const struct tf_step_acts *a,
                    const tf_mem *in);
    /* From side->du: the gradient of `in` overwrites din or is added to it, and the gradients of
     * the weights are overwritten, as every weight is used once in a pass. */
    void (*backward)(struct tf_work *k, struct tf_stack_acts *side, const struct tf_step_acts *a,
                     const tf_mem *in, tf_mem *din, bool add);
    /* u = f(in) for the newest position of each hypothesis */
    void (*decode)(struct tf_work *k, const struct tf_decoding *d, const struct tf_step *s,
                   const tf_mem *in, tf_mem *u);
};

extern const struct tf_sublayer tf_self_attention, tf_cross_attention, tf_feed_forward, tf_ssru;

#endif
