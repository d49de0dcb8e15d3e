/* tf-rerank - choose among the outputs of n-best lists. */
#include "common_options.h"
#include "metrics/rerank.h"

static struct tf_rerank rerank;
static const char *output, *weights, *mbr;
static int tokenizer;

/* Those of tf_tokenizer_names that need no model. */
static const char *const tokenizers[] = {"none", "char", "13a", "intl", "zh", NULL};

static struct tf_opt opts[] = {
    OPT_GROUP("Totals"),
    OPT_STR('w', "weights", &weights, .arg = "W,W...", .def = "1",
            .help = "weights of the score of a list and of those that follow the text"),
    OPT_REAL('l', "length", &rerank.length, .arg = "X", .def = "0", .lo = -1e9, .hi = 1e9,
             .help = "add X for each word"),
    OPT_GROUP("Minimum Bayes risk"),
    OPT_STR(0, "mbr", &mbr, .arg = "NAME", .choices = tf_rerank_utilities,
            .help = "choose by expected utility, not by totals: chrf, chrf++ or bleu of sentences"),
    OPT_REAL(0, "scale", &rerank.scale, .arg = "X", .def = "0", .lo = 0, .hi = 1e9, .needs = "mbr",
             .help = "--mbr: weigh hypotheses by exp(X total); 0: all the same, as for samples"),
    OPT_CHOICE(0, "tokenize", &tokenizer, tokenizers, .arg = "NAME", .def = "13a",
               .needs = "mbr", .help = "--mbr bleu: tokenizer, as of tf-bleu"),
    OPT_GROUP("Output"),
    OPT_FLAG(0, "nbest", &rerank.all,
             .help = "write whole lists in their new order: idx, rank, score and text"),
    COMMON_OUTPUT(&output),
    COMMON_BAD(&rerank.bad, "lists without a hypothesis"),
    OPT_END,
};

static const struct tf_tool tool = {
    .name = "tf-rerank",
    .synopsis = "[options] [LISTS] >TEXT",
    .summary = "choose among n-best lists or samples by weighted scores or minimum Bayes risk",
    .opts = opts,
    .max_args = 1,
    .stdin_modes = 1,
};

static int run(const struct tf_args *args, struct tf_err *err)
{
    struct tf_lines in = {0};
    struct tf_out out;
    if (tf_rerank_weights(&rerank, weights, err) != 0 ||
        (mbr != NULL && tf_rerank_mbr(&rerank, mbr, tokenizer, err) != 0) ||
        tf_out_open(&out, output, 0, err) != 0)
        return -1;
    int rc = tf_lines_open(&in, args->v[0], NULL, false, err);
    if (rc == 0)
        rc = tf_rerank_run(&rerank, &in, &out, err);
    tf_lines_close(&in);
    return tf_out_finish(&out, rc, err);
}

int main(int argc, char **argv)
{
    return tf_tool_main(&tool, argc, argv, run);
}
