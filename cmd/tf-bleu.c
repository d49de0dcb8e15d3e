/* tf-bleu - BLEU, chrF and TER as sacreBLEU computes them: options, one evaluation, one report. */
#include "base/file.h"
#include "base/opt.h"
#include "metrics/evaluate.h"
#include "metrics/multi_bleu.h"
#include "metrics/spm.h"
#include "modes.h"
#include <string.h>

static struct tf_eval_opts eval;
static struct tf_segment_files in;
static struct tf_multi_bleu_opts paper;
static struct tf_strs inputs, metrics;
static int as;
static int64_t confidence_n, bootstrap_n, randomize_n, jobs;
static double value;
static bool quiet, confidence, bootstrap, randomize, no_color, from_stats, print_tokens;
static const char *tok, *spm_model;

static const char *const kinds[] = {"sacrebleu", "paper", NULL};

static struct tf_opt opts[] = {
    {.kind = TF_OPT_GROUP, .help = "Input"},
    {.kind = TF_OPT_LIST, .letter = 'i', .name = "input", .target = &inputs, .arg = "FILE",
     .flags = TF_OPT_GREEDY | TF_OPT_FILE,
     .help = "hypotheses, one file per system (default: stdin)"},
    {.kind = TF_OPT_INT, .name = "num-refs", .alias = "nr", .target = &in.num_refs, .arg = "N",
     .def = "1", .lo = 1, .hi = 1000,
     .help = "the one REF holds N references a line, between tabs"},
    {.kind = TF_OPT_STR, .letter = 'e', .name = "encoding", .target = &in.encoding, .arg = "NAME",
     .def = "utf-8", .help = "of all files"},
    {.kind = TF_OPT_FLAG, .name = "from-stats", .target = &from_stats,
     .help = "the files hold statistics, one stream per system, in place of text"},
    {.kind = TF_OPT_GROUP, .help = "Metrics"},
    {.kind = TF_OPT_LIST, .letter = 'm', .name = "metrics", .target = &metrics, .arg = "NAME",
     .flags = TF_OPT_GREEDY, .help = "what to compute: bleu (default), chrf, ter, or several"},
    {.kind = TF_OPT_FLAG, .name = "sentence-level", .alias = "sl", .target = &eval.sentence,
     .help = "a score for each line, over the orders it has"},
    {.kind = TF_OPT_GROUP, .help = "BLEU"},
    {.kind = TF_OPT_STR, .name = "tokenize", .alias = "tok", .target = &tok, .arg = "NAME",
     .choices = tf_tokenizer_names, .flags = TF_OPT_SEMANTIC,
     .help = "tokenizer: 13a (default), intl, zh, char, none, spm"},
    {.kind = TF_OPT_STR, .name = "spm-model", .target = &spm_model, .arg = "FILE",
     .flags = TF_OPT_FILE, .help = "SentencePiece model of -tok spm"},
    {.kind = TF_OPT_FLAG, .name = "lowercase", .alias = "lc", .target = &eval.metric.bleu.lowercase,
     .help = "compare in lower case"},
    {.kind = TF_OPT_CHOICE, .letter = 's', .name = "smooth-method",
     .target = &eval.metric.bleu.smooth,
     .arg = "NAME", .def = "exp", .choices = tf_bleu_smooth_names,
     .help = "what an order without a match counts"},
    {.kind = TF_OPT_REAL, .name = "smooth-value", .alias = "sv", .target = &value, .arg = "X",
     .lo = 0, .hi = 1e9, .help = "of floor (default 0.1) and add-k (default 1)"},
    {.kind = TF_OPT_FLAG, .name = "force", .target = &eval.force,
     .help = "don't warn when hypotheses look tokenized"},
    {.kind = TF_OPT_GROUP, .help = "BLEU as the Transformer's paper has it"},
    {.kind = TF_OPT_CHOICE, .name = "as", .target = &as, .arg = "NAME", .def = "sacrebleu",
     .choices = kinds, .help = "paper: Moses' tokens, compounds split, multi-bleu's counts"},
    {.kind = TF_OPT_CHOICE, .name = "lang", .target = &paper.lang, .arg = "NAME", .def = "de",
     .choices = tf_moses_langs, .help = "--as paper: language of the text"},
    {.kind = TF_OPT_FLAG, .name = "raw-ref", .target = &paper.raw_ref,
     .help = "--as paper: tokenize the references, too"},
    {.kind = TF_OPT_FLAG, .name = "no-punct-step", .target = &paper.no_punctuation,
     .help = "--as paper: leave typographic marks as they are"},
    {.kind = TF_OPT_FLAG, .name = "tok-input", .target = &paper.tokenized,
     .help = "multi-bleu's score of tokenized text"},
    {.kind = TF_OPT_GROUP, .help = "chrF"},
    {.kind = TF_OPT_INT, .name = "chrf-char-order", .alias = "cc",
     .target = &eval.metric.chrf.chars, .arg = "N",
     .def = "6", .lo = 0, .hi = TF_CHRF_MAX, .help = "greatest order of characters"},
    {.kind = TF_OPT_INT, .name = "chrf-word-order", .alias = "cw",
     .target = &eval.metric.chrf.words, .arg = "N",
     .def = "0", .lo = 0, .hi = TF_CHRF_MAX, .help = "greatest order of words; 2 is chrF++"},
    {.kind = TF_OPT_INT, .name = "chrf-beta", .target = &eval.metric.chrf.beta, .arg = "N",
     .def = "2", .lo = 0, .hi = 1000, .help = "weight of recall"},
    {.kind = TF_OPT_FLAG, .name = "chrf-whitespace", .target = &eval.metric.chrf.whitespace,
     .help = "count white space, too"},
    {.kind = TF_OPT_FLAG, .name = "chrf-lowercase", .target = &eval.metric.chrf.lowercase,
     .help = "compare in lower case"},
    {.kind = TF_OPT_FLAG, .name = "chrf-eps-smoothing", .target = &eval.metric.chrf.eps,
     .help = "mean of the orders' own F"},
    {.kind = TF_OPT_GROUP, .help = "TER"},
    {.kind = TF_OPT_FLAG, .name = "ter-case-sensitive", .target = &eval.metric.ter.case_sensitive,
     .help = "case counts"},
    {.kind = TF_OPT_FLAG, .name = "ter-asian-support", .target = &eval.metric.ter.asian,
     .help = "Asian characters and marks apart"},
    {.kind = TF_OPT_FLAG, .name = "ter-no-punct", .target = &eval.metric.ter.no_punct,
     .help = "without punctuation"},
    {.kind = TF_OPT_FLAG, .name = "ter-normalized", .target = &eval.metric.ter.normalized,
     .help = "normalise and tokenize"},
    {.kind = TF_OPT_GROUP, .help = "Significance (SACREBLEU_SEED is the seed, 12345 by default)"},
    {.kind = TF_OPT_FLAG, .name = "confidence", .alias = "ci", .target = &confidence,
     .help = "95% interval of one system, by bootstrap"},
    {.kind = TF_OPT_INT, .name = "confidence-n", .alias = "cin", .target = &confidence_n,
     .arg = "N", .def = "1000", .lo = 0, .hi = 1e8, .help = "samples"},
    {.kind = TF_OPT_FLAG, .name = "paired-bs", .alias = "pbs", .target = &bootstrap,
     .help = "paired bootstrap against the first system"},
    {.kind = TF_OPT_INT, .name = "paired-bs-n", .alias = "pbsn", .target = &bootstrap_n, .arg = "N",
     .def = "1000", .lo = 0, .hi = 1e8, .help = "samples"},
    {.kind = TF_OPT_FLAG, .name = "paired-ar", .alias = "par", .target = &randomize,
     .help = "approximate randomization"},
    {.kind = TF_OPT_INT, .name = "paired-ar-n", .alias = "parn", .target = &randomize_n, .arg = "N",
     .def = "10000", .lo = 0, .hi = 1e8, .help = "trials"},
    {.kind = TF_OPT_INT, .letter = 'j', .name = "paired-jobs", .target = &jobs, .arg = "N",
     .def = "1", .lo = 0, .hi = 1000, .help = "accepted, changes nothing"},
    {.kind = TF_OPT_GROUP, .help = "Report"},
    {.kind = TF_OPT_FLAG, .name = "stats", .target = &eval.stats,
     .help = "statistics of each segment as a stream, for --from-stats"},
    {.kind = TF_OPT_FLAG, .name = "print-tokens", .target = &print_tokens,
     .help = "each line of the hypotheses as the tokenizer cuts it"},
    {.kind = TF_OPT_CHOICE, .letter = 'f', .name = "format", .target = &eval.report.format,
     .arg = "NAME", .def = "json", .choices = tf_report_formats,
     .help = "of the report (SACREBLEU_FORMAT prevails)"},
    {.kind = TF_OPT_INT, .letter = 'w', .name = "width", .target = &eval.report.width,
     .arg = "N", .def = "1", .lo = 0, .hi = 100, .help = "decimal places of scores"},
    {.kind = TF_OPT_FLAG, .letter = 'b', .name = "score-only", .target = &eval.report.score_only,
     .help = "print just the score"},
    {.kind = TF_OPT_FLAG, .name = "short", .alias = "sh", .target = &eval.report.brief,
     .help = "short signature, in text"},
    {.kind = TF_OPT_FLAG, .name = "no-color", .alias = "nc", .target = &no_color,
     .help = "accepted; there are no colours"},
    {.kind = TF_OPT_FLAG, .letter = 'q', .name = "quiet", .target = &quiet, .help = "no warnings"},
    {.kind = TF_OPT_END},
};

static const struct tf_tool tool = {
    .name = "tf-bleu",
    .synopsis = "[options] REF... [-i HYP...]\n"
                "[options] REF... <HYP\n"
                "--as paper|--tok-input [options] REF... [-i HYP]\n"
                "--from-stats [options] STATS.tfs...\n--print-tokens [options] [-i HYP...]",
    .summary = "scores of translations against references, as sacreBLEU computes them",
    .opts = opts,
    .min_args = 0,
    .max_args = -1,
};

/* How text is scored, and what is done. */
enum { SACREBLEU = 1, PAPER = 2, TOKENIZED = 4, ANY_WAY = 7 };
enum { SCORES = 8, STATS = 16, FROM_STATS = 32, PRINT = 64 };

static const struct mode_row modes[] = {
    {PAPER | SCORES | PRINT, "--as paper", {"lang", "raw-ref", "no-punct-step"}},
    {ANY_WAY | SCORES | STATS, "references", {"num-refs"}},
    {ANY_WAY | SCORES | STATS | PRINT, "text", {"encoding", "lowercase"}},
    {SACREBLEU | SCORES | STATS | PRINT, "text and sacreBLEU's metrics", {"tokenize", "spm-model"}},
    {SACREBLEU | SCORES | STATS,
     "text and sacreBLEU's metrics",
     {"metrics", "smooth-method", "smooth-value", "chrf-char-order", "chrf-word-order", "chrf-beta",
      "chrf-whitespace", "chrf-lowercase", "chrf-eps-smoothing", "ter-case-sensitive",
      "ter-asian-support", "ter-no-punct", "ter-normalized"}},
    {SACREBLEU | SCORES | FROM_STATS,
     "scores of sacreBLEU's metrics",
     {"sentence-level", "confidence", "confidence-n", "paired-bs", "paired-bs-n", "paired-ar",
      "paired-ar-n", "format", "width", "score-only", "short"}},
    {SACREBLEU | STATS | FROM_STATS, "sacreBLEU's metrics", {"stats", "from-stats"}},
    {0},
};

static int choose_test(struct tf_err *err)
{
    if (bootstrap && randomize)
        return tf_fail_status(err, TF_USAGE, "--paired-bs and --paired-ar exclude each other");
    eval.resampling.test = bootstrap    ? TF_TEST_BOOTSTRAP
                           : randomize  ? TF_TEST_RANDOMIZE
                           : confidence ? TF_TEST_CONFIDENCE
                                        : TF_TEST_NONE;
    eval.resampling.samples = bootstrap ? bootstrap_n : randomize ? randomize_n : confidence_n;
    return 0;
}

static int check_stdin(const struct tf_args *args, struct tf_err *err)
{
    size_t count = (inputs.n == 0 && !from_stats) + tf_count_stdin(args->v, (size_t)args->n) +
                   tf_count_stdin(inputs.v, inputs.n) + tf_count_stdin(&spm_model, 1);
    return count > 1 ? tf_fail_status(err, TF_USAGE, "only one file can be stdin") : 0;
}

static int check(const struct tf_args *args, struct tf_err *err)
{
    const unsigned way = as                ? PAPER
                         : paper.tokenized ? TOKENIZED
                                           : SACREBLEU,
                   what = print_tokens ? PRINT
                          : from_stats ? FROM_STATS
                          : eval.stats ? STATS
                                       : SCORES;
    if (paper.tokenized && as)
        return tf_fail_status(err, TF_USAGE, "--as paper and --tok-input exclude each other");
    if (print_tokens + from_stats + eval.stats > 1)
        return tf_fail_status(err, TF_USAGE,
                              "--stats, --from-stats and --print-tokens exclude each other");
    if (check_modes(opts, modes, way | what, err) ||
        tf_metric_choose(eval.kinds, &eval.nkinds, metrics.v, metrics.n, err) || choose_test(err) ||
        tf_segment_files_unique(&inputs, bootstrap || randomize, err) ||
        tf_spm_choose(&eval.metric.bleu.tokenizer, tok, spm_model != NULL, err))
        return -1;
    if (args->n == 0 && !from_stats && !print_tokens)
        return tf_fail_status(err, TF_USAGE, "no reference file%s",
                              inputs.n ? "; give references before -i" : "");
    if (args->n && print_tokens)
        return tf_fail_status(err, TF_USAGE,
                              "%s: --print-tokens takes no references; give hypotheses with -i",
                              args->v[0]);
    if (args->n && inputs.n && from_stats)
        return tf_fail_status(err, TF_USAGE,
                              "%s: --from-stats takes its streams as operands or with -i, not both",
                              args->v[0]);
    if (in.num_refs > 1 && args->n > 1)
        return tf_fail_status(err, TF_USAGE, "--num-refs %d takes one reference file, not %d",
                              (int)in.num_refs, args->n);
    if ((eval.sentence || eval.stats || way != SACREBLEU) && inputs.n > 1 && !print_tokens)
        return tf_fail_status(err, TF_USAGE, "--%s takes one system, not %zu",
                              eval.sentence ? "sentence-level"
                              : eval.stats  ? "stats"
                              : as          ? "as paper"
                                            : "tok-input",
                              inputs.n);
    return tf_eval_check(&eval, err) ? -1 : check_stdin(args, err);
}

static int evaluate(struct tf_out *out, struct tf_err *err)
{
    const struct tf_multi_bleu_opts *by = as || paper.tokenized ? &paper : NULL;
    in.systems = inputs.v; /* each once, since the check */
    in.nsystems = inputs.n;
    if (print_tokens)
        return tf_print_tokens(out, by, &eval.metric.bleu, &in, err);
    if (by)
        return tf_multi_bleu(out, by, &in, err);
    if (from_stats)
        return tf_evaluate_stats(out, &eval, in.nrefs ? in.refs : in.systems,
                                 in.nrefs ? in.nrefs : in.nsystems, err);
    return tf_evaluate(out, &eval, &in, err);
}

static int run(struct tf_out *out, struct tf_err *err)
{
    struct tf_err end = {0};
    int rc = spm_model ? tf_spm_open(spm_model, eval.metric.bleu.model, err) : 0;
    if (!rc)
        rc = evaluate(out, err);
    if (tf_spm_close(&end) < 0 && rc >= 0) {
        *err = end;
        rc = -1;
    }
    return rc;
}

static void set_up(const struct tf_args *args)
{
    struct tf_bleu_opts *b = &eval.metric.bleu;
    b->value = tf_opt_find(opts, "smooth-value")->set ? value : tf_bleu_default_value(b->smooth);
    tf_eval_environment(&eval);
    eval.force |= quiet;
    eval.table = opts;
    paper.lowercase = b->lowercase;
    in.refs = args->v;
    in.nrefs = (size_t)args->n;
}

int main(int argc, char **argv)
{
    struct tf_err err = {0};
    struct tf_args args;
    struct tf_out out;
    int rc = tf_opt_parse(&tool, argc, argv, &args, &err);
    if (!rc) {
        set_up(&args);
        rc = check(&args, &err);
    }
    if (!rc)
        rc = tf_out_open(&out, "-", eval.stats ? TF_OUT_BINARY : 0, &err);
    if (!rc) {
        rc = run(&out, &err);
        if (rc < 0)
            tf_out_abort(&out);
        else if (tf_out_commit(&out, &err) < 0)
            rc = -1;
    }
    return tf_finish(rc, &err);
}
