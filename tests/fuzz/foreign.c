/* foreign.c - any bytes as a safetensors file, as an npz and as a binary model of Marian: a
 * verdict, and nothing read outside. */
#include "../harness/memory.h"
#include "exchange/marian_bin.h"
#include "exchange/npz.h"
#include "exchange/safetensors.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static uint64_t seen;

static void use(const struct tf_bundle *b)
{
    for (size_t i = 0; i < b->n; i++) {
        const struct tf_tensor *t = &b->tensors[i];
        const uint8_t *p = t->data;
        uint64_t bytes = tf_dtype_size(t->dtype);
        TF_ASSERT(t->name[0] && strlen(t->name) <= TF_MAX_NAME && t->rank >= 0 &&
                  t->rank <= TF_MAX_RANK);
        for (int k = 0; k < t->rank; k++)
            bytes *= t->dims[k];
        TF_ASSERT(bytes == t->bytes);
        for (size_t k = 0; k < t->bytes; k++)
            seen += p[k];
    }
    for (size_t i = 0; i < b->vocab_n; i++)
        seen += b->vocab[i];
    for (size_t i = 0; i < b->config_n; i++)
        seen += (uint8_t)b->config[i];
}

static void read_with(int (*reader)(struct tf_bundle *, const void *, size_t, struct tf_err *),
                      const uint8_t *data, size_t n)
{
    struct tf_bundle b = {0};
    struct tf_err err = {0};
    const int rc = reader(&b, data, n, &err);
    TF_ASSERT(rc == 0 || (err.msg[0] && b.tensors == NULL));
    if (rc == 0)
        use(&b);
    tf_bundle_release(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    read_with(tf_safetensors_read, data, n);
    read_with(tf_npz_read, data, n);
    read_with(tf_marian_bin_read, data, n);
    return 0;
}
