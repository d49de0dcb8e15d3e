/* tf-batch - pair, filter, shuffle and pack token streams into batches. */
#include "common_options.h"
#include "base/path.h"
#include "base/sandbox.h"
#include "data/batcher.h"
#include "train/settings/presets.h"

enum { FILES = 1, LIST = 2, CORPORA = 4 };
enum { PAPER, T2T };
static const char *const dialects[] = {"paper", "t2t", NULL};

static struct {
    const char *output, *from, *preset, *list, *links, *weights;
    int64_t tokens, max_sentences, min_length, max_length, seed;
    int64_t epochs, first_epoch, batches, window, group;
    double max_ratio;
    int as;
    bool no_shuffle, quiet;
    struct tf_strs mix;
} o;

static struct tf_opt opts[] = {
    OPT_GROUP("Batches"),
    OPT_INT('t', "tokens", &o.tokens, .arg = "N", .def = "25000", .lo = 2, .hi = 1 << 20,
            .flags = TF_OPT_SEMANTIC,
            .help = "maximum tokens per batch on each side, including end of sentence"),
    OPT_STR(0, "preset", &o.preset, .arg = "NAME", .choices = tf_presets,
            .help = "take the default of --tokens from this preset of tf-train"),
    OPT_INT(0, "max-sentences", &o.max_sentences, .arg = "N", .def = "0", .lo = 0, .hi = 1 << 20,
            .flags = TF_OPT_SEMANTIC, .help = "maximum pairs per batch; 0: no limit"),
    OPT_CHOICE(0, "as", &o.as, dialects, .arg = "WORD", .def = "paper", .flags = TF_OPT_SEMANTIC,
               .help = "what --tokens counts: tokens (paper), or tokens padded to length buckets "
                       "(t2t)"),
    OPT_FLAG(0, "no-shuffle", &o.no_shuffle, .flags = TF_OPT_SEMANTIC, .modes = FILES,
             .excludes = "as=t2t", .help = "keep the order of the input, as for validation data"),
    OPT_INT('s', "seed", &o.seed, .arg = "N", .def = "1", .lo = 0, .hi = TF_SEED_MAX,
            .flags = TF_OPT_SEMANTIC, .help = "random seed for shuffling"),
    OPT_INT(0, "window", &o.window, .arg = "PAIRS", .def = "100000", .lo = 1, .hi = 1 << 30,
            .modes = FILES, .help = "shuffle within windows of this size if the input is a pipe"),
    OPT_STR(0, "links", &o.links, .arg = "FILE", .flags = TF_OPT_FILE,
            .modes = FILES | CORPORA,
            .help = "links of pieces of each pair, a line 0-0 1-2 for each record, for tf-train "
                    "--guided-alignment"),
    OPT_STR(0, "weights", &o.weights, .arg = "FILE", .flags = TF_OPT_FILE,
            .modes = FILES | CORPORA,
            .help = "weights of the pairs in the loss of tf-train, a decimal number for each "
                    "record"),
    OPT_GROUP("Several corpora"),
    OPT_LIST('w', "corpus-weight", &o.mix, .arg = "X", .selects = CORPORA,
             .flags = TF_OPT_PLACED,
             .help = "the files that follow, SOURCE and TARGET or PAIRS, come X times in an epoch"),
    OPT_GROUP("Many files"),
    OPT_STR(0, "list", &o.list, .arg = "FILE", .flags = TF_OPT_FILE, .selects = LIST,
            .help = "read the files listed in FILE: on each line a pair stream, or source and "
                    "target with a tab between, then perhaps a tab and a weight"),
    OPT_INT(0, "group", &o.group, .arg = "K", .def = "0", .lo = 0, .hi = 1 << 30, .modes = LIST,
            .help =
                "read K files at a time into memory and shuffle within them; 0: as many as have "
                "at most 8 million records together, whichever they are"),
    OPT_GROUP("Filters (lengths without end of sentence)"),
    OPT_INT(0, "min-length", &o.min_length, .arg = "N", .def = "1", .lo = 0, .hi = 1 << 20,
            .flags = TF_OPT_SEMANTIC, .help = "drop pairs with a shorter side"),
    OPT_INT(0, "max-length", &o.max_length, .arg = "N", .def = "0", .lo = 0, .hi = 1 << 20,
            .flags = TF_OPT_SEMANTIC,
            .help = "drop pairs with a longer side; 0: no limit (--as t2t: 255)"),
    OPT_REAL(0, "max-ratio", &o.max_ratio, .arg = "X", .def = "0", .lo = 0, .hi = 1e6,
             .flags = TF_OPT_SEMANTIC,
             .help = "drop pairs with one side more than X times as long as the other (1 or more); "
                     "0: no limit"),
    OPT_GROUP("Amount"),
    OPT_INT('e', "epochs", &o.epochs, .arg = "N", .lo = 0, .hi = 1 << 30,
            .help = "number of passes over the input; 0: endless (default 1, or 0 with --batches)"),
    OPT_INT(0, "first-epoch", &o.first_epoch, .arg = "N", .lo = 0, .hi = 1 << 30,
            .flags = TF_OPT_SEMANTIC,
            .help = "number of the first pass: its shuffle is that of this epoch (default 0)"),
    OPT_INT('b', "batches", &o.batches, .arg = "N", .def = "0", .lo = 0, .hi = 1e15,
            .help = "stop after N batches, counted from the first of the first epoch; 0: no limit"),
    OPT_STR(0, "from", &o.from, .arg = "EPOCH:RECORD",
            .help = "start at this cursor of an earlier run; with --list or --corpus-weight "
                    "EPOCH:GROUP:RECORD:ORDINAL"),
    OPT_GROUP("Output"),
    COMMON_OUTPUT(&o.output),
    OPT_FLAG('q', "quiet", &o.quiet, .help = "show no progress and no summary"),
    OPT_END,
};

/* The list is read before the sandbox is entered, which must have its files. */
static struct {
    struct tf_list files;
    int rc;
    struct tf_err err;
} list;

static void widen(const struct tf_args *args, struct tf_sandbox *sandbox)
{
    if (args->mode != LIST || args->n > 0)
        return;
    list.rc = tf_list_read(&list.files, o.list, &list.err);
    for (size_t i = 0; list.rc == 0 && i < list.files.n; i++)
        for (int k = 0; k < list.files.streams; k++)
            tf_strs_add(&sandbox->read, list.files.lines[i].path[k]);
}

static const struct tf_tool tool = {
    .name = "tf-batch",
    .synopsis = "[options] SOURCE.tfs TARGET.tfs\n"
                "[options] [PAIRS.tfs]\n"
                "[options] -w X SOURCE.tfs TARGET.tfs -w X SOURCE.tfs TARGET.tfs ...\n"
                "[options] --list FILE",
    .summary = "pair, filter, shuffle and pack token streams into batches",
    .opts = opts,
    .max_args = -1,
    .default_mode = "one corpus of the command line",
    .stdin_modes = FILES,
    .widen = widen,
};

/* The files between one -w and the next. Those before the first have the weight 1. */
static int take_corpus(const struct tf_args *args, size_t from, size_t to, const char *text,
                       struct tf_err *err)
{
    uint32_t weight = TF_MIX_ONE;
    struct tf_err why = {0};
    if (text != NULL && tf_mix_parse(&weight, text, &why) != 0)
        return tf_fail(err, "--corpus-weight %s", why.msg);
    if (to == from)
        return tf_fail(err, "--corpus-weight %s: no file follows", text);
    if (to > from + 2)
        return tf_fail(err, "'%s': a third file of one corpus; each begins with --corpus-weight",
                       args->v[from + 2]);
    return tf_list_add(&list.files, args->v[from], to == from + 2 ? args->v[from + 1] : NULL,
                       weight, err) == 0
               ? 0
               : tf_context(err, "%s", args->v[from]);
}

static int take_corpora(const struct tf_args *args, struct tf_err *err)
{
    const struct tf_strs *w = &o.mix;
    int rc = w->place[0] > 0 ? take_corpus(args, 0, w->place[0], NULL, err) : 0;
    list.files.once = true;
    for (size_t i = 0; rc == 0 && i < w->n; i++)
        rc = take_corpus(args, w->place[i], i + 1 < w->n ? w->place[i + 1] : (size_t)args->n,
                         w->v[i], err);
    if (rc != 0)
        err->status = TF_USAGE;
    return rc;
}

static int take_preset(struct tf_err *err)
{
    struct tf_settings s = {0};
    if (o.preset == NULL)
        return 0;
    if (tf_preset(&s, o.preset, TF_AS_PAPER, err) != 0)
        return -1;
    if (!tf_opt_given(opts, "tokens"))
        o.tokens = s.fit_tokens;
    return 0;
}

/* The options as settings of the library. */
static int configure(struct tf_batcher *b, struct tf_pair_filter *f, unsigned mode,
                     struct tf_err *err)
{
    if (o.max_ratio > 0 && o.max_ratio < 1)
        return tf_fail_status(err, TF_USAGE, "--max-ratio %g: must be 0, or 1 or more",
                              o.max_ratio);
    if (take_preset(err) != 0)
        return -1;
    if (!tf_opt_given(opts, "epochs"))
        o.epochs = o.batches > 0 ? 0 : 1;
    if (o.as == T2T && !tf_opt_given(opts, "max-length"))
        o.max_length = 255;
    *b = (struct tf_batcher){.opts = {.tokens = (uint64_t)o.tokens,
                                      .max_sentences = (uint64_t)o.max_sentences,
                                      .padded = o.as == T2T,
                                      .shuffle = !o.no_shuffle,
                                      .seed = (uint64_t)o.seed},
                             .window = (size_t)o.window,
                             .list = mode != FILES ? &list.files : NULL,
                             .epochs = (uint64_t)o.epochs,
                             .first_epoch = (uint64_t)o.first_epoch,
                             .batches = (uint64_t)o.batches};
    *f = (struct tf_pair_filter){.min = (size_t)o.min_length,
                                 .max = (size_t)o.max_length,
                                 .ratio = o.max_ratio,
                                 .budget = (size_t)o.tokens};
    return o.from == NULL || tf_batcher_from(b, o.from, err) == 0
               ? 0
               : tf_context(err, "--from '%s'", o.from);
}

static int open_corpus(struct tf_corpus *c, const struct tf_args *args,
                       const struct tf_pair_filter *filter, struct tf_err *err)
{
    if (args->mode == LIST && tf_list_has(&list.files, o.output))
        return tf_fail_status(err, TF_USAGE, "%s: is both input and output", o.output);
    if (args->mode != FILES)
        tf_corpus_init(c, list.files.streams, filter);
    else if (tf_corpus_open(c, args->v, args->n, filter, err) != 0)
        return -1;
    if ((o.links != NULL && tf_corpus_open_links(c, o.links, err) != 0) ||
        (o.weights != NULL && tf_corpus_open_weights(c, o.weights, err) != 0))
        return -1;
    return args->mode == FILES ? 0 : tf_list_open(&list.files, c, (size_t)o.group, err);
}

static int run(const struct tf_args *args, struct tf_err *err)
{
    if (args->mode == LIST && args->n > 0)
        return tf_fail_status(err, TF_USAGE, "unexpected operand '%s': --list names the files",
                              args->v[0]);
    if (args->mode == FILES && args->n > 2)
        return tf_fail_status(err, TF_USAGE,
                              "unexpected operand '%s': several corpora need --corpus-weight",
                              args->v[2]);
    if (args->mode == CORPORA && take_corpora(args, err) != 0)
        return -1;
    if (list.rc != 0) {
        *err = list.err;
        return -1;
    }
    struct tf_batcher b;
    struct tf_pair_filter filter;
    struct tf_corpus c = {0};
    struct tf_progress progress;
    if (configure(&b, &filter, args->mode, err) != 0)
        return -1;
    tf_progress_begin(&progress, false, o.quiet);
    b.progress = &progress;
    int rc = open_corpus(&c, args, &filter, err);
    if (rc == 0)
        rc = tf_batcher_write(&b, &c, opts, o.output, err);
    tf_progress_end(&progress);
    if ((rc == 0 || err->status == TF_READER_LEFT) && !o.quiet)
        tf_batcher_summary(&b, &c);
    tf_corpus_release(&c);
    tf_list_release(&list.files);
    return rc;
}

int main(int argc, char **argv)
{
    return tf_tool_main(&tool, argc, argv, run);
}
