/* tf-translate - text in, text out: its sentences through tf-tokenize | tf-decode | tf-tokenize -d,
 * with one model. */
#include "base/log.h"
#include "base/memory.h"
#include "base/pipeline.h"
#include "base/sandbox.h"
#include "decode_options.h"
#include "text/phrases.h"
#include "text/through.h"
#include "text/tool_model.h"
#include "text_options.h"

#include <string.h>
#include <unistd.h>

static struct tf_decode_opts o;
static struct tf_through through = {.n_tools = 3};
static const char *const decoding[] = {DECODE_PRECISIONS, NULL};
static int precision;
static bool document, json;
static const char *alignment, *alignment_output, *terms, *glossary;
static const char *input_hint, *to_hint; /* what other programs call what needs no option here */

static struct tf_opt opts[] = {
    OPT_GROUP("Models and text"),
    COMMON_MODELS(&o.run.models),
    COMMON_OUTPUT(&through.output),
    OPT_STR('i', "input", &input_hint, .flags = TF_OPT_HIDDEN),
    OPT_STR(0, "to", &to_hint, .flags = TF_OPT_HIDDEN),
    OPT_FLAG(0, "resume", &through.resume, .excludes = "sample json alignment",
             .help = "continue the output of a run that was interrupted"),
    OPT_FLAG(0, "document", &document, .flags = TF_OPT_SEMANTIC, .excludes = "field no-split",
             .help =
                 "keep line breaks, indentation and spaces; a paragraph may have several lines"),
    TEXT_FIELD(through.text, ),
    TEXT_SENTENCES(through.text, ),
    OPT_FLAG(0, "no-split", &through.text.whole, .flags = TF_OPT_SEMANTIC, .excludes = "max-chars",
             .help = "translate a line as one sentence, although it has several"),
    OPT_FLAG(0, "copy-unk", &through.copy_unknown, .flags = TF_OPT_SEMANTIC,
             .excludes = "json alignment",
             .help = "copy characters that the vocabulary lacks to where their words went"),
    OPT_FLAG(0, "html", &through.text.html, .flags = TF_OPT_SEMANTIC, .excludes = "json alignment",
             .help = "lines are HTML, or with --document a page: keep the markup"),
    OPT_FLAG(0, "placeholders", &through.text.hide.addresses, .flags = TF_OPT_SEMANTIC,
             .excludes = "json alignment",
             .help = "keep URLs, e-mail addresses, {name} and %s as they are"),
    OPT_FLAG(0, "crlf", &through.text.crlf, .help = "strip a carriage return at the end of a line"),
    TEXT_INVALID(through.text, ),
    OPT_FLAG(0, "json", &json, .excludes = "document field",
             .help = "print a JSON object for each line: line, status, score, text or reason"),
    OPT_INT('n', "nbest", &o.nbest, .arg = "N", .lo = 1, .hi = TF_SEARCH_MAX_BEAM,
            .excludes = "document field resume copy-unk html placeholders glossary "
                        "alignment-output",
            .help = "--json with the N best translations, N at most --beam; --sample: N draws"),
    COMMON_BAD(&o.run.bad, "lines that cannot be translated"),
    OPT_STR(0, "alignment", &alignment, .arg = "WORD", .excludes = "document field",
            .choices = (const char *const[]){"hard", "soft", NULL},
            .help = "print alignments of words after each line: hard (0-0 1-2), soft, or links of "
                    "more than a number up to 1"),
    OPT_STR(0, "alignment-output", &alignment_output, .arg = "FILE",
            .flags = TF_OPT_FILE | TF_OPT_OUT, .needs = "alignment", .excludes = "json",
            .help = "write alignments to FILE, a line for each translation"),
    COMMON_ALIGNMENT_HEAD(&o.alignment_head, .needs = NULL),
    OPT_STR(0, "terms", &terms, .arg = "FILE", .flags = TF_OPT_FILE,
            .excludes = "sample diverse search early-stopping no-repeat-ngram",
            .help = "glossary, a line each of a source term and its targets between tabs: "
                    "translations contain a target of each term of their line (CPU only)"),
    OPT_STR(0, "glossary", &glossary, .arg = "FILE", .flags = TF_OPT_FILE,
            .excludes = "json alignment terms",
            .help = "the same file: the model sees a name in place of each term, for which its "
                    "first target comes back"),
    DECODE_SEARCH(o),
    DECODE_DEVICE(o, precision, decoding),
    COMMON_RUNNING(o.run, "sentences", "64; 16 with a shortlist; 4096 on a GPU"),
    OPT_END,
};

/* Each tool has a sandbox of its own, and so has tf_tool_models_check. */
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
static const char *const own[] = {
    "model", "output", "resume", "document", "field", "lang", "max-chars", "no-split",
    "placeholders", "glossary", "copy-unk", "html", "crlf", "replace-invalid", "bad", "json",
    "nbest", "alignment", "alignment-output", "quiet", "progress", "terms", NULL};

/* Files that the tools read or write. */
static const char *const of_tools[] = {"terms", "forbid", "shortlist", "alignment-output", NULL};

/* How the text is split: by --lang or the model's label, else not, and a note says so. */
static int choose_text(const char *label, struct tf_err *err)
{
    struct tf_document_opts *text = &through.text;
    text->form = document          ? TF_DOCUMENT_WRAPPED
                 : text->field > 0 ? TF_DOCUMENT_PARAGRAPHS
                                   : TF_DOCUMENT_LINES;
    text->max_line = json ? 256 << 20 : 16 << 20; /* tf-tokenize says which is too long */
    text->bad = o.run.bad;
    text->tags = true;
    text->raw = json; /* an object says what is wrong with its line */
    if (text->lang == NULL && label[0] != 0)
        text->lang = label;
    else if (text->lang != NULL && tf_language_same(text->lang, label) == 0)
        tf_warn("--lang %s: the model translates from '%s'", text->lang, label);
    if (alignment != NULL)
        text->whole = true; /* links are of the words of a line */
    if (text->lang == NULL && !text->whole && !document && !json) {
        text->whole = true;
        through.several = o.run.quiet ? NULL
                                      : "has several sentences, which a model of single ones may "
                                        "lose: --lang LABEL, as --lang en, splits lines";
    }
    return tf_document_check(text, err);
}

static int translate(const struct tf_args *args, struct tf_err *err)
{
    int rc;
    struct tf_glossary *names = NULL;
    const struct tf_strs *models = &o.run.models;
    struct tf_strs encode = {0}, decode = {0}, detokenize = {0};
    const char *bad = tf_on_bad_words[o.run.bad], *links = alignment;
    if (through.text.html || through.copy_unknown)
        links = "hard";
    /* The last tool is the one that fails: each after the first to fail would say so, too. */
    const bool fail = o.run.bad == TF_ON_BAD_FAIL;
    tf_opt_add(&encode, true, "tf-tokenize", "--head"); /* tf-decode checks the rest of the model */
    tf_opt_add(&encode, true, "-m", models->v[0]);
    tf_opt_add(&encode, true, "--bad", fail ? "ok" : bad);
    tf_opt_add(&encode, json && through.text.replace_invalid, "--replace-invalid", NULL);
    tf_opt_add(&encode, !o.run.quiet && !through.copy_unknown, "--list-unknown", NULL);
    tf_opt_add(&decode, true, "tf-decode", "--quiet");
    tf_opt_weighted_words(&decode, "-m", models);
    tf_opt_add(&decode, true, "--bad", fail ? "ok" : bad);
    tf_opt_words(&decode, opts, own);
    tf_opt_add(&decode, json, "--nbest", o.nbest > 0 ? tf_opt_find(opts, "nbest")->given : "1");
    tf_opt_add(&decode, links != NULL, "--alignment", NULL);
    tf_opt_add(&detokenize, true, "tf-tokenize", "-d");
    tf_opt_add(&detokenize, true, "--head", NULL);
    tf_opt_add(&detokenize, true, "-m", models->v[0]);
    tf_opt_add(&detokenize, json, "--json", NULL);
    tf_opt_add(&detokenize, json && o.nbest > 1, "--nbest", NULL);
    tf_opt_add(&detokenize, true, "--bad", fail ? bad : "ok"); /* tf-decode has said what is bad */
    tf_opt_add(&detokenize, links != NULL, "--alignment", links);
    tf_opt_add(&detokenize, through.copy_unknown, "--alignment-unknown", NULL);
    tf_opt_add(&detokenize, alignment_output != NULL, "--alignment-output", alignment_output);
    if ((terms != NULL && (rc = tf_phrases_add(&decode, terms, models->v[0], err)) != 0) ||
        (glossary != NULL && (rc = tf_glossary_read(&names, glossary, err)) != 0))
        return rc;
    through.text.hide.glossary = names;
    struct tf_strs *const all[] = {&encode, &decode, &detokenize};
    for (size_t i = 0; i < 3; i++)
        tf_strs_add(all[i], NULL);
    through.input = args->v[0];
    through.resumable = !tf_opt_excluded(opts, "resume");
    through.progress = o.run.progress;
    /* A progress line would stand among the translations. */
    through.quiet = o.run.quiet ||
                    (!o.run.progress && isatty(STDOUT_FILENO) && strcmp(through.output, "-") == 0);
    through.tools = (const char *const *const[]){encode.v, decode.v, detokenize.v};
    rc = tf_through(&through, err);
    if (alignment_output != NULL && err->status == TF_READER_LEFT)
        err->status = TF_FAILED;
    return rc;
}

static int run(const struct tf_args *args, struct tf_err *err)
{
    const struct tf_strs *models = &o.run.models;
    if (input_hint != NULL)
        return tf_fail_status(err, TF_USAGE, "-i: the text is an operand: tf-translate -m MODEL %s",
                              input_hint);
    if (to_hint != NULL)
        return tf_fail_status(err, TF_USAGE,
                              "--to: the model decides on the language; of several, "
                              "the tag that a line begins with or --begin (tf-info lists them)");
    if (models->n == 0)
        return tf_fail_status(err, TF_USAGE, "-m FILE is required");
    if (args->n > 1)
        return tf_fail_status(err, TF_USAGE, "unexpected operand '%s' (try --help)", args->v[1]);
    if (tf_pipeline_refuse_std(opts, of_tools, err) != 0)
        return -1;
    json = json || o.nbest > 0;
    struct tf_tool_model *found = tf_shared(sizeof *found, err);
    if (found == NULL)
        return -1;
    const int rc = tf_run_sandboxed(tf_tool_models_check, found, models, err);
    return rc != 0 ? rc : choose_text(found->lang, err) != 0 ? -1 : translate(args, err);
}

int main(int argc, char **argv)
{
    return tf_tool_main(&tool, argc, argv, run);
}
