/* spelling.c - see spelling.h. */
#include "text/spelling.h"
#include "base/utf8.h"
#include "text/bpe_codes.h"
#include "text/normal_private.h"
#include "text/sp_check.h"
#include "text/sp_settings_private.h"
#include "text/unicode.h"

#include <stdlib.h>

static void spell_token(struct tf_buf *out, struct tf_text s, const char *mark, bool inverse)
{
    const size_t space = tf_piece_space(s.p, s.n);
    s = (struct tf_text){s.p + space, s.n - space};
    const bool marked = *mark != 0 && tf_text_ends(s, mark);
    tf_buf_add(out, s.p, s.n - (marked ? strlen(mark) : 0));
    if (marked == inverse)
        tf_buf_byte(out, ' ');
}

/* <0xE2> */
static void spell_byte(struct tf_buf *out, struct tf_text s)
{
    char hex[3] = {0};
    if (s.n != 6)
        return;
    memcpy(hex, s.p + 3, 2);
    tf_buf_byte(out, (unsigned char)strtoul(hex, NULL, 16));
}

static void spell_piece(struct tf_buf *out, struct tf_text s)
{
    for (size_t i = 0, space; i < s.n; i += space > 0 ? space : 1) {
        space = tf_piece_space(s.p + i, s.n - i);
        tf_buf_byte(out, space > 0 ? ' ' : (unsigned char)s.p[i]);
    }
}

int tf_spelling_read(struct tf_spelling *s, struct tf_arena *a, const void *bytes, size_t n,
                     bool lower, struct tf_err *err)
{
    const struct tf_span m = {bytes, n};
    struct tf_proto_piece piece;
    struct tf_buf text = {0}, low = {0};
    if (tf_sp_check(bytes, n, err) != 0)
        return -1;
    const struct tf_sp_settings is = tf_sp_settings_of(bytes, n);
    /* What ends the token of a vocabulary of words that another of its word follows, or with
     * `inverse` all others; NULL: not such a vocabulary; "": each token is a word. */
    const bool inverse = is.codes.end_in_pieces;
    const char *mark = is.codes.lines != NULL ? (inverse ? TF_BPE_END : TF_BPE_CONTINUES)
                       : is.words             ? ""
                                              : NULL;
    *s = (struct tf_spelling){.spaces_follow = mark != NULL || is.space_ends};
    for (struct tf_span left = m; tf_proto_piece(&left, &piece);)
        s->n++;
    s->v = tf_arena_zalloc(a, s->n * sizeof *s->v + 1);
    struct tf_text *to = s->v;
    for (struct tf_span left = m; tf_proto_piece(&left, &piece); to++) {
        struct tf_buf *out = &text;
        tf_buf_clear(&text);
        tf_buf_clear(&low);
        if (piece.type == TF_PIECE_BYTE)
            spell_byte(&text, piece.text);
        else if (piece.type != TF_PIECE_CONTROL && piece.type != TF_PIECE_UNKNOWN && mark != NULL)
            spell_token(&text, piece.text, mark, inverse);
        else if (piece.type != TF_PIECE_CONTROL && piece.type != TF_PIECE_UNKNOWN)
            spell_piece(&text, piece.text);
        else if (piece.type == TF_PIECE_UNKNOWN && mark != NULL)
            tf_buf_byte(&text, ' ');
        if (lower && text.len > 0) {
            tf_lower_part(&low, (struct tf_text){text.p, text.len});
            out = &low;
        }
        *to = (struct tf_text){tf_arena_strndup(a, out->len > 0 ? out->p : "", out->len), out->len};
    }
    tf_buf_release(&text);
    tf_buf_release(&low);
    return 0;
}

void tf_spell_text(struct tf_buf *out, const void *bytes, size_t n, struct tf_text text)
{
    static const struct tf_piece_trie none;
    struct tf_normal rules;
    struct tf_buf normal = {0};
    tf_normal_read(&rules, bytes, n, &none);
    tf_normalise(&rules, text.p, text.n, &normal);
    spell_piece(out, (struct tf_text){normal.p, normal.len});
    tf_buf_release(&normal);
}

struct tf_text tf_plain_phrase(struct tf_arena *a, const char *s, size_t n)
{
    char *to = tf_arena_strndup(a, s, n);
    size_t len = 0;
    for (size_t i = 0; i < n; i++)
        if (!tf_ascii_space(s[i]))
            to[len++] = s[i];
        else if (len > 0 && to[len - 1] != ' ')
            to[len++] = ' ';
    return (struct tf_text){to, len - (len > 0 && to[len - 1] == ' ')};
}

void tf_lower_part(struct tf_buf *out, struct tf_text part)
{
    const size_t from = out->len;
    for (size_t at = 0, n; at < part.n; at += n + 1) {
        n = tf_utf8_span(part.p + at, part.n - at);
        tf_uc_lower(out, part.p + at, n);
        if (at + n < part.n)
            tf_buf_byte(out, (unsigned char)part.p[at + n]);
    }
    for (size_t i = from; i + 1 < out->len; i++)
        if (memcmp(out->p + i, "\u03c2", 2) == 0)
            memcpy(out->p + i, "\u03c3", 2);
}

bool tf_is_lower(struct tf_text s)
{
    struct tf_buf low = {0};
    tf_uc_lower(&low, s.p, s.n);
    const bool same = tf_text_same(s, (struct tf_text){low.p, low.len});
    tf_buf_release(&low);
    return same;
}

/* Is the character of at most n bytes at s part of a word? */
static bool in_word(const char *s, size_t n)
{
    int len;
    if (n == 0)
        return false;
    if (tf_utf8_at(s, n) == 0)
        return true;
    const uint32_t c = tf_utf8_get(s, &len);
    const enum tf_uc_class kind = tf_uc_general(c);
    return !tf_uc_space(c) && kind != TF_UC_PUNCT && kind != TF_UC_SYMBOL;
}

bool tf_word_before(const char *s, size_t at)
{
    size_t last = at;
    if (at == 0)
        return false;
    do
        last--;
    while (last > 0 && at - last < 4 && ((unsigned char)s[last] & 0xc0) == 0x80);
    return tf_utf8_at(s + last, at - last) != at - last || in_word(s + last, at - last);
}

bool tf_word_at(const char *s, size_t n, size_t at)
{
    return in_word(s + at, n - at);
}
