/* sacrebleu_table.c - see sacrebleu_table_private.h. */
#include "metrics/sacrebleu_table_private.h"
#include "base/memory.h"
#include "base/utf8.h"
#include <stdlib.h>
#include <string.h>

static void repeat(struct tf_buf *out, const char *s, size_t n)
{
    while (n--)
        tf_buf_str(out, s);
}

static void rule(struct tf_buf *out, const size_t *w, size_t n, const char *left, const char *bar,
                 const char *cross, const char *right)
{
    for (size_t i = 0; i < n; i++) {
        tf_buf_str(out, i ? cross : left);
        repeat(out, bar, w[i] + 2);
    }
    tf_buf_printf(out, "%s\n", right);
}

/* Line k of a cell, empty after the last. */
static const char *line_of(const char *cell, size_t k, size_t *n)
{
    for (; k; k--) {
        cell = strchr(cell, '\n');
        if (cell == NULL)
            return *n = 0, "";
        cell++;
    }
    return *n = strcspn(cell, "\n"), cell;
}

static void latex_text(struct tf_buf *out, const char *s, size_t n)
{
    static const char *const escapes[][2] = {{"&", "\\&"},
                                             {"%", "\\%"},
                                             {"$", "\\$"},
                                             {"#", "\\#"},
                                             {"_", "\\_"},
                                             {"^", "\\^{}"},
                                             {"{", "\\{"},
                                             {"}", "\\}"},
                                             {"~", "\\textasciitilde{}"},
                                             {"\\", "\\textbackslash{}"},
                                             {"<", "\\ensuremath{<}"},
                                             {">", "\\ensuremath{>}"}};
    for (size_t i = 0; i < n; i++) {
        const char *to = NULL;
        for (size_t k = 0; k < sizeof escapes / sizeof escapes[0]; k++)
            if (s[i] == escapes[k][0][0])
                to = escapes[k][1];
        if (to != NULL)
            tf_buf_str(out, to);
        else
            tf_buf_byte(out, (unsigned char)s[i]);
    }
}

static void cell(struct tf_buf *out, const char *s, size_t n, size_t w, bool right, bool latex)
{
    size_t room = w - tf_utf8_count(s, n), left = right ? room : room / 2;
    repeat(out, " ", left);
    if (latex)
        latex_text(out, s, n);
    else
        tf_buf_add(out, s, n);
    repeat(out, " ", room - left);
}

static void put_row(struct tf_buf *out, char *const *cells, const size_t *w, size_t columns,
                    bool latex)
{
    size_t height = 1, n;
    for (size_t c = 0; c < columns; c++) {
        size_t lines = 1;
        for (const char *p = cells[c]; (p = strchr(p, '\n')) != NULL; p++)
            lines++;
        height = lines > height ? lines : height;
    }
    for (size_t k = 0; k < height; k++) {
        for (size_t c = 0; c < columns; c++) {
            const char *s = line_of(cells[c], k, &n);
            tf_buf_str(out, latex ? (c ? "& " : " ") : "│ ");
            cell(out, s, n, w[c], c == 0, latex);
            tf_buf_byte(out, ' ');
        }
        tf_buf_str(out, latex ? "\\\\\n" : "│\n");
    }
}

void tf_sacrebleu_table(struct tf_buf *out, char *const *cells, size_t rows, size_t columns,
                        bool latex)
{
    size_t *w = tf_xcalloc(columns, sizeof *w), n;
    for (size_t i = 0; i < rows * columns; i++)
        for (size_t k = 0; k == 0 || n; k++) {
            const char *s = line_of(cells[i], k, &n);
            /* tabulate pads headers by two columns */
            size_t width = tf_utf8_count(s, n) + (i < columns ? 2 : 0);
            if (width > w[i % columns])
                w[i % columns] = width;
        }
    if (latex) {
        tf_buf_str(out, "\\begin{tabular}{r");
        repeat(out, "c", columns - 1);
        tf_buf_str(out, "}\n\\toprule\n");
    } else {
        rule(out, w, columns, "╒", "═", "╤", "╕");
    }
    put_row(out, cells, w, columns, latex);
    if (latex)
        tf_buf_str(out, "\\midrule\n");
    else
        rule(out, w, columns, "╞", "═", "╪", "╡");
    for (size_t r = 1; r < rows; r++) {
        if (r > 1 && !latex)
            rule(out, w, columns, "├", "─", "┼", "┤");
        put_row(out, cells + r * columns, w, columns, latex);
    }
    if (latex)
        tf_buf_str(out, "\\bottomrule\n\\end{tabular}\n");
    else
        rule(out, w, columns, "╘", "═", "╧", "╛");
    free(w);
}
