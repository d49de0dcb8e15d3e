/* stream_stream.c - streams written and read back: every record, parts, checks, errors passed on,
 * pass-through, and reading at any pace. */
#include "base/memory.h"
#include "base/opt.h"
#include "../harness/stream.h"
#include "base/hash.h"
#include "cbor/encode.h"

#include <unistd.h>

static struct sample samples[N_SAMPLES];

static const struct sample *sample(const char *name)
{
    for (int i = 0; i < N_SAMPLES; i++)
        if (strcmp(samples[i].name, name) == 0)
            return &samples[i];
    TF_BUG("no sample %s", name);
}

static struct tf_reader *open_sample(struct tf_in *in, const char *name, unsigned flags)
{
    struct tf_err err = {0};
    struct tf_reader *r = NULL;
    const struct sample *s = sample(name);
    *in = memory_in(s->p, s->n);
    ok(tf_reader_new(&r, in, NULL, flags, &err) == 0, "%s opens %s", name, err.msg);
    return r;
}

static void test_tokens(void)
{
    struct tf_in in;
    struct tf_record rec;
    struct tf_err err = {0};
    struct tf_reader *r = open_sample(&in, "tokens", 0);
    const struct tf_header *h = tf_reader_header(r);
    is_str(h->kind, "tokens", "kind");
    is_int(h->size, 4096, "size");
    is_int(h->special.eos, 3, "eos");
    is_int(h->special.pad, 0, "pad");
    uint8_t sha[32];
    tf_sha256_of(sha, sample_vocab, SAMPLE_VOCAB_N);
    ok(h->has_vocab && memcmp(h->vocab, sha, 32) == 0, "vocabulary hash");
    ok(!h->has_model, "no model");
    is_int(h->made.n, 1, "one stage");
    is_str(tf_value_get(&h->made.items[0], "prog")->text, "tf-example", "its program");
    is_int(tf_reader_next(r, &rec, &err), 1, "first record");
    is_int(rec.type, TF_REC_TOKENS, "type");
    is_int(rec.idx, 0, "idx");
    is_int(rec.n, 5, "n");
    is_mem(rec.ids, ids_a, sizeof ids_a, "ids");
    is_int(tf_reader_next(r, &rec, &err), 1, "second record");
    is_int(rec.n, 0, "is empty");
    is_int(rec.idx, 1, "idx");
    ok(tf_reader_ready(r), "the third record is ready");
    is_int(tf_reader_next(r, &rec, &err), 1, "third record");
    is_mem(rec.ids, ids_b, sizeof ids_b, "ids");
    is_int(tf_reader_count(r), 3, "count");
    is_int(tf_reader_next(r, &rec, &err), 0, "end");
    is_int(tf_reader_next(r, &rec, &err), 0, "still the end");
    uint64_t count;
    uint32_t crc;
    ok(tf_reader_sum(r, &count, &crc) && count == 3 && crc, "the sum of the part");
    tf_reader_free(r);
    memory_in_done(&in);
    r = open_sample(&in, "tokens-wide", 0);
    ok(tf_reader_next(r, &rec, &err) == 1 && rec.n == 3 &&
           memcmp(rec.ids, ids_wide, sizeof ids_wide) == 0,
       "wide ids");
    tf_reader_free(r);
    memory_in_done(&in);
}

static void test_others(void)
{
    struct tf_in in;
    struct tf_record rec;
    struct tf_err err = {0};
    struct tf_reader *r = open_sample(&in, "pairs", 0);
    ok(tf_reader_next(r, &rec, &err) == 1 && rec.type == TF_REC_PAIR && rec.n == 5 &&
           rec.n_tgt == 2,
       "pair");
    ok(memcmp(rec.ids, ids_a, sizeof ids_a) == 0 && memcmp(rec.tgt, ids_b, sizeof ids_b) == 0,
       "its ids");
    ok(tf_reader_next(r, &rec, &err) == 1 && rec.n == 2 && rec.n_tgt == 0,
       "pair with an empty side");
    tf_reader_free(r);
    memory_in_done(&in);

    r = open_sample(&in, "batch", 0);
    ok(tf_reader_next(r, &rec, &err) == 1 && rec.type == TF_REC_BATCH, "batch %s", err.msg);
    const struct tf_batch *b = &rec.batch;
    ok(b->ordinal == 7 && b->n == 2 && b->epoch == 1 && b->record == 300 && b->has_corpus,
       "its cursor");
    ok(b->src[6] == 8 && b->src_off[1] == 5 && b->src_off[2] == 7 && b->tgt_off[1] == 2 &&
           b->tgt_off[2] == 2,
       "its offsets");
    ok(b->idx[0] == 4 && b->idx[1] == 2, "its idx");
    ok(tf_reader_next(r, &rec, &err) == 1 && rec.batch.ordinal == 8 && !rec.batch.has_corpus,
       "next batch");
    ok(!rec.batch.has_group, "it has no group");
    ok(tf_reader_next(r, &rec, &err) == 1 && rec.batch.has_group && rec.batch.group == 3 &&
           rec.batch.record == 302,
       "a batch of a group");
    is_int(tf_reader_next(r, &rec, &err), 0, "end");
    tf_reader_free(r);
    memory_in_done(&in);

    r = open_sample(&in, "nbest", 0);
    ok(tf_reader_next(r, &rec, &err) == 1 && rec.type == TF_REC_NBEST && rec.n_hyps == 3,
       "n-best %s", err.msg);
    ok(rec.hyps[0].n == 2 && rec.hyps[0].score == -0.75f && rec.hyps[0].logp == -1.75f &&
           rec.hyps[0].token_logp[2] == -1.0f,
       "first hypothesis");
    ok(rec.hyps[1].n == 5 && rec.hyps[1].token_logp == NULL && rec.hyps[1].ids[3] == 4095,
       "second");
    ok(rec.hyps[2].n == 0 && rec.hyps[2].score == -9.0f, "empty hypothesis");
    tf_reader_free(r);
    memory_in_done(&in);

    r = open_sample(&in, "scores", 0);
    ok(tf_reader_next(r, &rec, &err) == 1 && rec.type == TF_REC_SCORE &&
           rec.score.logp == -1.75f && rec.score.n == 3 && rec.score.token_logp[1] == -0.25f,
       "score");
    ok(tf_reader_next(r, &rec, &err) == 1 && rec.score.logp == -2.5f && !rec.score.token_logp,
       "score alone");
    tf_reader_free(r);
    memory_in_done(&in);

    r = open_sample(&in, "attention", 0);
    ok(tf_reader_next(r, &rec, &err) == 1 && rec.type == TF_REC_ATTN && rec.idx == 0,
       "attention %s", err.msg);
    const struct tf_attn *t = &rec.attn;
    is_str(t->kind, "decoder", "its kind");
    ok(t->layer == 1 && t->n_heads == 1 && t->heads[0] == 1, "layer and head");
    ok(t->n_rows == 2 && t->n_cols == 2 && strcmp(t->rows[1], "</s>") == 0 &&
           strcmp(t->cols[0], "") == 0 && strcmp(t->cols[1], "\u2581ein") == 0,
       "queries and keys");
    ok(t->weights[0] == 1.0f && t->weights[1] == 0.0f && t->weights[2] == 0.25f,
       "the column runs fastest");
    ok(tf_reader_next(r, &rec, &err) == 1 && rec.idx == 0 && t->layer == 6 && t->n_heads == 2 &&
           t->heads[1] == 16 && t->n_cols == 3 && strcmp(t->cols[1], "\u00e9") == 0,
       "another layer of the sentence");
    ok(t->weights[3] == 0.1f && t->weights[6] == 1.0f && t->weights[11] == 0.125f,
       "the head runs slowest");
    ok(tf_reader_next(r, &rec, &err) == 1 && rec.type == TF_REC_BAD && rec.idx == 1, "bad");
    is_int(tf_reader_next(r, &rec, &err), 0, "end");
    tf_reader_free(r);
    memory_in_done(&in);

    r = open_sample(&in, "bad", 0);
    ok(tf_reader_next(r, &rec, &err) == 1 && rec.type == TF_REC_BAD &&
           rec.fault.code == TF_BAD_UTF8,
       "bad");
    is_str(rec.fault.text, "byte 3: not UTF-8", "its text");
    tf_reader_free(r);
    memory_in_done(&in);

    r = open_sample(&in, "parts", 0);
    int n = 0, headers = 0;
    while (tf_reader_next(r, &rec, &err) == 1) {
        headers += rec.type == TF_REC_HEADER;
        n += rec.type != TF_REC_HEADER;
    }
    is_str(err.msg, "", "two parts end well");
    is_int(headers, 1, "a header between them");
    is_int(n, 6, "records of both");
    is_int(tf_reader_count(r), 3, "count of the second");
    tf_reader_free(r);
    memory_in_done(&in);

    r = open_sample(&in, "error", 0);
    is_int(tf_reader_next(r, &rec, &err), 1, "a record before the error");
    is_int(tf_reader_next(r, &rec, &err), -1, "error record");
    is_str(err.msg, "mem: upstream failed: tf-example: no space left", "its message");
    ok(rec.type == TF_REC_ERROR && rec.fault.code == 1, "for passing on");
    is_int(tf_reader_next(r, &rec, &err), -1, "dead from then on");
    tf_reader_free(r);
    memory_in_done(&in);
}

/* Kinds are refused by name; records that do not belong to a kind, too. */
static void test_kinds(void)
{
    struct tf_err err = {0};
    struct tf_reader *r;
    const struct sample *s = sample("pairs");
    struct tf_in in = memory_in(s->p, s->n);
    is_int(tf_reader_new(&r, &in, (const char *const[]){"tokens", "nbest", NULL}, 0, &err), -1,
           "a kind that is not wanted");
    is_str(err.msg, "mem: kind is pairs, expected tokens or nbest (use tf-tokenize)",
           "both are named");
    memory_in_done(&in);
    struct tf_out out = memory_out(1 << 20);
    put_sample(&out, "tokens", 'k');
    put_sample(&out, "pairs", 'p');
    is_int(read_all(out.buf, out.len, 0, NULL, &err), -1, "a part of another kind");
    is_str(err.msg, "mem: a part of kind pairs follows one of kind tokens", "is named");
    out.len = 0;
    put_sample(&out, "scores", 'k');
    is_int(read_all(out.buf, out.len, 0, NULL, &err), -1, "tokens in a scores stream");
    ok(strstr(err.msg, "tokens in a stream of kind scores") != NULL, "are named: %s", err.msg);
    memory_out_done(&out);
    is_int(read_all("", 0, 0, NULL, &err), -1, "nothing");
    is_str(err.msg, "mem: truncated: no stream", "is a truncated stream");
    is_int(read_all("hello, world\n", 13, 0, NULL, &err), -1, "text");
    is_str(err.msg, "mem: text, not a stream of tf-tools", "is not a stream");
    s = sample("checkpoint");
    is_int(read_all(s->p, s->n, 0, NULL, &err), -1, "a checkpoint without the flag");
    ok(read_all(s->p, s->n, TF_READ_TENSORS, NULL, &err) == 10, "a checkpoint with it: %s",
       err.msg);
}

static void test_same_vocab(void)
{
    struct tf_header a = {.kind = "tokens", .has_vocab = true}, b = {.kind = "model"};
    struct tf_err err = {0};
    is_int(tf_same_vocab(&a, "x.tfs", &b, "y.tfm", &err), 0, "one names none");
    b.has_vocab = true;
    is_int(tf_same_vocab(&a, "x.tfs", &b, "y.tfm", &err), 0, "the same");
    b.vocab[5] = 1;
    is_int(tf_same_vocab(&a, "x.tfs", &b, "y.tfm", &err), -1, "different");
    ok(strstr(err.msg, "x.tfs: vocabulary 0000") && strstr(err.msg, "differs from y.tfm: 0000") &&
           strstr(err.msg, "0001 (use one vocabulary for all: tf-tokenize -m MODEL)"),
       "the beginnings of both hashes, and what to do: %s", err.msg);
}

/* Records past 1 MiB: checks are added, a reader holds back no more, and a stream without them is
 * refused. */
static void test_checks(void)
{
    struct tf_err err = {0};
    struct tf_arena a = {0};
    struct tf_out out = memory_out(16 << 20);
    struct tf_writer w;
    struct tf_header h = sample_header(&a, "tokens", 4096);
    must(tf_writer_begin(&w, &out, &h, &err), &err);
    static uint32_t ids[1000];
    for (int i = 0; i < 3000; i++)
        must(tf_writer_tokens(&w, (uint64_t)i, ids, 1000, &err), &err);
    must(tf_writer_end(&w, &err), &err);
    is_int(read_all(out.buf, out.len, 0, NULL, &err), 3000, "6 MB read back %s", err.msg);
    long raw = read_all(out.buf, out.len, TF_READ_RAW, NULL, &err);
    is_int(raw, 3000 + 5 + 1, "with 5 checks and an end");
    is_int(w.count, 3000, "count is without them");
    uint64_t count;
    uint32_t crc_with, crc_without;
    struct tf_in in = memory_in(out.buf, out.len);
    struct tf_reader *r;
    struct tf_record rec;
    must(tf_reader_new(&r, &in, NULL, 0, &err), &err);
    while (tf_reader_next(r, &rec, &err) > 0)
        continue;
    ok(tf_reader_sum(r, &count, &crc_with), "sum");
    tf_reader_free(r);
    memory_in_done(&in);
    out.len = 0;
    out.offset = 0;
    tf_writer_release(&w);
    must(tf_writer_begin(&w, &out, &h, &err), &err);
    for (int i = 0; i < 3000; i++) {
        must(tf_writer_tokens(&w, (uint64_t)i, ids, 1000, &err), &err);
        if (i % 7 == 0)
            must(tf_writer_check(&w, &err), &err);
    }
    crc_without = w.crc;
    is_int(crc_with, crc_without, "checks elsewhere leave the sum alone");
    out.len = 0;
    tf_writer_release(&w);
    must(tf_writer_begin(&w, &out, &h, &err), &err);
    w.own_crc = true; /* no checks of its own */
    for (int i = 0; i < 3000; i++)
        must(tf_writer_tokens(&w, (uint64_t)i, ids, 1000, &err), &err);
    must(tf_writer_end(&w, &err), &err);
    is_int(read_all(out.buf, out.len, 0, NULL, &err), -1, "no checks in 6 MB");
    ok(strstr(err.msg, "no check record within 1048576 bytes") != NULL, "is refused: %s", err.msg);
    tf_writer_release(&w);
    memory_out_done(&out);
    tf_arena_release(&a);
}

/* A reader that failed stays so, and keeps no record. */
static void test_dead(void)
{
    const struct sample *s = sample("tokens");
    struct tf_in in = memory_in(s->p, s->n - 1);
    struct tf_err err = {0};
    struct tf_reader *r;
    struct tf_record rec;
    int rc;
    must(tf_reader_new(&r, &in, NULL, 0, &err), &err);
    while ((rc = tf_reader_next(r, &rec, &err)) > 0)
        continue;
    is_int(rc, -1, "cut: %s", err.msg);
    err = (struct tf_err){0};
    is_int(tf_reader_next(r, &rec, &err), -1, "and again");
    ok(strstr(err.msg, "failed before") != NULL, "says so: %s", err.msg);
    tf_reader_free(r);
    memory_in_done(&in);
}

/* Through a pipe byte by byte: the same records; ready only when a check has come. */
static void test_pace(void)
{
    const struct sample *s = sample("tokens");
    int fd[2];
    struct tf_err err = {0};
    if (!ok(pipe(fd) == 0, "pipe"))
        return;
    struct tf_in in = {.fd = fd[0], .name = tf_xstrdup("pipe"), .size = -1};
    struct tf_reader *r = NULL;
    struct tf_record rec;
    size_t at = 0, ready_at = 0, header_end = 0;
    struct tf_in probe = memory_in(s->p, s->n);
    struct tf_reader *pr;
    must(tf_reader_new(&pr, &probe, NULL, TF_READ_RAW, &err), &err);
    while (tf_reader_next(pr, &rec, &err) > 0) {
        if (!header_end)
            header_end = (size_t)rec.offset;
        if (rec.type == TF_REC_CHECK && !ready_at)
            ready_at = (size_t)rec.offset + rec.raw_n;
    }
    tf_reader_free(pr);
    memory_in_done(&probe);
    ok(write(fd[1], s->p, header_end) == (ssize_t)header_end, "header");
    must(tf_reader_new(&r, &in, NULL, 0, &err), &err);
    bool early = false;
    for (at = header_end; at < ready_at; at++) {
        early = early || tf_reader_ready(r);
        if (write(fd[1], s->p + at, 1) != 1)
            break;
    }
    ok(!early, "not ready before the check");
    ok(tf_reader_ready(r), "ready with the check");
    is_int(tf_reader_next(r, &rec, &err), 1, "first %s", err.msg);
    is_int(tf_reader_next(r, &rec, &err), 1, "second");
    ok(!tf_reader_ready(r), "then nothing");
    ok(write(fd[1], s->p + at, s->n - at) == (ssize_t)(s->n - at), "rest");
    close(fd[1]);
    ok(tf_reader_ready(r), "ready again");
    is_int(tf_reader_next(r, &rec, &err), 1, "third");
    is_int(tf_reader_next(r, &rec, &err), 0, "end");
    tf_reader_free(r);
    free(in.name);
    free(in.buf);
    close(fd[0]);
}

/* Records passed on raw give the same stream. */
static void test_raw(void)
{
    struct tf_err err = {0};
    struct tf_in in;
    struct tf_reader *r = open_sample(&in, "nbest", TF_READ_RAW);
    struct tf_out out = memory_out(1 << 20);
    struct tf_writer w;
    struct tf_record rec;
    must(tf_writer_begin(&w, &out, tf_reader_header(r), &err), &err);
    while (tf_reader_next(r, &rec, &err) > 0)
        if (rec.type != TF_REC_CHECK && rec.type != TF_REC_END)
            must(tf_writer_raw(&w, rec.raw, rec.raw_n, &err), &err);
    must(tf_writer_end(&w, &err), &err);
    const struct sample *s = sample("nbest");
    is_int(out.len, s->n, "length");
    is_mem(out.buf, s->p, s->n < out.len ? s->n : out.len, "bytes");
    tf_writer_release(&w);
    tf_reader_free(r);
    memory_in_done(&in);
    memory_out_done(&out);
}

/* Provenance and unknown keys in a header. */
static void test_header(void)
{
    static const char *const words[] = {"a", "b", NULL}, *names[] = {"x", "y"};
    static int choice = 1;
    static bool flag = true;
    static int64_t whole = -3;
    static double real = 0.5;
    static const char *text = "t", *unset;
    static struct tf_strs list = {.v = names, .n = 2}, empty;
    const struct tf_opt opts[] = {
        {.kind = TF_OPT_GROUP, .help = "no option"},
        {.kind = TF_OPT_LIST, .name = "list", .target = &list, .flags = TF_OPT_SEMANTIC},
        {.kind = TF_OPT_LIST, .name = "empty", .target = &empty, .flags = TF_OPT_SEMANTIC},
        {.kind = TF_OPT_CHOICE, .name = "choice", .target = &choice, .choices = words,
         .flags = TF_OPT_SEMANTIC, .given = ""},
        {.kind = TF_OPT_FLAG, .name = "flag", .target = &flag, .flags = TF_OPT_SEMANTIC,
         .given = ""},
        {.kind = TF_OPT_INT, .name = "whole", .target = &whole, .def = "0",
         .flags = TF_OPT_SEMANTIC},
        {.kind = TF_OPT_REAL, .name = "real", .target = &real, .def = "0",
         .flags = TF_OPT_SEMANTIC},
        {.kind = TF_OPT_STR, .name = "text", .target = &text, .flags = TF_OPT_SEMANTIC,
         .given = ""},
        {.kind = TF_OPT_STR, .name = "unset", .target = &unset, .flags = TF_OPT_SEMANTIC},
        {.kind = TF_OPT_STR, .name = "threads", .target = &text},
        {.kind = TF_OPT_END},
    };
    struct tf_err err = {0};
    struct tf_arena a = {0};
    struct tf_buf b = {0}, again = {0};
    struct tf_header h = sample_header(&a, "tokens", 4096), got;
    tf_value_put(&a, &h.extra, "newer", tf_value_int(5));
    tf_header_made(&h, &a, "tf-next", opts, NULL);
    tf_header_encode(&b, &h);
    must(tf_header_decode(&got, &a, b.p, b.len, &err), &err);
    is_int(got.made.n, 2, "a stage after the one that was there");
    const struct tf_value *stage = &got.made.items[1], *set = tf_value_get(stage, "opts");
    is_str(tf_value_get(stage, "prog")->text, "tf-next", "its program");
    ok(tf_value_get(stage, "in") == NULL, "no inputs");
    is_int(set->n, 6, "options that shape the output and have a value");
    const struct tf_value *v = tf_value_get(set, "list");
    ok(v && v->kind == TF_ARRAY && v->n == 2 && strcmp(v->items[1].text, "y") == 0, "a list");
    ok((v = tf_value_get(set, "choice")) && strcmp(v->text, "b") == 0, "a choice by its word");
    ok((v = tf_value_get(set, "flag")) && v->kind == TF_BOOL && v->boolean, "a flag");
    ok((v = tf_value_get(set, "whole")) && v->integer == -3, "an integer");
    ok((v = tf_value_get(set, "real")) && v->kind == TF_REAL && v->real == 0.5, "a real");
    ok((v = tf_value_get(set, "text")) && strcmp(v->text, "t") == 0, "a text");
    ok((v = tf_value_get(&got.extra, "newer")) && v->integer == 5,
       "a key of a newer version is carried on");
    tf_header_encode(&again, &got);
    ok(again.len == b.len && memcmp(again.p, b.p, b.len) == 0, "encoded again: the same bytes");
    for (size_t n = 0; n < b.len; n++)
        if (tf_header_decode(&got, &a, b.p, n, &err) == 0)
            break;
        else if (n + 1 == b.len)
            ok(true, "no part of it is a header");
    tf_buf_release(&b);
    tf_buf_release(&again);
    tf_arena_release(&a);
}

/* One more than each limit of formats/limits.md: refused with the name of the field, and nothing is
 * written. */
static void test_too_much(void)
{
    struct tf_err err = {0};
    struct tf_arena a = {0};
    struct tf_out out = memory_out(8 << 20);
    struct tf_writer w;
    struct tf_header h = sample_header(&a, "other", 0);
    uint32_t *zeros = tf_xarray(NULL, TF_MAX_IDS + 3, sizeof *zeros);
    memset(zeros, 0, (TF_MAX_IDS + 3) * sizeof *zeros);
    must(tf_writer_begin(&w, &out, &h, &err), &err);
    size_t begun = out.len;
    is_int(tf_writer_tokens(&w, 0, zeros, TF_MAX_IDS + 1, &err), -1, "ids of a sentence");
    is_str(err.msg, "mem: ids: 1048577 in one record, at most 1048576", "are counted");
    is_int(write_pair(&w, 0, zeros, 1, zeros, TF_MAX_IDS + 1, &err), -1, "ids of one side");
    is_int(tf_writer_stats(&w, 0, zeros, TF_MAX_IDS + 1, &err), -1, "counts");
    is_str(err.msg, "mem: counts: 1048577 in one record, at most 1048576", "are counted");
    struct tf_batch batch = {.n = TF_MAX_IDS + 1,
                             .src = zeros,
                             .tgt = zeros,
                             .src_off = zeros,
                             .tgt_off = zeros,
                             .idx = zeros};
    is_int(tf_writer_batch(&w, &batch, &err), -1, "pairs of a batch");
    is_str(err.msg, "mem: idx: 1048577 in one record, at most 1048576", "are counted");
    const uint32_t offsets[] = {0, TF_MAX_IDS + 1};
    batch = (struct tf_batch){
        .n = 1, .src = zeros, .tgt = zeros, .src_off = zeros, .tgt_off = offsets, .idx = zeros};
    is_int(tf_writer_batch(&w, &batch, &err), -1, "ids of a batch");
    struct tf_hyp *hyps = tf_xarray(NULL, TF_MAX_HYPS + 1, sizeof *hyps);
    memset(hyps, 0, (TF_MAX_HYPS + 1) * sizeof *hyps);
    is_int(tf_writer_nbest(&w, 0, hyps, TF_MAX_HYPS + 1, &err), -1, "hypotheses");
    is_str(err.msg, "mem: hyps: 65537 in one record, at most 65536", "are counted");
    hyps[1] = (struct tf_hyp){.ids = zeros, .n = TF_MAX_IDS + 1};
    is_int(tf_writer_nbest(&w, 0, hyps, 2, &err), -1, "ids of a hypothesis");
    hyps[0] = hyps[1] = (struct tf_hyp){.ids = zeros, .n = TF_MAX_IDS / 2 + 1};
    is_int(tf_writer_nbest(&w, 0, hyps, 2, &err), -1, "ids of two hypotheses");
    is_str(err.msg, "mem: hyps: 1048578 ids in one record, at most 1048576",
           "are added up");
    memset(hyps, 0, 2 * sizeof *hyps);
    const char **texts = tf_xarray(NULL, TF_MAX_TEXTS, sizeof *texts);
    for (int i = 0; i < TF_MAX_TEXTS; i++)
        texts[i] = "";
    char *huge = tf_xmalloc(TF_MAX_RECORD + 1);
    memset(huge, 0, TF_MAX_RECORD + 1);
    /* None of it is looked at but the last, which fits but for the rest of its record. */
    const struct {
        const char *what;
        struct tf_attn t;
        const char *why;
    } many[] = {
        {"heads",
         {.n_heads = TF_MAX_IDS + 1},
         "mem: heads: 1048577 in one record, at most 1048576"},
        {"rows",
         {.n_rows = TF_MAX_TEXTS + 1},
         "mem: rows: 65537 in one record, at most 65536"},
        {"columns",
         {.n_cols = TF_MAX_TEXTS + 1},
         "mem: columns: 65537 in one record, at most 65536"},
        {"weights",
         {.n_heads = 1, .n_rows = 4097, .n_cols = 4096},
         "mem: weights: 16781312 in one record, at most 16777216"},
        {"most of all",
         {.n_heads = TF_MAX_IDS, .n_rows = TF_MAX_TEXTS, .n_cols = TF_MAX_TEXTS},
         "mem: weights: 4503599627370496 in one record, at most 16777216"},
        {"weights and their texts",
         {"", 1, zeros, texts, texts, (const float *)(void *)huge, 1, 4096, 4096},
         "mem: a record of 67117081 bytes: at most 67108864"},
    };
    for (size_t i = 0; i < sizeof many / sizeof *many; i++) {
        is_int(tf_writer_attention(&w, 0, &many[i].t, &err), -1, "attention: %s", many[i].what);
        is_str(err.msg, many[i].why, "are counted");
    }
    is_int(tf_writer_raw(&w, huge, TF_MAX_RECORD + 1, &err), -1, "bytes of a record");
    is_str(err.msg, "mem: a record of 67108865 bytes: at most 67108864", "are counted");
    memset(huge, 'x', TF_MAX_RECORD - 7); /* the rest of its record takes 8 bytes */
    is_int(tf_writer_error(&w, 1, huge, &err), -1, "bytes of a failure");
    is_str(err.msg, "mem: a record of 67108865 bytes: at most 67108864", "are counted");
    free(huge);
    free(texts);
    is_int(out.len, begun, "nothing of it was written");
    must(tf_writer_end(&w, &err), &err);
    is_int(read_all(out.buf, out.len, 0, NULL, &err), 0, "and the stream is read to its end %s",
           err.msg);
    tf_writer_release(&w);

    /* Records that the writers here refuse. */
    static const struct {
        const char *what, *why;
    } foreign[] = {{"hypotheses", "hyps: more than 65536"},
                   {"ids of all hypotheses", "too many ids"},
                   {"a type", "not an array that begins with a type"}};
    struct tf_buf b = {0};
    for (int i = 0; i < 3; i++) {
        h = sample_header(&a, i < 2 ? "nbest" : "other", 0);
        out.len = 0;
        out.offset = 0;
        tf_buf_clear(&b);
        if (i < 2) {
            size_t n = i == 0 ? TF_MAX_HYPS + 1 : 2;
            tf_cbor_array(&b, 3);
            tf_cbor_uint(&b, TF_REC_NBEST);
            tf_cbor_uint(&b, 0);
            tf_cbor_array(&b, n);
            for (size_t k = 0; k < n; k++) {
                tf_cbor_array(&b, 3);
                tf_cbor_u16s(&b, zeros, i == 0 ? 0 : TF_MAX_IDS / 2 + 1);
                tf_cbor_f32(&b, 0);
                tf_cbor_f32(&b, 0);
            }
        } else {
            tf_cbor_array(&b, 2);
            tf_cbor_uint(&b, (uint64_t)INT32_MAX + 1);
            tf_cbor_uint(&b, 0);
        }
        must(tf_writer_begin(&w, &out, &h, &err), &err);
        must(tf_writer_raw(&w, b.p, b.len, &err), &err);
        must(tf_writer_end(&w, &err), &err);
        is_int(read_all(out.buf, out.len, 0, NULL, &err), -1, "%s beyond the limit",
               foreign[i].what);
        ok(strstr(err.msg, foreign[i].why) != NULL, "are refused: %s", err.msg);
        tf_writer_release(&w);
    }
    /* A hypothesis may have null for its tokens, and more items than are known. */
    h = sample_header(&a, "nbest", 0);
    out.len = 0;
    out.offset = 0;
    must(tf_writer_begin(&w, &out, &h, &err), &err);
    static const char newer[] = "\x86\x04\x00\x81\x86\x81\x07\x20\x21\xf6\xf6\x61x\xf6\xf6\xf5";
    must(tf_writer_raw(&w, newer, sizeof newer - 1, &err), &err);
    must(tf_writer_end(&w, &err), &err);
    struct tf_in in = memory_in(out.buf, out.len);
    struct tf_reader *r;
    struct tf_record rec;
    must(tf_reader_new(&r, &in, NULL, 0, &err), &err);
    ok(tf_reader_next(r, &rec, &err) == 1 && rec.n_hyps == 1 && rec.hyps[0].n == 1 &&
           rec.hyps[0].ids[0] == 7 && rec.hyps[0].score == -1.0f && rec.hyps[0].logp == -2.0f &&
           !rec.hyps[0].token_logp,
       "integers for scores, null for those of tokens, and a newer item after them %s", err.msg);
    tf_reader_free(r);
    memory_in_done(&in);
    tf_writer_release(&w);
    tf_buf_release(&b);
    free(hyps);
    free(zeros);
    memory_out_done(&out);
    tf_arena_release(&a);
}

/* Attention in other valid encodings: the same values. And what the writer does at its
 * edges. */
static void test_attention(void)
{
#define BEGIN "\x05\x07" "\x67" "encoder" "\x02"
#define HEADS "\xd8\x46\x48" "\1\0\0\0" "\3\0\0\0"
#define TEXTS "\x82\x61" "a" "\x60" "\x81\x62" "\xc3\xa9"
#define WEIGHTS "\xd8\x55\x50" "\0\0\x80\x3f" "\0\0\0\x3f" "\0\0\0\0" "\0\0\x80\x3e"
#define BYTES(literal) (literal), sizeof(literal) - 1
    static const struct {
        const char *what, *bytes;
        size_t n;
    } encodings[] = {
        {"as written", BYTES("\x88" BEGIN HEADS TEXTS WEIGHTS)},
        {"weights in binary16", BYTES("\x88" BEGIN HEADS TEXTS "\xd8\x54\x48"
                                      "\0\x3c"
                                      "\0\x38"
                                      "\0\0"
                                      "\0\x34")},
        {"weights in binary64", BYTES("\x88" BEGIN HEADS TEXTS "\xd8\x56\x58\x20"
                                      "\0\0\0\0\0\0\xf0\x3f"
                                      "\0\0\0\0\0\0\xe0\x3f"
                                      "\0\0\0\0\0\0\0\0"
                                      "\0\0\0\0\0\0\xd0\x3f")},
        {"weights in an array, integers among them", BYTES("\x88" BEGIN HEADS TEXTS "\x84"
                                                           "\x01"
                                                           "\xf9\x38\0"
                                                           "\0"
                                                           "\xfa\x3e\x80\0\0")},
        {"heads in an array", BYTES("\x88" BEGIN "\x82\1\3" TEXTS WEIGHTS)},
        {"heads of one byte", BYTES("\x88" BEGIN "\xd8\x40\x42\1\3" TEXTS WEIGHTS)},
        {"heads of two bytes", BYTES("\x88" BEGIN "\xd8\x45\x44\1\0\3\0" TEXTS WEIGHTS)},
        {"heads of eight bytes",
         BYTES("\x88" BEGIN "\xd8\x47\x50\1\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0" TEXTS WEIGHTS)},
        {"lengths in more bytes than they need", BYTES("\x98\x08\x18\x05\x19\0\x07\x78\x07"
                                                       "encoder"
                                                       "\x18\x02" HEADS "\x98\x02\x78\1"
                                                       "a"
                                                       "\x78\0"
                                                       "\x98\1\x78\2"
                                                       "\xc3\xa9" WEIGHTS)},
        {"fields of a newer version at the end",
         BYTES("\x8a" BEGIN HEADS TEXTS WEIGHTS "\xa1\x61x\x80\xf6")},
    };
    struct tf_err err = {0};
    struct tf_arena a = {0};
    struct tf_out out = memory_out(1 << 20);
    struct tf_writer w;
    struct tf_header h = sample_header(&a, "attention", 0);
    struct tf_in in;
    struct tf_reader *r;
    struct tf_record rec;
    const struct tf_attn *t = &rec.attn;
    must(tf_writer_begin(&w, &out, &h, &err), &err);
    for (size_t i = 0; i < sizeof encodings / sizeof *encodings; i++)
        must(tf_writer_raw(&w, encodings[i].bytes, encodings[i].n, &err), &err);
    const struct tf_attn none = {.kind = "cross",
                                 .layer = UINT64_MAX,
                                 .heads = (const uint32_t[]){5},
                                 .cols = (const char *const[]){"x"},
                                 .n_heads = 1,
                                 .n_cols = 1};
    must(tf_writer_attention(&w, UINT64_MAX, &none, &err), &err);
    size_t before = out.len;
    const char *const torn[] = {"a", "\xe2\x96"};
    struct tf_attn foul = {.kind = "cross", .cols = torn, .n_cols = 2};
    is_int(tf_writer_attention(&w, 0, &foul, &err), -1, "a column that is not UTF-8");
    is_str(err.msg, "mem: columns: text that is not UTF-8", "is named");
    foul = (struct tf_attn){.kind = "cross", .rows = torn, .n_rows = 2};
    is_int(tf_writer_attention(&w, 0, &foul, &err), -1, "a row that is not");
    foul = (struct tf_attn){.kind = torn[1]};
    is_int(tf_writer_attention(&w, 0, &foul, &err), -1, "a kind that is not");
    is_int(out.len, before, "nothing of them is written");
    must(tf_writer_end(&w, &err), &err);
    in = memory_in(out.buf, out.len);
    must(tf_reader_new(&r, &in, (const char *const[]){"attention", NULL}, 0, &err), &err);
    for (size_t i = 0; i < sizeof encodings / sizeof *encodings; i++) {
        ok(tf_reader_next(r, &rec, &err) == 1 && rec.type == TF_REC_ATTN && rec.idx == 7 &&
               strcmp(t->kind, "encoder") == 0 && t->layer == 2,
           "%s: kind and layer %s", encodings[i].what, err.msg);
        ok(t->n_heads == 2 && t->heads[0] == 1 && t->heads[1] == 3, "%s: heads", encodings[i].what);
        ok(t->n_rows == 2 && strcmp(t->rows[0], "a") == 0 && strcmp(t->rows[1], "") == 0 &&
               t->n_cols == 1 && strcmp(t->cols[0], "\u00e9") == 0,
           "%s: texts", encodings[i].what);
        ok(t->weights[0] == 1.0f && t->weights[1] == 0.5f && t->weights[2] == 0.0f &&
               t->weights[3] == 0.25f,
           "%s: weights", encodings[i].what);
    }
    ok(tf_reader_next(r, &rec, &err) == 1 && rec.idx == UINT64_MAX && t->layer == UINT64_MAX &&
           t->n_heads == 1 && t->heads[0] == 5 && t->n_rows == 0 && t->n_cols == 1 &&
           strcmp(t->cols[0], "x") == 0,
       "no rows, but a head and a column %s", err.msg);
    is_int(tf_reader_next(r, &rec, &err), 0, "end %s", err.msg);
    tf_reader_free(r);
    memory_in_done(&in);
    tf_writer_release(&w);
    memory_out_done(&out);
    tf_arena_release(&a);
}

static void test_bad_names(void)
{
    static const int codes[] = {TF_BAD_UTF8,       TF_BAD_TOO_LONG, TF_BAD_TOO_MANY_TOKENS,
                                TF_BAD_UNKNOWN_ID, TF_BAD_OTHER,    99};
    static const char *const names[] = {"invalid UTF-8", "line too long", "too many tokens",
                                        "unknown id",    "other",         "other"};
    for (int i = 0; i < 6; i++)
        is_str(tf_bad_name(codes[i]), names[i], "code %d", codes[i]);
    char buf[64];
    is_str(tf_bad_describe(buf, sizeof buf, TF_BAD_UTF8, "invalid UTF-8 at byte 2"),
           "invalid UTF-8 at byte 2", "with the name once");
    is_str(tf_bad_describe(buf, sizeof buf, TF_BAD_OTHER, "no"), "other: no", "a name and a text");
    is_str(tf_bad_describe(buf, sizeof buf, TF_BAD_TOO_LONG, ""), "line too long", "no text");
}

static void test_writer_limits(void)
{
    struct tf_err err = {0};
    struct tf_arena a = {0};
    struct tf_out out = memory_out(1 << 20);
    struct tf_writer w;
    struct tf_header h = sample_header(&a, "tokens", 4096);
    must(tf_writer_begin(&w, &out, &h, &err), &err);
    is_int(tf_writer_tokens(&w, 0, (const uint32_t[]){4096}, 1, &err), -1,
           "an id beyond the vocabulary");
    is_str(err.msg, "mem: ids: id 4096 in a vocabulary of 4096", "is named");
    ok(tf_writer_bad(&w, 0, TF_BAD_OTHER, "\xff", &err) == 0, "text that is not UTF-8 is escaped");
    must(tf_writer_end(&w, &err), &err);
    is_int(read_all(out.buf, out.len, 0, NULL, &err), 1, "and read back %s", err.msg);
    tf_writer_release(&w);
    memory_out_done(&out);
    tf_arena_release(&a);
}

int main(void)
{
    make_samples(samples);
    test_tokens();
    test_others();
    test_kinds();
    test_same_vocab();
    test_checks();
    test_dead();
    test_pace();
    test_raw();
    test_header();
    test_too_much();
    test_attention();
    test_bad_names();
    test_writer_limits();
    free_samples(samples);
    return done();
}
