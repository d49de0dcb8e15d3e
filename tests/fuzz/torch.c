/* torch.c - any bytes as a file of PyTorch, and as a checkpoint of fairseq if it is one, else as
 * the weights of a small FSMT. */
#include "../harness/memory.h"
#include "convert/fsmt_private.h"

enum { MAX_INPUT = 1 << 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const char config[] =
    "{\"model_type\": \"fsmt\", \"d_model\": 16, \"encoder_layers\": 2, \"decoder_layers\": 2,"
    "\"encoder_ffn_dim\": 24, \"decoder_ffn_dim\": 8, \"encoder_attention_heads\": 4,"
    "\"decoder_attention_heads\": 4, \"src_vocab_size\": 6, \"tgt_vocab_size\": 6,"
    "\"eos_token_id\": 2, \"pad_token_id\": 1, \"decoder_start_token_id\": 2}";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct tf_torch t = {0};
    struct tf_bundle b = {0};
    struct tf_config c;
    struct tf_fairseq_langs langs;
    struct tf_err err = {0};
    if (n > MAX_INPUT)
        return 0;
    if (tf_torch_read(&t, data, n, &err) != 0) {
        TF_ASSERT(err.msg[0] != 0);
        return 0;
    }
    if (!tf_fairseq_is(&t)) {
        if (tf_torch_tensors(&b, t.root, &err) != 0 ||
            tf_fsmt_import(&b, &c, &langs, config, sizeof config - 1, &err) != 0)
            TF_ASSERT(err.msg[0] != 0);
    } else if (tf_fairseq_import(&b, &c, &langs, &t, &err) != 0) {
        TF_ASSERT(err.msg[0] != 0);
    } else {
        TF_ASSERT(b.n > 0 && c.vocab_size > 0);
    }
    tf_bundle_release(&b);
    tf_torch_release(&t);
    return 0;
}
