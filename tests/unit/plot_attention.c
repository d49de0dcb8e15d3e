/* Attention as lines and as heat maps: positions, opacities, and errors. */
#include "../harness/tap.h"
#include "base/memory.h"
#include "plot/attention_figure_private.h"

typedef int draw_fn(struct tf_buf *out, const struct tf_attention_figure *p, struct tf_err *err);

static const char *const abc[] = {"\xE2\x96\x81one", "two", "\xE2\x96\x81", "four"};
static const char *const xyz[] = {"▁a<b>&\"c\"", "y", "z"};
static int64_t numbers[32];

static struct tf_attention_figure picture(size_t n_rows, size_t n_cols, size_t n_heads,
                                           const float *weights)
{
    return (struct tf_attention_figure){.figure = {.width = 800},
                                         .rows = abc,
                                         .cols = xyz,
                                         .n_rows = n_rows,
                                         .n_cols = n_cols,
                                         .weights = weights,
                                         .heads = numbers,
                                         .n_heads = n_heads};
}

/* The picture, or "" and a result that failed. Free it. */
static char *draws(draw_fn *draw, const struct tf_attention_figure *p)
{
    struct tf_buf out = {0};
    struct tf_err err = {0};
    if (draw(&out, p, &err) < 0) {
        ok(false, "draws: %s", err.msg);
        tf_buf_release(&out);
        return tf_xstrdup("");
    }
    return out.p;
}

static void refuses(draw_fn *draw, const struct tf_attention_figure *p, const char *want)
{
    struct tf_buf out = {0};
    struct tf_err err = {0};
    is_int(draw(&out, p, &err), -1, "refused");
    is_str(err.msg, want, "with a message");
    is_int(out.len, 0, "and draws nothing");
    tf_buf_release(&out);
}

static int count(const char *s, const char *what)
{
    int n = 0;
    for (; (s = strstr(s, what)) != NULL; s += strlen(what))
        n++;
    return n;
}

/* The group of that class, without the rest of the picture. Free it. */
static char *group(const char *svg, const char *class)
{
    char open[64];
    snprintf(open, sizeof open, "<g class=\"%s\"", class);
    const char *from = strstr(svg, open), *to = from ? strstr(from, "</g>") : NULL;
    return to ? tf_xstrndup(from, (size_t)(to - from)) : tf_xstrdup("");
}

/* The path with that opacity in a group, from d=" on; "" when there is none. */
static const char *opaque(const char *in, const char *paint, const char *opacity)
{
    char attr[64];
    snprintf(attr, sizeof attr, "%s-opacity=\"%s\"", paint, opacity);
    const char *p = strstr(in, attr);
    return p ? strstr(p, "d=\"") : "";
}

/* The position of a text, the last one of several equal ones. */
static void text_at(const char *svg, const char *words, double *x, double *y, double *size)
{
    char end[96];
    snprintf(end, sizeof end, ">%s</text>", words);
    *x = *y = *size = NAN;
    for (const char *p = svg; (p = strstr(p, "<text ")) != NULL; p++) {
        const char *close = strchr(p, '>');
        if (strncmp(close, end, strlen(end)) == 0)
            sscanf(p, "<text x=\"%lf\" y=\"%lf\" font-size=\"%lf\"", x, y, size);
    }
}

/* Every tag is closed, in order; no text or line leaves the picture; no number is missing. */
static void sound(const char *svg, const char *what)
{
    const char *open[32];
    size_t lens[32], depth = 0;
    double w = 0, h = 0, x, y, x2, y2;
    bool good = true, inside = true;
    const char *root = strstr(svg, "<svg ");
    if (!root || sscanf(strstr(root, " width="), " width=\"%lf\" height=\"%lf\"", &w, &h) != 2)
        good = false;
    for (const char *p = root; good && p && (p = strchr(p, '<')) != NULL;) {
        const char *name = p + 1 + (p[1] == '/'), *end = strchr(p, '>');
        size_t len = strcspn(name, " />");
        if (!end || memchr(name, '<', (size_t)(end - name))) {
            good = false;
        } else if (p[1] == '/') {
            good = depth > 0 && lens[depth - 1] == len && memcmp(open[depth - 1], name, len) == 0;
            depth -= good;
        } else if (end[-1] != '/') {
            good = depth < 32;
            if (good) {
                open[depth] = name;
                lens[depth++] = len;
            }
        }
        p = end;
    }
    for (const char *p = svg; (p = strchr(p, '&')) != NULL; p++)
        good = good && (strncmp(p, "&amp;", 5) == 0 || strncmp(p, "&lt;", 4) == 0 ||
                        strncmp(p, "&gt;", 4) == 0 || strncmp(p, "&quot;", 6) == 0);
    for (const char *p = svg; (p = strstr(p, "<text x=")) != NULL; p++)
        inside = inside && sscanf(p, "<text x=\"%lf\" y=\"%lf\"", &x, &y) == 2 && x >= 0 &&
                 x <= w && y >= 10 && y <= h - 2;
    char *lines = group(svg, "lines");
    for (const char *p = lines; (p = strchr(p, 'M')) != NULL; p++)
        inside = inside && sscanf(p, "M%lf %lfL%lf %lf", &x, &y, &x2, &y2) == 4 && x > 0 &&
                 x2 > x && x2 < w && y > 0 && y < h && y2 > 0 && y2 < h;
    free(lines);
    ok(good && depth == 0, "%s: well-formed", what);
    ok(inside, "%s: everything inside", what);
    ok(!strstr(svg, "nan") && !strstr(svg, "inf"), "%s: numbers", what);
    is_int(count(svg, "<title id=\"title\">"), 1, "%s: has a name for those who can't see it",
           what);
}

/* The only line goes from one token to the other. */
static void line_between(size_t row, size_t col, const char *row_label, const char *col_label)
{
    float w[12] = {0};
    double x, y, size, x1 = 0, y1 = 0, x2 = 0, y2 = 0;
    w[row * 3 + col] = 1;
    struct tf_attention_figure p = picture(4, 3, 1, w);
    char *svg = draws(tf_attention_lines, &p), *lines = group(svg, "lines");
    const char *d = opaque(lines, "stroke", "1");
    is_int(count(lines, "<path"), 1, "one path");
    is_int(sscanf(d, "d=\"M%lf %lfL%lf %lf\"", &x1, &y1, &x2, &y2), 4, "one line");
    text_at(svg, row_label, &x, &y, &size);
    is_near(y1, y - 0.35 * size, 0.02, "from %s", row_label);
    ok(x < x1, "which is left of it");
    text_at(svg, col_label, &x, &y, &size);
    is_near(y2, y - 0.35 * size, 0.02, "to %s", col_label);
    ok(x2 < x, "which is right of it");
    sound(svg, "a line");
    free(lines);
    free(svg);
}

static void opacity(float weight, double least, const char *want)
{
    float w[12] = {0};
    w[5] = weight;
    struct tf_attention_figure p = picture(4, 3, 1, w);
    p.least = least;
    char *svg = draws(tf_attention_lines, &p), *lines = group(svg, "lines"), found[32] = "none";
    const char *attr = strstr(lines, "stroke-opacity=");
    if (attr)
        sscanf(attr, "stroke-opacity=\"%31[^\"]", found);
    is_str(found, want, "opacity of %g, least %g", (double)weight, least);
    is_int(count(lines, "<path"), strcmp(want, "none") != 0, "and nothing else");
    free(lines);
    free(svg);
}

static void paths(void)
{
    const float w[2 * 4 * 3] = {0.5f, 0.5f, 0, 0.25f, 0.25f, 0.5f, 1, 0, 0, 0, 0, 0, /* head 1 */
                                0.5f, 0, 0.5f, 0, 0, 0, 0, 0, 0, 0, 0.01f, 0.99f};
    struct tf_attention_figure p = picture(4, 3, 2, w);
    p.least = 0.02;
    char *svg = draws(tf_attention_lines, &p), *lines = group(svg, "lines"),
         *cols = group(svg, "columns"), *rows = group(svg, "rows");
    is_int(count(lines, "<path"), 5, "a path per head and opacity");
    is_int(count(lines, "M"), 9, "a line per weight");
    is_int(count(lines, "stroke-opacity=\"0.5\""), 2, "half, of both heads");
    is_int(count(lines, "stroke-opacity=\"1\""), 2, "0.99 is as good as 1");
    const char *quarter = strstr(lines, "stroke-opacity=\"0.25\""),
               *half = strstr(lines, "stroke-opacity=\"0.5\"");
    ok(quarter && half && quarter < half, "the stronger on top");

    double y1 = 0, y2 = 0, x;
    const char *second = half ? strstr(half + 1, "stroke-opacity=\"0.5\"") : NULL;
    bool both = second && sscanf(opaque(half, "stroke", "0.5"), "d=\"M%lf %lf", &x, &y1) == 2 &&
                sscanf(opaque(second, "stroke", "0.5"), "d=\"M%lf %lf", &x, &y2) == 2;
    ok(both, "both heads have lines");
    ok(y2 - y1 >= 1 && y2 - y1 <= 4, "side by side");

    is_int(count(rows, "M"), 8, "a square per row and head");
    is_int(count(rows, "fill-opacity=\"1\""), 2, "full ones");
    /* Head 0: 1.75, 0.75, 0.5; head 1: 0.5, 0.01, 1.49. */
    is_int(count(cols, "M"), 5, "a square per column that gets something, and head");
    is_int(count(cols, "fill-opacity=\"1\""), 2, "no more than full");
    is_int(count(cols, "fill-opacity=\"0.75\""), 1, "the sum of what a column gets");
    is_int(count(cols, "fill-opacity=\"0.5\""), 2, "of one head");
    ok(strstr(svg, ">head 5</text>") && strstr(svg, ">head 6</text>") &&
           !strstr(svg, ">head 7</text>"),
       "a legend");
    sound(svg, "paths");
    free(rows);
    free(cols);
    free(lines);
    free(svg);
}

static void chosen(void)
{
    const float w[4 * 3] = {1, 0, 0, 0.25f, 0.7f, 0.05f, 0.5f, 0.5f, 0, 0, 0, 1};
    const bool second[4] = {false, true, false, false}, none[4] = {false};
    struct tf_attention_figure p = picture(4, 3, 1, w);
    p.only = second;
    p.least = 0.1;
    char *svg = draws(tf_attention_lines, &p), *lines = group(svg, "lines"),
         *cols = group(svg, "columns"), *rows = group(svg, "rows");
    is_int(count(lines, "M"), 2, "lines of the chosen row");
    is_int(count(rows, "M"), 1, "its square");
    is_int(count(cols, "M"), 3, "squares of what it looks at");
    ok(*opaque(cols, "fill", "0.25") && *opaque(cols, "fill", "0.7"), "as much as it gives");
    ok(*opaque(cols, "fill", "0.05"), "also what is too little for a line");
    is_int(count(svg, "fill=\"#9aa5b1\" text-anchor=\"end\""), 3, "the others have pale labels");
    is_int(count(svg, "fill=\"#9aa5b1\" text-anchor=\"start\""), 0, "columns don't");
    ok(strstr(svg, "from 1 of 4 tokens") != NULL, "and the description says so");
    free(rows);
    free(cols);
    free(lines);
    free(svg);

    p.only = none;
    refuses(tf_attention_lines, &p, "nothing to draw: none of the 4 rows is chosen");
    svg = draws(tf_attention_heat, &p);
    is_int(count(svg, ">four</text>"), 1, "heat maps show all rows");
    free(svg);
}

static void labels(draw_fn *draw, const char *what)
{
    const char *const pieces[] = {
        "\xE2\x96\x81", "\xE2\x96\x81x\xE2\x96\x81", "\xFF\x01",
        "donaudampfschifffahrtsgesellschaftskapitaensmuetzenabzeichenverordnung"};
    float w[4 * 3] = {0};
    w[0] = 1;
    struct tf_attention_figure p = picture(4, 3, 1, w);
    p.rows = pieces;
    p.figure.title = "a & b";
    char *svg = draws(draw, &p);
    is_int(count(svg, ">\xE2\x90\xA3</text>"), 1, "%s: a space alone is an open box", what);
    is_int(count(svg, ">x\xE2\x96\x81</text>"), 1, "%s: only the first mark goes", what);
    is_int(count(svg, ">\xEF\xBF\xBD\xEF\xBF\xBD</text>"), 1, "%s: bytes that are no text", what);
    is_int(count(svg, ">a&lt;b&gt;&amp;&quot;c&quot;</text>"), 1, "%s: markup in a token", what);
    is_int(count(svg, "donaudampf"), 1, "%s: a long one", what);
    is_int(count(svg, "verordnung"), 0, "%s: is cut", what);
    is_int(count(svg, ">a &amp; b</text>"), 1, "%s: the title", what);
    is_int(count(svg, ">a &amp; b</title>"), 1, "%s: names the picture", what);
    sound(svg, what);
    free(svg);
}

/* Many heads and tokens of arbitrary weights, twice. */
static void large(draw_fn *draw, size_t n, size_t heads, double width, const char *what)
{
    const char **tokens = tf_xarray(NULL, n, sizeof *tokens);
    float *w = tf_xarray(NULL, heads * n * n, sizeof *w);
    for (size_t i = 0; i < n; i++)
        tokens[i] = abc[i % 4];
    for (size_t i = 0; i < heads * n * n; i++)
        w[i] = (float)(i * 2654435761u % 1000) / 1000;
    struct tf_attention_figure p = {.figure = {.title = what, .width = width},
                                     .rows = tokens,
                                     .cols = tokens,
                                     .n_rows = n,
                                     .n_cols = n,
                                     .weights = w,
                                     .heads = numbers,
                                     .n_heads = heads,
                                     .least = 0.3};
    char *a = draws(draw, &p), *b = draws(draw, &p), *lines = group(a, "lines");
    is_str(a, b, "%s: the same bytes again", what);
    ok(count(lines, "<path") <= 15 * (int)heads, "%s: few paths", what);
    is_int(count(a, "head "), heads, "%s: every head is named", what);
    sound(a, what);
    double x, y, size;
    text_at(a, "head 20", &x, &y, &size);
    ok(heads < 16 || (x > 0 && x < width), "%s: the sixteenth head has its place", what);
    free(lines);
    free(a);
    free(b);
    free(w);
    free(tokens);
}

static void colors(void)
{
    float w[17] = {0};
    char seen[17][8] = {""};
    const char *p;
    int n = 0, same = 0;
    struct tf_attention_figure one = picture(1, 1, 17, w);
    char *svg = draws(tf_attention_lines, &one), *rows = group(svg, "rows");
    for (p = rows; n < 17 && (p = strstr(p, "fill=\"#")) != NULL; p++)
        snprintf(seen[n++], 8, "%.7s", p + 6);
    is_int(n, 17, "a colour per head");
    for (int i = 0; i < 16; i++)
        for (int k = 0; k < i; k++)
            same += strcmp(seen[i], seen[k]) == 0;
    is_int(same, 0, "sixteen heads, sixteen colours");
    is_str(seen[16], seen[0], "then they begin again");
    p = strstr(svg, "<rect x=\"20\"");
    ok(p && strstr(p, seen[0]) && strstr(p, seen[0]) < strchr(p, '>'), "the legend shows the same");
    is_int(count(svg, "stroke-opacity"), 0, "no weight, no line");
    free(rows);
    free(svg);

    const int64_t third = numbers[2];
    one.heads = &third;
    one.n_heads = 1;
    svg = draws(tf_attention_lines, &one);
    rows = group(svg, "rows");
    p = strstr(rows, "fill=\"#");
    ok(p && strncmp(p + 6, seen[2], 7) == 0,
       "a head alone has the colour that it has among others");
    free(rows);
    free(svg);
}

static void heat(void)
{
    float w[5 * 4 * 3] = {0};
    w[1 * 3 + 2] = 1.0005f;   /* head 0: row 1, column 2 */
    w[12 + 3 * 3 + 0] = 0.5f; /* head 1: row 3, column 0 */
    struct tf_attention_figure p = picture(4, 3, 5, w);
    p.figure.width = 400;
    char *svg = draws(tf_attention_heat, &p);
    double x, y, size, x2, y2;
    is_int(count(svg, "<path fill=\"#062042\" d=\"M2 1h1v1h-1z\"/>"), 1,
           "the cell of a weight a little above 1 has the last colour");
    is_int(count(svg, "<path fill=\"#5c9ecb\" d=\"M0 3h1v1h-1z\"/>"), 1,
           "the cell of a half, with the middle one");
    is_int(count(svg, ">head "), 5, "a name per map");
    is_int(count(svg, ">z</text>"), 5, "columns have their labels above each map");
    int down = count(svg, ">four</text>");
    ok(down > 1 && down < 5, "rows once in %d rows of maps", down);
    is_int(count(svg, ">0.5</text>"), 1, "one bar explains the colours");
    text_at(svg, "head 5", &x, &y, &size);
    text_at(svg, "head 6", &x2, &y2, &size);
    ok(x2 > x && y2 == y, "the second map is next to the first");
    text_at(svg, "head 9", &x, &y, &size);
    ok(y > y2, "the last below");
    sound(svg, "heat");
    free(svg);

    p.weights = w + 12; /* without a greatest weight the colours are still those of 0 to 1 */
    p.n_heads = 1;
    svg = draws(tf_attention_heat, &p);
    is_int(count(svg, "<path fill=\"#5c9ecb\" d=\"M0 3h1v1h-1z\"/>"), 1,
           "a half has the middle colour");
    free(svg);
}

static void errors(draw_fn *draw)
{
    float w[24] = {0};
    struct tf_attention_figure good = picture(4, 3, 2, w), p = good;
    p.n_rows = 0;
    refuses(draw, &p, "nothing to draw: 0 rows, 3 columns, 2 heads");
    p = good;
    p.n_cols = 0;
    refuses(draw, &p, "nothing to draw: 4 rows, 0 columns, 2 heads");
    p = good;
    p.n_heads = 0;
    refuses(draw, &p, "nothing to draw: 4 rows, 3 columns, 0 heads");
    p = good;
    p.n_rows = p.n_cols = 1025;
    p.n_heads = 1;
    refuses(draw, &p,
            "1 heads of 1025 by 1025 weights are too many to draw, maximum 1048576 weights");
    p.n_rows = p.n_cols = p.n_heads = SIZE_MAX / 2 + 1; /* whose product is 0 */
    struct tf_buf out = {0};
    struct tf_err err = {0};
    is_int(draw(&out, &p, &err), -1, "absurd numbers are refused");
    p = good;
    p.n_heads = SIZE_MAX / 12 + 2; /* 12 weights each: a product that wraps around */
    is_int(draw(&out, &p, &err), -1, "of heads, too");
    p.n_heads = TF_MATRIX_CELLS / 12 + 1;
    refuses(draw, &p,
            "87382 heads of 4 by 3 weights are too many to draw, maximum 1048576 weights");

    const float bad[] = {NAN, INFINITY, -INFINITY, -0.001f, 1.01f};
    const char *const names[] = {"nan", "inf", "-inf", "-0.001", "1.01"};
    for (size_t i = 0; i < 5; i++) {
        char want[128];
        w[12 + 2 * 3 + 1] = bad[i];
        is_int(draw(&out, &good, &err), -1, "%g is refused", (double)bad[i]);
        snprintf(want, sizeof want, "head 6, row 2, column 1: %s is not a weight between 0 and 1",
                 names[i]);
        is_str(err.msg, want, "with its place");
    }
    w[12 + 2 * 3 + 1] = 1.001f;
    is_int(draw(&out, &good, &err), 0, "rounding is not");
    tf_buf_release(&out);

    p = good;
    p.figure.width = 90;
    refuses(draw, &p, "90 pixels are too few for this picture");
    p.figure.width = -1e300;
    refuses(draw, &p, "-1e+300 pixels are too few for this picture");
    p.figure.width = 1e300; /* as much as it needs */
    char *svg = draws(draw, &p);
    sound(svg, "a sheet without end");
    free(svg);
}

int main(void)
{
    for (size_t i = 0; i < 32; i++)
        numbers[i] = (int64_t)i + 5;
    line_between(0, 0, "one", "a&lt;b&gt;&amp;&quot;c&quot;");
    line_between(1, 2, "two", "z");
    line_between(3, 0, "four", "a&lt;b&gt;&amp;&quot;c&quot;");
    line_between(2, 1, "\xE2\x90\xA3", "y");
    opacity(1, 0, "1");
    opacity(1.0005f, 0, "1");
    opacity(0.5f, 0, "0.5");
    opacity(0.5f, 0.5, "0.5");
    opacity(0.52f, 0, "0.5");
    opacity(0.53f, 0, "0.55");
    opacity(0.05f, 0.05, "0.05");
    opacity(0.049f, 0.05, "none");
    opacity(0.001f, 0, "0.05");
    opacity(0, 0, "none");
    paths();
    chosen();
    labels(tf_attention_lines, "lines");
    labels(tf_attention_heat, "heat");
    large(tf_attention_lines, 28, 8, 900, "lines of a sentence");
    large(tf_attention_lines, 64, 16, 500, "lines of a long one");
    large(tf_attention_heat, 28, 8, 900, "heat of a sentence");
    large(tf_attention_heat, 64, 16, 500, "heat of a long one");
    colors();
    heat();
    errors(tf_attention_lines);
    errors(tf_attention_heat);
    return done();
}
