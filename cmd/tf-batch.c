/* tf-batch - token streams to batches. */
#include "base/file.h"
#include "data/batcher.h"
#include "rows.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

static struct {
    const char *output, *from;
    int64_t tokens, max_sentences, min_length, max_length, seed, epochs, batches, window;
    double max_ratio;
    int as;
    bool no_shuffle, quiet;
} o;

static const char *const as_words[] = {"paper", "t2t", NULL};

static struct tf_opt opts[] = {
    {TF_OPT_GROUP, .help = "Batches"},
    {TF_OPT_INT, 't', "tokens", .target = &o.tokens, .arg = "N", .def = "25000", .lo = 2,
     .hi = 1 << 20, .flags = TF_OPT_SEMANTIC,
     .help = "most tokens of a batch on either side, end of sentence included"},
    {TF_OPT_INT, .name = "max-sentences", .target = &o.max_sentences, .arg = "N", .def = "0",
     .lo = 0, .hi = 1 << 20, .flags = TF_OPT_SEMANTIC,
     .help = "most pairs of a batch; 0: any number"},
    {TF_OPT_CHOICE, .name = "as", .target = &o.as, .arg = "WORD", .def = "paper",
     .choices = as_words, .flags = TF_OPT_SEMANTIC,
     .help = "what the budget counts: tokens (paper), or tokens padded to length buckets (t2t)"},
    {TF_OPT_FLAG, .name = "no-shuffle", .target = &o.no_shuffle, .flags = TF_OPT_SEMANTIC,
     .help = "keep the order of the input: for validation"},
    {TF_OPT_INT, 's', "seed", .target = &o.seed, .arg = "N", .def = "1", .lo = 0,
     .hi = 9007199254740992.0, .flags = TF_OPT_SEMANTIC, .help = "of the shuffles"},
    {TF_OPT_INT, .name = "window", .target = &o.window, .arg = "PAIRS", .def = "100000", .lo = 1,
     .hi = 1 << 30, .help = "shuffle within so many pairs when the input is a pipe"},
    {TF_OPT_GROUP, .help = "Pairs left out (lengths without end of sentence)"},
    {TF_OPT_INT, .name = "min-length", .target = &o.min_length, .arg = "N", .def = "1", .lo = 0,
     .hi = 1 << 20, .flags = TF_OPT_SEMANTIC, .help = "with a side shorter than this"},
    {TF_OPT_INT, .name = "max-length", .target = &o.max_length, .arg = "N", .def = "0", .lo = 0,
     .hi = 1 << 20, .flags = TF_OPT_SEMANTIC,
     .help = "with a side longer than this; 0: any length (--as t2t: 255)"},
    {TF_OPT_REAL, .name = "max-ratio", .target = &o.max_ratio, .arg = "X", .def = "0", .lo = 0,
     .hi = 1e6, .flags = TF_OPT_SEMANTIC,
     .help = "with one side more than X (1 or more) times as long as the other; 0: any"},
    {TF_OPT_GROUP, .help = "How much"},
    {TF_OPT_INT, 'e', "epochs", .target = &o.epochs, .arg = "N", .lo = 0, .hi = 1 << 30,
     .help = "so many times through the input; 0: without end; default 1, or 0 with --batches"},
    {TF_OPT_INT, 'b', "batches", .target = &o.batches, .arg = "N", .def = "0", .lo = 0, .hi = 1e15,
     .help = "end after so many batches, counted from the first of epoch 0; 0: no such end"},
    {TF_OPT_STR, .name = "from", .target = &o.from, .arg = "EPOCH:RECORD",
     .help = "begin at this cursor of an earlier run"},
    {TF_OPT_GROUP, .help = "Output"},
    ROW_OUTPUT(o.output),
    {TF_OPT_FLAG, 'q', "quiet", .target = &o.quiet, .help = "no progress and no summary"},
    {.kind = TF_OPT_END},
};

static const struct tf_tool tool = {
    .name = "tf-batch",
    .synopsis = "[options] SOURCE.tfs TARGET.tfs\n[options] [PAIRS.tfs]",
    .summary = "pair, filter, shuffle and pack token streams into batches",
    .opts = opts,
    .max_args = 2,
};

/* Check options that depend on each other, and fill b and f. */
static int resolve_options(struct tf_batcher *b, struct tf_pair_filter *f,
                           const struct tf_args *args, struct tf_err *err)
{
    if (tf_count_stdin(args->v, (size_t)args->n) > 1)
        return tf_fail_status(err, TF_USAGE, "both sides can't be stdin");
    if (o.as == 1 && o.no_shuffle)
        return tf_fail_status(err, TF_USAGE,
                              "--as t2t sorts by length and does not go with --no-shuffle");
    if (o.max_ratio > 0 && o.max_ratio < 1)
        return tf_fail_status(err, TF_USAGE, "--max-ratio %g: no pair has less than 1",
                              o.max_ratio);
    if (!tf_opt_find(opts, "epochs")->set)
        o.epochs = o.batches > 0 ? 0 : 1;
    if (o.as == 1 && !tf_opt_find(opts, "max-length")->set)
        o.max_length = 255;
    *b = (struct tf_batcher){.opts = {.tokens = (uint64_t)o.tokens,
                                      .max_sentences = (uint64_t)o.max_sentences,
                                      .padded = o.as == 1,
                                      .shuffle = !o.no_shuffle,
                                      .seed = (uint64_t)o.seed},
                             .window = (size_t)o.window,
                             .epochs = (uint64_t)o.epochs,
                             .batches = (uint64_t)o.batches};
    *f = (struct tf_pair_filter){.min = (size_t)o.min_length,
                                 .max = (size_t)o.max_length,
                                 .ratio = o.max_ratio,
                                 .budget = (size_t)o.tokens};
    return o.from == NULL || tf_batcher_from(b, o.from, err) == 0
               ? 0
               : tf_context(err, "--from %s", o.from);
}

int main(int argc, char **argv)
{
    static const char *const std_in[] = {"-"};
    struct tf_err err = {0};
    struct tf_args args;
    struct tf_batcher b;
    struct tf_pair_filter filter;
    struct tf_corpus c = {0};
    struct tf_out out = {0};
    struct tf_progress progress;
    if (tf_opt_parse(&tool, argc, argv, &args, &err) < 0 ||
        resolve_options(&b, &filter, &args, &err) < 0)
        return tf_finish(-1, &err);
    if (o.epochs == 0)
        /* The reader of an endless stream decides when it ends: EPIPE below is success. */
        signal(SIGPIPE, SIG_IGN);
    tf_progress_begin(&progress, false, o.quiet);
    b.progress = &progress;
    int rc =
        tf_corpus_open(&c, args.n > 0 ? args.v : std_in, args.n > 0 ? args.n : 1, &filter, &err);
    if (rc == 0 && !c.files && o.epochs != 1 && tf_opt_find(opts, "epochs")->set)
        rc = tf_fail_status(&err, TF_USAGE, "--epochs %lld: a pipe can be read only once",
                            (long long)o.epochs);
    if (rc == 0 && !c.files)
        b.epochs = 1;
    if (rc == 0)
        rc = tf_out_open(&out, o.output, TF_OUT_BINARY, &err);
    if (rc == 0)
        rc = tf_batcher_run(&b, &c, opts, &out, &err);
    if (rc == 0)
        rc = tf_out_commit(&out, &err);
    tf_progress_end(&progress);
    if (rc < 0 && err.sys == EPIPE && o.epochs == 0) {
        err = (struct tf_err){0};
        rc = 0;
    }
    if (rc == 0 && !o.quiet)
        tf_batcher_summary(&b, &c);
    tf_out_abort(&out);
    tf_corpus_release(&c);
    return tf_finish(rc, &err);
}
