/* import.c - see import_private.h. */
#include "convert/import_private.h"
#include "cbor/json.h"
#include "text/text_file.h"

#include <stdlib.h>

int tf_import_json(struct tf_value *v, struct tf_arena *a, const char *path, struct tf_err *err)
{
    char *text;
    size_t n;
    if (tf_text_read_file(&text, &n, path, TF_MAX_CONFIG, err) != 0)
        return -1;
    int rc = tf_value_from_json_text(v, a, text, n, TF_JSON_PLAIN, "value", err);
    free(text);
    if (rc == 0 && v->kind != TF_MAP)
        rc = tf_fail(err, "not a JSON object");
    return rc != 0 ? tf_context(err, "%s", path) : 0;
}

void tf_import_read_config(struct tf_import *m, const struct tf_dir *d)
{
    const char *path = tf_dir_has(d, "config.json");
    m->json_err = (struct tf_err){0};
    if (path == NULL || tf_import_json(&m->json, m->arena, path, &m->json_err) != 0)
        m->json = tf_value_null();
}

int tf_import_check_config(const struct tf_import *m, struct tf_err *err)
{
    if (m->json_err.status == 0)
        return 0;
    *err = m->json_err;
    return -1;
}

int tf_import_find_segmenters(struct tf_import *m, const struct tf_dir *d, struct tf_err *err)
{
    static const char *const shared[] = {"sentencepiece.model", "sentencepiece.bpe.model",
                                         "spm.model", NULL};
    const char **vocab = m->files.vocab;
    vocab[1] = tf_dir_has(d, "target.spm");
    if (vocab[0] == NULL)
        vocab[0] = tf_dir_first(d, shared);
    if (vocab[0] != NULL)
        return 0;
    vocab[0] = tf_dir_has(d, "source.spm");
    return (vocab[0] == NULL) == (vocab[1] == NULL)
               ? 0
               : tf_fail(err,
                         "%s: no %s: copy it from where the model comes from, or name the one of "
                         "both sides, --vocab",
                         d->path, vocab[0] == NULL ? "source.spm" : "target.spm");
}

int tf_import_refused(struct tf_import *m, struct tf_err *err)
{
    return m->refused.len == 0 ? 0
                               : tf_fail(err, "settings that are not supported: %.*s",
                                         (int)m->refused.len, m->refused.p);
}

void tf_import_release(struct tf_import *m)
{
    tf_bundle_release(&m->bundle);
    tf_torch_release(&m->torch);
    for (int i = 0; i < 2; i++)
        tf_buf_release(&m->segmenter[i]);
    tf_buf_release(&m->list);
    tf_buf_release(&m->refused);
    tf_buf_release(&m->left);
}
