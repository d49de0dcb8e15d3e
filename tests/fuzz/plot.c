/* plot.c - any bytes as what tf-plot reads: a matrix, logs, an attention stream. The first two
 * bytes choose the figure and its options. A figure is well-formed XML in which every number is
 * one; a failure has a message and appends nothing. */
#include "../harness/memory.h"
#include "plot/attention_record.h"
#include "plot/curves.h"
#include "plot/heat.h"
#include "plot/matrix.h"

#include <math.h>

enum { MAX_INPUT = 1 << 14, DEPTH = 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const struct tf_figure figure = {.width = 400, .height = 300};

/* A reference; returns its end. */
static const char *reference(const char *p)
{
    static const char *const known[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&apos;", "&#"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strncmp(p, known[i], strlen(known[i])) == 0)
            return strchr(p, ';');
    TF_BUG("a bare &");
}

/* The value of an attribute, after the first quote; returns its last quote. */
static const char *value(const char *p)
{
    TF_ASSERT(strncmp(p, "nan", 3) != 0 && strncmp(p, "-nan", 4) != 0 &&
              strncmp(p, "inf", 3) != 0 && strncmp(p, "-inf", 4) != 0);
    for (; *p != '"'; p++) {
        TF_ASSERT(*p != 0 && *p != '<');
        if (*p == '&')
            p = reference(p);
    }
    return p;
}

static void check_svg(const char *p, size_t n)
{
    struct {
        const char *name;
        size_t n;
    } open[DEPTH];
    size_t depth = 0;
    TF_ASSERT(strlen(p) == n);
    for (; *p != 0; p++) {
        TF_ASSERT((unsigned char)*p >= 0x20 || strchr("\n\t\r", *p) != NULL);
        if (*p == '&')
            p = reference(p);
        if (*p != '<')
            continue;
        bool end = p[1] == '/';
        const char *name = p + 1 + end;
        size_t len = strcspn(name, " \n\t/>");
        TF_ASSERT(len > 0);
        for (p = name + len; *p != '>'; p++) {
            TF_ASSERT(*p != 0 && *p != '<');
            if (*p == '"')
                p = value(p + 1);
        }
        if (end) {
            TF_ASSERT(depth > 0 && open[depth - 1].n == len &&
                      memcmp(open[depth - 1].name, name, len) == 0);
            depth--;
        } else if (p[-1] != '/' && name[0] != '?') {
            TF_ASSERT(depth < DEPTH);
            open[depth].name = name;
            open[depth++].n = len;
        }
    }
    TF_ASSERT(depth == 0);
}

static int draw_matrix(struct tf_buf *out, const char *path, uint8_t how, struct tf_err *err)
{
    struct tf_matrix m = {0};
    const struct tf_heat h = {.figure = figure,
                              .min = how & 8 ? 0 : NAN,
                              .max = how & 16 ? 1 : NAN,
                              .colors = how % 3,
                              .values = how & 4};
    int rc = tf_matrix_read(&m, path, how / 32 % 3, how / 64 % 3, err);
    if (rc == 0)
        rc = tf_heat_draw(out, &h, &m, err);
    tf_matrix_release(&m);
    return rc;
}

static int draw_curves(struct tf_buf *out, const char *path, uint8_t how, struct tf_err *err)
{
    const char *logs[] = {path, path};
    const struct tf_curves c = {.x = how & 1 ? "tgt_tokens" : "step",
                                .y = how & 2 ? "ppl,loss" : "loss",
                                .where = how & 4 ? "event=valid" : NULL,
                                .by = how & 8 ? "event" : NULL,
                                .points = how & 128 ? "event" : NULL,
                                .logs = logs,
                                .nlogs = 1 + (how >> 4 & 1),
                                .chart = {.figure = figure,
                                          .log_x = how & 32,
                                          .log_y = how & 64,
                                          .smooth = how & 64 ? 0.9 : 0,
                                          .x_min = NAN,
                                          .x_max = NAN,
                                          .y_min = NAN,
                                          .y_max = NAN}};
    return tf_curves_draw(out, &c, err);
}

static int draw_attention(struct tf_buf *out, const char *path, uint8_t how, struct tf_err *err)
{
    static const char *const kinds[] = {NULL, "encoder", "decoder", "cross"};
    const char *tokens[] = {"a"};
    const struct tf_attention_record a = {.figure = figure,
                                          .idx = (how >> 2 & 1) - 1,
                                          .kind = kinds[how & 3],
                                          .layer = how >> 3 & 1,
                                          .heads = how & 16 ? "1,2-3" : "all",
                                          .tokens = {tokens, how >> 5 & 1},
                                          .least = how & 64 ? 0.05 : 0,
                                          .heat = how >> 7};
    return tf_attention_record_draw(out, &a, path, err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static int (*const draw[])(struct tf_buf *, const char *, uint8_t,
                               struct tf_err *) = {draw_matrix, draw_curves, draw_attention};
    struct tf_buf out = {0};
    struct tf_err err = {0};
    if (n < 2 || n > MAX_INPUT)
        return 0;
    int rc = draw[data[0] % 3](&out, memory_path(0, data + 2, n - 2), data[1], &err);
    if (rc == 0) {
        tf_buf_byte(&out, 0);
        check_svg(out.p, out.len - 1);
    } else {
        TF_ASSERT(err.msg[0] != 0 && out.len == 0);
    }
    tf_buf_release(&out);
    return 0;
}
