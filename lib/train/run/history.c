/* history.c - see history_private.h. */
#include "train/run/history_private.h"
#include "cbor/json.h"

#include <math.h>
#include <string.h>

enum { LONGEST = 1 << 20 };

struct history {
    struct tf_collapse *c;
    struct tf_collapse none; /* *c without validations */
    struct tf_regular *at;
    size_t n_at;
    char data[65];           /* hash of the validation data; "" until a line has it */
};

static void add_interval(struct history *h, const struct tf_value *line)
{
    int64_t step, every = 0;
    struct tf_err err;
    if (tf_value_int_of(line, "step", 0, INT64_MAX, &step, &err) != 0)
        return;
    if (tf_value_int_of(line, "save_every", 0, INT64_MAX, &every, &err) != 0)
        every = 0;
    for (size_t i = 0; i < h->n_at; i++)
        if ((uint64_t)step < h->at[i].step)
            h->at[i].every = (uint64_t)every;
}

/* Results on different data can't be compared. */
static void add_data(struct history *h, const struct tf_value *line)
{
    const char *valid;
    struct tf_err err;
    if (tf_value_text_of(tf_value_get(line, "data"), "valid", &valid, &err) != 0 ||
        strcmp(valid, h->data) == 0)
        return;
    if (h->data[0] != 0)
        *h->c = h->none;
    strncpy(h->data, valid, sizeof h->data - 1);
}

static void add_valid(struct history *h, const struct tf_value *line)
{
    int64_t step;
    double nll = INFINITY, acc; /* null: no number */
    struct tf_err err;
    const struct tf_value *v = tf_value_get(line, "nll");
    if (v != NULL && tf_value_int_of(line, "step", 0, INT64_MAX, &step, &err) == 0 &&
        (v->kind == TF_NULL ||
         tf_value_real_of(line, "nll", -INFINITY, INFINITY, &nll, &err) == 0) &&
        tf_value_real_of(line, "acc", 0, 1, &acc, &err) == 0)
        tf_collapse_add(h->c, (uint64_t)step, nll, acc);
}

static void add_line(struct history *h, const char *text, size_t n)
{
    struct tf_arena a = {0};
    struct tf_value line;
    struct tf_err err;
    const char *event;
    if (tf_value_from_json_text(&line, &a, text, n, TF_JSON_PLAIN, "line", &err) == 0 &&
        tf_value_text_of(&line, "event", &event, &err) == 0) {
        if (strcmp(event, "start") == 0)
            add_interval(h, &line);
        if (strcmp(event, "start") == 0 && h->c != NULL)
            add_data(h, &line);
        if (strcmp(event, "valid") == 0 && h->c != NULL)
            add_valid(h, &line);
    }
    tf_arena_release(&a);
}

int tf_history_read(struct tf_collapse *c, struct tf_regular *at, size_t n_at, struct tf_in *log,
                    struct tf_err *err)
{
    static const char update[] = "{\"event\":\"step\""; /* most lines: not worth reading */
    struct history h = {.c = c, .at = at, .n_at = n_at};
    const char *line;
    size_t n;
    int rc;
    if (c != NULL)
        h.none = *c;
    while ((rc = tf_in_line(log, &line, &n, LONGEST, err)) > 0)
        if (rc == 1 && (n < sizeof update - 1 || memcmp(line, update, sizeof update - 1) != 0))
            add_line(&h, line, n);
    return rc;
}
