/* frozen.c - see frozen.h. */
#include "train/step/frozen.h"
#include "base/memory.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

/* Mark what a pattern matches. */
static int freeze_matching(bool *frozen, const struct tf_params *p, const char *pattern,
                           struct tf_err *err)
{
    bool any = false;
    for (size_t i = 0; i < p->n; i++)
        if (fnmatch(pattern, p->v[i].name, 0) == 0)
            frozen[i] = any = true;
    return any ? 0
               : tf_fail_status(err, TF_USAGE,
                                "--freeze '%s': no parameter has such a name; the first are %s, %s "
                                "and %s (formats/model.md lists all)",
                                pattern, p->v[0].name, p->v[1].name, p->v[2].name);
}

static int freeze_all(bool *frozen, const struct tf_params *p, const char *patterns,
                     struct tf_err *err)
{
    int rc = 0;
    for (const char *from = patterns; rc == 0 && from != NULL;) {
        const char *comma = strchr(from, ',');
        char *one = tf_xstrndup(from, comma != NULL ? (size_t)(comma - from) : strlen(from));
        rc = freeze_matching(frozen, p, one, err);
        free(one);
        from = comma != NULL ? comma + 1 : NULL;
    }
    return rc;
}

static bool has_encoder(const bool *frozen, const struct tf_params *p)
{
    for (size_t i = 0; i < p->n; i++)
        if (!frozen[i] && tf_params_of_encoder(p, i))
            return false;
    return true;
}

int tf_frozen_init(struct tf_frozen *f, const struct tf_params *p, const char *patterns,
                   struct tf_err *err)
{
    *f = (struct tf_frozen){0};
    bool *frozen = tf_xcalloc(p->n, sizeof *frozen);
    if (freeze_all(frozen, p, patterns, err) != 0) {
        free(frozen);
        return -1;
    }
    f->range = tf_xcalloc(p->n, sizeof *f->range);
    for (size_t i = 0; i < p->n; i++) {
        const size_t from = p->v[i].offset, to = i + 1 < p->n ? p->v[i + 1].offset : p->size;
        if (frozen[i])
            f->count += p->v[i].n;
        if (f->n == 0 || f->range[f->n - 1].frozen != frozen[i])
            f->range[f->n++] = (struct tf_range){.from = from, .frozen = frozen[i]};
        f->range[f->n - 1].to = to;
    }
    f->encoder = has_encoder(frozen, p);
    free(frozen);
    if (f->count < p->count)
        return 0;
    tf_frozen_release(f);
    return tf_fail_status(err, TF_USAGE, "--freeze '%s': nothing is left to train", patterns);
}

void tf_frozen_release(struct tf_frozen *f)
{
    free(f->range);
    *f = (struct tf_frozen){0};
}
