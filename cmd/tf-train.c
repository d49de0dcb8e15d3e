/* tf-train - train a Transformer on a batch stream. */
#include "common_options.h"
#include "text/text_file.h"
#include "train/run/join.h"
#include "train/run/plan.h"
#include "train/run/run.h"
#include "train/settings/derive.h"
#include "train/settings/presets.h"
#include "train/run/signals.h"
#include "train/run/tune.h"

#include <string.h>
#include <unistd.h>

enum { TRAIN = 1, PLAN = 2, TUNE = 4 };

static struct tf_settings o;
static struct tf_start_model from; /* env.from */
static struct tf_team team;        /* env.team */
static struct tf_shell shell;      /* env.shell */
static struct tf_run_env env;
static const char *preset, *tune;
static struct tf_strs settings;
static int dialect, precision, ranks;
static double rank_timeout;
static struct tf_plan plan;

static const char *const precisions[] = {PRECISIONS, NULL};

/* Between these are the settings of train/settings/settings.c. */
static struct tf_opt before[] = {
    OPT_GROUP("Input and output"),
    OPT_STR('o', "output", &o.dir, .arg = "DIR", .flags = TF_OPT_FILE | TF_OPT_OUT | TF_OPT_DIR,
            .help = "directory of the run: checkpoints, log, lock; created if missing"),
    OPT_LIST(0, "settings", &settings, .arg = "FILE", .flags = TF_OPT_FILE,
            .help = "take options from this file, a name and its value on each line; those of the "
                    "command line take precedence"),
    OPT_STR(0, "vocab", &o.vocab, .arg = "FILE", .flags = TF_OPT_FILE,
            .help = "vocabulary to store in checkpoints: a SentencePiece model, or a model or "
                    "checkpoint; must match the stream"),
    OPT_STR(0, "init", &o.init, .arg = "FILE", .flags = TF_OPT_FILE,
            .help = "start from this model: its weights, architecture and vocabulary"),
    OPT_STR(0, "freeze", &o.freeze, .arg = "PATTERNS", .flags = TF_OPT_SEMANTIC,
            .help = "leave parameters with such names as they are, such as 'enc.*,embed'"),
    OPT_STR(0, "valid", &o.valid, .arg = "FILE", .flags = TF_OPT_FILE,
            .help = "validate on this finite batch stream"),
    OPT_STR(0, "valid-command", &o.valid_command, .arg = "CMD", .needs = "valid",
            .modes = TRAIN | PLAN,
            .help = "after each validation, run this shell command on the model $TF_MODEL; the "
                    "last number that it prints chooses best.tfm"),
    OPT_STR(0, "log", &o.log, .arg = "FILE", .flags = TF_OPT_FILE | TF_OPT_OUT,
            .help = "also append metrics as JSON Lines to FILE; - is stdout"),
    OPT_INT(0, "log-every", &o.log_every, .arg = "N", .def = "10", .lo = 1, .hi = 1e9,
            .help = "log metrics every N updates"),
    OPT_FLAG(0, "progress", &o.progress, .help = "show progress even if stderr is not a terminal"),
    OPT_FLAG('q', "quiet", &o.quiet, .help = "show no progress"),
    OPT_GROUP("Model (defaults are the preset's, or those of the model of --init)"),
    OPT_STR(0, "preset", &preset, .arg = "NAME", .def = "base", .choices = tf_presets,
            .flags = TF_OPT_SEMANTIC,
            .help = "row of the paper's tables: base, big, A-h1 ... E, parse-wsj, or tiny"),
    OPT_CHOICE(0, "as", &dialect, tf_dialects, .arg = "WORD", .def = "paper",
               .flags = TF_OPT_SEMANTIC,
               .help = "follow the paper, or the code that produced its results (Tensor2Tensor)"),
    OPT_END,
};

static struct tf_opt after[] = {
    OPT_GROUP("Machine"),
    OPT_STR(0, "device", &o.device, .arg = "NAME", .def = "auto",
            .choices = (const char *const[]){"auto", "cpu", "cuda", "ref", NULL},
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
    OPT_CHOICE(0, "ranks", &ranks, tf_comm_uses, .arg = "WORD", .def = "auto",
               .modes = TRAIN | PLAN,
               .help = "train together with the other processes of mpirun or srun: auto (if there "
                       "are any), mpi (always), or none; does not change the output"),
    OPT_REAL(0, "rank-timeout", &rank_timeout, .arg = "S", .def = "600", .lo = 1, .hi = 1e6,
             .modes = TRAIN | PLAN,
             .help = "seconds after which a rank that does not answer ends the run"),
    OPT_MODE(0, "plan", PLAN,
             .help = "check the options, print settings, parameters, memory and FLOP, exit; the "
                     "counts need --vocab-size, --vocab or --init"),
    OPT_INT(0, "plan-tokens", &plan.tokens, .arg = "N", .lo = 1, .hi = 1e9, .modes = PLAN,
            .help = "tokens per batch on each side (default: the preset's; 25000 for base)"),
    OPT_INT(0, "plan-length", &plan.length, .arg = "N", .def = "30", .lo = 1, .hi = 1e6,
            .modes = PLAN, .help = "tokens per sentence"),
    OPT_REAL(0, "hours", &plan.hours, .arg = "H", .lo = 0, .hi = 1e9, .modes = PLAN,
             .help = "also print the paper's estimate of FLOP: hours x devices x TFLOPS"),
    OPT_INT(0, "devices", &plan.devices, .arg = "N", .def = "8", .lo = 1, .hi = 1e9, .modes = PLAN,
            .needs = "hours", .help = "number of devices for --hours"),
    OPT_STR(0, "tflops", &plan.tflops, .arg = "X", .def = "P100", .modes = PLAN, .needs = "hours",
            .help = "sustained TFLOPS of a device for --hours, or K80, K40, M40, P100"),
    OPT_END,
};

static struct tf_opt *opts;

static void widen(const struct tf_args *args, struct tf_sandbox *sandbox)
{
    if (args->mode == TRAIN && o.valid_command != NULL && o.dir != NULL) {
        tf_run_start_shell(&shell, &o);
        env.shell = &shell;
    }
    tf_run_widen(sandbox, &o, (enum tf_comm_use)ranks);
}

static bool given(const char *name)
{
    return tf_opt_given(opts, name);
}

/* What the options change: a preset, or the model of --init. */
static int set_defaults(struct tf_err *err)
{
    if (o.init == NULL)
        return tf_preset(&o, preset, (enum tf_dialect)dialect, err);
    if (tf_start_model_open(&from, o.init, err) != 0)
        return -1;
    env.from = &from;
    return tf_preset_from_model(&o, &from.config, given("preset") ? preset : NULL,
                                given("as") ? dialect : -1, !given("schedule"), err);
}

static int configure(const struct tf_args *args, struct tf_err *err)
{
    if (set_defaults(err) != 0)
        return -1;
    o.threads = tf_run_threads(&team);
    plan.tokens = o.fit_tokens > 0 ? o.fit_tokens : TF_PAPER_TOKENS;
    tf_opt_reassign(opts);
    dialect = (int)o.config.dialect; /* what provenance records is what the model has */
    tf_opt_find(opts, "preset")->unused = env.from != NULL && !given("preset");
    if (strcmp(o.device, "ref64") == 0)
        return tf_fail_status(err, TF_USAGE, "--device: 'ref64' is not for training");
    env.command = args->command;
    o.input = args->n > 0 ? args->v[0] : "-";
    return tf_settings_derive(&o, opts, env.from != NULL ? &from.config : NULL, err);
}

/* USR2 while waiting for other ranks, a file or the stream, waits that nothing else could end. */
static void stop_early(int sig)
{
    static const char text[] = "tf-train: stopped before the first update\n";
    (void)sig;
    (void)!write(STDERR_FILENO, text, sizeof text - 1);
    _exit(TF_AGAIN);
}

static int open_settings(struct tf_in *in, const char *path, struct tf_err *err)
{
    return tf_text_open(in, path, TF_TEXT_UTF8, err);
}

static int run(const struct tf_args *args, struct tf_err *err)
{
    if (args->mode == TRAIN && o.dir == NULL)
        return tf_fail_status(err, TF_USAGE, "-o DIR is required");
    o.precision = precision > 0 ? precisions[precision] : NULL;
    if (args->mode == TRAIN) {
        int status;
        tf_signals_catch_early(stop_early);
        if (tf_run_join(&env, &team, &o, (enum tf_comm_use)ranks, rank_timeout, &status, err) !=
            0)
            return -1;
        if (status >= 0)
            return status;
    }
    if (configure(args, err) != 0)
        return -1;
    if (args->mode == PLAN)
        return tf_run_plan(&o, env.from, &plan, err);
    if (strcmp(o.input, "-") == 0 && env.team != NULL)
        return tf_fail_status(err, TF_USAGE,
                              "ranks need the batch stream as a file or FIFO: launchers do not "
                              "pass stdin on reliably");
    if (strcmp(o.input, "-") == 0 && isatty(0)) /* before the run's directory is made */
        return tf_fail_status(err, TF_USAGE,
                              "stdin is a terminal: a batch stream is required (see tf-batch)");
    return args->mode == TUNE ? tf_run_tune(&o, &env, tune, err) : tf_run(&o, &env, err);
}

int main(int argc, char **argv)
{
    tf_progname = "tf-train"; /* there may be no memory for the options */
    env.opts = opts = tf_settings_options(before, &o, after);
    const struct tf_tool tool = {
        .name = "tf-train",
        .synopsis = "[options] -o DIR [FILE]\n"
                    "[options] --plan\n"
                    "[options] --tune FILE [FILE]",
        .summary = "train a Transformer on a batch stream",
        .opts = opts,
        .max_args = 1,
        .settings = "settings",
        .open_settings = open_settings,
        .default_mode = "training",
        .stdin_modes = TRAIN | TUNE,
        .widen = widen,
    };
    int status = tf_tool_main(&tool, argc, argv, run);
    tf_start_model_release(&from);
    tf_team_close(&team, status);
    tf_shell_close(&shell); /* may take a while: other ranks do not wait for it */
    if (status == 0 && env.team == NULL) /* a launcher takes a signal for a failure */
        tf_signals_reraise();
    return status;
}
