/* svg.c - see svg_private.h. */
#include "plot/svg_private.h"
#include "base/utf8.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char fonts[] = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'Noto "
                            "Sans', 'Liberation Sans', "
                            "'DejaVu Sans', Arial, sans-serif";

void tf_svg_begin(struct tf_buf *out, double width, double height, const char *title,
                  const char *desc)
{
    tf_buf_str(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    TF_SVG(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"@\" height=\"@\" "
                "viewBox=\"0 0 @ @\"",
           width, height, width, height);
    tf_buf_printf(
        out,
        " role=\"img\" aria-labelledby=\"title desc\" font-family=\"%s\">\n<title id=\"title\">",
        fonts);
    tf_svg_escape(out, title);
    tf_buf_str(out, "</title>\n<desc id=\"desc\">");
    tf_svg_escape(out, desc);
    tf_buf_str(out, "</desc>\n");
    tf_svg_rect(out, 0, 0, width, height, TF_SVG_PAPER);
}

void tf_svg_begin_part(struct tf_buf *out, double x, double y, double width, double height,
                       const char *desc)
{
    TF_SVG(out, "<svg x=\"@\" y=\"@\" width=\"@\" height=\"@\">\n<desc>", x, y, width, height);
    tf_svg_escape(out, desc);
    tf_buf_str(out, "</desc>\n");
}

void tf_svg_end(struct tf_buf *out)
{
    tf_buf_str(out, "</svg>\n");
}

/* The number of a coordinate, which must be finite. */
static void put_coordinate(struct tf_buf *out, double x)
{
    char s[340];
    TF_ASSERT(isfinite(x));
    int n = snprintf(s, sizeof s, "%.2f", x);
    while (s[n - 1] == '0')
        n--;
    if (s[n - 1] == '.')
        n--;
    if (n == 2 && s[0] == '-' && s[1] == '0')
        tf_buf_byte(out, '0');
    else
        tf_buf_add(out, s, (size_t)n);
}

void tf_svg_put(struct tf_buf *out, const char *text, const double *x)
{
    for (; *text != 0; text++)
        if (*text == '@')
            put_coordinate(out, *x++);
        else
            tf_buf_byte(out, (unsigned char)*text);
}

void tf_svg_escape(struct tf_buf *out, const char *s)
{
    for (size_t n = strlen(s), len; n; s += len, n -= len) {
        len = tf_utf8_at(s, n);
        /* XML 1.0 has no control characters but these, and no U+FFFE and U+FFFF. */
        if (!len || ((unsigned char)*s < ' ' && strchr("\t\n\r", *s) == NULL) ||
            (len == 3 && memcmp(s, "\xEF\xBF", 2) == 0 && (unsigned char)s[2] >= 0xBE)) {
            tf_buf_str(out, "\xEF\xBF\xBD");
            len = len ? len : 1;
        } else if (*s == '&') {
            tf_buf_str(out, "&amp;");
        } else if (*s == '<') {
            tf_buf_str(out, "&lt;");
        } else if (*s == '>') {
            tf_buf_str(out, "&gt;");
        } else if (*s == '"') {
            tf_buf_str(out, "&quot;");
        } else if (tf_utf8_unsafe(s) && strchr("\t\n\r", *s) == NULL) {
            tf_buf_printf(out, "&#x%x;", tf_utf8_get(s, &(int){0}));
        } else {
            tf_buf_add(out, s, len);
        }
    }
}

void tf_svg_rect(struct tf_buf *out, double x, double y, double w, double h, const char *fill)
{
    TF_SVG(out, "<rect x=\"@\" y=\"@\" width=\"@\" height=\"@\"", x, y, w, h);
    tf_buf_printf(out, " fill=\"%s\"/>\n", fill);
}

void tf_svg_line(struct tf_buf *out, double x1, double y1, double x2, double y2, const char *stroke)
{
    TF_SVG(out, "<line x1=\"@\" y1=\"@\" x2=\"@\" y2=\"@\"", x1, y1, x2, y2);
    tf_buf_printf(out, " stroke=\"%s\" stroke-width=\"1\"/>\n", stroke);
}

void tf_svg_dot(struct tf_buf *out, double x, double y, double r, const char *fill)
{
    TF_SVG(out, "<circle cx=\"@\" cy=\"@\" r=\"@\"", x, y, r);
    tf_buf_printf(out, " fill=\"%s\" stroke=\"%s\" stroke-width=\"1\"/>\n", fill, TF_SVG_PAPER);
}

void tf_svg_text(struct tf_buf *out, double x, double y, const char *s, double size,
                 const char *fill, enum tf_svg_anchor anchor, double turn)
{
    static const char *const anchors[] = {"start", "middle", "end"};
    TF_SVG(out, "<text x=\"@\" y=\"@\" font-size=\"@\"", x, y, size);
    tf_buf_printf(out, " fill=\"%s\" text-anchor=\"%s\"", fill, anchors[anchor]);
    if (turn != 0)
        TF_SVG(out, " transform=\"rotate(@ @ @)\"", turn, x, y);
    tf_buf_byte(out, '>');
    tf_svg_escape(out, s);
    tf_buf_str(out, "</text>\n");
}

/* The width of one character in ems, by classes, for a common sans serif font. */
static double em_width(const char *s, size_t len)
{
    if (len >= 3 && (unsigned char)*s >= 0xE3)
        return 1; /* from U+3000 on: mostly East Asian and wide */
    return strchr("ijlt.,:;|!'()[]{} fI1", *s) != NULL ? 0.36
           : strchr("mwMW@%", *s) != NULL              ? 0.88
                                                       : 0.62;
}

static size_t char_at(const char *s, size_t n)
{
    size_t len = tf_utf8_at(s, n);
    return len ? len : 1;
}

double tf_svg_text_width(const char *s, double size)
{
    double em = 0;
    for (size_t n = strlen(s), len; n; s += len, n -= len) {
        len = char_at(s, n);
        em += em_width(s, len);
    }
    return em * size;
}

void tf_svg_fit(struct tf_buf *out, const char *s, double size, double width)
{
    if (tf_svg_text_width(s, size) <= width) {
        tf_buf_str(out, s);
        return;
    }
    double room = width / size - 1;
    for (size_t n = strlen(s), len; n; s += len, n -= len) {
        len = char_at(s, n);
        room -= em_width(s, len);
        if (room < 0)
            break;
        tf_buf_add(out, s, len);
    }
    tf_buf_str(out, "\xE2\x80\xA6");
}

void tf_svg_fit_ends(struct tf_buf *out, const char *s, double size, double width)
{
    double rest = tf_svg_text_width(s, size) / size, room = width / size;
    size_t n = strlen(s), len;
    if (rest <= room) {
        tf_buf_str(out, s);
        return;
    }
    room -= 1;
    double half = room / 2;
    for (; n; s += len, n -= len) {
        len = char_at(s, n);
        half -= em_width(s, len);
        if (half < 0)
            break;
        tf_buf_add(out, s, len);
        room -= em_width(s, len);
        rest -= em_width(s, len);
    }
    tf_buf_str(out, "\xE2\x80\xA6");
    for (; n && rest > room; s += len, n -= len) {
        len = char_at(s, n);
        rest -= em_width(s, len);
    }
    tf_buf_add(out, s, n);
}

void tf_svg_text_in(struct tf_buf *out, double x, double y, const char *s, double size,
                    double width, const char *fill, enum tf_svg_anchor anchor, double turn)
{
    struct tf_buf text = {0};
    tf_svg_fit(&text, s, size, width);
    tf_svg_text(out, x, y, text.p, size, fill, anchor, turn);
    tf_buf_release(&text);
}

static const double axis_name_size = 12.5, axis_name_margin = 6;

double tf_svg_axis_name_length(const char *s)
{
    return tf_svg_text_width(s, axis_name_size) + 2 * axis_name_margin;
}

void tf_svg_axis_name(struct tf_buf *out, double x, double y, const char *s, bool upright,
                      double length)
{
    double half = fmin(length, tf_svg_axis_name_length(s)) / 2, *middle = upright ? &y : &x;
    *middle = fmax(half, fmin(*middle, length - half));
    tf_svg_text_in(out, x, y, s, axis_name_size, length - 2 * axis_name_margin, TF_SVG_INK,
                   TF_SVG_MIDDLE, upright ? -90 : 0);
}

void tf_svg_title(struct tf_buf *out, double left, double width, const char *title)
{
    tf_svg_text_in(out, left, 31, title, 16, width - left - 10, TF_SVG_INK, TF_SVG_START, 0);
}

/* Okabe and Ito's colours ("Color universal design", 2008), without yellow and with a dark grey for
 * black. */
const char *tf_svg_line_color(size_t i)
{
    static const char *const colors[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                         "#e69f00", "#56b4e9", "#4d4d4d"};
    return colors[i % (sizeof colors / sizeof colors[0])];
}

const char *tf_svg_line_dash(size_t i)
{
    static const char *const dashes[] = {"", "7 3", "2 2.5", "8 3 2 3"};
    return dashes[i / 7 % 4];
}
