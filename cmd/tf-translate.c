/* tf-translate - text in, text out: tf-tokenize | tf-decode | tf-tokenize -d, with one model. */
#include "base/path.h"
#include "base/pipeline.h"
#include "base/sandbox.h"
#include "decode_options.h"
#include "stream/model.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct tf_decode_opts o;
static const char *output, *alignment, *alignment_output;
static const char *const decoding[] = {DECODE_PRECISIONS, NULL};
static int precision;
static bool crlf, replace_invalid, json;
static const char *input, *to; /* what other programs call what needs no option here */

static struct tf_opt opts[] = {
    OPT_GROUP("Models and text"),
    COMMON_MODELS(&o.run.models),
    COMMON_OUTPUT(&output),
    OPT_STR('i', "input", &input, .flags = TF_OPT_HIDDEN),
    OPT_STR(0, "to", &to, .flags = TF_OPT_HIDDEN),
    OPT_FLAG(0, "crlf", &crlf, .help = "strip a carriage return at the end of a line"),
    OPT_FLAG(0, "replace-invalid", &replace_invalid,
             .help = "replace invalid UTF-8 by U+FFFD; otherwise such a line becomes an empty one"),
    OPT_FLAG(0, "json", &json,
             .help = "print a JSON object for each line: line, status, score, text or reason"),
    OPT_INT('n', "nbest", &o.nbest, .arg = "N", .lo = 1, .hi = TF_SEARCH_MAX_BEAM, .needs = "json",
            .help = "--json: the N best translations, N at most --beam; with --sample N draws"),
    COMMON_BAD(&o.run.bad, "lines that cannot be translated"),
    OPT_STR(0, "alignment", &alignment, .arg = "WORD",
            .choices = (const char *const[]){"hard", "soft", NULL},
            .help = "print alignments of words after each line: hard (0-0 1-2), soft, or links of "
                    "more than a number up to 1"),
    OPT_STR(0, "alignment-output", &alignment_output, .arg = "FILE",
            .flags = TF_OPT_FILE | TF_OPT_OUT, .needs = "alignment", .excludes = "json",
            .help = "write alignments to FILE, a line for each translation"),
    COMMON_ALIGNMENT_HEAD(&o.alignment_head, .needs = "alignment"),
    DECODE_SEARCH(o),
    DECODE_DEVICE(o, precision, decoding),
    COMMON_RUNNING(o.run, "sentences"),
    OPT_END,
};

/* Each tool has a sandbox of its own, and so has check_models(). */
static void widen(const struct tf_args *args, struct tf_sandbox *sandbox)
{
    (void)args;
    sandbox->off = true;
}

static const struct tf_tool tool = {
    .name = "tf-translate",
    .synopsis = "-m MODEL [options] [TEXT] >TEXT",
    .summary = "translate lines of text with a model that contains its vocabulary",
    .opts = opts,
    .max_args = 2, /* a forgotten -m is more likely than a second text */
    .default_mode = "search",
    .stdin_modes = SEARCH | SAMPLE,
    .widen = widen,
};

/* Options that are not tf-decode's, or that it gets another way. */
static const char *const own[] = {"model", "output", "crlf", "quiet", "replace-invalid", "bad",
                                  "json", "nbest", "alignment", "alignment-output", NULL};

static void add_option(struct tf_strs *to, const char *name, const char *value)
{
    tf_strs_add(to, name);
    tf_strs_add(to, value);
}

/* Without a model with a vocabulary all three tools would complain. */
static int check_model(const char *path, struct tf_err *err)
{
    struct tf_model_file m;
    struct stat st;
    if (tf_is_std(path) || (stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)))
        return tf_fail_status(err, TF_USAGE, "%s: not a regular file: three tools read the model",
                              path);
    if (tf_model_read(&m, path, TF_MODEL_HEAD, 0, err) != 0)
        return -1;
    const bool has_vocab = m.vocab != NULL;
    tf_model_release(&m);
    return has_vocab
               ? 0
               : tf_fail(err, "%s: contains no vocabulary (tf-convert --vocab adds one)", path);
}

static int check_models(const struct tf_strs *models, struct tf_err *err)
{
    for (size_t i = 0; i < models->n; i++)
        if (check_model(models->v[i], err) != 0)
            return -1;
    return 0;
}

static int run(const struct tf_args *args, struct tf_err *err)
{
    const struct tf_strs *models = &o.run.models;
    if (input != NULL)
        return tf_fail_status(err, TF_USAGE, "-i: the text is an operand: tf-translate -m MODEL %s",
                              input);
    if (to != NULL)
        return tf_fail_status(err, TF_USAGE,
                              "--to: the model decides on the language; of several, "
                              "the tag that a line begins with or --begin (tf-info lists them)");
    if (models->n == 0)
        return tf_fail_status(err, TF_USAGE, "-m FILE is required");
    if (args->n > 1)
        return tf_fail_status(err, TF_USAGE, "unexpected operand '%s' (try --help)", args->v[1]);
    const int rc = tf_run_sandboxed(check_models, models, err);
    if (rc != 0)
        return rc;
    struct tf_strs encode = {0}, decode = {0}, detokenize = {0};
    const char *nbest = tf_opt_find(opts, "nbest")->given;
    const char *bad = tf_on_bad_words[o.run.bad];
    /* The last tool is the one that fails: each after the first to fail would say so, too. */
    const bool fail = o.run.bad == TF_ON_BAD_FAIL;
    tf_strs_add(&encode, "tf-tokenize");
    add_option(&encode, "-m", models->v[0]);
    add_option(&encode, "--bad", fail ? "ok" : bad);
    if (crlf)
        tf_strs_add(&encode, "--crlf");
    if (replace_invalid)
        tf_strs_add(&encode, "--replace-invalid");
    add_option(&encode, "--", args->v[0]);
    tf_strs_add(&decode, "tf-decode");
    for (size_t i = 0; i < models->n; i++)
        add_option(&decode, "-m", models->v[i]);
    add_option(&decode, "--bad", fail ? "ok" : bad);
    tf_opt_words(&decode, opts, own);
    if (json) /* scores are in n-best streams only */
        add_option(&decode, "--nbest", nbest != NULL ? nbest : "1");
    if (alignment != NULL)
        tf_strs_add(&decode, "--alignment");
    /* A progress line would stand among the translations. */
    if (o.run.quiet || (!o.run.progress && isatty(STDOUT_FILENO) && strcmp(output, "-") == 0))
        tf_strs_add(&decode, "--quiet");
    tf_strs_add(&detokenize, "tf-tokenize");
    tf_strs_add(&detokenize, "-d");
    add_option(&detokenize, "-m", models->v[0]);
    if (json)
        tf_strs_add(&detokenize, "--json");
    if (json && o.nbest > 1)
        tf_strs_add(&detokenize, "--nbest");
    add_option(&detokenize, "--bad", fail ? bad : "ok"); /* tf-decode has said what is bad */
    add_option(&detokenize, "-o", output);
    if (alignment != NULL)
        add_option(&detokenize, "--alignment", alignment);
    if (alignment_output != NULL)
        add_option(&detokenize, "--alignment-output", alignment_output);
    struct tf_strs *const all[] = {&encode, &decode, &detokenize};
    for (size_t i = 0; i < 3; i++)
        tf_strs_add(all[i], NULL);
    return tf_pipeline((const char *const *const[]){encode.v, decode.v, detokenize.v}, 3, err);
}

int main(int argc, char **argv)
{
    return tf_tool_main(&tool, argc, argv, run);
}
