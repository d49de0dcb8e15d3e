/* evalb_aloud.c - what EVALB's -d and -D print of a sentence. The loops over all pairs are EVALB's
 * own, since each step is a line. */
#include "tree/evalb_parts.h"
#include <stdlib.h>
#include <string.h>

static void show(struct tf_evalb_run *r, const char *what, const struct tf_evalb_sentence *s,
                 const struct tf_evalb_bracket *b)
{
    tf_buf_printf(&r->out, "  %s[%lld-%lld]: ", what, (long long)b->start, (long long)b->end - 1);
    tf_buf_add(&r->out, s->line.p + b->from, b->to - b->from);
    tf_buf_byte(&r->out, '\n');
}

int64_t tf_evalb_match_aloud(struct tf_evalb_run *r)
{
    struct tf_evalb_sentence *g = &r->gold, *t = &r->test;
    bool *span_seen = tf_xcalloc(t->nbrackets + 1, sizeof *span_seen);
    int64_t matched = 0;
    for (size_t i = 0; i < g->nbrackets; i++) {
        struct tf_evalb_bracket *a = &g->brackets[i];
        bool found = false;
        for (size_t j = 0; j < t->nbrackets; j++) {
            struct tf_evalb_bracket *b = &t->brackets[j];
            tf_buf_printf(
                &r->out, "1.res=%d, 2.res=%d, 1.start=%lld, 2.start=%lld, 1.end=%lld, 2.end=%lld\n",
                a->result, b->result, (long long)a->start, (long long)b->start, (long long)a->end,
                (long long)b->end);
            if (a->result == TF_EVALB_DELETED || b->result != TF_EVALB_MISSED ||
                a->start != b->start || a->end != b->end)
                continue;
            found = true;
            if (!r->p->labeled || tf_evalb_equal(&r->p->eq_labels, a->label, b->label)) {
                a->result = b->result = TF_EVALB_MATCHED;
                matched++;
                break;
            }
            show(r, "LABEL", g, a);
            span_seen[j] = true;
        }
        if (!found && a->result != TF_EVALB_DELETED)
            show(r, "BRACKET", g, a);
    }
    for (size_t j = 0; j < t->nbrackets; j++)
        if (t->brackets[j].result == TF_EVALB_MISSED && !span_seen[j])
            show(r, "EXTRA", t, &t->brackets[j]);
    free(span_seen);
    return matched;
}

int64_t tf_evalb_cross_aloud(struct tf_evalb_run *r)
{
    const struct tf_evalb_sentence *g = &r->gold, *t = &r->test;
    size_t last = SIZE_MAX;
    int64_t crossing = 0;
    for (size_t j = 0; j < t->nbrackets; j++)
        for (size_t i = 0; i < g->nbrackets; i++) {
            const struct tf_evalb_bracket *a = &g->brackets[i], *b = &t->brackets[j];
            if (a->result == TF_EVALB_DELETED || b->result == TF_EVALB_DELETED)
                continue;
            if (!(a->start < b->start && a->end > b->start && a->end < b->end) &&
                !(a->start > b->start && a->start < b->end && a->end > b->end))
                continue;
            if (i != last)
                show(r, "CROSSING", g, a);
            last = i;
            crossing++;
            break;
        }
    return crossing;
}

static void pad(struct tf_buf *out, struct tf_text s, size_t width)
{
    tf_buf_add(out, s.p, s.n);
    for (size_t n = s.n; n < width; n++)
        tf_buf_byte(out, ' ');
}

static void word_cell(struct tf_buf *out, const struct tf_evalb_sentence *s, size_t i, bool last)
{
    if (i < s->nwords && s->words[i].word.n > 0) {
        tf_buf_printf(out, "%3zu : %d : ", i, s->words[i].result);
        pad(out, s->words[i].tag, 6);
        tf_buf_str(out, "  ");
        pad(out, s->words[i].word, 16);
        tf_buf_str(out, last ? "" : "      ");
    } else if (!last) {
        tf_buf_printf(out, "%40s", "");
    }
}

static void bracket_cell(struct tf_buf *out, const struct tf_evalb_sentence *s, size_t i, bool last)
{
    if (i < s->nbrackets) {
        const struct tf_evalb_bracket *b = &s->brackets[i];
        tf_buf_printf(out, "%3zu : %d : %3lld  %3lld  ", i, b->result, (long long)b->start,
                      (long long)b->end);
        pad(out, b->label, 6);
        tf_buf_str(out, last ? "" : "      ");
    } else if (!last) {
        tf_buf_printf(out, "%32s", "");
    }
}

void tf_evalb_tables(struct tf_evalb_run *r)
{
    const struct tf_evalb_sentence *g = &r->gold, *t = &r->test;
    tf_buf_printf(&r->out, "-<1>---(wn1=%3zu, bn1=%3zu)-           ", g->nwords, g->nbrackets);
    tf_buf_printf(&r->out, "-<2>---(wn2=%3zu, bn2=%3zu)-\n", t->nwords, t->nbrackets);
    for (size_t i = 0; i < g->nwords || i < t->nwords; i++) {
        word_cell(&r->out, g, i, false);
        word_cell(&r->out, t, i, true);
        tf_buf_byte(&r->out, '\n');
    }
    tf_buf_byte(&r->out, '\n');
    for (size_t i = 0; i < g->nbrackets || i < t->nbrackets; i++) {
        bracket_cell(&r->out, g, i, false);
        bracket_cell(&r->out, t, i, true);
        tf_buf_byte(&r->out, '\n');
    }
    tf_buf_str(&r->out, "\n========\n");
}
