/* tf-info - describe models, checkpoints, streams and this machine. */
#include "base/file.h"
#include "base/opt.h"
#include "stream/describe.h"

#include <stdio.h>

static bool devices, json;

static struct tf_opt opts[] = {
    {TF_OPT_FLAG, .name = "devices", .target = &devices,
     .help = "instead of files: version, kernels and devices of this machine"},
    {TF_OPT_FLAG, .name = "json", .target = &json,
     .help = "one JSON object a file, or for --devices"},
    {.kind = TF_OPT_END},
};

static const struct tf_tool tool = {
    .name = "tf-info",
    .synopsis = "[--json] FILE...\n[--json] --devices",
    .summary = "describe models, checkpoints, streams and this machine",
    .opts = opts,
    .min_args = 0,
    .max_args = -1,
};

static int show(const struct tf_buf *text, struct tf_err *err)
{
    return text->len > 0 && fwrite(text->p, 1, text->len, stdout) != text->len
               ? tf_fail_errno(err, "stdout: write")
               : 0;
}

static int show_file(const char *path, bool gap, struct tf_err *err)
{
    struct tf_in in;
    struct tf_buf text = {0};
    if (tf_in_open(&in, path, err) != 0)
        return -1;
    if (gap)
        tf_buf_byte(&text, '\n');
    int rc = tf_describe_file(&text, &in, json, err);
    tf_in_close(&in);
    if (rc == 0)
        rc = show(&text, err);
    tf_buf_release(&text);
    return rc;
}

static int run(const struct tf_args *args, struct tf_err *err)
{
    if (tf_count_stdin(args->v, (size_t)args->n) > 1)
        return tf_fail_status(err, TF_USAGE, "only one file can be stdin");
    if (devices && args->n > 0)
        return tf_fail_status(err, TF_USAGE, "--devices takes no file");
    if (!devices && args->n == 0)
        return tf_fail_status(err, TF_USAGE, "no file given; - for stdin, or --devices");
    if (devices) {
        struct tf_buf text = {0};
        tf_describe_machine(&text, json);
        int rc = show(&text, err);
        tf_buf_release(&text);
        return rc;
    }
    for (int i = 0; i < args->n; i++)
        if (show_file(args->v[i], !json && i > 0, err) != 0)
            return -1;
    return 0;
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
