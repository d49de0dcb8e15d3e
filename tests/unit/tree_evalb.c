/* Bracketing scores: the fast comparison against EVALB's loops over all pairs (those of -D) on
 * random trees, hundreds of thousands of brackets, parameter files. */
#include "../harness/memory.h"
#include "../harness/tap.h"
#include "../harness/temp.h"
#include "base/buf.h"
#include "base/memory.h"
#include "base/rng.h"
#include "tree/evalb.h"

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

/* The rows and summary, without what -D adds; the status of the run in *rc. */
static char *report(const struct tf_buf *gold, const struct tf_buf *test, const char *params,
                    int64_t labeled, int64_t debug, int *rc, struct tf_err *err)
{
    struct tf_evalb_opts o = {.max_line = 1 << 28, .exact = true};
    struct tf_in g = memory_in(gold->p, gold->len), t = memory_in(test->p, test->len);
    struct tf_out out = memory_out(1 << 26);
    struct tf_buf kept = {0};
    *rc = tf_evalb_params_load(&o.params, params, err);
    o.params.labeled = labeled;
    o.params.debug = debug;
    if (*rc == 0)
        *rc = tf_evalb(&o, &g, &t, &out, err);
    out.buf[out.len] = 0;
    for (char *line = (char *)out.buf; line && *line;) {
        char *end = strchr(line, '\n');
        int d;
        double x;
        bool row = sscanf(line, "%d %d %d %lf %lf %d %d %d %d %d %d %lf", &d, &d, &d, &x, &x, &d,
                          &d, &d, &d, &d, &d, &x) == 12;
        if (end && (row || strchr(line, '=') == line + 26))
            tf_buf_add(&kept, line, (size_t)(end - line) + 1);
        line = end ? end + 1 : NULL;
    }
    tf_evalb_params_release(&o.params);
    memory_in_done(&g);
    memory_in_done(&t);
    memory_out_done(&out);
    return kept.p ? kept.p : tf_xstrdup("");
}

static void pairs(const char *params, int64_t labeled)
{
    struct tf_buf gold = {0}, test = {0};
    struct tf_err err = {0};
    int rc, verbose_rc;
    for (int i = 0; i < 300; i++) {
        int n = 1 + (int)tf_rng_below(&rng, 12);
        tree(&gold, n);
        tree(&test, n);
    }
    char *fast = report(&gold, &test, params, labeled, 0, &rc, &err),
         *verbose = report(&gold, &test, params, labeled, 2, &verbose_rc, &err);
    is_int(rc, 0, "300 pairs, %s, labeled %d: %s", params, (int)labeled, err.msg);
    is_int(verbose_rc, 0, "the same by all pairs");
    ok(strlen(fast) > 15000, "rows: %zu bytes", strlen(fast));
    is_str(fast, verbose, "the same report");
    free(fast);
    free(verbose);
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
    char *got = report(&gold, &test, "COLLINS", 1, 0, &rc, &err);
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
    got = report(&gold, &gold, "COLLINS", 1, 0, &rc, &err);
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
