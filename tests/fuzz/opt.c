/* opt.c - the option parser: any words, cut at NUL, against a table with a row of every kind. What
 * it accepts is in range, what it refuses has a message. Words that could print and end the process
 * (--help and its prefixes) are left out. */
#include "base/opt_parse_private.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static int64_t beam, free_int;
static double rate;
static bool force, shuffle;
static int dialect;
static const char *text;
static struct tf_strs files, greedy;
static const char *const dialects[] = {"paper", "t2t", "both", NULL};

static struct tf_opt opts[] = {
    OPT_GROUP("all kinds"),
    OPT_INT('b', "beam", &beam, .arg = "N", .def = "4", .lo = 1, .hi = 100,
            .help = "a number in a range"),
    OPT_INT(0, "beans", &free_int, .alias = "bn", .arg = "N", .help = "a number without a range"),
    OPT_REAL('r', "rate", &rate, .alias = "rt", .arg = "X", .def = "0.1", .lo = 0, .hi = 1,
             .excludes = "dialect=t2t", .help = "a share"),
    OPT_FLAG('f', "force", &force, .def = "false", .needs = "shuffle", .help = "a flag"),
    OPT_FLAG('s', "shuffle", &shuffle, .def = "true", .flags = TF_OPT_NEGATABLE, .selects = 2,
             .help = "one that can be taken back"),
    OPT_CHOICE('d', "dialect", &dialect, dialects, .arg = "WORD", .def = "paper",
               .help = "a word"),
    OPT_STR('o', "output", &text, .arg = "FILE", .def = "-", .flags = TF_OPT_FILE | TF_OPT_OUT,
            .help = "a text"),
    OPT_LIST('m', "model", &files, .arg = "FILE", .modes = 1, .help = "a list"),
    OPT_LIST('i', "input", &greedy, .arg = "FILE...", .flags = TF_OPT_GREEDY,
             .help = "a list that takes all"),
    OPT_END,
};

static const struct tf_tool tool = {.name = "tf-fuzz",
                                    .synopsis = "[options]",
                                    .summary = "none",
                                    .opts = opts,
                                    .min_args = 0,
                                    .max_args = 5};

/* Could it be --help, --version, --complete or --list-options, or a cluster with an h? */
static bool prints(const char *w)
{
    if (w[0] != '-')
        return false;
    return strchr(w, 'h') != NULL || strspn(w, "-") == strlen(w) ||
           strchr("vcl", w[strspn(w, "-")]) != NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    enum { MOST = 40 };
    char *copy = malloc(n + 1), *argv[MOST + 2] = {(char *)"tf-fuzz"};
    int argc = 1;
    memcpy(copy, data, n);
    copy[n] = 0;
    for (size_t at = 0; at < n && argc <= MOST; at += strlen(copy + at) + 1)
        if (!prints(copy + at) || strcmp(copy + at, "--") == 0 || strcmp(copy + at, "-") == 0)
            argv[argc++] = copy + at;
    struct tf_args args = {0};
    struct tf_err err = {0};
    int rc = tf_opt_parse(&tool, argc, argv, &args, &err);
    if (rc == 0) {
        TF_ASSERT(beam >= 1 && beam <= 100 && rate >= 0 && rate <= 1 && dialect >= 0 &&
                  dialect <= 2);
        TF_ASSERT(args.n >= 0 && args.n <= 5 && text != NULL);
        for (int i = 0; i < args.n; i++)
            TF_ASSERT(args.v[i] >= copy && args.v[i] <= copy + n);
        for (size_t i = 0; i < files.n; i++)
            TF_ASSERT(strlen(files.v[i]) <= n);
    } else {
        TF_ASSERT(err.status == TF_USAGE && err.msg[0] != 0 && strchr(err.msg, '\n') == NULL);
    }
    free(copy);
    return 0;
}
