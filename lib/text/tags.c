/* tags.c - see tags.h. */
#include "text/tags.h"
#include "base/memory.h"
#include "base/order.h"
#include "stream/header.h"
#include "text/sp_proto_private.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_NAMED = 3, LONGEST = TF_LANG_MAX + 4 /* bytes of a tag */ };

static const char lower[] = "abcdefghijklmnopqrstuvwxyz", upper[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

/* ---- forms ---- */

/* The n bytes of a language in >>...<<: letters, digits and what joins them. */
static bool is_language(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)s[i]) && strchr("_-@.+", s[i]) == NULL)
            return false;
    return n > 0 && isalnum((unsigned char)s[0]);
}

bool tf_is_tag(const char *text)
{
    const size_t n = strlen(text), word = strspn(text, lower);
    if (n > 4 && strncmp(text, ">>", 2) == 0 && strcmp(text + n - 2, "<<") == 0)
        return is_language(text + 2, n - 4);
    if (n > 4 && strncmp(text, "__", 2) == 0 && strcmp(text + n - 2, "__") == 0)
        return strspn(text + 2, lower) == n - 4 && n <= 7;
    if (n == 5 && word == 2 && text[2] == '_')
        return strspn(text + 3, upper) == 2;
    return n == 8 && word == 3 && text[3] == '_' && strspn(text + 4, upper) == 1 &&
           strspn(text + 5, lower) == 3;
}

/* Is a text with such a tag about a language, where the model has it or not? <2fr> is T5's. */
static bool is_label(const char *word, size_t n)
{
    return tf_is_tag(word) || (n > 3 && strncmp(word, "<2", 2) == 0 && word[n - 1] == '>' &&
                               is_language(word + 2, n - 3));
}

/* word [LONGEST + 1] = the tag that a text begins with; its length, or 0. */
static size_t take_tag(char *word, const char *s, size_t n)
{
    size_t len = 0;
    while (len < n && len <= LONGEST && strchr(" \t\n", s[len]) == NULL &&
           (len < 4 || *s != '>' || memcmp(s + len - 2, "<<", 2) != 0))
        len++;
    if (len > LONGEST)
        return 0;
    memcpy(word, s, len);
    word[len] = 0;
    return is_label(word, len) ? len : 0;
}

size_t tf_tag_length(const char *s, size_t n)
{
    char word[LONGEST + 1];
    return take_tag(word, s, n);
}

/* ---- a vocabulary ---- */

/* Add a text if it is a tag. */
static void add_tag(struct tf_tags *t, size_t *cap, struct tf_text s)
{
    char text[LONGEST + 1];
    if (s.n == 0 || s.n > LONGEST)
        return;
    memcpy(text, s.p, s.n);
    text[s.n] = 0;
    if (strlen(text) != s.n || !tf_is_tag(text))
        return;
    TF_GROW(t->v, t->n, *cap);
    t->v[t->n++] = tf_arena_strndup(&t->mem, text, s.n);
}

void tf_tags_read(struct tf_tags *t, const void *bytes, size_t n)
{
    struct tf_proto_piece p;
    struct tf_proto_added token;
    size_t cap = 0, unlike = 0;
    *t = (struct tf_tags){.n = 0};
    for (struct tf_span left = {bytes, n}; tf_proto_piece(&left, &p);) {
        const size_t space = tf_piece_space(p.text.p, p.text.n);
        if (p.type == TF_PIECE_USER_DEFINED || p.type == TF_PIECE_CONTROL)
            add_tag(t, &cap, (struct tf_text){p.text.p + space, p.text.n - space});
    }
    for (struct tf_span left = {bytes, n}; tf_proto_added(&left, &token);)
        if (token.flags & TF_ADDED_FIRST) {
            add_tag(t, &cap, token.text);
            t->first = true;
        }
    if (t->n > 1)
        qsort(t->v, t->n, sizeof *t->v, tf_order_strings);
    for (size_t i = 0; i < t->n; i++) /* a piece may be such a token, too */
        if (unlike == 0 || strcmp(t->v[i], t->v[unlike - 1]) != 0)
            t->v[unlike++] = t->v[i];
    t->n = unlike;
    t->of_text = t->n > 0 && t->v[0][0] == '>';
}

void tf_tags_release(struct tf_tags *t)
{
    tf_arena_release(&t->mem);
    free(t->v);
    *t = (struct tf_tags){.n = 0};
}

/* ---- lines ---- */

enum tf_tag tf_tags_begin(const struct tf_tags *t, const char *line, size_t n, const char **tag,
                          size_t *tag_n)
{
    char word[LONGEST + 1];
    size_t at = 0;
    while (at < n && line[at] == ' ' && !t->first)
        at++;
    *tag = line + at;
    *tag_n = take_tag(word, line + at, n - at);
    if (*tag_n == 0)
        return TF_TAG_NONE;
    const char *key = word;
    const bool known =
        t->n > 0 && bsearch(&key, t->v, t->n, sizeof *t->v, tf_order_strings) != NULL;
    return known ? TF_TAG_KNOWN : TF_TAG_UNKNOWN;
}

/* ---- names ---- */

/* Bytes in which the languages of two tags agree at the start: fr in "fr", >>fra<<, fra_Latn. */
static size_t agree(const char *a, const char *b)
{
    size_t n = 0;
    a += strspn(a, ">_");
    b += strspn(b, ">_");
    while (isalnum((unsigned char)a[n]) &&
           tolower((unsigned char)a[n]) == tolower((unsigned char)b[n]))
        n++;
    return n;
}

void tf_tags_suggest(struct tf_buf *out, const struct tf_tags *t, const char *text)
{
    size_t best = 0, named = 0;
    for (size_t i = 0; i < t->n; i++)
        if (agree(text, t->v[i]) > best)
            best = agree(text, t->v[i]);
    const bool near = best >= 2;
    for (size_t i = 0; i < t->n && named < MOST_NAMED; i++)
        if (!near || agree(text, t->v[i]) == best) {
            tf_buf_str(out, named > 0 ? ", " : near ? "; did you mean " : "; its tags are ");
            tf_buf_str(out, t->v[i]);
            named++;
        }
    if (near)
        tf_buf_byte(out, '?');
    else if (t->n > MOST_NAMED)
        tf_buf_printf(out, ", ... (tf-info lists all %zu)", t->n);
}

static void push_text(struct tf_arena *a, struct tf_value *list, struct tf_text text)
{
    if (list->n < TF_MAX_VALUES / 2)
        tf_value_push(a, list, tf_value_str(a, tf_arena_strndup(a, text.p, text.n)));
}

/* Those of version 0.1 are pieces without an id. */
static void describe_added(struct tf_arena *a, struct tf_value *info, struct tf_span model)
{
    struct tf_value list = tf_value_array();
    struct tf_proto_added token;
    struct tf_proto_piece piece;
    for (struct tf_span left = model; tf_proto_added(&left, &token);)
        if ((token.flags & TF_ADDED_FIRST) == 0)
            push_text(a, &list, token.text);
    for (struct tf_span left = model; tf_proto_unlisted(&left, &piece);)
        if (piece.stands_for >= 0)
            push_text(a, &list, piece.text);
    if (list.n > 0)
        tf_value_put(a, info, "added_tokens", list);
}

void tf_tags_describe(struct tf_arena *a, struct tf_value *info, const void *bytes, size_t n)
{
    struct tf_tags t;
    struct tf_value list = tf_value_array();
    tf_tags_read(&t, bytes, n);
    for (size_t i = 0; i < t.n && i < TF_MAX_VALUES / 2; i++)
        tf_value_push(a, &list, tf_value_str(a, t.v[i]));
    if (list.n > 0)
        tf_value_put(a, info, "tags", list);
    tf_tags_release(&t);
    describe_added(a, info, (struct tf_span){bytes, n});
}
