/* tool_model.h - a model that the tools of a translation read, each for itself. */
#ifndef TF_TEXT_TOOL_MODEL_H
#define TF_TEXT_TOOL_MODEL_H

#include "stream/header.h"

/* What is asked about it, zeroed before. The process of tf_sandboxed_begin shares its memory. */
struct tf_tool_model {
    char lang[TF_LANG_MAX + 1]; /* the label of the source language, of the first model with one */
    uint8_t has_hash, hash[32]; /* its fingerprint */
};

/* Check that it is a file that can be read again, and the part before the weights; else each of the
 * tools would complain. */
int tf_tool_model_check(struct tf_tool_model *t, const char *path,
                        struct tf_err *err) TF_MUST_CHECK;

#endif
