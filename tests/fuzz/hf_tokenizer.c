/* hf_tokenizer.c - any bytes as a tokenizer.json; what is accepted is a SentencePiece model. */
#include "../harness/memory.h"
#include "convert/hf_tokenizer_private.h"
#include "text/sp_renumber.h"

enum { MAX_INPUT = 1 << 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct tf_arena a = {0};
    struct tf_buf spm = {0}, model = {0};
    struct tf_piece_list list = {0};
    struct tf_err err = {0};
    const struct tf_sp_side side = {true, NULL};
    const bool *takes_space;
    if (n > MAX_INPUT)
        return 0;
    if (tf_hf_tokenizer(&spm, &list, &takes_space, &a, (const char *)data, n, &err) != 0 ||
        tf_sp_renumber(&model, spm.p, spm.len, &list, takes_space, &side, &err) != 0)
        TF_ASSERT(err.msg[0] != 0);
    else
        TF_ASSERT(list.n > 0 && list.n <= n && model.len > 0);
    tf_buf_release(&spm);
    tf_buf_release(&model);
    tf_arena_release(&a);
    return 0;
}
