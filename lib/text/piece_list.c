/* piece_list.c - see piece_list.h. */
#include "text/piece_list.h"
#include "base/input.h"
#include "base/parse.h"
#include "exchange/yaml.h"
#include "stream/model.h"

#include <stdlib.h>

static int by_id(const char **texts, const struct tf_yaml *y, struct tf_err *err)
{
    if (y->n == 0)
        return tf_fail(err, "no pieces");
    for (size_t i = 0; i < y->n; i++) {
        const struct tf_yaml_entry *e = &y->v[i];
        int64_t id;
        if (e->n != 1)
            return tf_fail(err, "'%s': not an id", e->key);
        if (tf_parse_int(&id, e->v[0], 0, (int64_t)y->n - 1, err) != 0)
            return tf_context(err, "'%s'", e->key);
        if (texts[id] != NULL)
            return tf_fail(err, "'%s' and '%s' have the id %lld", texts[id], e->key, (long long)id);
        texts[id] = e->key;
    }
    return 0;
}

int tf_piece_list_read(const char *const **texts, size_t *n, struct tf_arena *a, const char *path,
                       struct tf_err *err)
{
    struct tf_yaml y;
    char *bytes;
    size_t size;
    if (tf_read_file(&bytes, &size, path, TF_MAX_VOCAB, err) != 0)
        return -1;
    int rc = tf_yaml_read(&y, a, bytes, size, err);
    free(bytes);
    const char **v = rc == 0 ? tf_arena_zalloc(a, (y.n + 1) * sizeof *v) : NULL;
    if (rc == 0)
        rc = by_id(v, &y, err);
    *texts = v;
    *n = rc == 0 ? y.n : 0;
    return rc == 0 ? 0 : tf_context(err, "%s", path);
}
