/* tf-split - paragraphs to one sentence a line, and back. */
#include "base/sandbox.h"
#include "text/split.h"
#include "text/text_file.h"
#include "text_options.h"

enum { SPLIT = 1, JOIN = 2 };

static const char *output, *layout;
static struct tf_document_opts text;
static bool wrapped;

static struct tf_opt opts[] = {
    OPT_GROUP("Mode (default: split)"),
    OPT_MODE('d', "join", JOIN, .help = "join sentences to the text that they were, by --layout"),
    OPT_GROUP("General"),
    OPT_STR('l', "layout", &layout, .arg = "FILE", .flags = TF_OPT_FILE, .out_modes = SPLIT,
            .help = "what stands between the sentences, written by tf-split and read with -d"),
    COMMON_OUTPUT(&output),
    OPT_GROUP("Splitting"),
    TEXT_SENTENCES(text, .modes = SPLIT),
    OPT_FLAG(0, "wrapped", &wrapped, .flags = TF_OPT_SEMANTIC, .modes = SPLIT,
             .help = "a paragraph has several lines and ends at an empty one"),
    TEXT_FIELD(text, .modes = SPLIT),
    OPT_INT(0, "max-line", &text.max_line, .arg = "BYTES", .def = "16777216", .lo = 1,
            .hi = 1 << 28, .flags = TF_OPT_SEMANTIC, .modes = SPLIT,
            .help = "take a longer line for an empty one"),
    TEXT_INVALID(text, .modes = SPLIT),
    COMMON_BAD(&text.bad, "lines that are no text", .modes = SPLIT),
    OPT_END,
};

/* With -d tf-split may be about to make the layout. */
static void widen(const struct tf_args *args, struct tf_sandbox *sandbox)
{
    if (args->mode == JOIN && layout != NULL)
        tf_strs_add(&sandbox->beside, layout);
}

static const struct tf_tool tool = {
    .name = "tf-split",
    .synopsis = "[--lang LABEL] [--layout FILE] [options] [TEXT] >SENTENCES\n"
                "-d --layout FILE [SENTENCES] >TEXT",
    .summary = "split paragraphs to one sentence a line, and join them again",
    .opts = opts,
    .max_args = 1,
    .default_mode = "splitting",
    .stdin_modes = SPLIT | JOIN,
    .widen = widen,
};

static int split(const struct tf_args *args, struct tf_out *out, struct tf_err *err)
{
    struct tf_in in;
    struct tf_out places = {0};
    int rc = tf_text_open(&in, args->v[0], TF_TEXT_AS_IS, err);
    if (rc == 0 && layout != NULL)
        rc = tf_out_open(&places, layout, TF_OUT_IN_PLACE, err);
    if (rc == 0)
        rc = tf_split(&text, &in, out, layout != NULL ? &places : NULL, err);
    rc = tf_out_finish(&places, rc, err);
    tf_in_close(&in);
    return rc;
}

static int join(const struct tf_args *args, struct tf_out *out, struct tf_err *err)
{
    struct tf_in in;
    if (layout == NULL)
        return tf_fail_status(err, TF_USAGE, "--join: --layout FILE is required");
    int rc = tf_text_open(&in, args->v[0], TF_TEXT_AS_IS, err);
    if (rc == 0)
        rc = tf_split_join(&in, layout, out, err);
    tf_in_close(&in);
    return rc;
}

static int run(const struct tf_args *args, struct tf_err *err)
{
    struct tf_out out;
    text.form = wrapped ? TF_DOCUMENT_WRAPPED : TF_DOCUMENT_PARAGRAPHS;
    if (tf_document_check(&text, err) != 0 || tf_out_open(&out, output, 0, err) != 0)
        return -1;
    return tf_out_finish(&out, args->mode == JOIN ? join(args, &out, err) : split(args, &out, err),
                         err);
}

int main(int argc, char **argv)
{
    return tf_tool_main(&tool, argc, argv, run);
}
