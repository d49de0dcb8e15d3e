/* fairseq_private.h - checkpoints of fairseq (github.com/facebookresearch/fairseq,
 * fairseq/models/transformer): their arguments and names become ours. */
#ifndef TF_MODEL_FAIRSEQ_PRIVATE_H
#define TF_MODEL_FAIRSEQ_PRIVATE_H

#include "exchange/torch.h"
#include "model/config.h"
#include "text/piece_list.h"

/* What the directory beside a checkpoint has to supply. */
struct tf_fairseq_langs {
    const char *source, *target; /* of dict.LANG.txt, or NULL; in the arena of the bundle */
    const char *data;            /* the directory of what it was trained on, or NULL */
};

/* Find out how the matrices of embeddings are tied, and replace the tensors of *b by the parameters
 * of the configuration *c, under our names. vocab_size, source_vocab_size and tie are set from the
 * tensors; shared: one matrix is embeddings and projection, of which a file need not have every
 * copy; ff: widths of both stacks' inner layers. Errors: see tf_fairseq_import. */
int tf_fairseq_parameters(struct tf_bundle *b, struct tf_config *c, const int64_t ff[2],
                          bool shared, struct tf_err *err) TF_MUST_CHECK;

/* Is it one? It has its parameters in "model" and its arguments in "args" or "cfg". */
bool tf_fairseq_is(const struct tf_torch *t);

/* Fill *b (zero-initialised) with the parameters of the configuration *c, under our names, but for
 * c->bos, eos and pad, which are those of every dictionary of fairseq: the decoder starts with eos,
 * and positions count from 2. c->source_vocab_size is set unless one matrix is both embeddings.
 * Errors: arguments that the model cannot express, all of them by their names; tensors that are
 * missing, of another shape or left over. */
int tf_fairseq_import(struct tf_bundle *b, struct tf_config *c, struct tf_fairseq_langs *langs,
                      const struct tf_torch *t, struct tf_err *err) TF_MUST_CHECK;

/* Read a dictionary, lines of a token and a count; the first four ids are <s>, <pad>, </s>, <unk>.
 * A token that is there again, with or without #fairseq:overwrite, has the last of its ids; the
 * others are <unused-N>.
 * Errors name the path. */
int tf_fairseq_dictionary(struct tf_piece_list *list, struct tf_arena *a, const char *path,
                          struct tf_err *err) TF_MUST_CHECK;

#endif
