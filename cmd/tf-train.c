/* tf-train - batches in, checkpoints out: the options of a training run. */
#include "base/file.h"
#include "base/log.h"
#include "base/opt.h"
#include "base/thread.h"
#include "modes.h"
#include "rows.h"
#include "train/cost.h"
#include "train/recipe.h"
#include "train/run.h"
#include "train/signals.h"

#include <stdio.h>
#include <unistd.h>

static struct tf_run_opts o;
static const char *preset, *tune;
static int dialect, device, precision;
static int64_t layers, plan_tokens, plan_length;
static bool plan;

static const char *const training_devices[] = {"auto", "cpu", "cuda", "ref", NULL};

#define S TF_OPT_SEMANTIC
static struct tf_opt opts[] = {
    {TF_OPT_GROUP, .help = "Input and output"},
    {TF_OPT_STR, 'o', "output", .target = &o.dir, .arg = "DIR", .flags = TF_OPT_FILE | TF_OPT_OUT,
     .help = "directory of the run: checkpoints, log, lock; made when missing"},
    {TF_OPT_STR, .name = "vocab", .target = &o.vocab, .arg = "FILE", .flags = TF_OPT_FILE,
     .help = "SentencePiece model, to be kept in the checkpoints; must be that of the stream"},
    {TF_OPT_STR, .name = "init", .target = &o.init, .arg = "FILE", .flags = TF_OPT_FILE,
     .help = "begin with the weights of this model"},
    {TF_OPT_STR, .name = "valid", .target = &o.valid, .arg = "FILE", .flags = TF_OPT_FILE,
     .help = "validate on this finite batch stream"},
    {TF_OPT_STR, .name = "log", .target = &o.log, .arg = "FILE", .flags = TF_OPT_FILE | TF_OPT_OUT,
     .help = "append metrics as JSON Lines here as well; - for stdout"},
    {TF_OPT_INT, .name = "log-every", .target = &o.log_every, .arg = "N", .def = "10", .lo = 1,
     .hi = 1e9, .help = "a line of metrics every N updates"},
    {TF_OPT_FLAG, .name = "progress", .target = &o.progress,
     .help = "show progress even when stderr is no terminal"},
    {TF_OPT_FLAG, 'q', "quiet", .target = &o.quiet, .help = "show no progress"},
    {TF_OPT_GROUP, .help = "Model (defaults are the preset's)"},
    {TF_OPT_STR, .name = "preset", .target = &preset, .arg = "NAME", .def = "base",
     .choices = tf_presets, .flags = S,
     .help = "row of the paper's tables: base, big, A-h1 ... E, parse-wsj, or tiny"},
    {TF_OPT_CHOICE, .name = "as", .target = &dialect, .arg = "WORD", .def = "paper",
     .choices = tf_dialects, .flags = S,
     .help = "as the paper says, or as the code did that ran for it"},
    {TF_OPT_INT, .name = "vocab-size", .target = &o.config.vocab_size, .arg = "N", .lo = 1,
     .hi = 1 << 24, .flags = S,
     .help = "rows of the embeddings; default: the size of the stream's vocabulary"},
    {TF_OPT_INT, .name = "layers", .target = &layers, .arg = "N", .lo = 1, .hi = TF_MAX_LAYERS,
     .flags = S, .help = "layers of encoder and decoder"},
    {TF_OPT_INT, .name = "encoder-layers", .target = &o.config.encoder_layers, .arg = "N", .lo = 1,
     .hi = TF_MAX_LAYERS, .flags = S, .help = "layers of the encoder"},
    {TF_OPT_INT, .name = "decoder-layers", .target = &o.config.decoder_layers, .arg = "N", .lo = 1,
     .hi = TF_MAX_LAYERS, .flags = S, .help = "layers of the decoder"},
    {TF_OPT_INT, .name = "d-model", .target = &o.config.d_model, .arg = "N", .lo = 1,
     .hi = TF_MAX_WIDTH, .flags = S, .help = "width of the model"},
    {TF_OPT_INT, .name = "d-ff", .target = &o.config.d_ff, .arg = "N", .lo = 1, .hi = TF_MAX_WIDTH,
     .flags = S, .help = "inner width of the feed-forward layers"},
    {TF_OPT_INT, .name = "heads", .target = &o.config.heads, .arg = "N", .lo = 1, .hi = 1024,
     .flags = S, .help = "attention heads"},
    {TF_OPT_INT, .name = "d-k", .target = &o.config.d_k, .arg = "N", .lo = 1, .hi = TF_MAX_WIDTH,
     .flags = S, .help = "width of a head's keys; d-model / heads when one of those is given"},
    {TF_OPT_INT, .name = "d-v", .target = &o.config.d_v, .arg = "N", .lo = 1, .hi = TF_MAX_WIDTH,
     .flags = S, .help = "width of a head's values; likewise"},
    {TF_OPT_CHOICE, .name = "positions", .target = &o.config.positions, .arg = "WORD",
     .choices = tf_position_kinds, .flags = S, .help = "sinusoids, or a learned table"},
    {TF_OPT_INT, .name = "max-positions", .target = &o.config.max_positions, .arg = "N", .lo = 1,
     .hi = 1 << 20, .flags = S,
     .help = "rows of the learned table (1024); longer sentences are refused"},
    {TF_OPT_CHOICE, .name = "tie", .target = &o.config.tie, .arg = "WORD", .choices = tf_ties,
     .flags = S, .help = "one matrix for all embeddings, one on the decoder's side, or three"},
    {TF_OPT_CHOICE, .name = "start", .target = &o.config.start, .arg = "WORD", .choices = tf_starts,
     .flags = S, .help = "first input of the decoder: bos, or a zero vector"},
    {TF_OPT_FLAG, .name = "pre-norm", .target = &o.config.pre_norm, .flags = S | TF_OPT_NEGATABLE,
     .help = "layer norm before each sublayer instead of after it"},
    {TF_OPT_FLAG, .name = "attention-bias", .target = &o.config.attention_bias,
     .flags = S | TF_OPT_NEGATABLE, .help = "biases on the projections of attention"},
    {TF_OPT_INT, .name = "attention-window", .target = &o.config.attention_window, .arg = "N",
     .lo = 0, .hi = 1 << 20, .flags = S,
     .help = "self-attention sees N positions to each side; 0: all"},
    {TF_OPT_REAL, .name = "norm-eps", .target = &o.config.norm_eps, .arg = "X", .lo = 0, .hi = 1,
     .flags = S, .help = "epsilon of layer norm"},
    {TF_OPT_REAL, .name = "dropout", .target = &o.config.dropout, .arg = "P", .lo = 0, .hi = 0.999,
     .flags = S, .help = "on embeddings and on the output of each sublayer"},
    {TF_OPT_REAL, .name = "attention-dropout", .target = &o.config.attention_dropout, .arg = "P",
     .lo = 0, .hi = 0.999, .flags = S, .help = "on attention weights"},
    {TF_OPT_REAL, .name = "relu-dropout", .target = &o.config.relu_dropout, .arg = "P", .lo = 0,
     .hi = 0.999, .flags = S, .help = "inside feed-forward layers"},
    {TF_OPT_REAL, .name = "label-smoothing", .target = &o.config.label_smoothing, .arg = "X",
     .lo = 0, .hi = 0.999, .flags = S, .help = "probability taken from the target"},
    {TF_OPT_CHOICE, .name = "smoothing", .target = &o.config.smoothing, .arg = "WORD",
     .choices = tf_smoothings, .flags = S,
     .help = "spread it over all V ids, or over the V-1 others"},
    {TF_OPT_GROUP, .help = "Training (defaults are the preset's)"},
    {TF_OPT_INT, .name = "steps", .target = &o.steps, .arg = "N", .lo = 1, .hi = 1e12,
     .help = "updates in all, those of earlier runs included"},
    {TF_OPT_INT, .name = "seed", .target = &o.seed, .arg = "N", .def = "1", .lo = 0,
     .hi = 9007199254740992, .flags = S, .help = "of first weights and dropout"},
    {TF_OPT_INT, .name = "accumulate", .target = &o.accumulate, .arg = "N", .def = "1", .lo = 1,
     .hi = 1e6, .flags = S, .help = "batches an update"},
    {TF_OPT_CHOICE, .name = "schedule", .target = &o.schedule.kind, .arg = "WORD",
     .choices = tf_schedule_names, .flags = S, .help = "of the learning rate"},
    {TF_OPT_INT, .name = "warmup", .target = &o.schedule.warmup, .arg = "N", .lo = 0, .hi = 1e12,
     .flags = S, .help = "updates in which the rate rises"},
    {TF_OPT_REAL, .name = "lr-scale", .target = &o.schedule.scale, .arg = "X", .lo = 0, .hi = 1e6,
     .flags = S, .help = "factor on the paper's rate"},
    {TF_OPT_REAL, .name = "lr", .target = &o.schedule.lr, .arg = "X", .lo = 0, .hi = 1e30,
     .flags = S, .help = "peak of the other schedules"},
    {TF_OPT_REAL, .name = "beta1", .target = &o.beta1, .arg = "X", .lo = 0, .hi = 0.9999999,
     .flags = S, .help = "Adam: decay of the mean"},
    {TF_OPT_REAL, .name = "beta2", .target = &o.beta2, .arg = "X", .lo = 0, .hi = 0.9999999,
     .flags = S, .help = "Adam: decay of the square"},
    {TF_OPT_REAL, .name = "adam-eps", .target = &o.adam_eps, .arg = "X", .lo = 1e-30, .hi = 1,
     .flags = S, .help = "Adam: epsilon"},
    {TF_OPT_FLAG, .name = "eps-hat", .target = &o.eps_hat, .flags = S | TF_OPT_NEGATABLE,
     .help = "Adam: epsilon before the correction of bias"},
    {TF_OPT_REAL, .name = "clip", .target = &o.clip, .arg = "X", .def = "0", .lo = 0, .hi = 1e9,
     .flags = S, .help = "scale gradients down to this norm; 0: never"},
    {TF_OPT_REAL, .name = "ema", .target = &o.ema, .arg = "DECAY", .def = "0", .lo = 0,
     .hi = 0.9999999, .flags = S, .help = "keep a moving average of the weights; 0: none"},
    {TF_OPT_GROUP, .help = "Checkpoints and validation"},
    {TF_OPT_INT, .name = "save-every", .target = &o.save_every, .arg = "N", .def = "1000", .lo = 1,
     .hi = 1e12, .help = "a checkpoint every N updates"},
    {TF_OPT_REAL, .name = "save-minutes", .target = &o.save_minutes, .arg = "X", .def = "0",
     .lo = 0, .hi = 1e6, .help = "and resume.tfm every X minutes; 0: not by the clock"},
    {TF_OPT_INT, .name = "keep", .target = &o.keep, .arg = "N", .lo = 0, .hi = 1e9,
     .help = "keep the last N checkpoints, and the best; 0: all; default: 5, or as many as the "
             "preset averages"},
    {TF_OPT_INT, .name = "valid-every", .target = &o.valid_every, .arg = "N", .def = "0", .lo = 0,
     .hi = 1e12, .help = "validate every N updates; 0: as --save-every"},
    {TF_OPT_CHOICE, .name = "best-by", .target = &o.best_by, .arg = "WORD", .def = "ppl",
     .choices = tf_best_names,
     .help = "best.tfm has the lowest perplexity or the highest accuracy"},
    {TF_OPT_INT, .name = "patience", .target = &o.patience, .arg = "N", .def = "0", .lo = 0,
     .hi = 1e9, .help = "stop after N validations without a new best; 0: never"},
    {TF_OPT_FLAG, .name = "force", .target = &o.force,
     .help = "go on although corpus or settings differ from the checkpoint's"},
    {TF_OPT_GROUP, .help = "Machine"},
    {TF_OPT_CHOICE, .name = "device", .target = &device, .arg = "WORD", .def = "auto",
     .choices = training_devices,
     .help = "auto takes a GPU where there is one; ref is slow and for checks"},
    ROW_PRECISION(precision, precisions, "of activations", "bf16"),
    {TF_OPT_STR, .name = "tuning", .target = &o.tuning, .arg = "FILE", .flags = TF_OPT_FILE,
     .help = "take the algorithms of matrix products on a GPU from this file of --tune"},
    {TF_OPT_STR, .name = "tune", .target = &tune, .arg = "FILE", .flags = TF_OPT_FILE | TF_OPT_OUT,
     .help = "measure them on the first batches, write the fastest to this file, and end"},
    {TF_OPT_INT, .name = "threads", .target = &o.threads, .arg = "N", .lo = 1, .hi = 64,
     .help = "threads; default: the CPUs at hand; the bytes are the same for any number"},
    {TF_OPT_FLAG, .name = "plan", .target = &plan,
     .help = "print parameters, memory and FLOP, and end; needs only --vocab-size"},
    {TF_OPT_INT, .name = "plan-tokens", .target = &plan_tokens, .arg = "N", .def = "25000", .lo = 1,
     .hi = 1e9, .help = "--plan: tokens of a batch on each side"},
    {TF_OPT_INT, .name = "plan-length", .target = &plan_length, .arg = "N", .def = "30", .lo = 1,
     .hi = 1e6, .help = "--plan: tokens of a sentence"},
    {.kind = TF_OPT_END},
};

enum { VALIDATED = 1, NOT_VALIDATED = 2, TRAINED = 4, PLANNED = 8 };
static const struct mode_row modes[] = {
    {VALIDATED | TRAINED | PLANNED, "--valid", {"valid-every", "best-by", "patience"}},
    {VALIDATED | NOT_VALIDATED | PLANNED, "--plan", {"plan-tokens", "plan-length"}},
    {0},
};

static const struct tf_tool tool = {
    .name = "tf-train",
    .synopsis = "[options] -o DIR [FILE]\n"
                "[options] --plan --vocab-size N\n"
                "[options] --tune FILE [FILE]",
    .summary = "train a Transformer on a batch stream",
    .opts = opts,
    .min_args = 0,
    .max_args = 1,
};

static bool given(const char *name)
{
    return tf_opt_find(opts, name)->set;
}

/* The table is gone through twice: for the preset's name, and on top of what the preset says. */
static int parse(int argc, char **argv, struct tf_args *args, struct tf_err *err)
{
    static struct tf_args first;
    if (tf_opt_parse(&tool, argc, argv, &first, err) != 0 ||
        tf_run_preset(&o, preset, dialect, err) != 0)
        return -1;
    o.threads = tf_threads_default();
    if (tf_opt_parse(&tool, argc, argv, args, err) != 0 ||
        check_modes(opts, modes,
                    (o.valid != NULL ? VALIDATED : NOT_VALIDATED) | (plan ? PLANNED : TRAINED),
                    err) != 0)
        return -1;
    o.device = training_devices[device];
    o.precision = precision > 0 ? precisions[precision] : NULL;
    o.opts = opts;
    o.need_bos = given("start") && o.config.start == TF_START_BOS;
    o.input = args->n > 0 ? args->v[0] : "-";
    const struct tf_run_given g = {.d_model = given("d-model"),
                                   .heads = given("heads"),
                                   .d_k = given("d-k"),
                                   .d_v = given("d-v"),
                                   .max_positions = given("max-positions"),
                                   .lr = given("lr"),
                                   .lr_scale = given("lr-scale"),
                                   .encoder_layers = given("encoder-layers"),
                                   .decoder_layers = given("decoder-layers"),
                                   .layers = layers};
    return tf_run_derive(&o, &g, err);
}

static int print_plan(struct tf_err *err)
{
    struct tf_buf text = {0};
    int rc = tf_run_cost(&text, &o, (double)plan_tokens, (double)plan_length, err);
    if (rc == 0)
        fwrite(text.p, 1, text.len, stdout);
    tf_buf_release(&text);
    return rc;
}

static int check_stdin(struct tf_err *err)
{
    const char *const inputs[] = {o.input, o.vocab, o.init, o.valid, o.tuning};
    return tf_count_stdin(inputs, 5) > 1
               ? tf_fail_status(err, TF_USAGE, "only one file can be stdin")
               : 0;
}

/* USR2 while the stream is waited for, which nothing else could cut short. */
static void stop_early(int sig)
{
    static const char text[] = "tf-train: stopped before the first update\n";
    (void)sig;
    (void)!write(STDERR_FILENO, text, sizeof text - 1);
    _exit(TF_AGAIN);
}

int main(int argc, char **argv)
{
    struct tf_err err = {0};
    struct tf_args args;
    int rc = parse(argc, argv, &args, &err);
    if (rc == 0 && plan)
        return tf_finish(print_plan(&err), &err);
    if (rc == 0 && tune == NULL && o.dir == NULL)
        rc = tf_fail_status(&err, TF_USAGE, "-o DIR is needed");
    if (rc == 0 && o.dir != NULL && *o.dir == 0)
        rc = tf_fail_status(&err, TF_USAGE, "--output '': empty");
    if (rc == 0 && args.n == 0 && isatty(0))
        rc = tf_fail_status(&err, TF_USAGE,
                            "stdin is a terminal: a batch stream is needed (see tf-batch)");
    if (rc == 0)
        rc = check_stdin(&err);
    if (rc == 0)
        tf_signals_catch_early(stop_early);
    if (rc == 0)
        rc = tune != NULL ? tf_run_tune(&o, tune, &err) : tf_run(&o, &err);
    rc = tf_finish(rc, &err);
    if (rc == 0)
        tf_signals_reraise();
    return rc;
}
