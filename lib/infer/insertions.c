/* insertions.c - see insertions.h. */
#include "infer/insertions.h"
#include "base/hash.h"
#include "base/memory.h"
#include "infer/input.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int compare_ids(const void *x, const void *y)
{
    uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
    return (a > b) - (a < b);
}

static void sort_ids(struct tf_insertions *s)
{
    size_t n = 0;
    if (s->n > 0)
        qsort(s->ids, s->n, sizeof *s->ids, compare_ids);
    for (size_t i = 0; i < s->n; i++)
        if (n == 0 || s->ids[i] != s->ids[n - 1])
            s->ids[n++] = s->ids[i];
    s->n = n;
}

static int add_window(struct tf_insertions *s, const struct tf_input *in, struct tf_err *err)
{
    for (size_t i = 0; i < in->n; i++) {
        const struct tf_item *it = &in->items[i];
        if (it->code != 0)
            return tf_fail(err, "%s: record %llu is bad: %s", in->name,
                           (unsigned long long)it->idx, it->text);
        s->ids = tf_xarray(s->ids, s->n + it->n_source, sizeof *s->ids);
        for (size_t k = 0; k < it->n_source; k++)
            s->ids[s->n + k] = it->source[k];
        s->n += it->n_source;
    }
    sort_ids(s);
    return 0;
}

int tf_insertions_read(struct tf_insertions *s, const char *path, struct tf_ensemble *m,
                       bool force_vocab, struct tf_err *err)
{
    static const char *const tokens[] = {"tokens", NULL};
    const struct tf_input_spec spec = {.paths = &path, .n = 1, .single = tokens};
    struct tf_input in = {.window = 4096, .force_vocab = force_vocab};
    enum tf_input_event event = TF_INPUT_IDLE;
    int rc = tf_input_open(&in, m, &spec, err);
    in.side[0] = (struct tf_input_side){"insertion", TF_MAX_IDS, "a record holds"};
    while (rc == 0 && event != TF_INPUT_END) {
        event = tf_input_next(&in, err);
        rc = event == TF_INPUT_FAILED   ? -1
             : event == TF_INPUT_WINDOW ? add_window(s, &in, err)
                                        : 0;
    }
    tf_input_close(&in);
    if (rc < 0)
        return -1;
    if (s->n == 0)
        return tf_fail(err, "%s: no tokens to insert", path);
    uint8_t sum[32];
    tf_sha256_of(sum, s->ids, s->n * sizeof *s->ids);
    tf_value_put(&m->arena, &m->inputs, "insert", tf_value_bytes(&m->arena, sum, sizeof sum));
    return 0;
}

void tf_insertions_release(struct tf_insertions *s)
{
    free(s->ids);
    *s = (struct tf_insertions){0};
}

static size_t skip_banned(const struct tf_search *q, const uint32_t *src, size_t n, size_t p)
{
    for (size_t i = 0; p < n && i < q->opts.n_ban; i++)
        if (src[p] == q->opts.ban[i]) {
            p++;
            i = SIZE_MAX; /* from the first again */
        }
    return p;
}

/* How many ids of the source the hypothesis in that row, of t tokens, has copied; *inserted: how
 * many it has inserted since. history: [t], scratch. */
static size_t copied(const struct tf_search *q, const uint32_t *src, size_t n, size_t row, size_t t,
                     uint32_t *history, size_t *inserted)
{
    *inserted = 0;
    for (size_t k = t; k-- > 0;) {
        history[k] = q->hist_id[k * q->max_rows + row];
        row = q->hist_parent[k * q->max_rows + row];
    }
    size_t p = skip_banned(q, src, n, 0);
    for (size_t k = 0; k < t; k++) {
        bool copy = p < n && history[k] == src[p];
        *inserted = copy ? 0 : *inserted + 1;
        if (copy)
            p = skip_banned(q, src, n, p + 1);
    }
    return p;
}

/* Set all of a row but the ids in keep (sorted, each once) to -infinity. */
#define DEFINE_KEEP(name, real)                                                      \
    static void name(real *x, size_t V, const uint32_t *keep, size_t n)              \
    {                                                                                \
        for (size_t v = 0, k = 0; v < V; v++) {                                      \
            if (k < n && keep[k] == v)                                               \
                k++;                                                                 \
            else                                                                     \
                x[v] = -(real)INFINITY;                                              \
        }                                                                            \
    }
DEFINE_KEEP(keep_float, float)
DEFINE_KEEP(keep_double, double)

void tf_insertions_mask(const struct tf_insertions *s, const struct tf_search *q,
                        const uint32_t *src, const uint32_t *off, tf_mem *lp)
{
    size_t t = q->counts[TF_SEARCH_STEP], V = q->opts.V;
    uint32_t *history = tf_xarray(NULL, t + 1, sizeof *history);
    struct tf_insertions keep = {.ids = tf_xarray(NULL, s->n + 2, sizeof *keep.ids)};
    for (size_t i = 0; i < q->S; i++) {
        const uint32_t *mine = src + off[i];
        size_t n = off[i + 1] - off[i], limit = q->limit[i];
        for (size_t r = q->row0[i]; r < q->row0[i] + q->live[i] && t < limit; r++) {
            size_t inserted, p = copied(q, mine, n, r, t, history, &inserted);
            keep.n = 0;
            if (t + (n - p) < limit && (s->most == 0 || inserted < s->most)) {
                memcpy(keep.ids, s->ids, s->n * sizeof *keep.ids);
                keep.n = s->n;
            }
            keep.ids[keep.n++] = p < n ? mine[p] : q->opts.eos;
            sort_ids(&keep);
            if (q->be->elem_size[TF_ELEM_STAT] == sizeof(float))
                keep_float((float *)lp + r * V, V, keep.ids, keep.n);
            else
                keep_double((double *)lp + r * V, V, keep.ids, keep.n);
        }
    }
    free(history);
    free(keep.ids);
}
