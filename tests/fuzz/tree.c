/* Trees and sequences of arbitrary bytes. The first byte chooses style, layout, cleaning and a
 * small limit. The output has one line per tree, a linearized tree is restored unchanged, every
 * restored line is a tree over its words, and the scorer accepts all of it. */
#include "base/bad.h"
#include "../harness/memory.h"
#include "tree/evalb.h"
#include "tree/tree_filter.h"

enum { MAX_INPUT = 1 << 12, ROOM = 1 << 19 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static size_t lines(const struct tf_out *out)
{
    size_t count = 0;
    for (size_t i = 0; i < out->len; i++)
        count += out->buf[i] == '\n';
    return count;
}

static void score(const void *gold, size_t gold_n, const void *test, size_t test_n,
                  const char *params)
{
    struct tf_err err = {0};
    struct tf_evalb_opts o = {.max_line = 1 << 20, .bad = TF_ON_BAD_OK};
    struct tf_in a = memory_in(gold, gold_n), b = memory_in(test, test_n);
    struct tf_out out = memory_out(ROOM);
    TF_ASSERT(tf_evalb_params_load(&o.params, params, &err) == 0);
    /* Sentences in error would be named on stderr. */
    o.params.max_error = -1;
    if (tf_evalb(&o, &a, &b, &out, &err) < 0)
        TF_ASSERT(err.msg[0] != 0);
    tf_evalb_params_release(&o.params);
    memory_in_done(&a);
    memory_in_done(&b);
    memory_out_done(&out);
}

/* What a bad tree becomes. */
static bool has_empty_line(const struct tf_out *out)
{
    return out->len > 0 && (out->buf[0] == '\n' || memmem(out->buf, out->len, "\n\n", 2) != NULL);
}

static void there_and_back(struct tf_tree_filter *f, const struct tf_out *trees)
{
    struct tf_err err = {0};
    struct tf_in in = memory_in(trees->buf, trees->len), words;
    struct tf_out w = memory_out(ROOM), s = memory_out(ROOM), back = memory_out(ROOM);
    f->layout = TF_TREE_LINES;
    f->max = ROOM;
    TF_ASSERT(tf_tree_to_sequences(f, &in, &w, &s, &err) == 0 && lines(&w) == f->all &&
              lines(&s) == f->all);
    bool bad = has_empty_line(&s);
    memory_in_done(&in);
    in = memory_in(s.buf, s.len);
    words = memory_in(w.buf, w.len);
    TF_ASSERT(tf_tree_from_sequences(f, &in, &words, &back, &err) == 0 &&
              lines(&back) == lines(&w));
    TF_ASSERT(f->unbalanced == 0 && f->mis_sized == 0);
    if (!bad && f->clean)
        TF_ASSERT(back.len == trees->len && memcmp(back.buf, trees->buf, back.len) == 0);
    memory_in_done(&in);
    memory_in_done(&words);
    memory_out_done(&w);
    memory_out_done(&s);
    memory_out_done(&back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (n == 0 || n > MAX_INPUT)
        return 0;
    struct tf_err err = {0};
    struct tf_tree_filter f = {
        .style = (enum tf_brackets)(data[0] & 1),
        .layout = (enum tf_tree_layout)((data[0] >> 1 & 3) % 3),
        .clean = data[0] >> 3 & 1,
        .root = "TOP",
        .tag = "XX",
        .bad = TF_ON_BAD_OK,
        .max = data[0] >> 4 & 1 ? 40 : 1 << 20,
    };
    struct tf_in in = memory_in(data + 1, n - 1);
    struct tf_out trees = memory_out(ROOM), restored = memory_out(ROOM), again = memory_out(ROOM);
    TF_ASSERT(tf_tree_lines(&f, &in, &trees, &err) == 0 && lines(&trees) == f.all);
    memory_in_done(&in);
    there_and_back(&f, &trees);

    /* The same bytes as sequences: columns of a file, or the words of themselves. */
    bool columns = data[0] >> 5 & 1;
    in = memory_in(data + 1, n - 1);
    struct tf_in words = memory_in(data + 1, n - 1);
    f.clean = false;
    TF_ASSERT(tf_tree_from_sequences(&f, &in, columns ? NULL : &words, &restored, &err) == 0 &&
              lines(&restored) == f.all);
    uint64_t made = f.all;
    memory_in_done(&in);
    memory_in_done(&words);
    in = memory_in(restored.buf, restored.len);
    TF_ASSERT(tf_tree_lines(&f, &in, &again, &err) == 0 && f.all == made);
    TF_ASSERT(again.len == restored.len && memcmp(again.buf, restored.buf, again.len) == 0);
    memory_in_done(&in);

    score(restored.buf, restored.len, restored.buf, restored.len, "COLLINS");
    memory_out_done(&trees);
    memory_out_done(&restored);
    memory_out_done(&again);
    return 0;
}
