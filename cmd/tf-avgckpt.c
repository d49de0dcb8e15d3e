/* tf-avgckpt - the mean of checkpoints as one model. */
#include "base/file.h"
#include "train/average.h"
#include "rows.h"

#include <string.h>
#include <sys/stat.h>

static const char *output;
static int64_t last;
static bool ema;

static struct tf_opt opts[] = {
    {TF_OPT_INT, 'n', "last", .target = &last, .arg = "N", .def = "5", .lo = 1, .hi = 10000,
     .help = "of a directory: its last N checkpoints"},
    {TF_OPT_FLAG, .name = "ema", .target = &ema, .flags = TF_OPT_SEMANTIC,
     .help = "average the moving averages (tf-train --ema) instead of the weights"},
    ROW_OUTPUT(output),
    {.kind = TF_OPT_END},
};

static const struct tf_tool tool = {
    .name = "tf-avgckpt",
    .synopsis = "[options] DIR\n[options] FILE...",
    .summary = "average the weights of checkpoints",
    .opts = opts,
    .min_args = 1,
    .max_args = -1,
};

/* 1: a directory, 0: something else. */
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
    if (tf_count_stdin(args->v, (size_t)args->n) > 1)
        return tf_fail_status(err, TF_USAGE, "only one file can be stdin");
    for (int i = 0; i < args->n; i++) {
        int dir = is_dir(args->v[i], err);
        if (dir < 0)
            return -1;
        dirs += dir;
    }
    if (dirs > 0 && args->n > 1)
        return tf_fail_status(err, TF_USAGE,
                              "a directory stands alone; give files, or one directory");
    if (dirs == 0 && tf_opt_find(opts, "last")->set)
        return tf_fail_status(err, TF_USAGE, "--last: only with a directory");
    if (dirs == 0)
        return tf_average(output, args->v, (size_t)args->n, ema, tool.name, opts, err);
    return tf_average_run(output, args->v[0], (uint64_t)last, ema, tool.name, opts, err);
}

int main(int argc, char **argv)
{
    struct tf_err err = {0};
    struct tf_args args;
    int rc = tf_opt_parse(&tool, argc, argv, &args, &err);
    if (rc == 0)
        rc = run(&args, &err);
    return tf_finish(rc, &err);
}
