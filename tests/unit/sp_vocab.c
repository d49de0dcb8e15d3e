/* The interface to SentencePiece: training is repeatable, ids are those of SentencePiece, invalid
 * models and ids are errors, and samples have the right distribution. */
#include "../harness/tap.h"
#include "text/sample_private.h"
#include "text/sp.h"
#include <math.h>

static const char *const parts[] = {"ka",  "to", "mi", "ren", "sch",  "ein", "wal", "k", "ed", "s",
                                    "ing", "er", "ü",  "öl",  "haus", "st",  "a",   "o", "12", "7"};

struct feed {
    int i, n;
    char line[256];
};

/* Line i: 3 to 9 words of 1 to 4 parts that follow from i. */
static int next(void *arg, const char **text, size_t *n, struct tf_err *err)
{
    struct feed *f = arg;
    (void)err;
    if (f->i == f->n)
        return 0;
    struct tf_rng r = tf_rng_new(1, (uint64_t)f->i++);
    size_t count = 3 + (size_t)tf_rng_below(&r, 7), at = 0;
    for (size_t k = 0; k < count; k++) {
        if (k > 0)
            f->line[at++] = ' ';
        for (size_t m = 1 + (size_t)tf_rng_below(&r, 4); m > 0; m--)
            at += (size_t)snprintf(f->line + at, sizeof f->line - at, "%s",
                                   parts[tf_rng_below(&r, 20)]);
    }
    *text = f->line;
    *n = at;
    return 1;
}

static int train(struct tf_buf *model, bool bpe, bool bytes, int lines, struct tf_err *err)
{
    struct feed f = {.n = lines};
    struct tf_sp_train t = {.size = 300,
                            .bpe = bpe,
                            .coverage = 1,
                            .byte_fallback = bytes,
                            .normalization = "nmt_nfkc",
                            .max_bytes = 4192,
                            .next = next,
                            .arg = &f};
    if (bytes)
        t.size = 400;
    return tf_sp_train(&t, model, err);
}

static void round_trips(const struct tf_sp *sp, const char *kind)
{
    struct tf_err err = {0};
    struct tf_ids ids = {0};
    struct tf_buf out = {0};
    struct feed f = {.i = 1000, .n = 1100};
    const char *text;
    size_t n;
    int wrong = 0, far = 0;
    while (next(&f, &text, &n, &err) > 0) {
        ids.n = out.len = 0;
        wrong += tf_sp_encode(sp, text, n, &ids, &err) < 0 ||
                 tf_sp_decode(sp, ids.v, ids.n, &out, &err) < 0 || out.len != n ||
                 memcmp(out.p, text, n) != 0;
        for (size_t i = 0; i < ids.n; i++)
            far += ids.v[i] >= tf_sp_size(sp);
    }
    is_int(wrong, 0, "%s: text comes back", kind);
    is_int(far, 0, "%s: ids are within the size", kind);
    ids.n = 0;
    is_int(tf_sp_encode(sp, "a\0b", 3, &ids, &err), 0, "%s: NUL is text", kind);
    ids.n = 0;
    is_int(tf_sp_encode(sp, "", 0, &ids, &err), 0, "%s: empty text", kind);
    is_int((long long)ids.n, 0, "%s: gives no ids", kind);
    const uint32_t beyond = (uint32_t)tf_sp_size(sp), huge = UINT32_MAX;
    is_int(tf_sp_decode(sp, &beyond, 1, &out, &err), -1, "%s: an id beyond the size is refused",
           kind);
    is_int(tf_sp_decode(sp, &huge, 1, &out, &err), -1, "%s: and one that is no int", kind);
    tf_ids_release(&ids);
    tf_buf_release(&out);
}

/* log P of a segmentation is the sum of its scores: count draws of one short text against the exact
 * distribution over all segmentations. */
static void unigram_samples(const struct tf_sp *sp, const struct tf_buf *model)
{
    enum { DRAWS = 20000, MOST = 512 };
    struct tf_err err = {0};
    const double alpha = 0.3;
    static const char text[] = "walked toing";
    struct tf_sampler *s;
    struct tf_ids all = {0}, ids = {0};
    static size_t end[MOST];
    static float score[MOST];
    static int hits[MOST];
    if (!ok(tf_sampler_new(&s, sp, model->p, model->len, &err) == 0, "sampler: %s", err.msg))
        return;
    int count = tf_sp_nbest(sp, text, strlen(text), MOST, &all, end, score, &err);
    if (!ok(count > 10 && count < MOST, "all %d segmentations of a short text", count))
        return;
    double total = 0, chi = 0;
    for (int i = 0; i < count; i++)
        total += exp(alpha * (double)score[i]);
    int other = 0;
    for (int d = 0; d < DRAWS; d++) {
        struct tf_rng rng = tf_rng_new(9, (uint64_t)d);
        ids.n = 0;
        if (tf_sample(s, text, strlen(text), alpha, 0, &rng, &ids, &err) < 0)
            break;
        int i = 0;
        for (; i < count; i++) {
            size_t from = i ? end[i - 1] : 0;
            if (end[i] - from == ids.n && memcmp(all.v + from, ids.v, ids.n * 4) == 0)
                break;
        }
        if (i < count)
            hits[i]++;
        else
            other++;
    }
    is_int(other, 0, "every draw is one of them");
    for (int i = 0; i < count; i++) {
        double want = DRAWS * exp(alpha * (double)score[i]) / total;
        chi += (hits[i] - want) * (hits[i] - want) / want;
    }
    ok(chi < count + 5 * sqrt(2.0 * count),
       "draws follow p^alpha: chi square %.1f, %d degrees of freedom", chi, count - 1);
    tf_sampler_free(s);
    tf_ids_release(&all);
    tf_ids_release(&ids);
}

/* Without dropout the merges are SentencePiece's own; with all of them left out there are only
 * characters. */
static void bpe_samples(const struct tf_sp *sp, const struct tf_buf *model)
{
    struct tf_err err = {0};
    struct tf_sampler *s;
    struct tf_ids a = {0}, b = {0};
    struct feed f = {.i = 2000, .n = 2200};
    const char *text;
    size_t n;
    int differ = 0, rounds = 0, longer = 0;
    if (!ok(tf_sampler_new(&s, sp, model->p, model->len, &err) == 0, "sampler: %s", err.msg))
        return;
    while (next(&f, &text, &n, &err) > 0) {
        struct tf_rng rng = tf_rng_new(1, (uint64_t)f.i);
        a.n = b.n = 0;
        rounds += tf_sp_encode(sp, text, n, &a, &err) == 0 &&
                  tf_sample(s, text, n, 0, 0, &rng, &b, &err) == 0;
        differ += a.n != b.n || memcmp(a.v, b.v, a.n * 4) != 0;
        b.n = 0;
        rounds += tf_sample(s, text, n, 0.3, 0, &rng, &b, &err) == 0;
        longer += b.n > a.n;
    }
    is_int(rounds, 400, "no failure");
    is_int(differ, 0, "dropout 0 is the plain segmentation");
    ok(longer > 150, "dropout 0.3 gives more pieces: %d of 200", longer);
    b.n = 0;
    struct tf_rng rng = tf_rng_new(1, 1);
    is_int(tf_sample(s, "kat", 3, 1, 0, &rng, &b, &err), 0, "dropout 1");
    is_int((long long)b.n, 4, "leaves characters");
    tf_sampler_free(s);
    tf_ids_release(&a);
    tf_ids_release(&b);
}

int main(void)
{
    struct tf_err err = {0};
    struct tf_sp *sp = NULL;
    struct tf_buf m[4] = {0};
    is_int(tf_sp_load(&sp, "", 0, &err), -1, "no bytes are no model");
    is_int(tf_sp_load(&sp, "hello, this is no model", 23, &err), -1, "nor is this: %s", err.msg);
    ok(sp == NULL && strstr(err.msg, ".cc") == NULL, "the message is ours");
    err = (struct tf_err){0};
    if (!ok(train(&m[0], false, false, 400, &err) == 0, "unigram: %s", err.msg) ||
        !ok(train(&m[1], false, false, 400, &err) == 0, "again") ||
        !ok(train(&m[2], true, false, 400, &err) == 0, "bpe: %s", err.msg) ||
        !ok(train(&m[3], false, true, 400, &err) == 0, "bytes: %s", err.msg))
        return done();
    ok(m[0].len == m[1].len && memcmp(m[0].p, m[1].p, m[0].len) == 0,
       "training twice gives the same bytes");
    for (int i = 0; i < 4; i++) {
        if (i == 1)
            continue;
        if (!ok(tf_sp_load(&sp, m[i].p, m[i].len, &err) == 0, "load %d: %s", i, err.msg))
            return done();
        ok(tf_sp_pad(sp) == 0 && tf_sp_unk(sp) == 1 && tf_sp_bos(sp) == 2 && tf_sp_eos(sp) == 3,
           "special ids");
        is_int(tf_sp_kind(sp, 0), TF_SP_CONTROL, "pad is a control piece");
        is_int(tf_sp_kind(sp, 1), TF_SP_UNKNOWN, "unk is the unknown piece");
        is_int(tf_sp_sampling(sp), i == 2 ? TF_SP_BPE : TF_SP_UNIGRAM, "kind of sampling");
        round_trips(sp, i == 0 ? "unigram" : i == 2 ? "bpe" : "unigram with bytes");
        if (i == 0)
            unigram_samples(sp, &m[i]);
        if (i == 2)
            bpe_samples(sp, &m[i]);
        if (i == 3) { /* what the vocabulary does not know, as bytes and back; by both ways */
            struct tf_ids ids = {0};
            struct tf_buf out = {0};
            struct tf_sampler *s;
            struct tf_rng rng = tf_rng_new(1, 1);
            is_int(tf_sp_encode(sp, "\xe4\xb8\xad", 3, &ids, &err) |
                       tf_sp_decode(sp, ids.v, ids.n, &out, &err),
                   0, "bytes of an unknown character");
            is_str(out.p, "\xe4\xb8\xad", "come back");
            out.len = ids.n = 0;
            is_int(tf_sampler_new(&s, sp, m[i].p, m[i].len, &err) |
                       tf_sample(s, "\xe4\xb8\xad", 3, 1, 0, &rng, &ids, &err) |
                       tf_sp_decode(sp, ids.v, ids.n, &out, &err),
                   0, "sampled too");
            is_str(out.p, "\xe4\xb8\xad", "come back");
            tf_sampler_free(s);
            tf_ids_release(&ids);
            tf_buf_release(&out);
        }
        /* Every cut of the model is refused or loads, and never more than that. */
        int crashed = 0;
        struct tf_sp *part;
        for (size_t n = 0; n < m[i].len; n += m[i].len / 97 + 1) {
            struct tf_err e = {0};
            if (tf_sp_load(&part, m[i].p, n, &e) == 0)
                tf_sp_free(part);
            else
                crashed += e.msg[0] == 0;
        }
        is_int(crashed, 0, "a model that is cut short has a reason");
        tf_sp_free(sp);
    }
    struct tf_buf none = {0};
    err = (struct tf_err){0};
    is_int(train(&none, false, false, 0, &err), -1, "nothing to train on: %s", err.msg);
    for (int i = 0; i < 4; i++)
        tf_buf_release(&m[i]);
    tf_buf_release(&none);
    return done();
}
