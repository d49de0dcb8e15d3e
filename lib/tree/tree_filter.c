/* tree_filter.c - see tree_filter.h. */
#include "tree/tree_filter.h"
#include "base/bad.h"
#include "base/memory.h"
#include "text/nbest.h"
#include "tree/tree_vote_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct run {
    struct tf_tree_filter *f;
    struct tf_tree tree;
    struct tf_tree_reader reader;
    struct tf_buf words, line;
    struct tf_bad_count count;
};

static void begin_run(struct run *r, struct tf_tree_filter *f, const char *items, struct tf_in *in,
                      struct tf_out *words, struct tf_out *out)
{
    *r =
        (struct run){.f = f,
                     .count = {.on_bad = f->bad, .items = items, .place = "line", .text = true},
                     .reader = {.in = in, .layout = f->layout, .max = f->max, .out = {words, out}}};
    f->sequences = f->unbalanced = f->mis_sized = 0;
}

static int end(struct run *r, int rc, const char *name, struct tf_err *err)
{
    if (rc == 0)
        tf_bad_status(&r->count, name, err);
    r->f->trees = r->count.total;
    tf_tree_release(&r->tree);
    tf_tree_reader_release(&r->reader);
    tf_buf_release(&r->words);
    tf_buf_release(&r->line);
    return rc;
}

static int put_line(struct tf_buf *line, struct tf_out *out, struct tf_err *err)
{
    tf_buf_byte(line, '\n');
    return tf_out_write(out, line->p, line->len, err);
}

static int next_tree(struct run *r, struct tf_err *err)
{
    int rc = tf_tree_read(&r->reader, &r->tree, err);
    tf_buf_clear(&r->words);
    tf_buf_clear(&r->line);
    if (rc <= 0)
        return rc;
    r->count.total++;
    if (rc == 1 && r->f->clean) {
        if (tf_tree_clean(&r->tree, r->f->root, &r->reader.why) != 0)
            rc = 2;
        else
            tf_tree_reroot(&r->tree, r->f->root);
    }
    if (rc == 2 && tf_bad_add(&r->count, r->reader.in->name, r->reader.first, r->reader.why.msg,
                              false, err) != 0)
        return -1;
    return rc;
}

int tf_tree_lines(struct tf_tree_filter *f, struct tf_in *in, struct tf_out *out,
                  struct tf_err *err)
{
    struct run r;
    int rc;
    begin_run(&r, f, "trees", in, NULL, out);
    while ((rc = next_tree(&r, err)) > 0) {
        if (rc == 1)
            tf_tree_write(&r.line, &r.tree);
        if ((rc = put_line(&r.line, out, err)) < 0)
            break;
    }
    return end(&r, rc, in->name, err);
}

int tf_tree_to_sequences(struct tf_tree_filter *f, struct tf_in *in, struct tf_out *words,
                         struct tf_out *out, struct tf_err *err)
{
    struct run r;
    int rc;
    begin_run(&r, f, "trees", in, words, out);
    while ((rc = next_tree(&r, err)) > 0) {
        struct tf_err why = {0};
        bool good = rc == 1;
        if (good && tf_linearize(&r.tree, f->style, f->root, &r.words, &r.line, &why) != 0) {
            tf_buf_clear(&r.words);
            tf_buf_clear(&r.line);
            good = false;
            if ((rc = tf_bad_add(&r.count, in->name, r.reader.first, why.msg, false, err)) < 0)
                break;
        }
        if (words == NULL && good) {
            tf_buf_byte(&r.words, '\t');
            tf_buf_add(&r.words, r.line.p, r.line.len);
        }
        if ((rc = put_line(&r.words, words != NULL ? words : out, err)) < 0 ||
            (words != NULL && (rc = put_line(&r.line, out, err)) < 0))
            break;
    }
    return end(&r, rc, in->name, err);
}

/* Restore r->tree. */
static void restore(struct run *r, struct tf_text sequence, struct tf_text words)
{
    unsigned repairs =
        tf_delinearize(&r->tree, r->f->style, sequence, words, r->f->root, r->f->tag);
    r->f->sequences++;
    r->f->unbalanced += (repairs & TF_REPAIR_BRACKETS) != 0;
    r->f->mis_sized += (repairs & TF_REPAIR_LEAVES) != 0;
}

static void write_restored(struct run *r)
{
    if (r->f->punctuate)
        tf_tree_punctuate(&r->tree, r->f->tag);
    tf_tree_write(&r->line, &r->tree);
}

/* Read the next line of both inputs, or both columns of one; `out` is flushed before a read that
 * would block. Returns 1, 0 at the end, -1 on error, 2 for a bad line with its reason in why. */
static int next_pair(struct run *r, struct tf_in *in, struct tf_in *words, struct tf_out *out,
                     struct tf_text *s, struct tf_text *w, struct tf_err *why, struct tf_err *err)
{
    bool ready =
        tf_in_line_ready(in, r->f->max) && (words == NULL || tf_in_line_ready(words, r->f->max));
    if (!ready && tf_out_flush(out, err) != 0)
        return -1;
    int got = tf_in_line(in, &s->p, &s->n, r->f->max, err), also = 1;
    if (got < 0 || (words != NULL && (also = tf_in_line(words, &w->p, &w->n, r->f->max, err)) < 0))
        return -1;
    if (words != NULL && (got == 0) != (also == 0))
        return tf_fail(err, "%s has more lines than %s, which has %llu",
                       got ? in->name : words->name, got ? words->name : in->name,
                       (unsigned long long)r->count.total);
    if (got == 0)
        return 0;
    if (got == 2 || also == 2) {
        tf_fail(why, "line of %zu bytes, maximum %zu", got == 2 ? s->n : w->n, r->f->max);
        return 2;
    }
    if (words != NULL)
        return 1;
    const char *tab = s->n ? memchr(s->p, '\t', s->n) : NULL;
    if (tab == NULL) {
        tf_fail(why, "no tab between words and sequence");
        return 2;
    }
    *w = (struct tf_text){s->p, (size_t)(tab - s->p)};
    *s = (struct tf_text){tab + 1, s->n - w->n - 1};
    return 1;
}

int tf_tree_from_sequences(struct tf_tree_filter *f, struct tf_in *in, struct tf_in *words,
                           struct tf_out *out, struct tf_err *err)
{
    struct run r;
    struct tf_text s, w;
    struct tf_err why = {0};
    int rc;
    begin_run(&r, f, "lines", in, NULL, out);
    while ((rc = next_pair(&r, in, words, out, &s, &w, &why, err)) > 0) {
        r.count.total++;
        tf_buf_clear(&r.line);
        if (rc == 1) {
            restore(&r, s, w);
            write_restored(&r);
        } else if ((rc = tf_bad_add(&r.count, in->name, r.count.total, why.msg, false, err)) < 0) {
            break;
        }
        if ((rc = put_line(&r.line, out, err)) < 0)
            break;
    }
    return end(&r, rc, in->name, err);
}

/* ---- n-best lists ---- */

struct sequence {
    size_t at, n; /* its text in the list's */
    double score;
};

struct list {
    struct tf_buf text;
    struct sequence *v;
    size_t n, cap;
    struct tf_tree_vote vote;
    struct tf_tree first;
};

/* r->tree: what the trees of a list's sequences have in common. */
static void restore_list(struct run *r, struct list *l, struct tf_text words)
{
    double most = l->v[0].score;
    for (size_t i = 1; i < l->n; i++)
        most = l->v[i].score > most ? l->v[i].score : most;
    for (size_t i = 0; i < l->n; i++) {
        const struct sequence *s = &l->v[i];
        restore(r, (struct tf_text){s->n > 0 ? l->text.p + s->at : "", s->n}, words);
        tf_tree_vote_add(&l->vote, &r->tree, /* a difference may be infinite */
                         r->f->scale > 0 ? exp(r->f->scale * (s->score - most)) : 1);
        if (i == 0) {
            const struct tf_tree first = l->first;
            l->first = r->tree;
            r->tree = first;
        }
    }
    tf_tree_vote_count(&l->vote, &l->first, &r->tree);
}

/* As tf_in_line; `out` is flushed before a read that would block. */
static int next_line(const struct run *r, struct tf_in *in, struct tf_out *out, struct tf_text *s,
                     struct tf_err *err)
{
    if (!tf_in_line_ready(in, r->f->max) && tf_out_flush(out, err) != 0)
        return -1;
    return tf_in_line(in, &s->p, &s->n, r->f->max, err);
}

/* End a list: write its tree, or the empty line of a bad one. */
static int end_list(struct run *r, struct list *l, struct tf_in *in, struct tf_in *words,
                    struct tf_out *out, struct tf_err *err)
{
    struct tf_text w = {0};
    const int got = next_line(r, words, out, &w, err);
    if (got < 0)
        return -1;
    if (got == 0)
        return tf_fail(err, "%s has more lists than %s has lines, %llu", in->name, words->name,
                       (unsigned long long)r->count.total);
    /* The time is that of the words once for each hypothesis, however short these are. */
    const char *why = got == 2    ? "a line of words that is too long"
                      : l->n == 0 ? "no hypothesis"
                      : l->text.len + l->n * (w.n + 1) > r->f->max ? "a list that is too long"
                                                                   : NULL;
    r->count.total++;
    tf_buf_clear(&r->line);
    if (why != NULL) {
        if (tf_bad_add(&r->count, words->name, r->count.total, why, false, err) != 0)
            return -1;
    } else {
        restore_list(r, l, w);
        write_restored(r);
    }
    tf_buf_clear(&l->text);
    l->n = 0;
    return put_line(&r->line, out, err);
}

static void add_sequence(struct run *r, struct list *l, const struct tf_nbest *h)
{
    if (h->none || l->text.len + l->n > r->f->max)
        return;
    TF_GROW(l->v, l->n, l->cap);
    l->v[l->n++] = (struct sequence){l->text.len, h->text.n, h->score};
    tf_buf_add(&l->text, h->text.p, h->text.n);
}

static int wrong(const struct tf_in *in, uint64_t line, const char *what, struct tf_err *err)
{
    return tf_fail(err,
                   "%s: line %llu: %s (expected: idx, rank, score and text between tabs, as "
                   "tf-tokenize -d --nbest writes them)",
                   in->name, (unsigned long long)line, what);
}

/* The next line of lists, up to its rank: 1, 0 at the end, -1. */
static int next_hypothesis(struct run *r, struct tf_in *in, struct tf_out *out, uint64_t *line,
                           struct tf_nbest *h, struct tf_err *err)
{
    struct tf_text s;
    struct tf_err why = {0};
    const int got = next_line(r, in, out, &s, err);
    if (got <= 0)
        return got;
    ++*line;
    if (got == 2)
        return tf_fail(err, "%s: line %llu: %zu bytes, maximum %zu", in->name,
                       (unsigned long long)*line, s.n, r->f->max);
    return tf_nbest_begin(h, s, &why) == 0 ? 1 : wrong(in, *line, why.msg, err);
}

static int restore_lists(struct run *r, struct list *l, struct tf_in *in, struct tf_in *words,
                         struct tf_out *out, struct tf_err *err)
{
    struct tf_nbest h;
    struct tf_text w;
    struct tf_err why = {0};
    uint64_t line = 0;
    int rc;
    while ((rc = next_hypothesis(r, in, out, &line, &h, err)) > 0) {
        const uint64_t due = r->count.total + (line > 1 && h.idx != r->count.total);
        if (h.idx != due)
            return tf_fail(err, "%s: line %llu: list %llu, expected %llu", in->name,
                           (unsigned long long)line, (unsigned long long)h.idx,
                           (unsigned long long)due);
        if (due > r->count.total && end_list(r, l, in, words, out, err) != 0)
            return -1;
        if (!h.none && tf_nbest_hypothesis(&h, &why) != 0)
            return wrong(in, line, why.msg, err);
        add_sequence(r, l, &h);
    }
    if (rc == 0 && line > 0)
        rc = end_list(r, l, in, words, out, err);
    if (rc == 0 && (rc = next_line(r, words, out, &w, err)) > 0)
        rc = tf_fail(err, "%s has more lines than %s has lists, %llu", words->name, in->name,
                     (unsigned long long)r->count.total);
    return rc;
}

int tf_tree_from_nbest(struct tf_tree_filter *f, struct tf_in *in, struct tf_in *words,
                       struct tf_out *out, struct tf_err *err)
{
    struct run r;
    struct list l = {0};
    begin_run(&r, f, "lists", in, NULL, out);
    const int rc = restore_lists(&r, &l, in, words, out, err);
    tf_tree_release(&l.first);
    tf_tree_vote_release(&l.vote);
    tf_buf_release(&l.text);
    free(l.v);
    return end(&r, rc, words->name, err);
}
