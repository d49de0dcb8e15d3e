/* tf-score - log-probabilities of given translations. */
#include "base/sandbox.h"
#include "infer/score_stream.h"
#include "model_options.h"
#include "ops/backend.h"
#include "ops/registry.h"

static struct tf_score_opts o;
static const char *output;
static bool text, summary;
static const char *const precisions[] = {PRECISIONS, NULL};
static int precision;

static struct tf_opt opts[] = {
    OPT_GROUP("Models and streams"),
    COMMON_MODELS(&o.run.models),
    COMMON_OUTPUT(&output),
    COMMON_FORCE(o.run.force),
    COMMON_BAD(&o.run.bad, "bad records"),
    COMMON_PAIR_MAX_LENGTH(&o.run.max_length),
    OPT_GROUP("Output"),
    OPT_REAL('a', "alpha", &o.alpha, .arg = "X", .def = "0.6", .lo = 0, .hi = 100,
             .excludes = "text summary",
             .help = "length penalty of n-best lists: score = logp / ((5 + length) / 6)^X"),
    OPT_REAL(0, "normalize", &o.normalize, .arg = "X", .lo = 0, .hi = 100,
             .excludes = "alpha text summary",
             .help = "another length penalty instead, Marian's: score = logp / length^X"),
    OPT_FLAG(0, "token", &o.token, .flags = TF_OPT_SEMANTIC, .excludes = "summary",
             .help = "also write the log-probability of every token"),
    OPT_FLAG(0, "text", &text, .excludes = "summary",
             .help = "write lines of text instead of a score stream"),
    OPT_FLAG(0, "summary", &summary, .help = "write only the totals, as one line of JSON"),
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
    .name = "tf-score",
    .synopsis = "-m MODEL [options] SRC.tfs TGT.tfs >scores.tfs\n"
                "-m MODEL [options] SRC.tfs NBEST.tfs >nbest.tfs\n"
                "-m MODEL [options] [PAIRS.tfs]",
    .summary = "log-probabilities that a model assigns to pairs of source and target",
    .opts = opts,
    .max_args = 2,
    .stdin_modes = 1,
    .widen = widen,
};

static int run(const struct tf_args *args, struct tf_err *err)
{
    if (o.run.models.n == 0)
        return tf_fail_status(err, TF_USAGE, "-m FILE is required");
    const bool normalize = tf_opt_given(opts, "normalize");
    o.penalty = normalize ? "normalize" : tf_opt_given(opts, "alpha") ? "alpha" : NULL;
    if (normalize)
        o.alpha = 0;
    o.form = summary ? TF_SCORE_SUMMARY : text ? TF_SCORE_TEXT : TF_SCORE_STREAM;
    o.run.precision = precision > 0 ? precisions[precision] : NULL;
    return tf_score_stream(&o, args->v, (size_t)args->n, output, opts, err);
}

int main(int argc, char **argv)
{
    return tf_tool_main(&tool, argc, argv, run);
}
