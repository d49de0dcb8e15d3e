/* marian.c - any bytes as the settings of a small model of Marian, whose tensors are those of one
 * layer in each stack, post-norm, with a width of 4 and 6 ids. */
#include "../harness/memory.h"
#include "convert/marian_private.h"

#include <stdio.h>

enum { D = 4, V = 6, MAX_INPUT = 1 << 14, MAX_TENSORS = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static struct tf_tensor tensors[MAX_TENSORS];
static char names[MAX_TENSORS][48];
static size_t n_tensors;
static float zeros[V * D];

static void add(const char *side, const char *name, uint64_t rows)
{
    TF_ASSERT(n_tensors < MAX_TENSORS - 1);
    const size_t i = n_tensors++;
    snprintf(names[i], sizeof names[i], "%s%s", side, name);
    tensors[i] = (struct tf_tensor){.name = names[i],
                                    .dtype = TF_F32,
                                    .rank = 2,
                                    .dims = {rows, D},
                                    .data = zeros,
                                    .bytes = rows * D * sizeof *zeros};
}

static void add_stack(const char *side, bool decoder)
{
    static const char *const parts[] = {"self", "context"};
    char name[48];
    for (int p = 0; p <= decoder; p++) {
        for (const char *x = "qkvo"; *x != 0; x++) {
            snprintf(name, sizeof name, "%s_W%c", parts[p], *x);
            add(side, name, D);
            snprintf(name, sizeof name, "%s_b%c", parts[p], *x);
            add(side, name, 1);
        }
        snprintf(name, sizeof name, "%s_Wo_ln_scale", parts[p]);
        add(side, name, 1);
        snprintf(name, sizeof name, "%s_Wo_ln_bias", parts[p]);
        add(side, name, 1);
    }
    add(side, "ffn_W1", D);
    add(side, "ffn_b1", 1);
    add(side, "ffn_W2", D);
    add(side, "ffn_b2", 1);
    add(side, "ffn_ffn_ln_scale", 1);
    add(side, "ffn_ffn_ln_bias", 1);
}

/* A SentencePiece model of two pieces: </s> is a control piece, <unk> the unknown one. */
static const uint8_t vocab[] = "\x0a\x0d\x0a\x04</s>\x15\0\0\0\0\x18\x03"
                               "\x0a\x0e\x0a\x05<unk>\x15\0\0\0\0\x18\x02";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (n > MAX_INPUT)
        return 0;
    if (n_tensors == 0) {
        add("", "Wemb", V);
        add_stack("encoder_l1_", false);
        add_stack("decoder_l1_", true);
    }
    tensors[n_tensors] = (struct tf_tensor){.name = "special:model.yml",
                                            .dtype = TF_I8,
                                            .rank = 1,
                                            .dims = {n},
                                            .data = data,
                                            .bytes = n};
    static const struct tf_convert_opts opts;
    struct tf_arena a = {0};
    struct tf_import m = {
        .opts = &opts, .arena = &a, .bundle = {.tensors = tensors, .n = n_tensors + 1}};
    struct tf_err err = {0};
    tf_buf_add(&m.segmenter[0], vocab, sizeof vocab - 1);
    TF_ASSERT(tf_marian_is(&m));
    if (tf_marian_import(&m, &err) != 0)
        TF_ASSERT(err.msg[0] != 0);
    else
        TF_ASSERT(m.bundle.n > 0 && m.config.eos == 0 && m.header.special.unk == 1 &&
                  m.config.d_model == D);
    tf_import_release(&m);
    tf_arena_release(&a);
    return 0;
}
