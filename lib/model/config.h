/* config.h - the configuration of a Transformer: sizes and variants, and its map in the header of a
 * model file. */
#ifndef TF_MODEL_CONFIG_H
#define TF_MODEL_CONFIG_H

#include "base/err.h"
#include "cbor/member.h"
#include "stream/sentence.h"
#include <stdbool.h>
#include <stdint.h>

enum tf_dialect { TF_AS_PAPER, TF_AS_T2T };
enum tf_positions { TF_POS_SIN, TF_POS_LEARNED };
/* the table of sinusoids, see weights.h: that of the dialect, or one of the three by name */
enum tf_position_table { TF_TABLE_DIALECT, TF_TABLE_PAPER, TF_TABLE_T2T, TF_TABLE_HALVES };
/* of the feed-forward layer: max(0, x); x / (1 + exp(-x)), also called SiLU; x times the normal
 * distribution up to x */
enum tf_activation { TF_ACTIVATION_RELU, TF_ACTIVATION_SWISH, TF_ACTIVATION_GELU };
/* of the decoder's first sublayers: self-attention, or the cells of a simpler simple recurrent unit
 * (ops/backend.h) */
enum tf_decoder_self { TF_DECODER_ATTENTION, TF_DECODER_SSRU };
/* embeddings and output projection: one matrix; two, for source and for the decoder; three */
enum tf_tie { TF_TIE_ALL, TF_TIE_DECODER, TF_TIE_NONE };
/* the decoder's first input: the embedding of bos, or a zero vector; the position is added to both
 */
enum tf_start { TF_START_BOS, TF_START_ZERO };
/* label smoothing: probability eps/V on all V ids, or eps/(V-1) on all but the target */
enum tf_smoothing { TF_SMOOTH_V, TF_SMOOTH_V1 };
/* The norms of a decoder that has others than the encoder: before its sublayers or after them, and
 * perhaps on top. */
enum tf_decoder_norms {
    TF_NORMS_SAME,
    TF_NORMS_AFTER,
    TF_NORMS_AFTER_TOP, /* each _TOP follows the same without it */
    TF_NORMS_BEFORE,
    TF_NORMS_BEFORE_TOP
};
/* initial weights, see params.h */
enum tf_initializer { TF_INITIALIZER_GLOROT, TF_INITIALIZER_FUSED, TF_INITIALIZER_SCALED };

/* Their names in options and files, in that order, NULL-terminated. */
extern const char *const tf_dialects[],
    *const tf_position_kinds[], *const tf_position_tables[], *const tf_activations[],
    *const tf_decoder_selves[], *const tf_decoder_norms[], *const tf_ties[], *const tf_starts[],
    *const tf_smoothings[], *const tf_initializers[];

#define TF_MAX_WIDTH 65536

/* The configuration. The map in a model's header has one entry per field, of the same name. */
struct tf_config {
    enum tf_dialect dialect;
    int64_t encoder_layers, decoder_layers; /* N */
    int64_t d_model, d_ff, heads, d_k, d_v; /* D, F, H; d_k and d_v: per head */
    int64_t vocab_size;                     /* V: rows of the embedding; 0 until known */
    int64_t source_vocab_size; /* rows of the source's embedding, if they are others; else 0 */
    enum tf_positions positions;
    /* rows of a learned table, beyond which positions are refused; 0 with sinusoids */
    int64_t max_positions;
    enum tf_tie tie;
    enum tf_start start;
    bool pre_norm;   /* LayerNorm before each sublayer instead of after it */
    bool final_norm; /* LayerNorm at the end of each stack; default: as pre_norm */
    enum tf_decoder_norms decoder_norms;
    bool embedding_norm;      /* LayerNorm on embeddings with their positions, before dropout */
    bool unscaled_embeddings; /* embeddings are not multiplied by the root of d_model */
    bool attention_bias;      /* biases on Q, K, V and O */
    int64_t attention_window; /* r: self-attention sees |i - j| <= r; 0: everything */
    double norm_eps;
    double dropout, attention_dropout, relu_dropout;
    double label_smoothing;
    enum tf_smoothing smoothing;
    enum tf_initializer initializer;
    enum tf_activation activation;
    enum tf_decoder_self decoder_self;
    bool output_bias;       /* a bias [V] on the output projection */
    enum tf_position_table position_table;
    int64_t position_offset;   /* the row of the table for the first position */
    bool source_eos;           /* the encoder sees EOS at the end of a source; default true */
    /* ids, from the stream's header; -1: none. bos may be -1 with TF_START_ZERO, pad always. */
    int64_t bos, eos, pad;
};

/* The rows of all members of struct tf_config, *n of them. */
const struct tf_member *tf_config_fields(size_t *n);
/* The row of a member; NULL if there is none of that name. */
const struct tf_member *tf_config_field(const char *name);
/* The value of a member that a map does not have, which may follow from those before it. */
double tf_config_implied(const struct tf_config *c, const struct tf_member *f);
/* Refuse impossible values: zero sizes, dropout outside [0, 1), products that do not fit, ... */
int tf_config_check(const struct tf_config *c, struct tf_err *err) TF_MUST_CHECK;
/* Refuse sentences of n positions where the model has fewer learned ones. */
int tf_config_fits(const struct tf_config *c, size_t n, struct tf_err *err) TF_MUST_CHECK;
/* To and from the map in a model's header. Reading refuses unknown keys, missing keys and values
 * out of range. Keys of variants that came later may be missing, and a map does not have them where
 * they have the value that this means: see tf_config_implied. */
struct tf_value tf_config_map(const struct tf_config *c, struct tf_arena *a);
/* Make integers of a map real where the field is: JSON does not keep the kinds of numbers. */
void tf_config_reals(struct tf_value *map);
/* The map with the keys that it may omit. */
struct tf_value tf_config_explicit(const struct tf_value *map, struct tf_arena *a);
int tf_config_read(struct tf_config *c, const struct tf_value *map,
                   struct tf_err *err) TF_MUST_CHECK;

/* Does the decoder start with something of its own, not with the bos of its vocabulary: with zeros,
 * or, in models of other programs, with eos or padding? */
bool tf_config_own_start(const struct tf_config *c);
/* The table of sinusoids by its own name: never TF_TABLE_DIALECT. */
enum tf_position_table tf_config_position_table(const struct tf_config *c);
/* Where the norms of a stack are: before each sublayer, not after it; at its end. */
struct tf_norms {
    bool before, top;
};
struct tf_norms tf_config_norms(const struct tf_config *c, bool decoder);
void tf_config_set_norms(struct tf_config *c, struct tf_norms encoder, struct tf_norms decoder);
/* What embeddings are multiplied by. */
float tf_config_embedding_scale(const struct tf_config *c);
/* Ids that a source may have. */
int64_t tf_config_source_ids(const struct tf_config *c);

/* Fail if the batches of a header have more ids of their own for sources than the model, or some
 * where it has none. */
int tf_config_takes(const struct tf_config *c, const struct tf_header *batches,
                    struct tf_err *err) TF_MUST_CHECK;
/* The rule for a side (0: source, 1: target) of sentences that the model is given: by its own
 * special ids, and by those that the header of their stream names. */
struct tf_sentence_rule tf_config_sentences(const struct tf_config *c, int side,
                                            const struct tf_header *stream);

#endif
