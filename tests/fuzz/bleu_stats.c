/* bleu_stats.c - any bytes as a stream of counts for tf-bleu --from-stats, of one system or of two.
 * The first byte chooses the report. What it prints is finite, and JSON is some. */
#include "../harness/memory.h"
#include "base/json.h"
#include "metrics/evaluate.h"

enum { MAX_INPUT = 1 << 12, ROOM = 1 << 18 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check_json(const char *p, size_t n)
{
    struct tf_json_reader r;
    enum tf_json_kind kind;
    struct tf_err err = {0};
    tf_json_read(&r, p, n);
    do
        TF_ASSERT(tf_json_next(&r, &kind, &err) == 0);
    while (kind != TF_JSON_END);
    tf_json_read_release(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (n == 0 || n > MAX_INPUT)
        return 0;
    bool two = data[0] & 8;
    static const enum tf_sacrebleu_test tests[][2] = {
        {TF_TEST_NONE, TF_TEST_NONE},
        {TF_TEST_CONFIDENCE, TF_TEST_BOOTSTRAP},
        {TF_TEST_CONFIDENCE, TF_TEST_RANDOMIZE},
        {TF_TEST_NONE, TF_TEST_BOOTSTRAP},
    };
    const struct tf_eval_opts o = {
        .report = {.format = (data[0] & 3) % 3, .width = 1 + (data[0] >> 4 & 7)},
        .resampling = {.test = tests[data[0] >> 6][two], .samples = 3},
        .sentence = !two && data[0] & 4,
    };
    const char *path = memory_path(0, data + 1, n - 1), *names[] = {path, path};
    struct tf_out out = memory_out(ROOM);
    struct tf_err err = {0};
    int rc = tf_eval_check(&o, &err);
    if (rc == 0)
        rc = tf_evaluate_stats(&out, &o, names, two ? 2 : 1, &err);
    TF_ASSERT(rc == 0 || err.msg[0] != 0);
    if (rc == 0) {
        TF_ASSERT(memmem(out.buf, out.len, "nan", 3) == NULL);
        TF_ASSERT(memmem(out.buf, out.len, "inf", 3) == NULL);
        if (o.report.format == TF_REPORT_JSON && !o.sentence)
            check_json((const char *)out.buf, out.len);
    }
    memory_out_done(&out);
    return 0;
}
