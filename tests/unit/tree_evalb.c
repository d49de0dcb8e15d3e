/* Bracketing scores: the fast comparison against EVALB's loops over all pairs on
 * random trees, hundreds of thousands of brackets, parameter files. */
#include "../harness/memory.h"
#include "../harness/tap.h"
#include "../harness/temp.h"
#include "base/buf.h"
#include "base/memory.h"
#include "base/rng.h"
#include "tree/evalb.h"
#include "tree/evalb_score_private.h"

static struct tf_rng rng;

static const char *pick(const char *const *list, size_t n)
{
    return list[tf_rng_below(&rng, n)];
}

/* Brackets over the words 0 .. n-1, some of them on the same span. */
static void tree(struct tf_buf *out, int n)
{
    static const char *const labels[] = {"NP", "VP", "ADVP", "PRT", "NP-SBJ", "TOP", "X"};
    static const char *const tags[] = {"NN", "ADVP", "PRT", "DT"};
    int depth = 1;
    tf_buf_str(out, "(S");
    for (int i = 0; i < n; i++) {
        while (tf_rng_below(&rng, 3) == 0) {
            tf_buf_printf(out, " (%s", pick(labels, 7));
            depth++;
        }
        tf_buf_printf(out, " (%s w%d)", pick(tags, 4), i);
        while (depth > 1 && tf_rng_below(&rng, 3) == 0) {
            tf_buf_byte(out, ')');
            depth--;
        }
    }
    while (depth-- > 0)
        tf_buf_byte(out, ')');
    tf_buf_byte(out, '\n');
}

/* The report of the run, and its status in *rc. */
static char *report(const struct tf_buf *gold, const struct tf_buf *test, const char *params,
                    int *rc, struct tf_err *err)
{
    struct tf_evalb_opts o = {.max_line = 1 << 28, .exact = true};
    struct tf_in g = memory_in(gold->p, gold->len), t = memory_in(test->p, test->len);
    struct tf_out out = memory_out(1 << 26);
    *rc = tf_evalb_params_load(&o.params, params, err);
    if (*rc == 0)
        *rc = tf_evalb(&o, &g, &t, &out, err);
    out.buf[out.len] = 0;
    char *text = tf_xstrdup((char *)out.buf);
    tf_evalb_params_release(&o.params);
    memory_in_done(&g);
    memory_in_done(&t);
    memory_out_done(&out);
    return text;
}

/* A gold bracket takes the first test bracket that is left with its span and label. */
static int64_t matches(const struct tf_evalb_params *p, const struct tf_evalb_sentence *g,
                       const struct tf_evalb_sentence *t)
{
    bool *taken = tf_xcalloc(t->nbrackets, sizeof *taken);
    int64_t count = 0;
    for (size_t i = 0; i < g->nbrackets; i++)
        for (size_t j = 0; j < t->nbrackets; j++) {
            const struct tf_evalb_bracket *a = &g->brackets[i], *b = &t->brackets[j];
            if (!a->counts || !b->counts || taken[j] || a->start != b->start || a->end != b->end ||
                (p->labeled &&
                 !tf_evalb_equal(&p->eq_labels, tf_evalb_label(g, a), tf_evalb_label(t, b))))
                continue;
            taken[j] = true;
            count++;
            break;
        }
    free(taken);
    return count;
}

static int64_t crossings(const struct tf_evalb_sentence *g, const struct tf_evalb_sentence *t)
{
    int64_t count = 0;
    for (size_t j = 0; j < t->nbrackets; j++)
        for (size_t i = 0; i < g->nbrackets; i++) {
            const struct tf_evalb_bracket *a = &g->brackets[i], *b = &t->brackets[j];
            if (a->counts && b->counts &&
                ((a->start < b->start && a->end > b->start && a->end < b->end) ||
                 (a->start > b->start && a->start < b->end && a->end > b->end))) {
                count++;
                break;
            }
        }
    return count;
}

static void pairs(const char *params, int64_t labeled)
{
    struct tf_evalb_params p;
    struct tf_err err = {0};
    struct tf_evalb_context c = {.p = &p};
    struct tf_evalb_sentence g = {0}, t = {0};
    struct tf_buf gold = {0}, test = {0};
    struct tf_evalb_row row;
    int64_t matched = 0, crossing = 0, wrong = 0;
    must(tf_evalb_params_load(&p, params, &err), &err);
    p.labeled = labeled;
    for (int i = 0; i < 300; i++) {
        int n = 1 + (int)tf_rng_below(&rng, 12);
        tf_buf_clear(&gold);
        tf_buf_clear(&test);
        tree(&gold, n);
        tree(&test, n);
        tf_evalb_parse(&c, &g, (struct tf_text){gold.p, gold.len});
        tf_evalb_parse(&c, &t, (struct tf_text){test.p, test.len});
        tf_evalb_compare(&c, &g, &t, &row);
        wrong += row.status != TF_EVALB_FINE || row.matched != matches(&p, &g, &t) ||
                 row.crossing != crossings(&g, &t);
        matched += row.matched;
        crossing += row.crossing;
    }
    is_int(wrong, 0, "300 pairs, %s, labeled %d: the counts of all pairs", params, (int)labeled);
    ok(matched > 200 && crossing > 50, "%d brackets match, %d cross", (int)matched, (int)crossing);
    tf_evalb_sentence_release(&g);
    tf_evalb_sentence_release(&t);
    tf_evalb_params_release(&p);
    tf_buf_release(&gold);
    tf_buf_release(&test);
}

static void large(void)
{
    struct tf_buf gold = {0}, test = {0};
    struct tf_err err = {0};
    const int n = 100000;
    int rc;
    for (int i = 0; i < n; i++)
        tf_buf_str(&gold, "(NP ");
    for (int i = 0; i < n; i++)
        tf_buf_str(&gold, "(NN w))");
    for (int i = 0; i < n; i++)
        tf_buf_str(&test, "(VP (NN w)");
    for (int i = 0; i < n; i++)
        tf_buf_byte(&test, ')');
    char *got = report(&gold, &test, "COLLINS", &rc, &err);
    is_int(rc, 0, "100,000 brackets and words: %s", err.msg);
    ok(strstr(got, "  0    100000  100000    99998   100000  100000   100.00\n") != NULL,
       "of which all but two cross");
    free(got);
    tf_buf_clear(&gold);
    for (int i = 0; i < 2 * n; i++)
        tf_buf_str(&gold, i % 2 ? "(ADVP " : "(PRT ");
    tf_buf_str(&gold, "(NN w)");
    for (int i = 0; i < 2 * n; i++)
        tf_buf_byte(&gold, ')');
    got = report(&gold, &gold, "COLLINS", &rc, &err);
    ok(strstr(got, "100.00 100.00   200000    200000  200000      0") != NULL,
       "200,000 brackets on one word");
    free(got);
    tf_buf_release(&gold);
    tf_buf_release(&test);
}

int main(void)
{
    rng = tf_rng_new(3, 0);
    pairs("COLLINS", 1);
    pairs("new", 1);
    pairs("none", 1);
    pairs("COLLINS", 0);
    /* A label with more partners than a span has brackets, others with fewer, and deleted ones. */
    static const char equal[] = "EQ_LABEL VP a\nEQ_LABEL VP b\nEQ_LABEL VP c\nEQ_LABEL VP d\n"
                                "EQ_LABEL NP VP\nEQ_LABEL X NP\nDELETE_LABEL TOP\n"
                                "EQ_LABEL PRT ADVP\nEQ_LABEL TOP ADVP\nEQ_WORD w1 w2\n";
    write_file(temp_path("equal.prm"), equal, sizeof equal - 1);
    pairs(temp_path("equal.prm"), 1);
    large();
    struct tf_evalb_params p;
    struct tf_err err = {0};
    ok(tf_evalb_params_load(&p, "new", &err) == 0 && p.deleted.n == 10 && p.quotes.n == 7 &&
           p.eq_labels.n == 4 && p.cutoff == 40,
       "new");
    tf_evalb_params_release(&p);
    ok(tf_evalb_params_load(&p, "COLLINS.prm", &err) == 0 && p.deleted.n == 7 && p.quotes.n == 0 &&
           p.max_error == 10,
       "COLLINS.prm");
    tf_evalb_params_release(&p);
    ok(tf_evalb_params_load(&p, "no-such-file", &err) < 0, "no such file: %s", err.msg);
    tf_evalb_params_release(&p);
    return done();
}
