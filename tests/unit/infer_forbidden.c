/* Words that no output has: a search with tf_forbidden_mask against a beam search that is written
 * out over whole texts, which looks through the text of each candidate. Pieces, phrases and
 * log-probabilities are random. */
/* tags: no-emulator */
#include "../harness/hypotheses.h"
#include "../harness/tap.h"
#include "../harness/temp.h"
#include "base/rng.h"
#include "infer/forbidden_private.h"
#include "ops/registry.h"
#include "text/sp_proto_private.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { CASES = 1000, V = 16, FIRST = 4, EOS = 3, K = 4, LIMIT = 7, MAX_TEXT = 128, PHRASES = 16 };
enum { BYTES = 3 }; /* the last pieces, of which two spell \u00e9 or \u00c9 */

static char pieces[V][16];
static char phrases[PHRASES][16];
static struct hash_model model;

/* ---- the naive search ---- */

static bool letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (unsigned char)c >= 0x80;
}

/* The byte at s[i] in lower case. */
static char low(const char *s, size_t i)
{
    const char c = s[i];
    if (i > 0 && memcmp(s + i - 1, "\u00c9", 2) == 0)
        return "\u00e9"[1];
    return (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

static bool has_phrase(const char *text, const char *phrase)
{
    const size_t n = strlen(text), p = strlen(phrase);
    bool any_case = true;
    for (size_t i = 0; i < p; i++)
        any_case &= low(phrase, i) == phrase[i];
    for (size_t at = 0; at + p <= n; at++) {
        bool same = true;
        for (size_t i = 0; i < p; i++)
            same &= phrase[i] == (any_case ? low(text, at + i) : text[at + i]);
        if (same && !(at > 0 && letter(text[at - 1]) && letter(phrase[0])) &&
            !(at + p < n && letter(text[at + p]) && letter(phrase[p - 1])))
            return true;
    }
    return false;
}

static bool allowed(const struct hyp *h, uint32_t v)
{
    char text[MAX_TEXT] = "";
    for (size_t i = 0; i <= h->n; i++)
        strcat(text, pieces[i < h->n ? h->ids[i] : v]);
    for (size_t i = 0; i < PHRASES; i++)
        if (has_phrase(text, phrases[i]))
            return false;
    return true;
}

static struct hyp naive(void)
{
    static struct cand c[K * V];
    struct hyp live[K], next[K], best = {.logp = -INFINITY};
    size_t n = 1;
    live[0] = (struct hyp){.n = 0};
    for (size_t t = 0; n > 0; t++) {
        size_t m = 0, k = 0;
        for (size_t row = 0; row < n; row++)
            for (uint32_t v = EOS; v < V; v++)
                if (t == LIMIT ? v == EOS : v == EOS || allowed(&live[row], v)) {
                    const double x = (double)hash_logp(&model, 0, live[row].ids, t, v);
                    c[m++] = (struct cand){live[row].logp + x, x, row, v};
                }
        qsort(c, m, sizeof *c, by_rule);
        for (size_t j = 0; j < m && j < 2 * K; j++) {
            const struct hyp h = continued(&live[c[j].row], &c[j], c[j].id == EOS);
            if (c[j].id == EOS && h.logp > best.logp)
                best = h;
            else if (c[j].id != EOS && k < K)
                next[k++] = h;
        }
        memcpy(live, next, sizeof live);
        n = k;
    }
    return best;
}

/* ---- the tools' search ---- */

static void add_letter(char *s, struct tf_rng *r)
{
    static const char *const letters[] = {"a", "b", "A", "\u00e9", "\u00c9"};
    strcat(s, letters[tf_rng_below(r, 5)]);
}

static void make_case(struct tf_rng *r)
{
    static const char *const starts[] = {TF_SPACE, "", "", ",", TF_SPACE "("};
    static const char *const bytes[BYTES] = {"\xc3", "\xa9", "\x89"};
    FILE *f = fopen(temp_path("words"), "w");
    for (size_t i = 0; i < V; i++) {
        const char *start = i < FIRST ? "" : starts[tf_rng_below(r, 5)];
        size_t len = i < FIRST ? 0 : (*start == 0) + tf_rng_below(r, 3);
        strcpy(pieces[i], start[0] == ',' ? "," : start[0] == 0 ? "" : start[3] ? " (" : " ");
        while (len-- > 0)
            add_letter(pieces[i], r);
        if (i >= V - BYTES)
            strcpy(pieces[i], bytes[i - (V - BYTES)]);
    }
    for (size_t i = 0; i < PHRASES; i++) {
        const size_t words = 1 + tf_rng_below(r, 2);
        phrases[i][0] = 0;
        for (size_t w = 0; w < words; w++) {
            if (w > 0)
                strcat(phrases[i], tf_rng_below(r, 2) ? " " : ",");
            for (size_t len = 1 + tf_rng_below(r, 2); len-- > 0;)
                add_letter(phrases[i], r);
        }
        if (i == 0)
            strcpy(phrases[i], "\u00e9");
        fprintf(f, "%s%s\n", i % 2 ? "  " : "", phrases[i]);
    }
    fclose(f);
    model = (struct hash_model){.seed = tf_rng_u64(r), .copies = 1};
}

/* The pieces as a .model file; those before FIRST are control pieces. */
static void make_vocab(struct tf_buf *out)
{
    struct tf_buf work = {0}, text = {0};
    for (size_t i = 0; i < V; i++) {
        tf_buf_clear(&text);
        if (i < FIRST)
            tf_buf_printf(&text, "<%zu>", i);
        if (i >= V - BYTES)
            tf_buf_printf(&text, "<0x%02X>", (unsigned char)pieces[i][0]);
        for (const char *s = pieces[i]; *s && i < V - BYTES; s++)
            if (*s == ' ')
                tf_buf_str(&text, TF_SPACE);
            else
                tf_buf_byte(&text, (unsigned char)*s);
        const struct tf_proto_piece p = {.text = {text.p, text.len},
                                         .type = i < FIRST       ? TF_PIECE_CONTROL
                                                 : i < V - BYTES ? TF_PIECE_NORMAL
                                                                 : TF_PIECE_BYTE};
        tf_proto_put_piece(out, &work, TF_PROTO_PIECE, "", &p);
    }
    tf_buf_release(&work);
    tf_buf_release(&text);
}

static bool one_case(const struct hyp *want, const struct tf_backend *be, struct tf_ctx *ctx)
{
    struct tf_err err = {0};
    struct tf_buf vocab = {0};
    make_vocab(&vocab);
    struct tf_ensemble m = {.name = (char *)(uintptr_t) "m",
                            .vocab = vocab.p,
                            .vocab_n = vocab.len,
                            .target_vocab = {vocab.p, vocab.len}};
    m.inputs = tf_value_map();
    struct tf_forbidden f = {0};
    must(tf_forbidden_read(&f, temp_path("words"), &m, &err), &err);
    const struct tf_search_opts o = {
        .V = V, .K = K, .N = 1, .start = 2, .eos = EOS, .n_ban = 3, .ban = {0, 1, 2}};
    struct tf_search q;
    tf_search_init(&q, &o, be, ctx);
    const uint32_t off[] = {0, 1}, limit = LIMIT;
    const struct tf_search_group g = {.n = 1, .src_off = off, .limit = &limit};
    must(tf_search_start(&q, &g, &err), &err);
    float lp[K * V];
    while (q.rows > 0) {
        fill_logp(lp, &model, &q);
        tf_forbidden_mask(&f, &q, lp);
        be->search_step(ctx, &q, lp);
        must(tf_search_poll(&q, false, &err), &err);
    }
    must(tf_search_fetch(&q, &err), &err);
    const struct tf_search_hyp got = tf_search_result(&q, 0, 0);
    uint32_t ids[LIMIT + 1];
    tf_search_trace(&q, 0, 0, ids, NULL);
    const bool same = got.n == want->n && got.logp == want->logp &&
                      memcmp(ids, want->ids, got.n * sizeof *ids) == 0;
    tf_search_release(&q);
    tf_forbidden_release(&f);
    tf_arena_release(&m.arena);
    tf_buf_release(&vocab);
    return same;
}

int main(void)
{
    struct tf_err err = {0};
    const struct tf_backend *be = tf_backend_find("cpu", NULL, TF_USE_DECODING, NULL, &err);
    const struct tf_ctx_opts open = {.threads = 1};
    struct tf_ctx *ctx = be->open(&open, &err);
    struct tf_rng r = tf_rng_new(58, 0);
    int same = 0, changed = 0;
    for (int i = 0; i < CASES; i++) {
        make_case(&r);
        const struct hyp want = naive();
        same += one_case(&want, be, ctx);
        for (size_t k = 0; k < PHRASES; k++)
            strcpy(phrases[k], "#");
        changed += want.logp != naive().logp;
    }
    is_int(same, CASES, "the outputs of a search that looks through each text");
    ok(changed > CASES / 4, "in %d of %d cases words are forbidden that would come", changed,
       CASES);
    be->close(ctx);
    return done();
}
