/* tokenize.c - see tokenize.h. Work moves in rounds: read what is ready (at most a round's worth),
 * cut into blocks, have the pool turn blocks over, write them in order. */
#include "text/tokenize.h"
#include "base/opt.h"
#include "base/thread.h"
#include "base/utf8.h"
#include "text/sample.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    BLOCK_ITEMS = 256,
    BLOCK_BYTES = 128 << 10,
    ROUND_BLOCKS = 32,
    KEEP_BYTES = 1 << 20,
    HUGE_LINE = 1 << 20
};

/* A line on its way to ids, or a hypothesis on its way to text. */
struct item {
    size_t end; /* of its input in the block's text or ids: it begins where the one before ends */
    size_t out_end;  /* of its output in the block's ids or out */
    uint64_t number; /* of its line or record */
    uint64_t idx;    /* of the record in its part */
    uint32_t rank; /* of an n-best list, from 1; 0: bad or of no list */
    float score;
    int code;  /* 0, or enum tf_bad_code */
    char *why; /* with a code: owned */
};

struct block {
    struct item items[BLOCK_ITEMS];
    size_t n;
    struct tf_buf text;
    struct tf_ids ids;
    struct tf_buf out, spare;
};

struct run {
    struct tf_tokenize *t;
    const char *name; /* of the input */
    struct tf_sampler *sampler;
    bool pieces;  /* what lines turn into: text, not ids */
    bool records; /* come in, and are called by their idx; lines are counted from 1 */
    struct tf_pool *pool;
    struct block *blocks; /* ROUND_BLOCKS */
    size_t used;          /* blocks of this round */
    char *first_why;      /* what to say of the first bad one at the end */
    uint64_t first_bad; /* what it is called */
    uint64_t last_bad;  /* number of the last one */
    struct tf_record rec; /* being taken apart */
    bool pending;         /* the round was full before all of rec was taken */
    size_t hyp;           /* next hypothesis of rec */
};

static void mark_bad(struct item *it, int code, const char *fmt, ...) TF_PRINTF(3, 4);

static void mark_bad(struct item *it, int code, const char *fmt, ...)
{
    struct tf_buf b = {0};
    char text[256];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    tf_buf_str(&b, text);
    it->code = code;
    free(it->why);
    it->why = b.p;
}

static int run_begin(struct run *r, struct tf_tokenize *t, const char *name, struct tf_err *err)
{
    *r = (struct run){.t = t, .name = name};
    t->lines = t->bad_lines = 0;
    if (t->sample && tf_sampler_new(&r->sampler, t->vocab->sp, err) < 0)
        return -1;
    r->blocks = tf_xcalloc(ROUND_BLOCKS, sizeof *r->blocks);
    r->pool = tf_pool_new(t->threads);
    return 0;
}

static void run_end(struct run *r)
{
    for (size_t i = 0; r->blocks != NULL && i < ROUND_BLOCKS; i++) {
        for (size_t k = 0; k < r->blocks[i].n; k++)
            free(r->blocks[i].items[k].why);
        tf_buf_release(&r->blocks[i].text);
        tf_buf_release(&r->blocks[i].out);
        tf_buf_release(&r->blocks[i].spare);
        tf_ids_release(&r->blocks[i].ids);
    }
    free(r->blocks);
    free(r->first_why);
    if (r->pool != NULL)
        tf_pool_free(r->pool);
    tf_sampler_free(r->sampler);
}

/* Empty the blocks of the last round; memory of an unusual one is given back. */
static void round_begin(struct run *r)
{
    for (size_t i = 0; i < r->used; i++) {
        struct block *b = &r->blocks[i];
        for (size_t k = 0; k < b->n; k++)
            free(b->items[k].why);
        b->n = b->ids.n = 0;
        struct tf_buf *texts[] = {&b->text, &b->out, &b->spare};
        for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
            tf_buf_clear(texts[k]);
            if (texts[k]->cap > KEEP_BYTES)
                tf_buf_release(texts[k]);
        }
        if (b->ids.cap > KEEP_BYTES / sizeof *b->ids.v)
            tf_ids_release(&b->ids);
    }
    r->used = 0;
}

/* The block that takes the next item, or NULL when the round is full. */
static struct block *room(struct run *r)
{
    struct block *b = r->used > 0 ? &r->blocks[r->used - 1] : NULL;
    if (b != NULL && b->n < BLOCK_ITEMS && b->text.len < BLOCK_BYTES && b->ids.n < BLOCK_BYTES / 4)
        return b;
    /* Long lines fill blocks on their own: bound the round by bytes as well. */
    size_t bytes = 0;
    for (size_t i = 0; i < r->used; i++)
        bytes += r->blocks[i].text.len + 4 * r->blocks[i].ids.n;
    if (r->used == ROUND_BLOCKS || bytes >= (size_t)ROUND_BLOCKS * BLOCK_BYTES)
        return NULL;
    return &r->blocks[r->used++];
}

/* What messages call an item: "line", or "record", and a number. */
static const char *kind_of(const struct run *r)
{
    return r->records ? "record" : "line";
}

static unsigned long long number_of(const struct run *r, const struct item *it)
{
    return r->records ? it->idx : it->number + 1;
}

/* Count a bad item that is about to be put out: a record once, however many of its hypotheses
 * are. */
static int count_bad(struct run *r, const struct item *it, struct tf_err *err)
{
    if (r->t->bad == TF_ON_BAD_FAIL)
        return tf_fail(err, "%s: %s %llu: %s", r->name, kind_of(r), number_of(r, it), it->why);
    if (r->first_why == NULL) {
        r->first_why = tf_xstrdup(it->why);
        r->first_bad = number_of(r, it);
    } else if (r->last_bad == it->number) {
        return 0;
    }
    r->last_bad = it->number;
    r->t->bad_lines++;
    return 0;
}

static int verdict(const struct run *r, struct tf_err *err)
{
    const struct tf_tokenize *t = r->t;
    if (t->bad_lines > 0 && t->bad == TF_ON_BAD_MARK)
        tf_fail_status(err, TF_PARTIAL, "%s: %llu of %llu %ss bad; the first is %s %llu: %s",
                       r->name, (unsigned long long)t->bad_lines, (unsigned long long)t->lines,
                       kind_of(r), kind_of(r), (unsigned long long)r->first_bad, r->first_why);
    return 0;
}

/* ---- text to ids ---- */

static void take_line(struct run *r, struct block *b, const char *line, size_t n, bool too_long)
{
    struct item *it = &b->items[b->n++];
    *it = (struct item){.number = r->t->lines++};
    if (too_long)
        mark_bad(it, TF_BAD_TOO_LONG, "line of %zu bytes, maximum %zu", n, r->t->max_line);
    else
        tf_buf_add(&b->text, line, n - (r->t->crlf && n > 0 && line[n - 1] == '\r'));
    it->end = b->text.len;
}

/* Read lines into blocks until the round is full or the next line would have to be waited for.
 * Returns 0 at the end of the input. */
static int read_lines(struct run *r, struct tf_in *in, struct tf_err *err)
{
    round_begin(r);
    struct block *b;
    while ((b = room(r)) != NULL) {
        const char *line;
        size_t n;
        if ((r->used > 1 || b->n > 0) && !tf_in_line_ready(in, r->t->max_line))
            break;
        int rc = tf_in_line(in, &line, &n, r->t->max_line, err);
        if (rc <= 0) {
            if (b->n == 0)
                r->used--;
            return rc;
        }
        take_line(r, b, line, n, rc == 2);
    }
    return 1;
}

/* The pieces of ids, as the vocabulary has them, with a space between. */
static void spell(struct tf_buf *out, const struct tf_sp *sp, const uint32_t *ids, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t len;
        const char *piece = tf_sp_piece(sp, ids[i], &len);
        if (i > 0)
            tf_buf_byte(out, ' ');
        tf_buf_add(out, piece, len);
    }
}

static void encode_item(const struct run *r, struct block *b, struct item *it, const char *s,
                        size_t n)
{
    struct tf_err err = {0};
    const struct tf_tokenize *t = r->t;
    size_t start = b->ids.n, good = tf_utf8_span(s, n), out_start = b->out.len;
    if (good < n && !t->replace_invalid) {
        mark_bad(it, TF_BAD_UTF8, "invalid UTF-8 at byte %zu", good + 1);
        return;
    }
    if (good < n) {
        tf_buf_clear(&b->spare);
        tf_utf8_replace(&b->spare, s, n);
        s = b->spare.p;
        n = b->spare.len;
    }
    int rc = 0;
    /* A line takes some 200 times its size while it is cut: the huge ones wait for each other. */
    static pthread_mutex_t huge = PTHREAD_MUTEX_INITIALIZER;
    bool alone = n > HUGE_LINE;
    if (alone)
        pthread_mutex_lock(&huge);
    if (t->sample) {
        struct tf_rng rng = tf_rng_new(t->seed, it->number);
        rc = tf_sample(r->sampler, s, n, t->alpha, t->nbest, &rng, &b->ids, &err);
        if (r->pieces)
            spell(&b->out, t->vocab->sp, b->ids.v + start, b->ids.n - start);
    } else if (n > 0 && r->pieces) {
        rc = tf_sp_pieces(t->vocab->sp, s, n, &b->out, &err);
    } else if (n > 0) {
        rc = tf_sp_encode(t->vocab->sp, s, n, &b->ids, &err);
    }
    if (alone)
        pthread_mutex_unlock(&huge);
    if (rc < 0)
        mark_bad(it, TF_BAD_OTHER, "%.200s", err.msg);
    else if (b->ids.n - start > TF_MAX_IDS)
        mark_bad(it, TF_BAD_TOO_MANY_TOKENS, "%zu tokens, maximum %zu", b->ids.n - start,
                 TF_MAX_IDS);
    if (it->code != 0) {
        b->ids.n = start;
        b->out.len = out_start;
    }
}

static void encode_block(void *arg, size_t job, int lane)
{
    (void)lane;
    const struct run *r = arg;
    struct block *b = &r->blocks[job];
    size_t at = 0;
    for (size_t k = 0; k < b->n; k++) {
        struct item *it = &b->items[k];
        if (it->code == 0)
            encode_item(r, b, it, b->text.p + at, it->end - at);
        if (r->pieces)
            tf_buf_byte(&b->out, '\n');
        it->out_end = r->pieces ? b->out.len : b->ids.n;
        at = it->end;
    }
}

static int put_records(struct run *r, struct tf_writer *w, struct tf_err *err)
{
    for (size_t i = 0; i < r->used; i++) {
        const struct block *b = &r->blocks[i];
        size_t at = 0;
        for (size_t k = 0; k < b->n; k++) {
            const struct item *it = &b->items[k];
            if (it->code != 0 && count_bad(r, it, err) < 0)
                return -1;
            int rc = it->code != 0
                         ? tf_writer_bad(w, it->number, it->code, it->why, err)
                         : tf_writer_tokens(w, it->number, b->ids.v + at, it->out_end - at, err);
            if (rc < 0)
                return -1;
            at = it->out_end;
        }
    }
    return 0;
}

/* The round's output as text, up to the first bad item where that ends the run. */
static int put_text(struct run *r, struct tf_out *out, struct tf_err *err)
{
    int rc = 0;
    for (size_t i = 0; i < r->used && rc == 0; i++) {
        const struct block *b = &r->blocks[i];
        size_t end = 0;
        for (size_t k = 0; k < b->n; end = b->items[k++].out_end)
            if (b->items[k].code != 0 && (rc = count_bad(r, &b->items[k], err)) < 0)
                break;
        if (end > 0 && tf_out_write(out, b->out.p, end, err) < 0)
            return -1;
    }
    return rc;
}

/* To records by the writer or, without one, to text. */
static int encode_all(struct run *r, struct tf_in *in, struct tf_writer *w, struct tf_out *out,
                      struct tf_err *err)
{
    for (int more = 1; more;) {
        struct tf_err input = {0};
        more = read_lines(r, in, &input);
        tf_pool_run(r->pool, encode_block, r, r->used);
        if ((w != NULL ? put_records(r, w, err) : put_text(r, out, err)) < 0)
            return -1;
        if (more < 0) {
            *err = input;
            return -1;
        }
        if (more > 0 && !tf_in_line_ready(in, r->t->max_line) &&
            (w != NULL ? tf_writer_flush(w, err) : tf_out_flush(out, err)) < 0)
            return -1;
    }
    return 0;
}

static int begin_stream(struct tf_writer *w, const struct tf_vocab *v, const struct tf_opt *table,
                        struct tf_out *out, struct tf_err *err)
{
    struct tf_arena a = {0};
    struct tf_header h = {.kind = "tokens",
                          .version = 1,
                          .config = tf_value_map(),
                          .made = tf_value_array(),
                          .extra = tf_value_map()};
    struct tf_value inputs = tf_value_map();
    tf_vocab_header(v, &h);
    tf_value_put(&a, &inputs, "vocab", tf_value_bytes(&a, v->hash, sizeof v->hash));
    tf_header_made(&h, &a, tf_progname, table, &inputs);
    int rc = tf_writer_begin(w, out, &h, err);
    tf_arena_release(&a);
    return rc;
}

int tf_tokenize_encode(struct tf_tokenize *t, struct tf_in *in, const struct tf_opt *table,
                       struct tf_out *out, struct tf_err *err)
{
    struct run r;
    struct tf_writer w = {0};
    if (run_begin(&r, t, in->name, err) < 0) {
        run_end(&r);
        return -1;
    }
    int rc = begin_stream(&w, t->vocab, table, out, err);
    /* A header at once lets the next stage refuse a wrong vocabulary before the first line. */
    if (rc == 0 && !tf_in_line_ready(in, t->max_line))
        rc = tf_writer_flush(&w, err);
    if (rc == 0)
        rc = encode_all(&r, in, &w, out, err);
    if (rc == 0)
        rc = tf_writer_end(&w, err);
    else
        tf_writer_fail(&w, err);
    if (rc == 0)
        rc = verdict(&r, err);
    tf_writer_release(&w);
    run_end(&r);
    return rc;
}

int tf_tokenize_pieces(struct tf_tokenize *t, struct tf_in *in, struct tf_out *out,
                       struct tf_err *err)
{
    struct run r;
    int rc = run_begin(&r, t, in->name, err);
    r.pieces = true;
    if (rc == 0)
        rc = encode_all(&r, in, NULL, out, err);
    if (rc == 0)
        rc = verdict(&r, err);
    run_end(&r);
    return rc;
}

/* ---- ids to text ---- */

/* Put the hypotheses of the record at hand into blocks, from r->hyp on; false when the round is
 * full before the last. */
static bool take_record(struct run *r)
{
    const struct tf_record *rec = &r->rec;
    size_t count = rec->type == TF_REC_NBEST && r->t->all && rec->n_hyps > 0 ? rec->n_hyps : 1;
    for (; r->hyp < count; r->hyp++) {
        struct block *b = room(r);
        r->pending = b == NULL;
        if (b == NULL)
            return false;
        struct item *it = &b->items[b->n++];
        *it = (struct item){.number = r->t->lines - 1, .idx = rec->idx};
        if (rec->type == TF_REC_BAD) {
            char why[256];
            mark_bad(it, rec->code, "%s", tf_bad_say(why, sizeof why, rec->code, rec->text));
        } else if (rec->type == TF_REC_NBEST && rec->n_hyps == 0) {
            mark_bad(it, TF_BAD_OTHER, "no hypothesis");
        } else if (rec->type == TF_REC_NBEST) {
            tf_ids_add(&b->ids, rec->hyps[r->hyp].ids, rec->hyps[r->hyp].n);
            it->rank = (uint32_t)r->hyp + 1;
            it->score = rec->hyps[r->hyp].score;
        } else {
            tf_ids_add(&b->ids, rec->ids, rec->n);
        }
        it->end = b->ids.n;
    }
    r->hyp = 0;
    return true;
}

static int check_part(const struct run *r, struct tf_reader *reader, struct tf_err *err)
{
    const struct tf_header *h = tf_reader_header(reader);
    struct tf_header own = {0};
    tf_vocab_header(r->t->vocab, &own);
    if (r->t->all && strcmp(h->kind, "nbest") != 0)
        return tf_fail(err, "%s: holds no n-best lists, but %s", r->name, h->kind);
    return tf_same_vocab(h, r->name, &own, "the model", err);
}

/* Read records into blocks until the round is full or the next one would have to be waited for.
 * Returns 0 at the end of the stream. */
static int read_records(struct run *r, struct tf_reader *reader, struct tf_err *err)
{
    round_begin(r);
    for (;;) {
        if (!r->pending) {
            if (r->used > 0 && !tf_reader_ready(reader))
                return 1;
            int rc = tf_reader_next(reader, &r->rec, err);
            if (rc <= 0)
                return rc;
            if (r->rec.type == TF_REC_HEADER) {
                if (check_part(r, reader, err) < 0)
                    return -1;
                continue;
            }
            r->t->lines++;
        }
        if (!take_record(r))
            return 1;
    }
}

static void decode_item(const struct run *r, struct block *b, struct item *it, const uint32_t *ids,
                        size_t n)
{
    struct tf_err err = {0};
    const struct tf_tokenize *t = r->t;
    for (size_t i = 0; i < n && it->code == 0; i++)
        if (ids[i] >= (uint64_t)tf_sp_size(t->vocab->sp))
            mark_bad(it, TF_BAD_UNKNOWN_ID, "id %lu: the vocabulary has %lld",
                     (unsigned long)ids[i], (long long)tf_sp_size(t->vocab->sp));
    size_t start = b->out.len;
    if (it->code == 0) {
        if (t->all)
            tf_buf_printf(&b->out, "%llu\t%lu\t%.6f\t", (unsigned long long)it->idx,
                          (unsigned long)it->rank, (double)it->score);
        size_t text = b->out.len;
        if (n > 0 && tf_sp_decode(t->vocab->sp, ids, n, &b->out, &err) < 0)
            mark_bad(it, TF_BAD_OTHER, "%.200s", err.msg);
        for (char *p = b->out.p + text, *end = b->out.p + b->out.len;
             p < end && (p = memchr(p, '\n', (size_t)(end - p))) != NULL;)
            *p = ' ';
    }
    if (it->code != 0) {
        b->out.len = start;
        if (t->all)
            tf_buf_printf(&b->out, "%llu\t0\t\t", (unsigned long long)it->idx);
    }
    tf_buf_byte(&b->out, '\n');
    it->out_end = b->out.len;
}

static void decode_block(void *arg, size_t job, int lane)
{
    (void)lane;
    const struct run *r = arg;
    struct block *b = &r->blocks[job];
    size_t at = 0;
    for (size_t k = 0; k < b->n; k++) {
        decode_item(r, b, &b->items[k], b->ids.v + at, b->items[k].end - at);
        at = b->items[k].end;
    }
}

static int decode_all(struct run *r, struct tf_reader *reader, struct tf_out *out,
                      struct tf_err *err)
{
    if (check_part(r, reader, err) < 0)
        return -1;
    for (int more = 1; more;) {
        struct tf_err input = {0};
        more = read_records(r, reader, &input);
        tf_pool_run(r->pool, decode_block, r, r->used);
        if (put_text(r, out, err) < 0)
            return -1;
        if (more < 0) {
            *err = input;
            return -1;
        }
        if (more > 0 && !r->pending && !tf_reader_ready(reader) && tf_out_flush(out, err) < 0)
            return -1;
    }
    return 0;
}

int tf_tokenize_decode(struct tf_tokenize *t, struct tf_in *in, struct tf_out *out,
                       struct tf_err *err)
{
    static const char *const kinds[] = {"tokens", "nbest", NULL};
    struct run r;
    struct tf_reader *reader = NULL;
    int rc = run_begin(&r, t, in->name, err);
    r.records = true;
    if (rc == 0)
        rc = tf_reader_new(&reader, in, kinds, 0, err);
    if (rc == 0)
        rc = decode_all(&r, reader, out, err);
    if (rc == 0)
        rc = verdict(&r, err);
    if (reader != NULL)
        tf_reader_free(reader);
    run_end(&r);
    return rc;
}
