/* stream.c - streams and models for tests: see stream.h. */
#include "stream.h"
#include "base/hash.h"
#include "base/memory.h"
#include "cbor/encode.h"
#include "tap.h"
#include "temp.h"

#include <unistd.h>

long read_all(const void *p, size_t n, unsigned flags, uint32_t *digest, struct tf_err *err)
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

size_t unhex(uint8_t *p, const char *hex)
{
    size_t n = strlen(hex) / 2;
    for (size_t i = 0; i < n; i++) {
        unsigned x;
        sscanf(hex + 2 * i, "%2x", &x);
        p[i] = (uint8_t)x;
    }
    return n;
}

/* ---- records and files that no tool writes this way ---- */

int write_pair(struct tf_writer *w, uint64_t idx, const uint32_t *src, size_t n_src,
               const uint32_t *tgt, size_t n_tgt, struct tf_err *err)
{
    const struct tf_record rec = {
        .type = TF_REC_PAIR, .idx = idx, .ids = src, .n = n_src, .tgt = tgt, .n_tgt = n_tgt};
    return tf_writer_record(w, &rec, err);
}

int write_model(const char *path, struct tf_header *h, const void *vocab, size_t vocab_n,
                const struct tf_state *states, size_t n_states, struct tf_tensor *tensors,
                size_t n_tensors, struct tf_err *err)
{
    struct tf_out out;
    if (tf_out_open(&out, path, TF_OUT_BINARY, err) != 0)
        return -1;
    if (tf_model_put(&out, h, vocab, vocab_n, states, n_states, tensors, n_tensors, err) == 0)
        return tf_out_commit(&out, err);
    tf_out_abort(&out);
    return -1;
}

/* ---- samples ---- */

const uint8_t sample_vocab[SAMPLE_VOCAB_N] = "no real vocabulary, but forty bytes long";

struct tf_header sample_header(struct tf_arena *a, const char *kind, int64_t size)
{
    struct tf_header h = {.kind = kind, .has_vocab = true, .size = size, .special = {0, 1, 2, 3}};
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

const uint32_t ids_a[5] = {5, 6, 7, 4095, 1}, ids_b[2] = {9, 8};
const uint32_t ids_wide[3] = {70000, 4, 99999};

struct sample end_sample(const char *name, struct tf_out *out)
{
    struct sample s = {.name = name, .p = tf_xmalloc(out->len), .n = out->len};
    memcpy(s.p, out->buf, out->len);
    memory_out_done(out);
    return s;
}

void put_sample(struct tf_out *out, const char *kind, int letter)
{
    struct tf_err err = {0};
    struct tf_arena a = {0};
    struct tf_writer w;
    struct tf_header h = sample_header(&a, kind, letter == 't' ? 100000 : 4096);
    if (letter == 'p' && !(tf_lang_set(h.lang, "en") && tf_lang_set(h.target_lang, "de")))
        TF_BUG("no labels");
    must(tf_writer_begin(&w, out, &h, &err), &err);
    static const float token_logp[] = {-0.5f, -0.25f, -1.0f};
    const struct tf_hyp hyps[] = {{ids_b, 2, -0.75f, -1.75f, token_logp, NULL, 0},
                                  {ids_a, 5, -1.5f, -3.1f, NULL, NULL, 0},
                                  {NULL, 0, -9.0f, -9.0f, NULL, NULL, 0}};
    static const uint32_t src_off[] = {0, 5, 7}, tgt_off[] = {0, 2, 2}, idx[] = {4, 2},
                          src[] = {5, 6, 7, 4095, 1, 9, 8}, links[] = {0, 0, 4, 1, 2, 1},
                          links_off[] = {0, 6, 6};
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
    static const uint8_t ancillary[] = {0x83, 0x18, 70, 0x63, 'd', 'a', 'y', 0x42, 1, 2};
    static const char *const asks[] = {"\u2581ein", "</s>"}, *const seen[] = {"", "\u2581ein"},
                             *const source[] = {"\u2581a", "\u00e9", "</s>"};
    static const uint32_t heads[] = {1, 16};
    static const float causal[] = {1.0f, 0.0f, 0.25f, 0.75f},
                       cross[] = {0.5f, 0.25f, 0.25f, 0.1f,   0.2f,  0.7f,
                                  1.0f, 0.0f,  0.0f,  0.125f, 0.75f, 0.125f};
    const struct tf_attn decoder = {"decoder", 1, heads, asks, seen, causal, 1, 2, 2},
                         between = {"cross", 6, heads, asks, source, cross, 2, 2, 3};
    const struct tf_record aligned = {.type = TF_REC_TOKENS,
                                      .ids = ids_b,
                                      .n = 1,
                                      .source = ids_a,
                                      .n_source = 2,
                                      .alignment = cross,
                                      .n_alignment = 6};
    switch (letter) {
    case 'k':
        must(tf_writer_tokens(&w, 0, ids_a, 5, &err), &err);
        must(tf_writer_tokens(&w, 1, NULL, 0, &err), &err);
        must(tf_writer_check(&w, &err), &err);
        must(tf_writer_tokens(&w, 2, ids_b, 2, &err), &err);
        break;
    case 't':
        must(tf_writer_tokens(&w, 0, ids_wide, 3, &err), &err);
        break;
    case 'p':
        must(write_pair(&w, 0, ids_a, 5, ids_b, 2, &err), &err);
        must(write_pair(&w, 1, ids_b, 2, NULL, 0, &err), &err);
        break;
    case 'b':
        must(tf_writer_batch(&w, &b, &err), &err);
        b.ordinal++;
        b.record = 302;
        b.has_corpus = false;
        must(tf_writer_batch(&w, &b, &err), &err);
        b.ordinal++;
        b.has_group = true;
        b.group = 3;
        must(tf_writer_batch(&w, &b, &err), &err);
        break;
    case 'l':
        b.links = links;
        b.links_off = links_off;
        must(tf_writer_batch(&w, &b, &err), &err);
        break;
    case 'n':
        must(tf_writer_nbest(&w, 0, hyps, 3, &err), &err);
        must(tf_writer_nbest(&w, 1, hyps + 1, 1, &err), &err);
        break;
    case 's':
        must(tf_writer_score(&w, 0, -1.75f, token_logp, 3, &err), &err);
        must(tf_writer_score(&w, 1, -2.5f, NULL, 0, &err), &err);
        break;
    case 'x':
        must(tf_writer_bad(&w, 0, TF_BAD_UTF8, "byte 3: not UTF-8", &err), &err);
        must(tf_writer_tokens(&w, 1, ids_b, 2, &err), &err);
        must(tf_writer_bad(&w, 2, TF_BAD_TOO_LONG, "17000000 bytes", &err), &err);
        break;
    case 'c':
        must(tf_writer_stats(&w, 0, ids_a, 5, &err), &err);
        must(tf_writer_stats(&w, 1, NULL, 0, &err), &err);
        must(tf_writer_bad(&w, 2, TF_BAD_UTF8, "byte 1: not UTF-8", &err), &err);
        break;
    case 'a':
        must(tf_writer_attention(&w, 0, &decoder, &err), &err);
        must(tf_writer_attention(&w, 0, &between, &err), &err);
        must(tf_writer_bad(&w, 1, TF_BAD_OTHER, "too long", &err), &err);
        break;
    case 'g':
        must(tf_writer_record(&w, &aligned, &err), &err);
        break;
    case 'e':
        must(tf_writer_tokens(&w, 0, ids_b, 2, &err), &err);
        break;
    case 'y':
        must(tf_writer_tokens(&w, 0, ids_b, 2, &err), &err);
        must(tf_writer_raw(&w, ancillary, sizeof ancillary, &err), &err);
        break;
    default:
        break;
    }
    if (letter == 'e') {
        w.out->fd = dup(2); /* never written to: the buffer is emptied below */
        must(tf_writer_check(&w, &err), &err);
        struct tf_buf rec = {0};
        tf_cbor_array(&rec, 3);
        tf_cbor_uint(&rec, TF_REC_ERROR);
        tf_cbor_uint(&rec, 1);
        tf_cbor_str(&rec, "tf-example: no space left");
        must(tf_out_write(out, rec.p, rec.len, &err), &err);
        tf_buf_release(&rec);
        close(out->fd);
        out->fd = -1;
    } else {
        must(tf_writer_end(&w, &err), &err);
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
    const char *path = temp_path("sample.tfm");
    static float w[6] = {0.5f, -1.0f, 2.25f, 0.0f, 1e-3f, 3.0f}, bias[3] = {1.0f, 2.0f, 3.0f},
                 scalar[1] = {0.125f};
    static uint16_t half[4] = {0x3c00, 0x3f80, 0x0000, 0xbf80};
    static int8_t quant[3] = {-128, 0, 127};
    struct tf_tensor t[] = {
#define ALL(x) .data = x, .bytes = sizeof x
        {.name = "p/enc.0.w", .dtype = TF_F32, .rank = 2, .dims = {2, 3}, ALL(w)},
        {.name = "p/enc.0.b", .dtype = TF_F32, .rank = 1, .dims = {3}, ALL(bias)},
        {.name = "p/emb", .dtype = TF_BF16, .rank = 2, .dims = {2, 2}, ALL(half)},
        {.name = "p/scale", .dtype = TF_F32, .rank = 0, ALL(scalar)},
        {.name = "p/q", .dtype = TF_I8, .rank = 1, .dims = {3}, ALL(quant)},
        {.name = "m/enc.0.w", .dtype = TF_F32, .rank = 2, .dims = {2, 3}, ALL(w)},
        {.name = "v/enc.0.w", .dtype = TF_F32, .rank = 2, .dims = {2, 3}, ALL(w)},
#undef ALL
    };
    bool checkpoint = strcmp(kind, "checkpoint") == 0;
    struct tf_header h = sample_header(&a, kind, 4096);
    if (!checkpoint) {
        h.search = tf_value_map();
        tf_value_put(&a, &h.search, "beam", tf_value_int(6));
        tf_value_put(&a, &h.search, "normalize", tf_value_real(1));
        tf_value_put(&a, &h.search, "allow-unk", tf_value_bool(true));
        tf_value_put(&a, &h.search, "search", tf_value_str(&a, "marian"));
    }
    tf_value_put(&a, &h.config, "d", tf_value_int(512));
    tf_value_put(&a, &h.config, "eps", tf_value_real(1e-6));
    struct tf_state st[2] = {{"step", tf_value_int(1200)}, {"data", tf_value_map()}};
    uint8_t sha[32];
    tf_sha256_of(sha, "both sides", 10);
    tf_value_put(&a, &st[1].value, "corpus", tf_value_bytes(&a, sha, 32));
    tf_value_put(&a, &st[1].value, "epoch", tf_value_int(1));
    tf_value_put(&a, &st[1].value, "record", tf_value_int(300));
    must(write_model(path, &h, sample_vocab, SAMPLE_VOCAB_N, st, checkpoint ? 2 : 0, t,
                     checkpoint ? 7 : 5, &err),
         &err);
    struct sample s = {.name = name};
    s.p = (uint8_t *)read_file(path, &s.n);
    unlink(path);
    tf_arena_release(&a);
    return s;
}

void make_samples(struct sample s[N_SAMPLES])
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
    s[15] = stream_sample("links", "batch", "l");
    s[14] = stream_sample("alignment", "tokens", "g");
    s[13] = stream_sample("ancillary", "tokens", "y");
}

void free_samples(struct sample s[N_SAMPLES])
{
    for (int i = 0; i < N_SAMPLES; i++)
        free(s[i].p);
}

/* ---- streams in files ---- */

void plain_header(struct tf_header *h, const char *kind, uint8_t vocab, int64_t size)
{
    *h = (struct tf_header){
        .kind = kind, .has_vocab = true, .size = size, .special = {0, 1, 2, 3}};
    memset(h->vocab, vocab, sizeof h->vocab);
    h->made = tf_value_array();
    h->config = h->extra = tf_value_map();
}

void write_tokens(const char *path, const struct token_line *v, size_t n, uint8_t vocab)
{
    struct tf_err err = {0};
    struct tf_out out;
    struct tf_writer w;
    struct tf_header h;
    plain_header(&h, "tokens", vocab, TOKEN_LINE_V);
    must(tf_out_open(&out, path, 0, &err), &err);
    must(tf_writer_begin(&w, &out, &h, &err), &err);
    for (size_t i = 0; i < n; i++)
        must(v[i].code ? tf_writer_bad(&w, v[i].idx, v[i].code, "damaged", &err)
                       : tf_writer_tokens(&w, v[i].idx, v[i].ids, v[i].n, &err),
             &err);
    must(tf_writer_end(&w, &err), &err);
    tf_writer_release(&w);
    must(tf_out_commit(&out, &err), &err);
}

void append_tokens(const char *path, const struct token_line *v, size_t n, uint8_t vocab)
{
    const char *part = temp_path("appended.part");
    write_tokens(part, v, n, vocab);
    size_t size;
    char *bytes = read_file(part, &size);
    append_file(path, bytes, size);
    unlink(part);
    free(bytes);
}
