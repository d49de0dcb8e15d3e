/* info.c - any bytes as a file that tf-info is asked about: text in which nothing moves a terminal,
 * and JSON that is some. */
#include "base/json.h"
#include "../harness/memory.h"
#include "stream/describe.h"
#include "text/tags.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check_text(const struct tf_buf *b)
{
    for (size_t i = 0; i < b->len; i++) {
        unsigned char c = (unsigned char)b->p[i];
        TF_ASSERT((c >= 0x20 || c == '\n') && c != 0x7f);
        TF_ASSERT(c != 0xc2 || (unsigned char)b->p[i + 1] >= 0xa0);
    }
}

static void check_json(const struct tf_buf *b)
{
    struct tf_json_reader r;
    enum tf_json_kind kind;
    struct tf_err err = {0};
    tf_json_read(&r, b->p, b->len);
    do
        TF_ASSERT(tf_json_next(&r, &kind, &err) == 0);
    while (kind != TF_JSON_END);
    tf_json_read_release(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    for (int json = 0; json < 2; json++) {
        struct tf_in in = memory_in(data, n);
        struct tf_buf out = {0};
        struct tf_err err = {0};
        int rc = tf_describe_file(&out, &in, json, tf_tags_describe, &err);
        TF_ASSERT(rc == 0 || err.msg[0]);
        if (rc == 0)
            (json ? check_json : check_text)(&out);
        tf_buf_release(&out);
        memory_in_done(&in);
    }
    return 0;
}
