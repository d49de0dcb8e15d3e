/* svg_private.h - SVG 1.1, appended to a buffer. Numbers have at most two decimals and no exponent,
 * so that the bytes are the same on every machine.
 *
 * All figures share a style: light background, one font stack, muted axes, and colours that
 * colour-blind readers can tell apart. */
#ifndef TF_PLOT_SVG_PRIVATE_H
#define TF_PLOT_SVG_PRIVATE_H

#include "base/buf.h"
#include <stdbool.h>

#define TF_SVG_INK "#1f2933"  /* titles and labels */
#define TF_SVG_SOFT "#5b6770" /* tick labels */
#define TF_SVG_AXIS "#9aa5b1"
#define TF_SVG_GRID "#e4e7eb"
#define TF_SVG_PAPER "#ffffff"

enum tf_svg_anchor { TF_SVG_START, TF_SVG_MIDDLE, TF_SVG_END };

/* Begin and end a document of this size in pixels. Title and description are for screen readers and
 * are not drawn. */
void tf_svg_begin(struct tf_buf *out, double width, double height, const char *title,
                  const char *desc);
/* Begin a part of a document, at (x, y). */
void tf_svg_begin_part(struct tf_buf *out, double x, double y, double width, double height,
                       const char *desc);
void tf_svg_end(struct tf_buf *out);

/* Append a text that has a finite coordinate in place of each @: TF_SVG(out, "M@ @", x, y). */
void tf_svg_put(struct tf_buf *out, const char *text, const double *x);
#define TF_SVG(out, text, ...) tf_svg_put(out, text, (const double[]){__VA_ARGS__})
/* Text with & < > " as entities and unsafe characters (tf_utf8_unsafe), but for space, as
 * references; control characters that XML forbids and invalid UTF-8 become U+FFFD. */
void tf_svg_escape(struct tf_buf *out, const char *s);

/* Shapes. Colours are #rrggbb. */
void tf_svg_rect(struct tf_buf *out, double x, double y, double w, double h, const char *fill);
void tf_svg_line(struct tf_buf *out, double x1, double y1, double x2, double y2,
                 const char *stroke);
/* A dot with a thin outline in the colour of the paper. */
void tf_svg_dot(struct tf_buf *out, double x, double y, double r, const char *fill);
/* Text with its baseline at y, turned by `turn` degrees around (x, y). */
void tf_svg_text(struct tf_buf *out, double x, double y, const char *s, double size,
                 const char *fill, enum tf_svg_anchor anchor, double turn);
/* The same, cut to a width (tf_svg_fit). */
void tf_svg_text_in(struct tf_buf *out, double x, double y, const char *s, double size,
                    double width, const char *fill, enum tf_svg_anchor anchor, double turn);
/* The estimated width of a text in pixels. Fonts differ, so leave some slack. */
double tf_svg_text_width(const char *s, double size);

/* Draw the title of a figure, cut to its width. */
void tf_svg_title(struct tf_buf *out, double left, double width, const char *title);
/* Draw the name of an axis around (x, y), turned by -90 degrees if upright. It stays inside the
 * figure, of this length in its direction: it is moved, and cut if it is longer. */
void tf_svg_axis_name(struct tf_buf *out, double x, double y, const char *s, bool upright,
                      double length);
/* The length of a figure that has room for the name. */
double tf_svg_axis_name_length(const char *s);
/* Append s, or as much of it as fits with an ellipsis: of its beginning, or of both ends. */
void tf_svg_fit(struct tf_buf *out, const char *s, double size, double width);
void tf_svg_fit_ends(struct tf_buf *out, const char *s, double size, double width);

/* The colour and the dash pattern ("" for solid) of the i-th line of a chart. */
const char *tf_svg_line_color(size_t i);
const char *tf_svg_line_dash(size_t i);

#endif
