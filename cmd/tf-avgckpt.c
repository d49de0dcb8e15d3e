/* tf-avgckpt - the mean of several checkpoints as one model. */
#include "base/log.h"
#include "common_options.h"
#include "train/store/average.h"

#include <string.h>
#include <sys/stat.h>

static const char *output;
static int64_t last, at_most;
static bool ema, quiet;

static struct tf_opt opts[] = {
    OPT_INT('n', "last", &last, .arg = "N", .lo = 1, .hi = 10000,
            .help = "average the last N checkpoints of the directory (default: the number that the "
                    "run's preset averages, 5 for base, 20 for big)"),
    OPT_INT(0, "at-most", &at_most, .arg = "N", .lo = 1, .hi = 10000,
            .help = "the last N checkpoints, or as many as there are"),
    OPT_FLAG(0, "ema", &ema, .flags = TF_OPT_SEMANTIC,
             .help = "average the moving averages (tf-train --ema) instead of the weights"),
    COMMON_OUTPUT(&output),
    COMMON_QUIET(&quiet),
    OPT_END,
};

static const struct tf_tool tool = {
    .name = "tf-avgckpt",
    .synopsis = "[options] DIR\n[options] FILE...",
    .summary = "average the weights of checkpoints",
    .opts = opts,
    .min_args = 1,
    .max_args = -1,
};

/* 1 for a directory, 0 for another file. */
static int is_dir(const char *path, struct tf_err *err)
{
    struct stat st;
    if (strcmp(path, "-") == 0)
        return 0;
    return stat(path, &st) == 0 ? S_ISDIR(st.st_mode) : tf_fail_errno(err, "%s", path);
}

static int run(const struct tf_args *args, struct tf_err *err)
{
    int dirs = 0;
    if (quiet)
        tf_notes_off();
    for (int i = 0; i < args->n; i++) {
        int dir = is_dir(args->v[i], err);
        if (dir < 0)
            return -1;
        dirs += dir;
    }
    if (dirs > 0 && args->n > 1)
        return tf_fail_status(err, TF_USAGE, "give either one directory or files");
    if (dirs == 0 && (last > 0 || at_most > 0))
        return tf_fail_status(err, TF_USAGE, "--last and --at-most are only for a directory");
    if (last > 0 && at_most > 0)
        return tf_fail_status(err, TF_USAGE, "give either --last or --at-most");
    if (dirs == 0)
        return tf_average(output, args->v, (size_t)args->n, ema, tool.name, opts, err);
    return tf_average_run(output, args->v[0], (uint64_t)(last > 0 ? last : at_most), last > 0, ema,
                          tool.name, opts, err);
}

int main(int argc, char **argv)
{
    return tf_tool_main(&tool, argc, argv, run);
}
