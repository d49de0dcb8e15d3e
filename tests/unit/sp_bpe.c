/* Words split by codes: as the plain algorithm splits them, with random codes, and the cases that
 * SentencePiece would split in another way. */
#include "../harness/tap.h"
#include "base/rng.h"
#include "text/bpe_private.h"
#include "text/sp_check.h"
#include "text/sp_renumber.h"

#include <stdio.h>
#include <string.h>

static const struct tf_sp_side source = {.target = false};

enum { MERGES = 40, MOST = 64 /* characters of a word */, LENGTH = 300 };

/* ---- the plain algorithm: all pairs are looked at for each merge ---- */

struct plain {
    char left[MERGES][LENGTH], right[MERGES][LENGTH];
    int n;
};

static int rank_of(const struct plain *p, const char *left, const char *right)
{
    for (int i = 0; i < p->n; i++)
        if (strcmp(p->left[i], left) == 0 && strcmp(p->right[i], right) == 0)
            return i;
    return MERGES;
}

/* Join every pair of this rank from the left. */
static int join_all(const struct plain *p, char v[MOST + 1][LENGTH], int n, int rank)
{
    int to = 0;
    for (int i = 0; i < n; i++, to++) {
        const bool two = i + 1 < n && rank_of(p, v[i], v[i + 1]) == rank;
        if (to != i)
            memcpy(v[to], v[i], LENGTH);
        if (two)
            strcat(v[to], v[++i]);
    }
    return to;
}

/* The pieces of a word of ASCII, separated by spaces. */
static void split(const struct plain *p, const char *word, bool alone, struct tf_buf *out)
{
    static char v[MOST + 1][LENGTH];
    int n = 0;
    tf_buf_clear(out);
    for (; word[n] != 0; n++)
        snprintf(v[n], LENGTH, "%c%s", word[n], word[n + 1] == 0 && !alone ? TF_BPE_END : "");
    if (alone)
        strcpy(v[n++], TF_BPE_END);
    for (int best; word[1] != 0; n = join_all(p, v, n, best)) {
        best = MERGES;
        for (int i = 0; i + 1 < n; i++) {
            const int rank = rank_of(p, v[i], v[i + 1]);
            best = rank < best ? rank : best;
        }
        if (best == MERGES)
            break;
    }
    n -= strcmp(v[n - 1], TF_BPE_END) == 0;
    for (int i = 0; i < n; i++) {
        char *end = strstr(v[i], TF_BPE_END);
        if (end != NULL)
            *end = 0;
        tf_buf_printf(out, "%s%s", v[i], i + 1 < n ? "@@ " : "");
    }
}

/* ---- codes ---- */

static struct tf_sp *load(struct tf_buf *model, struct tf_bpe **bpe, const char *const *tokens,
                          size_t n, const struct tf_bpe_codes *codes)
{
    struct tf_err err = {0};
    struct tf_sp *sp = NULL;
    tf_buf_clear(model);
    must(tf_bpe_codes_check(codes, &err), &err);
    must(tf_sp_words(model, tokens, n, codes, &source, &err), &err);
    must(tf_sp_load(&sp, model->p, model->len, &err), &err);
    must(tf_bpe_load(bpe, model->p, model->len, sp, &err), &err);
    return sp;
}

/* Merges of two symbols that are there already, most of them of two letters. */
static void make_codes(struct plain *p, struct tf_buf *lines, struct tf_rng *rng, bool alone)
{
    static const char *const first[] = {"a", "b", "c", "a" TF_BPE_END, "b" TF_BPE_END};
    p->n = 0;
    tf_buf_clear(lines);
    while (p->n < MERGES) {
        const char *two[2];
        for (int i = 0; i < 2; i++) {
            const uint32_t k = tf_rng_below(rng, 3 + (uint32_t)i * 2 + (uint32_t)p->n);
            two[i] = k < 3 + (uint32_t)i * 2 ? first[k] : NULL;
            static char joined[2][2 * LENGTH];
            if (two[i] == NULL) {
                const uint32_t m = k - 3 - (uint32_t)i * 2;
                snprintf(joined[i], sizeof joined[i], "%s%s", p->left[m], p->right[m]);
                two[i] = joined[i];
            } else if (alone && strlen(two[i]) > 1) {
                two[i] = TF_BPE_END;
            }
        }
        if (strlen(two[0]) + strlen(two[1]) > 20 || strstr(two[0], TF_BPE_END) != NULL ||
            rank_of(p, two[0], two[1]) < MERGES)
            continue;
        tf_buf_printf(lines, "%s %s\n", two[0], two[1]);
        strcpy(p->left[p->n], two[0]);
        strcpy(p->right[p->n++], two[1]);
    }
}

static void random_codes(bool alone)
{
    static const char *const tokens[] = {"<s>", "<pad>", "</s>", "<unk>", "a"};
    static struct plain p;
    struct tf_rng rng = tf_rng_new(5, alone);
    struct tf_buf lines = {0}, model = {0}, got = {0}, want = {0};
    int wrong = 0;
    for (int round = 0; round < 200; round++) {
        struct tf_bpe *bpe;
        make_codes(&p, &lines, &rng, alone);
        const struct tf_bpe_codes codes = {lines.p, lines.len, alone, false};
        struct tf_sp *sp = load(&model, &bpe, tokens, 5, &codes);
        for (int k = 0; k < 50; k++) {
            char word[MOST] = "";
            const uint32_t n = 1 + tf_rng_below(&rng, MOST - 2);
            for (uint32_t i = 0; i < n; i++)
                word[i] = (char)('a' + tf_rng_below(&rng, 3));
            split(&p, word, alone, &want);
            tf_buf_clear(&got);
            tf_bpe_pieces(bpe, word, n, &got);
            wrong += strcmp(got.p, want.p) != 0;
        }
        tf_bpe_free(bpe);
        tf_sp_free(sp);
    }
    is_int(wrong, 0, "%s: 200 random codes, 50 words each, as the plain algorithm splits them",
           alone ? "an end of its own" : "an end in the last character");
    tf_buf_release(&lines);
    tf_buf_release(&model);
    tf_buf_release(&got);
    tf_buf_release(&want);
}

/* ---- cases ---- */

struct use {
    const char *codes, *text, *pieces, *ids, *back;
    bool alone, in_pieces;
};

static const struct use uses[] = {
    /* abc is a piece, and would be merged of a and bc. */
    {"b c\na b\nab c\n", "abcd", "a@@ bc@@ d", "3,3,7", "\u2047 \u2047 d", false, false},
    {"b c\na b\nab c\n", " x  abd \r", "x ab@@ d", "3,6,7", "\u2047 abd", false, false},
    /* Unknown pieces are not joined. */
    {"a b\n", "xyz d", "x@@ y@@ z d", "3,3,3,7", "\u2047 \u2047 \u2047 d", false, false},
    {"a b\n", "", "", "", "", false, false},
    {"a </w>\n", "ba a", "b@@ a a", "8,4,4", "ba a", true, false},
    {"a b\n", "abd", "ab d</w>", "5,3", "ab\u2047", false, true},
};

static const char *const tokens[] = {"<s>", "<pad>", "</s>", "<unk>", "a",
                                     "ab",  "ab@@",  "d",    "b@@"};

static void check_use(const struct use *u)
{
    struct tf_err err = {0};
    struct tf_buf model = {0}, pieces = {0}, text = {0}, list = {0};
    struct tf_ids ids = {0};
    struct tf_bpe *bpe;
    const struct tf_bpe_codes codes = {u->codes, strlen(u->codes), u->alone, u->in_pieces};
    struct tf_sp *sp = load(&model, &bpe, tokens, sizeof tokens / sizeof *tokens, &codes);
    tf_buf_str(&pieces, "");
    tf_bpe_pieces(bpe, u->text, strlen(u->text), &pieces);
    is_str(pieces.p != NULL ? pieces.p : "", u->pieces, "pieces of '%s'", u->text);
    tf_bpe_encode(bpe, u->text, strlen(u->text), &ids);
    tf_buf_ids(&list, ids.v, ids.n);
    is_str(list.p != NULL ? list.p : "", u->ids, "ids");
    is_int(tf_bpe_decode(bpe, ids.v, ids.n, &text, &err), 0, "and back");
    is_str(text.p != NULL ? text.p : "", u->back, "text");
    const uint32_t special[] = {0, 7, 2, 9};
    is_int(tf_bpe_decode(bpe, special, 3, &list, &err), 0, "special tokens have no text");
    is_int(tf_bpe_decode(bpe, special, 4, &list, &err), -1, "an id beyond the size is refused");
    is_str(err.msg, "id 9: the vocabulary has 9", "by name");
    tf_bpe_free(bpe);
    tf_sp_free(sp);
    tf_ids_release(&ids);
    tf_buf_release(&model);
    tf_buf_release(&pieces);
    tf_buf_release(&text);
    tf_buf_release(&list);
}

/* What conversion does not write, and a hostile file may have. */
static void damaged(void)
{
    static const char *const bad[][2] = {
        {"a b", "merge 1: not two symbols"},
        {"a  b\n", "merge 1: not two symbols"},
        {"a b\n\n", "merge 2: not two symbols"},
        {" b\n", "merge 1: not two symbols"},
        {"a \n", "merge 1: not two symbols"},
        {"a b c\n", "merge 1: not two symbols"},
        {"a b\nbc c\n", "merge 2: 'bc' is no character, and no line before makes it"},
        {"a </w>\n", "merge 1: '</w>' is no character, and no line before makes it"},
        {"a \xff\n", "codes that are not UTF-8"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct tf_err err = {0};
        const struct tf_bpe_codes codes = {bad[i][0], strlen(bad[i][0]), false, false};
        is_int(tf_bpe_codes_check(&codes, &err), -1, "codes %zu", i);
        is_str(err.msg, bad[i][1], "are refused");
    }
    struct tf_err err = {0};
    struct tf_buf model = {0};
    struct tf_sp *sp;
    struct tf_bpe *bpe;
    const struct tf_bpe_codes codes = {"a b", 3, false, false};
    must(tf_sp_words(&model, tokens, 9, &codes, &source, &err), &err);
    must(tf_sp_load(&sp, model.p, model.len, &err), &err);
    is_int(tf_bpe_load(&bpe, model.p, model.len, sp, &err), -1, "and so is a vocabulary with them");
    is_str(err.msg, "codes: merge 1: not two symbols", "with that message");
    ok(bpe == NULL, "nothing is left of it");
    tf_sp_free(sp);
    tf_buf_release(&model);
}

/* A merge that is there twice: in subword-nmt the first counts, in FSMT the last. With b c before
 * a b, abc is a and bc. */
static void twice(void)
{
    static const char *const list[] = {"<unk>", "ab@@",  "c", "a@@",   "bc",
                                       "ab",    "c</w>", "a", "bc</w>"};
    static const char lines[] = "a b\nb c</w>\na b\n";
    for (int fsmt = 0; fsmt < 2; fsmt++) {
        const struct tf_bpe_codes codes = {lines, sizeof lines - 1, false, fsmt};
        struct tf_err err = {0};
        struct tf_buf model = {0}, out = {0};
        struct tf_sp *sp;
        struct tf_bpe *bpe;
        must(tf_sp_words(&model, list, 9, &codes, &source, &err), &err);
        must(tf_sp_load(&sp, model.p, model.len, &err), &err);
        must(tf_bpe_load(&bpe, model.p, model.len, sp, &err), &err);
        tf_bpe_pieces(bpe, "abc", 3, &out);
        is_str(out.p, fsmt ? "a bc</w>" : "ab@@ c", "a merge twice");
        tf_bpe_free(bpe);
        tf_sp_free(sp);
        tf_buf_release(&model);
        tf_buf_release(&out);
    }
}

#define S "\xe2\x96\x81"

/* Words that nothing splits: each unknown one is one id, and @@ is text. */
static void words(void)
{
    static const char *const list[] = {"<s>", "<pad>", "</s>",     "<unk>", "a",
                                       "the", "run@@", "\xc3\xa9", "the a"};
    static const char text[] = " x y  the <unk> run@@ \xc3\xa9 \xe2\x96\x81 z\ta a \r";
    static const uint32_t want[] = {3, 3, 5, 3, 6, 7, 3, 3, 4};
    struct tf_err err = {0};
    struct tf_buf model = {0}, out = {0};
    struct tf_ids ids = {0};
    struct tf_sp *sp;
    struct tf_bpe *bpe;
    must(tf_sp_words(&model, list, 9, NULL, &source, &err), &err);
    must(tf_sp_check(model.p, model.len, &err), &err);
    must(tf_sp_load(&sp, model.p, model.len, &err), &err);
    must(tf_bpe_load(&bpe, model.p, model.len, sp, &err), &err);
    tf_bpe_encode(bpe, text, sizeof text - 1, &ids);
    is_int((long long)ids.n, sizeof want / sizeof *want, "words are between spaces");
    is_mem(ids.v, want, sizeof want, "and each is an id");
    tf_bpe_pieces(bpe, text, sizeof text - 1, &out);
    is_str(out.p,
           S "x " S "y " S "the " S "<unk> " S "run@@ " S "\xc3\xa9 " S S " " S "z\ta " S "a",
           "they are pieces");
    tf_buf_clear(&out);
    must(tf_bpe_decode(bpe, ids.v, ids.n, &out, &err), &err);
    is_str(out.p,
           "\xe2\x81\x87 \xe2\x81\x87 the \xe2\x81\x87 run@@ \xc3\xa9 \xe2\x81\x87 \xe2\x81\x87 a",
           "and come back, the unknown ones as a mark");
    tf_bpe_free(bpe);
    tf_sp_free(sp);
    tf_ids_release(&ids);
    tf_buf_release(&model);
    tf_buf_release(&out);
}

int main(void)
{
    words();
    twice();
    random_codes(false);
    random_codes(true);
    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++)
        check_use(&uses[i]);
    damaged();
    return done();
}
