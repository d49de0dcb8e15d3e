/* tf-info - describe models, checkpoints, streams and this machine. */
#include "base/input.h"
#include "base/tool.h"
#include "stream/describe.h"

#include <stdio.h>

static bool json;

enum { FILES = 1, DEVICES = 2 };

static struct tf_opt opts[] = {
    OPT_MODE(0, "devices", DEVICES,
             .help = "describe this machine instead of files: version, kernels, devices"),
    OPT_FLAG(0, "json", &json, .help = "print one JSON object per file, or for --devices"),
    OPT_END,
};

static const struct tf_tool tool = {
    .name = "tf-info",
    .synopsis = "[--json] FILE...\n[--json] --devices",
    .summary = "describe models, checkpoints, streams and this machine",
    .opts = opts,
    .min_args = 0,
    .max_args = -1,
};

/* Print the text and release it; rc is the result of the function that made it. */
static int print(struct tf_buf *text, int rc, struct tf_err *err)
{
    if (rc == 0 && text->len > 0 && fwrite(text->p, 1, text->len, stdout) != text->len)
        rc = tf_fail_errno(err, "stdout: write");
    tf_buf_release(text);
    return rc;
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
    return print(&text, rc, err);
}

static int run(const struct tf_args *args, struct tf_err *err)
{
    if (args->mode == DEVICES && args->n > 0)
        return tf_fail_status(err, TF_USAGE, "--devices takes no file");
    if (args->mode == DEVICES) {
        struct tf_buf text = {0};
        tf_describe_machine(&text, json);
        return print(&text, 0, err);
    }
    if (args->n == 0)
        return tf_fail_status(err, TF_USAGE, "no file given; use - for stdin, or --devices");
    for (int i = 0; i < args->n; i++)
        if (show_file(args->v[i], !json && i > 0, err) != 0)
            return -1;
    return 0;
}

int main(int argc, char **argv)
{
    return tf_tool_main(&tool, argc, argv, run);
}
