/* tf-evalb - bracketing scores of constituency trees as EVALB computes them: options, one
 * comparison, one report. */
#include "tree/evalb.h"
#include "rows.h"

#include <string.h>

static struct tf_evalb_opts eval;
static const char *params;
static int64_t cutoff, max_error, max_line;
static bool debug, debug_all;

static struct tf_opt opts[] = {
    {.kind = TF_OPT_GROUP, .help = "What counts"},
    {.kind = TF_OPT_STR, .letter = 'p', .name = "params", .target = &params, .arg = "FILE",
     .def = "COLLINS", .flags = TF_OPT_FILE,
     .help = "EVALB's parameter file; or built in: COLLINS, new, none"},
    {.kind = TF_OPT_INT, .letter = 'c', .name = "cutoff", .target = &cutoff, .arg = "N", .lo = 0,
     .hi = INT32_MAX, .help = "longest sentence of the second block (CUTOFF_LEN)"},
    {.kind = TF_OPT_INT, .letter = 'e', .name = "max-error", .target = &max_error, .arg = "N",
     .lo = -1, .hi = INT32_MAX, .help = "go on after N + 1 errors, stop at the next (MAX_ERROR)"},
    ROW_BAD(eval.bad, "sentences in error"),
    {.kind = TF_OPT_INT, .name = "max-line", .target = &max_line, .arg = "BYTES", .def = "1G",
     .lo = 1, .hi = 1LL << 36, .help = "longest line"},
    {.kind = TF_OPT_GROUP, .help = "Report"},
    {.kind = TF_OPT_FLAG, .name = "exact", .target = &eval.exact,
     .help = "end the report where EVALB's ends"},
    {.kind = TF_OPT_FLAG, .name = "json", .target = &eval.json,
     .help = "all figures and a row per sentence as JSON"},
    {.kind = TF_OPT_FLAG, .letter = 'd', .name = "debug", .target = &debug,
     .help = "words and brackets of each sentence"},
    {.kind = TF_OPT_FLAG, .letter = 'D', .name = "debug-all", .target = &debug_all,
     .help = "every step of the comparison too"},
    {.kind = TF_OPT_END},
};

static const struct tf_tool tool = {
    .name = "tf-evalb",
    .synopsis = "[options] GOLD TEST",
    .summary = "bracketing recall, precision and F1 of constituency trees, as EVALB computes them",
    .opts = opts,
    .min_args = 2,
    .max_args = 2,
};

static int check(const struct tf_args *args, struct tf_err *err)
{
    if (tf_count_stdin(args->v, 2) + tf_count_stdin(&params, 1) > 1)
        return tf_fail_status(err, TF_USAGE, "only one file can be stdin");
    if (tf_evalb_params_load(&eval.params, params, err) < 0)
        return -1;
    if (tf_opt_find(opts, "cutoff")->set)
        eval.params.cutoff = cutoff;
    if (tf_opt_find(opts, "max-error")->set)
        eval.params.max_error = max_error;
    if (debug || debug_all)
        eval.params.debug = debug_all ? 2 : 1;
    eval.max_line = (size_t)max_line;
    if (eval.json && eval.params.debug > 0)
        return tf_fail_status(err, TF_USAGE, "--json and --debug don't go together");
    return 0;
}

static int compare(const struct tf_args *args, struct tf_err *err)
{
    struct tf_in gold = {.fd = -1}, test = {.fd = -1};
    struct tf_out out;
    if (tf_in_open(&gold, args->v[0], err) < 0)
        return -1;
    int rc = tf_in_open(&test, args->v[1], err);
    if (rc == 0) {
        rc = tf_out_open(&out, "-", 0, err);
        if (rc == 0) {
            struct tf_err late = {0};
            rc = tf_evalb(&eval, &gold, &test, &out, err);
            if (tf_out_commit(&out, rc < 0 ? &late : err) < 0)
                rc = -1;
        }
        tf_in_close(&test);
    }
    tf_in_close(&gold);
    return rc;
}

int main(int argc, char **argv)
{
    struct tf_err err = {0};
    struct tf_args args;
    int rc = tf_opt_parse(&tool, argc, argv, &args, &err);
    if (rc == 0)
        rc = check(&args, &err);
    if (rc == 0)
        rc = compare(&args, &err);
    tf_evalb_params_release(&eval.params);
    return tf_finish(rc, &err);
}
