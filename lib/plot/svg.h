/* svg.h - SVG 1.1, appended to a buffer. Numbers have at most two decimals and no exponent, so the
 * bytes are the same everywhere.
 *
 * One look for all pictures: a light background, one font stack, muted axes, and colours that stay
 * apart for colour-blind eyes. */
#ifndef TF_PLOT_SVG_H
#define TF_PLOT_SVG_H

#include "base/buf.h"

#define TF_SVG_INK "#1f2933"  /* titles and labels */
#define TF_SVG_SOFT "#5b6770" /* tick labels */
#define TF_SVG_AXIS "#9aa5b1"
#define TF_SVG_GRID "#e4e7eb"
#define TF_SVG_PAPER "#ffffff"

enum tf_svg_anchor { TF_SVG_START, TF_SVG_MIDDLE, TF_SVG_END };

/* Begin and end a document of that size in pixels. The title is drawn by the caller; here it names
 * the picture for those who can't see it, with the description. */
void tf_svg_begin(struct tf_buf *out, double width, double height, const char *title,
                  const char *desc);
void tf_svg_end(struct tf_buf *out);

void tf_svg_num(struct tf_buf *out, double x); /* a coordinate; must be finite */
/* text with & < > " replaced, control bytes and bytes that are not UTF-8 as U+FFFD */
void tf_svg_escape(struct tf_buf *out, const char *s);

/* Shapes. Colours are #rrggbb. */
void tf_svg_rect(struct tf_buf *out, double x, double y, double w, double h, const char *fill);
void tf_svg_line(struct tf_buf *out, double x1, double y1, double x2, double y2, const char *stroke,
                 double width);
/* Text with its base line at y; turn: degrees around (x, y). */
void tf_svg_text(struct tf_buf *out, double x, double y, const char *s, double size,
                 const char *fill, enum tf_svg_anchor anchor, double turn);
/* An estimate of a text's width in pixels at that size: fonts differ, so leave some room. */
double tf_svg_text_width(const char *s, double size);

/* The title of a picture, at its place; cut to the width of the picture. */
void tf_svg_title(struct tf_buf *out, double left, double width, const char *title);
/* Append s, or as much of its start as fits with an ellipsis. */
void tf_svg_fit(struct tf_buf *out, const char *s, double size, double width);

/* The colour and the dashes of the i-th line of a chart; dashes is "" for a solid line. */
const char *tf_svg_line_color(size_t i);
const char *tf_svg_line_dash(size_t i);

#endif
