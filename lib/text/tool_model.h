/* tool_model.h - a model that the tools of a translation read, each for itself. */
#ifndef TF_TEXT_TOOL_MODEL_H
#define TF_TEXT_TOOL_MODEL_H

#include "stream/header.h"

/* Check that it is a file that can be read again, and the part before the weights; else each of
 * the tools would complain. lang: gets the label of the source language, if there is one, unless it
 * has one; or NULL. */
int tf_tool_model_check(const char *path, char *lang, struct tf_err *err) TF_MUST_CHECK;

#endif
