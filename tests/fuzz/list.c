/* Lists of files: any bytes are refused with a message or give lines of one or two names, which
 * joined again are those bytes but for a byte-order mark and CRs before LFs. And the end of a
 * stream in any last bytes. */
#include "base/buf.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "data/list.h"
#include "stream/tail.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* The lines of a text, each ended by LF, without byte-order mark and CRs. */
static void add_lines(struct tf_buf *b, const char *s, size_t n)
{
    const char *end = s + n;
    for (s += tf_utf8_mark(s, n); s < end;) {
        const char *stop = memchr(s, '\n', (size_t)(end - s));
        if (stop == NULL)
            stop = end;
        tf_buf_add(b, s, (size_t)(stop - s));
        if (stop > s && stop[-1] == '\r')
            b->len--;
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
