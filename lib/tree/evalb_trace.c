/* evalb_trace.c - see evalb_trace.h. The loops over all pairs are those of EVALB, since it prints a
 * line for each step. */
#include "tree/evalb_trace.h"
#include "base/memory.h"
#include <stdlib.h>

void tf_evalb_trace_begin(struct tf_evalb_context *c)
{
    tf_buf_byte(&c->out, '\n');
    c->steps_from = c->out.len;
    c->moved = 0;
}

void tf_evalb_trace_limit(struct tf_evalb_context *c)
{
    if (!c->trace || c->out.len - c->steps_from + c->moved <= TF_EVALB_MAX_STEPS)
        return;
    tf_buf_str(&c->out, "(the other steps of this sentence are left out)\n");
    c->trace = false;
}

static void show(struct tf_evalb_context *c, const char *what, const struct tf_evalb_sentence *s,
                 const struct tf_evalb_bracket *b)
{
    tf_buf_printf(&c->out, "  %s[%lld-%lld]: ", what, (long long)b->start, (long long)b->end - 1);
    tf_buf_escaped(&c->out, s->line.p + b->from, b->to - b->from);
    tf_buf_byte(&c->out, '\n');
    tf_evalb_trace_limit(c);
}

static void forget_matches(struct tf_evalb_sentence *s)
{
    for (size_t i = 0; i < s->nbrackets; i++)
        if (s->brackets[i].result == TF_EVALB_MATCHED)
            s->brackets[i].result = TF_EVALB_MISSED;
}

int64_t tf_evalb_trace_matches(struct tf_evalb_context *c, struct tf_evalb_sentence *g,
                               struct tf_evalb_sentence *t)
{
    bool *span_seen = tf_xcalloc(t->nbrackets + 1, sizeof *span_seen);
    int64_t matched = 0;
    for (size_t i = 0; i < g->nbrackets && c->trace; i++) {
        struct tf_evalb_bracket *a = &g->brackets[i];
        bool found = false;
        for (size_t j = 0; j < t->nbrackets; j++) {
            struct tf_evalb_bracket *b = &t->brackets[j];
            tf_evalb_trace_limit(c);
            if (!c->trace)
                break;
            tf_buf_printf(
                &c->out, "1.res=%d, 2.res=%d, 1.start=%lld, 2.start=%lld, 1.end=%lld, 2.end=%lld\n",
                a->result, b->result, (long long)a->start, (long long)b->start, (long long)a->end,
                (long long)b->end);
            if (a->result == TF_EVALB_DELETED || b->result != TF_EVALB_MISSED ||
                a->start != b->start || a->end != b->end)
                continue;
            found = true;
            if (!c->p->labeled ||
                tf_evalb_equal(&c->p->eq_labels, tf_evalb_label(g, a), tf_evalb_label(t, b))) {
                a->result = b->result = TF_EVALB_MATCHED;
                matched++;
                break;
            }
            show(c, "LABEL", g, a);
            span_seen[j] = true;
        }
        if (!found && a->result != TF_EVALB_DELETED)
            show(c, "BRACKET", g, a);
    }
    for (size_t j = 0; j < t->nbrackets && c->trace; j++)
        if (t->brackets[j].result == TF_EVALB_MISSED && !span_seen[j])
            show(c, "EXTRA", t, &t->brackets[j]);
    free(span_seen);
    if (c->trace)
        return matched;
    forget_matches(g);
    forget_matches(t);
    return -1;
}

int64_t tf_evalb_trace_crossing(struct tf_evalb_context *c, const struct tf_evalb_sentence *g,
                                const struct tf_evalb_sentence *t)
{
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
                show(c, "CROSSING", g, a);
            if (!c->trace)
                return -1;
            last = i;
            crossing++;
            break;
        }
    return crossing;
}

static void pad(struct tf_buf *out, struct tf_text s, size_t width)
{
    size_t from = out->len;
    tf_buf_escaped(out, s.p, s.n);
    while (out->len - from < width)
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
        pad(out, tf_evalb_label(s, b), 6);
        tf_buf_str(out, last ? "" : "      ");
    } else if (!last) {
        tf_buf_printf(out, "%32s", "");
    }
}

void tf_evalb_trace_tables(struct tf_evalb_context *c, const struct tf_evalb_sentence *g,
                           const struct tf_evalb_sentence *t)
{
    tf_buf_printf(&c->out, "-<1>---(wn1=%3zu, bn1=%3zu)-           ", g->nwords, g->nbrackets);
    tf_buf_printf(&c->out, "-<2>---(wn2=%3zu, bn2=%3zu)-\n", t->nwords, t->nbrackets);
    for (size_t i = 0; i < g->nwords || i < t->nwords; i++) {
        word_cell(&c->out, g, i, false);
        word_cell(&c->out, t, i, true);
        tf_buf_byte(&c->out, '\n');
    }
    tf_buf_byte(&c->out, '\n');
    for (size_t i = 0; i < g->nbrackets || i < t->nbrackets; i++) {
        bracket_cell(&c->out, g, i, false);
        bracket_cell(&c->out, t, i, true);
        tf_buf_byte(&c->out, '\n');
    }
    tf_buf_str(&c->out, "\n========\n");
}
