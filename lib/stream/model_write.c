/* model_write.c - write models and checkpoints; compute fingerprints. */
#include "stream/model.h"

#include "base/hash.h"
#include "cbor/encode.h"
#include "stream/writer.h"
#include "stream/writer_private.h"

#include <string.h>

void tf_model_fingerprint(uint8_t out[32], const struct tf_value *config, const uint8_t *vocab,
                          const struct tf_tensor *t, size_t n)
{
    struct tf_buf b = {0};
    struct tf_value none = tf_value_map();
    size_t params = 0;
    for (size_t i = 0; i < n; i++)
        params += strncmp(t[i].name, "p/", 2) == 0;
    tf_cbor_array(&b, 3);
    tf_cbor_value(&b, config->kind == TF_MAP ? config : &none);
    if (vocab != NULL)
        tf_cbor_sha256(&b, vocab);
    else
        tf_cbor_null(&b);
    tf_cbor_array(&b, params);
    for (size_t i = 0; i < n; i++) {
        if (strncmp(t[i].name, "p/", 2) != 0)
            continue;
        tf_cbor_array(&b, 4);
        tf_cbor_str(&b, t[i].name);
        tf_cbor_str(&b, tf_dtype_name(t[i].dtype));
        tf_cbor_array(&b, (uint64_t)t[i].rank);
        for (int d = 0; d < t[i].rank; d++)
            tf_cbor_uint(&b, t[i].dims[d]);
        tf_cbor_uint(&b, t[i].crc);
    }
    tf_sha256_of(out, b.p, b.len);
    tf_buf_release(&b);
}

static int put_all(struct tf_writer *w, struct tf_out *out, const struct tf_header *h,
                   const void *vocab, size_t vocab_n, const struct tf_state *states,
                   size_t n_states, const struct tf_tensor *tensors, size_t n_tensors,
                   struct tf_err *err)
{
    struct tf_value blob = {.kind = TF_BYTES, .text = vocab, .n = vocab_n};
    if (tf_writer_begin(w, out, h, err) != 0 ||
        (vocab != NULL && tf_writer_state(w, "vocab", &blob, err) != 0))
        return -1;
    for (size_t i = 0; i < n_states; i++)
        if (tf_writer_state(w, states[i].name, &states[i].value, err) != 0)
            return -1;
    /* A reader that stops before the tensors (TF_MODEL_HEAD) can verify all it has read. */
    if (w->dirty && tf_writer_check(w, err) != 0)
        return -1;
    for (size_t i = 0; i < n_tensors; i++)
        if (tf_writer_tensor(w, &tensors[i], err) != 0)
            return -1;
    return tf_writer_end(w, err);
}

int tf_model_put(struct tf_out *out, struct tf_header *h, const void *vocab, size_t vocab_n,
                 const struct tf_state *states, size_t n_states, struct tf_tensor *tensors,
                 size_t n_tensors, struct tf_err *err)
{
    struct tf_writer w = {.count = 0};
    if (n_tensors > TF_MAX_TENSORS || n_states > TF_MAX_STATES || vocab_n > TF_MAX_VOCAB)
        return tf_fail(err, "%s: too many tensors or states, or too large a vocabulary", out->name);
    for (size_t i = 0; i < n_states; i++)
        TF_ASSERT(states[i].name && states[i].name[0] && strlen(states[i].name) <= TF_MAX_NAME &&
                  strcmp(states[i].name, "vocab") != 0);
    for (size_t i = 0; i < n_tensors; i++) {
        tf_tensor_assert(&tensors[i]);
        tensors[i].crc = tf_crc32c(0, tensors[i].data, tensors[i].bytes);
    }
    if (vocab != NULL) {
        tf_sha256_of(h->vocab, vocab, vocab_n);
        h->has_vocab = true;
    }
    h->has_model = true;
    tf_model_fingerprint(h->model, &h->config, h->has_vocab ? h->vocab : NULL, tensors, n_tensors);
    int rc = put_all(&w, out, h, vocab, vocab_n, states, n_states, tensors, n_tensors, err);
    tf_writer_release(&w);
    return rc;
}
