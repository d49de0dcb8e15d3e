/* tools_private.h - the tools that translate with a model, and a process that makes copies of them:
 * tf-tokenize | tf-decode | tf-tokenize -d, of which the first and the last are one process, which
 * has the vocabulary for both. */
#ifndef TF_SERVE_TOOLS_PRIVATE_H
#define TF_SERVE_TOOLS_PRIVATE_H

#include "serve/opts.h"
#include "text/tool_model.h"
#include <sys/types.h>

struct tf_tools {
    const char *model, *terms; /* files; terms may be NULL */
    struct tf_strs decode, tokenize; /* commands */
    /* Of the model that was checked last; a process that has read an untrusted file writes it. */
    struct tf_tool_model *checked;
};

/* Make the commands, which live as long as the process. */
int tf_tools_init(struct tf_tools *t, const char *model, const char *terms,
                  const struct tf_serve_opts *o, struct tf_err *err) TF_MUST_CHECK;
/* Start a process that checks the model, reads the terms and starts the tools; see
 * tf_pipeline_open_copies. */
int tf_tools_open(struct tf_tools *t, pid_t *pid, int *asks, struct tf_err *err) TF_MUST_CHECK;

#endif
