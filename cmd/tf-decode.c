/* tf-decode - translate token streams with a model. */
#include "base/sandbox.h"
#include "decode_options.h"
#include "ops/backend.h"
#include "ops/registry.h"

#include <string.h>

enum { PAPER = 1 /* of tf_search_words */ };

static struct tf_decode_opts o;
static const char *output;
static bool alternatives; /* of --nbest, all but the first were requested */
static const char *const decoding[] = {DECODE_PRECISIONS, NULL};
static int precision;

static struct tf_opt opts[] = {
    OPT_GROUP("Models and streams"),
    COMMON_MODELS(&o.run.models),
    COMMON_OUTPUT(&output),
    OPT_STR(0, "prefix", &o.prefix, .arg = "FILE", .flags = TF_OPT_FILE, .excludes = "begin",
            .help = "token stream with one prefix per input; each output starts with its prefix"),
    OPT_STR(0, "insert", &o.insert, .arg = "FILE", .flags = TF_OPT_FILE,
            .excludes = "prefix begin min-length no-repeat-ngram repetition-penalty forbid diverse "
                        "shortlist",
            .help =
                "each output is its input with records of this stream between words (CPU only)"),
    OPT_INT(0, "max-insert", &o.max_insert, .arg = "N", .def = "0", .lo = 0, .hi = 1 << 20,
            .flags = TF_OPT_SEMANTIC, .needs = "insert",
            .help = "--insert: at most N of these records in a row; 0: any number"),
    OPT_STR(0, "constraints", &o.constraints, .arg = "FILE", .flags = TF_OPT_FILE,
            .excludes = "sample insert diverse search early-stopping no-repeat-ngram",
            .help = "each output contains the phrases of its line here: pieces, between tabs (CPU "
                    "only)"),
    OPT_STR(0, "terms", &o.terms, .arg = "FILE", .flags = TF_OPT_FILE,
            .excludes = "sample insert diverse search early-stopping no-repeat-ngram",
            .help = "glossary, a line each of a source term and its targets in pieces, between "
                    "tabs: outputs contain a target of each term of their source (CPU only)"),
    OPT_STR(0, "terms-name", &o.terms_name, .flags = TF_OPT_HIDDEN, .needs = "terms"),
    OPT_FLAG(0, "copies", &o.run.copies, .flags = TF_OPT_HIDDEN),
    OPT_FLAG(0, "alternatives", &alternatives, .flags = TF_OPT_HIDDEN, .needs = "nbest"),
    COMMON_FORCE(o.run.force),
    COMMON_BAD(&o.run.bad, "bad records"),
    DECODE_SEARCH(o),
    OPT_GROUP("Output"),
    OPT_INT('n', "nbest", &o.nbest, .arg = "N", .lo = 1, .hi = TF_SEARCH_MAX_BEAM,
            .flags = TF_OPT_SEMANTIC,
            .help = "write an n-best stream: the N best outputs with scores, N at most --beam; "
                    "with --sample N draws"),
    OPT_FLAG(0, "token-scores", &o.token_scores, .flags = TF_OPT_SEMANTIC,
             .help = "write an n-best stream with the log-probability of every token"),
    OPT_FLAG(0, "alignment", &o.alignment, .flags = TF_OPT_SEMANTIC,
             .help = "add the source and the weights of its tokens for each token of the output"),
    COMMON_ALIGNMENT_HEAD(&o.alignment_head, .needs = "alignment"),
    DECODE_DEVICE(o, precision, decoding),
    COMMON_RUNNING(o.run, "sentences", "64; 16 with a shortlist; 4096 on a GPU"),
    OPT_END,
};

/* No sandbox where the device may be a plugin. */
static void widen(const struct tf_args *args, struct tf_sandbox *sandbox)
{
    (void)args;
    sandbox->off = tf_backend_may_load(o.run.device);
    sandbox->copies = o.run.copies;
}

static const struct tf_tool tool = {
    .name = "tf-decode",
    .synopsis = "-m MODEL [-m MODEL ...] [options] [tokens.tfs] >tokens.tfs",
    .summary = "translate token streams with a model: beam search, greedy search, sampling, n-best",
    .opts = opts,
    .max_args = 1,
    .default_mode = "search",
    .stdin_modes = SEARCH | SAMPLE,
    .widen = widen,
};

static bool is_limit(const char *key)
{
    return strcmp(key, "max-extra") == 0 || strcmp(key, "max-factor") == 0 ||
           strcmp(key, "count-end") == 0;
}

/* The model's settings, where the user did not say otherwise. Its precision is the session's. Both
 * numbers, and whether ends count, make one limit: one that is given is not added to the model's
 * other. */
static int adopt_settings(const struct tf_value *search, struct tf_err *err)
{
    const bool limited = tf_opt_given(opts, "max-extra") || tf_opt_given(opts, "max-factor");
    int rc = tf_search_settings_check(search, err);
    for (size_t i = 0; i < search->n && rc == 0; i++) {
        struct tf_buf text = {0};
        tf_search_settings_text(&text, &search->items[i]);
        if (strcmp(search->keys[i], "precision") != 0 && !(limited && is_limit(search->keys[i])))
            rc = tf_opt_adopt(opts, search->keys[i], text.p, err);
        tf_buf_release(&text);
    }
    return rc;
}

static int adopt(const struct tf_value *search, const char *name, struct tf_err *err)
{
    const bool own_beam = tf_opt_given(opts, "beam");
    o.terms_sum = !tf_opt_given(opts, "alpha") && !tf_opt_given(opts, "normalize");
    if (o.rule != PAPER && adopt_settings(search, err) != 0)
        return tf_fail_status(err, 1, "%s: %s (--search paper does without)", name, err->msg);
    if (!o.search.sample && o.nbest > o.beam && alternatives)
        return tf_fail_status(err, TF_USAGE,
                              "--alternatives %lld: not less than --beam %lld (use -k %lld)",
                              (long long)o.nbest - 1, (long long)o.beam, (long long)o.nbest);
    if (!o.search.sample && o.nbest > o.beam)
        return tf_fail_status(err, TF_USAGE, "--nbest %lld: larger than --beam %lld (use -k %lld)",
                              (long long)o.nbest, (long long)o.beam, (long long)o.nbest);
    if (o.diverse > 0 && o.beam % o.diverse != 0)
        return tf_fail_status(err, TF_USAGE, "--diverse %lld: does not divide --beam %lld",
                              (long long)o.diverse, (long long)o.beam);
    o.terms_beam = own_beam || o.beam > TF_TERMS_BEAM ? o.beam : TF_TERMS_BEAM;
    if (tf_opt_given(opts, "normalize"))
        o.search.alpha = 0;
    o.nbest = o.nbest > 0 ? o.nbest : 1;
    return 0;
}

static int run(const struct tf_args *args, struct tf_err *err)
{
    if (o.run.models.n == 0)
        return tf_fail_status(err, TF_USAGE, "-m FILE is required");
    o.run.adopt = adopt;
    o.run.list = tf_shortlist_use(o.shortlist);
    if (o.run.list == TF_LIST_OWN && (o.rule == PAPER || tf_opt_excluded(opts, "shortlist")))
        o.run.list = TF_LIST_NONE;
    o.shortlist_cut = tf_opt_given(opts, "shortlist-first") ||
                      tf_opt_given(opts, "shortlist-best") ||
                      tf_opt_given(opts, "shortlist-threshold");
    if (o.shortlist_cut && o.run.list != TF_LIST_FILE)
        return tf_fail_status(err, TF_USAGE,
                              "--shortlist-first, -best and -threshold: not with --shortlist %s",
                              o.shortlist);
    o.run.own_precision = o.rule != PAPER;
    o.nbest_out = o.nbest > 0 || o.token_scores;
    o.run.precision = precision > 0 ? decoding[precision] : NULL;
    return tf_decode_stream(&o, args->v[0], output, opts, err);
}

int main(int argc, char **argv)
{
    return tf_tool_main(&tool, argc, argv, run);
}
