/* Our own segmentation is the library's, id for id: random vocabularies and random lines, with all
 * rules of both. An argument is the number of vocabularies of each kind. */
#include "../harness/tap.h"
#include "base/rng.h"
#include "text/segment_private.h"
#include "text/sp_check.h"
#include "text/sp_proto_private.h"

#include <stdlib.h>
#include <string.h>

enum { LINES = 50, MOST_KEYS = 12, MOST_NODES = 64 };

/* A few characters, so that pieces occur in lines; in tables also parts of characters. */
static const char *const characters[] = {
    "a", "b", "c", "d", "A", ".", " ", " ", "  ", "\xe2\x96\x81", "\xe2\x96\x81", "\xc3\xa9",
    "e\xcc\x81", "\xe4\xb8\xad", "\xf0\x9f\x98\x80", "\xef\xac\x81", "\xe3\x80\x80", "\xc2\xa0",
    "\xef\xb7\xba", "\xe2\x96", "\xc3", "\x81", "\xf0\x9f"};
enum { IN_PIECES = 14, VALID = 19, ALL = 23, LINE_ONLY = 7 };
static const char *const line_only[] = {"\t",           "\x01",     "\r", "\x7f",
                                        "\xe2\x80\x8b", "\xcc\x81", "z"};

static uint32_t below(struct tf_rng *rng, uint32_t n)
{
    return tf_rng_below(rng, n);
}

static void add_text(struct tf_buf *out, struct tf_rng *rng, uint32_t least, uint32_t most,
                     uint32_t of)
{
    for (uint32_t n = least + below(rng, most - least + 1); n > 0; n--)
        tf_buf_str(out, characters[below(rng, of)]);
}

/* ---- models ---- */

static void add_piece(struct tf_buf *out, const char *p, size_t n, float score, int type)
{
    struct tf_buf body = {0};
    tf_proto_put_bytes(&body, TF_PROTO_TEXT, p, n);
    tf_proto_put_varint(&body, TF_PROTO_SCORE << 3 | 5);
    tf_buf_add(&body, &score, sizeof score);
    tf_proto_put_number(&body, TF_PROTO_TYPE, (uint64_t)type);
    tf_proto_put_bytes(out, TF_PROTO_PIECE, body.p, body.len);
    tf_buf_release(&body);
}

static void put_unit(struct tf_buf *trie, size_t i, uint32_t u)
{
    for (int k = 0; k < 4; k++)
        trie->p[4 * i + (size_t)k] = (char)(u >> 8 * k);
}

static uint32_t get_unit(const struct tf_buf *trie, size_t i)
{
    uint32_t u = 0;
    for (int k = 3; k >= 0; k--)
        u = u << 8 | (unsigned char)trie->p[4 * i + (size_t)k];
    return u;
}

/* A normalisation table: each node has a block of 256 units for its children, the first the one
 * after that of the root unit. */
static void add_table(struct tf_buf *out, struct tf_rng *rng)
{
    struct tf_buf trie = {0}, texts = {0}, key = {0};
    uint32_t nodes = 1;
    memset(tf_buf_grow(&trie, 1024 * (MOST_NODES + 1)), 0, 1024 * (MOST_NODES + 1));
    for (size_t i = 0; i < 256 * (MOST_NODES + 1); i++)
        put_unit(&trie, i, 1u << 31);
    put_unit(&trie, 0, 256u << 10);
    for (uint32_t k = below(rng, MOST_KEYS) + 1; k > 0; k--) {
        uint32_t base = 256;
        size_t at = 0;
        tf_buf_clear(&key);
        add_text(&key, rng, 1, 2, ALL);
        for (size_t i = 0; i < key.len && nodes < MOST_NODES; i++) {
            at = base + (unsigned char)key.p[i];
            uint32_t u = get_unit(&trie, at);
            if (u >> 31)
                put_unit(&trie, at,
                         u = ((uint32_t)at ^ 256 * ++nodes) << 10 | (unsigned char)key.p[i]);
            base = (uint32_t)at ^ u >> 10;
        }
        put_unit(&trie, at, get_unit(&trie, at) | 0x100);
        put_unit(&trie, base, 1u << 31 | (uint32_t)texts.len);
        add_text(&texts, rng, 0, 3, below(rng, 4) ? VALID : ALL);
        tf_buf_byte(&texts, 0);
    }
    const uint32_t size = 1024 * (MOST_NODES + 1);
    struct tf_buf table = {0};
    for (int k = 0; k < 4; k++)
        tf_buf_byte(&table, (unsigned char)(size >> 8 * k));
    tf_buf_add(&table, trie.p, size);
    tf_buf_add(&table, texts.p, texts.len);
    tf_proto_put_bytes(out, TF_PROTO_CHARSMAP, table.p, table.len);
    tf_buf_release(&trie);
    tf_buf_release(&texts);
    tf_buf_release(&key);
    tf_buf_release(&table);
}

/* Few scores, so that many sums are equal, or any; the normal ones may be 0 or more. */
static float random_score(struct tf_rng *rng, uint32_t kind)
{
    return kind == 0   ? -(float)below(rng, 6) / 3
           : kind == 1 ? (float)(4 - 20 * tf_rng_real(rng))
                       : -(float)below(rng, 1000);
}

static bool is_there(const struct tf_buf *seen, const struct tf_buf *text)
{
    for (size_t at = 0; at < seen->len; at += 1 + (unsigned char)seen->p[at])
        if ((unsigned char)seen->p[at] == text->len &&
            memcmp(seen->p + at + 1, text->p, text->len) == 0)
            return true;
    return false;
}

static void add_pieces(struct tf_buf *out, struct tf_rng *rng, bool bytes)
{
    struct tf_buf text = {0}, seen = {0};
    const uint32_t scores = below(rng, 3), users = below(rng, 2) * below(rng, 5);
    const bool unused = below(rng, 4) == 0, odd = below(rng, 4) == 0;
    const bool invalid = below(rng, 8) == 0, inner = below(rng, 2);
    add_piece(out, "<unk>", 5, 0, TF_PIECE_UNKNOWN);
    add_piece(out, "<s>", 3, 0, TF_PIECE_CONTROL);
    for (unsigned b = 0; bytes && b < 256; b++) {
        tf_buf_clear(&text);
        tf_buf_printf(&text, "<0x%02X>", b);
        add_piece(out, text.p, text.len, 0, TF_PIECE_BYTE);
    }
    for (uint32_t i = 0, n = 4 + below(rng, 60); i < n; i++) {
        tf_buf_clear(&text);
        if (below(rng, 2))
            tf_buf_str(&text, "\xe2\x96\x81");
        add_text(&text, rng, 1, i < 12 ? 1 : 4, invalid ? ALL : inner ? IN_PIECES : 6);
        if (is_there(&seen, &text))
            continue;
        tf_buf_byte(&seen, (unsigned char)text.len);
        tf_buf_add(&seen, text.p, text.len);
        add_piece(out, text.p, text.len, random_score(rng, scores),
                  i < users                      ? TF_PIECE_USER_DEFINED
                  : unused && below(rng, 4) == 0 ? TF_PIECE_UNUSED
                  : odd && below(rng, 8) == 0    ? TF_PIECE_CONTROL
                                                 : TF_PIECE_NORMAL);
    }
    tf_buf_release(&text);
    tf_buf_release(&seen);
}

/* map: a normalisation table of the library, or none: then a random one, or nothing. */
static void make_model(struct tf_buf *out, struct tf_rng *rng, bool bpe, const struct tf_buf *map)
{
    struct tf_buf trainer = {0}, normalizer = {0};
    const bool bytes = below(rng, 4) == 0;
    tf_buf_clear(out);
    add_pieces(out, rng, bytes);
    tf_proto_put_number(&trainer, 3, bpe ? 2 : 1);
    tf_proto_put_number(&trainer, TF_PROTO_SPACE_ENDS, below(rng, 4) == 0);
    tf_proto_put_number(&trainer, TF_PROTO_BYTE_FALLBACK, bytes);
    tf_proto_put_bytes(out, TF_PROTO_TRAINER, trainer.p, trainer.len);
    if (map != NULL)
        tf_proto_put_bytes(&normalizer, TF_PROTO_CHARSMAP, map->p, map->len);
    else if (below(rng, 3) > 0)
        add_table(&normalizer, rng);
    if (bpe) /* a number is no table: the library keeps the one that it has */
        tf_proto_put_number(&normalizer, TF_PROTO_CHARSMAP, 1);
    for (uint32_t field = TF_PROTO_ADD_SPACE; field <= TF_PROTO_ESCAPE_SPACES; field++)
        if (below(rng, 2))
            tf_proto_put_number(&normalizer, field, below(rng, 3));
    if (normalizer.len > 0)
        tf_proto_put_bytes(out, TF_PROTO_NORMALIZER, normalizer.p, normalizer.len);
    tf_buf_release(&trainer);
    tf_buf_release(&normalizer);
}

/* ---- comparison ---- */

struct result {
    int models, refused, for_library, lines, differ, unlike;
};

static void make_line(struct tf_buf *line, struct tf_rng *rng)
{
    tf_buf_clear(line);
    const uint32_t most = below(rng, 40) == 0 ? 2000 : 40, of = below(rng, 2) ? VALID : 7;
    for (uint32_t n = below(rng, most); n > 0; n--)
        if (below(rng, 16))
            tf_buf_str(line, characters[below(rng, of)]);
        else if (below(rng, 8))
            tf_buf_str(line, line_only[below(rng, LINE_ONLY)]);
        else
            tf_buf_byte(line, 0);
}

static void compare(struct result *r, const struct tf_sp *sp, const struct tf_segmenter *s,
                    struct tf_segment_room *room, struct tf_rng *rng)
{
    struct tf_err err = {0};
    struct tf_ids want = {0}, got = {0};
    struct tf_buf line = {0};
    for (int i = 0; i < LINES; i++) {
        make_line(&line, rng);
        want.n = got.n = 0;
        const int rc = line.len > 0 ? tf_sp_encode(sp, line.p, line.len, &want, &err) : 0;
        if (line.len > 0)
            tf_segment(s, room, line.p, line.len, &got);
        r->lines++;
        if (rc != 0 || want.n != got.n ||
            (got.n > 0 && memcmp(want.v, got.v, got.n * sizeof *got.v) != 0))
            r->differ++;
    }
    tf_ids_release(&want);
    tf_ids_release(&got);
    tf_buf_release(&line);
}

/* Are the pieces, and the texts of runs of them, those of the whole library? */
static bool same_pieces(const struct tf_sp *sp, const struct tf_sp *pieces)
{
    const uint32_t size = (uint32_t)tf_sp_all(sp);
    bool same = tf_sp_all(pieces) == size && tf_sp_size(pieces) == tf_sp_size(sp) &&
                tf_sp_unk(pieces) == tf_sp_unk(sp) && tf_sp_eos(pieces) == tf_sp_eos(sp) &&
                tf_sp_joins_unknown(pieces) == tf_sp_joins_unknown(sp);
    for (uint32_t id = 0; id < size && same; id++) {
        struct tf_err err = {0}, other = {0};
        struct tf_buf a = {0}, b = {0};
        const uint32_t ids[3] = {id, (id + 1) % size, id};
        size_t n, m;
        const char *p = tf_sp_piece(sp, id, &n), *q = tf_sp_piece(pieces, id, &m);
        same = n == m && memcmp(p, q, n) == 0 && tf_sp_kind(sp, id) == tf_sp_kind(pieces, id) &&
               tf_sp_decode(sp, ids, 3, &a, &err) == tf_sp_decode(pieces, ids, 3, &b, &other) &&
               a.len == b.len && (a.len == 0 || memcmp(a.p, b.p, a.len) == 0);
        tf_buf_release(&a);
        tf_buf_release(&b);
    }
    return same;
}

static void with_model(struct result *r, const struct tf_buf *model, struct tf_rng *rng)
{
    struct tf_err err = {0};
    struct tf_sp *sp, *pieces;
    r->models++;
    if (tf_sp_check(model->p, model->len, &err) != 0 ||
        tf_sp_load(&sp, model->p, model->len, &err) != 0) {
        r->refused++;
        return;
    }
    must(tf_sp_load_pieces(&pieces, model->p, model->len, &err), &err);
    r->unlike += !same_pieces(sp, pieces);
    struct tf_segmenter *s = tf_segmenter_new(pieces, model->p, model->len);
    struct tf_segment_room *room = tf_segment_room_new();
    if (s != NULL)
        compare(r, sp, s, room, rng);
    else
        r->for_library++;
    tf_segmenter_free(s);
    tf_segment_room_free(room);
    tf_sp_free(pieces);
    tf_sp_free(sp);
}

/* ---- tables of the library ---- */

static int next(void *arg, const char **text, size_t *n, struct tf_err *err)
{
    int *i = arg;
    (void)err;
    *text = "a few words";
    *n = strlen(*text);
    return (*i)++ < 20;
}

/* The table of a vocabulary that is trained with this normalisation. */
static void read_table(struct tf_buf *map, const char *normalization)
{
    struct tf_err err = {0};
    struct tf_buf model = {0};
    struct tf_proto_field f, inner;
    int i = 0;
    const struct tf_sp_train t = {.size = 24,
                                  .coverage = 1,
                                  .normalization = normalization,
                                  .max_bytes = 4192,
                                  .next = next,
                                  .arg = &i};
    must(tf_sp_train(&t, &model, &err), &err);
    for (struct tf_span m = {(const uint8_t *)model.p, model.len}; tf_proto_field(&m, &f);)
        for (struct tf_span body = f.body; body.n > 0 && tf_proto_field(&body, &inner);)
            if (f.number == TF_PROTO_NORMALIZER && inner.number == TF_PROTO_CHARSMAP)
                tf_buf_add(map, inner.body.p, inner.body.n);
    tf_buf_release(&model);
}

static void kind(int rounds, bool bpe, const char *normalization)
{
    struct result r = {0};
    struct tf_buf model = {0}, map = {0};
    if (normalization != NULL)
        read_table(&map, normalization);
    for (int i = 0; i < rounds; i++) {
        struct tf_rng rng = tf_rng_new(7, (uint64_t)i * 2 + bpe);
        make_model(&model, &rng, bpe, normalization != NULL ? &map : NULL);
        with_model(&r, &model, &rng);
    }
    is_int(r.differ, 0, "%s, %s: %d lines as the library has them", bpe ? "BPE" : "unigram",
           normalization != NULL ? normalization : "random tables", r.lines);
    is_int(r.unlike, 0, "vocabularies without what segments have the same pieces and texts");
    ok(r.refused + r.for_library < rounds / 2,
       "%d of %d vocabularies: %d refused, %d for the library",
       r.models - r.refused - r.for_library, r.models, r.refused, r.for_library);
    tf_buf_release(&model);
    tf_buf_release(&map);
}

int main(int argc, char **argv)
{
    static const char *const normalizations[] = {NULL, "nmt_nfkc", "nmt_nfkc_cf"};
    const int rounds = argc > 1 ? atoi(argv[1]) : 200;
    for (int bpe = 0; bpe < 2; bpe++)
        for (int i = 0; i < 3; i++)
            kind(i == 0 ? rounds : rounds / 4, bpe, normalizations[i]);
    return done();
}
