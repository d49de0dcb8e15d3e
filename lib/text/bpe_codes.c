/* bpe_codes.c - see bpe_codes.h, bpe_codes_private.h. */
#include "text/bpe_codes_private.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "text/sp_check.h"

#include <stdlib.h>
#include <string.h>

enum { END = sizeof TF_BPE_END - 1 };

struct tf_text tf_bpe_trim(struct tf_text line)
{
    for (; line.n > 0 && (*line.p == ' ' || *line.p == '\r'); line.n--)
        line.p++;
    while (line.n > 0 && (line.p[line.n - 1] == ' ' || line.p[line.n - 1] == '\r'))
        line.n--;
    return line;
}

struct line {
    struct tf_text left, right;
};

/* The next line of *rest. False: it is not a symbol, a space and a symbol. */
static bool next_line(struct line *l, struct tf_text *rest)
{
    const char *lf = memchr(rest->p, '\n', rest->n),
               *space = lf != NULL ? memchr(rest->p, ' ', (size_t)(lf - rest->p)) : NULL;
    if (space == NULL)
        return false;
    l->left = (struct tf_text){rest->p, (size_t)(space - rest->p)};
    l->right = (struct tf_text){space + 1, (size_t)(lf - space - 1)};
    rest->n -= (size_t)(lf + 1 - rest->p);
    rest->p = lf + 1;
    return l->left.n > 0 && l->right.n > 0 && memchr(l->right.p, ' ', l->right.n) == NULL;
}

/* A symbol that no merge has made: a character, also as the last one of a word; or the end. */
static bool is_first(struct tf_text s, bool end_alone)
{
    if (s.n > END && memcmp(s.p + s.n - END, TF_BPE_END, END) == 0)
        s.n -= END;
    return tf_utf8_at(s.p, s.n) == s.n || (end_alone && tf_text_is(s, TF_BPE_END));
}

static uint32_t add_symbol(struct tf_bpe_merges *m, struct tf_text s)
{
    const uint32_t number = (uint32_t)m->symbols.n;
    tf_text_table_add(&m->symbols, s.p, s.n, number);
    return number;
}

static int symbol_of(struct tf_bpe_merges *m, uint32_t *symbol, struct tf_text s, bool end_alone,
                     struct tf_err *err)
{
    *symbol = tf_text_table_find(&m->symbols, s.p, s.n);
    if (*symbol != TF_NO_TEXT)
        return 0;
    if (!is_first(s, end_alone))
        return tf_fail(err, "'%.*s' is no character, and no line before makes it",
                       (int)(s.n < 100 ? s.n : 100), s.p);
    *symbol = add_symbol(m, s);
    return 0;
}

static struct tf_bpe_merge *slot_of(const struct tf_bpe_merges *m, uint32_t left, uint32_t right)
{
    size_t i = tf_table_hash(m->key, (uint64_t)left << 32 | right) & (m->slots - 1);
    while (m->v[i].left != TF_NO_TEXT && (m->v[i].left != left || m->v[i].right != right))
        i = (i + 1) & (m->slots - 1);
    return &m->v[i];
}

const struct tf_bpe_merge *tf_bpe_merge_of(const struct tf_bpe_merges *m, uint32_t left,
                                           uint32_t right)
{
    if (left == TF_NO_TEXT || right == TF_NO_TEXT)
        return NULL;
    const struct tf_bpe_merge *merge = slot_of(m, left, right);
    return merge->left != TF_NO_TEXT ? merge : NULL;
}

/* text: where the bytes of the joined symbol belong. */
static int add_merge(struct tf_bpe_merges *m, const struct line *l, uint32_t rank,
                     const struct tf_bpe_codes *codes, char *text, struct tf_err *err)
{
    const bool end_alone = codes->end_alone;
    uint32_t left, right;
    if (symbol_of(m, &left, l->left, end_alone, err) != 0 ||
        symbol_of(m, &right, l->right, end_alone, err) != 0)
        return -1;
    struct tf_bpe_merge *merge = slot_of(m, left, right);
    if (merge->left != TF_NO_TEXT) { /* again */
        merge->rank = codes->end_in_pieces ? rank : merge->rank;
        return 0;
    }
    memcpy(text, l->left.p, l->left.n);
    memcpy(text + l->left.n, l->right.p, l->right.n);
    const struct tf_text joined = {text, l->left.n + l->right.n};
    uint32_t symbol = tf_text_table_find(&m->symbols, joined.p, joined.n);
    if (symbol == TF_NO_TEXT)
        symbol = add_symbol(m, joined);
    *merge = (struct tf_bpe_merge){left, right, rank, symbol};
    return 0;
}

static int add_lines(struct tf_bpe_merges *m, const struct tf_bpe_codes *codes, struct tf_err *err)
{
    struct tf_text rest = {codes->lines, codes->n};
    char *text = m->text;
    struct line l;
    for (uint32_t rank = 0; rest.n > 0; rank++, text += l.left.n + l.right.n)
        if (!next_line(&l, &rest))
            return tf_fail(err, "merge %u: not two symbols", (unsigned)rank + 1);
        else if (add_merge(m, &l, rank, codes, text, err) != 0)
            return tf_context(err, "merge %u", (unsigned)rank + 1);
    return 0;
}

int tf_bpe_merges_new(struct tf_bpe_merges *m, const struct tf_bpe_codes *codes, struct tf_err *err)
{
    size_t n = 0;
    *m = (struct tf_bpe_merges){0};
    for (size_t i = 0; i < codes->n; i++)
        n += codes->lines[i] == '\n';
    if (n > TF_MAX_PIECES)
        return tf_fail(err, "%zu merges, at most %zu", n, TF_MAX_PIECES);
    if (tf_utf8_span(codes->lines, codes->n) != codes->n)
        return tf_fail(err, "codes that are not UTF-8");
    m->slots = tf_table_slots(n + 1);
    m->v = tf_xcalloc(m->slots, sizeof *m->v);
    for (size_t i = 0; i < m->slots; i++)
        m->v[i].left = TF_NO_TEXT;
    m->key = tf_table_key();
    m->text = tf_xmalloc(codes->n + 1);
    if (add_lines(m, codes, err) == 0)
        return 0;
    tf_bpe_merges_release(m);
    return -1;
}

void tf_bpe_merges_release(struct tf_bpe_merges *m)
{
    tf_text_table_release(&m->symbols);
    free(m->v);
    free(m->text);
    *m = (struct tf_bpe_merges){0};
}

int tf_bpe_codes_check(const struct tf_bpe_codes *codes, struct tf_err *err)
{
    struct tf_bpe_merges m;
    if (tf_bpe_merges_new(&m, codes, err) != 0)
        return -1;
    tf_bpe_merges_release(&m);
    return 0;
}
