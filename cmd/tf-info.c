/* tf-info - describe models, checkpoints, streams and this machine. */
#include "base/input.h"
#include "base/log.h"
#include "base/output.h"
#include "base/sandbox.h"
#include "base/tool.h"
#include "stream/describe.h"
#include "stream/model.h"
#include "text/tags.h"

static bool json;

enum { FILES = 1, DEVICES = 2 };

static struct tf_opt opts[] = {
    OPT_MODE(0, "devices", DEVICES,
             .help = "describe this machine instead of files: version, kernels, devices"),
    OPT_FLAG(0, "json", &json, .help = "print one JSON object per file, or for --devices"),
    OPT_END,
};

/* --devices loads libraries and reads no input. */
static void widen(const struct tf_args *args, struct tf_sandbox *sandbox)
{
    sandbox->off = args->mode == DEVICES;
}

static const struct tf_tool tool = {
    .name = "tf-info",
    .synopsis = "[--json] FILE...\n[--json] --devices",
    .summary = "describe models, checkpoints, streams and this machine",
    .opts = opts,
    .min_args = 0,
    .max_args = -1,
    .widen = widen,
};

static int show_machine(struct tf_out *out, struct tf_err *err)
{
    struct tf_buf text = {0};
    tf_describe_machine(&text, json);
    int rc = tf_out_write(out, text.p, text.len, err);
    tf_buf_release(&text);
    return rc;
}

/* Fails only where nothing more can be written. Of the first file that cannot be read, *status
 * becomes the error's. */
static int show_file(const char *path, bool gap, int *status, struct tf_out *out,
                     struct tf_err *err)
{
    struct tf_in in;
    struct tf_buf text = {0};
    struct tf_err unread = {0};
    int rc = tf_model_open(&in, path, &unread);
    if (rc == 0) {
        if (gap)
            tf_buf_byte(&text, '\n');
        rc = tf_describe_file(&text, &in, json, tf_tags_describe, &unread);
        tf_in_close(&in);
    }
    if (rc == 0) {
        rc = tf_out_write(out, text.p, text.len, err);
    } else {
        tf_note("%s", unread.msg);
        *status = *status != 0 ? *status : unread.status;
        rc = 0;
    }
    tf_buf_release(&text);
    return rc;
}

static int run(const struct tf_args *args, struct tf_err *err)
{
    if (args->mode == DEVICES && args->n > 0)
        return tf_fail_status(err, TF_USAGE, "--devices takes no file");
    if (args->mode != DEVICES && args->n == 0)
        return tf_fail_status(err, TF_USAGE, "no file given; use - for stdin, or --devices");
    struct tf_out out;
    int status = 0;
    int rc = tf_out_open(&out, "-", 0, err);
    if (rc == 0 && args->mode == DEVICES)
        rc = show_machine(&out, err);
    for (int i = 0; rc == 0 && i < args->n; i++)
        rc = show_file(args->v[i], !json && out.offset > 0, &status, &out, err);
    rc = tf_out_finish(&out, rc, err);
    return rc == 0 ? status : rc;
}

int main(int argc, char **argv)
{
    return tf_tool_main(&tool, argc, argv, run);
}
