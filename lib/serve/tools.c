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
    const char *const decode[] = {"tf-decode", "--copies", "-m", weighted.p};
    const char *const tokenize[] = {"tf-tokenize", "-d", "--copies", "--head", "-m", model};
    for (size_t i = 0; i < sizeof decode / sizeof *decode; i++)
        tf_strs_add(&t->decode, decode[i]);
    for (size_t i = 0; i < sizeof tokenize / sizeof *tokenize; i++)
        tf_strs_add(&t->tokenize, tokenize[i]);
    for (size_t i = 0; i < o->decode.n; i++)
        tf_strs_add(&t->decode, o->decode.v[i]);
    for (size_t i = 0; i < o->tokenize.n; i++)
        tf_strs_add(&t->tokenize, o->tokenize.v[i]);
    t->checked = tf_shared(sizeof *t->checked, err);
    return t->checked != NULL ? 0 : -1;
}

/* The tools whose model is checked in this process. */
static struct tf_tools *checking;

static int check_model(const struct tf_strs *models, struct tf_err *err)
{
    return tf_tool_model_check(checking->checked, models->v[0], err);
}

/* In a process of its own. */
static int make_copies(void *arg, struct tf_err *err)
{
    struct tf_tools *t = arg;
    const struct tf_strs models = {.v = &t->model, .n = 1};
    checking = t;
    int rc = t->terms != NULL ? tf_run_sandboxed(check_model, &models, err) : 0;
    if (rc == 0 && t->terms != NULL)
        rc = tf_phrases_add(&t->decode, t->terms, t->model, err);
    if (rc != 0)
        return rc;
    tf_strs_add(&t->decode, NULL);
    tf_strs_add(&t->tokenize, NULL);
    const char *const *const tools[] = {t->tokenize.v, t->decode.v, t->tokenize.v};
    const pid_t pid = tf_sandboxed_begin(check_model, &models, err);
    return pid < 0 ? -1 : tf_pipeline_copies(tools, 3, pid, err);
}

int tf_tools_open(struct tf_tools *t, pid_t *pid, int *asks, struct tf_err *err)
{
    return tf_pipeline_open_copies(make_copies, t, pid, asks, err);
}
