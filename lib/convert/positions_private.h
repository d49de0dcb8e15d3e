/* positions_private.h - which table of positions is stored in another program's model. */
#ifndef TF_MODEL_POSITIONS_PRIVATE_H
#define TF_MODEL_POSITIONS_PRIVATE_H

#include "base/json.h"
#include "cbor/value.h"
#include "exchange/bundle.h"
#include "model/config.h"

/* Which function a model computes that came from Marian by way of transformers or CTranslate2. They
 * add another table of positions than Marian, with which these models were trained, and another
 * epsilon: a model is exactly Marian's (T2T, the default), or exactly what those programs compute
 * (HALVES), for one that was trained or tuned there. */
enum tf_stored_positions {
    TF_STORED_AUTO,
    TF_STORED_T2T,
    TF_STORED_HALVES
}; /* tf_stored_position_words */

/* Read `position_table` of a config.json into *positions if that is AUTO. tf_positions_put writes
 * it for `halves` only, so that such a model comes back as it was. */
int tf_positions_asked(enum tf_stored_positions *positions, const struct tf_value *config,
                       struct tf_err *err) TF_MUST_CHECK;
void tf_positions_put(struct tf_json *config, const struct tf_config *c);
/* Set position_table and position_offset of *c, whose dialect is t2t, and norm_eps for a table
 * `halves` that becomes t2t, from the tables [rows, D] of the stacks. One that is none of ours
 * becomes a learned one. *guessed: it was `halves`, and became t2t by AUTO. Errors: not a table for
 * each stack; one that is not [rows, d_model]. */
int tf_positions_recognise(struct tf_config *c, const struct tf_tensor *encoder,
                           const struct tf_tensor *decoder, enum tf_stored_positions positions,
                           bool *guessed, struct tf_err *err) TF_MUST_CHECK;
/* Check that t [rows, D], NULL or not, has the configuration's table from its row position_offset
 * on: a model whose table was trained is refused. */
int tf_positions_check(const struct tf_config *c, const struct tf_tensor *t,
                       struct tf_err *err) TF_MUST_CHECK;
/* The table [rows, D] of a configuration with sinusoids, f32 in the arena. */
struct tf_tensor tf_positions_table(const struct tf_config *c, size_t rows, struct tf_arena *a);

#endif
