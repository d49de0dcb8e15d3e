/* A vocabulary with the ids of another list of pieces: text is segmented as before, into the new
 * ids, and comes back; pieces that the model does not have. */
#include "../harness/tap.h"
#include "base/buf.h"
#include "text/sample_private.h"
#include "text/segment_private.h"
#include "text/sp.h"
#include "text/sp_build.h"
#include "text/sp_check.h"
#include "text/sp_proto_private.h"
#include "text/sp_renumber.h"

#include <string.h>

static const struct tf_sp_side source = {.target = false};

static const char *const lines[] = {
    "a line of words",
    "words of a line, and a line of more words",
    "lines and words",
    "some more words here",
    "and here a word, there a line",
    "more, and some more",
};
enum { N_LINES = sizeof lines / sizeof *lines, SIZE = 48 };

static int next(void *arg, const char **text, size_t *n, struct tf_err *err)
{
    int *i = arg;
    (void)err;
    if (*i == 20 * N_LINES)
        return 0;
    *text = lines[(*i)++ % N_LINES];
    *n = strlen(*text);
    return 1;
}

static void train(struct tf_buf *model, bool bpe)
{
    struct tf_err err = {0};
    int i = 0;
    const struct tf_sp_train t = {.size = SIZE,
                                  .bpe = bpe,
                                  .coverage = 1,
                                  .normalization = "nmt_nfkc",
                                  .max_bytes = 4192,
                                  .next = next,
                                  .arg = &i};
    ok(tf_sp_train(&t, model, &err) == 0, "a vocabulary: %s", err.msg);
}

static struct tf_sp *load(const struct tf_buf *model)
{
    struct tf_err err = {0};
    struct tf_sp *sp = NULL;
    ok(tf_sp_load(&sp, model->p, model->len, &err) == 0, "it loads: %s", err.msg);
    return sp;
}

/* The id that a piece of the old model gets. */
static uint32_t moved(uint32_t id, size_t n)
{
    return (uint32_t)(n - 1 - id);
}

static void permuted(bool bpe)
{
    struct tf_err err = {0};
    struct tf_arena a = {0};
    struct tf_buf model = {0}, other = {0}, out = {0};
    struct tf_ids was = {0}, is = {0};
    const char *const *texts, *turned[SIZE] = {0};
    size_t n;
    train(&model, bpe);
    ok(tf_sp_texts(&a, model.p, model.len, &texts, &n, &err) == 0, "its pieces: %s", err.msg);
    ok(n > 20 && n <= SIZE, "%zu of them", n);
    for (uint32_t i = 0; i < n; i++)
        turned[moved(i, n)] = texts[i];
    ok(tf_sp_renumber(&other, model.p, model.len, &(struct tf_piece_list){turned, n}, NULL, &source,
                      &err) == 0,
       "renumbered: %s", err.msg);
    struct tf_sp *one = load(&model), *two = load(&other);
    bool same = true, back = true;
    for (int l = 0; l < N_LINES; l++) {
        was.n = is.n = out.len = 0;
        same &= tf_sp_encode(one, lines[l], strlen(lines[l]), &was, &err) == 0 &&
                tf_sp_encode(two, lines[l], strlen(lines[l]), &is, &err) == 0 && was.n == is.n;
        for (size_t i = 0; same && i < was.n; i++)
            same = moved(was.v[i], n) == is.v[i];
        back &= tf_sp_decode(two, is.v, is.n, &out, &err) == 0 && out.len == strlen(lines[l]) &&
                memcmp(out.p, lines[l], out.len) == 0;
    }
    ok(same, "%s: the same segmentation, in the new ids", bpe ? "BPE" : "unigram");
    ok(back, "%s: and back to text", bpe ? "BPE" : "unigram");
    tf_sp_free(one);
    tf_sp_free(two);
    tf_ids_release(&was);
    tf_ids_release(&is);
    tf_buf_release(&model);
    tf_buf_release(&other);
    tf_buf_release(&out);
    tf_arena_release(&a);
}

/* The ids that a list has for the pieces of a model, as Marian and transformers look them up. */
static void look_up(const struct tf_sp *sp, const char *text, const struct tf_piece_list *list,
                    struct tf_ids *ids)
{
    struct tf_err err = {0};
    struct tf_buf pieces = {0};
    must(tf_sp_pieces(sp, text, strlen(text), &pieces, &err), &err);
    for (char *p = strtok(pieces.p, " "); p != NULL; p = strtok(NULL, " ")) {
        const int64_t id = tf_piece_list_id(list, p);
        tf_ids_add(ids, &(uint32_t){(uint32_t)(id >= 0 ? id : tf_piece_list_id(list, "<unk>"))}, 1);
    }
    tf_buf_release(&pieces);
}

static bool same_ids(const struct tf_ids *a, const struct tf_ids *b)
{
    return a->n == b->n && memcmp(a->v, b->v, a->n * sizeof *a->v) == 0;
}

/* All ways to the best segmentation. */
static void segmented(const struct tf_buf *model, const struct tf_sp *sp, const char *text,
                      const struct tf_ids *want, bool bpe)
{
    struct tf_err err = {0};
    struct tf_ids ids = {0};
    struct tf_segmenter *fast = tf_segmenter_new(sp, model->p, model->len);
    struct tf_segment_room *room = tf_segment_room_new();
    struct tf_sampler *sampler;
    struct tf_rng rng = tf_rng_new(1, 1);
    ok(fast != NULL, "without the library");
    for (int i = 0; fast != NULL && i < 2; i++) { /* BPE finds words again */
        ids.n = 0;
        tf_segment(fast, room, text, strlen(text), &ids);
        ok(same_ids(&ids, want), "%s", text);
    }
    if (!bpe) { /* there unused pieces are merged, and may come out in part */
        ids.n = 0;
        ok(tf_sp_encode(sp, text, strlen(text), &ids, &err) == 0 && same_ids(&ids, want),
           "by the library: %s", text);
    }
    must(tf_sampler_new(&sampler, sp, model->p, model->len, &err), &err);
    ids.n = 0;
    ok(tf_sample(sampler, text, strlen(text), bpe ? 0 : 100, 0, &rng, &ids, &err) == 0 &&
           same_ids(&ids, want),
       "as a sample: %s", text);
    ids.n = 0;
    if (!bpe)
        ok(tf_sample(sampler, text, strlen(text), 100, 2, &rng, &ids, &err) == 0 &&
               same_ids(&ids, want),
           "of the best: %s", text);
    tf_sampler_free(sampler);
    tf_segment_room_free(room);
    tf_segmenter_free(fast);
    tf_ids_release(&ids);
}

/* A list that lacks some of a model's pieces and has others. */
static void another_list(bool bpe)
{
    static const char *const more[] = {"\xe2\x82\xac", "\xe2\x82\xac\xc3\x97", "lin", "zebra",
                                       ">>fra<<"};
    static const char *const texts[] = {
        "more words of a line",           "words \xe2\x82\xac line",
        "\xe2\x82\xac\xc3\x97 and",       "\xc3\x97\xe2\x82\xac and zebra",
        "\xc3\x97 line\xe2\x82\xac",      "\xe2\x82\xac\xe2\x82\xac",
        "\xc3\x97\xc3\x97 \xc3\x97 more", "here there and \xe2\x82\xac\xc3\x97",
        "more >>fra<< of",
    };
    struct tf_err err = {0};
    struct tf_arena a = {0};
    struct tf_buf model = {0}, other = {0}, out = {0};
    const char *const *own, *v[SIZE + 8];
    size_t n_own, n = 0;
    train(&model, bpe);
    must(tf_sp_texts(&a, model.p, model.len, &own, &n_own, &err), &err);
    for (size_t i = 0; i < n_own; i++)
        if (i < 4 || i % 3 != 0)
            v[n++] = own[i];
    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        v[n++] = more[i];
    const struct tf_piece_list list = {v, n};
    must(tf_sp_renumber(&other, model.p, model.len, &list, NULL, &source, &err), &err);
    struct tf_sp *one = load(&model), *two = load(&other);
    is_int(tf_sp_size(two), (long long)n, "as many ids as the list has");
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct tf_ids want = {0};
        look_up(one, texts[i], &list, &want);
        segmented(&other, two, texts[i], &want, bpe);
        tf_ids_release(&want);
    }
    ok(tf_sp_decode(two, &(uint32_t){(uint32_t)n - 2}, 1, &out, &err) == 0 && out.len == 5 &&
           memcmp(out.p, "zebra", 5) == 0,
       "a piece that no text becomes has a text");
    tf_sp_free(one);
    tf_sp_free(two);
    tf_buf_release(&model);
    tf_buf_release(&other);
    tf_buf_release(&out);
    tf_arena_release(&a);
}

/* Tokens that were added to a list are pieces with a space before them; text is cut at them before
 * it is segmented (added.c), and what is left does not become one, but for a run of unknown
 * characters, which is looked up in the list. */
static void added_tokens(bool bpe)
{
    static const char *const more[] = {"<ent>", "zebra", "\xe2\x82\xac"};
    struct tf_err err = {0};
    struct tf_arena a = {0};
    struct tf_buf model = {0}, other = {0}, out = {0};
    const char *const *own, *v[SIZE + 8];
    uint8_t added[SIZE + 8] = {0};
    size_t n = 0, n_tokens;
    train(&model, bpe);
    must(tf_sp_texts(&a, model.p, model.len, &own, &n, &err), &err);
    memcpy(v, own, n * sizeof *v);
    const uint32_t first = (uint32_t)n;
    for (size_t i = 0; i < 3; i++) {
        added[n] = TF_ADDED | TF_ADDED_SPACED;
        v[n++] = more[i];
    }
    const struct tf_piece_list list = {v, n};
    must(tf_sp_renumber(&other, model.p, model.len, &list, added, &source, &err), &err);
    struct tf_sp *one = load(&model), *two = load(&other);
    struct tf_ids want = {0};
    look_up(one, "more ", &list, &want);
    const int64_t space = tf_piece_list_id(&list, "\xe2\x96\x81");
    tf_ids_add(&want, &(uint32_t){(uint32_t)space}, 1);
    tf_ids_add(&want, &(uint32_t){first + 2}, 1);
    segmented(&other, two, "more \xe2\x82\xac", &want, bpe);
    const uint32_t ids[] = {first, first + 1};
    ok(tf_sp_decode(two, ids, 2, &out, &err) == 0, "decoded");
    is_str(out.p, "<ent> zebra", "as words");
    const struct tf_sp_token *tokens = tf_sp_added(&a, other.p, other.len, &n_tokens);
    is_int((long long)n_tokens, 3, "tokens");
    is_str(tokens[0].text, "<ent>", "the first");
    is_int(tokens[1].id, first + 1, "id of the second");
    tf_ids_release(&want);
    tf_sp_free(one);
    tf_sp_free(two);
    tf_buf_release(&model);
    tf_buf_release(&other);
    tf_buf_release(&out);
    tf_arena_release(&a);
}

static void refused(void)
{
    const char *const twice[] = {"<unk>", "a", "a"}, *const none[] = {"a"},
                      *const empty[] = {"<unk>", "", "a"};
    struct tf_piece_list list = {twice, 3};
    struct tf_err err = {0};
    struct tf_buf model = {0}, other = {0};
    train(&model, false);
    is_int(tf_sp_renumber(&other, model.p, model.len, &list, NULL, &source, &err), -1,
           "a piece twice");
    is_str(err.msg, "piece 'a' is there twice", "is refused");
    list = (struct tf_piece_list){empty, 3};
    is_int(tf_sp_renumber(&other, model.p, model.len, &list, NULL, &source, &err), -1,
           "so is an empty one");
    is_str(err.msg, "a piece without text", "by name");
    list = (struct tf_piece_list){none, 1};
    is_int(tf_sp_renumber(&other, model.p, model.len, &list, NULL, &source, &err), -1,
           "without <unk>");
    is_str(err.msg, "no piece <unk>", "too");
    is_int(tf_sp_renumber(&other, "x", 1, &list, NULL, &source, &err), -1, "and what is no model");
    tf_buf_release(&model);
    tf_buf_release(&other);
}

/* Several trainer_specs are one message, which is written once. */
static void trainer_specs(void)
{
    const char *const texts[] = {"<unk>", "a"};
    const struct tf_piece_list list = {texts, 2};
    struct tf_err err = {0};
    struct tf_buf model = {0}, one = {0}, many = {0};
    train(&model, false);
    must(tf_sp_renumber(&one, model.p, model.len, &list, NULL, &source, &err), &err);
    for (int i = 0; i < 1000; i++)
        tf_buf_add(&model, "\x12", 2); /* field 2 of 0 bytes */
    must(tf_sp_renumber(&many, model.p, model.len, &list, NULL, &source, &err), &err);
    ok(many.len == one.len && memcmp(many.p, one.p, one.len) == 0, "1000 empty trainer_specs");
    tf_buf_release(&model);
    tf_buf_release(&one);
    tf_buf_release(&many);
}

/* Version 0.1 had pieces without an id, within words, that stand for one. */
static void reads_released(void)
{
    struct tf_err err = {0};
    struct tf_buf bytes = {0}, piece = {0};
    struct tf_ids ids = {0};
    struct tf_sp *sp = NULL;
    tf_sp_build_piece(&bytes, "<unk>", 0, TF_PIECE_UNKNOWN);
    tf_sp_build_piece(&bytes, "x", 0, TF_PIECE_NORMAL);
    tf_sp_build_piece(&bytes, TF_SPACE "<e>", 0, TF_PIECE_USER_DEFINED);
    tf_proto_put_bytes(&piece, TF_PROTO_TEXT, "<e>", 3);
    tf_proto_put_number(&piece, TF_PROTO_TYPE, TF_PIECE_USER_DEFINED);
    tf_proto_put_number(&piece, TF_PROTO_STANDS_FOR, 2);
    tf_proto_put_bytes(&bytes, TF_PROTO_UNLISTED, piece.p, piece.len);
    must(tf_sp_load(&sp, bytes.p, bytes.len, &err), &err);
    must(tf_sp_encode(sp, "<e>x<e>", 7, &ids, &err), &err);
    ok(ids.n == 3 && ids.v[0] == 2 && ids.v[1] == 1 && ids.v[2] == 2, "those are read");
    struct tf_arena a = {0};
    size_t n;
    const struct tf_sp_token *t = tf_sp_added(&a, bytes.p, bytes.len, &n);
    ok(n == 1 && t->id == 2 && strcmp(t->text, "<e>") == 0, "and are written as added tokens");
    tf_arena_release(&a);
    tf_sp_free(sp);
    tf_ids_release(&ids);
    tf_buf_release(&bytes);
    tf_buf_release(&piece);
}

int main(void)
{
    permuted(false);
    permuted(true);
    for (int bpe = 0; bpe < 2; bpe++) {
        another_list(bpe);
        added_tokens(bpe);
    }
    refused();
    trainer_specs();
    reads_released();
    return done();
}
