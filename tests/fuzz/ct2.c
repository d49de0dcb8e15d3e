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
    struct tf_piece_list lists[2] = {{tokens, 6}, {tokens, 6}};
    struct tf_bundle b = {0};
    struct tf_config c;
    struct tf_err err = {0};
    int64_t unk;
    bool guessed;
    if (n > MAX_INPUT)
        return 0;
    if (tf_ct2_bin_read(&b, data, n, &err) != 0) {
        TF_ASSERT(err.msg[0] != 0);
        return 0;
    }
    if (tf_ct2_import(&b, &c, &unk, NULL, 0, lists, TF_STORED_AUTO, &guessed, &err) != 0)
        TF_ASSERT(err.msg[0] != 0);
    else
        TF_ASSERT(b.n > 0 && c.vocab_size > 0);
    tf_bundle_release(&b);
    return 0;
}
