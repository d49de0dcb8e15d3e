/* import.c - any bytes as a model of another program. The first byte chooses the format and the
 * data type to convert to; a configuration after a NUL, if there is one, is an option's. What is
 * accepted is accepted again in each other format. */
#include "../harness/memory.h"
#include "base/opt.h"
#include "convert/convert.h"

enum { MAX_INPUT = 1 << 15 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const struct tf_opt no_opts[] = {{.kind = TF_OPT_END}};

/* From memory file i to memory file i + 1. */
static int convert(int i, const struct tf_convert_opts *o, struct tf_err *err)
{
    size_t n;
    char *p = memory_path_bytes(i, &n);
    const char *from = memory_path(i, p, n);
    free(p);
    return tf_convert(from, memory_path(i + 1, NULL, 0), o, "fuzz", no_opts, err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (n == 0 || n > MAX_INPUT)
        return 0;
    struct tf_err err = {0};
    struct tf_convert_opts o = {.to = data[0] & 3, .dtype = data[0] >> 2 & 3};
    /* Of an npz the end is its directory, so the configuration is at the start. */
    const uint8_t *model = data + 1, *nul = data[0] & 16 ? memchr(model, 0, n - 1) : NULL;
    if (nul != NULL) {
        o.config = memory_path(3, model, (size_t)(nul - model));
        model = nul + 1;
    }
    memory_path(0, model, n - (size_t)(model - data));
    if (convert(0, &o, &err) != 0) {
        TF_ASSERT(err.msg[0] != 0);
        return 0;
    }
    for (int to = TF_FORMAT_TFM; to <= TF_FORMAT_NPZ; to++) {
        /* numpy has no bf16. */
        const struct tf_convert_opts again = {.to = to, .dtype = to == TF_FORMAT_NPZ ? 1 : 0};
        if (convert(1, &again, &err) != 0)
            TF_BUG("a converted model is not accepted");
    }
    return 0;
}
