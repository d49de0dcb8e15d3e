/* Text is cut at added tokens by the rules of transformers and of tokenizers
 * (tests/cli/added_tokens.bats compares ids of more texts with theirs). */
#include "../harness/tap.h"
#include "base/buf.h"
#include "base/err.h"
#include "text/added.h"
#include "text/sp_build.h"
#include "text/sp_check.h"
#include "text/sp_proto_private.h"

#include <string.h>

enum { SPACE = 1, FIRST = 2, N = 7 };

/* Texts in brackets, ids without. */
static int put(void *arg, const char *p, size_t n, int64_t id, struct tf_err *err)
{
    (void)err;
    if (id >= 0)
        tf_buf_printf(arg, "%d", (int)id);
    else
        tf_buf_printf(arg, "[%.*s]", (int)n, p);
    return 0;
}

/* A vocabulary of <a>, 2; <l> and <r>, 3 and 4, that take spaces; w, 5, which stands alone by one
 * of the rules; and <a>x, 6. */
static void make(struct tf_buf *out, unsigned alone, unsigned all)
{
    static const char *const texts[] = {"<a>", "<l>", "<r>", "w", "<a>x"};
    const unsigned flags[] = {0, TF_ADDED_LSTRIP, TF_ADDED_RSTRIP, alone, 0};
    struct tf_buf work = {0};
    tf_sp_build_piece(out, "<unk>", 0, TF_PIECE_UNKNOWN);
    tf_sp_build_piece(out, TF_SPACE, 0, TF_PIECE_NORMAL);
    for (int i = 0; i < N - FIRST; i++) {
        const struct tf_proto_added t = {{texts[i], strlen(texts[i])},
                                         FIRST + i,
                                         TF_ADDED | flags[i] | all};
        tf_proto_put_added(out, &work, &t);
    }
    if (all & TF_ADDED_KEEPS)
        tf_proto_put_number(out, TF_PROTO_ENDS, 1);
    tf_buf_release(&work);
}

static void cut(unsigned alone, unsigned all, const char *const (*cases)[2])
{
    struct tf_err err = {0};
    struct tf_buf bytes = {0}, out = {0};
    struct tf_added *a;
    make(&bytes, alone, all);
    must(tf_added_new(&a, bytes.p, bytes.len, N, &err), &err);
    for (; (*cases)[0] != NULL; cases++) {
        tf_buf_clear(&out);
        must(tf_added_cut(a, (*cases)[0], strlen((*cases)[0]), put, &out, &err), &err);
        tf_buf_byte(&out, 0);
        is_str(out.p, (*cases)[1], "'%s'", (*cases)[0]);
    }
    tf_added_free(a);
    is_int(tf_added_new(&a, bytes.p, bytes.len, N - 1, &err), -1, "an id that is not there");
    is_str(err.msg, "SentencePiece model with an added token whose id is not there", "is refused");
    tf_buf_release(&bytes);
    tf_buf_release(&out);
}

/* A vocabulary with a token of n bytes, `times` times, is refused. */
static void refuses(const char *text, size_t n, int times, const char *why)
{
    struct tf_err err = {0};
    struct tf_buf bytes = {0}, work = {0};
    struct tf_added *a = NULL;
    tf_sp_build_piece(&bytes, "<unk>", 0, TF_PIECE_UNKNOWN);
    const struct tf_proto_added t = {{text, n}, 0, TF_ADDED};
    for (int i = 0; i < times; i++)
        tf_proto_put_added(&bytes, &work, &t);
    ok(tf_sp_check(bytes.p, bytes.len, &err) != 0 ||
           tf_added_new(&a, bytes.p, bytes.len, 1, &err) != 0,
       "is refused");
    is_str(err.msg, why, "and why");
    tf_added_free(a);
    tf_buf_release(&bytes);
    tf_buf_release(&work);
}

int main(void)
{
    struct tf_err err = {0};
    struct tf_added *none;
    struct tf_buf bytes = {0}, out = {0};
    cut(TF_ADDED_ALONE, 0,
        (const char *const[][2]){{"x<a>y", "[x]2[y]"},
                                 {"<a><a>xx", "26[x]"},
                                 {"x  <l> y", "[x]3[ y]"},
                                 {"x <r> \xe3\x80\x80y", "[x ]4[y]"},
                                 {"x w y", "[x ]5[ y]"},
                                 {"xw y", "[xw][ y]"},
                                 {"x wy", "[x ][wy]"},
                                 {"<a>w", "[<a>w]"}, /* the one that it touches is none, too */
                                 {"w<a> y", "[w<a>][ y]"},
                                 {"<r> w", "45"},
                                 {" ", "[ ]"},
                                 {NULL, NULL}});
    cut(TF_ADDED_WORD, TF_ADDED_KEEPS,
        (const char *const[][2]){{"x <a> y ", "[x ]12[ y ]1"},
                                 {"x <l>y", "[x]3[y]"},
                                 {"<a>w, wy w\xc3\xa9", "25[, wy w\xc3\xa9]"},
                                 {"w\xcc\x81 w\xe2\x80\x8d w_", "[w\xcc\x81 w\xe2\x80\x8d w_]"},
                                 {"<a> <a>", "2[ ]12"},
                                 {"eng_Latn <a>", "[eng_Latn ]2"}, /* which brings its space */
                                 {NULL, NULL}});
    cut(0, TF_ADDED_SINGLE,
        (const char *const[][2]){{"x <l>  <l>", "[x]3[  ]3"}, {"<r> x<r>  x", "4[x]4[  x]"},
                                 {NULL, NULL}});
    tf_sp_build_piece(&bytes, "<unk>", 0, TF_PIECE_UNKNOWN);
    must(tf_added_new(&none, bytes.p, bytes.len, 1, &err), &err);
    ok(none == NULL, "a vocabulary without added tokens");
    must(tf_added_cut(none, "x y", 3, put, &out, &err), &err);
    tf_buf_byte(&out, 0);
    is_str(out.p, "[x y]", "leaves a text whole");
    tf_buf_release(&bytes);
    tf_buf_release(&out);
    static char longer[TF_MAX_PIECE + 1];
    memset(longer, 'a', sizeof longer);
    refuses("<a>", 3, 2, "SentencePiece model with an added token that is there twice");
    refuses("\xa9", 1, 1, "SentencePiece model with an added token that is not UTF-8");
    refuses(longer, sizeof longer, 1,
            "SentencePiece model with an added token of 2049 bytes, at most 2048");
    return done();
}
