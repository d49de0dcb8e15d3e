/* tf-attn - where a model looks: options, one run. */
#include "base/file.h"
#include "infer/attention_stream.h"
#include "rows.h"

static struct tf_attention_opts o;
static const char *model;
static const char *output;
static int device, precision;

static struct tf_opt opts[] = {
    {TF_OPT_GROUP, .help = "Models and streams"},
    {TF_OPT_STR, 'm', "model", .target = &model, .arg = "FILE", .flags = TF_OPT_FILE,
     .help = "model or checkpoint"},
    ROW_OUTPUT(output),
    ROW_FORCE_VOCAB(o.run.force_vocab),
    ROW_BAD(o.run.bad, "bad records"),
    ROW_MAX_LENGTH(o.run.max_length, "a pair with a longer side"),
    {TF_OPT_GROUP, .help = "Which weights"},
    {TF_OPT_CHOICE, 'k', "kind", .target = &o.kind, .arg = "KIND", .def = "all",
     .choices = tf_attention_choices, .flags = TF_OPT_SEMANTIC,
     .help = "self-attention of the encoder or the decoder, or the decoder's of the source"},
    {TF_OPT_STR, 'l', "layer", .target = &o.layers, .arg = "LIST", .def = "all",
     .flags = TF_OPT_SEMANTIC, .help = "layers, from 1 on: 5 or 1,3-5"},
    {TF_OPT_STR, 'H', "head", .target = &o.heads, .arg = "LIST", .def = "all",
     .flags = TF_OPT_SEMANTIC, .help = "heads, likewise"},
    {TF_OPT_GROUP, .help = "Device"},
    ROW_DEVICE(device),
    ROW_PRECISION(precision, precisions, "of activations", "fp16"),
    ROWS_RUNNING(o.run, "pairs"),
    {.kind = TF_OPT_END},
};

static const struct tf_tool tool = {
    .name = "tf-attn",
    .synopsis = "-m MODEL [options] SRC.tfs TGT.tfs >attention.tfs\n"
                "-m MODEL [options] [PAIRS.tfs]\n"
                "-m MODEL [options] SRC.tfs",
    .summary = "attention weights of a model over pairs of source and target",
    .opts = opts,
    .max_args = 2,
};

static int check(const char *const *inputs, size_t n, struct tf_err *err)
{
    if (model == NULL)
        return tf_fail_status(err, TF_USAGE, "no model: give -m FILE");
    if (tf_count_stdin(&model, 1) + tf_count_stdin(inputs, n) > 1)
        return tf_fail_status(err, TF_USAGE, "only one of model and inputs can be stdin");
    return 0;
}

int main(int argc, char **argv)
{
    static const char *const std_in[] = {"-"};
    struct tf_err err = {0};
    struct tf_args args;
    int rc = tf_opt_parse(&tool, argc, argv, &args, &err);
    const char *const *inputs = rc == 0 && args.n > 0 ? args.v : std_in;
    size_t n = rc == 0 && args.n > 0 ? (size_t)args.n : 1;
    if (rc == 0)
        rc = check(inputs, n, &err);
    if (rc == 0) {
        o.run.models = (struct tf_strs){&model, 1};
        o.run.device = devices[device];
        o.run.precision = precision > 0 ? precisions[precision] : NULL;
        rc = tf_attention_stream(&o, inputs, n, output, opts, &err);
    }
    return tf_finish(rc, &err);
}
