/* tool_model.c - see tool_model.h. */
#include "text/tool_model.h"
#include "base/path.h"
#include "stream/model.h"

#include <string.h>
#include <sys/stat.h>

static int check_head(struct tf_tool_model *t, const char *path, struct tf_err *err)
{
    struct tf_model_file m;
    struct stat st;
    if (tf_is_own_std(path) ||
        (stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)))
        return tf_fail_status(err, TF_USAGE, "%s: not a regular file: three tools read the model",
                              path);
    if (tf_model_read(&m, path, TF_MODEL_HEAD, NULL, err) != 0)
        return -1;
    const bool has_vocab = m.vocab != NULL;
    if (t->lang[0] == 0)
        memcpy(t->lang, m.header.lang, sizeof t->lang);
    if (t->target_lang[0] == 0)
        memcpy(t->target_lang, m.header.target_lang, sizeof t->target_lang);
    t->has_hash = m.header.has_model;
    memcpy(t->hash, m.header.model, sizeof t->hash);
    tf_model_release(&m);
    if (has_vocab)
        return 0;
    return tf_fail(err, "%s: contains no vocabulary (tf-convert --vocab adds one)", path);
}

int tf_tool_models_check(void *to, const struct tf_strs *paths, struct tf_err *err)
{
    for (size_t i = 0; i < paths->n; i++)
        if (check_head(to, paths->v[i], err) != 0)
            return -1;
    return 0;
}
