/* A vocabulary with the ids of another list of pieces: text is segmented as before, into the new
 * ids, and comes back; pieces that the model does not have. */
#include "../harness/tap.h"
#include "text/sp_check.h"
#include "text/sp_private.h"
#include "text/sp_renumber.h"

#include <stdlib.h>
#include <string.h>

static const struct tf_sp_side source = {false, NULL};

static const char *const lines[] = {
    "a line of words",      "words of a line, and a line of more words", "lines and words",
    "some more words here", "and here a word, there a line",             "more, and some more",
};
enum { N_LINES = sizeof lines / sizeof *lines, SIZE = 48 };

static int next(void *arg, const char **text, size_t *n, struct tf_err *err)
{
    int *i = arg;
    (void)err;
    if (*i == 20 * N_LINES)
        return 0;
    *text = lines[(*i)++ % N_LINES];
    *n = strlen(*text);
    return 1;
}

static void train(struct tf_buf *model, bool bpe)
{
    struct tf_err err = {0};
    int i = 0;
    const struct tf_sp_train t = {.size = SIZE,
                                  .bpe = bpe,
                                  .coverage = 1,
                                  .normalization = "nmt_nfkc",
                                  .max_bytes = 4192,
                                  .next = next,
                                  .arg = &i};
    ok(tf_sp_train(&t, model, &err) == 0, "a vocabulary: %s", err.msg);
}

static struct tf_sp *load(const struct tf_buf *model)
{
    struct tf_err err = {0};
    struct tf_sp *sp = NULL;
    ok(tf_sp_load(&sp, model->p, model->len, &err) == 0, "it loads: %s", err.msg);
    return sp;
}

/* The id that a piece of the old model gets. */
static uint32_t moved(uint32_t id, size_t n)
{
    return (uint32_t)(n - 1 - id);
}

static void permuted(bool bpe)
{
    struct tf_err err = {0};
    struct tf_arena a = {0};
    struct tf_buf model = {0}, other = {0}, out = {0};
    struct tf_ids was = {0}, is = {0};
    const char *const *texts, *turned[SIZE] = {0};
    size_t n;
    train(&model, bpe);
    ok(tf_sp_texts(&a, model.p, model.len, &texts, &n, &err) == 0, "its pieces: %s", err.msg);
    ok(n > 20 && n <= SIZE, "%zu of them", n);
    for (uint32_t i = 0; i < n; i++)
        turned[moved(i, n)] = texts[i];
    ok(tf_sp_renumber(&other, model.p, model.len, turned, n, &source, &err) == 0, "renumbered: %s",
       err.msg);
    struct tf_sp *one = load(&model), *two = load(&other);
    bool same = true, back = true;
    for (int l = 0; l < N_LINES; l++) {
        was.n = is.n = out.len = 0;
        same &= tf_sp_encode(one, lines[l], strlen(lines[l]), &was, &err) == 0 &&
                tf_sp_encode(two, lines[l], strlen(lines[l]), &is, &err) == 0 && was.n == is.n;
        for (size_t i = 0; same && i < was.n; i++)
            same = moved(was.v[i], n) == is.v[i];
        back &= tf_sp_decode(two, is.v, is.n, &out, &err) == 0 && out.len == strlen(lines[l]) &&
                memcmp(out.p, lines[l], out.len) == 0;
    }
    ok(same, "%s: the same segmentation, in the new ids", bpe ? "BPE" : "unigram");
    ok(back, "%s: and back to text", bpe ? "BPE" : "unigram");
    tf_sp_free(one);
    tf_sp_free(two);
    tf_ids_release(&was);
    tf_ids_release(&is);
    tf_buf_release(&model);
    tf_buf_release(&other);
    tf_buf_release(&out);
    tf_arena_release(&a);
}

static void pieces_it_has_not(void)
{
    static const char *const pieces[] = {"\xe2\x96\x81", "</s>", "w", "<unk>", "\xe2\x82\xac",
                                         ">>fra<<", "r", "zebra", "d", "s", "o", "<pad>"};
    const size_t n = sizeof pieces / sizeof *pieces;
    struct tf_err err = {0};
    struct tf_buf model = {0}, other = {0}, out = {0};
    struct tf_ids ids = {0};
    train(&model, false);
    ok(tf_sp_renumber(&other, model.p, model.len, pieces, n, &source, &err) == 0, "a list: %s",
       err.msg);
    struct tf_sp *sp = load(&other);
    static const char text[] = ">>fra<< word \xe2\x82\xac zebra";
    static const uint32_t want[] = {5, 0, 2, 10, 6, 8, 0, 4, 0, 3, 6, 3};
    ok(tf_sp_encode(sp, text, strlen(text), &ids, &err) == 0, "encoded");
    bool same = ids.n == sizeof want / sizeof *want;
    for (size_t i = 0; same && i < ids.n; i++)
        same = ids.v[i] == want[i];
    ok(same, "a tag, a character without a score, and what nothing becomes: unknown");
    static const uint32_t unused[] = {7};
    ok(tf_sp_decode(sp, unused, 1, &out, &err) == 0 && out.len == 5 &&
           memcmp(out.p, "zebra", 5) == 0,
       "a piece that no text becomes has a text");
    tf_sp_free(sp);
    const char *const twice[] = {"<unk>", "a", "a"}, *const none[] = {"a"};
    is_int(tf_sp_renumber(&other, model.p, model.len, twice, 3, &source, &err), -1,
           "a piece twice");
    is_str(err.msg, "piece 'a' is there twice", "is refused");
    is_int(tf_sp_renumber(&other, model.p, model.len, none, 1, &source, &err), -1, "without <unk>");
    is_str(err.msg, "no piece <unk>", "too");
    is_int(tf_sp_renumber(&other, "x", 1, pieces, n, &source, &err), -1, "and what is no model");
    tf_ids_release(&ids);
    tf_buf_release(&model);
    tf_buf_release(&other);
    tf_buf_release(&out);
}

int main(void)
{
    permuted(false);
    permuted(true);
    pieces_it_has_not();
    return done();
}
