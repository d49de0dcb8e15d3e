/* stream.c - any bytes as a stream: every reader ends with a verdict, and a stream that passes the
 * check passes it again when sealed. */
#include "../harness/memory.h"
#include "stream/inspect.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static uint64_t seen; /* keeps the sums below from being optimised away */

static void use(const struct tf_record *r)
{
    for (size_t i = 0; i < r->n && r->ids; i++)
        seen += r->ids[i];
    for (size_t i = 0; i < r->n_tgt; i++)
        seen += r->tgt[i];
    for (size_t i = 0; i < r->n_hyps; i++)
        for (size_t k = 0; k < r->hyps[i].n; k++)
            seen += r->hyps[i].ids[k];
    for (size_t i = 0; i < r->batch.n; i++)
        for (uint32_t k = r->batch.src_off[i]; k < r->batch.src_off[i + 1]; k++)
            seen += r->batch.src[k];
    for (size_t i = 0; i < r->batch.n; i++)
        for (uint32_t k = r->batch.tgt_off[i]; k < r->batch.tgt_off[i + 1]; k++)
            seen += r->batch.tgt[k];
    const struct tf_attn *t = &r->attn;
    for (size_t i = 0; i < t->n_heads; i++)
        seen += t->heads[i];
    for (size_t i = 0; i < t->n_rows; i++)
        seen += strlen(t->rows[i]);
    for (size_t i = 0; i < t->n_cols; i++)
        seen += strlen(t->cols[i]);
    for (size_t i = 0; i < t->n_heads * t->n_rows * t->n_cols; i++)
        seen += t->weights[i] > 0;
    if (r->fault.text)
        seen += strlen(r->fault.text);
    if (r->state.name)
        seen += strlen(r->state.name);
}

static void read_with(const uint8_t *data, size_t n, unsigned flags)
{
    struct tf_in in = memory_in(data, n);
    struct tf_err err = {0};
    struct tf_reader *r;
    struct tf_record rec;
    if (tf_reader_new(&r, &in, NULL, flags, &err) == 0) {
        tf_reader_max_tensor(r, 1 << 20);
        int rc;
        seen += tf_reader_ready(r);
        while ((rc = tf_reader_next(r, &rec, &err)) > 0) {
            use(&rec);
            seen += tf_reader_ready(r);
        }
        TF_ASSERT(rc == 0 || err.msg[0]);
        tf_reader_free(r);
    }
    memory_in_done(&in);
}

typedef int show_fn(struct tf_in *, struct tf_out *, const struct tf_inspect *, struct tf_err *);

static int show(show_fn *fn, const uint8_t *data, size_t n, struct tf_out *out)
{
    const struct tf_inspect how = {.max_tensor = 1 << 20, .max_bytes = 100, .records = 2};
    struct tf_in in = memory_in(data, n);
    struct tf_err err = {0};
    out->len = 0;
    out->offset = 0;
    int rc = fn(&in, out, &how, &err);
    TF_ASSERT(rc == 0 || err.msg[0]);
    memory_in_done(&in);
    return rc;
}

static int check(const uint8_t *data, size_t n)
{
    const struct tf_inspect how = {.max_tensor = 1 << 20};
    struct tf_in in = memory_in(data, n);
    struct tf_err err = {0};
    int rc = tf_inspect_check(&in, &how, &err);
    memory_in_done(&in);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const unsigned flags[] = {0, TF_READ_RAW,
                                     TF_READ_RAW | TF_READ_TENSORS | TF_READ_UNHELD};
    static show_fn *const shows[] = {tf_inspect_diag, tf_inspect_json, tf_inspect_count,
                                     tf_inspect_head};
    struct tf_out out = memory_out(4 * n + (64 << 10));
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        read_with(data, n, flags[i]);
    for (size_t i = 0; i < sizeof shows / sizeof *shows; i++)
        show(shows[i], data, n, &out);
    bool good = check(data, n) == 0, sealed = show(tf_inspect_seal, data, n, &out) == 0;
    if (good) {
        TF_ASSERT(sealed);
        TF_ASSERT(check(out.buf, out.len) == 0);
    }
    memory_out_done(&out);
    return 0;
}
