/* ct2_private.h - models of CTranslate2 (github.com/OpenNMT/CTranslate2,
 * python/ctranslate2/specs/transformer_spec.py): their settings and names become ours. */
#ifndef TF_MODEL_CT2_PRIVATE_H
#define TF_MODEL_CT2_PRIVATE_H

#include "convert/foreign_private.h"
#include "convert/positions_private.h"
#include "exchange/bundle.h"
#include "model/config.h"
#include "text/piece_list.h"

/* Replace the tensors of *b by those of the configuration *c, under our names. json [n]: the
 * contents of config.json, if n > 0. lists: the tokens of sources and of targets by their ids, the
 * same where one list serves both; a list without <unk> gets it as its last. *unk: the id among
 * targets.
 *
 * Without a table, positions count from 1 in t2t's, as OpenNMT-tf counts them. A source ends with
 * eos if add_source_eos says so, and where the decoder starts with a zero vector or with eos: there
 * the tools before CTranslate2 add it.
 *
 * *guessed: see tf_positions_recognise.
 *
 * Errors: settings that the model cannot express, all of them by their names; tensors that are
 * missing, of another shape or left over. */
int tf_ct2_import(struct tf_bundle *b, struct tf_config *c, int64_t *unk, const char *json,
                  size_t n, struct tf_piece_list lists[2], enum tf_stored_positions positions,
                  bool *guessed, struct tf_err *err) TF_MUST_CHECK;

/* A model.bin, its vocabularies and a config.json. */
extern const struct tf_export_format tf_ct2_format;

#endif
