/* bpe_file.c - any bytes as a file of codes of byte-pair encoding, of each kind: what is accepted
 * is lines of two symbols. */
#include "../harness/memory.h"
#include "text/bpe_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check(const struct tf_bpe_codes *codes)
{
    const char *end = codes->lines + codes->n;
    TF_ASSERT(codes->n > 0);
    for (const char *p = codes->lines, *lf; p < end; p = lf + 1) {
        lf = memchr(p, '\n', (size_t)(end - p));
        TF_ASSERT(lf != NULL);
        const char *space = memchr(p, ' ', (size_t)(lf - p));
        TF_ASSERT(space != NULL && space > p && space + 1 < lf);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const char *path = memory_path(0, data, n);
    for (int fsmt = 0; fsmt < 2; fsmt++) {
        struct tf_arena a = {0};
        struct tf_bpe_codes codes = {0};
        struct tf_err err = {0};
        if (tf_bpe_file_read(&codes, &a, path, fsmt, &err) != 0)
            TF_ASSERT(err.msg[0] != 0);
        else
            check(&codes);
        tf_arena_release(&a);
    }
    return 0;
}
