/* multi_bleu.c - see multi_bleu.h. */
#include "metrics/multi_bleu.h"
#include "base/memory.h"
#include "base/path.h"
#include <stdlib.h>
#include <unistd.h>

/* Buffers for the steps before counting, one line at a time. */
struct steps {
    struct tf_moses moses;
    struct tf_buf punctuation, words, compounds;
};

static void steps_release(struct steps *st)
{
    tf_moses_release(&st->moses);
    tf_buf_release(&st->punctuation);
    tf_buf_release(&st->words);
    tf_buf_release(&st->compounds);
}

static struct tf_text text_of(const struct tf_buf *b)
{
    return (struct tf_text){b->p != NULL ? b->p : "", b->len};
}

static int load_prefixes(struct tf_moses_prefixes *p, const struct tf_multi_bleu_opts *o,
                         struct tf_err *err)
{
    *p = (struct tf_moses_prefixes){0};
    if (o->prefixes != NULL)
        return tf_moses_prefixes_read(p, o->prefixes, err);
    tf_moses_prefixes_of(p, (enum tf_moses_lang)o->lang);
    return 0;
}

static struct tf_text apply_steps(struct steps *st, const struct tf_multi_bleu_opts *o,
                                  struct tf_text line, bool is_ref)
{
    if (!o->tokenized) {
        tf_buf_clear(&st->punctuation);
        tf_buf_clear(&st->words);
        tf_buf_clear(&st->compounds);
        const bool plain = !is_ref || o->raw_ref;
        if (plain && !o->no_punctuation) {
            tf_moses_punctuation(&st->punctuation, line, o->raw_ref);
            line = text_of(&st->punctuation);
        }
        if (plain) {
            st->moses.lang = (enum tf_moses_lang)o->lang;
            tf_moses_tokenize(&st->moses, &st->words, line);
            line = text_of(&st->words);
        }
        if (!o->no_compounds) {
            tf_moses_compounds(&st->compounds, line);
            line = text_of(&st->compounds);
        }
    }
    if (o->lowercase) {
        struct tf_buf low = {0};
        tf_buf_add(&low, line.p, line.n);
        for (size_t i = 0; i < low.len; i++)
            if (low.p[i] >= 'A' && low.p[i] <= 'Z')
                low.p[i] |= 0x20;
        tf_buf_release(&st->compounds);
        st->compounds = low;
        line = text_of(&st->compounds);
    }
    return line;
}

/* The length of the closest reference, the shorter of two. multi-bleu starts from a length and a
 * distance of 9999. */
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

static int put_line(struct tf_out *out, const struct tf_bleu_stats *s, struct tf_err *err)
{
    double p[TF_NGRAM_MAX];
    if (!s->ref)
        return tf_out_printf(out, err,
                             "BLEU = 0, 0/0/0/0 (BP=0, ratio=0, hyp_len=0, ref_len=0)\n") < 0
                   ? -1
                   : 1;
    for (int k = 0; k < TF_NGRAM_MAX; k++)
        p[k] = s->total[k] ? (double)s->match[k] / (double)s->total[k] : 0;
    double bp = tf_bleu_brevity_penalty((double)s->hyp, (double)s->ref);
    return tf_out_printf(
        out, err,
        "BLEU = %.2f, %.1f/%.1f/%.1f/%.1f (BP=%.3f, ratio=%.3f, hyp_len=%ju, ref_len=%ju)\n",
        100 * bp * tf_bleu_mean(p, TF_NGRAM_MAX), 100 * p[0], 100 * p[1], 100 * p[2], 100 * p[3],
        bp, (double)s->hyp / (double)s->ref, (uintmax_t)s->hyp, (uintmax_t)s->ref);
}

static int score(struct tf_out *out, const struct tf_multi_bleu_opts *o,
                 const struct tf_segment_files *in, struct tf_err *err)
{
    struct tf_segments segments;
    struct tf_bleu b = {0};
    struct tf_bleu_stats sum = {0}, s;
    struct tf_moses_prefixes prefixes = {0};
    int rc = tf_segments_open(&segments, in, err);
    if (rc == 0)
        rc = load_prefixes(&prefixes, o, err);
    struct steps hyp = {.moses.prefixes = &prefixes},
                 *refs = tf_xcalloc(segments.nrefs, sizeof *refs);
    for (size_t r = 0; r < segments.nrefs; r++)
        refs[r].moses.prefixes = &prefixes;
    tf_bleu_room(&b, segments.nrefs);
    for (size_t i = 0; i < segments.nfiles; i++)
        segments.file[i].keep = true; /* a no-break space at the end of a line is a word */
    while (!rc && (rc = tf_segments_next(&segments, err)) > 0) {
        tf_tokenize_ascii(&b.hyp, apply_steps(&hyp, o, segments.sys[0], false));
        for (size_t r = 0; r < segments.nrefs; r++)
            tf_tokenize_ascii(&b.refs[r], apply_steps(&refs[r], o, segments.ref[r], true));
        rc = tf_bleu_count(&b, &s, segments.nrefs, err);
        s.ref = closest(&b, segments.nrefs);
        tf_bleu_add(&sum, &s);
    }
    if (!rc)
        rc = put_line(out, &sum, err);
    steps_release(&hyp);
    for (size_t r = 0; r < segments.nrefs; r++)
        steps_release(&refs[r]);
    free(refs);
    tf_moses_prefixes_release(&prefixes);
    tf_bleu_release(&b);
    tf_segments_close(&segments);
    return rc;
}

void tf_multi_bleu_references(struct tf_strs *files, const char *name)
{
    const bool std = tf_is_std(name);
    for (int i = 0; !std; i++) {
        struct tf_buf b = {0};
        tf_buf_printf(&b, "%s%d", name, i);
        if (access(b.p, F_OK)) {
            tf_buf_release(&b);
            break;
        }
        tf_strs_add(files, b.p);
    }
    if (std || !access(name, F_OK))
        tf_strs_add(files, name);
}

int tf_multi_bleu(struct tf_out *out, const struct tf_multi_bleu_opts *o,
                  const struct tf_segment_files *in, struct tf_err *err)
{
    static const char *const standard[] = {"-"};
    struct tf_segment_files found = *in;
    struct tf_strs refs = {0};
    if (!in->nsystems)
        found.systems = standard; /* named like a file, so that tabs separate no columns */
    found.nsystems = 1;
    if (o->tokenized && in->nrefs > 0) {
        tf_multi_bleu_references(&refs, in->refs[0]);
        if (refs.n == 0)
            return tf_fail(err, "%s: neither this file nor %s0 exists", in->refs[0], in->refs[0]);
        for (size_t i = 1; i < in->nrefs; i++)
            tf_strs_add(&refs, in->refs[i]);
        found.refs = refs.v;
        found.nrefs = refs.n;
    }
    return score(out, o, &found, err);
}

/* ---- tokens ---- */

static int put_tokens(struct tf_out *out, const struct tf_tokens *t, struct tf_err *err)
{
    for (size_t i = 0; i < t->n; i++)
        if ((i && tf_out_write(out, " ", 1, err) != 0) ||
            tf_out_write(out, t->v[i].p, t->v[i].n, err) != 0)
            return -1;
    return tf_out_write(out, "\n", 1, err);
}

int tf_print_tokens(struct tf_out *out, const struct tf_multi_bleu_opts *multi,
                    const struct tf_bleu_opts *bleu, const struct tf_segment_files *in,
                    struct tf_err *err)
{
    struct tf_moses_prefixes prefixes = {0};
    struct steps steps = {.moses.prefixes = &prefixes};
    struct tf_tokens t = {0};
    int rc = multi != NULL ? load_prefixes(&prefixes, multi, err) : 0;
    for (size_t i = 0; i < (in->nsystems ? in->nsystems : 1) && !rc; i++) {
        struct tf_lines l;
        struct tf_text line;
        /* multi-bleu ends lines of stdin at LF only, sacreBLEU at CR, too */
        rc = tf_lines_open(&l, in->nsystems ? in->systems[i] : "-", in->encoding,
                           !in->nsystems && multi == NULL, err);
        l.keep = multi != NULL;
        while (!rc && (rc = tf_lines_next(&l, &line, err)) > 0) {
            if (multi != NULL)
                tf_tokenize_ascii(&t, apply_steps(&steps, multi, line, false));
            else
                tf_bleu_tokens(&t, line, bleu);
            rc = put_tokens(out, &t, err);
        }
        tf_lines_close(&l);
    }
    steps_release(&steps);
    tf_moses_prefixes_release(&prefixes);
    tf_tokens_release(&t);
    return rc;
}
