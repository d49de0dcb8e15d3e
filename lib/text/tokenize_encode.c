/* tokenize_encode.c - lines of text to token records, or to lines of pieces. */
#include "base/log.h"
#include "base/opt.h"
#include "base/utf8.h"
#include "stream/writer.h"
#include "text/text.h"
#include "text/tokenize_work_private.h"
#include "text/vocab_file.h"
#include <pthread.h>

enum { HUGE_LINE = 1 << 20 };

static size_t max_line(const struct tf_tokenize_work *r)
{
    return (size_t)r->t->max_line;
}

/* A model with tags needs one at the start of each line. The first line without one is
 * reported, and the first with one that the model has not. */
static void check_tag(struct tf_tokenize_work *r, const char *line, size_t n, uint64_t number)
{
    const char *tag;
    size_t tag_n;
    if (r->tags.n == 0 || n == 0)
        return;
    const enum tf_tag found = tf_tags_begin(&r->tags, line, n, &tag, &tag_n);
    if (found == TF_TAG_KNOWN || r->untagged[found]++ > 0)
        return;
    const struct tf_place_of at = tf_place(r->name, "line", number + 1, 1);
    struct tf_buf text = {0}, names = {0};
    if (found == TF_TAG_UNKNOWN)
        tf_buf_add(&text, tag, tag_n);
    tf_buf_byte(&text, 0);
    tf_tags_suggest(&names, &r->tags, text.p);
    if (found == TF_TAG_UNKNOWN)
        tf_warn("%s: %s %llu: %s is no tag of the model%s", at.input, at.what,
                (unsigned long long)at.number, text.p, names.p);
    else
        tf_warn("%s: %s %llu begins with no language's tag, as the model expects%s", at.input,
                at.what, (unsigned long long)at.number, names.p);
    tf_buf_release(&text);
    tf_buf_release(&names);
}

static void report_tags(const struct tf_tokenize_work *r)
{
    const uint64_t n = r->untagged[TF_TAG_UNKNOWN] + r->untagged[TF_TAG_NONE];
    if (n > 1)
        tf_warn("%s: %llu of %llu lines begin with no tag of the model", r->name,
                (unsigned long long)n, (unsigned long long)r->count.total);
}

static void take_line(struct tf_tokenize_work *r, struct tf_work_block *b, const char *line,
                      size_t n, bool too_long)
{
    struct tf_work_item *it = &b->items[b->n++];
    const size_t want = r->t->field;
    *it = (struct tf_work_item){.number = r->count.total++};
    n -= !too_long && r->t->crlf && n > 0 && line[n - 1] == '\r';
    struct tf_text rest = {line, n}, text = rest;
    const size_t fields = too_long ? want : tf_text_field(&rest, want, &text);
    if (too_long)
        tf_work_bad(it, TF_BAD_TOO_LONG, "line of %zu bytes, maximum %zu", n, max_line(r));
    else if (fields < want)
        tf_work_bad(it, TF_BAD_OTHER, "no field %zu, only %zu", want, fields);
    else {
        check_tag(r, text.p, text.n, it->number);
        tf_buf_add(&b->text, text.p, text.n);
    }
    it->end = b->text.len;
}

/* Read lines into blocks until the round is full or reading would block. Returns 0 at the end of
 * the input, 1 before it, -1 on error. */
static int read_lines(struct tf_tokenize_work *r, struct tf_in *in, struct tf_err *err)
{
    tf_work_round(r);
    struct tf_work_block *b;
    while ((b = tf_work_room(r)) != NULL) {
        const char *line;
        size_t n;
        if ((r->used > 1 || b->n > 0) && !tf_in_line_ready(in, max_line(r)))
            break;
        int rc = tf_in_line(in, &line, &n, max_line(r), err);
        if (rc <= 0) {
            if (b->n == 0)
                r->used--;
            return rc;
        }
        take_line(r, b, line, n, rc == 2);
    }
    return 1;
}

/* Append the pieces of ids, separated by spaces. */
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

/* The best segmentation, as the vocabulary has it: its pieces or their ids. */
static int segment(const struct tf_tokenize_work *r, struct tf_work_block *b, int lane,
                   const char *s, size_t n, struct tf_err *err)
{
    const struct tf_vocab *v = r->t->vocab;
    if (v->segmenter != NULL) {
        tf_segment(v->segmenter, r->rooms[lane], s, n, &b->ids);
        return 0;
    }
    if (v->bpe == NULL)
        return r->pieces ? tf_sp_pieces(v->sp, s, n, &b->out, err)
                         : tf_sp_encode(v->sp, s, n, &b->ids, err);
    if (r->pieces)
        tf_bpe_pieces(v->bpe, s, n, &b->out);
    else
        tf_bpe_encode(v->bpe, s, n, &b->ids);
    return 0;
}

/* A line that is being converted. */
struct line {
    const struct tf_tokenize_work *r;
    struct tf_work_block *b;
    int lane;
    struct tf_rng rng; /* of t->sample */
    size_t begin;      /* of its pieces in b->out */
};

static void put_id(const struct tf_tokenize_work *r, struct tf_work_block *b, uint32_t id)
{
    if (!r->pieces || r->t->sample)
        tf_ids_add(&b->ids, &id, 1);
    else
        spell(&b->out, r->t->vocab->sp, &id, 1);
}

/* What a segmentation, ids from `start` on, lacks of its text. */
static void count_unknown(const struct line *l, size_t start, const char *s, size_t n)
{
    const struct tf_tokenize_work *r = l->r;
    const struct tf_vocab *v = r->t->vocab;
    bool lacks = false;
    for (size_t i = start; i < l->b->ids.n; i++)
        lacks = lacks || l->b->ids.v[i] == (uint64_t)tf_sp_unk(v->sp);
    if (lacks && r->unknown != NULL)
        tf_unknown_count(r->unknown, v, r->rooms[l->lane], s, n);
}

/* A part of a line, with a space between its pieces and those before. */
static int encode_part(void *arg, const char *s, size_t n, int64_t id, struct tf_err *err)
{
    struct line *l = arg;
    struct tf_work_block *b = l->b;
    const struct tf_tokenize *t = l->r->t;
    const size_t start = b->ids.n, out = b->out.len;
    int rc = 0;
    if (l->r->pieces && !t->sample && out > l->begin)
        tf_buf_byte(&b->out, ' ');
    const size_t after = b->out.len;
    if (id >= 0)
        put_id(l->r, b, (uint32_t)id);
    else if (t->sample)
        rc = tf_sample(l->r->sampler, s, n, t->alpha, (int)t->nbest, &l->rng, &b->ids, err);
    else if (n > 0)
        rc = segment(l->r, b, l->lane, s, n, err);
    if (b->out.len == after)
        b->out.len = out;
    if (id < 0 && rc == 0)
        count_unknown(l, start, s, n);
    return rc;
}

/* The tokens of an item: ids from `start` on, or the pieces that were written from `out` on. */
static size_t count_tokens(const struct tf_tokenize_work *r, const struct tf_work_block *b,
                           size_t start, size_t out)
{
    if (!r->pieces || r->t->sample)
        return b->ids.n - start;
    size_t n = b->out.len > out;
    for (size_t i = out; i < b->out.len; i++)
        n += b->out.p[i] == ' ';
    return n;
}

/* Put the piece of t->begin before those of a line. */
static void put_begin(const struct tf_tokenize_work *r, struct tf_work_block *b)
{
    if (r->t->begin == NULL)
        return;
    put_id(r, b, r->begin);
    if (r->pieces && !r->t->sample)
        tf_buf_byte(&b->out, ' ');
}

static void report_unknown(const struct tf_tokenize_work *r)
{
    enum { MOST = 40 };
    struct tf_buf list = {0};
    if (r->unknown != NULL && tf_unknown_list(r->unknown, &list, MOST) > 0)
        tf_note("not in the vocabulary, so that the output may lack or change them "
                "(tf-translate --copy-unk keeps them): %s",
                list.p);
    tf_buf_release(&list);
}

static void encode_item(const struct tf_tokenize_work *r, struct tf_work_block *b, int lane,
                        struct tf_work_item *it, const char *s, size_t n)
{
    struct tf_err err = {0};
    const struct tf_tokenize *t = r->t;
    size_t start = b->ids.n, good = tf_utf8_span(s, n), out_start = b->out.len, tokens;
    if (good < n && !t->replace_invalid) {
        tf_work_bad(it, TF_BAD_UTF8, "invalid UTF-8 at byte %zu", good + 1);
        return;
    }
    if (good < n) {
        tf_buf_clear(&b->scratch);
        tf_buf_valid_utf8(&b->scratch, s, n);
        s = b->scratch.p;
        n = b->scratch.len;
    }
    put_begin(r, b);
    const size_t ids_begun = b->ids.n, out_begun = b->out.len;
    /* Segmenting takes up to 200 times the size of a line, for each segmentation: convert only one
     * huge line at a time. */
    static pthread_mutex_t huge = PTHREAD_MUTEX_INITIALIZER;
    bool alone = n > (size_t)HUGE_LINE / (1 + (t->sample ? (size_t)t->nbest : 0));
    if (alone)
        pthread_mutex_lock(&huge);
    struct line line = {r, b, lane, tf_rng_new((uint64_t)t->seed, it->number), out_begun};
    const int rc = tf_added_cut(r->added, s, n, encode_part, &line, &err);
    if (t->sample && r->pieces && rc == 0 && b->ids.n > ids_begun)
        spell(&b->out, t->vocab->sp, b->ids.v + start, b->ids.n - start);
    if (alone)
        pthread_mutex_unlock(&huge);
    if (rc < 0)
        tf_work_bad(it, TF_BAD_OTHER, "%.200s", err.msg);
    else if ((tokens = count_tokens(r, b, start, out_start)) > TF_MAX_IDS)
        tf_work_bad(it, TF_BAD_TOO_MANY_TOKENS, "%zu tokens, maximum %zu", tokens, TF_MAX_IDS);
    const bool empty = b->ids.n == ids_begun && b->out.len == out_begun;
    if (it->code != 0 || empty) {
        b->ids.n = start;
        b->out.len = out_start;
    }
}

/* Each field of a line from number t->phrases on as an item. */
static void encode_phrases(const struct tf_tokenize_work *r, struct tf_work_block *b, int lane,
                           struct tf_work_item *it, const char *s, size_t n)
{
    const size_t start = b->out.len;
    struct tf_text rest = {s, n}, part;
    for (size_t field = 1; it->code == 0 && tf_text_cut(&rest, '\t', &part); field++) {
        if (field > 1)
            tf_buf_byte(&b->out, '\t');
        if (field < r->t->phrases)
            tf_buf_add(&b->out, part.p, part.n);
        else
            encode_item(r, b, lane, it, part.p, part.n);
    }
    if (it->code != 0)
        b->out.len = start;
}

static void encode_block(void *arg, size_t job, int lane)
{
    const struct tf_tokenize_work *r = arg;
    struct tf_work_block *b = &r->blocks[job];
    size_t at = 0;
    for (size_t k = 0; k < b->n; k++) {
        struct tf_work_item *it = &b->items[k];
        const size_t line = b->out.len;
        if (it->code == 0)
            (r->t->phrases > 0 ? encode_phrases : encode_item)(r, b, lane, it, b->text.p + at,
                                                               it->end - at);
        if (r->pieces)
            tf_work_end_line(b, line);
        it->out_end = r->pieces ? b->out.len : b->ids.n;
        at = it->end;
    }
}

static int put_records(struct tf_tokenize_work *r, struct tf_writer *w, struct tf_err *err)
{
    for (size_t i = 0; i < r->used; i++) {
        const struct tf_work_block *b = &r->blocks[i];
        size_t at = 0;
        for (size_t k = 0; k < b->n; k++) {
            const struct tf_work_item *it = &b->items[k];
            if (it->code != 0 && tf_work_count_bad(r, it, err) != 0)
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

/* Convert all lines, to records with a writer, else to text. */
static int encode_all(struct tf_tokenize_work *r, struct tf_in *in, struct tf_writer *w,
                      struct tf_out *out, struct tf_err *err)
{
    for (int more = 1; more;) {
        struct tf_err input = {0};
        more = read_lines(r, in, &input);
        tf_pool_run(r->pool, encode_block, r, r->used);
        if ((w != NULL ? put_records(r, w, err) : tf_work_put_text(r, out, err)) < 0)
            return -1;
        if (more < 0) {
            *err = input;
            return -1;
        }
        if (more > 0 && !tf_in_line_ready(in, max_line(r)) &&
            (w != NULL ? tf_writer_flush(w, err) : tf_out_flush(out, err)) < 0)
            return -1;
    }
    return 0;
}

static int begin_stream(struct tf_writer *w, const struct tf_tokenize *t,
                        const struct tf_opt *table, struct tf_out *out, struct tf_err *err)
{
    const struct tf_vocab *v = t->vocab;
    struct tf_arena a = {0};
    struct tf_header h = {.kind = "tokens"};
    struct tf_value inputs = tf_value_map();
    tf_vocab_header(v, &h);
    if (t->lang != NULL)
        (void)!tf_lang_set(h.lang, t->lang); /* the tool has checked it */
    tf_value_put(&a, &inputs, "vocab", tf_value_bytes(&a, v->hash, sizeof v->hash));
    tf_header_made(&h, &a, tf_progname, table, &inputs);
    int rc = tf_writer_begin(w, out, &h, err);
    tf_arena_release(&a);
    return rc;
}

static int find_begin(struct tf_tokenize_work *r, struct tf_err *err)
{
    const struct tf_tokenize *t = r->t;
    const struct tf_vocab *v = t->vocab;
    const struct tf_begin b = {v->bytes,
                               v->n,
                               tf_sp_size(v->sp),
                               {tf_sp_pad(v->sp), tf_sp_unk(v->sp), tf_sp_bos(v->sp),
                                tf_sp_eos(v->sp), -1, -1, -1},
                               "the vocabulary"};
    if (t->begin != NULL)
        return tf_begin_find(&b, t->begin, &r->begin, err);
    if (!t->target)
        tf_tags_read(&r->tags, v->bytes, v->n);
    return 0;
}

int tf_tokenize_encode(struct tf_tokenize *t, struct tf_in *in, const struct tf_opt *table,
                       struct tf_out *out, struct tf_err *err)
{
    struct tf_tokenize_work r;
    struct tf_writer w = {0};
    if (tf_work_begin(&r, t, in->name, false, err) != 0 || find_begin(&r, err) != 0) {
        tf_work_end(&r);
        return -1;
    }
    if (t->list_unknown && t->vocab->bpe == NULL)
        r.unknown = tf_unknown_new();
    int rc = begin_stream(&w, t, table, out, err);
    /* Write the header at once, so that the next stage can refuse a wrong vocabulary early. */
    if (rc == 0 && !tf_in_line_ready(in, max_line(&r)))
        rc = tf_writer_flush(&w, err);
    if (rc == 0)
        rc = encode_all(&r, in, &w, out, err);
    report_tags(&r);
    report_unknown(&r);
    if (rc == 0)
        rc = tf_writer_end(&w, err);
    else
        tf_writer_fail(&w, err);
    if (rc == 0)
        tf_bad_status(&r.count, in->name, err);
    tf_bad_hint(&r.count, err);
    tf_writer_release(&w);
    tf_work_end(&r);
    return rc;
}

int tf_tokenize_pieces(struct tf_tokenize *t, struct tf_in *in, struct tf_out *out,
                       struct tf_err *err)
{
    struct tf_tokenize_work r;
    int rc = tf_work_begin(&r, t, in->name, false, err);
    r.pieces = true;
    if (rc == 0)
        rc = find_begin(&r, err);
    if (rc == 0)
        rc = encode_all(&r, in, NULL, out, err);
    report_tags(&r);
    if (rc == 0)
        tf_bad_status(&r.count, in->name, err);
    tf_bad_hint(&r.count, err);
    tf_work_end(&r);
    return rc;
}
