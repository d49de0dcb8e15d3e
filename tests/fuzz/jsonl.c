/* jsonl.c - any text as the JSON Lines of a stream: what becomes of it, when anything, is a stream
 * that reads back. */
#include "../harness/memory.h"
#include "stream/inspect.h"

#include <fcntl.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static int null = -1;
    struct tf_in in = memory_in(data, n);
    struct tf_out out = memory_out(4 * n + (64 << 10));
    struct tf_err err = {0};
    if (null < 0)
        null = open("/dev/null", O_WRONLY);
    out.fd = null; /* an error record flushes */
    int rc = tf_inspect_from_json(&in, &out, &(struct tf_inspect){0}, &err);
    TF_ASSERT(rc == 0 || err.msg[0]);
    memory_in_done(&in);
    if (rc == 0 && out.offset == out.len) { /* nothing was flushed: all of it is here */
        struct tf_reader *r;
        struct tf_record rec;
        in = memory_in(out.buf, out.len);
        TF_ASSERT(tf_reader_new(&r, &in, NULL, TF_READ_RAW | TF_READ_TENSORS, &err) == 0);
        while ((rc = tf_reader_next(r, &rec, &err)) > 0)
            continue;
        /* Records that do not belong to the kind, or parts of several kinds, are for the reader to
         * refuse. */
        TF_ASSERT(rc == 0 || strstr(err.msg, " in a ") || strstr(err.msg, " in an ") ||
                  strstr(err.msg, "a part of kind"));
        tf_reader_free(r);
        memory_in_done(&in);
    }
    memory_out_done(&out);
    return 0;
}
