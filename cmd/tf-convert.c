/* tf-convert - models to and from other formats and programs. */
#include "base/sandbox.h"
#include "common_options.h"
#include "convert/convert.h"
#include "convert/convert_opts.h"

static struct tf_convert_opts o;
static const char *output;

static struct tf_opt opts[] = {
    OPT_CHOICE(0, "to", &o.to, tf_format_names, .arg = "FORMAT", .def = "auto",
               .help = "output format; auto: by the end of -o, as in m.tfm, else safetensors if "
                       "the input is a tf-tools model, else a tf-tools model"),
    OPT_CHOICE(0, "dtype", &o.dtype, tf_convert_dtypes, .arg = "WORD", .def = "same",
               .flags = TF_OPT_SEMANTIC,
               .help = "data type of the parameters to write; i8: of matrices, for decoding"),
    OPT_STR(0, "config", &o.config, .arg = "FILE", .flags = TF_OPT_FILE,
            .help = "read the configuration as JSON from FILE instead of the input"),
    OPT_STR(0, "vocab", &o.vocab, .arg = "FILE", .flags = TF_OPT_FILE,
            .help = "vocabulary, instead of the input's: a SentencePiece model, or a model or "
                    "checkpoint"),
    OPT_STR(0, "new-vocab", &o.new_vocab, .arg = "FILE", .flags = TF_OPT_FILE | TF_OPT_SEMANTIC,
            .excludes = "vocab",
            .help = "give a model of tf-tools this vocabulary, for training: rows of pieces that "
                    "it has are kept, others are new"),
    OPT_STR(0, "pieces", &o.pieces, .arg = "FILE", .flags = TF_OPT_FILE, .needs = "vocab",
            .help = "Marian: its list of pieces and ids (vocab.yml), if they are not --vocab's"),
    OPT_STR(0, "vocab-target", &o.vocab_target, .arg = "FILE", .flags = TF_OPT_FILE,
            .needs = "vocab",
            .help = "Marian: the SentencePiece model of the target, if it is not --vocab"),
    OPT_CHOICE(0, "positions", &o.positions, tf_stored_position_words, .arg = "WORD", .def = "auto",
               .flags = TF_OPT_SEMANTIC,
               .help = "MarianMT, also in CTranslate2: positions as Marian has them, or as "
                       "transformers has; auto: t2t"),
    OPT_LIST(0, "search", &o.search, .arg = "KEY=VALUE", .flags = TF_OPT_SEMANTIC,
             .help = "store a setting for tf-decode in the model, such as beam=4; KEY=: drop it; "
                     "none: drop all"),
    OPT_STR(0, "lang", &o.lang[0], .arg = "LABEL", .flags = TF_OPT_SEMANTIC,
            .help = "label of the language of sources, such as en, by which tf-translate splits "
                    "lines"),
    OPT_STR(0, "target-lang", &o.lang[1], .arg = "LABEL", .flags = TF_OPT_SEMANTIC,
            .help = "label of the language of targets"),
    OPT_STR(0, "shortlist", &o.list, .arg = "FILE", .flags = TF_OPT_FILE, .excludes = "new-vocab",
            .help = "put this shortlist into the model, instead of the input's; none: no list"),
    COMMON_OUTPUT(&output),
    OPT_END,
};

/* A directory is made beside its final name; a checkpoint has its dictionaries beside it. */
static void widen(const struct tf_args *args, struct tf_sandbox *sandbox)
{
    if (tf_convert_reads_beside(args->v[0]))
        tf_strs_add(&sandbox->beside, args->v[0]);
    if (tf_format_is_dir(o.to) && output != NULL)
        tf_strs_add(&sandbox->dirs, output);
}

static const struct tf_tool tool = {
    .name = "tf-convert",
    .synopsis = "[options] [MODEL|DIR] >FILE",
    .summary = "convert models to and from other formats",
    .opts = opts,
    .max_args = 1,
    .stdin_modes = 1,
    .widen = widen,
};

static int run(const struct tf_args *args, struct tf_err *err)
{
    return tf_convert(args->v[0], output, &o, tool.name, opts, err);
}

int main(int argc, char **argv)
{
    return tf_tool_main(&tool, argc, argv, run);
}
