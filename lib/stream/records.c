/* records.c - the records of streams, to bytes and back. formats/tokens.md and formats/batch.md are
 * the norm. */
#include "base/hash.h"
#include "stream/record.h"

#include <stdio.h>
#include <string.h>

/* Which records a kind may hold, besides check, error, end and ancillary ones. */
static const struct {
    const char *kind;
    bool own_crc;
    unsigned types; /* bit per type */
} kinds[] = {
    {"tokens", false, 1u << TF_REC_TOKENS | 1u << TF_REC_BAD},
    {"pairs", false, 1u << TF_REC_PAIR | 1u << TF_REC_BAD},
    {"batch", true, 1u << TF_REC_BATCH | 1u << TF_REC_BAD},
    {"nbest", false, 1u << TF_REC_NBEST | 1u << TF_REC_BAD},
    {"scores", false, 1u << TF_REC_SCORE | 1u << TF_REC_BAD},
    {"stats", false, 1u << TF_REC_STATS | 1u << TF_REC_BAD},
    {"attention", false, 1u << TF_REC_ATTN | 1u << TF_REC_BAD},
    {"model", true, 1u << TF_REC_TENSOR | 1u << TF_REC_STATE},
    {"checkpoint", true, 1u << TF_REC_TENSOR | 1u << TF_REC_STATE},
};

static const char *const names[] = {"header", "tokens", "pair",  "batch", "nbest", "attention",
                                    "tensor", "state",  NULL,    "bad",   "score", "stats",
                                    NULL,     "check",  "error", "end"};

const char *tf_record_name(int type)
{
    if (type >= TF_REC_ANCILLARY)
        return "ancillary";
    return type >= 0 && type <= TF_REC_END && names[type] ? names[type] : "unknown";
}

bool tf_record_fits(const char *kind, int type)
{
    if (type >= TF_REC_ANCILLARY || type == TF_REC_CHECK || type == TF_REC_ERROR ||
        type == TF_REC_END)
        return true;
    if (type <= 0 || type > TF_REC_END || !names[type])
        return false;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!strcmp(kind, kinds[i].kind))
            return kinds[i].types >> type & 1;
    return true;
}

bool tf_kind_own_crc(const char *kind)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!strcmp(kind, kinds[i].kind))
            return kinds[i].own_crc;
    return false;
}

const char *tf_bad_name(int code)
{
    switch (code) {
    case TF_BAD_UTF8:
        return "invalid UTF-8";
    case TF_BAD_TOO_LONG:
        return "line too long";
    case TF_BAD_TOO_MANY_TOKENS:
        return "too many tokens";
    case TF_BAD_UNKNOWN_ID:
        return "unknown id";
    default:
        return "other";
    }
}

const char *tf_bad_say(char *buf, size_t size, int code, const char *text)
{
    const char *name = tf_bad_name(code);
    bool told = !strncmp(text, name, strlen(name));
    snprintf(buf, size, "%s%s%s", told ? "" : name, told || !*text ? "" : ": ", text);
    return buf;
}

int tf_record_type(const uint8_t *p, size_t n)
{
    if (n >= 2 && p[0] > 0x80 && p[0] < 0x98 && p[1] < 24)
        return p[1];
    struct tf_head h;
    int k = tf_head_read(p, n, &h);
    if (k == 0)
        return -2;
    if (k < 0 || h.major != TF_MAJOR_ARRAY || h.val == 0)
        return -1;
    int m = tf_head_read(p + k, n - (size_t)k, &h);
    if (m == 0)
        return -2;
    if (m < 0 || h.major != TF_MAJOR_UINT || h.val > INT32_MAX)
        return -1;
    return (int)h.val;
}

/* ---- encoding ---- */

static void put_ids(struct tf_buf *b, int64_t size, const uint32_t *ids, size_t n)
{
    if (size > 0 && size <= 65536)
        tf_cbor_u16s(b, ids, n);
    else
        tf_cbor_u32s(b, ids, n);
}

void tf_record_tokens(struct tf_buf *b, int64_t size, uint64_t idx, const uint32_t *ids, size_t n)
{
    tf_cbor_array(b, 3);
    tf_cbor_uint(b, TF_REC_TOKENS);
    tf_cbor_uint(b, idx);
    put_ids(b, size, ids, n);
}

void tf_record_pair(struct tf_buf *b, int64_t size, uint64_t idx, const uint32_t *src, size_t n_src,
                    const uint32_t *tgt, size_t n_tgt)
{
    tf_cbor_array(b, 4);
    tf_cbor_uint(b, TF_REC_PAIR);
    tf_cbor_uint(b, idx);
    put_ids(b, size, src, n_src);
    put_ids(b, size, tgt, n_tgt);
}

static void put_crc(struct tf_buf *b, size_t start)
{
    tf_cbor_uint(b, tf_crc32c(0, b->p + start, b->len - start));
}

void tf_record_batch(struct tf_buf *b, int64_t size, const struct tf_batch *t)
{
    size_t start = b->len;
    tf_cbor_array(b, 4);
    tf_cbor_uint(b, TF_REC_BATCH);
    tf_cbor_uint(b, t->ordinal);
    tf_cbor_map(b, t->has_corpus ? 8 : 7); /* keys by length, then bytes */
    tf_cbor_str(b, "idx");
    tf_cbor_u32s(b, t->idx, t->n);
    tf_cbor_str(b, "src");
    put_ids(b, size, t->src, t->src_off[t->n]);
    tf_cbor_str(b, "tgt");
    put_ids(b, size, t->tgt, t->tgt_off[t->n]);
    tf_cbor_str(b, "epoch");
    tf_cbor_uint(b, t->epoch);
    if (t->has_corpus) {
        tf_cbor_str(b, "corpus");
        tf_cbor_sha256(b, t->corpus);
    }
    tf_cbor_str(b, "record");
    tf_cbor_uint(b, t->record);
    tf_cbor_str(b, "src_off");
    tf_cbor_u32s(b, t->src_off, t->n + 1);
    tf_cbor_str(b, "tgt_off");
    tf_cbor_u32s(b, t->tgt_off, t->n + 1);
    put_crc(b, start);
}

void tf_record_nbest(struct tf_buf *b, int64_t size, uint64_t idx, const struct tf_hyp *hyps,
                     size_t n)
{
    tf_cbor_array(b, 3);
    tf_cbor_uint(b, TF_REC_NBEST);
    tf_cbor_uint(b, idx);
    tf_cbor_array(b, n);
    for (size_t i = 0; i < n; i++) {
        tf_cbor_array(b, hyps[i].token_logp ? 4 : 3);
        put_ids(b, size, hyps[i].ids, hyps[i].n);
        tf_cbor_f32(b, hyps[i].score);
        tf_cbor_f32(b, hyps[i].logp);
        if (hyps[i].token_logp)
            tf_cbor_f32s(b, hyps[i].token_logp, hyps[i].n + 1);
    }
}

static void put_texts(struct tf_buf *b, const char *const *texts, size_t n)
{
    tf_cbor_array(b, n);
    for (size_t i = 0; i < n; i++)
        tf_cbor_str(b, texts[i]);
}

bool tf_attn_fits(const struct tf_attn *t)
{
    return t->n_heads <= TF_MAX_IDS && t->n_rows <= TF_MAX_TEXTS && t->n_cols <= TF_MAX_TEXTS &&
           t->n_heads * t->n_rows * t->n_cols <= TF_MAX_RECORD / sizeof(float);
}

void tf_record_attention(struct tf_buf *b, uint64_t idx, const struct tf_attn *t)
{
    tf_cbor_array(b, 8);
    tf_cbor_uint(b, TF_REC_ATTN);
    tf_cbor_uint(b, idx);
    tf_cbor_str(b, t->kind);
    tf_cbor_uint(b, t->layer);
    tf_cbor_u32s(b, t->heads, t->n_heads);
    put_texts(b, t->rows, t->n_rows);
    put_texts(b, t->cols, t->n_cols);
    tf_cbor_f32s(b, t->weights, t->n_heads * t->n_rows * t->n_cols);
}

void tf_record_score(struct tf_buf *b, uint64_t idx, float logp, const float *token_logp, size_t n)
{
    tf_cbor_array(b, token_logp ? 4 : 3);
    tf_cbor_uint(b, TF_REC_SCORE);
    tf_cbor_uint(b, idx);
    tf_cbor_f32(b, logp);
    if (token_logp)
        tf_cbor_f32s(b, token_logp, n);
}

void tf_record_stats(struct tf_buf *b, uint64_t idx, const uint32_t *counts, size_t n)
{
    tf_cbor_array(b, 3);
    tf_cbor_uint(b, TF_REC_STATS);
    tf_cbor_uint(b, idx);
    tf_cbor_u32s(b, counts, n);
}

void tf_record_bad(struct tf_buf *b, uint64_t idx, int code, const char *text)
{
    tf_cbor_array(b, 4);
    tf_cbor_uint(b, TF_REC_BAD);
    tf_cbor_uint(b, idx);
    tf_cbor_uint(b, (uint64_t)code);
    tf_cbor_str(b, text);
}

void tf_record_error(struct tf_buf *b, int code, const char *text)
{
    tf_cbor_array(b, 3);
    tf_cbor_uint(b, TF_REC_ERROR);
    tf_cbor_uint(b, (uint64_t)code);
    tf_cbor_str(b, text);
}

void tf_record_state(struct tf_buf *b, const char *name, const struct tf_value *v)
{
    size_t start = b->len;
    tf_cbor_array(b, 4);
    tf_cbor_uint(b, TF_REC_STATE);
    tf_cbor_str(b, name);
    tf_cbor_value(b, v);
    put_crc(b, start);
}

void tf_record_mark(struct tf_buf *b, int type, uint64_t count, uint32_t crc)
{
    tf_cbor_array(b, 3);
    tf_cbor_uint(b, (uint64_t)type);
    tf_cbor_uint(b, count);
    tf_cbor_uint(b, crc);
}

/* ---- decoding ---- */

struct decode {
    struct tf_cbor_cursor c;
    uint64_t items; /* of the record, the type included */
    struct tf_arena *a;
    const struct tf_header *h;
};

/* Reasons go up as text with the field in front. */
#define TRY(what, call)                                  \
    do {                                                 \
        const char *why_ = (call);                       \
        if (why_)                                        \
            return tf_fail(err, "%s: %s", (what), why_); \
    } while (0)

static int known_ids(const struct tf_header *h, const char *what, const uint32_t *ids, size_t n,
                     struct tf_err *err)
{
    if (h->size <= 0)
        return 0;
    uint32_t most = 0;
    for (size_t i = 0; i < n; i++)
        most = ids[i] > most ? ids[i] : most;
    if (n && most >= h->size)
        return tf_fail(err, "%s: id %u in a vocabulary of %lld", what, most, (long long)h->size);
    return 0;
}

static int decode_text(struct decode *d, struct tf_record *rec, struct tf_err *err)
{
    uint64_t code;
    const char *s;
    size_t n;
    TRY("code", tf_cursor_uint(&d->c, &code));
    if (code > INT32_MAX)
        return tf_fail(err, "code: too large");
    TRY("text", tf_cursor_text(&d->c, &s, &n));
    rec->code = (int)code;
    rec->text = tf_arena_strndup(d->a, s, n);
    return 0;
}

static int decode_hyp(struct decode *d, struct tf_hyp *hyp, struct tf_err *err)
{
    uint64_t items;
    double score, logp;
    size_t n;
    TRY("hypothesis", tf_cursor_array(&d->c, &items));
    if (items < 3)
        return tf_fail(err, "hypothesis: fewer than 3 items");
    *hyp = (struct tf_hyp){0};
    TRY("ids", tf_cursor_ids(&d->c, d->a, TF_MAX_IDS, &hyp->ids, &hyp->n));
    TRY("score", tf_cursor_real(&d->c, &score));
    TRY("logp", tf_cursor_real(&d->c, &logp));
    hyp->score = (float)score;
    hyp->logp = (float)logp;
    if (items > 3) {
        if (tf_cursor_is_null(&d->c)) {
            d->c.p++;
        } else {
            TRY("token logp", tf_cursor_reals(&d->c, d->a, TF_MAX_IDS + 1, &hyp->token_logp, &n));
            if (n != hyp->n + 1)
                return tf_fail(err, "token logp: %zu of them for %zu ids and an end", n, hyp->n);
        }
    }
    for (uint64_t i = 4; i < items; i++)
        TRY("hypothesis", tf_cursor_skip(&d->c));
    return 0;
}

static int decode_nbest(struct decode *d, struct tf_record *rec, struct tf_err *err)
{
    uint64_t n;
    size_t total = 0;
    TRY("hypotheses", tf_cursor_array(&d->c, &n));
    if (n > TF_MAX_HYPS)
        return tf_fail(err, "more than %d hypotheses", TF_MAX_HYPS);
    struct tf_hyp *hyps = tf_arena_alloc(d->a, (size_t)n * sizeof *hyps + 1);
    for (uint64_t i = 0; i < n; i++) {
        if (decode_hyp(d, &hyps[i], err))
            return -1;
        total += hyps[i].n;
        if (total > TF_MAX_IDS)
            return tf_fail(err, "hypotheses: too many ids");
    }
    rec->hyps = hyps;
    rec->n_hyps = (size_t)n;
    return 0;
}

static int decode_texts(struct decode *d, const char *what, const char *const **texts, size_t *n,
                        struct tf_err *err)
{
    uint64_t items;
    TRY(what, tf_cursor_array(&d->c, &items));
    if (items > TF_MAX_TEXTS)
        return tf_fail(err, "%s: more than %d", what, TF_MAX_TEXTS);
    const char **v = tf_arena_alloc(d->a, (size_t)items * sizeof *v + 1);
    for (uint64_t i = 0; i < items; i++) {
        const char *s;
        size_t len;
        TRY(what, tf_cursor_text(&d->c, &s, &len));
        v[i] = tf_arena_strndup(d->a, s, len);
    }
    *texts = v;
    *n = (size_t)items;
    return 0;
}

static int decode_attention(struct decode *d, struct tf_attn *t, struct tf_err *err)
{
    const char *kind;
    size_t n;
    TRY("kind", tf_cursor_text(&d->c, &kind, &n));
    t->kind = tf_arena_strndup(d->a, kind, n);
    TRY("layer", tf_cursor_uint(&d->c, &t->layer));
    TRY("heads", tf_cursor_ids(&d->c, d->a, TF_MAX_IDS, &t->heads, &t->n_heads));
    if (decode_texts(d, "rows", &t->rows, &t->n_rows, err) ||
        decode_texts(d, "columns", &t->cols, &t->n_cols, err))
        return -1;
    TRY("weights", tf_cursor_reals(&d->c, d->a, TF_MAX_RECORD / sizeof(float), &t->weights, &n));
    /* The factors are at most 2^20, 2^16 and 2^16. */
    if (n != (uint64_t)t->n_heads * t->n_rows * t->n_cols)
        return tf_fail(err, "weights: %zu of them for %zu heads of %zu rows and %zu columns", n,
                       t->n_heads, t->n_rows, t->n_cols);
    return 0;
}

static int check_offsets(const char *what, const uint32_t *off, size_t n_off, size_t n, size_t ids,
                         struct tf_err *err)
{
    if (n_off != n + 1 || off[0] != 0 || off[n] != ids)
        return tf_fail(err, "%s: does not run from 0 to %zu in %zu steps", what, ids, n);
    for (size_t i = 0; i < n; i++)
        if (off[i] > off[i + 1])
            return tf_fail(err, "%s: falls at %zu", what, i);
    return 0;
}

static int decode_batch(struct decode *d, struct tf_record *rec, struct tf_err *err)
{
    enum {
        IDX = 1,
        SRC = 2,
        TGT = 4,
        EPOCH = 8,
        RECORD = 16,
        SRC_OFF = 32,
        TGT_OFF = 64,
        CORPUS = 128
    };
    static const char *const fields[] = {"idx",    "src",     "tgt",     "epoch",
                                         "record", "src_off", "tgt_off", "corpus"};
    struct tf_batch *t = &rec->batch;
    unsigned seen = 0;
    uint64_t pairs;
    size_t n_src = 0, n_tgt = 0, n_src_off = 0, n_tgt_off = 0;
    TRY("ordinal", tf_cursor_uint(&d->c, &t->ordinal));
    TRY("fields", tf_cursor_map(&d->c, &pairs));
    for (uint64_t i = 0; i < pairs; i++) {
        const char *key;
        size_t n;
        unsigned bit = 0;
        TRY("key", tf_cursor_text(&d->c, &key, &n));
        for (unsigned k = 0; k < sizeof fields / sizeof *fields; k++)
            if (strlen(fields[k]) == n && !memcmp(fields[k], key, n))
                bit = 1u << k;
        if (seen & bit)
            return tf_fail(err, "%.*s: twice", (int)n, key);
        seen |= bit;
        switch (bit) {
        case IDX:
            TRY("idx", tf_cursor_ids(&d->c, d->a, TF_MAX_IDS, &t->idx, &t->n));
            break;
        case SRC:
            TRY("src", tf_cursor_ids(&d->c, d->a, TF_MAX_IDS, &t->src, &n_src));
            break;
        case TGT:
            TRY("tgt", tf_cursor_ids(&d->c, d->a, TF_MAX_IDS, &t->tgt, &n_tgt));
            break;
        case EPOCH:
            TRY("epoch", tf_cursor_uint(&d->c, &t->epoch));
            break;
        case RECORD:
            TRY("record", tf_cursor_uint(&d->c, &t->record));
            break;
        case SRC_OFF:
            TRY("src_off", tf_cursor_ids(&d->c, d->a, TF_MAX_IDS + 1, &t->src_off, &n_src_off));
            break;
        case TGT_OFF:
            TRY("tgt_off", tf_cursor_ids(&d->c, d->a, TF_MAX_IDS + 1, &t->tgt_off, &n_tgt_off));
            break;
        case CORPUS:
            TRY("corpus", tf_cursor_sha256(&d->c, t->corpus));
            t->has_corpus = true;
            break;
        default:
            TRY("field", tf_cursor_skip(&d->c));
            break;
        }
    }
    if ((seen & (CORPUS - 1)) != CORPUS - 1)
        return tf_fail(err, "a field is missing (idx, src, tgt, epoch, record, src_off, tgt_off)");
    if (check_offsets("src_off", t->src_off, n_src_off, t->n, n_src, err) ||
        check_offsets("tgt_off", t->tgt_off, n_tgt_off, t->n, n_tgt, err))
        return -1;
    if (known_ids(d->h, "src", t->src, n_src, err) || known_ids(d->h, "tgt", t->tgt, n_tgt, err))
        return -1;
    return 0;
}

/* The crc item of a record that has its own: of all bytes of the record before it. */
static int check_own_crc(const uint8_t *p, size_t n, struct tf_err *err)
{
    bool has;
    uint32_t crc;
    size_t at = tf_record_crc_at(tf_record_type(p, n), p, n);
    struct tf_cbor_cursor c = {.p = p + at, .end = p + n};
    if (at == 0)
        return tf_fail(err, "crc: missing");
    TRY("record", tf_cursor_crc(&c, &has, &crc));
    uint32_t want = tf_crc32c(0, p, at);
    if (has && crc != want)
        return tf_fail(err, "damaged: crc32c is %08x, the record says %08x", want, crc);
    return 0;
}

int tf_record_decode(struct tf_record *rec, struct tf_arena *a, const struct tf_header *h,
                     const uint8_t *p, size_t n, struct tf_err *err)
{
    static const uint8_t at_least[] = {2, 3, 4, 4, 3, 8, 6, 4, 1, 4, 3, 3, 1, 3, 3, 3};
    struct decode d = {.c = {.p = p, .end = p + n}, .a = a, .h = h};
    double x;
    uint64_t type;
    memset(rec, 0, sizeof *rec);
    rec->raw = p;
    rec->raw_n = n;
    TRY("record", tf_cursor_array(&d.c, &d.items));
    TRY("type", tf_cursor_uint(&d.c, &type));
    if (type > INT32_MAX)
        return tf_fail(err, "type: too large");
    rec->type = (int)type;
    if (type < sizeof at_least && d.items < at_least[type])
        return tf_fail(err, "fewer than %d items", at_least[type]);
    switch (type) {
    case TF_REC_TOKENS:
    case TF_REC_PAIR:
    case TF_REC_NBEST:
    case TF_REC_BAD:
    case TF_REC_SCORE:
    case TF_REC_STATS:
    case TF_REC_ATTN:
        TRY("idx", tf_cursor_uint(&d.c, &rec->idx));
        break;
    default:
        break;
    }
    switch (type) {
    case TF_REC_TOKENS:
        TRY("ids", tf_cursor_ids(&d.c, a, TF_MAX_IDS, &rec->ids, &rec->n));
        return 0;
    case TF_REC_STATS:
        TRY("counts", tf_cursor_ids(&d.c, a, TF_MAX_IDS, &rec->ids, &rec->n));
        return 0;
    case TF_REC_PAIR:
        TRY("source", tf_cursor_ids(&d.c, a, TF_MAX_IDS, &rec->ids, &rec->n));
        TRY("target", tf_cursor_ids(&d.c, a, TF_MAX_IDS, &rec->tgt, &rec->n_tgt));
        return known_ids(h, "source", rec->ids, rec->n, err) ||
                       known_ids(h, "target", rec->tgt, rec->n_tgt, err)
                   ? -1
                   : 0;
    case TF_REC_BATCH:
        return check_own_crc(p, n, err) || decode_batch(&d, rec, err) ? -1 : 0;
    case TF_REC_STATE:
        return check_own_crc(p, n, err);
    case TF_REC_NBEST:
        return decode_nbest(&d, rec, err);
    case TF_REC_ATTN:
        return decode_attention(&d, &rec->attn, err);
    case TF_REC_BAD:
    case TF_REC_ERROR:
        return decode_text(&d, rec, err);
    case TF_REC_SCORE:
        TRY("logp", tf_cursor_real(&d.c, &x));
        rec->logp = (float)x;
        if (d.items > 3 && !tf_cursor_is_null(&d.c))
            TRY("token logp", tf_cursor_reals(&d.c, a, TF_MAX_IDS + 1, &rec->token_logp, &rec->n));
        return 0;
    default:
        return 0;
    }
}

size_t tf_record_crc_at(int type, const uint8_t *p, size_t n)
{
    struct tf_cbor_cursor c = {.p = p, .end = p + n};
    uint64_t items, field = type == TF_REC_TENSOR                          ? 5
                            : type == TF_REC_BATCH || type == TF_REC_STATE ? 3
                                                                           : 0;
    if (!field || tf_cursor_array(&c, &items) || items <= field)
        return 0;
    for (uint64_t i = 0; i < field; i++)
        if (tf_cursor_skip(&c))
            return 0;
    return (size_t)(c.p - p);
}
