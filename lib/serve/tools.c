/* tools.c - see tools_private.h. */
#include "serve/tools_private.h"
#include "base/buf.h"
#include "base/pipeline.h"
#include "text/phrases.h"
#include "text/tool_model.h"

#include <string.h>

int tf_tools_init(struct tf_tools *t, const char *model, const char *terms,
                  const struct tf_serve_opts *o, struct tf_err *err)
{
    struct tf_buf weighted = {0};
    /* What follows a colon is no weight of the model then. */
    tf_buf_printf(&weighted, "%s%s", model, strchr(model, ':') != NULL ? ":1" : "");
    *t = (struct tf_tools){.model = model, .terms = terms};
    tf_opt_add(&t->decode, true, "tf-decode", "--copies");
    tf_opt_add(&t->decode, true, "-m", weighted.p);
    tf_opt_add(&t->tokenize, true, "tf-tokenize", "-d");
    tf_opt_add(&t->tokenize, true, "--copies", "--head");
    tf_opt_add(&t->tokenize, true, "-m", model);
    for (size_t i = 0; i < o->decode.n; i++)
        tf_strs_add(&t->decode, o->decode.v[i]);
    for (size_t i = 0; i < o->tokenize.n; i++)
        tf_strs_add(&t->tokenize, o->tokenize.v[i]);
    t->checked = tf_shared(sizeof *t->checked, err);
    return t->checked != NULL ? 0 : -1;
}

/* In a process of its own. */
static int make_copies(void *arg, struct tf_err *err)
{
    struct tf_tools *t = arg;
    const struct tf_strs models = {.v = &t->model, .n = 1};
    int rc = 0;
    if (t->terms != NULL)
        rc = tf_run_sandboxed(tf_tool_models_check, t->checked, &models, err);
    if (rc == 0 && t->terms != NULL)
        rc = tf_phrases_add(&t->decode, t->terms, t->model, err);
    if (rc != 0)
        return rc;
    tf_strs_add(&t->decode, NULL);
    tf_strs_add(&t->tokenize, NULL);
    const char *const *const tools[] = {t->tokenize.v, t->decode.v, t->tokenize.v};
    const pid_t pid = tf_sandboxed_begin(tf_tool_models_check, t->checked, &models, err);
    return pid < 0 ? -1 : tf_pipeline_copies(tools, 3, pid, err);
}

int tf_tools_open(struct tf_tools *t, pid_t *pid, int *asks, struct tf_err *err)
{
    return tf_pipeline_open_copies(make_copies, t, pid, asks, err);
}
