/* tool_model.h - a model that the tools of a translation read, each for itself. */
#ifndef TF_TEXT_TOOL_MODEL_H
#define TF_TEXT_TOOL_MODEL_H

#include "base/opt.h"
#include "stream/header.h"

/* What is asked about it, or several of an ensemble; zeroed before, and tf_shared. */
struct tf_tool_model {
    /* the labels of source and target, each of the first model with one */
    char lang[TF_LANG_MAX + 1], target_lang[TF_LANG_MAX + 1];
    uint8_t has_hash, hash[32]; /* the fingerprint of the last */
};

/* A tf_sandboxed_fn: check that they are files that can be read again, and of each the part before
 * the weights; else each of the tools would complain. to: a struct tf_tool_model. */
int tf_tool_models_check(void *to, const struct tf_strs *paths, struct tf_err *err) TF_MUST_CHECK;

#endif
