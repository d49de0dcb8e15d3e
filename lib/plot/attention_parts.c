/* attention_parts.c - see attention_parts_private.h. */
#include "plot/attention_parts_private.h"
#include "stream/record.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

int tf_attention_check(const struct tf_attention_figure *f, struct tf_err *err)
{
    if (!f->n_rows || !f->n_cols || !f->n_heads)
        return tf_fail(err, "nothing to draw: %zu rows, %zu columns, %zu heads", f->n_rows,
                       f->n_cols, f->n_heads);
    if (f->n_cols > TF_MATRIX_CELLS / f->n_rows ||
        f->n_heads > TF_MATRIX_CELLS / (f->n_rows * f->n_cols))
        return tf_fail(err,
                       "%zu heads of %zu by %zu weights are too many to draw, maximum %d weights",
                       f->n_heads, f->n_rows, f->n_cols, TF_MATRIX_CELLS);
    size_t cells = f->n_rows * f->n_cols;
    for (size_t i = 0; i < f->n_heads * cells; i++)
        if (!tf_attn_is_weight(f->weights[i]))
            return tf_fail(err,
                           "head %" PRId64
                           ", row %zu, column %zu: %g is not a weight between 0 and 1",
                           f->heads[i / cells], i % cells / f->n_cols, i % f->n_cols,
                           (double)f->weights[i]);
    return 0;
}

int tf_attention_too_narrow(const struct tf_attention_figure *f, struct tf_err *err)
{
    return tf_fail(err, "%g pixels are too few for this picture", f->figure.width);
}

double tf_attention_weight(const struct tf_attention_figure *f, size_t head, size_t row, size_t col)
{
    return fmin(1, (double)f->weights[(head * f->n_rows + row) * f->n_cols + col]);
}

/* A token without the U+2581 that marks a space; the mark alone is shown as an open box. */
static const char *shown_token(const char *token)
{
    static const char mark[] = "\xE2\x96\x81";
    if (strncmp(token, mark, 3) != 0)
        return token;
    return token[3] ? token + 3 : "\xE2\x90\xA3";
}

/* The estimated width of text, with some slack for wide fonts. */
static double text_room(const char *s, double size)
{
    return 1.1 * tf_svg_text_width(s, size);
}

double tf_attention_label_room(const char *const *tokens, size_t n, double size, double most)
{
    double w = 0;
    for (size_t i = 0; i < n; i++)
        w = fmax(w, text_room(shown_token(tokens[i]), size));
    return ceil(fmin(w, most));
}

void tf_attention_label(struct tf_buf *out, const char *token, double x, double y, double size,
                        double room, const char *fill, enum tf_svg_anchor anchor, double turn)
{
    tf_svg_text_in(out, x, y, shown_token(token), size, room / 1.1, fill, anchor, turn);
}

void tf_attention_head_name(char name[32], const struct tf_attention_figure *f, size_t head)
{
    snprintf(name, 32, "head %" PRId64, f->heads[head]);
}

double tf_attention_widest_head_name(const struct tf_attention_figure *f)
{
    double w = 0;
    for (size_t h = 0; h < f->n_heads; h++) {
        char name[32];
        tf_attention_head_name(name, f, h);
        w = fmax(w, text_room(name, TF_ATTENTION_HEAD_SIZE));
    }
    return w;
}

double tf_attention_title_width(const struct tf_attention_figure *f, double left)
{
    return f->figure.title != NULL
               ? fmin(f->figure.width, left + text_room(f->figure.title, 16) + 20)
               : 0;
}
