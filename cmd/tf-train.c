/* tf-train - train a Transformer on a batch stream. */
#include "base/log.h"
#include "base/cpus.h"
#include "common_options.h"
#include "train/cost.h"
#include "train/recipe.h"
#include "train/run.h"
#include "train/shards.h"
#include "train/signals.h"
#include "train/worker.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { TRAIN = 1, PLAN = 2, TUNE = 4 };

static struct tf_run_opts o;
static struct tf_start_model from; /* o.from */
static const char *preset, *tune;
static int dialect, precision, ranks;
static struct tf_team team; /* o.team */
static int64_t layers, plan_tokens, plan_length, plan_devices;
static double hours, rank_timeout;
static const char *tflops;

static const char *const training_devices[] = {"auto", "cpu", "cuda", "ref", NULL};

#define S TF_OPT_SEMANTIC
static struct tf_opt opts[] = {
    OPT_GROUP("Input and output"),
    OPT_STR('o', "output", &o.dir, .arg = "DIR", .flags = TF_OPT_FILE | TF_OPT_OUT | TF_OPT_DIR,
            .help = "directory of the run: checkpoints, log, lock; created if missing"),
    OPT_STR(0, "vocab", &o.vocab, .arg = "FILE", .flags = TF_OPT_FILE,
            .help = "vocabulary to store in checkpoints: a SentencePiece model, or a model or "
                    "checkpoint; must match the stream"),
    OPT_STR(0, "init", &o.init, .arg = "FILE", .flags = TF_OPT_FILE,
            .help = "start from this model: its weights, architecture and vocabulary"),
    OPT_STR(0, "valid", &o.valid, .arg = "FILE", .flags = TF_OPT_FILE,
            .help = "validate on this finite batch stream"),
    OPT_STR(0, "log", &o.log, .arg = "FILE", .flags = TF_OPT_FILE | TF_OPT_OUT,
            .help = "also append metrics as JSON Lines to FILE; - is stdout"),
    OPT_INT(0, "log-every", &o.log_every, .arg = "N", .def = "10", .lo = 1, .hi = 1e9,
            .help = "log metrics every N updates"),
    OPT_FLAG(0, "progress", &o.progress, .help = "show progress even if stderr is not a terminal"),
    OPT_FLAG('q', "quiet", &o.quiet, .help = "show no progress"),
    OPT_GROUP("Model (defaults are the preset's, or those of the model of --init)"),
    OPT_STR(0, "preset", &preset, .arg = "NAME", .def = "base", .choices = tf_presets, .flags = S,
            .help = "row of the paper's tables: base, big, A-h1 ... E, parse-wsj, or tiny"),
    OPT_CHOICE(0, "as", &dialect, tf_dialects, .arg = "WORD", .def = "paper", .flags = S,
               .help = "follow the paper, or the code that produced its results (Tensor2Tensor)"),
    OPT_INT(0, "vocab-size", &o.config.vocab_size, .arg = "N", .lo = 1, .hi = 1 << 24, .flags = S,
            .help = "rows of the embeddings (default: size of the stream's vocabulary)"),
    OPT_INT(0, "layers", &layers, .arg = "N", .lo = 1, .hi = TF_MAX_LAYERS, .flags = S,
            .help = "number of layers in encoder and decoder"),
    OPT_INT(0, "encoder-layers", &o.config.encoder_layers, .arg = "N", .lo = 1, .hi = TF_MAX_LAYERS,
            .flags = S, .help = "number of layers in the encoder"),
    OPT_INT(0, "decoder-layers", &o.config.decoder_layers, .arg = "N", .lo = 1, .hi = TF_MAX_LAYERS,
            .flags = S, .help = "number of layers in the decoder"),
    OPT_INT(0, "d-model", &o.config.d_model, .arg = "N", .lo = 1, .hi = TF_MAX_WIDTH, .flags = S,
            .help = "model width"),
    OPT_INT(0, "d-ff", &o.config.d_ff, .arg = "N", .lo = 1, .hi = TF_MAX_WIDTH, .flags = S,
            .help = "inner width of the feed-forward layers"),
    OPT_INT(0, "heads", &o.config.heads, .arg = "N", .lo = 1, .hi = 1024, .flags = S,
            .help = "number of attention heads"),
    OPT_INT(0, "d-k", &o.config.d_k, .arg = "N", .lo = 1, .hi = TF_MAX_WIDTH, .flags = S,
            .help =
                "key width per head; d-model / heads if either of those is given and the preset "
                "sets no width of its own (B-dk16, B-dk32)"),
    OPT_INT(0, "d-v", &o.config.d_v, .arg = "N", .lo = 1, .hi = TF_MAX_WIDTH, .flags = S,
            .help = "value width per head; d-model / heads if either of those is given"),
    OPT_CHOICE(0, "positions", &o.config.positions, tf_position_kinds, .arg = "WORD", .flags = S,
               .help = "position encoding: sinusoids or a learned table"),
    OPT_INT(0, "max-positions", &o.config.max_positions, .arg = "N", .lo = 1, .hi = 1 << 20,
            .flags = S,
            .help = "rows of the learned position table (1024); longer sentences are rejected"),
    OPT_CHOICE(0, "tie", &o.config.tie, tf_ties, .arg = "WORD", .flags = S,
               .help = "share embeddings: one matrix for all, one for the decoder's two, or three"),
    OPT_CHOICE(0, "start", &o.config.start, tf_starts, .arg = "WORD", .flags = S,
               .help = "first decoder input: the bos embedding or a zero vector"),
    OPT_FLAG(0, "pre-norm", &o.config.pre_norm, .flags = S | TF_OPT_NEGATABLE,
             .help = "layer norm before each sublayer instead of after it"),
    OPT_FLAG(0, "attention-bias", &o.config.attention_bias, .flags = S | TF_OPT_NEGATABLE,
             .help = "biases in the attention projections"),
    OPT_INT(0, "attention-window", &o.config.attention_window, .arg = "N", .lo = 0, .hi = 1 << 20,
            .flags = S, .help = "limit self-attention to N positions on each side; 0: no limit"),
    OPT_REAL(0, "norm-eps", &o.config.norm_eps, .arg = "X", .lo = 0, .hi = 1, .flags = S,
             .help = "epsilon of layer norm"),
    OPT_REAL(0, "dropout", &o.config.dropout, .arg = "P", .lo = 0, .hi = 0.999, .flags = S,
             .help = "dropout of embeddings and sublayer outputs"),
    OPT_REAL(0, "attention-dropout", &o.config.attention_dropout, .arg = "P", .lo = 0, .hi = 0.999,
             .flags = S, .help = "dropout of attention weights"),
    OPT_REAL(0, "relu-dropout", &o.config.relu_dropout, .arg = "P", .lo = 0, .hi = 0.999,
             .flags = S, .help = "dropout inside feed-forward layers"),
    OPT_REAL(0, "label-smoothing", &o.config.label_smoothing, .arg = "X", .lo = 0, .hi = 0.999,
             .flags = S, .help = "probability mass taken from the target"),
    OPT_CHOICE(0, "smoothing", &o.config.smoothing, tf_smoothings, .arg = "WORD", .flags = S,
               .help = "spread that mass over all V ids, or over the V-1 others"),
    OPT_CHOICE(0, "initializer", &o.config.initializer, tf_initializers, .arg = "WORD", .flags = S,
               .help = "initial weights: Glorot by projection or by fused matrix, or the latter "
                       "with sublayer outputs scaled by 1/sqrt(2 layers)"),
    OPT_GROUP("Training (defaults are the preset's)"),
    OPT_INT(0, "steps", &o.steps, .arg = "N", .lo = 1, .hi = 1e12,
            .help = "total number of updates, including those of earlier runs"),
    OPT_INT(0, "seed", &o.seed, .arg = "N", .def = "1", .lo = 0, .hi = SEED_MAX, .flags = S,
            .help = "random seed for initial weights and dropout"),
    OPT_INT(0, "accumulate", &o.accumulate, .arg = "N", .def = "1", .lo = 1, .hi = 1e6, .flags = S,
            .help = "batches per update"),
    OPT_INT(0, "shards", &o.shards, .arg = "N", .lo = 1, .hi = TF_MAX_SHARDS, .flags = S,
            .help = "parts of a batch whose gradients are added, a power of two; up to N times "
                    "--accumulate ranks can share an update (default: 8 on the CPU, the ranks on "
                    "GPUs)"),
    OPT_CHOICE(0, "schedule", &o.schedule.kind, tf_schedule_names, .arg = "WORD", .flags = S,
               .help = "learning rate schedule"),
    OPT_INT(0, "warmup", &o.schedule.warmup, .arg = "N", .lo = 0, .hi = 1e12, .flags = S,
            .help = "warmup updates"),
    OPT_REAL(0, "lr-scale", &o.schedule.scale, .arg = "X", .lo = 0, .hi = 1e6, .flags = S,
             .help = "factor on the paper's learning rate"),
    OPT_REAL(0, "lr", &o.schedule.lr, .arg = "X", .lo = 0, .hi = 1e30, .flags = S,
             .help = "peak learning rate of the other schedules"),
    OPT_REAL(0, "beta1", &o.beta1, .arg = "X", .lo = 0, .hi = 0.9999999, .flags = S,
             .help = "Adam: decay of the first moment"),
    OPT_REAL(0, "beta2", &o.beta2, .arg = "X", .lo = 0, .hi = 0.9999999, .flags = S,
             .help = "Adam: decay of the second moment"),
    OPT_REAL(0, "adam-eps", &o.adam_eps, .arg = "X", .lo = 1e-30, .hi = 1, .flags = S,
             .help = "Adam: epsilon"),
    OPT_FLAG(0, "eps-hat", &o.eps_hat, .flags = S | TF_OPT_NEGATABLE,
             .help = "Adam: add epsilon before the bias correction"),
    OPT_REAL(0, "clip", &o.clip, .arg = "X", .def = "0", .lo = 0, .hi = 1e9, .flags = S,
             .help = "clip the gradient norm; 0: off"),
    OPT_REAL(0, "ema", &o.ema, .arg = "DECAY", .def = "0", .lo = 0, .hi = 0.9999999, .flags = S,
             .help = "keep a moving average of the weights; 0: off"),
    OPT_GROUP("Checkpoints and validation"),
    OPT_INT(0, "save-every", &o.save_every, .arg = "N", .lo = 1, .hi = 1e12,
            .help = "write a checkpoint every N updates (default: the preset's; 1000 for base)"),
    OPT_REAL(0, "save-minutes", &o.save_minutes, .arg = "X", .def = "0", .lo = 0, .hi = 1e6,
             .help = "also write resume.tfm every X minutes; 0: off"),
    OPT_INT(0, "keep", &o.keep, .arg = "N", .lo = 0, .hi = 1e9,
            .help = "keep the last N checkpoints and the best; 0: all (default "
                    "5, or as many as the preset averages)"),
    OPT_INT(0, "valid-every", &o.valid_every, .arg = "N", .def = "0", .lo = 0, .hi = 1e12,
            .needs = "valid", .help = "validate every N updates; 0: as --save-every"),
    OPT_CHOICE(0, "best-by", &o.best_by, tf_best_names, .arg = "WORD", .def = "ppl",
               .needs = "valid",
               .help = "best.tfm has the lowest perplexity or the highest accuracy"),
    OPT_INT(0, "patience", &o.patience, .arg = "N", .def = "0", .lo = 0, .hi = 1e9,
            .needs = "valid", .help = "stop after N validations without improvement; 0: never"),
    OPT_CHOICE(0, "on-collapse", &o.on_collapse, tf_on_collapse_words, .arg = "WORD", .def = "warn",
               .needs = "valid",
               .help = "when the model predicts nothing any more: warn, or stop with status 3"),
    OPT_FLAG(0, "no-save", &o.no_save, .flags = TF_OPT_HIDDEN,
             .help = "write no checkpoints, for benchmarks"),
    OPT_FLAG(0, "force", &o.force,
             .help = "continue even if corpus or settings differ from the checkpoint, or options "
                     "from the model of --init"),
    OPT_GROUP("Machine"),
    OPT_STR(0, "device", &o.device, .arg = "NAME", .def = "auto", .choices = training_devices,
            .help = "compute device: auto (a GPU if present), cpu, cuda, cuda:N for GPU N, or ref "
                    "(slow, for tests)"),
    COMMON_PRECISION(&precision, precisions, "", "bf16"),
    OPT_STR(0, "tuning", &o.tuning, .arg = "FILE", .flags = TF_OPT_FILE,
            .help = "use the GPU matrix product algorithms in this file, written by --tune"),
    OPT_STR(0, "tune", &tune, .arg = "FILE", .flags = TF_OPT_FILE | TF_OPT_OUT, .selects = TUNE,
            .help = "measure these algorithms on the first batches, write the "
                    "fastest to FILE, exit"),
    OPT_INT(0, "threads", &o.threads, .arg = "N", .lo = 1, .hi = TF_THREADS_MAX,
            .help = "number of threads; does not change the output (default: the available CPUs)"),
    OPT_CHOICE(0, "ranks", &ranks, tf_comm_uses, .arg = "WORD", .def = "auto", .modes = TRAIN,
               .help = "train together with the other processes of mpirun or srun: auto (if there "
                       "are any), mpi (always), or none; does not change the output"),
    OPT_REAL(0, "rank-timeout", &rank_timeout, .arg = "S", .def = "600", .lo = 1, .hi = 1e6,
             .modes = TRAIN,
             .help = "seconds after which a rank that does not answer ends the run"),
    OPT_MODE(0, "plan", PLAN,
             .help = "print parameters, memory and FLOP, exit; needs only --vocab-size or --init"),
    OPT_INT(0, "plan-tokens", &plan_tokens, .arg = "N", .lo = 1, .hi = 1e9, .modes = PLAN,
            .help = "tokens per batch on each side (default: the preset's; 25000 for base)"),
    OPT_INT(0, "plan-length", &plan_length, .arg = "N", .def = "30", .lo = 1, .hi = 1e6,
            .modes = PLAN, .help = "tokens per sentence"),
    OPT_REAL(0, "hours", &hours, .arg = "H", .lo = 0, .hi = 1e9, .modes = PLAN,
             .help = "also print the paper's estimate of FLOP: hours x devices x TFLOPS"),
    OPT_INT(0, "devices", &plan_devices, .arg = "N", .def = "8", .lo = 1, .hi = 1e9, .modes = PLAN,
            .needs = "hours", .help = "number of devices for --hours"),
    OPT_STR(0, "tflops", &tflops, .arg = "X", .def = "P100", .modes = PLAN, .needs = "hours",
            .help = "sustained TFLOPS of a device for --hours, or K80, K40, M40, P100"),
    OPT_END,
};

static void widen(const struct tf_args *args, struct tf_sandbox *sandbox)
{
    (void)args;
    tf_run_widen(sandbox, &o, (enum tf_comm_use)ranks);
}

static const struct tf_tool tool = {
    .name = "tf-train",
    .synopsis = "[options] -o DIR [FILE]\n"
                "[options] --plan --vocab-size N\n"
                "[options] --tune FILE [FILE]",
    .summary = "train a Transformer on a batch stream",
    .opts = opts,
    .max_args = 1,
    .stdin_modes = TRAIN | TUNE,
    .widen = widen,
};

static bool given(const char *name)
{
    return tf_opt_given(opts, name);
}

/* What the options change: a preset, or the model of --init. */
static int set_defaults(struct tf_err *err)
{
    if (o.init == NULL)
        return tf_run_preset(&o, preset, dialect, err);
    if (tf_start_model_open(&from, o.init, err) != 0)
        return -1;
    o.from = &from;
    return tf_run_from_model(&o, given("preset") ? preset : NULL, given("as") ? dialect : -1,
                             !given("schedule"), err);
}

static int default_threads(void)
{
    const int n = tf_threads_default() / (team.sharing > 1 ? team.sharing : 1);
    return n > 1 ? n : 1;
}

static int configure(const struct tf_args *args, struct tf_err *err)
{
    if (set_defaults(err) != 0)
        return -1;
    o.threads = default_threads();
    plan_tokens = o.fit_tokens > 0 ? o.fit_tokens : TF_PAPER_TOKENS;
    tf_opt_reassign(opts);
    dialect = (int)o.config.dialect; /* what provenance records is what the model has */
    tf_opt_find(opts, "preset")->unused = o.from != NULL && !given("preset");
    if (strcmp(o.device, "ref64") == 0)
        return tf_fail_status(err, TF_USAGE, "--device: 'ref64' is not for training");
    o.opts = opts;
    o.command = args->command;
    o.need_bos = given("start") && o.config.start == TF_START_BOS;
    o.input = args->n > 0 ? args->v[0] : "-";
    const struct tf_run_given g = {.d_model = given("d-model"),
                                   .heads = given("heads"),
                                   .d_k = given("d-k"),
                                   .d_v = given("d-v"),
                                   .max_positions = given("max-positions"),
                                   .schedule = given("schedule"),
                                   .warmup = given("warmup"),
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
    struct tf_plan plan = {.tokens = (double)plan_tokens,
                           .length = (double)plan_length,
                           .hours = hours,
                           .devices = (double)plan_devices};
    if (tf_plan_tflops(&plan.tflops, tflops, err) != 0)
        return -1;
    if (o.from != NULL && tf_start_model_compare(o.from, &o.config, o.force, err) != 0)
        return -1;
    int rc = tf_run_cost(&text, &o, &plan, err);
    if (rc == 0)
        fwrite(text.p, 1, text.len, stdout);
    tf_buf_release(&text);
    return rc;
}

/* Join the other ranks, if there are any: a rank other than 0 then obeys to the end of the run, and
 * *status becomes its status. What all ranks find, only rank 0 reports. */
static int join(int *status, struct tf_err *err)
{
    *status = -1;
    const int cpus = tf_cpus_bound(); /* MPI may change it */
    int rc = tf_team_open(&team, (enum tf_comm_use)ranks, rank_timeout, o.device, o.precision, err);
    if (rc == 0 && team.comm.size > 1)
        o.team = &team;
    if (o.team != NULL && team.comm.rank == 0 && cpus == 1 && !given("threads") &&
        sysconf(_SC_NPROCESSORS_ONLN) > 1)
        tf_warn("ranks are bound to one CPU each of %ld (mpirun --bind-to none frees them)",
                sysconf(_SC_NPROCESSORS_ONLN));
    if (rc == 0 && team.comm.rank > 0) {
        *status = tf_worker(&team, given("threads") ? (int)o.threads : default_threads(), err);
        rc = *status < 0 ? -1 : 0;
    } else if (rc != 0 && team.comm.rank > 0) {
        *status = err->status;
        *err = (struct tf_err){0};
        rc = 0;
    }
    return rc;
}

/* USR2 while waiting for other ranks, a file or the stream, waits that nothing else could end. */
static void stop_early(int sig)
{
    static const char text[] = "tf-train: stopped before the first update\n";
    (void)sig;
    (void)!write(STDERR_FILENO, text, sizeof text - 1);
    _exit(TF_AGAIN);
}

static int run(const struct tf_args *args, struct tf_err *err)
{
    if (args->mode == TRAIN && o.dir == NULL)
        return tf_fail_status(err, TF_USAGE, "-o DIR is required");
    if (o.dir != NULL && *o.dir == 0)
        return tf_fail_status(err, TF_USAGE, "--output '': empty name");
    o.precision = precision > 0 ? precisions[precision] : NULL;
    tf_signals_catch_early(stop_early);
    if (args->mode == TRAIN) {
        int status;
        if (join(&status, err) != 0)
            return -1;
        if (status >= 0)
            return status;
    }
    if (configure(args, err) != 0)
        return -1;
    if (args->mode == PLAN)
        return print_plan(err);
    if (strcmp(o.input, "-") == 0 && o.team != NULL)
        return tf_fail_status(err, TF_USAGE,
                              "ranks need the batch stream as a file or FIFO: launchers do not "
                              "pass stdin on reliably");
    if (strcmp(o.input, "-") == 0 && isatty(0)) /* before the run's directory is made */
        return tf_fail_status(err, TF_USAGE,
                              "stdin is a terminal: a batch stream is required (see tf-batch)");
    return args->mode == TUNE ? tf_run_tune(&o, tune, err) : tf_run(&o, err);
}

int main(int argc, char **argv)
{
    int status = tf_tool_main(&tool, argc, argv, run);
    tf_start_model_release(&from);
    tf_team_close(&team, status);
    if (status == 0 && o.team == NULL) /* a launcher takes a signal for a failure */
        tf_signals_reraise();
    return status;
}
