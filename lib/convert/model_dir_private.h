/* model_dir_private.h - which files of a directory are a model of another program, as the program
 * or a download left them there. */
#ifndef TF_MODEL_MODEL_DIR_PRIVATE_H
#define TF_MODEL_MODEL_DIR_PRIVATE_H

#include "base/arena.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

/* Paths, or NULL. */
struct tf_model_dir {
    const char *weights;
    const char *const *more; /* the files of the same weights besides that one */
    size_t n_more;
    const char *config;               /* config.json of transformers or CTranslate2 */
    const char *vocab, *vocab_target; /* SentencePiece models; both may be one file */
    const char *pieces;               /* the ids of both, if they are not those of vocab */
    const char *pieces_target;        /* those of targets, if they differ */
    const char *tokens; /* of M2M100: where the tags of languages are; of FSMT: tokenizer_config */
    const char *tokenizer;            /* tokenizer.json, where it is in place of vocab */
    const char *added_tokens;         /* of transformers, but FSMT; and so is the next */
    const char *tokenizer_config;
    const char *fairseq;              /* the directory, if it has dictionaries of fairseq */
    const char *langs[2];             /* of these, where there are two, in alphabetical order */
    const char *codes;                /* of subword-nmt or fastBPE */
    const char *begin;                /* a token with which targets begin */
    bool argos;                       /* a package of Argos */
    const char *settings;             /* how Marian's decoder runs */
    bool fsmt;                        /* transformers' form of fairseq's models */
    bool needs_pieces;                /* whatever the SentencePiece models are */
};

/* CTranslate2: model.bin, config.json if there is one, shared_vocabulary or source_vocabulary and
 * target_vocabulary (.json or .txt), and SentencePiece models beside them or, as in the packages of
 * Argos, in the directory that has the model in its folder "model", or codes (bpe.model), and
 * target_prefix of its metadata.json.
 * M2M100, NLLB: the same with sentencepiece.bpe.model, with vocab.json (M2M100 only), and with
 * special_tokens_map.json or tokenizer_config.json; or, of transformers 5, with tokenizer.json.
 * fairseq: model.pt, checkpoint_best.pt or the only .pt, dict.LANG.txt, and a SentencePiece model
 * or codes (bpecodes, code) if text is split by them.
 * FSMT: config.json, model.safetensors or pytorch_model.bin, vocab-src.json, vocab-tgt.json,
 * merges.txt, and tokenizer_config.json if there is one.
 * transformers: config.json, model.safetensors or pytorch_model.bin, source.spm, target.spm,
 * vocab.json. Weights may be in several files, which model.safetensors.index.json or
 * pytorch_model.bin.index.json names, here and in the two above.
 * Marian (OPUS-MT, Firefox, Bergamot): the model and the vocabularies that decoder.yml or
 * config*.yml names, or the only .npz or .bin with source.spm and target.spm, srcvocab.*.spm and
 * trgvocab.*.spm, or the only .spm; where the vocabularies are lists (.yml), source.spm and
 * target.spm beside them. *d has the user's vocab, besides which none is looked for, or NULL. Texts
 * are in the arena. Pipes and devices do not count. Errors say what is missing, or that there are
 * several. */
int tf_model_dir_read(struct tf_model_dir *d, struct tf_arena *a, const char *path,
                      struct tf_err *err) TF_MUST_CHECK;
/* The same of a checkpoint that is named itself, of several in a directory of fairseq; all NULL
 * where no dictionaries are found beside it. */
int tf_model_dir_read_beside(struct tf_model_dir *d, struct tf_arena *a, const char *path,
                             struct tf_err *err) TF_MUST_CHECK;

#endif
