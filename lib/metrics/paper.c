/* paper.c - steps before counting, multi-bleu's sums and its line. */
#include "metrics/paper.h"
#include "metrics/rows.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What the steps leave of one line. */
struct cut {
    struct tf_moses moses;
    struct tf_buf punctuation, words, compounds;
};

static void cut_release(struct cut *c)
{
    tf_moses_release(&c->moses);
    tf_buf_release(&c->punctuation);
    tf_buf_release(&c->words);
    tf_buf_release(&c->compounds);
}

static struct tf_text text_of(const struct tf_buf *b)
{
    return (struct tf_text){b->p ? b->p : "", b->len};
}

static struct tf_text apply(struct cut *c, const struct tf_paper_opts *o, struct tf_text line,
                            bool is_ref)
{
    if (!o->tokenized) {
        tf_buf_clear(&c->punctuation);
        tf_buf_clear(&c->words);
        tf_buf_clear(&c->compounds);
        if (!is_ref && !o->no_punctuation) {
            tf_moses_punctuation(&c->punctuation, line);
            line = text_of(&c->punctuation);
        }
        if (!is_ref || o->raw_ref) {
            c->moses.lang = o->lang;
            tf_moses_tokenize(&c->moses, &c->words, line);
            line = text_of(&c->words);
        }
        tf_moses_compounds(&c->compounds, line);
        line = text_of(&c->compounds);
    }
    if (o->lowercase) {
        struct tf_buf low = {0};
        tf_buf_add(&low, line.p, line.n);
        for (size_t i = 0; i < low.len; i++)
            if (low.p[i] >= 'A' && low.p[i] <= 'Z')
                low.p[i] |= 0x20;
        tf_buf_release(&c->compounds);
        c->compounds = low;
        line = text_of(&c->compounds);
    }
    return line;
}

/* The length of the closest reference; multi-bleu begins with 9999, at a distance of 9999. */
static uint64_t closest(const struct tf_bleu *b, size_t nrefs)
{
    uint64_t best = 9999, length = 9999;
    for (size_t r = 0; r < nrefs; r++) {
        uint64_t n = b->refs[r].n, d = n < b->hyp.n ? b->hyp.n - n : n - b->hyp.n;
        if (d < best || (d == best && n < length))
            length = n;
        best = d < best ? d : best;
    }
    return length;
}

static int print_line(struct tf_out *out, const struct tf_bleu_stats *s, struct tf_err *err)
{
    double p[TF_NGRAM_MAX], sum = 0, bp = 1;
    if (!s->ref)
        return tf_out_printf(out, err,
                             "BLEU = 0, 0/0/0/0 (BP=0, ratio=0, hyp_len=0, ref_len=0)\n") < 0
                   ? -1
                   : 1;
    for (int k = 0; k < TF_NGRAM_MAX; k++) {
        p[k] = s->total[k] ? (double)s->match[k] / (double)s->total[k] : 0;
        sum += tf_bleu_log(p[k]);
    }
    if (s->hyp < s->ref)
        bp = s->hyp ? exp(1 - (double)s->ref / (double)s->hyp) : 0;
    return tf_out_printf(
        out, err,
        "BLEU = %.2f, %.1f/%.1f/%.1f/%.1f (BP=%.3f, ratio=%.3f, hyp_len=%ju, ref_len=%ju)\n",
        100 * bp * exp(sum / 4), 100 * p[0], 100 * p[1], 100 * p[2], 100 * p[3], bp,
        (double)s->hyp / (double)s->ref, (uintmax_t)s->hyp, (uintmax_t)s->ref);
}

static int score(struct tf_out *out, const struct tf_paper_opts *o, const struct tf_inputs *in,
                 struct tf_err *err)
{
    struct tf_segment_rows rows;
    struct tf_bleu b = {0};
    struct tf_bleu_stats sum = {0}, s;
    int rc = tf_segment_rows_open(&rows, in, err);
    struct cut hyp = {0}, *refs = tf_xcalloc(rows.nrefs, sizeof *refs);
    tf_bleu_room(&b, rows.nrefs);
    for (size_t i = 0; i < rows.nfiles; i++)
        rows.file[i].keep = true; /* a no-break space at the end is a word here */
    while (!rc && (rc = tf_segment_rows_next(&rows, err)) > 0) {
        if (rows.nsys != 1) {
            rc = tf_fail(err, "stdin: line %ju: tabs between systems, only one can be scored so",
                         (uintmax_t)rows.n);
            break;
        }
        tf_tokenize_ascii(&b.hyp, apply(&hyp, o, rows.sys[0], false));
        for (size_t r = 0; r < rows.nrefs; r++)
            tf_tokenize_ascii(&b.refs[r], apply(&refs[r], o, rows.ref[r], true));
        rc = tf_bleu_count(&b, &s, rows.nrefs, err);
        s.ref = closest(&b, rows.nrefs);
        tf_bleu_add(&sum, &s);
    }
    if (!rc)
        rc = print_line(out, &sum, err);
    cut_release(&hyp);
    for (size_t r = 0; r < rows.nrefs; r++)
        cut_release(&refs[r]);
    free(refs);
    tf_bleu_release(&b);
    tf_segment_rows_close(&rows);
    return rc;
}

/* The references that a name stands for, appended to the list. */
static int add_stem(char ***list, size_t *n, const char *name, struct tf_err *err)
{
    size_t before = *n;
    for (int i = 0;; i++) {
        struct tf_buf b = {0};
        tf_buf_printf(&b, "%s%d", name, i);
        if (!strcmp(name, "-") || access(b.p, F_OK)) {
            tf_buf_release(&b);
            break;
        }
        *list = tf_xarray(*list, *n + 1, sizeof **list);
        (*list)[(*n)++] = b.p;
    }
    if (!strcmp(name, "-") || !access(name, F_OK)) {
        *list = tf_xarray(*list, *n + 1, sizeof **list);
        (*list)[(*n)++] = tf_xstrdup(name);
    }
    return *n > before ? 0 : tf_fail(err, "%s: neither this file nor %s0", name, name);
}

int tf_paper_evaluate(struct tf_out *out, const struct tf_paper_opts *o, const struct tf_inputs *in,
                      struct tf_err *err)
{
    static const char *const standard[] = {"-"};
    struct tf_inputs found = *in;
    char **stems = NULL;
    size_t n = 0;
    int rc = 0;
    if (!in->nsystems)
        found.systems = standard; /* as a file: tabs are white space like any */
    found.nsystems = 1;
    for (size_t i = 0; i < in->nrefs && o->tokenized && !rc; i++)
        rc = add_stem(&stems, &n, in->refs[i], err);
    if (o->tokenized) {
        found.refs = (const char *const *)stems;
        found.nrefs = n;
    }
    if (!rc)
        rc = score(out, o, &found, err);
    for (size_t i = 0; i < n; i++)
        free(stems[i]);
    free(stems);
    return rc;
}

/* ---- print ---- */

static int print_cut(struct tf_out *out, const struct tf_tokens *t, struct tf_err *err)
{
    for (size_t i = 0; i < t->n; i++)
        if ((i && tf_out_write(out, " ", 1, err) < 0) ||
            tf_out_write(out, t->v[i].p, t->v[i].n, err) < 0)
            return -1;
    return tf_out_write(out, "\n", 1, err);
}

int tf_print_tokens(struct tf_out *out, const struct tf_paper_opts *paper,
                    const struct tf_bleu_opts *bleu, const struct tf_inputs *in, struct tf_err *err)
{
    struct cut cut = {0};
    struct tf_tokens t = {0};
    int rc = 0;
    for (size_t i = 0; i < (in->nsystems ? in->nsystems : 1) && !rc; i++) {
        struct tf_lines l;
        struct tf_text line;
        rc = tf_lines_open(&l, in->nsystems ? in->systems[i] : "-", in->encoding, !in->nsystems,
                           err);
        l.keep = paper != NULL;
        while (!rc && (rc = tf_lines_next(&l, &line, err)) > 0) {
            if (paper)
                tf_tokenize_ascii(&t, apply(&cut, paper, line, false));
            else
                tf_bleu_tokens(&t, line, bleu);
            rc = print_cut(out, &t, err);
        }
        tf_lines_close(&l);
    }
    cut_release(&cut);
    tf_tokens_release(&t);
    return rc;
}
