/* split.c - any bytes as a text: its sentences and their layout are the text again, as is a layout
 * that is written and read. Any bytes as a line of a layout: a verdict, and a text. Any bytes as a
 * sentence: what placeholders hide is shown again. The first byte chooses language, form and
 * limit. */
#include "../harness/memory.h"
#include "base/utf8.h"
#include "text/document.h"
#include "text/placeholders_private.h"
#include "text/split.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static struct tf_out open_path(int i)
{
    struct tf_out out;
    struct tf_err err = {0};
    if (tf_out_open(&out, memory_path(i, "", 0), 0, &err) != 0)
        TF_ASSERT(0);
    return out;
}

static void close_path(struct tf_out *out)
{
    struct tf_err err = {0};
    if (tf_out_commit(out, &err) != 0)
        TF_ASSERT(0);
}

static void round_trip(const struct tf_document_opts *o, const uint8_t *data, size_t n)
{
    struct tf_in in = memory_in(data, n);
    struct tf_out sentences = open_path(0), layout = open_path(1), text = open_path(2);
    struct tf_err err = {0};
    TF_ASSERT(tf_split(o, &in, &sentences, &layout, &err) == 0);
    memory_in_done(&in);
    close_path(&sentences);
    close_path(&layout);
    size_t len;
    char *bytes = memory_path_bytes(0, &len);
    struct tf_in back = memory_in(bytes, len);
    free(bytes);
    bytes = memory_path_bytes(1, &len);
    TF_ASSERT(tf_split_join(&back, memory_path(1, bytes, len), &text, &err) == 0);
    free(bytes);
    memory_in_done(&back);
    close_path(&text);
    bytes = memory_path_bytes(2, &len);
    if (tf_utf8_span((const char *)data, n) == n)
        TF_ASSERT(len == n && (n == 0 || memcmp(bytes, data, n) == 0));
    free(bytes);
}

static void read_layout(const char *line, size_t n)
{
    struct tf_layout_reader r = {0};
    struct tf_buf out = {0};
    struct tf_err err = {0};
    const struct tf_text sentence = {"a bc d", 6};
    uint32_t last = 0;
    for (uint64_t number = 1; number <= 2; number++)
        if (tf_layout_get(&r, line, n, "layout", number, &err) == 0)
            tf_layout_join(&out, &r.place, sentence, &last);
        else
            TF_ASSERT(err.msg[0] != 0);
    tf_buf_release(&out);
    tf_layout_release(&r);
}

static void hide_and_show(const char *s, size_t n)
{
    struct tf_placeholders p = {0};
    struct tf_buf hidden = {0}, shown = {0};
    tf_placeholders_hide(&p, (struct tf_text){s, n}, (struct tf_hide){.addresses = true}, &hidden);
    TF_ASSERT(tf_placeholders_show(&p, (struct tf_text){hidden.p, hidden.len}, &shown) == 0);
    TF_ASSERT(shown.len == n && memcmp(shown.p, s, n) == 0);
    tf_placeholders_release(&p);
    tf_buf_release(&hidden);
    tf_buf_release(&shown);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const char *const langs[] = {"en", "de", "zh", NULL};
    if (n == 0)
        return 0;
    const struct tf_document_opts o = {.form = data[0] & 4 ? TF_DOCUMENT_WRAPPED
                                                           : TF_DOCUMENT_PARAGRAPHS,
                                       .lang = langs[data[0] & 3],
                                       .most = data[0] & 8 ? data[0] >> 4 : 0,
                                       .field = (data[0] & 20) == 16 ? 2 : 0,
                                       .max_line = 1 << 20,
                                       .bad = TF_ON_BAD_OK};
    round_trip(&o, data + 1, n - 1);
    read_layout((const char *)data, n);
    hide_and_show((const char *)data, n);
    return 0;
}
