/* tf-evalb - bracketing scores of constituency trees. */
#include "common_options.h"
#include "text/text_file.h"
#include "tree/evalb.h"

static struct tf_evalb_opts eval;
static const char *params;
static int64_t cutoff, max_error, max_line;

static struct tf_opt opts[] = {
    OPT_GROUP("Scoring"),
    OPT_STR('p', "params", &params, .arg = "FILE", .def = "COLLINS", .flags = TF_OPT_FILE,
            .help = "parameter file of EVALB, or one of the built-in COLLINS, new, none"),
    OPT_INT('c', "cutoff", &cutoff, .arg = "N", .lo = 0, .hi = INT32_MAX,
            .help = "longest sentence of the second block (CUTOFF_LEN)"),
    OPT_INT('e', "max-error", &max_error, .arg = "N", .lo = -1, .hi = INT32_MAX,
            .help = "stop at the error after N + 1 errors (MAX_ERROR)"),
    COMMON_BAD(&eval.bad, "sentences with errors"),
    OPT_INT(0, "max-line", &max_line, .arg = "BYTES", .def = "16777216", .lo = 1,
            .hi = TF_EVALB_MAX_LINE, .help = "longest line in bytes"),
    OPT_GROUP("Report"),
    OPT_FLAG(0, "exact", &eval.exact, .excludes = "json",
             .help = "print what EVALB prints and no more"),
    OPT_FLAG(0, "json", &eval.json, .help = "print all numbers and a row per sentence as JSON"),
    OPT_END,
};

static const struct tf_tool tool = {
    .name = "tf-evalb",
    .synopsis = "[options] GOLD TEST",
    .summary = "bracketing recall, precision and F1 of constituency trees, as EVALB computes them",
    .opts = opts,
    .min_args = 2,
    .max_args = 2,
};

static int set_params(struct tf_err *err)
{
    if (tf_evalb_params_load(&eval.params, params, err) != 0)
        return -1;
    if (tf_opt_given(opts, "cutoff"))
        eval.params.cutoff = cutoff;
    if (tf_opt_given(opts, "max-error"))
        eval.params.max_error = max_error;
    eval.max_line = (size_t)max_line;
    return 0;
}

static int compare(const struct tf_args *args, struct tf_err *err)
{
    struct tf_in gold = {.fd = -1}, test = {.fd = -1};
    struct tf_out out = {0};
    int rc = tf_text_open(&gold, args->v[0], TF_TEXT_UTF8, err);
    if (rc == 0)
        rc = tf_text_open(&test, args->v[1], TF_TEXT_UTF8, err);
    if (rc == 0)
        rc = tf_out_open(&out, "-", 0, err);
    if (rc == 0) {
        struct tf_err late = {0};
        rc = tf_evalb(&eval, &gold, &test, &out, err);
        if (tf_out_commit(&out, rc < 0 ? &late : err) != 0)
            rc = -1;
    }
    tf_in_close(&test);
    tf_in_close(&gold);
    return rc;
}

static int run(const struct tf_args *args, struct tf_err *err)
{
    int rc = set_params(err);
    if (rc == 0)
        rc = compare(args, err);
    tf_evalb_params_release(&eval.params);
    return rc;
}

int main(int argc, char **argv)
{
    return tf_tool_main(&tool, argc, argv, run);
}
