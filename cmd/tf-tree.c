/* tf-tree - constituency trees, one per line: cleaned, linearized for a model, or restored. */
#include "base/log.h"
#include "common_options.h"
#include "text/text_file.h"
#include "tree/tree_filter.h"

#include <string.h>

enum { LINES = 1, LINEARIZE = 2, RESTORE = 4 };

static struct tf_tree_filter f;
static const char *words, *output;
static int64_t max_line;

static const char *const layouts[] = {"auto", "lines", "pretty", NULL};

static struct tf_opt opts[] = {
    OPT_GROUP("Mode (default: write each tree on one line)"),
    OPT_MODE('l', "linearize", LINEARIZE, .help = "convert trees to words and bracket sequences"),
    OPT_MODE('r', "restore", RESTORE,
             .help = "convert words and bracket sequences to trees, repairing mismatches"),
    OPT_FLAG('c', "clean", &f.clean, .modes = LINES | LINEARIZE,
             .help = "remove traces, empty constituents and function labels (also before -l)"),
    OPT_GROUP("Files"),
    OPT_STR('w', "words", &words, .arg = "FILE", .flags = TF_OPT_FILE, .modes = LINEARIZE | RESTORE,
            .out_modes = LINEARIZE,
            .help = "file for the words: written by -l, read by -r (default: first column)"),
    COMMON_OUTPUT(&output),
    OPT_CHOICE(0, "layout", &f.layout, layouts, .arg = "WORD", .def = "auto",
               .modes = LINES | LINEARIZE,
               .help = "layout of input trees: one per line, pretty-printed, or detect it"),
    OPT_INT(0, "max-line", &max_line, .arg = "BYTES", .def = "16777216", .lo = 1, .hi = 1LL << 36,
            .help = "treat a longer tree or line as bad"),
    COMMON_BAD(&f.bad, "bad trees"),
    OPT_GROUP("Format"),
    OPT_CHOICE('b', "brackets", &f.style, tf_brackets_names, .arg = "WORD", .def = "slash",
               .modes = LINEARIZE | RESTORE,
               .help = "sequences: \"NP NN /NP\", \"(NP NN )NP\" or, with words, \"(NP cat )NP\""),
    OPT_STR(0, "root", &f.root, .arg = "LABEL", .def = "TOP",
            .help = "label of the root, removed by -l and added by -r and -c"),
    OPT_FLAG('p', "punctuation", &f.punctuate, .modes = RESTORE,
             .help = "-r: choose the tags of punctuation by the words"),
    OPT_STR(0, "tag", &f.tag, .arg = "TAG", .def = "XX", .modes = RESTORE,
            .help = "-r: tag of words for which the sequence has none"),
    OPT_END,
};

static const struct tf_tool tool = {
    .name = "tf-tree",
    .synopsis = "[-c] [options] [TREES]\n"
                "-l [-c] [-w WORDS] [options] [TREES] >SEQUENCES\n"
                "-r [-w WORDS] [options] [SEQUENCES] >TREES",
    .summary = "convert constituency trees to sequences for a model, and back",
    .opts = opts,
    .max_args = 1,
    .default_mode = "one tree per line",
    .stdin_modes = LINES | LINEARIZE | RESTORE,
};

static bool is_label(const char *s)
{
    return strpbrk(s, "() \t\n\v\f\r") == NULL;
}

/* Write trees or sequences; `words_in` and `words_out` are NULL if there is no such file. */
static int filter(unsigned mode, struct tf_in *in, struct tf_in *words_in, struct tf_out *out,
                  struct tf_out *words_out, struct tf_err *err)
{
    return mode == LINEARIZE ? tf_tree_to_sequences(&f, in, words_out, out, err)
           : mode == RESTORE ? tf_tree_from_sequences(&f, in, words_in, out, err)
                             : tf_tree_lines(&f, in, out, err);
}

static int run(const struct tf_args *args, struct tf_err *err)
{
    struct tf_in in = {.fd = -1}, words_in = {.fd = -1};
    struct tf_out out = {0}, words_out = {0};
    bool read_words = words != NULL && args->mode == RESTORE;
    bool write_words = words != NULL && args->mode == LINEARIZE;
    if (f.tag[0] == 0)
        return tf_fail_status(err, TF_USAGE, "--tag: a tag cannot be empty");
    if (!is_label(f.root) || !is_label(f.tag))
        return tf_fail_status(err, TF_USAGE, "--%s: a label cannot contain brackets or white space",
                              is_label(f.root) ? "tag" : "root");
    f.max = (size_t)max_line;
    int rc = tf_text_open(&in, args->v[0], TF_TEXT_UTF8, err);
    if (rc == 0 && read_words)
        rc = tf_text_open(&words_in, words, TF_TEXT_UTF8, err);
    if (rc == 0 && write_words)
        rc = tf_out_open(&words_out, words, 0, err);
    if (rc == 0)
        rc = tf_out_open(&out, output, 0, err);
    if (rc == 0)
        rc = filter(args->mode, &in, read_words ? &words_in : NULL, &out,
                    write_words ? &words_out : NULL, err);
    if (rc == 0 && write_words)
        rc = tf_out_flush(&out, err); /* neither file is replaced before both are written */
    if (write_words)
        rc = tf_out_finish(&words_out, rc, err);
    rc = tf_out_finish(&out, rc, err);
    if (write_words && err->status == TF_READER_LEFT)
        err->status = TF_FAILED;
    if (f.unbalanced + f.mis_sized > 0)
        tf_note("%llu sequences restored; repaired: brackets of %llu, tags or words of %llu",
                (unsigned long long)f.trees, (unsigned long long)f.unbalanced,
                (unsigned long long)f.mis_sized);
    tf_in_close(&words_in);
    tf_in_close(&in);
    return rc;
}

int main(int argc, char **argv)
{
    return tf_tool_main(&tool, argc, argv, run);
}
