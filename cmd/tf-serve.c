/* tf-serve - a translation service over HTTP, in the API of LibreTranslate. */
#include "base/cpus.h"
#include "base/pipeline.h"
#include "base/sandbox.h"
#include "decode_options.h"
#include "ops/registry.h"
#include "serve/opts.h"
#include "serve/serve.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static struct tf_decode_opts o;
static struct tf_serve_opts serve;
static const char *const decoding[] = {DECODE_PRECISIONS, NULL};
static int precision;
static int64_t threads;

static struct tf_opt opts[] = {
    OPT_GROUP("Service"),
    OPT_STR('l', "listen", &serve.listen, .arg = "ADDRESS:PORT",
            .help = "where to accept connections; port 0: a free one, which is printed (default: "
                    "the socket that systemd passes, or 127.0.0.1:8080)"),
    OPT_INT(0, "alternatives", &serve.alternatives, .arg = "N", .def = "0", .lo = 0,
            .hi = TF_SEARCH_MAX_BEAM - 1,
            .help = "answer with up to N alternatives on request, N less than --beam"),
    OPT_FLAG(0, "alignment", &serve.alignment,
             .help = "align words: requests may have format html, whose markup stays"),
    COMMON_ALIGNMENT_HEAD(&o.alignment_head, .needs = NULL),
    OPT_FLAG(0, "placeholders", &serve.placeholders,
             .help = "keep URLs, e-mail addresses, {name} and %s as they are"),
    OPT_FLAG(0, "copy-unk", &serve.copy_unknown,
             .help = "copy characters that the vocabulary lacks to where their words went"),
    OPT_LIST(0, "terms", &serve.terms, .arg = "SOURCE-TARGET=FILE",
             .excludes = "sample diverse search early-stopping no-repeat-ngram",
             .help = "glossary of these languages, a line each of a source term and its targets "
                     "between tabs; for other languages again (CPU only)"),
    OPT_REAL(0, "timeout", &serve.timeout, .arg = "SECONDS", .def = "30", .lo = 0.1, .hi = 86400,
             .help = "answer a request after so long, if it is not translated, with status 504"),
    OPT_REAL(0, "start-timeout", &serve.starting, .arg = "SECONDS", .def = "300", .lo = 0.1,
             .hi = 86400, .help = "end a pipeline that takes longer to read its model"),
    OPT_REAL(0, "patience", &serve.patience, .arg = "SECONDS", .def = "30", .lo = 0.1, .hi = 86400,
             .help = "close a connection that takes longer to send a request, or to take an "
                     "answer"),
    OPT_INT(0, "queue", &serve.queue, .arg = "N", .def = "4096", .lo = 1, .hi = 1 << 24,
            .help = "sentences that wait, of all models; beyond them requests get status 503"),
    OPT_INT(0, "max-body", &serve.max_body, .arg = "BYTES", .def = "1M", .lo = 1, .hi = 1 << 24,
            .help = "a larger request gets status 413"),
    OPT_INT(0, "connections", &serve.connections, .arg = "N", .def = "1000", .lo = 1, .hi = 1 << 16,
            .help = "connections at a time; further ones wait to be accepted"),
    OPT_FLAG(0, "no-split", &serve.whole,
             .help = "translate a line as one sentence, although it has several"),
    OPT_INT(0, "max-chars", &serve.max_chars, .arg = "N", .def = "500", .lo = 0, .hi = 1 << 20,
            .help = "cut a longer sentence at a clause or a space; 0: no limit"),
    OPT_GROUP("Pipelines (the answers do not depend on these)"),
    OPT_INT('p', "pipelines", &serve.pipelines, .arg = "N", .lo = 1, .hi = TF_THREADS_MAX,
            .help = "pipelines of each model, which work on different requests (default: the "
                    "available CPUs by --threads)"),
    OPT_INT('t', "threads", &threads, .arg = "N", .def = "1", .lo = 1, .hi = TF_THREADS_MAX,
            .help = "threads of a pipeline"),
    OPT_INT('b', "batch", &serve.batch, .arg = "N", .def = "8", .lo = 1, .hi = 1 << 16,
            .help = "sentences that a pipeline has at a time"),
    DECODE_SEARCH(o),
    DECODE_DEVICE(o, precision, decoding),
    OPT_END,
};

/* The pipelines inherit it. A model that replaces another is a new file beside it. */
static void widen(const struct tf_args *args, struct tf_sandbox *sandbox)
{
    struct tf_err err = {0};
    sandbox->processes = true;
    sandbox->off = tf_backend_may_load(o.run.device);
    (void)!tf_direction_files(args->v, (size_t)args->n, &sandbox->beside, &err);
    (void)!tf_direction_files(serve.terms.v, serve.terms.n, &sandbox->beside, &err);
    sandbox->read.n = 0;
    if (o.forbid != NULL)
        tf_strs_add(&sandbox->beside, o.forbid);
    if (tf_shortlist_use(o.shortlist) == TF_LIST_FILE)
        tf_strs_add(&sandbox->beside, o.shortlist);
    (void)tf_threads_default();
}

static const struct tf_tool tool = {
    .name = "tf-serve",
    .synopsis = "[options] SOURCE-TARGET=MODEL ...",
    .summary = "a translation service over HTTP, in the API of LibreTranslate",
    .opts = opts,
    .min_args = 1,
    .max_args = -1,
    .default_mode = "search",
    .widen = widen,
};

static const char *const own[] = {"listen",        "alternatives", "alignment", "timeout",
                                  "start-timeout", "patience",     "queue",     "max-body",
                                  "connections",   "pipelines",    "threads",   "batch",
                                  "no-split",      "max-chars",    "terms",     "placeholders",
                                  "copy-unk",      NULL};

static void add_number(struct tf_strs *to, const char *name, int64_t value)
{
    static char text[3][24];
    static int n;
    snprintf(text[n], sizeof text[n], "%lld", (long long)value);
    tf_opt_add(to, true, name, text[n++]);
}

static int listening(const char *url, struct tf_err *err)
{
    printf("listening on %s\n", url);
    if (fflush(stdout) != 0 && errno != EPIPE)
        return tf_fail_errno(err, "stdout: write");
    clearerr(stdout); /* of a reader that has left, which does not need the line */
    return 0;
}

static int run(const struct tf_args *args, struct tf_err *err)
{
    static const char *const of_tools[] = {"forbid", "shortlist", NULL};
    if (tf_pipeline_refuse_std(opts, of_tools, err) != 0)
        return -1;
    serve.models = args->v;
    serve.n = (size_t)args->n;
    serve.listening = listening;
    if (serve.pipelines == 0)
        serve.pipelines = tf_threads_default() > threads ? tf_threads_default() / threads : 1;
    const bool several = serve.alternatives > 0, links = serve.alignment || serve.copy_unknown;
    tf_opt_add(&serve.decode, true, "--quiet", NULL);
    tf_opt_add(&serve.decode, true, "--bad", "ok");
    add_number(&serve.decode, "--nbest", 1 + serve.alternatives);
    add_number(&serve.decode, "--threads", threads);
    add_number(&serve.decode, "--window", serve.batch);
    tf_opt_words(&serve.decode, opts, own);
    tf_opt_add(&serve.decode, several, "--alternatives", NULL);
    tf_opt_add(&serve.decode, links, "--alignment", NULL);
    tf_opt_add(&serve.tokenize, true, "--json", NULL);
    tf_opt_add(&serve.tokenize, true, "--bad", "ok");
    tf_opt_add(&serve.tokenize, true, "--threads", "1");
    tf_opt_add(&serve.tokenize, several, "--nbest", NULL);
    tf_opt_add(&serve.tokenize, links, "--alignment", "hard");
    tf_opt_add(&serve.tokenize, serve.copy_unknown, "--alignment-unknown", NULL);
    return tf_serve(&serve, err);
}

int main(int argc, char **argv)
{
    return tf_tool_main(&tool, argc, argv, run);
}
