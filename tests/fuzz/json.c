/* The JSON reader: any bytes, walked to the end or to an error. */
#include "base/json.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct tf_json_reader r;
    struct tf_err err = {0};
    enum tf_json_kind kind = TF_JSON_NULL;
    tf_json_read(&r, (const char *)data, n);
    while (kind != TF_JSON_END && tf_json_next(&r, &kind, &err) == 0)
        TF_ASSERT((kind != TF_JSON_KEY && kind != TF_JSON_STRING) ||
                  strlen(r.text.p) == r.text.len);
    TF_ASSERT(kind == TF_JSON_END || err.msg[0] != 0);
    tf_json_read_release(&r);
    return 0;
}
