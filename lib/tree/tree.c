/* tree.c - parser, writer, cleaning. While a tree is parsed, `mate` of an open constituent is the
 * index of the one around it, which makes the nodes their own stack. */
#include "tree/tree_private.h"
#include "base/memory.h"
#include <stdlib.h>
#include <string.h>

static const size_t none = SIZE_MAX;

void tf_tree_release(struct tf_tree *t)
{
    free(t->v);
    *t = (struct tf_tree){0};
}

void tf_tree_add(struct tf_tree *t, enum tf_tree_kind kind, struct tf_text label,
                 struct tf_text word)
{
    TF_GROW(t->v, t->n, t->cap);
    t->v[t->n++] = (struct tf_tree_node){kind, label, word, none};
}

/* Close v[open]. Returns the index of the constituent around it. */
static size_t close_node(struct tf_tree *t, size_t open, size_t close)
{
    size_t outer = t->v[open].mate;
    t->v[close].label = t->v[open].label;
    t->v[close].mate = open;
    t->v[open].mate = close;
    return outer;
}

/* Set all mates, after nodes were added or removed. */
static void set_mates(struct tf_tree *t)
{
    size_t open = none;
    for (size_t i = 0; i < t->n; i++) {
        if (t->v[i].kind == TF_TREE_OPEN) {
            t->v[i].mate = open;
            open = i;
        } else if (t->v[i].kind == TF_TREE_CLOSE) {
            TF_ASSERT(open != none);
            open = close_node(t, open, i);
        }
    }
    TF_ASSERT(open == none);
}

static size_t count_words(const struct tf_tree *t)
{
    size_t words = 0;
    for (size_t i = 0; i < t->n; i++)
        words += t->v[i].kind == TF_TREE_LEAF;
    return words;
}

/* ---- text to tree ---- */

static size_t skip_space(const char *s, size_t n, size_t i)
{
    while (i < n && tf_ascii_space(s[i]))
        i++;
    return i;
}

static size_t skip_token(const char *s, size_t n, size_t i)
{
    while (i < n && s[i] != '(' && s[i] != ')' && !tf_ascii_space(s[i]))
        i++;
    return i;
}

/* Parse the "(" at *i: a tag with its word, or an opening. */
static int parse_open(struct tf_tree *t, const char *s, size_t n, size_t *i, size_t *open,
                      struct tf_err *err)
{
    size_t a = *i + 1, b = skip_token(s, n, a), w = skip_space(s, n, b), e = skip_token(s, n, w);
    struct tf_text label = {s + a, b - a}, word = {s + w, e - w};
    if (e == w) {
        tf_tree_add(t, TF_TREE_OPEN, label, (struct tf_text){0});
        t->v[t->n - 1].mate = *open;
        *open = t->n - 1;
        *i = w;
        return 0;
    }
    if (label.n == 0)
        return tf_fail(err, "byte %zu: a word without a tag", w + 1);
    size_t z = skip_space(s, n, e);
    while (z < n && s[z] != '(' && s[z] != ')') { /* a few trees have several words under one tag */
        e = skip_token(s, n, z);
        z = skip_space(s, n, e);
    }
    if (z == n)
        return tf_fail(err, "byte %zu: a bracket is not closed", *i + 1);
    if (s[z] != ')')
        return tf_fail(err, "byte %zu: a bracket among words", z + 1);
    word.n = e - w;
    tf_tree_add(t, TF_TREE_LEAF, label, word);
    *i = z + 1;
    return 0;
}

int tf_tree_parse(struct tf_tree *t, const char *s, size_t n, struct tf_err *err)
{
    size_t open = none, i = skip_space(s, n, 0);
    t->n = 0;
    if (i == n)
        return tf_fail(err, "no tree");
    while (i < n) {
        bool inside = open != none || t->n == 0;
        if (s[i] == '(' && inside) {
            if (parse_open(t, s, n, &i, &open, err) != 0)
                return -1;
        } else if (s[i] == ')' && open != none) {
            tf_tree_add(t, TF_TREE_CLOSE, (struct tf_text){0}, (struct tf_text){0});
            open = close_node(t, open, t->n - 1);
            i++;
        } else if (s[i] == ')') {
            return tf_fail(err, "byte %zu: a closing bracket too many", i + 1);
        } else if (!inside) {
            return tf_fail(err, "byte %zu: text after the tree", i + 1);
        } else {
            return tf_fail(err, "byte %zu: a word without brackets around it and its tag", i + 1);
        }
        i = skip_space(s, n, i);
    }
    if (open == none)
        return 0;
    size_t unclosed = 0;
    for (; open != none; open = t->v[open].mate)
        unclosed++;
    return tf_fail(err, "%zu bracket%s not closed", unclosed, unclosed == 1 ? " is" : "s are");
}

/* ---- tree to text ---- */

static void write_word(struct tf_buf *out, struct tf_text w)
{
    bool gap = false;
    for (size_t i = 0; i < w.n; i++) {
        if (tf_ascii_space(w.p[i])) {
            gap = true;
            continue;
        }
        if (gap)
            tf_buf_byte(out, ' ');
        gap = false;
        if (w.p[i] == '(' || w.p[i] == ')')
            tf_buf_str(out, w.p[i] == '(' ? "-LRB-" : "-RRB-");
        else
            tf_buf_byte(out, (unsigned char)w.p[i]);
    }
}

void tf_tree_write(struct tf_buf *out, const struct tf_tree *t)
{
    for (size_t i = 0; i < t->n; i++) {
        const struct tf_tree_node *v = &t->v[i];
        if (v->kind == TF_TREE_CLOSE) {
            tf_buf_byte(out, ')');
            continue;
        }
        tf_buf_str(out, i ? " (" : "(");
        tf_buf_add(out, v->label.p, v->label.n);
        if (v->kind == TF_TREE_LEAF) {
            tf_buf_byte(out, ' ');
            write_word(out, v->word);
            tf_buf_byte(out, ')');
        }
    }
}

/* ---- changes ---- */

bool tf_tree_is_root(const struct tf_tree *t, const char *root)
{
    if (t->n < 2 || t->v[0].kind != TF_TREE_OPEN)
        return false;
    struct tf_text l = t->v[0].label;
    return l.n == 0 || tf_text_is(l, "TOP") || tf_text_is(l, "ROOT") || tf_text_is(l, "S1") ||
           tf_text_is(l, root);
}

void tf_tree_drop_empty(struct tf_tree *t)
{
    size_t kept = 0, words = count_words(t);
    if (words == 0 && t->n > 0) {
        t->v[1] = t->v[t->n - 1];
        t->n = 2;
        set_mates(t);
        return;
    }
    /* Keep the number of words before each opening in its word.n, which is unused. */
    words = 0;
    for (size_t i = 0; i < t->n; i++) {
        if (t->v[i].kind == TF_TREE_LEAF)
            words++;
        else if (t->v[i].kind == TF_TREE_OPEN)
            t->v[i].word.n = words;
        else if (t->v[t->v[i].mate].word.n == words)
            t->v[i].word.n = t->v[t->v[i].mate].word.n = none;
    }
    for (size_t i = 0; i < t->n; i++) {
        if (t->v[i].kind != TF_TREE_LEAF && t->v[i].word.n == none)
            continue;
        t->v[kept++] = t->v[i];
    }
    t->n = kept;
    set_mates(t);
}

static struct tf_text cut_label(struct tf_text l)
{
    size_t n = l.n && l.p[0] != '-' ? 1 : l.n;
    while (n < l.n && l.p[n] != '-' && l.p[n] != '=')
        n++;
    return (struct tf_text){l.p, n};
}

int tf_tree_clean(struct tf_tree *t, const char *root, struct tf_err *err)
{
    size_t kept = 0;
    bool only_root = t->n == 2 && tf_tree_is_root(t, root);
    for (size_t i = 0; i < t->n; i++) {
        const struct tf_tree_node *v = &t->v[i];
        bool trace = tf_text_is(v->label, "-NONE-");
        if (v->kind == TF_TREE_OPEN && v->mate == i + 1 && !trace && !only_root) {
            char name[64];
            tf_escape(name, sizeof name, v->label.p, v->label.n);
            return tf_fail(err, "a constituent without words: (%s)", name);
        }
        if (v->kind == TF_TREE_LEAF && trace)
            continue;
        t->v[kept] = t->v[i];
        t->v[kept].label = cut_label(t->v[i].label);
        kept++;
    }
    t->n = kept;
    set_mates(t);
    tf_tree_drop_empty(t);
    return 0;
}

void tf_tree_wrap(struct tf_tree *t, const char *root)
{
    const struct tf_text nothing = {NULL, 0}, label = {root, strlen(root)};
    tf_tree_add(t, TF_TREE_CLOSE, nothing, nothing);
    tf_tree_add(t, TF_TREE_CLOSE, nothing, nothing);
    memmove(t->v + 1, t->v, (t->n - 2) * sizeof *t->v);
    t->v[0] = (struct tf_tree_node){.kind = TF_TREE_OPEN, .label = label};
    set_mates(t);
}

void tf_tree_reroot(struct tf_tree *t, const char *root)
{
    /* A tree without words is only a root. */
    if (!tf_tree_is_root(t, root) && (t->n == 0 || count_words(t) > 0)) {
        tf_tree_wrap(t, root);
        return;
    }
    t->v[0].label = t->v[t->n - 1].label = (struct tf_text){root, strlen(root)};
}
