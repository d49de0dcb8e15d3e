/* attention_parts_private.h - checks and labels shared by the two attention figures. */
#ifndef TF_PLOT_ATTENTION_PARTS_PRIVATE_H
#define TF_PLOT_ATTENTION_PARTS_PRIVATE_H

#include "plot/attention_figure_private.h"
#include "plot/svg_private.h"

#define TF_ATTENTION_MARGIN 20.0
#define TF_ATTENTION_SPACE 7.0      /* between labels, squares, lines and maps */
#define TF_ATTENTION_HEAD_SIZE 12.5 /* of the names of heads */

/* Errors: nothing to draw, too many weights, a weight that is not between 0 and 1. */
int tf_attention_check(const struct tf_attention_figure *f, struct tf_err *err) TF_MUST_CHECK;
/* Fail because the width is too small; -1. */
int tf_attention_too_narrow(const struct tf_attention_figure *f, struct tf_err *err);

/* A weight, at most 1. */
double tf_attention_weight(const struct tf_attention_figure *f, size_t head, size_t row,
                           size_t col);

/* "head N" */
void tf_attention_head_name(char name[32], const struct tf_attention_figure *f, size_t head);
double tf_attention_widest_head_name(const struct tf_attention_figure *f);
/* The width that shows the whole title, at most that of the figure; 0 without title. */
double tf_attention_title_width(const struct tf_attention_figure *f, double left);

/* The width of the widest label, at most `most`. */
double tf_attention_label_room(const char *const *tokens, size_t n, double size, double most);
/* Draw a token, cut to the room. turn: degrees. */
void tf_attention_label(struct tf_buf *out, const char *token, double x, double y, double size,
                        double room, const char *fill, enum tf_svg_anchor anchor, double turn);

#endif
