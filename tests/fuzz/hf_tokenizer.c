/* hf_tokenizer.c - any bytes as a tokenizer.json; what is accepted is a SentencePiece model. */
#include "../harness/memory.h"
#include "convert/hf_tokenizer_private.h"
#include "text/added.h"
#include "text/sp_renumber.h"

enum { MAX_INPUT = 1 << 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static int count(void *arg, const char *p, size_t n, int64_t id, struct tf_err *err)
{
    (void)p;
    (void)id;
    (void)err;
    *(size_t *)arg += n;
    return 0;
}

/* The parts of a text are in it. */
static void cut(const struct tf_buf *model, const struct tf_piece_list *list)
{
    struct tf_added *added;
    struct tf_err err = {0};
    if (tf_added_new(&added, model->p, model->len, (int64_t)list->n, &err) != 0)
        return;
    for (size_t i = 0; i + 1 < list->n; i++) {
        struct tf_buf text = {0};
        size_t n = 0;
        tf_buf_printf(&text, "%s %s%s x", list->v[i], list->v[i + 1], list->v[i]);
        TF_ASSERT(tf_added_cut(added, text.p, text.len, count, &n, &err) == 0 && n <= text.len);
        tf_buf_release(&text);
    }
    tf_added_free(added);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct tf_arena a = {0};
    struct tf_buf spm = {0}, model = {0};
    struct tf_piece_list list = {0};
    struct tf_err err = {0};
    const struct tf_sp_side side = {.target = true};
    const uint8_t *added;
    if (n > MAX_INPUT)
        return 0;
    if (tf_hf_tokenizer(&spm, &list, &added, &a, (const char *)data, n, &err) != 0 ||
        tf_sp_renumber(&model, spm.p, spm.len, &list, added, &side, &err) != 0) {
        TF_ASSERT(err.msg[0] != 0);
    } else {
        TF_ASSERT(list.n > 0 && list.n <= n && model.len > 0);
        cut(&model, &list);
    }
    tf_buf_release(&spm);
    tf_buf_release(&model);
    tf_arena_release(&a);
    return 0;
}
