/* fairseq_private.h - checkpoints of fairseq (github.com/facebookresearch/fairseq,
 * fairseq/models/transformer). */
#ifndef TF_CONVERT_FAIRSEQ_PRIVATE_H
#define TF_CONVERT_FAIRSEQ_PRIVATE_H

#include "convert/names_private.h"
#include "convert/program_private.h"

/* A directory has model.pt, checkpoint_best.pt or one .pt, dict.LANG.txt, and a SentencePiece model
 * or codes (bpecodes, code) if text is split by them. A dictionary is lines of a token and a count;
 * the first four ids are <s>, <pad>, </s>, <unk>. A token that is there again, with or without
 * #fairseq:overwrite, has the last of its ids, but of these four the first; the others, which no
 * text of training becomes, are <unused-N>, while fairseq prints the token for them, too. */
extern const struct tf_program tf_fairseq;

/* Names of tensors in layers, which transformers has kept; and beside them, after a prefix. */
extern const struct tf_names_row tf_fairseq_layers[];
/* clang-format off */
#define TF_FAIRSEQ_NORM(ours, theirs) {ours ".g", theirs ".weight"}, {ours ".b", theirs ".bias"}
#define TF_FAIRSEQ_STACKS(prefix) \
    TF_FAIRSEQ_NORM("enc.norm", prefix "encoder.layer_norm"), \
        TF_FAIRSEQ_NORM("dec.norm", prefix "decoder.layer_norm"), \
        TF_FAIRSEQ_NORM("enc.input.norm", prefix "encoder.layernorm_embedding"), \
        TF_FAIRSEQ_NORM("dec.input.norm", prefix "decoder.layernorm_embedding"), \
        {"enc.pos", prefix "encoder.embed_positions.weight"}, \
        {"dec.pos", prefix "decoder.embed_positions.weight"}
/* clang-format on */

/* Is m->torch one? It has its parameters in "model" and its arguments in "args" or "cfg". */
bool tf_fairseq_is(const struct tf_import *m);
/* Arguments and tensors of m->torch. The decoder starts with eos, and positions count from 2.
 * c->source_vocab_size is set unless one matrix is both embeddings. */
int tf_fairseq_import(struct tf_import *m, struct tf_err *err) TF_MUST_CHECK;
/* The tensors alone. vocab_size, source_vocab_size and tie are set from them; shared: one matrix is
 * embeddings and projection, of which a file need not have every copy. */
int tf_fairseq_parameters(struct tf_import *m, bool shared, struct tf_err *err) TF_MUST_CHECK;

#endif
