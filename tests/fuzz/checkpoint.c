/* checkpoint.c - any bytes as a model, from a file and from a pipe: a verdict, the same one both
 * ways, and nothing read outside the tensors. */
#include "../harness/memory.h"
#include "stream/model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static uint64_t seen;

static void use(const struct tf_model_file *m)
{
    for (size_t i = 0; i < m->n_tensors; i++) {
        const uint8_t *p = m->tensors[i].data;
        seen += strlen(m->tensors[i].name);
        for (size_t k = 0; p && k < m->tensors[i].bytes; k++)
            seen += p[k];
    }
    for (size_t i = 0; i < m->vocab_n; i++)
        seen += m->vocab[i];
    struct tf_arena a = {0};
    struct tf_value copy = tf_value_clone(&a, &m->state);
    TF_ASSERT(tf_value_equal(&copy, &m->state));
    tf_arena_release(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const unsigned flags[] = {0, TF_MODEL_HEAD, TF_MODEL_WEIGHTS | TF_MODEL_ALLOW_NAN,
                                     TF_MODEL_CHECK};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        struct tf_model_file m;
        struct tf_err err = {0};
        struct tf_in in = memory_file(data, n);
        int whole = tf_model_read_in(&m, &in, flags[i], 0, &err);
        TF_ASSERT(whole == 0 || err.msg[0]);
        if (whole == 0) {
            use(&m);
            tf_model_release(&m);
        }
        memory_in_done(&in);
        in = memory_in(data, n);
        err = (struct tf_err){0};
        int piped = tf_model_read_in(&m, &in, flags[i], 1 << 20, &err);
        TF_ASSERT(piped == whole || strstr(err.msg, "a pipe is limited"));
        if (piped == 0) {
            use(&m);
            tf_model_release(&m);
        }
        memory_in_done(&in);
    }
    return 0;
}
