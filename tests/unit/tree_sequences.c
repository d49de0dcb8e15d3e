/* Trees as sequences: examples, round trips of random trees, and random damage, after which the
 * result must still be a valid tree over the words. */
#include "../harness/tap.h"
#include "base/rng.h"
#include "tree/align_private.h"
#include "tree/linearize_private.h"

static struct tf_tree tree;
static struct tf_rng rng;

static struct tf_text span(const char *s)
{
    return (struct tf_text){s, strlen(s)};
}

static bool parse(const char *text)
{
    struct tf_err err = {0};
    return tf_tree_parse(&tree, text, strlen(text), &err) == 0;
}

static void forth(enum tf_brackets style, const char *text, const char *words, const char *sequence)
{
    struct tf_buf w = {0}, s = {0};
    struct tf_err err = {0};
    ok(parse(text) && tf_linearize(&tree, style, "TOP", &w, &s, &err) == 0, "%s: %s", text,
       err.msg);
    is_str(w.p ? w.p : "", words, "words");
    is_str(s.p ? s.p : "", sequence, "sequence");
    tf_buf_release(&w);
    tf_buf_release(&s);
}

static void refused(enum tf_brackets style, const char *text, const char *why)
{
    struct tf_buf w = {0}, s = {0};
    struct tf_err err = {0};
    ok(parse(text) && tf_linearize(&tree, style, "TOP", &w, &s, &err) < 0, "%s is refused", text);
    ok(strstr(err.msg, why) != NULL, "%s: %s", why, err.msg);
    tf_buf_release(&w);
    tf_buf_release(&s);
}

static void back(enum tf_brackets style, const char *words, const char *sequence, const char *want,
                 unsigned repairs)
{
    struct tf_buf out = {0};
    is_int(tf_delinearize(&tree, style, span(sequence), span(words), "TOP", "XX"), repairs,
           "'%s' over '%s': repairs", sequence, words);
    tf_tree_write(&out, &tree);
    is_str(out.p, want, "the tree");
    tf_buf_release(&out);
}

static const char *pick(const char *const *list, size_t n)
{
    return list[tf_rng_below(&rng, n)];
}
#define PICK(list) pick(list, sizeof(list) / sizeof *(list))

/* Labels among tags on purpose: such trees are refused or come back. */
static void random_tree(struct tf_buf *out)
{
    static const char *const labels[] = {"S", "NP", "VP", "X", "ODD", "NP|X", "+"};
    static const char *const tags[] = {"NN", "DT", ",", "-LRB-", "X", "NP"};
    static const char *const leaves[] = {"a", "b c", "-LRB-", "/", "\303\244"};
    size_t depth = 0;
    bool filled = true;
    tf_buf_str(out, "(TOP");
    do {
        uint64_t choice = tf_rng_below(&rng, 8);
        if (choice < 2 && depth < 12) {
            tf_buf_printf(out, " (%s", PICK(labels));
            depth++;
            filled = false;
        } else if (choice < 5 || !filled) {
            tf_buf_printf(out, " (%s", PICK(tags));
            tf_buf_printf(out, " %s)", PICK(leaves));
            filled = true;
        } else if (depth > 0) {
            tf_buf_byte(out, ')');
            depth--;
        }
    } while (depth > 0 || !filled);
    tf_buf_byte(out, ')');
}

/* Does the tree in text hold exactly these words? */
static bool leaves_are(const struct tf_buf *text, const char *words)
{
    struct tf_buf got = {0};
    struct tf_err err = {0};
    bool good = tf_tree_parse(&tree, text->p, text->len, &err) == 0;
    for (size_t i = 0; good && i < tree.n; i++) {
        if (tree.v[i].kind == TF_TREE_LEAF) {
            if (got.len)
                tf_buf_byte(&got, ' ');
            tf_buf_add(&got, tree.v[i].word.p, tree.v[i].word.n);
        }
        good = good && (i == 0 || tree.v[i].label.n > 0);
        good = good && !(i > 0 && tree.v[i].kind == TF_TREE_OPEN && tree.v[i].mate == i + 1);
    }
    good = good && strcmp(got.p ? got.p : "", words) == 0;
    tf_buf_release(&got);
    return good;
}

static void damage(struct tf_buf *s)
{
    static const char *const bits[] = {" NP ", " /NP ", " (NP ", " )NP ", " ",   " NN ",
                                       " + ",  "(",     ")",     "/",     " S ", " /S "};
    struct tf_buf out = {0};
    for (int k = 0; k < 3; k++) {
        size_t at = s->len ? tf_rng_below(&rng, s->len) : 0,
               cut = tf_rng_below(&rng, 4) ? 0 : tf_rng_below(&rng, s->len - at + 1);
        tf_buf_clear(&out);
        tf_buf_str(s, ""); /* so that there are bytes, even none */
        tf_buf_add(&out, s->p, at);
        tf_buf_str(&out, PICK(bits));
        tf_buf_add(&out, s->p + at + cut, s->len - at - cut);
        tf_buf_clear(s);
        tf_buf_add(s, out.p, out.len);
    }
    tf_buf_release(&out);
}

/* Is the restored tree that of `text`? With WORDS, which loses the tags: has it this sequence? */
static bool comes_back(enum tf_brackets style, const struct tf_buf *text, const struct tf_buf *s)
{
    struct tf_buf again = {0}, words = {0};
    struct tf_err err = {0};
    bool same;
    if (style == TF_BRACKETS_WORDS) {
        same = tf_linearize(&tree, style, "TOP", &words, &again, &err) == 0 &&
               again.len == s->len && (s->len == 0 || memcmp(again.p, s->p, s->len) == 0);
    } else {
        tf_tree_write(&again, &tree);
        same = strcmp(again.p, text->p) == 0;
    }
    tf_buf_release(&again);
    tf_buf_release(&words);
    return same;
}

static void random_trees(enum tf_brackets style, int n)
{
    int same = 0, refusals = 0, valid = 0, damaged = 0;
    for (int i = 0; i < n; i++) {
        struct tf_buf text = {0}, w = {0}, s = {0}, again = {0};
        struct tf_err err = {0};
        random_tree(&text);
        if (!parse(text.p) || tf_linearize(&tree, style, "TOP", &w, &s, &err) < 0) {
            refusals++;
        } else {
            unsigned repairs = tf_delinearize(&tree, style, (struct tf_text){s.p, s.len},
                                              (struct tf_text){w.p, w.len}, "TOP", "XX");
            same += repairs == 0 && comes_back(style, &text, &s);
            damage(&s);
            tf_delinearize(&tree, style, (struct tf_text){s.p, s.len}, (struct tf_text){w.p, w.len},
                           "TOP", "XX");
            tf_buf_clear(&again);
            tf_tree_write(&again, &tree);
            damaged++;
            valid += leaves_are(&again, w.p ? w.p : "");
        }
        tf_buf_release(&text);
        tf_buf_release(&w);
        tf_buf_release(&s);
        tf_buf_release(&again);
    }
    is_int(same, n - refusals, "%s: of %d random trees all but %d refused come back",
           tf_brackets_names[style], n, refusals);
    ok(style == TF_BRACKETS_SLASH ? refusals > 0 && refusals < n / 2 : refusals == 0,
       "the refused are some, or none");
    is_int(valid, damaged, "damaged sequences give trees over the words");
}

/* The length of the longest common subsequence, by the table. */
static size_t common(const struct tf_text *a, size_t na, const struct tf_text *b, size_t nb)
{
    static size_t v[41][41];
    for (size_t i = 0; i <= na; i++)
        for (size_t j = 0; j <= nb; j++)
            v[i][j] = i == 0 || j == 0                   ? 0
                      : tf_text_same(a[i - 1], b[j - 1]) ? v[i - 1][j - 1] + 1
                      : v[i - 1][j] > v[i][j - 1]        ? v[i - 1][j]
                                                         : v[i][j - 1];
    return v[na][nb];
}

static void alignments(int n)
{
    static const char *const words[] = {"a", "b", "c", "d"};
    int wrong = 0;
    for (int i = 0; i < n; i++) {
        struct tf_text a[40], b[40];
        size_t match[40], na = tf_rng_below(&rng, 41), nb = tf_rng_below(&rng, 41), last = 0,
                          found = 0, alphabet = 1 + tf_rng_below(&rng, 4);
        for (size_t k = 0; k < na; k++)
            a[k] = span(pick(words, alphabet));
        for (size_t k = 0; k < nb; k++)
            b[k] = span(pick(words, alphabet));
        size_t got = tf_align(a, na, b, nb, match);
        for (size_t k = 0; k < na; k++) {
            if (match[k] == SIZE_MAX)
                continue;
            found++;
            wrong += match[k] >= nb || match[k] + 1 <= last || !tf_text_same(a[k], b[match[k]]);
            last = match[k] + 1;
        }
        wrong += got != found || got != common(a, na, b, nb);
    }
    is_int(wrong, 0, "%d alignments are the longest", n);
}

/* Over the limit: only the beginning and the end are aligned. */
static void far_apart(void)
{
    enum { N = 2000 };
    static struct tf_text a[N], b[N];
    static size_t match[N];
    for (size_t i = 0; i < N; i++) {
        a[i] = span(i < 5 || i >= N - 5 ? "same" : i % 2 ? "x" : "y");
        b[i] = span(i < 5 || i >= N - 5 ? "same" : i % 3 ? "z" : "y");
    }
    is_int(tf_align(a, N, b, N, match), 10, "beginning and end");
    is_int(match[4], 4, "the last of the beginning");
    is_int(match[N - 5], N - 5, "the first of the end");
    ok(match[N / 2] == SIZE_MAX, "nothing between");
}

int main(void)
{
    const enum tf_brackets slash = TF_BRACKETS_SLASH, paren = TF_BRACKETS_PAREN,
                           words = TF_BRACKETS_WORDS;
    const unsigned brackets = TF_REPAIR_BRACKETS, tags = TF_REPAIR_LEAVES;
    rng = tf_rng_new(7, 0);
    const char john[] = "(TOP (S (NP (NNP John)) (VP (VBZ has) (NP (DT a) (NN dog))) (. .)))";
    forth(slash, john, "John has a dog .", "S NP NNP /NP VP VBZ NP DT NN /NP /VP . /S");
    forth(paren, john, "John has a dog .", "(S (NP NNP )NP (VP VBZ (NP DT NN )NP )VP . )S");
    forth(slash, "(S1 (NP (NN x)) (NP (NN y)))", "x y", "NP NN /NP NP NN /NP");
    forth(slash, "(NP (NN a b))", "a b", "NP NN + /NP");
    forth(slash, "(TOP)", "", "");
    forth(slash, "(X (X (X x)))", "x", "X X X /X /X");
    refused(slash, "(TOP (S (NP) (NN x)))", "without words: NP");
    refused(slash, "(TOP ( (NN x)))", "without a label");
    refused(slash, "(NP (/NP x))", "begins with /");
    refused(slash, "(NP (NP x) (NN y))", "both tag and constituent");
    refused(slash, "(NP (NP x y))", "both tag and constituent");
    refused(paren, "(NP (+ x))", "another word");
    refused(slash, "(TOP (+ (B b c) (A a)))", "a constituent +");
    forth(paren, "(TOP (+ (B b c) (A a)))", "b c a", "(+ B + A )+");
    forth(paren, "(NP (/NP x))", "x", "(NP /NP )NP");

    back(slash, "a b", "S NP NN /NP VP VB /VP /S", "(TOP (S (NP (NN a)) (VP (VB b))))", 0);
    back(slash, "a b", "ODD NN NN /ODD", "(TOP (ODD (NN a) (NN b)))", 0);
    back(slash, "a b", "S NP NN VP VB /VP /S", "(TOP (S (NP (NN a) (VP (VB b)))))", brackets);
    back(slash, "a b", "S NP NN /NP VP VB", "(TOP (S (NP (NN a)) (VP (VB b))))", brackets);
    back(slash, "a b", "NN /NP VP VB /VP /S", "(TOP (NN a) (VP (VB b)))", brackets);
    back(slash, "a b c", "S NN /S", "(TOP (S (NN a) (XX b) (XX c)))", tags);
    back(slash, "a", "S NP NN NN /NP NP NN /NP /S", "(TOP (S (NP (NN a))))", brackets | tags);
    back(paren, "a b", "(S (NP NN )NP NN )S", "(TOP (S (NP (NN a)) (NN b)))", 0);
    back(paren, "a b", "(S (NP NN )VP NN )S )S", "(TOP (S (NP (NN a) (NN b))))", brackets);
    back(paren, "a b", "(S ( NN ) NN", "(TOP (S (NN a)) (NN b))", brackets);
    back(paren, "a b", "+ N(N", "(TOP (XX a) (XX b))", brackets | tags);
    back(paren, "a b", "", "(TOP (XX a) (XX b))", tags);
    back(paren, "", "", "(TOP)", 0);
    back(paren, "", "(S NN )S", "(TOP)", brackets | tags);
    back(paren, "( b)", "NN NN", "(TOP (NN -LRB-) (NN b-RRB-))", 0);
    back(paren, "a", "(TOP (S NN )S )TOP", "(TOP (TOP (S (NN a))))", 0);

    forth(words, john, "John has a dog .", "(S (NP John )NP (VP has (NP a dog )NP )VP . )S");
    forth(words, "(NP (NN a b))", "a b", "(NP a b )NP");
    forth(words, "(NP (NN x) (: -) (HYPH -) (: --))", "x - - --", "(NP x (: - ): - -- )NP");
    refused(words, "(TOP (S (: (NN x)) (NN y)))", "reads as a tag");
    back(words, "a - b", "(S a (: - ): b )S", "(TOP (S (XX a) (: -) (XX b)))", 0);
    back(words, "a b c", "(S a )S", "(TOP (S (XX a) (XX b) (XX c)))", tags);
    back(words, "a b c", "(S (NP a )NP c )S", "(TOP (S (NP (XX a) (XX b)) (XX c)))", tags);
    back(words, "a b c", "(S (NP b )NP c )S", "(TOP (S (NP (XX a) (XX b)) (XX c)))", tags);
    back(words, "a b", "(S (NP a a )NP b b )S", "(TOP (S (NP (XX a)) (XX b)))", tags);
    back(words, "a b c", "(S (NP a )NP x c )S", "(TOP (S (NP (XX a)) (XX b) (XX c)))", tags);
    back(words, "a b", "(S )S", "(TOP (S (XX a) (XX b)))", tags);
    back(words, "a b", "(S a (NP b )S", "(TOP (S (XX a) (NP (XX b))))", brackets);
    /* The tag is that of the one word: not of those that the sequence lacks beside it. */
    back(words, "a - b c", "(S (: - ): (NP b )NP )S", "(TOP (S (XX a) (: -) (NP (XX b) (XX c))))",
         tags);
    back(words, "b - y z", "(S (NP b )NP (: - ): )S", "(TOP (S (NP (XX b)) (: -) (XX y) (XX z)))",
         tags);
    back(words, "b -- y", "(S (NP b )NP (: - ): )S", "(TOP (S (NP (XX b)) (: --) (XX y)))", tags);
    back(words, "- y", "(S (: -- ): )S", "(TOP (S (: -) (XX y)))", tags);
    back(words, "b y - c", "(S b (: - ): c )S", "(TOP (S (XX b) (XX y) (: -) (XX c)))", tags);
    back(words, "b - - y", "(S (NP b )NP (: - ): )S", "(TOP (S (NP (XX b)) (: -) (: -) (XX y)))",
         tags);
    back(words, "( b", "(NP -LRB- b )NP", "(TOP (NP (XX -LRB-) (XX b)))", tags);
    alignments(4000);
    far_apart();

    random_trees(words, 4000);
    random_trees(slash, 4000);
    random_trees(paren, 4000);

    /* As long as a line may be: closings that find nothing, labels that are all different. */
    struct tf_buf s = {0};
    for (int i = 0; i < 100000; i++)
        tf_buf_printf(&s, "(A%d )B%d NN ", i, i);
    unsigned repairs =
        tf_delinearize(&tree, paren, (struct tf_text){s.p, s.len}, span("w"), "TOP", "XX");
    is_int(repairs, brackets | tags, "100,000 of each");
    is_int(tree.n, 5, "come to one constituent");
    tf_buf_release(&s);
    tf_tree_release(&tree);
    return done();
}
