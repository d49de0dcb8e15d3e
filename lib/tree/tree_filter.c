/* tree_filter.c - see tree_filter.h. */
#include "tree/tree_filter.h"
#include "base/bad.h"
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
    f->unbalanced = f->mis_sized = 0;
}

static int end(struct run *r, int rc, const char *name, struct tf_err *err)
{
    if (rc == 0)
        tf_bad_status(&r->count, name, err);
    r->f->all = r->count.total;
    r->f->trees = r->count.total - r->count.bad;
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

static void restore(struct run *r, struct tf_text sequence, struct tf_text words)
{
    unsigned repairs =
        tf_delinearize(&r->tree, r->f->style, sequence, words, r->f->root, r->f->tag);
    r->f->unbalanced += (repairs & TF_REPAIR_BRACKETS) != 0;
    r->f->mis_sized += (repairs & TF_REPAIR_LEAVES) != 0;
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
        if (rc == 1)
            restore(&r, s, w);
        else if ((rc = tf_bad_add(&r.count, in->name, r.count.total, why.msg, false, err)) < 0)
            break;
        if ((rc = put_line(&r.line, out, err)) < 0)
            break;
    }
    return end(&r, rc, in->name, err);
}
