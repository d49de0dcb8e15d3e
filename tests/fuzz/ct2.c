/* ct2.c - any bytes as a model.bin of CTranslate2, whose settings and tensors are then looked for
 * with six tokens. */
#include "../harness/memory.h"
#include "convert/ct2_private.h"
#include "exchange/ct2_bin.h"

enum { MAX_INPUT = 1 << 14 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const char *const tokens[] = {"<unk>", "<s>", "</s>", "a", "b", "c"};
    static const struct tf_convert_opts opts;
    struct tf_arena a = {0};
    struct tf_import m = {.opts = &opts, .arena = &a, .pieces = {{tokens, 6}, {tokens, 6}}};
    struct tf_err err = {0};
    if (n > MAX_INPUT)
        return 0;
    if (tf_ct2_bin_read(&m.bundle, data, n, &err) != 0 || tf_ct2_import(&m, &err) != 0)
        TF_ASSERT(err.msg[0] != 0);
    else
        TF_ASSERT(m.bundle.n > 0 && m.config.vocab_size > 0);
    tf_import_release(&m);
    tf_arena_release(&a);
    return 0;
}
