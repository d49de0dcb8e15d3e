/* linearize.c - see linearize_private.h. */
#include "tree/linearize_private.h"
#include "base/memory.h"
#include "tree/align_private.h"
#include <stdlib.h>
#include <string.h>

const char *const tf_brackets_names[] = {"slash", "paren", "words", NULL};

static const char *const known_labels[] = {
    "ADJP", "ADVP", "CAPTION", "CIT",    "CONJP", "FRAG", "HEADING", "INTJ",
    "LST",  "NAC",  "NML",     "NP",     "NX",    "PP",   "PRN",     "PRT",
    "QP",   "RRC",  "S",       "SBAR",   "SBARQ", "SINV", "SQ",      "TITLE",
    "UCP",  "VP",   "WHADJP",  "WHADVP", "WHNP",  "WHPP", "X",
};

static const char more[] = "+"; /* the tag of another word under the same tag */

static size_t count_tokens(struct tf_text s)
{
    struct tf_text t;
    size_t n = 0;
    while (tf_text_word(&s, &t))
        n++;
    return n;
}

/* ---- tree to sequence ---- */

static void put_mark(struct tf_buf *b, const char *mark, struct tf_text s)
{
    if (b->len > 0)
        tf_buf_byte(b, ' ');
    tf_buf_str(b, mark);
    tf_buf_add(b, s.p, s.n);
}

static void put_leaf(struct tf_buf *words, struct tf_buf *sequence, const struct tf_tree_node *leaf,
                     enum tf_brackets style)
{
    struct tf_text rest = leaf->word, word, tag = leaf->label;
    bool in_words = style == TF_BRACKETS_WORDS, punctuation = tf_tree_punctuation_tag(tag);
    while (tf_text_word(&rest, &word)) {
        bool tagged = in_words && punctuation && !tf_tree_punctuation_word(word);
        put_mark(words, "", word);
        if (tagged)
            put_mark(sequence, "(", leaf->label);
        put_mark(sequence, "", in_words ? word : tag);
        if (tagged)
            put_mark(sequence, ")", leaf->label);
        tag = (struct tf_text){more, strlen(more)};
    }
}

/* Read from right to left, a tag looks like the opening of its constituent when it has the same
 * label and something follows it inside. */
static bool looks_open(const struct tf_tree *t, size_t leaf, size_t parent)
{
    return parent != SIZE_MAX && tf_text_same(t->v[leaf].label, t->v[parent].label) &&
           (t->v[leaf + 1].kind != TF_TREE_CLOSE || count_tokens(t->v[leaf].word) > 1);
}

static int reversible(const struct tf_tree *t, size_t i, size_t parent, enum tf_brackets style,
                      struct tf_err *err)
{
    const struct tf_tree_node *v = &t->v[i];
    char name[64];
    tf_escape(name, sizeof name, v->label.p, v->label.n);
    if (v->label.n == 0)
        return tf_fail(err, "a constituent without a label");
    if (v->kind == TF_TREE_LEAF && tf_text_is(v->label, more))
        return tf_fail(err, "the tag %s means another word under the same tag", more);
    if (v->kind == TF_TREE_OPEN && v->mate == i + 1)
        return tf_fail(err, "a constituent without words: %s", name);
    if (style == TF_BRACKETS_WORDS && v->kind == TF_TREE_OPEN && tf_tree_punctuation_tag(v->label))
        return tf_fail(err, "a constituent %s, which reads as a tag; use paren brackets", name);
    if (style == TF_BRACKETS_SLASH && v->kind == TF_TREE_OPEN && tf_text_is(v->label, more))
        return tf_fail(err, "a constituent %s, which reads as a tag; use paren brackets", more);
    if (style == TF_BRACKETS_SLASH && v->label.p[0] == '/')
        return tf_fail(err, "the label %s begins with /; use paren brackets", name);
    if (style == TF_BRACKETS_SLASH && v->kind == TF_TREE_LEAF && looks_open(t, i, parent))
        return tf_fail(err, "%s is both tag and constituent; use paren brackets", name);
    return 0;
}

int tf_linearize(const struct tf_tree *t, enum tf_brackets style, const char *root,
                 struct tf_buf *words, struct tf_buf *sequence, struct tf_err *err)
{
    bool slash = style == TF_BRACKETS_SLASH;
    size_t strip = tf_tree_is_root(t, root), parent = SIZE_MAX;
    /* by opening: the constituent around it */
    size_t *outer = tf_xarray(NULL, t->n + 1, sizeof *outer);
    int rc = 0;
    for (size_t i = strip; i + strip < t->n && rc == 0; i++) {
        const struct tf_tree_node *v = &t->v[i];
        if (v->kind != TF_TREE_CLOSE)
            rc = reversible(t, i, parent, style, err);
        if (v->kind == TF_TREE_OPEN) {
            outer[i] = parent;
            parent = i;
            put_mark(sequence, slash ? "" : "(", v->label);
        } else if (v->kind == TF_TREE_LEAF) {
            put_leaf(words, sequence, v, style);
        } else {
            parent = outer[v->mate];
            put_mark(sequence, slash ? "/" : ")", v->label);
        }
    }
    free(outer);
    return rc;
}

/* ---- sequence to tree ---- */

enum { NO_LABEL = -1 };

struct token {
    enum tf_tree_kind kind;
    struct tf_text label; /* of a closing, empty: the innermost constituent */
    long id;              /* number of the label among those of the sequence */
    bool broken;          /* contains a bracket, which no label does */
    bool ignored;         /* too broken to use */
};

struct tokens {
    struct token *v;
    size_t n;
    struct tf_text *labels; /* sorted, unique; indexed by id */
    size_t nlabels;
    size_t *count; /* by id; its use depends on the step */
};

static bool has_bracket(struct tf_text s)
{
    return s.n && (memchr(s.p, '(', s.n) != NULL || memchr(s.p, ')', s.n) != NULL);
}

/* Classify a token on its own. With SLASH, openings are classified as tags at first. */
static struct token read_token(struct tf_text s, enum tf_brackets style, const char *tag)
{
    char open = style == TF_BRACKETS_SLASH ? 0 : '(',
         close = style == TF_BRACKETS_SLASH ? '/' : ')';
    struct token t = {TF_TREE_LEAF, s, NO_LABEL, false, false};
    if (open && s.p[0] == open)
        t.kind = TF_TREE_OPEN;
    else if (s.p[0] == close)
        t.kind = TF_TREE_CLOSE;
    if (t.kind != TF_TREE_LEAF)
        t.label = (struct tf_text){s.p + 1, s.n - 1};
    t.broken = has_bracket(t.label);
    if (t.broken && t.kind == TF_TREE_LEAF)
        t.label = (struct tf_text){tag, strlen(tag)};
    t.ignored =
        t.kind == TF_TREE_OPEN ? t.broken || t.label.n == 0 : t.kind == TF_TREE_CLOSE && t.broken;
    return t;
}

static void read_tokens(struct tokens *k, struct tf_text s, enum tf_brackets style, const char *tag)
{
    struct tf_text text;
    size_t room = count_tokens(s);
    *k = (struct tokens){.v = tf_xarray(NULL, room + 1, sizeof *k->v),
                         .labels = tf_xarray(NULL, room + 1, sizeof *k->labels)};
    for (; tf_text_word(&s, &text); k->n++) {
        k->v[k->n] = read_token(text, style, tag);
        k->labels[k->n] = k->v[k->n].label;
    }
    qsort(k->labels, k->n, sizeof *k->labels, tf_text_compare);
    for (size_t i = 0; i < k->n; i++)
        if (i == 0 || tf_text_compare(&k->labels[i], &k->labels[k->nlabels - 1]) != 0)
            k->labels[k->nlabels++] = k->labels[i];
    for (size_t i = 0; i < k->n; i++)
        k->v[i].id = (long)((struct tf_text *)bsearch(&k->v[i].label, k->labels, k->nlabels,
                                                      sizeof *k->labels, tf_text_compare) -
                            k->labels);
    k->count = tf_xcalloc(k->nlabels + 1, sizeof *k->count);
}

static void release_tokens(struct tokens *k)
{
    free(k->v);
    free(k->labels);
    free(k->count);
}

/* SLASH: find the openings of a well-formed sequence, from right to left, where each closing waits
 * for its label. False, with nothing changed, if the sequence is not well-formed. */
static bool openings_exact(struct tokens *k, size_t words)
{
    struct {
        long id;
        bool filled;
    } *stack = tf_xarray(NULL, k->n + 1, sizeof *stack);
    size_t depth = 0, tags = 0;
    for (size_t i = k->n; i-- > 0;) {
        struct token *t = &k->v[i];
        if (t->kind == TF_TREE_CLOSE) {
            stack[depth].id = t->id;
            stack[depth++].filled = false;
            continue;
        }
        if (depth > 0 && stack[depth - 1].id == t->id && stack[depth - 1].filled) {
            t->kind = TF_TREE_OPEN;
            depth--;
        } else {
            tags++;
        }
        if (depth > 0)
            stack[depth - 1].filled = true;
    }
    free(stack);
    if (depth == 0 && tags == words)
        return true;
    for (size_t i = 0; i < k->n; i++)
        if (k->v[i].kind == TF_TREE_OPEN)
            k->v[i].kind = TF_TREE_LEAF;
    return false;
}

static bool is_known(struct tf_text s)
{
    for (size_t i = 0; i < sizeof known_labels / sizeof *known_labels; i++)
        if (tf_text_is(s, known_labels[i]))
            return true;
    return false;
}

/* SLASH: guess the openings of a damaged sequence. */
static void openings_likely(struct tokens *k)
{
    for (size_t i = 0; i < k->n; i++)
        k->count[k->v[i].id] += k->v[i].kind == TF_TREE_CLOSE;
    for (size_t i = 0; i < k->n; i++) {
        struct token *t = &k->v[i];
        if (t->kind == TF_TREE_CLOSE)
            k->count[t->id]--;
        else if (k->count[t->id] > 0 || is_known(t->label))
            t->kind = TF_TREE_OPEN;
    }
}

/* ---- which words a leaf of the sequence stands for: as many as take[] says, in order; the first
 * of them is its own, except that of the first leaf ---- */

/* One word for each leaf, as long as there are words. */
static unsigned take_in_order(const struct tokens *k, size_t words, size_t *take)
{
    size_t leaves = 0;
    for (size_t i = 0; i < k->n; i++)
        if (k->v[i].kind == TF_TREE_LEAF)
            take[i] = leaves++ < words;
    return leaves == words ? 0 : TF_REPAIR_LEAVES;
}

/* Between two matches: leaves [i, to) of the sequence and n words, paired in order. Words left over
 * go to the last leaf that has one. */
static void pair(const size_t *at, size_t i, size_t to, size_t n, size_t *take)
{
    for (; i < to; i++) {
        take[at[i]] = n > 0;
        n -= n > 0;
    }
    for (; n > 0 && i > 0 && take[at[i - 1]] == 0; i--)
        ;
    if (i > 0)
        take[at[i - 1]] += n;
}

/* WORDS: by alignment. Words before the first match that nothing precedes go to its leaf; *early is
 * their number. */
static unsigned take_aligned(const struct tokens *k, struct tf_text words, size_t *take,
                             size_t *early)
{
    size_t leaves = 0, n = 0, matches, from = 0, word = 0, room = count_tokens(words);
    struct tf_text *leaf = tf_xarray(NULL, k->n + 1, sizeof *leaf);
    struct tf_text *given = tf_xarray(NULL, room + 1, sizeof *given);
    size_t *at = tf_xarray(NULL, k->n + 1, sizeof *at),
           *match = tf_xarray(NULL, k->n + 1, sizeof *match);
    while (tf_text_word(&words, &given[n]))
        n++;
    for (size_t i = 0; i < k->n; i++) {
        if (k->v[i].kind == TF_TREE_LEAF) {
            leaf[leaves] = k->v[i].label;
            at[leaves++] = i;
        }
    }
    matches = tf_align(leaf, leaves, given, n, match);
    for (size_t i = 0; i < leaves; i++) {
        if (match[i] == SIZE_MAX)
            continue;
        pair(at, from, i, match[i] - word, take);
        if (i == 0)
            *early = match[i];
        take[at[i]] = i == 0 ? match[i] + 1 : 1;
        from = i + 1;
        word = match[i] + 1;
    }
    pair(at, from, leaves, n - word, take);
    free(leaf);
    free(given);
    free(at);
    free(match);
    return matches == leaves && matches == n ? 0 : TF_REPAIR_LEAVES;
}

/* Turns openings, tags and closings into nodes; k->count is the number of open constituents by
 * label. */
struct builder {
    struct tf_tree *t;
    struct tokens *k;
    size_t *stack; /* opening tokens of the open constituents */
    size_t depth;
    const size_t *take; /* by token: the number of words of a leaf */
    size_t early;       /* how many of them precede the first leaf's own */
    unsigned repairs;
};

static void close_innermost(struct builder *b)
{
    b->k->count[b->k->v[b->stack[--b->depth]].id]--;
    tf_tree_add(b->t, TF_TREE_CLOSE, (struct tf_text){0}, (struct tf_text){0});
}

static void build_close(struct builder *b, const struct token *t)
{
    bool any = t->label.n == 0;
    if (any || b->depth == 0 || b->k->v[b->stack[b->depth - 1]].id != t->id)
        b->repairs |= TF_REPAIR_BRACKETS;
    if (b->depth == 0 || (!any && b->k->count[t->id] == 0))
        return;
    while (!any && b->k->v[b->stack[b->depth - 1]].id != t->id)
        close_innermost(b);
    close_innermost(b);
}

static void build_leaf(struct builder *b, struct tf_text label, struct tf_text word,
                       struct tf_text tag)
{
    struct tf_tree_node *last = b->t->n > 0 ? &b->t->v[b->t->n - 1] : NULL;
    bool again = tf_text_is(label, more);
    if (again && last != NULL && last->kind == TF_TREE_LEAF) {
        last->word.n = (size_t)(word.p + word.n - last->word.p);
        return;
    }
    b->repairs |= again ? TF_REPAIR_LEAVES : 0;
    tf_tree_add(b->t, TF_TREE_LEAF, again ? tag : label, word);
}

static void build(struct builder *b, struct tf_text words, enum tf_brackets style,
                  struct tf_text tag)
{
    struct tf_text word, next = tag; /* next: WORDS, the tag of the next leaf's own word */
    size_t own = b->early;           /* which of its words that is */
    bool in_words = style == TF_BRACKETS_WORDS;
    memset(b->k->count, 0, b->k->nlabels * sizeof *b->k->count);
    for (size_t i = 0; i < b->k->n; i++) {
        const struct token *t = &b->k->v[i];
        if (t->broken || t->ignored)
            b->repairs |= TF_REPAIR_BRACKETS;
        if (t->ignored) {
            continue;
        } else if (in_words && t->kind != TF_TREE_LEAF && tf_tree_punctuation_tag(t->label)) {
            next = t->kind == TF_TREE_OPEN ? t->label : tag;
        } else if (t->kind == TF_TREE_OPEN) {
            b->stack[b->depth++] = i;
            b->k->count[t->id]++;
            tf_tree_add(b->t, TF_TREE_OPEN, t->label, (struct tf_text){0});
        } else if (t->kind == TF_TREE_CLOSE) {
            build_close(b, t);
        } else {
            for (size_t n = 0; n < b->take[i] && tf_text_word(&words, &word); n++) {
                bool same = n == own || tf_text_same(word, t->label);
                build_leaf(b, !in_words ? t->label : same ? next : tag, word, tag);
            }
            next = tag;
            own = 0;
        }
    }
    if (b->depth > 0)
        b->repairs |= TF_REPAIR_BRACKETS;
    while (b->depth > 0)
        close_innermost(b);
    bool inside = b->t->n > 0 && b->t->v[b->t->n - 1].kind == TF_TREE_CLOSE;
    b->t->n -= inside;
    while (tf_text_word(&words, &word))
        tf_tree_add(b->t, TF_TREE_LEAF, tag, word);
    if (inside)
        tf_tree_add(b->t, TF_TREE_CLOSE, (struct tf_text){0}, (struct tf_text){0});
}

unsigned tf_delinearize(struct tf_tree *t, enum tf_brackets style, struct tf_text sequence,
                        struct tf_text words, const char *root, const char *tag)
{
    struct tokens k;
    t->n = 0;
    read_tokens(&k, sequence, style, tag);
    if (style == TF_BRACKETS_SLASH && !openings_exact(&k, count_tokens(words)))
        openings_likely(&k);
    size_t *take = tf_xcalloc(k.n + 1, sizeof *take);
    size_t early = 0;
    unsigned leaves = style == TF_BRACKETS_WORDS ? take_aligned(&k, words, take, &early)
                                                 : take_in_order(&k, count_tokens(words), take);
    struct builder b = {t, &k, tf_xarray(NULL, k.n + 1, sizeof *b.stack), 0, take, early, leaves};
    build(&b, words, style, (struct tf_text){tag, strlen(tag)});
    tf_tree_wrap(t, root);
    size_t before = t->n;
    tf_tree_drop_empty(t);
    if (t->n != before)
        b.repairs |= TF_REPAIR_BRACKETS;
    free(b.stack);
    free(take);
    release_tokens(&k);
    return b.repairs;
}
