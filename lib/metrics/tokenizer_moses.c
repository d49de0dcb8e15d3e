/* tokenizer_moses.c - one pass over a line of code points for each substitution of tokenizer.perl.
 * Repeated spaces between words stay until the last pass: its rule for full stops looks at the next
 * word, which may be an empty one. */
#include "metrics/tokenizer_moses.h"
#include "base/memory.h"
#include <stdlib.h>
#include <string.h>

const char *const tf_moses_langs[] = {"en", "de", "fr", NULL};

enum { DOTS = 0x200000 }; /* DOTS + k: a run of k full stops, which is one word */

void tf_moses_release(struct tf_moses *m)
{
    free(m->a.v);
    free(m->b.v);
    tf_buf_release(&m->text);
    *m = (struct tf_moses){0};
}

static void push_code(struct tf_codes *c, uint32_t x)
{
    TF_GROW(c->v, c->n, c->cap);
    c->v[c->n++] = x;
}

/* Make the result of a pass the input of the next one. */
static void swap_texts(struct tf_moses *m)
{
    struct tf_codes old = m->a;
    m->a = m->b;
    m->b = old;
    m->b.n = 0;
}

static bool is_alpha(uint32_t c)
{
    return c < 0x110000 && (tf_uc_letter(c) & TF_UC_ALPHABETIC);
}

static bool not_alpha(uint32_t c)
{
    return !is_alpha(c);
}

static bool is_number(uint32_t c)
{
    return c < 0x110000 && tf_uc_general(c) == TF_UC_NUMBER;
}

static bool not_alpha_number(uint32_t c)
{
    return !is_alpha(c) && !is_number(c);
}

static bool is_s(uint32_t c)
{
    return c == 's';
}

/* The code points of the line: white space as single spaces, none at the ends, no control
 * characters. */
static void decode(struct tf_moses *m, struct tf_text line)
{
    int len;
    bool space = false;
    m->a.n = m->b.n = 0;
    for (size_t i = 0; i < line.n; i += (size_t)len) {
        uint32_t c = tf_utf8_get(line.p + i, &len);
        if (tf_uc_white(c)) {
            space = true;
        } else if (c >= 0x20) {
            if (space && m->a.n)
                push_code(&m->a, ' ');
            space = false;
            push_code(&m->a, c);
        }
    }
}

static void special(struct tf_moses *m)
{
    for (size_t i = 0; i < m->a.n; i++) {
        uint32_t c = m->a.v[i];
        bool word = tf_uc_alphanumeric(c) || c == ' ' || c == '.' || c == '\'' || c == '`' ||
                    c == ',' || c == '-';
        if (!word)
            push_code(&m->b, ' ');
        push_code(&m->b, c);
        if (!word)
            push_code(&m->b, ' ');
    }
    swap_texts(m);
}

static void dots(struct tf_moses *m)
{
    for (size_t i = 0, k; i < m->a.n; i += k) {
        for (k = 0; i + k < m->a.n && m->a.v[i + k] == '.' && k < DOTS / 2; k++)
            continue;
        if (k < 2) {
            push_code(&m->b, m->a.v[i]);
            k = 1;
            continue;
        }
        push_code(&m->b, ' ');
        push_code(&m->b, DOTS + (uint32_t)k);
        if (i + k < m->a.n)
            push_code(&m->b, ' ');
    }
    swap_texts(m);
}

static void commas(struct tf_moses *m)
{
    for (size_t i = 0; i < m->a.n; i++) {
        push_code(&m->b, m->a.v[i]);
        if (!is_number(m->a.v[i]) && i + 1 < m->a.n && m->a.v[i + 1] == ',') {
            push_code(&m->b, ' ');
            push_code(&m->b, ',');
            push_code(&m->b, ' ');
            i++;
        }
    }
    swap_texts(m);
    for (size_t i = 0; i < m->a.n; i++) {
        if (m->a.v[i] == ',' && i + 1 < m->a.n && !is_number(m->a.v[i + 1])) {
            push_code(&m->b, ' ');
            push_code(&m->b, ',');
            push_code(&m->b, ' ');
            push_code(&m->b, m->a.v[++i]);
        } else {
            push_code(&m->b, m->a.v[i]);
        }
    }
    swap_texts(m);
    size_t n = m->a.n;
    if (n >= 2 && m->a.v[n - 1] == ',' && is_number(m->a.v[n - 2])) {
        m->a.v[n - 1] = ' ';
        push_code(&m->a, ',');
    }
}

/* Put a space before or after each apostrophe between two characters of the given kinds. */
static void apostrophe(struct tf_moses *m, bool (*left)(uint32_t), bool (*right)(uint32_t),
                       bool before, bool after)
{
    for (size_t i = 0; i < m->a.n; i++) {
        push_code(&m->b, m->a.v[i]);
        if (i + 2 < m->a.n && m->a.v[i + 1] == '\'' && left(m->a.v[i]) && right(m->a.v[i + 2])) {
            if (before)
                push_code(&m->b, ' ');
            push_code(&m->b, '\'');
            if (after)
                push_code(&m->b, ' ');
            push_code(&m->b, m->a.v[i + 2]);
            i += 2;
        }
    }
    swap_texts(m);
}

static void apostrophes(struct tf_moses *m)
{
    if (m->lang == TF_MOSES_DE) {
        for (size_t i = 0; i < m->a.n; i++) {
            bool is = m->a.v[i] == '\'';
            if (is)
                push_code(&m->b, ' ');
            push_code(&m->b, m->a.v[i]);
            if (is)
                push_code(&m->b, ' ');
        }
        swap_texts(m);
        return;
    }
    apostrophe(m, not_alpha, not_alpha, true, true);
    apostrophe(m, m->lang == TF_MOSES_EN ? not_alpha_number : not_alpha, is_alpha, true, true);
    apostrophe(m, is_alpha, not_alpha, true, true);
    apostrophe(m, is_alpha, is_alpha, m->lang == TF_MOSES_EN, m->lang == TF_MOSES_FR);
    if (m->lang == TF_MOSES_EN)
        apostrophe(m, is_number, is_s, true, false);
}

/* Whether the full stop at the end of the word v[0 .. n) stays part of it. next: the character
 * after the space that follows the word. */
static bool keeps_stop(struct tf_moses *m, const uint32_t *v, size_t n, uint32_t next)
{
    bool dot = false, letter = false;
    tf_buf_clear(&m->text);
    for (size_t i = 0; i + 1 < n; i++) {
        dot |= v[i] == '.';
        letter |= is_alpha(v[i]);
        if (v[i] < 0x110000)
            tf_buf_char(&m->text, v[i]);
    }
    if ((dot && letter) || (next < 0x110000 && (tf_uc_letter(next) & TF_UC_LOWERCASE)))
        return true;
    return tf_moses_keeps_stop(m->prefixes, m->text.p != NULL ? m->text.p : "",
                               next >= '0' && next <= '9');
}

static void stops(struct tf_moses *m)
{
    size_t last = m->a.n; /* the end of the last word */
    while (last && m->a.v[last - 1] == ' ')
        last--;
    for (size_t i = 0, end; i < last; i = end + 1) {
        for (end = i; end < last && m->a.v[end] != ' '; end++)
            continue;
        size_t n = end - i;
        bool split = n > 1 && m->a.v[end - 1] == '.' &&
                     (end == last || !keeps_stop(m, m->a.v + i, n, m->a.v[end + 1]));
        if (n && m->b.n)
            push_code(&m->b, ' ');
        for (size_t k = i; k < end; k++) {
            if (split && k + 1 == end)
                push_code(&m->b, ' ');
            push_code(&m->b, m->a.v[k]);
        }
    }
    swap_texts(m);
    size_t n = m->a.n;
    if (n >= 2 && m->a.v[n - 2] == '.' && m->a.v[n - 1] == '\'') {
        m->a.n -= 2;
        push_code(&m->a, ' ');
        push_code(&m->a, '.');
        push_code(&m->a, ' ');
        push_code(&m->a, '\'');
    }
}

static void put_char(struct tf_buf *out, uint32_t c)
{
    static const char *const entities[][2] = {{"&", "&amp;"}, {"|", "&#124;"}, {"<", "&lt;"},
                                              {">", "&gt;"},  {"'", "&apos;"}, {"\"", "&quot;"},
                                              {"[", "&#91;"}, {"]", "&#93;"}};
    if (c > DOTS) {
        for (c -= DOTS; c; c--)
            tf_buf_byte(out, '.');
        return;
    }
    for (size_t i = 0; i < sizeof entities / sizeof entities[0]; i++)
        if (c == (unsigned char)entities[i][0][0]) {
            tf_buf_str(out, entities[i][1]);
            return;
        }
    tf_buf_char(out, c);
}

static bool blank(struct tf_text line)
{
    int len;
    for (size_t i = 0; i < line.n; i += (size_t)len)
        if (!tf_uc_white(tf_utf8_get(line.p + i, &len)))
            return false;
    return true;
}

void tf_moses_tokenize(struct tf_moses *m, struct tf_buf *out, struct tf_text line)
{
    if (blank(line)) { /* stays as it is */
        tf_buf_add(out, line.p, line.n);
        return;
    }
    decode(m, line);
    special(m);
    dots(m);
    commas(m);
    apostrophes(m);
    stops(m);
    for (size_t i = 0; i < m->a.n; i++)
        put_char(out, m->a.v[i]);
}

void tf_moses_punctuation(struct tf_buf *out, struct tf_text line, bool opening)
{
    static const char *const marks[][2] = {{"，", ","},  {"、", ","},  {"”", "\""},  {"“", "\""},
                                           {"∶", ":"},   {"：", ":"},  {"？", "?"},  {"《", "\""},
                                           {"》", "\""}, {"）", ")"},  {"！", "!"},  {"（", "("},
                                           {"；", ";"},  {"」", "\""}, {"「", "\""}, {"～", "~"},
                                           {"’", "'"},   {"…", "..."}, {"━", "-"},   {"〈", "<"},
                                           {"〉", ">"},  {"【", "["},  {"】", "]"},  {"％", "%"},
                                           {"。", ". "}, {"．", ". "}, {"„", "\""},  {"‚", "'"},
                                           {"‘", "'"}};
    const size_t n = sizeof marks / sizeof marks[0] - (opening ? 0 : 3);
    int len;
    for (size_t i = 0; i < line.n; i += (size_t)len) {
        uint32_t c = tf_utf8_get(line.p + i, &len);
        const char *to = NULL;
        for (size_t k = 0; len == 3 && k < n; k++)
            if (memcmp(line.p + i, marks[k][0], 3) == 0)
                to = marks[k][1];
        if (c >= 0xFF10 && c <= 0xFF19)
            tf_buf_byte(out, (unsigned char)('0' + (c - 0xFF10)));
        else if (to != NULL)
            tf_buf_str(out, to);
        else
            tf_buf_add(out, line.p + i, (size_t)len);
        if (c == 0x3002 || c == 0xFF0E)
            while (i + (size_t)len < line.n && line.p[i + (size_t)len] == ' ')
                len++;
    }
}

void tf_moses_compounds(struct tf_buf *out, struct tf_text line)
{
    const char *p = line.p;
    for (size_t i = 0; i < line.n;) {
        if (i + 2 < line.n && p[i + 1] == '-' && !tf_ascii_space(p[i]) &&
            !tf_ascii_space(p[i + 2])) {
            tf_buf_byte(out, (unsigned char)p[i]);
            tf_buf_str(out, " ##AT##-##AT## ");
            tf_buf_byte(out, (unsigned char)p[i + 2]);
            i += 3;
        } else {
            tf_buf_byte(out, (unsigned char)p[i++]);
        }
    }
}

void tf_tokenize_ascii(struct tf_tokens *t, struct tf_text line)
{
    struct tf_text word;
    t->n = 0;
    while (tf_text_word(&line, &word))
        tf_tokens_add(t, word.p, word.n);
}
