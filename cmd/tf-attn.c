/* tf-attn - attention weights of a model. */
#include "base/sandbox.h"
#include "infer/attention_stream.h"
#include "model_options.h"
#include "ops/backend.h"
#include "ops/registry.h"

static struct tf_attention_opts o;
static struct tf_strs models;
static const char *output;
static const char *const precisions[] = {PRECISIONS, NULL};
static int precision;

static struct tf_opt opts[] = {
    OPT_GROUP("Models and streams"),
    OPT_LIST('m', "model", &models, .arg = "FILE", .flags = TF_OPT_FILE,
             .help = "model or checkpoint"),
    COMMON_OUTPUT(&output),
    COMMON_FORCE(o.run.force),
    COMMON_BAD(&o.run.bad, "bad records"),
    COMMON_PAIR_MAX_LENGTH(&o.run.max_length),
    OPT_GROUP("Selection"),
    OPT_CHOICE('k', "kind", &o.kind, tf_attention_choices, .arg = "KIND", .def = "all",
               .flags = TF_OPT_SEMANTIC, .excludes = "alignment",
               .help = "self-attention of the encoder or decoder, or cross-attention"),
    OPT_STR('l', "layer", &o.layers, .arg = "LIST", .def = "all", .flags = TF_OPT_SEMANTIC,
            .excludes = "alignment", .help = "layers, counted from 1, such as 5 or 1,3-5"),
    OPT_STR('H', "head", &o.heads, .arg = "LIST", .def = "all", .flags = TF_OPT_SEMANTIC,
            .excludes = "alignment", .help = "heads, counted from 1, such as 5 or 1,3-5"),
    OPT_FLAG(0, "alignment", &o.alignment, .flags = TF_OPT_SEMANTIC,
             .help = "write the targets with their alignments, as tf-decode --alignment does"),
    COMMON_ALIGNMENT_HEAD(&o.alignment_head, .needs = "alignment"),
    OPT_GROUP("Device"),
    COMMON_DEVICE(&o.run.device),
    COMMON_PRECISION(&precision, precisions, "", "fp16"),
    COMMON_RUNNING(o.run, "pairs", "64; 4096 on a GPU"),
    OPT_END,
};

/* No sandbox where the device may be a plugin. */
static void widen(const struct tf_args *args, struct tf_sandbox *sandbox)
{
    (void)args;
    sandbox->off = tf_backend_may_load(o.run.device);
}

static const struct tf_tool tool = {
    .name = "tf-attn",
    .synopsis = "-m MODEL [options] SRC.tfs TGT.tfs >attention.tfs\n"
                "-m MODEL [options] [PAIRS.tfs]\n"
                "-m MODEL [options] SRC.tfs",
    .summary = "attention weights of a model over pairs of source and target",
    .opts = opts,
    .max_args = 2,
    .stdin_modes = 1,
    .widen = widen,
};

static int run(const struct tf_args *args, struct tf_err *err)
{
    if (models.n != 1)
        return tf_fail_status(err, TF_USAGE,
                              models.n == 0 ? "-m FILE is required"
                                            : "-m: the attention of one model at a time");
    o.run.models = models;
    o.run.precision = precision > 0 ? precisions[precision] : NULL;
    return tf_attention_stream(&o, args->v, (size_t)args->n, output, opts, err);
}

int main(int argc, char **argv)
{
    return tf_tool_main(&tool, argc, argv, run);
}
