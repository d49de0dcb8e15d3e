/* positions_private.h - the table of positions of another program's model.
 *
 * A model that came from Marian by way of transformers or CTranslate2 can be one of two functions.
 * These programs add another table of positions than Marian, with which such models were trained,
 * and another epsilon: a model is exactly Marian's (TF_STORED_T2T, the default), or exactly what
 * they compute (TF_STORED_HALVES), for one that was trained or tuned there. */
#ifndef TF_CONVERT_POSITIONS_PRIVATE_H
#define TF_CONVERT_POSITIONS_PRIVATE_H

#include "base/json.h"
#include "convert/import_private.h"

/* Set position_table and position_offset of m->config, whose dialect is t2t, and norm_eps for a
 * table `halves` that becomes t2t, from the tables [rows, D] of the stacks. One that is none of
 * ours becomes a learned one. The user's choice comes first, then `position_table` of config.json;
 * m->guessed: neither is there. Errors: one table is missing, or is not [rows, d_model]. */
int tf_positions_recognise(struct tf_import *m, const struct tf_tensor *encoder,
                           const struct tf_tensor *decoder, struct tf_err *err) TF_MUST_CHECK;
/* Set the same members for a file that has no table. */
int tf_positions_missing(struct tf_import *m, struct tf_err *err) TF_MUST_CHECK;
/* Write `position_table`, for `halves` only, so that such a model comes back as it was. */
void tf_positions_put(struct tf_json *config, const struct tf_config *c);
/* Check that t [rows, D], NULL or not, has the configuration's table from its row position_offset
 * on: a model whose table was trained is refused. */
int tf_positions_check(const struct tf_config *c, const struct tf_tensor *t,
                       struct tf_err *err) TF_MUST_CHECK;
/* The table [rows, D] of a configuration with sinusoids, f32 in the arena. */
struct tf_tensor tf_positions_table(const struct tf_config *c, size_t rows, struct tf_arena *a);

enum { TF_NO_POSITION = 2 /* first rows of a learned table of fairseq's */ };
/* Learned tables of encoder and decoder, which lose these rows. */
int tf_positions_learned(struct tf_import *m, const char *const tables[2],
                         struct tf_err *err) TF_MUST_CHECK;

#endif
