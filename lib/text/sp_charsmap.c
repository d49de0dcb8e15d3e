/* sp_charsmap.c - see sp_charsmap_private.h. The table is 4 bytes of size, that many bytes of the
 * trie, and the replacements, each ended by NUL. */
#include "text/sp_charsmap_private.h"
#include "base/memory.h"

#include <stdlib.h>

/* kMaxTrieResultsSize: with more keys, the library reads outside of an array on its stack. */
enum { MOST_RESULTS = 32 };

/* A node of the trie is represented by its base: its child for byte c is at base ^ c. Several
 * parents may share a node. */
struct node {
    uint32_t child;             /* the first unit of a child + 1, or 0 */
    uint32_t sibling;           /* of the unit of this number: the next one + 1, or 0 */
    uint32_t parents;           /* not yet visited */
    uint16_t shortest, longest; /* of the texts that lead here */
    uint8_t results;            /* most keys that such a text begins with */
    bool found;
};

struct charsmap {
    struct tf_span trie, texts;
    size_t n; /* units of the trie */
    struct node *nodes;
    uint32_t *queue;
};

struct edge {
    size_t to;     /* base of the child */
    bool ends_key; /* a key ends there */
};

static int damaged(struct tf_err *err)
{
    return tf_fail(err, "SentencePiece model with a damaged normalisation table");
}

static uint32_t unit(struct tf_span trie, size_t i)
{
    const uint8_t *p = trie.p + 4 * i;
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* darts-clone: the offset of the children of a node. */
static size_t offset(uint32_t u)
{
    return (size_t)(u >> 10) << ((u & 1u << 9) >> 6);
}

/* The edge that the unit of this number is. */
static inline struct edge edge_at(struct tf_span trie, size_t i)
{
    const uint32_t u = unit(trie, i);
    return (struct edge){.to = i ^ offset(u), .ends_key = (u & 0x100) != 0};
}

/* Where byte c leads from a node. False: nowhere. */
static inline bool follow(struct tf_span trie, size_t base, size_t c, struct edge *e)
{
    *e = edge_at(trie, base ^ c);
    return (unit(trie, base ^ c) & 0x800000ff) == c;
}

/* Offset of the replacement of a key that ends in a node. */
static size_t replacement(struct tf_span trie, size_t base)
{
    return unit(trie, base) & 0x7fffffff;
}

/* List the units by the node that they lead on from. */
static void list_children(struct charsmap *t)
{
    for (size_t i = t->n; i-- > 0;) {
        const size_t c = unit(t->trie, i) & 0x800000ff, base = i ^ c;
        if (c > 0xff || base >= t->n)
            continue;
        t->nodes[i].sibling = t->nodes[base].child;
        t->nodes[base].child = (uint32_t)i + 1;
    }
}

/* Visit every node that can be reached from the root, and count its parents. -1: a lookup could
 * leave the trie or the texts. */
static int find_nodes(struct charsmap *t, size_t root)
{
    size_t first = 0, last = 0;
    if (root >= t->n)
        return -1;
    t->nodes[root].found = true;
    t->queue[last++] = (uint32_t)root;
    while (first < last) {
        size_t base = t->queue[first++];
        if ((base | 0xff) >= t->n) /* a lookup reads a child before it checks it */
            return -1;
        for (size_t i = t->nodes[base].child; i > 0; i = t->nodes[i - 1].sibling) {
            const struct edge e = edge_at(t->trie, i - 1);
            if (e.to >= t->n || (e.ends_key && replacement(t->trie, e.to) >= t->texts.n))
                return -1;
            t->nodes[e.to].parents++;
            if (!t->nodes[e.to].found) {
                t->nodes[e.to].found = true;
                t->queue[last++] = (uint32_t)e.to;
            }
        }
    }
    return t->nodes[root].parents == 0 ? 0 : -1;
}

static int check_replacement(struct tf_span texts, size_t at, size_t key, struct tf_err *err)
{
    size_t most =
        key * TF_MAX_GROWTH < TF_MAX_REPLACEMENT ? key * TF_MAX_GROWTH : TF_MAX_REPLACEMENT;
    size_t n = 0;
    for (const uint8_t *p = texts.p + at; *p != 0 && n <= most; p++) /* the last one is NUL */
        n += *p == ' ' ? 3 : 1;
    if (n > most)
        return tf_fail(err,
                       "SentencePiece model whose normalisation replaces %zu byte%s by more than "
                       "%zu",
                       key, key == 1 ? "" : "s", most);
    return 0;
}

static uint16_t lower(uint16_t a, uint16_t b)
{
    return a < b ? a : b;
}

static uint16_t higher(uint16_t a, uint16_t b)
{
    return a > b ? a : b;
}

/* One step from a node that all texts have reached. */
static int check_edge(struct charsmap *t, size_t base, const struct edge *e, struct tf_err *err)
{
    const struct node *from = &t->nodes[base];
    struct node *to = &t->nodes[e->to];
    const uint16_t shortest = from->shortest + 1, longest = from->longest + 1;
    const uint8_t results = from->results + e->ends_key;
    to->shortest = to->longest > 0 ? lower(to->shortest, shortest) : shortest;
    to->longest = higher(to->longest, longest);
    to->results = (uint8_t)higher(to->results, results);
    if (longest > TF_MAX_KEY)
        return tf_fail(err, "SentencePiece model whose normalisation replaces more than %zu bytes",
                       TF_MAX_KEY);
    if (results > MOST_RESULTS)
        return tf_fail(err,
                       "SentencePiece model whose normalisation replaces more than %d texts that "
                       "begin with each other",
                       MOST_RESULTS);
    return e->ends_key ? check_replacement(t->texts, replacement(t->trie, e->to), shortest, err)
                       : 0;
}

/* Visit each node after all of its parents, so that what is known of it is complete. */
static int check_keys(struct charsmap *t, size_t root, struct tf_err *err)
{
    size_t first = 0, last = 0, nodes = 0;
    for (size_t i = 0; i < t->n; i++)
        nodes += t->nodes[i].found;
    t->queue[last++] = (uint32_t)root;
    while (first < last) {
        size_t base = t->queue[first++];
        for (size_t i = t->nodes[base].child; i > 0; i = t->nodes[i - 1].sibling) {
            const struct edge e = edge_at(t->trie, i - 1);
            if (check_edge(t, base, &e, err) != 0)
                return -1;
            if (--t->nodes[e.to].parents == 0)
                t->queue[last++] = (uint32_t)e.to;
        }
    }
    return last == nodes ? 0 : damaged(err); /* the others are in a cycle: a key without an end */
}

int tf_charsmap_check(struct tf_span table, struct tf_err *err)
{
    if (table.n == 0)
        return 0;
    size_t n = table.n >= 4 ? unit(table, 0) : 0; /* bytes of the trie */
    if (n == 0 || n % 4 != 0 || n >= table.n - 4 || table.p[table.n - 1] != 0)
        return damaged(err);
    struct charsmap t = {.trie = {table.p + 4, n},
                         .texts = {table.p + 4 + n, table.n - 4 - n},
                         .n = n / 4};
    t.nodes = tf_xcalloc(t.n, sizeof *t.nodes);
    t.queue = tf_xarray(NULL, t.n, sizeof *t.queue);
    list_children(&t);
    const size_t root = offset(unit(t.trie, 0));
    int rc = find_nodes(&t, root) != 0 ? damaged(err) : check_keys(&t, root, err);
    free(t.nodes);
    free(t.queue);
    return rc;
}

void tf_charsmap_open(struct tf_charsmap *m, struct tf_span table)
{
    *m = (struct tf_charsmap){0};
    if (table.n == 0)
        return;
    const size_t n = unit(table, 0);
    m->trie = (struct tf_span){table.p + 4, n};
    m->texts = (const char *)table.p + 4 + n;
    m->root = offset(unit(m->trie, 0));
}

size_t tf_charsmap_find(const struct tf_charsmap *m, const char *s, size_t n, const char **text)
{
    size_t longest = 0, base = m->root;
    struct edge e;
    for (size_t i = 0; m->texts != NULL && i < n; base = e.to) {
        if (!follow(m->trie, base, (unsigned char)s[i++], &e))
            break;
        if (e.ends_key) {
            longest = i;
            *text = m->texts + replacement(m->trie, e.to);
        }
    }
    return longest;
}

bool tf_charsmap_leaves(const struct tf_charsmap *m, unsigned char c)
{
    struct edge first, second;
    if (m->texts == NULL || !follow(m->trie, m->root, c, &first))
        return true;
    for (size_t next = 0; next < 0x80; next++)
        if (follow(m->trie, first.to, next, &second))
            return false;
    return !first.ends_key;
}
