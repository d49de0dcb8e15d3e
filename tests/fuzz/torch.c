/* torch.c - any bytes as a file of PyTorch, and as a checkpoint of fairseq if it is one, else as
 * the weights of a small FSMT. */
#include "../harness/memory.h"
#include "cbor/json.h"
#include "convert/fairseq_private.h"
#include "convert/fsmt_private.h"

enum { MAX_INPUT = 1 << 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const char config[] =
    "{\"model_type\": \"fsmt\", \"d_model\": 16, \"encoder_layers\": 2, \"decoder_layers\": 2,"
    "\"encoder_ffn_dim\": 24, \"decoder_ffn_dim\": 8, \"encoder_attention_heads\": 4,"
    "\"decoder_attention_heads\": 4, \"src_vocab_size\": 6, \"tgt_vocab_size\": 6,"
    "\"eos_token_id\": 2, \"pad_token_id\": 1, \"decoder_start_token_id\": 2}";

static int import(struct tf_import *m, struct tf_err *err)
{
    if (tf_fairseq_is(m))
        return tf_fairseq_import(m, err);
    return tf_torch_tensors(&m->bundle, m->torch.root, err) != 0 ||
                   tf_value_from_json_text(&m->json, m->arena, config, sizeof config - 1,
                                           TF_JSON_PLAIN, "config", err) != 0
               ? -1
               : tf_fsmt_import(m, err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const struct tf_convert_opts opts;
    struct tf_arena a = {0};
    struct tf_import m = {.opts = &opts, .arena = &a, .from = TF_FORMAT_TORCH};
    struct tf_err err = {0};
    if (n > MAX_INPUT)
        return 0;
    if (tf_torch_read(&m.torch, data, n, &err) != 0 || import(&m, &err) != 0)
        TF_ASSERT(err.msg[0] != 0);
    else
        TF_ASSERT(m.bundle.n > 0 && m.config.vocab_size > 0);
    tf_import_release(&m);
    tf_arena_release(&a);
    return 0;
}
