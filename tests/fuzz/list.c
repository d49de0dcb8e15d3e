/* Lists of files: any bytes are refused with a message or give lines of one or two names, which
 * joined again are those bytes but for a byte-order mark, CRs before LFs and weights; lines of one
 * weight are a corpus. And the end of a stream in any last bytes. */
#include "base/buf.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "data/list.h"
#include "stream/tail.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* Cut off the third column, and the second too if it is empty then. */
static size_t without_weight(const char *s, size_t n)
{
    const char *tab = memchr(s, '\t', n);
    const size_t at = tab != NULL ? (size_t)(tab - s) : n;
    tab = at < n ? memchr(s + at + 1, '\t', n - at - 1) : NULL;
    return tab == NULL ? n : tab == s + at + 1 ? at : (size_t)(tab - s);
}

/* The lines of a text, each ended by LF, without byte-order mark, CRs and weights. */
static void add_lines(struct tf_buf *b, const char *s, size_t n)
{
    const char *end = s + n;
    for (s += tf_utf8_mark(s, n); s < end;) {
        const char *stop = memchr(s, '\n', (size_t)(end - s));
        if (stop == NULL)
            stop = end;
        size_t length = (size_t)(stop - s);
        if (length > 0 && stop[-1] == '\r')
            length--;
        tf_buf_add(b, s, without_weight(s, length));
        tf_buf_byte(b, '\n');
        s = stop + 1;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct tf_list l;
    struct tf_err err = {0};
    struct tf_buf again = {0}, lines = {0};
    uint64_t count;
    bool has_crc;
    uint32_t crc;
    char *text = tf_xmalloc(n + 1);
    memcpy(text, data, n);
    text[n] = 0;
    if (tf_list_parse(&l, "list", text, n, &err) == 0) {
        for (size_t i = 0; i < l.n; i++)
            for (int k = 0; k < l.streams; k++)
                tf_buf_printf(&again, "%s%c", l.lines[i].path[k], k + 1 < l.streams ? '\t' : '\n');
        size_t next = 0;
        for (size_t k = 0; k < l.n_corpora; next += l.corpora[k++].n)
            TF_ASSERT(l.corpora[k].first == next && l.lines[next].corpus == k &&
                      (k == 0 || l.lines[next].weight != l.lines[next - 1].weight));
        TF_ASSERT(next == l.n);
        add_lines(&lines, (const char *)data, n);
        TF_ASSERT(again.len == lines.len && memcmp(again.p, lines.p, lines.len) == 0);
    } else {
        TF_ASSERT(err.msg[0] != 0);
    }
    tf_list_release(&l);
    tf_buf_release(&again);
    tf_buf_release(&lines);
    size_t tail = n < TF_TAIL_N ? n : TF_TAIL_N;
    if (tf_tail_end(data + n - tail, tail, n, &count, &has_crc, &crc))
        TF_ASSERT(has_crc || crc == 0);
    return 0;
}
