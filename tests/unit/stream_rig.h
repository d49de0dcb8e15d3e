/* stream_rig.h - streams and models in memory for the tests of lib/cbor and lib/stream: inputs without a descriptor,
 * outputs that are never flushed, and the samples behind formats/vectors. */
#ifndef TF_TESTS_WIRE_RIG_H
#define TF_TESTS_WIRE_RIG_H

#include "../tap.h"
#include "base/hash.h"
#include "stream/model.h"
#include "stream/stream.h"
#include <unistd.h>

__attribute__((unused)) static struct tf_in memory_in(const void *p, size_t n)
{
    struct tf_in in = {.fd = -1,
                       .name = tf_xstrdup("mem"),
                       .buf = tf_xmalloc(n + 1),
                       .len = n,
                       .cap = n + 1,
                       .size = -1,
                       .eof = true};
    if (n)
        memcpy(in.buf, p, n);
    return in;
}

__attribute__((unused)) static void memory_in_done(struct tf_in *in)
{
    free(in->name);
    free(in->buf);
}

__attribute__((unused)) static struct tf_out memory_out(size_t cap)
{
    return (struct tf_out){.fd = -1, .name = tf_xstrdup("mem"), .buf = tf_xmalloc(cap), .cap = cap};
}

__attribute__((unused)) static void memory_out_done(struct tf_out *out)
{
    free(out->name);
    free(out->buf);
}

/* Read all of a stream; the number of records handed out before the end, or -1 and the message.
 * With a digest of what was handed out when asked for.
 */
__attribute__((unused)) static long read_all(const void *p, size_t n, unsigned flags,
                                             uint32_t *digest, struct tf_err *err)
{
    struct tf_in in = memory_in(p, n);
    struct tf_reader *r;
    struct tf_record rec;
    long count = 0;
    uint32_t d = 0;
    *err = (struct tf_err){0};
    int rc = tf_reader_new(&r, &in, NULL, flags, err);
    if (!rc) {
        size_t h_n;
        const uint8_t *h = tf_reader_header_raw(r, &h_n);
        d = tf_crc32c(d, h, h_n);
        while ((rc = tf_reader_next(r, &rec, err)) > 0) {
            count++;
            d = tf_crc32c(d, rec.raw, rec.raw_n);
        }
        tf_reader_free(r);
    }
    memory_in_done(&in);
    if (digest)
        *digest = d;
    return rc < 0 ? -1 : count;
}

/* ---- samples ---- */

#define MUST(call)                                                        \
    do {                                                                  \
        if (call) {                                                       \
            printf("Bail out! %s:%d: %s\n", __FILE__, __LINE__, err.msg); \
            exit(1);                                                      \
        }                                                                 \
    } while (0)

struct sample {
    const char *name;
    uint8_t *p;
    size_t n;
};

enum { SAMPLE_VOCAB_N = 40 };
static const uint8_t sample_vocab[SAMPLE_VOCAB_N] = "no real vocabulary, but forty bytes long";

static struct tf_header sample_header(struct tf_arena *a, const char *kind, int64_t size)
{
    struct tf_header h = {
        .kind = kind, .version = 1, .has_vocab = true, .size = size, .special = {0, 1, 2, 3}};
    struct tf_value stage = tf_value_map(), opts = tf_value_map(), in = tf_value_map();
    uint8_t sha[32];
    tf_sha256_of(h.vocab, sample_vocab, SAMPLE_VOCAB_N);
    tf_sha256_of(sha, "corpus", 6);
    h.config = tf_value_map();
    h.extra = tf_value_map();
    h.made = tf_value_array();
    tf_value_put(a, &opts, "alpha", tf_value_real(0.1));
    tf_value_put(a, &opts, "nbest", tf_value_int(-1));
    tf_value_put(a, &opts, "lossless", tf_value_bool(false));
    tf_value_put(a, &in, "text", tf_value_bytes(a, sha, 32));
    tf_value_put(a, &stage, "prog", tf_value_str(a, "tf-example"));
    tf_value_put(a, &stage, "version", tf_value_str(a, "1"));
    tf_value_put(a, &stage, "opts", opts);
    tf_value_put(a, &stage, "in", in);
    tf_value_push(a, &h.made, stage);
    return h;
}

static const uint32_t ids_a[] = {5, 6, 7, 4095, 1}, ids_b[] = {9, 8},
                      ids_wide[] = {70000, 3, 99999};

static struct sample end_sample(const char *name, struct tf_out *out)
{
    struct sample s = {.name = name, .p = tf_xmalloc(out->len), .n = out->len};
    memcpy(s.p, out->buf, out->len);
    memory_out_done(out);
    return s;
}

static void put_sample(struct tf_out *out, const char *kind, int what)
{
    struct tf_err err = {0};
    struct tf_arena a = {0};
    struct tf_writer w;
    struct tf_header h = sample_header(&a, kind, what == 't' ? 100000 : 4096);
    MUST(tf_writer_begin(&w, out, &h, &err));
    static const float token_logp[] = {-0.5f, -0.25f, -1.0f};
    const struct tf_hyp hyps[] = {{ids_b, 2, -0.75f, -1.75f, token_logp},
                                  {ids_a, 5, -1.5f, -3.1f, NULL},
                                  {NULL, 0, -9.0f, -9.0f, NULL}};
    static const uint32_t src_off[] = {0, 5, 7}, tgt_off[] = {0, 2, 2}, idx[] = {4, 2},
                          src[] = {5, 6, 7, 4095, 1, 9, 8};
    struct tf_batch b = {.ordinal = 7,
                         .n = 2,
                         .src = src,
                         .tgt = ids_b,
                         .src_off = src_off,
                         .tgt_off = tgt_off,
                         .idx = idx,
                         .epoch = 1,
                         .record = 300,
                         .has_corpus = true};
    tf_sha256_of(b.corpus, "both sides", 10);
    static const char *const asks[] = {"\u2581ein", "</s>"}, *const seen[] = {"", "\u2581ein"},
                             *const source[] = {"\u2581a", "\u00e9", "</s>"};
    static const uint32_t heads[] = {1, 16};
    static const float causal[] = {1.0f, 0.0f, 0.25f, 0.75f},
                       cross[] = {0.5f, 0.25f, 0.25f, 0.1f,   0.2f,  0.7f,
                                  1.0f, 0.0f,  0.0f,  0.125f, 0.75f, 0.125f};
    const struct tf_attn decoder = {"decoder", 1, heads, asks, seen, causal, 1, 2, 2},
                         between = {"cross", 6, heads, asks, source, cross, 2, 2, 3};
    switch (what) {
    case 'k':
        MUST(tf_writer_tokens(&w, 0, ids_a, 5, &err));
        MUST(tf_writer_tokens(&w, 1, NULL, 0, &err));
        MUST(tf_writer_check(&w, &err));
        MUST(tf_writer_tokens(&w, 2, ids_b, 2, &err));
        break;
    case 't':
        MUST(tf_writer_tokens(&w, 0, ids_wide, 3, &err));
        break;
    case 'p':
        MUST(tf_writer_pair(&w, 0, ids_a, 5, ids_b, 2, &err));
        MUST(tf_writer_pair(&w, 1, ids_b, 2, NULL, 0, &err));
        break;
    case 'b':
        MUST(tf_writer_batch(&w, &b, &err));
        b.ordinal++;
        b.record = 302;
        b.has_corpus = false;
        MUST(tf_writer_batch(&w, &b, &err));
        break;
    case 'n':
        MUST(tf_writer_nbest(&w, 0, hyps, 3, &err));
        MUST(tf_writer_nbest(&w, 1, hyps + 1, 1, &err));
        break;
    case 's':
        MUST(tf_writer_score(&w, 0, -1.75f, token_logp, 3, &err));
        MUST(tf_writer_score(&w, 1, -2.5f, NULL, 0, &err));
        break;
    case 'x':
        MUST(tf_writer_bad(&w, 0, TF_BAD_UTF8, "byte 3: not UTF-8", &err));
        MUST(tf_writer_tokens(&w, 1, ids_b, 2, &err));
        MUST(tf_writer_bad(&w, 2, TF_BAD_TOO_LONG, "17000000 bytes", &err));
        break;
    case 'c':
        MUST(tf_writer_stats(&w, 0, ids_a, 5, &err));
        MUST(tf_writer_stats(&w, 1, NULL, 0, &err));
        MUST(tf_writer_bad(&w, 2, TF_BAD_UTF8, "byte 1: not UTF-8", &err));
        break;
    case 'a':
        MUST(tf_writer_attention(&w, 0, &decoder, &err));
        MUST(tf_writer_attention(&w, 0, &between, &err));
        MUST(tf_writer_bad(&w, 1, TF_BAD_OTHER, "too long", &err));
        break;
    case 'e':
        MUST(tf_writer_tokens(&w, 0, ids_b, 2, &err));
        break;
    default:
        break;
    }
    if (what == 'e') {
        w.out->fd = dup(2); /* never written to: the buffer is emptied behind its back */
        size_t len = out->len;
        MUST(tf_writer_check(&w, &err));
        struct tf_buf rec = {0};
        tf_cbor_array(&rec, 3);
        tf_cbor_uint(&rec, TF_REC_ERROR);
        tf_cbor_uint(&rec, 1);
        tf_cbor_str(&rec, "tf-example: no space left");
        MUST(tf_out_write(out, rec.p, rec.len, &err));
        tf_buf_release(&rec);
        close(out->fd);
        out->fd = -1;
        (void)len;
    } else {
        MUST(tf_writer_end(&w, &err));
    }
    tf_writer_release(&w);
    tf_arena_release(&a);
}

static struct sample stream_sample(const char *name, const char *kind, const char *parts)
{
    struct tf_out out = memory_out(1 << 20);
    for (; *parts; parts++)
        put_sample(&out, kind, *parts);
    return end_sample(name, &out);
}

static struct sample model_sample(const char *name, const char *kind)
{
    struct tf_err err = {0};
    struct tf_arena a = {0};
    char path[] = "/tmp/tf-wire-XXXXXX";
    int fd = mkstemp(path);
    static float w[6] = {0.5f, -1.0f, 2.25f, 0.0f, 1e-3f, 3.0f}, bias[3] = {1.0f, 2.0f, 3.0f},
                 scalar[1] = {0.125f};
    static uint16_t half[4] = {0x3c00, 0x3f80, 0x0000, 0xbf80};
    static int8_t quant[3] = {-128, 0, 127};
    struct tf_tensor t[8] = {
        {.name = "p/enc.0.w",
         .dtype = TF_F32,
         .rank = 2,
         .dims = {2, 3},
         .data = w,
         .bytes = sizeof w},
        {.name = "p/enc.0.b",
         .dtype = TF_F32,
         .rank = 1,
         .dims = {3},
         .data = bias,
         .bytes = sizeof bias},
        {.name = "p/emb",
         .dtype = TF_BF16,
         .rank = 2,
         .dims = {2, 2},
         .data = half,
         .bytes = sizeof half},
        {.name = "p/scale", .dtype = TF_F32, .rank = 0, .data = scalar, .bytes = sizeof scalar},
        {.name = "p/q",
         .dtype = TF_I8,
         .rank = 1,
         .dims = {3},
         .data = quant,
         .bytes = sizeof quant},
        {.name = "m/enc.0.w",
         .dtype = TF_F32,
         .rank = 2,
         .dims = {2, 3},
         .data = w,
         .bytes = sizeof w},
        {.name = "v/enc.0.w",
         .dtype = TF_F32,
         .rank = 2,
         .dims = {2, 3},
         .data = w,
         .bytes = sizeof w},
    };
    bool checkpoint = !strcmp(kind, "checkpoint");
    struct tf_header h = sample_header(&a, kind, 4096);
    tf_value_put(&a, &h.config, "d", tf_value_int(512));
    tf_value_put(&a, &h.config, "eps", tf_value_real(1e-6));
    struct tf_state st[2] = {{"step", tf_value_int(1200)}, {"data", tf_value_map()}};
    uint8_t sha[32];
    tf_sha256_of(sha, "both sides", 10);
    tf_value_put(&a, &st[1].value, "corpus", tf_value_bytes(&a, sha, 32));
    tf_value_put(&a, &st[1].value, "epoch", tf_value_int(1));
    tf_value_put(&a, &st[1].value, "record", tf_value_int(300));
    MUST(tf_model_write(path, &h, sample_vocab, SAMPLE_VOCAB_N, st, checkpoint ? 2 : 0, t,
                        checkpoint ? 7 : 5, &err));
    struct sample s = {.name = name};
    char *p;
    MUST(tf_read_file(&p, &s.n, path, 1 << 20, &err));
    s.p = (uint8_t *)p;
    close(fd);
    unlink(path);
    tf_arena_release(&a);
    return s;
}

enum { N_SAMPLES = 13 };
__attribute__((unused)) static void make_samples(struct sample s[N_SAMPLES])
{
    s[0] = stream_sample("tokens", "tokens", "k");
    s[1] = stream_sample("tokens-wide", "tokens", "t");
    s[2] = stream_sample("pairs", "pairs", "p");
    s[3] = stream_sample("batch", "batch", "b");
    s[4] = stream_sample("nbest", "nbest", "n");
    s[5] = stream_sample("scores", "scores", "s");
    s[6] = stream_sample("bad", "tokens", "x");
    s[7] = stream_sample("parts", "tokens", "kx");
    s[8] = stream_sample("error", "tokens", "e");
    s[9] = model_sample("model", "model");
    s[10] = model_sample("checkpoint", "checkpoint");
    s[11] = stream_sample("stats", "stats", "c");
    s[12] = stream_sample("attention", "attention", "a");
}

__attribute__((unused)) static void free_samples(struct sample s[N_SAMPLES])
{
    for (int i = 0; i < N_SAMPLES; i++)
        free(s[i].p);
}

#endif
