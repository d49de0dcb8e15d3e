/* The vote over random trees, counted again in a plain way: for each label and words how many
 * constituents each tree has, and the weight of those with at least k. */
#include "../harness/tap.h"
#include "base/rng.h"
#include "tree/linearize_private.h"
#include "tree/tree_vote_private.h"

#include <stdlib.h>

enum { WORDS = 5, LABELS = 4 /* T, A, B, C */, TREES = 7, MOST = 24 };

typedef int counts[WORDS + 1][WORDS + 1][LABELS];

static struct tf_rng rng;
static long wrong, constituents;

/* A random sequence with brackets that need not match; leaves may have several words. */
static void random_sequence(struct tf_buf *s)
{
    tf_buf_clear(s);
    for (size_t i = 0, n = 2 + tf_rng_below(&rng, 18); i < n; i++) {
        const char label = (char)('A' + tf_rng_below(&rng, LABELS - 1));
        const uint64_t kind = tf_rng_below(&rng, 8);
        tf_buf_str(s, kind < 4 ? "(" : kind < 5 ? ")" : "");
        if (kind == 7)
            tf_buf_str(s, "+ ");
        else
            tf_buf_add(s, (const char[]){label, ' '}, 2);
    }
}

static void count(const struct tf_tree *t, counts c)
{
    size_t word = 0, begin[64], label[64], depth = 0;
    for (size_t i = 0; i < t->n; i++) {
        const struct tf_tree_node *v = &t->v[i];
        if (v->kind == TF_TREE_OPEN) {
            begin[depth] = word;
            label[depth++] = v->label.p[0] == 'T' ? 0 : (size_t)(v->label.p[0] - 'A' + 1);
        } else if (v->kind == TF_TREE_CLOSE) {
            depth--;
            c[begin[depth]][word][label[depth]]++;
        } else {
            word += (v->word.n + 1) / 2;
        }
    }
    wrong += word != WORDS;
}

/* Whether words begin..end-1 cut no leaf. */
static bool whole_leaves(const struct tf_tree *t, size_t begin, size_t end)
{
    bool a = end == WORDS, b = false;
    for (size_t i = 0, word = 0; i < t->n; i++) {
        if (t->v[i].kind != TF_TREE_LEAF)
            continue;
        b = b || word == begin;
        a = a || word == end;
        word += (t->v[i].word.n + 1) / 2;
    }
    return a && b;
}

static void check(const counts *each, const double *weight, size_t n, const struct tf_tree *leaves,
                  counts result)
{
    double total = 0;
    for (size_t i = 0; i < n; i++)
        total += weight[i];
    for (size_t b = 0; b < WORDS; b++)
        for (size_t e = b + 1; e <= WORDS; e++)
            for (size_t l = 0; l < LABELS; l++) {
                int want = 0;
                for (int k = 1; k <= MOST; k++) {
                    double sum = 0;
                    for (size_t i = 0; i < n; i++)
                        sum += each[i][b][e][l] >= k ? weight[i] : 0;
                    want += sum > total / 2 + 1e-6;
                }
                wrong += result[b][e][l] != (whole_leaves(leaves, b, e) ? want : 0);
                constituents += want;
            }
}

static void one_round(void)
{
    struct tf_buf s[TREES] = {{0}}, out = {0}, again = {0};
    struct tf_tree t[TREES] = {{0}}, result = {0}, parsed = {0};
    struct tf_tree_vote vote = {0};
    struct tf_err err = {0};
    static counts each[TREES], got;
    double weight[TREES];
    const size_t n = 1 + tf_rng_below(&rng, TREES);
    memset(each, 0, sizeof each);
    memset(got, 0, sizeof got);
    for (size_t i = 0; i < n; i++) {
        const struct tf_text words = {"a b c d e", 9};
        random_sequence(&s[i]);
        (void)tf_delinearize(&t[i], TF_BRACKETS_PAREN, (struct tf_text){s[i].p, s[i].len}, words,
                             "TOP", "XX");
        count(&t[i], each[i]);
        weight[i] = (double)(1 + tf_rng_below(&rng, 4)); /* halves are frequent */
        tf_tree_vote_add(&vote, &t[i], weight[i]);
    }
    tf_tree_vote_count(&vote, &t[0], &result);
    count(&result, got);
    check(each, weight, n, &t[0], got);
    tf_tree_write(&out, &result);
    wrong += tf_tree_parse(&parsed, out.p, out.len, &err) != 0;
    tf_tree_write(&again, &parsed);
    wrong += out.len != again.len || memcmp(out.p, again.p, out.len) != 0;
    for (size_t i = 0; i < TREES; i++) {
        tf_buf_release(&s[i]);
        tf_tree_release(&t[i]);
    }
    tf_buf_release(&out);
    tf_buf_release(&again);
    tf_tree_release(&result);
    tf_tree_release(&parsed);
    tf_tree_vote_release(&vote);
}

int main(void)
{
    rng = tf_rng_new(7, 0);
    for (int i = 0; i < 20000; i++)
        one_round();
    is_int(wrong, 0, "the constituents of most, in a tree over the words");
    ok(constituents > 20000, "%ld constituents", constituents);
    return done();
}
