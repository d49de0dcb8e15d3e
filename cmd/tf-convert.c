/* tf-convert - models to and from safetensors and npz: options, one conversion. */
#include "base/file.h"
#include "model/convert.h"
#include "rows.h"

static struct tf_convert_opts o;
static const char *output;

static struct tf_opt opts[] = {
    {TF_OPT_CHOICE, .name = "to", .target = &o.to, .arg = "FORMAT", .def = "auto",
     .choices = tf_format_names,
     .help = "auto: safetensors from a model of ours, else a model of ours"},
    {TF_OPT_CHOICE, .name = "dtype", .target = &o.dtype, .arg = "WORD", .def = "same",
     .choices = tf_convert_dtypes, .flags = TF_OPT_SEMANTIC,
     .help = "of the parameters that are written"},
    {TF_OPT_STR, .name = "config", .target = &o.config, .arg = "FILE", .flags = TF_OPT_FILE,
     .help = "configuration as JSON, in place of what the input carries"},
    {TF_OPT_STR, .name = "vocab", .target = &o.vocab, .arg = "FILE", .flags = TF_OPT_FILE,
     .help = "SentencePiece model, in place of what the input carries"},
    ROW_OUTPUT(output),
    {.kind = TF_OPT_END},
};

static const struct tf_tool tool = {
    .name = "tf-convert",
    .synopsis = "[options] [MODEL] >FILE",
    .summary = "models to and from safetensors and npz",
    .opts = opts,
    .max_args = 1,
};

int main(int argc, char **argv)
{
    struct tf_err err = {0};
    struct tf_args args;
    int rc = tf_opt_parse(&tool, argc, argv, &args, &err);
    const char *input = rc == 0 && args.n > 0 ? args.v[0] : "-";
    const char *const inputs[] = {input, o.config, o.vocab};
    if (rc == 0 && tf_count_stdin(inputs, 3) > 1)
        rc = tf_fail_status(&err, TF_USAGE, "only one file can be stdin");
    if (rc == 0)
        rc = tf_convert(input, output, &o, tool.name, opts, &err);
    return tf_finish(rc, &err);
}
