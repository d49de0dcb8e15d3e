/* tf-tokenize - text to token streams and back; training of vocabularies. */
#include "base/copies.h"
#include "base/log.h"
#include "base/sandbox.h"
#include "base/thread.h"
#include "common_options.h"
#include "text/text_file.h"
#include "text/tokenize.h"
#include "text/vocab_train.h"

enum { ENCODE = 1, DECODE = 2, TRAIN = 4, PIECES = 8, EXPORT = 16 };

static const char *model, *output, *alignment, *alignment_output;
static struct tf_links links;
static struct tf_tokenize job;
static struct tf_sp_train trainer;
static struct tf_strs symbols;
static const char *fields;
static bool chosen_fields[TF_TRAINING_FIELDS];
static int64_t phrases, max_sentences;
static int type, normalization;
static bool copies, head, quiet;

enum { UNIGRAM, BPE };
static const char *const types[] = {"unigram", "bpe", NULL};
static const char *const normalizations[] = {"nmt_nfkc", "nfkc",     "nmt_nfkc_cf",
                                             "nfkc_cf",  "identity", NULL};

static struct tf_opt opts[] = {
    OPT_GROUP("Mode (default: encode text as a token stream)"),
    OPT_MODE('d', "decode", DECODE, .help = "convert a token or n-best stream to text"),
    OPT_MODE(0, "train", TRAIN, .help = "train a vocabulary on text files"),
    OPT_MODE(0, "pieces", PIECES, .help = "convert text to lines of pieces"),
    OPT_MODE(0, "export-vocab", EXPORT, .help = "print the vocabulary: piece, tab, score"),
    OPT_GROUP("General"),
    OPT_STR('m', "model", &model, .arg = "FILE", .flags = TF_OPT_FILE,
            .help = "vocabulary: a SentencePiece model, or a model or checkpoint of tf-train"),
    COMMON_OUTPUT(&output),
    OPT_INT(0, "threads", &job.threads, .arg = "N", .lo = 1, .hi = TF_THREADS_MAX,
            .modes = ENCODE | PIECES | DECODE,
            .help = "number of threads; does not change the output (default: the available CPUs)"),
    COMMON_BAD(&job.bad, "bad lines", .modes = ENCODE | PIECES | DECODE),
    COMMON_QUIET(&quiet, .excludes = "list-unknown verbose"),
    OPT_FLAG(0, "copies", &copies, .modes = DECODE, .flags = TF_OPT_HIDDEN),
    OPT_FLAG(0, "head", &head, .modes = ENCODE | DECODE, .flags = TF_OPT_HIDDEN),
    OPT_GROUP("Encoding"),
    OPT_FLAG(0, "target", &job.target, .flags = TF_OPT_SEMANTIC, .modes = ENCODE | PIECES,
             .help = "the text is of the target language: use the model's segmenter of that, if it "
                     "has one of its own"),
    OPT_STR(0, "begin", &job.begin, .arg = "PIECE", .flags = TF_OPT_SEMANTIC,
            .modes = ENCODE | PIECES,
            .help =
                "put the piece with this text, such as the tag of a language, before each line"),
    OPT_STR(0, "lang", &job.lang, .arg = "LABEL", .flags = TF_OPT_SEMANTIC, .modes = ENCODE,
            .help = "write this label of the language, such as en, to the header; later tools "
                    "compare it"),
    OPT_INT(0, "max-line", &job.max_line, .arg = "BYTES", .def = "16777216", .lo = 1, .hi = 1 << 28,
            .flags = TF_OPT_SEMANTIC, .modes = ENCODE | PIECES,
            .help = "replace a longer line by a bad record"),
    OPT_FLAG(0, "crlf", &job.crlf, .flags = TF_OPT_SEMANTIC, .modes = ENCODE | PIECES | TRAIN,
             .help = "strip a carriage return at the end of a line"),
    OPT_STR(0, "field", &fields, .arg = "N", .flags = TF_OPT_SEMANTIC,
            .modes = ENCODE | PIECES | TRAIN,
            .help = "use this field of lines with tabs; --train: also several, such as 1,2"),
    OPT_INT(0, "phrases", &phrases, .arg = "N", .lo = 1, .hi = 1 << 20, .modes = PIECES,
            .excludes = "field begin",
            .help = "fields from the Nth on are phrases, each in pieces of its own; those before "
                    "stay as they are"),
    OPT_FLAG(0, "replace-invalid", &job.replace_invalid, .flags = TF_OPT_SEMANTIC,
             .modes = ENCODE | PIECES,
             .help = "replace invalid UTF-8 by U+FFFD instead of writing a bad record"),
    OPT_FLAG(0, "list-unknown", &job.list_unknown, .modes = ENCODE,
             .help = "print a note at the end of the characters that the vocabulary lacks"),
    OPT_FLAG(0, "sample", &job.sample, .flags = TF_OPT_SEMANTIC, .modes = ENCODE | PIECES,
             .help = "sample segmentations (subword regularisation, BPE dropout)"),
    OPT_REAL(0, "alpha", &job.alpha, .arg = "X", .def = "0.1", .lo = 0, .hi = 100,
             .flags = TF_OPT_SEMANTIC, .needs = "sample",
             .help = "--sample: smoothing (unigram), or share of skipped merges, at most 1 (bpe)"),
    OPT_INT(0, "nbest-size", &job.nbest, .arg = "N", .def = "0", .lo = 0, .hi = 512,
            .flags = TF_OPT_SEMANTIC, .needs = "sample",
            .help = "--sample, unigram: choose from the N best segmentations; 0: from all"),
    OPT_INT(0, "seed", &job.seed, .arg = "N", .def = "1", .lo = 0, .hi = 2147483647,
            .modes = ENCODE | PIECES | TRAIN, .flags = TF_OPT_SEMANTIC,
            .help = "random seed of --sample and --max-sentences"),
    OPT_GROUP("Decoding"),
    OPT_FLAG(0, "nbest", &job.all, .modes = DECODE,
             .help = "print every hypothesis: idx, rank, score and text, separated by tabs"),
    OPT_FLAG(0, "json", &job.json, .modes = DECODE, .excludes = "moses",
             .help = "print a JSON object for each record: line, status, score, text or reason"),
    OPT_FLAG(0, "moses", &job.moses, .needs = "nbest",
             .help = "--nbest: in the form of Moses, \"idx ||| text ||| F0= log P ||| score\""),
    OPT_STR(0, "alignment", &alignment, .arg = "WORD", .modes = DECODE,
            .choices = (const char *const[]){"hard", "soft", NULL},
            .help = "print alignments of words after the text: hard (0-0 1-2), soft, or links of "
                    "more than a number up to 1"),
    OPT_FLAG(0, "alignment-pieces", &links.pieces, .needs = "alignment",
             .help = "of pieces and the end in place of words, as Marian does"),
    OPT_FLAG(0, "alignment-unknown", &links.unknown, .needs = "alignment",
             .excludes = "alignment-pieces",
             .help = "after the links, source words with unknown pieces: ?WORD:BEFORE:AFTER, bytes "
                     "of known ones around those"),
    OPT_STR(0, "alignment-output", &alignment_output, .arg = "FILE",
            .flags = TF_OPT_FILE | TF_OPT_OUT, .needs = "alignment", .excludes = "json",
            .help = "write alignments to FILE, a line for each line of text"),
    OPT_GROUP("Training"),
    OPT_INT(0, "vocab-size", &trainer.size, .arg = "N", .def = "8000", .lo = 5, .hi = 1 << 22,
            .modes = TRAIN, .help = "number of pieces, including special ones"),
    OPT_CHOICE(0, "type", &type, types, .arg = "WORD", .def = "unigram", .modes = TRAIN,
               .help = "kind of vocabulary"),
    OPT_LIST(0, "symbol", &symbols, .arg = "TEXT", .modes = TRAIN,
             .help = "make TEXT a piece that is never split or normalised, such as a tag <2de>; "
                     "repeat for several"),
    OPT_FLAG(0, "split-digits", &trainer.split_digits, .modes = TRAIN,
             .help = "make every digit a piece of its own"),
    OPT_FLAG(0, "mixed-scripts", &trainer.mixed_scripts, .modes = TRAIN,
             .help = "let a piece mix scripts, and letters with signs, as in (NP"),
    OPT_FLAG(0, "byte-fallback", &trainer.byte_fallback, .modes = TRAIN,
             .help = "split unknown characters into byte pieces"),
    OPT_FLAG(0, "keep-spaces", &trainer.keep_spaces, .modes = TRAIN,
             .help = "keep leading, trailing and repeated spaces"),
    OPT_CHOICE(0, "normalization", &normalization, normalizations, .arg = "WORD", .def = "nmt_nfkc",
               .modes = TRAIN, .help = "normalization of the text; _cf also folds case"),
    OPT_REAL(0, "character-coverage", &trainer.coverage, .arg = "X", .def = "0.9995", .lo = 0.98,
             .hi = 1, .modes = TRAIN, .help = "share of all characters that get a piece"),
    OPT_INT(0, "max-sentences", &max_sentences, .alias = "input-sentence-size", .arg = "N",
            .def = "0", .lo = 0, .hi = 1e12, .modes = TRAIN,
            .help = "train on a random sample of N lines; 0: on all"),
    OPT_INT(0, "max-sentence-length", &trainer.max_bytes, .arg = "BYTES", .def = "4192", .lo = 10,
            .hi = 1 << 20, .modes = TRAIN, .help = "skip longer lines"),
    OPT_FLAG(0, "verbose", &trainer.verbose, .modes = TRAIN, .help = "show the log of the trainer"),
    OPT_END,
};

static void widen(const struct tf_args *args, struct tf_sandbox *sandbox)
{
    (void)args;
    sandbox->copies = copies;
}

static const struct tf_tool tool = {
    .name = "tf-tokenize",
    .synopsis = "-m FILE [options] [TEXT] >tokens.tfs\n-d -m FILE [options] [tokens.tfs] "
                ">TEXT\n--train [options] [TEXT...] >FILE",
    .summary = "convert text to token streams and back with SentencePiece vocabularies",
    .opts = opts,
    .max_args = -1,
    .default_mode = "encoding",
    .stdin_modes = ~(unsigned)EXPORT,
    .widen = widen,
};

static int train(const struct tf_args *args, struct tf_out *out, struct tf_err *err)
{
    struct tf_training_text text = {.paths = args->v,
                                    .n = args->n,
                                    .max = (size_t)trainer.max_bytes,
                                    .crlf = job.crlf,
                                    .fields = fields != NULL ? chosen_fields : NULL,
                                    .sample = (size_t)max_sentences,
                                    .seed = (uint64_t)job.seed};
    trainer.bpe = type == BPE;
    trainer.symbols = symbols.v;
    trainer.n_symbols = symbols.n;
    trainer.normalization = normalizations[normalization];
    return tf_vocab_train(&trainer, &text, out, err);
}

static int open_input(struct tf_in *in, unsigned mode, const struct tf_args *args,
                      struct tf_err *err)
{
    if (mode == EXPORT)
        return 0;
    return mode == DECODE ? tf_in_open(in, args->v[0], err)
                          : tf_text_open(in, args->v[0], TF_TEXT_AS_IS, err);
}

/* What --alignment needs besides. */
static int open_links(struct tf_out *out, struct tf_err *err)
{
    if (tf_links_parse(&links, alignment, err) != 0 ||
        (alignment_output != NULL && tf_out_open(out, alignment_output, 0, err) != 0))
        return -1;
    if (links.unknown && links.soft)
        return tf_fail_status(err, TF_USAGE, "--alignment-unknown needs --alignment hard");
    job.links = &links;
    job.links_out = alignment_output != NULL ? out : NULL;
    return 0;
}

static int convert(const struct tf_vocab *v, unsigned mode, struct tf_in *in, struct tf_out *out,
                   struct tf_err *err)
{
    job.vocab = v;
    return mode == EXPORT   ? tf_vocab_export(v, out, err)
           : mode == DECODE ? tf_tokenize_decode(&job, in, out, err)
           : mode == PIECES ? tf_tokenize_pieces(&job, in, out, err)
                            : tf_tokenize_encode(&job, in, opts, out, err);
}

/* In a copy: what it does. One at the beginning of its pipe encodes, with the defaults of that. */
static unsigned copy_mode(const struct tf_vocab **v)
{
    if (tf_copies_make() > 0)
        return DECODE;
    *v = (*v)->source != NULL ? (*v)->source : *v;
    return ENCODE;
}

static int parse_vocab(struct tf_vocab *v, unsigned mode, struct tf_err *err)
{
    const bool sources = copies || (mode == ENCODE && !job.sample);
    const enum tf_vocab_use use = sources && v->source == NULL       ? TF_VOCAB_ENCODES
                                  : mode == DECODE || mode == EXPORT ? TF_VOCAB_DECODES
                                                                     : TF_VOCAB_SAMPLES;
    if (tf_vocab_parse(v, use, model, err) != 0)
        return -1;
    return v->source != NULL && (copies || job.links != NULL)
               ? tf_vocab_parse(v->source, copies ? TF_VOCAB_ENCODES : TF_VOCAB_DECODES, model, err)
               : 0;
}

/* All files are open before SentencePiece sees the vocabulary, so that nothing else can be opened
 * from then on; of copies, each has a stdin of its own. */
static int use_vocab(const struct tf_args *args, struct tf_err *err)
{
    struct tf_vocab vocab;
    struct tf_out out = {0}, more = {0};
    struct tf_in in = {.fd = -1};
    const struct tf_vocab *v = &vocab;
    unsigned mode = args->mode;
    job.phrases = (size_t)phrases;
    if (copies)
        tf_copies_await();
    if (tf_vocab_read(&vocab, model, job.target || args->mode == DECODE, head, err) < 0)
        return -1;
    int rc = tf_out_open(&out, output, args->mode == ENCODE ? TF_OUT_BINARY : 0, err);
    if (rc == 0 && alignment != NULL)
        rc = open_links(&more, err);
    if (rc == 0 && !copies)
        rc = open_input(&in, mode, args, err);
    (void)tf_sandbox_seal();
    if (rc == 0)
        rc = parse_vocab(&vocab, mode, err);
    if (rc == 0 && copies) {
        mode = copy_mode(&v);
        rc = open_input(&in, mode, args, err);
    }
    if (rc == 0)
        rc = convert(v, mode, &in, &out, err);
    tf_in_close(&in);
    if (job.links_out != NULL)
        rc = tf_out_finish(&more, rc, err);
    rc = tf_out_finish(&out, rc, err);
    tf_vocab_release(&vocab);
    return rc;
}

static int check(const struct tf_args *args, struct tf_err *err)
{
    int most = args->mode == EXPORT ? 0 : 1;
    char label[TF_LANG_MAX + 1];
    if (tf_lang_option(label, "lang", job.lang, err) != 0)
        return -1;
    if (args->mode == TRAIN)
        return model == NULL
                   ? 0
                   : tf_fail_status(err, TF_USAGE, "--train and --model cannot be used together");
    if (model == NULL)
        return tf_fail_status(err, TF_USAGE, "-m FILE is required");
    return args->n <= most ? 0
                           : tf_fail_status(err, TF_USAGE, "unexpected operand '%s' (try --help)",
                                            args->v[most]);
}

static int run(const struct tf_args *args, struct tf_err *err)
{
    if (quiet)
        tf_notes_off();
    if (check(args, err) != 0 ||
        (fields != NULL &&
         tf_training_fields(chosen_fields, &job.field, fields, args->mode == TRAIN, err) != 0))
        return -1;
    if (args->mode != TRAIN)
        return use_vocab(args, err);
    struct tf_out out;
    if (tf_out_open(&out, output, TF_OUT_BINARY, err) != 0)
        return -1;
    return tf_out_finish(&out, train(args, &out, err), err);
}

int main(int argc, char **argv)
{
    return tf_tool_main(&tool, argc, argv, run);
}
