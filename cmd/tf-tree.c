/* tf-tree - constituency trees, one a line: cleaned, as sequences for a model, and back. */
#include "base/log.h"
#include "tree/tree_filter.h"
#include "rows.h"

#include <string.h>

static struct tf_tree_filter f;
static bool linearize, restore;
static const char *words, *output;
static int style, layout;
static int64_t max_line;

static const char *const layouts[] = {"auto", "lines", "pretty", NULL};

static struct tf_opt opts[] = {
    {TF_OPT_GROUP, .help = "What to do (without one of these: each tree on one line)"},
    {TF_OPT_FLAG, 'l', "linearize", .target = &linearize,
     .help = "trees to words and bracket sequences"},
    {TF_OPT_FLAG, 'r', "restore", .target = &restore,
     .help = "words and bracket sequences to trees, repaired where they don't fit"},
    {TF_OPT_FLAG, 'c', "clean", .target = &f.clean,
     .help = "drop traces, empty constituents, function labels (also before -l)"},
    {TF_OPT_GROUP, .help = "Files"},
    {TF_OPT_STR, 'w', "words", .target = &words, .arg = "FILE", .flags = TF_OPT_FILE,
     .help = "-l writes the words here, -r reads them here; default: first column"},
    ROW_OUTPUT(output),
    {TF_OPT_CHOICE, .name = "layout", .target = &layout, .arg = "WORD", .def = "auto",
     .choices = layouts, .help = "of trees: one a line, pretty-printed, or as the file shows"},
    {TF_OPT_INT, .name = "max-line", .target = &max_line, .arg = "BYTES", .def = "16777216",
     .lo = 1, .hi = 1LL << 36, .help = "a longer tree or line is bad"},
    ROW_BAD(f.bad, "bad trees"),
    {TF_OPT_GROUP, .help = "Form"},
    {TF_OPT_CHOICE, 'b', "brackets", .target = &style, .arg = "WORD", .def = "slash",
     .choices = tf_brackets_names, .help = "of sequences: \"NP ... /NP\" or \"(NP ... )NP\""},
    {TF_OPT_STR, .name = "root", .target = &f.root, .arg = "LABEL", .def = "TOP",
     .help = "label of the root that -l takes away, -r and -c put there"},
    {TF_OPT_FLAG, 'p', "punctuation", .target = &f.punctuate,
     .help = "-r: words decide what is tagged as punctuation"},
    {TF_OPT_STR, .name = "tag", .target = &f.tag, .arg = "TAG", .def = "XX",
     .help = "-r: tag of words that the sequence has none for"},
    {.kind = TF_OPT_END},
};

static const struct tf_tool tool = {
    .name = "tf-tree",
    .synopsis = "[-c] [options] [TREES]\n"
                "-l [-c] [-w WORDS] [options] [TREES] >SEQUENCES\n"
                "-r [-w WORDS] [options] [SEQUENCES] >TREES",
    .summary = "constituency trees as sequences for a model, and back",
    .opts = opts,
    .max_args = 1,
};

static bool is_label(const char *s)
{
    return strpbrk(s, "() \t\n\v\f\r") == NULL;
}

static int check(const char *path, struct tf_err *err)
{
    if (linearize && restore)
        return tf_fail_status(err, TF_USAGE, "one of --linearize and --restore at a time");
    if (restore && f.clean)
        return tf_fail_status(err, TF_USAGE, "--clean is for trees, not for --restore");
    if (f.punctuate && !restore)
        return tf_fail_status(err, TF_USAGE, "--punctuation goes with --restore");
    if (words != NULL && !linearize && !restore)
        return tf_fail_status(err, TF_USAGE, "--words goes with --linearize and --restore");
    if (words != NULL && !strcmp(words, "-") &&
        (linearize ? !strcmp(output, "-") : !strcmp(path, "-")))
        return tf_fail_status(err, TF_USAGE, "words and sequences can't both be std%s",
                              linearize ? "out" : "in");
    if (!is_label(f.root) || !is_label(f.tag) || !*f.tag)
        return tf_fail_status(err, TF_USAGE, "--%s: labels hold no brackets and no white space",
                              is_label(f.root) ? "tag" : "root");
    if (linearize && words && strcmp(words, "-") != 0 && tf_same_file(path, words))
        return tf_fail_status(err, TF_USAGE, "%s: is both input and output", words);
    if (linearize && words && !strcmp(words, output))
        return tf_fail_status(err, TF_USAGE, "%s: words and sequences need a file each", output);
    f.style = (enum tf_brackets)style;
    f.layout = (enum tf_tree_layout)layout;
    f.max = (size_t)max_line;
    return 0;
}

static int convert(const char *path, struct tf_err *err)
{
    struct tf_in in = {.fd = -1}, words_in = {.fd = -1};
    struct tf_out out = {0}, words_out = {0};
    int rc = tf_in_open(&in, path, err);
    if (rc < 0)
        return -1;
    if (words && restore)
        rc = tf_in_open(&words_in, words, err);
    bool with_words_in = words && restore && rc == 0;
    if (rc == 0 && words && linearize)
        rc = tf_out_open(&words_out, words, 0, err);
    if (rc == 0)
        rc = tf_out_open(&out, output, 0, err);
    if (rc == 0)
        rc = linearize ? tf_tree_to_sequences(&f, &in, words ? &words_out : NULL, &out, err)
             : restore ? tf_tree_from_sequences(&f, &in, words ? &words_in : NULL, &out, err)
                       : tf_tree_lines(&f, &in, &out, err);
    if (words && linearize)
        rc = tf_out_finish(&words_out, rc, err);
    rc = tf_out_finish(&out, rc, err);
    if (f.unbalanced + f.mis_sized > 0)
        tf_note("%llu sequences restored; repaired: brackets of %llu, number of tags of %llu",
                (unsigned long long)f.trees, (unsigned long long)f.unbalanced,
                (unsigned long long)f.mis_sized);
    if (with_words_in)
        tf_in_close(&words_in);
    tf_in_close(&in);
    return rc;
}

int main(int argc, char **argv)
{
    struct tf_err err = {0};
    struct tf_args args;
    int rc = tf_opt_parse(&tool, argc, argv, &args, &err);
    const char *path = rc == 0 && args.n > 0 ? args.v[0] : "-";
    if (rc == 0)
        rc = check(path, &err);
    if (rc == 0)
        rc = convert(path, &err);
    return tf_finish(rc, &err);
}
