/* tf-bleu - BLEU, chrF and TER as sacreBLEU computes them, and the Transformer paper's BLEU. */
#include "base/output.h"
#include "base/path.h"
#include "base/sandbox.h"
#include "base/tool.h"
#include "metrics/evaluate.h"
#include "metrics/language_pair.h"
#include "metrics/multi_bleu.h"
#include "metrics/spm.h"
#include "metrics/tokenizer_moses.h"

enum {
    SCORE = TF_EVAL_SCORE,
    STATS = TF_EVAL_STATS,
    FROM_STATS = TF_EVAL_FROM_STATS,
    PRINT = TF_EVAL_PRINT,
};

static struct tf_eval_opts eval;
static struct tf_segment_files in;
static struct tf_multi_bleu_opts paper;
static struct tf_strs inputs, metrics;
static int as;
static int64_t confidence_n, bootstrap_n, randomize_n, jobs;
static double smooth_value;
static bool quiet, confidence, bootstrap, randomize, no_color, compounds;
static const char *tok, *spm_model, *pair, *test_set;

static const char *const kinds[] = {"sacrebleu", "paper", NULL};

/* Options of sacreBLEU's metrics, which do not apply to multi-bleu's score. */
#define NOT_MULTI_BLEU "as=paper tok-input"

static struct tf_opt opts[] = {
    OPT_GROUP("Input"),
    OPT_LIST('i', "input", &inputs, .arg = "FILE", .flags = TF_OPT_GREEDY | TF_OPT_FILE,
             .help = "hypotheses, one file per system (default: stdin)"),
    OPT_INT(0, "num-refs", &in.num_refs, .alias = "nr", .arg = "N", .def = "1", .lo = 1, .hi = 1000,
            .modes = SCORE | STATS,
            .help = "references per line of a single REF, separated by tabs"),
    OPT_STR('l', "language-pair", &pair, .arg = "SOURCE-TARGET",
            .modes = SCORE | STATS | PRINT,
            .help = "languages, such as en-de: the target chooses the default tokenizer"),
    OPT_STR('t', "test-set", &test_set, .flags = TF_OPT_HIDDEN),
    OPT_STR('e', "encoding", &in.encoding, .arg = "NAME", .def = "utf-8",
            .modes = SCORE | STATS | PRINT, .help = "encoding of all files"),
    OPT_MODE(0, "from-stats", FROM_STATS, .excludes = NOT_MULTI_BLEU,
             .help = "read streams of statistics, one per system, instead of text"),
    OPT_GROUP("Metrics"),
    OPT_LIST('m', "metrics", &metrics, .arg = "NAME", .flags = TF_OPT_GREEDY,
             .modes = SCORE | STATS, .excludes = NOT_MULTI_BLEU,
             .help = "metrics to compute: bleu (default), chrf, ter"),
    OPT_FLAG(0, "sentence-level", &eval.sentence, .alias = "sl", .modes = SCORE | FROM_STATS,
             .excludes = NOT_MULTI_BLEU, .help = "score each line, with effective order"),
    OPT_GROUP("BLEU"),
    OPT_STR(0, "tokenize", &tok, .alias = "tok", .arg = "NAME", .choices = tf_tokenizer_names,
            .flags = TF_OPT_SEMANTIC, .modes = SCORE | STATS | PRINT, .excludes = NOT_MULTI_BLEU,
            .help = "tokenizer: 13a (default), intl, zh, char, none, spm, flores101, flores200, "
                    "spBLEU-1K"),
    OPT_STR(0, "spm-model", &spm_model, .arg = "FILE", .flags = TF_OPT_FILE,
            .modes = SCORE | STATS | PRINT, .excludes = NOT_MULTI_BLEU,
            .help = "vocabulary for -tok spm: a SentencePiece model, or a model of tf-train"),
    OPT_FLAG(0, "lowercase", &eval.metric.bleu.lowercase, .alias = "lc",
             .modes = SCORE | STATS | PRINT, .help = "ignore case"),
    OPT_CHOICE('s', "smooth-method", &eval.metric.bleu.smooth, tf_bleu_smooth_names, .arg = "NAME",
               .def = "exp", .modes = SCORE | STATS, .excludes = NOT_MULTI_BLEU,
               .help = "smoothing of orders without a match"),
    OPT_REAL(0, "smooth-value", &smooth_value, .alias = "sv", .arg = "X", .lo = 0, .hi = 1e9,
             .modes = SCORE | STATS, .excludes = NOT_MULTI_BLEU,
             .help = "value for floor (default 0.1) and add-k (default 1)"),
    OPT_FLAG(0, "force", &eval.force, .modes = SCORE | STATS, .excludes = NOT_MULTI_BLEU,
             .help = "do not warn if hypotheses look tokenized"),
    OPT_GROUP("BLEU of the Transformer paper"),
    OPT_CHOICE(0, "as", &as, kinds, .arg = "NAME", .def = "sacrebleu",
               .help = "paper: Moses tokenizer, split compounds, multi-bleu's counts"),
    OPT_CHOICE(0, "lang", &paper.lang, tf_moses_langs, .arg = "NAME", .def = "de",
               .needs = "as=paper", .help = "--as paper: language of the text"),
    OPT_FLAG(0, "raw-ref", &paper.raw_ref, .needs = "as=paper",
             .help = "--as paper: the references are plain text: all steps for them, too"),
    OPT_FLAG(0, "no-punct-step", &paper.no_punctuation, .needs = "as=paper",
             .help = "--as paper: do not convert typographic marks to ASCII"),
    OPT_FLAG(0, "compounds", &compounds, .flags = TF_OPT_NEGATABLE, .needs = "as=paper",
             .help = "--as paper: split words at hyphens (default: unless the language is fr)"),
    OPT_STR(0, "prefixes", &paper.prefixes, .arg = "FILE", .flags = TF_OPT_FILE,
            .needs = "as=paper",
            .help = "--as paper: abbreviations, as in Moses' nonbreaking_prefix files"),
    OPT_FLAG(0, "tok-input", &paper.tokenized, .excludes = "as=paper",
             .help = "multi-bleu's score of tokenized text"),
    OPT_GROUP("chrF"),
    OPT_INT(0, "chrf-char-order", &eval.metric.chrf.chars, .alias = "cc", .arg = "N", .def = "6",
            .lo = 0, .hi = TF_CHRF_MAX, .modes = SCORE | STATS, .excludes = NOT_MULTI_BLEU,
            .help = "maximum character n-gram order"),
    OPT_INT(0, "chrf-word-order", &eval.metric.chrf.words, .alias = "cw", .arg = "N", .def = "0",
            .lo = 0, .hi = TF_CHRF_MAX, .modes = SCORE | STATS, .excludes = NOT_MULTI_BLEU,
            .help = "maximum word n-gram order; 2 is chrF++"),
    OPT_INT(0, "chrf-beta", &eval.metric.chrf.beta, .arg = "N", .def = "2", .lo = 0, .hi = 1000,
            .modes = SCORE | STATS, .excludes = NOT_MULTI_BLEU, .help = "weight of recall"),
    OPT_FLAG(0, "chrf-whitespace", &eval.metric.chrf.whitespace, .modes = SCORE | STATS,
             .excludes = NOT_MULTI_BLEU, .help = "count white space, too"),
    OPT_FLAG(0, "chrf-lowercase", &eval.metric.chrf.lowercase, .modes = SCORE | STATS,
             .excludes = NOT_MULTI_BLEU, .help = "ignore case"),
    OPT_FLAG(0, "chrf-eps-smoothing", &eval.metric.chrf.eps, .modes = SCORE | STATS,
             .excludes = NOT_MULTI_BLEU, .help = "average the F scores of the orders"),
    OPT_GROUP("TER"),
    OPT_FLAG(0, "ter-case-sensitive", &eval.metric.ter.case_sensitive, .modes = SCORE | STATS,
             .excludes = NOT_MULTI_BLEU, .help = "respect case"),
    OPT_FLAG(0, "ter-asian-support", &eval.metric.ter.asian, .modes = SCORE | STATS,
             .excludes = NOT_MULTI_BLEU, .help = "split Asian characters and punctuation"),
    OPT_FLAG(0, "ter-no-punct", &eval.metric.ter.no_punct, .modes = SCORE | STATS,
             .excludes = NOT_MULTI_BLEU, .help = "remove punctuation"),
    OPT_FLAG(0, "ter-normalized", &eval.metric.ter.normalized, .modes = SCORE | STATS,
             .excludes = NOT_MULTI_BLEU, .help = "normalize and tokenize"),
    OPT_GROUP("Significance (seed: SACREBLEU_SEED, 12345 by default)"),
    OPT_FLAG(0, "confidence", &confidence, .alias = "ci", .modes = SCORE | FROM_STATS,
             .excludes = NOT_MULTI_BLEU,
             .help = "bootstrap a 95% confidence interval of one system"),
    OPT_INT(0, "confidence-n", &confidence_n, .alias = "cin", .arg = "N", .def = "1000", .lo = 0,
            .hi = 1e8, .modes = SCORE | FROM_STATS, .excludes = NOT_MULTI_BLEU,
            .help = "number of samples"),
    OPT_FLAG(0, "paired-bs", &bootstrap, .alias = "pbs", .modes = SCORE | FROM_STATS,
             .excludes = "paired-ar " NOT_MULTI_BLEU,
             .help = "paired bootstrap against the first system"),
    OPT_INT(0, "paired-bs-n", &bootstrap_n, .alias = "pbsn", .arg = "N", .def = "1000", .lo = 0,
            .hi = 1e8, .modes = SCORE | FROM_STATS, .excludes = NOT_MULTI_BLEU,
            .help = "number of samples"),
    OPT_FLAG(0, "paired-ar", &randomize, .alias = "par", .modes = SCORE | FROM_STATS,
             .excludes = NOT_MULTI_BLEU,
             .help = "approximate randomization against the first system"),
    OPT_INT(0, "paired-ar-n", &randomize_n, .alias = "parn", .arg = "N", .def = "10000", .lo = 0,
            .hi = 1e8, .modes = SCORE | FROM_STATS, .excludes = NOT_MULTI_BLEU,
            .help = "number of trials"),
    OPT_INT('j', "paired-jobs", &jobs, .arg = "N", .def = "1", .lo = 0, .hi = 1000,
            .help = "ignored, accepted for compatibility"),
    OPT_GROUP("Report"),
    OPT_MODE(0, "stats", STATS, .excludes = NOT_MULTI_BLEU,
             .help = "write the statistics of each segment as a stream for --from-stats"),
    OPT_MODE(0, "print-tokens", PRINT, .help = "print each hypothesis line as tokenized"),
    OPT_CHOICE('f', "format", &eval.report.format, tf_report_formats, .arg = "NAME", .def = "json",
               .modes = SCORE | FROM_STATS, .excludes = NOT_MULTI_BLEU,
               .help = "format of the report (SACREBLEU_FORMAT takes precedence)"),
    OPT_INT('w', "width", &eval.report.width, .arg = "N", .def = "1", .lo = 0, .hi = 100,
            .modes = SCORE | FROM_STATS, .excludes = NOT_MULTI_BLEU,
            .help = "decimal places of scores"),
    OPT_FLAG('b', "score-only", &eval.report.score_only, .modes = SCORE | FROM_STATS,
             .excludes = NOT_MULTI_BLEU, .help = "print only the score"),
    OPT_FLAG(0, "short", &eval.report.brief, .alias = "sh", .modes = SCORE | FROM_STATS,
             .excludes = NOT_MULTI_BLEU, .help = "print short signatures in text"),
    OPT_FLAG(0, "no-color", &no_color, .alias = "nc",
             .help = "ignored, accepted for compatibility; there are no colours"),
    OPT_FLAG('q', "quiet", &quiet, .help = "print no warnings"),
    OPT_END,
};

/* A tf-tokenize runs for --spm-model; with --tok-input the first REF may stand for REF0, REF1 and
 * so on. */
static void widen(const struct tf_args *args, struct tf_sandbox *sandbox)
{
    sandbox->processes = spm_model != NULL;
    if (paper.tokenized && args->n > 0 && !tf_is_std(args->v[0]))
        tf_multi_bleu_references(&sandbox->read, args->v[0]);
}

static const struct tf_tool tool = {
    .name = "tf-bleu",
    .synopsis = "[options] REF... [-i HYP...]\n"
                "[options] REF... <HYP\n"
                "--as paper|--tok-input [options] REF... [-i HYP]\n"
                "--from-stats [options] STATS.tfs...\n--print-tokens [options] [-i HYP...]",
    .summary = "score translations against references, as sacreBLEU does",
    .opts = opts,
    .min_args = 0,
    .max_args = -1,
    .default_mode = "scoring text",
    .widen = widen,
};

/* Of the chosen metrics, BLEU alone has a tokenizer, unless its input is tokenized. */
static bool tokenizes(void)
{
    bool bleu = false;
    for (size_t i = 0; i < eval.nkinds; i++)
        bleu |= eval.kinds[i] == TF_BLEU;
    return bleu && !paper.tokenized;
}

/* What the target language implies: *tokenizer, if none is given, or the language of --as paper. */
static int use_language(const char **tokenizer, struct tf_err *err)
{
    char target[TF_LANGUAGE_SIZE];
    if (pair == NULL)
        return 0;
    if (tf_language_target(target, pair, err) != 0)
        return -1;
    if (as)
        return tf_opt_given(opts, "lang") ? 0 : tf_language_moses(&paper.lang, target, pair, err);
    return tokenizes()
               ? tf_language_tokenizer(tokenizer, target, pair, spm_model != NULL, quiet, err)
               : 0;
}

/* The option, if there is one, that takes a single system. */
static const char *single_system(unsigned mode)
{
    return eval.sentence     ? "sentence-level"
           : mode == STATS   ? "stats"
           : as              ? "as paper"
           : paper.tokenized ? "tok-input"
                             : NULL;
}

static void configure(const struct tf_args *args)
{
    struct tf_bleu_opts *b = &eval.metric.bleu;
    b->value = tf_opt_given(opts, "smooth-value") ? smooth_value : tf_bleu_default_value(b->smooth);
    eval.resampling.test = bootstrap    ? TF_TEST_BOOTSTRAP
                           : randomize  ? TF_TEST_RANDOMIZE
                           : confidence ? TF_TEST_CONFIDENCE
                                        : TF_TEST_NONE;
    eval.resampling.samples = bootstrap ? bootstrap_n : randomize ? randomize_n : confidence_n;
    eval.stats = args->mode == STATS;
    eval.force |= quiet;
    eval.quiet = quiet;
    eval.table = opts;
    paper.lowercase = b->lowercase;
    paper.no_compounds =
        tf_opt_given(opts, "compounds") ? !compounds : paper.lang == TF_MOSES_FR;
    in.refs = args->v;
    in.nrefs = (size_t)args->n;
}

static int evaluate(struct tf_out *out, unsigned mode, struct tf_err *err)
{
    const struct tf_multi_bleu_opts *by = as || paper.tokenized ? &paper : NULL;
    if (mode == PRINT)
        return tf_print_tokens(out, by, &eval.metric.bleu, &in, err);
    if (by != NULL)
        return tf_multi_bleu(out, by, &in, err);
    if (mode == FROM_STATS)
        return tf_evaluate_stats(out, &eval, in.nrefs > 0 ? in.refs : in.systems,
                                 in.nrefs > 0 ? in.nrefs : in.nsystems, err);
    return tf_evaluate(out, &eval, &in, err);
}

/* evaluate, with a running tokenizer if a SentencePiece model was given. */
static int evaluate_spm(struct tf_out *out, unsigned mode, struct tf_err *err)
{
    struct tf_err end = {0};
    int rc = spm_model != NULL ? tf_spm_open(spm_model, eval.metric.bleu.model, err) : 0;
    if (rc == 0)
        rc = evaluate(out, mode, err);
    if (tf_spm_close(&end) != 0 && rc >= 0) {
        *err = end;
        rc = -1;
    }
    return rc;
}

static int run(const struct tf_args *args, struct tf_err *err)
{
    struct tf_out out;
    const char *tokenizer = tok;
    if (test_set != NULL)
        return tf_fail_status(err, TF_USAGE,
                              "--test-set %s: test sets are files here: tf-bleu REF -i HYP",
                              test_set);
    if (tf_metric_choose(eval.kinds, &eval.nkinds, metrics.v, metrics.n, err) != 0 ||
        use_language(&tokenizer, err) != 0)
        return -1;
    configure(args);
    if (tf_eval_environment(&eval, err) != 0 ||
        tf_segment_files_unique(&inputs, bootstrap || randomize, err) != 0 ||
        tf_spm_choose(&eval.metric.bleu.tokenizer, tokenizer, spm_model != NULL, err) != 0)
        return -1;
    in.systems = inputs.v;
    in.nsystems = inputs.n;
    if (tf_eval_check_files(&in, args->mode, single_system(args->mode), spm_model, err) != 0 ||
        tf_eval_check(&eval, err) != 0 ||
        tf_out_open(&out, "-", eval.stats ? TF_OUT_BINARY : 0, err) != 0)
        return -1;
    int rc = evaluate_spm(&out, args->mode, err);
    if (rc < 0)
        tf_out_abort(&out);
    else if (tf_out_commit(&out, err) != 0)
        rc = -1;
    return rc;
}

int main(int argc, char **argv)
{
    return tf_tool_main(&tool, argc, argv, run);
}
