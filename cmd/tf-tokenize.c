/* tf-tokenize - text to token streams and back, and the training of vocabularies. */
#include "base/thread.h"
#include "text/tokenize.h"
#include "text/vocab_train.h"
#include "modes.h"
#include "rows.h"

#include <string.h>

static struct {
    const char *model, *output;
    bool decode, train, export_vocab, pieces, nbest_out;
    int64_t threads, max_line, seed, nbest_size;
    int bad;
    bool crlf, replace_invalid, sample;
    double alpha;
    int64_t vocab_size, max_sentences, max_sentence_length;
    int type, normalization;
    bool split_digits, byte_fallback, keep_spaces, verbose;
    double coverage;
} o;

static const char *const type_words[] = {"unigram", "bpe", NULL};
static const char *const rule_words[] = {"nmt_nfkc", "nfkc",     "nmt_nfkc_cf",
                                         "nfkc_cf",  "identity", NULL};

static struct tf_opt opts[] = {
    {TF_OPT_GROUP, .help = "What to do (without one of these: text to a token stream)"},
    {TF_OPT_FLAG, 'd', "decode", .target = &o.decode,
     .help = "token stream or n-best lists to text"},
    {TF_OPT_FLAG, .name = "train", .target = &o.train,
     .help = "train a vocabulary on the text files"},
    {TF_OPT_FLAG, .name = "pieces", .target = &o.pieces, .help = "text to lines of pieces"},
    {TF_OPT_FLAG, .name = "export-vocab", .target = &o.export_vocab,
     .help = "print the vocabulary: piece, tab, score"},
    {TF_OPT_GROUP, .help = "In general"},
    {TF_OPT_STR, 'm', "model", .target = &o.model, .arg = "FILE", .flags = TF_OPT_FILE,
     .help = "vocabulary: a SentencePiece model, or a model or checkpoint of tf-train"},
    ROW_OUTPUT(o.output),
    {TF_OPT_INT, .name = "threads", .target = &o.threads, .arg = "N", .lo = 1, .hi = 64,
     .help = "threads; default: the CPUs at hand; the output is the same for any number"},
    ROW_BAD(o.bad, "bad lines"),
    {TF_OPT_GROUP, .help = "Text to ids"},
    {TF_OPT_INT, .name = "max-line", .target = &o.max_line, .arg = "BYTES", .def = "16777216",
     .lo = 1, .hi = 1 << 28, .flags = TF_OPT_SEMANTIC,
     .help = "a longer line becomes a bad record"},
    {TF_OPT_FLAG, .name = "crlf", .target = &o.crlf, .flags = TF_OPT_SEMANTIC,
     .help = "drop a carriage return at the end of a line"},
    {TF_OPT_FLAG, .name = "replace-invalid", .target = &o.replace_invalid, .flags = TF_OPT_SEMANTIC,
     .help = "invalid UTF-8 becomes U+FFFD instead of a bad record"},
    {TF_OPT_FLAG, .name = "sample", .target = &o.sample, .flags = TF_OPT_SEMANTIC,
     .help = "random segmentations (subword regularisation, BPE dropout)"},
    {TF_OPT_REAL, .name = "alpha", .target = &o.alpha, .arg = "X", .def = "0.1", .lo = 0, .hi = 100,
     .flags = TF_OPT_SEMANTIC,
     .help = "--sample: smoothing (unigram) or share of merges left out (bpe, at most 1)"},
    {TF_OPT_INT, .name = "nbest-size", .target = &o.nbest_size, .arg = "N", .def = "0", .lo = 0,
     .hi = 512, .flags = TF_OPT_SEMANTIC,
     .help = "--sample, unigram: from the N best; 0: from all segmentations"},
    {TF_OPT_INT, .name = "seed", .target = &o.seed, .arg = "N", .def = "1", .lo = 0,
     .hi = 2147483647, .flags = TF_OPT_SEMANTIC, .help = "of --sample, and of --max-sentences"},
    {TF_OPT_GROUP, .help = "Ids to text"},
    {TF_OPT_FLAG, .name = "nbest", .target = &o.nbest_out,
     .help = "every hypothesis: idx, rank, score and text with tabs between"},
    {TF_OPT_GROUP, .help = "Training"},
    {TF_OPT_INT, .name = "vocab-size", .target = &o.vocab_size, .arg = "N", .def = "8000", .lo = 5,
     .hi = 1 << 24, .help = "pieces, special ones included"},
    {TF_OPT_CHOICE, .name = "type", .target = &o.type, .arg = "WORD", .def = "unigram",
     .choices = type_words, .help = "kind of vocabulary"},
    {TF_OPT_FLAG, .name = "split-digits", .target = &o.split_digits,
     .help = "every digit is a piece of its own"},
    {TF_OPT_FLAG, .name = "byte-fallback", .target = &o.byte_fallback,
     .help = "unknown characters become pieces of one byte"},
    {TF_OPT_FLAG, .name = "keep-spaces", .target = &o.keep_spaces,
     .help = "keep leading, trailing and repeated spaces"},
    {TF_OPT_CHOICE, .name = "normalization", .target = &o.normalization, .arg = "WORD",
     .def = "nmt_nfkc", .choices = rule_words, .help = "of the text; rules in _cf fold case"},
    {TF_OPT_REAL, .name = "character-coverage", .target = &o.coverage, .arg = "X", .def = "0.9995",
     .lo = 0.98, .hi = 1, .help = "share of all characters that get a piece"},
    {TF_OPT_INT, .name = "max-sentences", .alias = "input-sentence-size",
     .target = &o.max_sentences, .arg = "N", .def = "0", .lo = 0, .hi = 1e12,
     .help = "train on a random sample of so many lines; 0: on all"},
    {TF_OPT_INT, .name = "max-sentence-length", .target = &o.max_sentence_length, .arg = "BYTES",
     .def = "4192", .lo = 10, .hi = 1 << 20, .help = "longer lines are left out"},
    {TF_OPT_FLAG, .name = "verbose", .target = &o.verbose, .help = "show the trainer's own log"},
    {.kind = TF_OPT_END},
};

static const struct tf_tool tool = {
    .name = "tf-tokenize",
    .synopsis = "-m FILE [options] [TEXT] >tokens.tfs\n-d -m FILE [options] [tokens.tfs] "
                ">TEXT\n--train --vocab-size N -o FILE [options] TEXT...",
    .summary = "text to token streams and back, with SentencePiece vocabularies",
    .opts = opts,
    .max_args = -1,
};

static int train(const struct tf_args *args, struct tf_out *out, struct tf_err *err)
{
    static const char *const std_in[] = {"-"};
    struct tf_training_text text = {.paths = args->n > 0 ? args->v : std_in,
                                    .n = args->n > 0 ? args->n : 1,
                                    .max = (size_t)o.max_sentence_length,
                                    .crlf = o.crlf,
                                    .sample = (size_t)o.max_sentences,
                                    .seed = (uint64_t)o.seed};
    struct tf_sp_train t = {
        .size = o.vocab_size,
        .bpe = o.type == 1,
        .coverage = o.coverage,
        .split_digits = o.split_digits,
        .byte_fallback = o.byte_fallback,
        .keep_spaces = o.keep_spaces,
        .normalization = rule_words[o.normalization],
        .max_bytes = o.max_sentence_length,
        .verbose = o.verbose,
    };
    return tf_vocab_train(&t, &text, out, err);
}

static int convert(const struct tf_vocab *v, const char *path, struct tf_out *out,
                   struct tf_err *err)
{
    struct tf_tokenize t = {
        .vocab = v,
        .threads = o.threads > 0 ? (int)o.threads : tf_threads_default(),
        .bad = o.bad,
        .max_line = (size_t)o.max_line,
        .crlf = o.crlf,
        .replace_invalid = o.replace_invalid,
        .sample = o.sample,
        .alpha = o.alpha,
        .nbest = (int)o.nbest_size,
        .seed = (uint64_t)o.seed,
        .all = o.nbest_out,
    };
    struct tf_in in;
    if (tf_in_open(&in, path, err) < 0)
        return -1;
    int rc = o.decode   ? tf_tokenize_decode(&t, &in, out, err)
             : o.pieces ? tf_tokenize_pieces(&t, &in, out, err)
                        : tf_tokenize_encode(&t, &in, opts, out, err);
    tf_in_close(&in);
    return rc;
}

enum { TO_IDS = 1, TO_SAMPLES = 2, TO_TEXT = 4, TRAIN = 8, EXPORT = 16 };

static const struct mode_row modes[] = {
    {TO_IDS | TO_SAMPLES, "text to ids", {"max-line", "replace-invalid", "sample"}},
    {TO_IDS | TO_SAMPLES | TRAIN, "text to ids and --train", {"crlf"}},
    {TO_IDS | TO_SAMPLES | TO_TEXT, "text to ids and back", {"bad"}},
    {TO_SAMPLES, "--sample", {"alpha", "nbest-size"}},
    {TO_TEXT, "--decode", {"nbest"}},
    {TRAIN,
     "--train",
     {"vocab-size", "type", "split-digits", "byte-fallback", "keep-spaces", "normalization",
      "character-coverage", "max-sentences", "max-sentence-length", "verbose"}},
    {0},
};

/* Do the options go together? */
static int check(const struct tf_args *args, struct tf_err *err)
{
    if (o.train + o.decode + o.pieces + o.export_vocab > 1)
        return tf_fail_status(err, TF_USAGE,
                              "one of --decode, --train, --pieces and --export-vocab at a time");
    if (o.train && o.model != NULL)
        return tf_fail_status(err, TF_USAGE, "--train makes a vocabulary: it takes no --model");
    if (!o.train && o.model == NULL)
        return tf_fail_status(err, TF_USAGE, "--model is missing: the vocabulary to use");
    if (!o.train && args->n > (o.export_vocab ? 0 : 1))
        return tf_fail_status(err, TF_USAGE, "%s: one operand too many",
                              args->v[o.export_vocab ? 0 : 1]);
    if (!o.train && !o.export_vocab && strcmp(o.model, "-") == 0 &&
        (args->n == 0 || strcmp(args->v[0], "-") == 0))
        return tf_fail_status(err, TF_USAGE, "the vocabulary and the input can't both be stdin");
    return check_modes(opts, modes,
                       o.train          ? TRAIN
                       : o.decode       ? TO_TEXT
                       : o.export_vocab ? EXPORT
                       : o.sample       ? TO_SAMPLES
                                        : TO_IDS,
                       err);
}

int main(int argc, char **argv)
{
    struct tf_err err = {0};
    struct tf_args args;
    struct tf_out out = {0};
    struct tf_vocab vocab = {0};
    if (tf_opt_parse(&tool, argc, argv, &args, &err) < 0 || check(&args, &err) < 0)
        return tf_finish(-1, &err);
    bool text = o.decode || o.pieces || o.export_vocab;
    const char *path = args.n > 0 ? args.v[0] : "-";
    int rc = o.train ? 0 : tf_vocab_load(&vocab, o.model, &err);
    if (rc == 0)
        rc = tf_out_open(&out, o.output, text ? 0 : TF_OUT_BINARY, &err);
    if (rc == 0)
        rc = o.train          ? train(&args, &out, &err)
             : o.export_vocab ? tf_vocab_export(&vocab, &out, &err)
                              : convert(&vocab, path, &out, &err);
    /* what was done so far is still good; err says why there is no more */
    rc = tf_out_finish(&out, rc, &err);
    tf_vocab_release(&vocab);
    return tf_finish(rc, &err);
}
