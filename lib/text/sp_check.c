/* sp_check.c - checks of untrusted vocabularies. SentencePiece 0.1 crashes on a piece of a
 * megabyte, since it builds its trie recursively, and reads outside of a malicious normalisation
 * table.
 *
 * Field numbers are those of sentencepiece_model.proto: ModelProto {repeated pieces = 1 {piece = 1,
 * type = 3}; normalizer_spec = 3, denormalizer_spec = 5 {precompiled_charsmap = 2}}. The table is 4
 * bytes of size, that many bytes of a darts-clone trie, and the replacements, each ended by NUL. */
#include "text/sp_check.h"
#include "base/utf8.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct span {
    const uint8_t *p;
    size_t n;
};

enum { NORMAL = 1, USER_DEFINED = 4, BYTE = 6 }; /* types of pieces */

/* Read a number in groups of 7 bits, the low ones first. False if the message is malformed. */
static bool varint(struct span *m, uint64_t *x)
{
    *x = 0;
    for (int shift = 0; shift < 70 && m->n > 0; shift += 7) {
        uint8_t b = *m->p++;
        m->n--;
        *x |= shift < 64 ? (uint64_t)(b & 0x7f) << shift : 0;
        if (!(b & 0x80))
            return true;
    }
    return false;
}

/* Read the next field from the front of *m: its bytes if it has a length, its value if it is a
 * varint. False if the message is malformed. */
static bool field(struct span *m, uint64_t *number, struct span *body, uint64_t *value)
{
    uint64_t key, n;
    *body = (struct span){0};
    *value = 0;
    if (!varint(m, &key))
        return false;
    *number = key >> 3;
    switch (key & 7) {
    case 0:
        return varint(m, value);
    case 1:
        n = 8;
        break;
    case 5:
        n = 4;
        break;
    case 2:
        if (!varint(m, &n))
            return false;
        break;
    default:
        return false;
    }
    if (n > m->n)
        return false;
    if ((key & 7) == 2)
        *body = (struct span){m->p, (size_t)n};
    m->p += n;
    m->n -= (size_t)n;
    return true;
}

static uint32_t unit(struct span trie, size_t i)
{
    const uint8_t *p = trie.p + 4 * i;
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* darts-clone: the offset of the children of a node. */
static size_t offset(uint32_t u)
{
    return (size_t)(u >> 10) << ((u & 1u << 9) >> 6);
}

/* Whether no key leads out of the trie or of the text: visits every node that can be reached from
 * the root. A node is represented by its base: its child for byte c is at base ^ c. */
static bool closed(struct span trie, size_t text)
{
    size_t n = trie.n / 4, top = 0;
    if (n == 0)
        return false;
    uint8_t *seen = calloc(n, 1);
    uint32_t *stack = malloc(n * sizeof *stack);
    bool good = seen != NULL && stack != NULL;
    size_t base = offset(unit(trie, 0));
    for (bool more = good; more;) {
        /* A lookup reads a child before it checks it, so all 256 must be inside. */
        if (base >= n || (base | 0xff) >= n) {
            good = false;
            break;
        }
        for (size_t c = 0; good && c < 256; c++) {
            size_t at = base ^ c;
            uint32_t u = unit(trie, at);
            if ((u & 0x800000ffu) != c)
                continue;
            size_t next = at ^ offset(u);
            if (next >= n || ((u & 0x100) != 0 && (unit(trie, next) & 0x7fffffff) >= text))
                good = false;
            else if (!seen[next]) {
                seen[next] = 1;
                stack[top++] = (uint32_t)next;
            }
        }
        more = good && top > 0;
        if (more)
            base = stack[--top];
    }
    free(seen);
    free(stack);
    return good;
}

static int check_table(struct span t, struct tf_err *err)
{
    if (t.n == 0)
        return 0;
    size_t trie = t.n >= 4 ? unit(t, 0) : 0;
    bool good = t.n > 4 && trie % 4 == 0 && trie < t.n - 4 && t.p[t.n - 1] == 0 &&
                closed((struct span){t.p + 4, trie}, t.n - 4 - trie);
    return good ? 0 : tf_fail(err, "SentencePiece model with a damaged normalisation table");
}

int tf_sp_check(const void *bytes, size_t n, struct tf_err *err)
{
    struct span m = {bytes, n}, body, inner;
    uint64_t number, value;
    size_t pieces = 0;
    while (m.n > 0) {
        if (!field(&m, &number, &body, &value))
            return tf_fail(err, "not a SentencePiece model, or a damaged one");
        if (number != 1 && number != 3 && number != 5)
            continue;
        if (number == 1 && ++pieces > TF_MAX_PIECES)
            return tf_fail(err, "SentencePiece model with more than %zu pieces", TF_MAX_PIECES);
        uint64_t want = number == 1 ? 1 : 2;
        while (body.n > 0) {
            if (!field(&body, &number, &inner, &value))
                return tf_fail(err, "not a SentencePiece model, or a damaged one");
            if (number != want)
                continue;
            if (want == 1 && inner.n > TF_MAX_PIECE)
                return tf_fail(err, "SentencePiece model with a piece of %zu bytes, at most %zu",
                               inner.n, TF_MAX_PIECE);
            if (want == 2 && check_table(inner, err) != 0)
                return -1;
        }
    }
    return 0;
}

static bool is_text(struct span s)
{
    return s.p != NULL && tf_utf8_span((const char *)s.p, s.n) == s.n &&
           memchr(s.p, 0, s.n) == NULL;
}

int tf_sp_texts(struct tf_arena *a, const void *bytes, size_t n, const char *const **texts,
                size_t *n_texts, struct tf_err *err)
{
    struct span m = {bytes, n}, body, inner;
    uint64_t number, value;
    size_t pieces = 0;
    if (tf_sp_check(bytes, n, err) < 0)
        return -1;
    for (struct span left = m; left.n > 0 && field(&left, &number, &body, &value);)
        pieces += number == 1;
    const char **v = tf_arena_zalloc(a, pieces * sizeof *v + 1);
    for (size_t i = 0; m.n > 0 && field(&m, &number, &body, &value);) {
        if (number != 1)
            continue;
        while (body.n > 0 && field(&body, &number, &inner, &value))
            if (number == 1) /* the last of repeated fields counts */
                v[i] = is_text(inner) ? tf_arena_strndup(a, (const char *)inner.p, inner.n) : NULL;
        i++;
    }
    *texts = v;
    *n_texts = pieces;
    return 0;
}

void tf_sp_user_defined(const void *bytes, size_t n, bool *user, size_t size)
{
    struct span m = {bytes, n}, body, inner;
    uint64_t number, value;
    for (size_t i = 0; i < size && m.n > 0 && field(&m, &number, &body, &value);) {
        if (number != 1)
            continue;
        user[i] = false;
        while (body.n > 0 && field(&body, &number, &inner, &value))
            if (number == 3 && value >= NORMAL && value <= BYTE) /* other types are ignored */
                user[i] = value == USER_DEFINED;
        i++;
    }
}
