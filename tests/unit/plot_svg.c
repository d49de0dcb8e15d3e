/* Numbers and text in SVG, and the sinusoids of the position table. */
#include "../harness/tap.h"
#include "plot/position_figure.h"
#include "plot/svg_private.h"

static void num(double x, const char *want)
{
    struct tf_buf b = {0};
    TF_SVG(&b, "@", x);
    is_str(b.p, want, "%g", x);
    tf_buf_release(&b);
}

static void text(const char *s, const char *want)
{
    struct tf_buf b = {0};
    tf_svg_escape(&b, s);
    is_str(b.p ? b.p : "", want, "text of %zu bytes", strlen(s));
    tf_buf_release(&b);
}

static void fit(const char *s, double width, const char *want)
{
    struct tf_buf b = {0};
    tf_svg_fit(&b, s, 10, width);
    is_str(b.p ? b.p : "", want, "%s in %g pixels", s, width);
    tf_buf_release(&b);
}

static void fit_ends(const char *s, double width, const char *want)
{
    struct tf_buf b = {0};
    tf_svg_fit_ends(&b, s, 10, width);
    is_str(b.p ? b.p : "", want, "both ends of %s in %g pixels", s, width);
    tf_buf_release(&b);
}

static void positions(void)
{
    struct tf_position_figure p = {.length = 8,
                                   .dims = 4,
                                   .base = 10000,
                                   .form = TF_POSITIONS_PAPER};
    is_near(tf_position_value(&p, 0, 0), 0, 0, "paper: sin 0");
    is_near(tf_position_value(&p, 1, 0), 1, 0, "cos 0");
    is_near(tf_position_value(&p, 0, 3), sin(3), 1e-15, "first pair: wavelength 2 pi");
    is_near(tf_position_value(&p, 1, 3), cos(3), 1e-15, "both of it");
    is_near(tf_position_value(&p, 2, 3), sin(3 / 100.0), 1e-15, "second pair: 10000^(2/4)");
    is_near(tf_position_value(&p, 3, 3), cos(3 / 100.0), 1e-15, "both of it");
    for (size_t k = 0; k < 8; k++) { /* the same from every position */
        double sum = 0;
        for (size_t row = 0; row < 4; row++)
            sum += tf_position_value(&p, row, 5) * tf_position_value(&p, row, 5 + k);
        is_near(tf_position_product(&p, k), sum, 1e-14, "dot product at distance %zu", k);
    }
    p.form = TF_POSITIONS_T2T;
    is_near(tf_position_value(&p, 0, 3), sin(3), 1e-15, "t2t: sines first");
    is_near(tf_position_value(&p, 1, 3), sin(3 / 10000.0), 1e-15, "up to the whole base");
    is_near(tf_position_value(&p, 2, 3), cos(3), 1e-15, "then cosines");
    p.form = TF_POSITIONS_SHIFTED;
    is_near(tf_position_value(&p, 0, 0), cos(1 / 10.0), 1e-15, "shifted: t and k begin at 1");
    is_near(tf_position_value(&p, 1, 2), sin(3 / 100.0), 1e-15, "an exponent for every dimension");
    is_near(tf_position_value(&p, 3, 7), sin(8 / 10000.0), 1e-15, "the last is the whole base");
}

int main(void)
{
    num(0, "0");
    num(-0.0, "0");
    num(-0.001, "0");
    num(1.5, "1.5");
    num(-20, "-20");
    num(100, "100");
    num(3.14159, "3.14");
    num(1e6, "1000000");
    text("a<b> & \"c\"", "a&lt;b&gt; &amp; &quot;c&quot;");
    text("Ä\xFF" "b\x01", "Ä\xEF\xBF\xBD" "b\xEF\xBF\xBD");
    text("\xE2\x80\xAE\xD8\x9C\xC2\x85\x7F", "&#x202e;&#x61c;&#x85;&#x7f;");
    text("tab\t\xEF\xBF\xBF\xEF\xBF\xBD", "tab\t\xEF\xBF\xBD\xEF\xBF\xBD");
    fit("short", 100, "short");
    fit("a longer text", 50, "a longe\xE2\x80\xA6");
    fit("ääääääääää", 30, "äää\xE2\x80\xA6");
    fit_ends("short", 100, "short");
    fit_ends("", 0, "");
    fit_ends("abcdefghkn", 50, "abc\xE2\x80\xA6hkn");
    fit_ends("ääääüüüüöö", 48, "äää\xE2\x80\xA6üöö");
    fit_ends("abcdefghkn", -50, "\xE2\x80\xA6");
    is_near(tf_svg_text_width("", 10), 0, 0, "no text, no width");
    positions();
    return done();
}
