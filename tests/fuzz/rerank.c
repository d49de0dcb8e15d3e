/* N-best lists of arbitrary bytes. The first byte chooses weights and utility. Each list is a line,
 * whole lists come back as they are written, and utilities are from 0 to 100. */
#include "../harness/memory.h"
#include "base/bad.h"
#include "metrics/rerank.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_INPUT = 1 << 12, ROOM = 1 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static int choose(const struct tf_rerank *r, struct tf_out *out, const void *data, size_t n)
{
    struct tf_err err = {0};
    struct tf_lines in = {.in = memory_in(data, n), .name = "lists", .open = true};
    const int rc = tf_rerank_run(r, &in, out, &err);
    TF_ASSERT(rc == 0 || err.msg[0] != 0);
    memory_in_done(&in.in);
    return rc;
}

/* n bytes of whole lists. */
static void check_utilities(const char *p, size_t n)
{
    for (const char *end = p + n; p < end;
         p = (const char *)memchr(p, '\n', (size_t)(end - p)) + 1) {
        char number[32] = "0";
        const char *rank = strchr(p, '\t') + 1, *score = strchr(rank, '\t') + 1,
                   *text = strchr(score, '\t');
        TF_ASSERT((size_t)(text - score) < sizeof number);
        memcpy(number, score, (size_t)(text - score));
        const double u = strtod(number, NULL);
        TF_ASSERT(u >= 0 && u < 100.001);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (n == 0 || n > MAX_INPUT)
        return 0;
    const unsigned how = data[0];
    struct tf_err err = {0};
    struct tf_rerank r = {.all = true, .bad = TF_ON_BAD_OK};
    struct tf_out first = memory_out(ROOM), second = memory_out(ROOM);
    TF_ASSERT(tf_rerank_weights(&r, how & 1 ? "0.5,-2" : "1", &err) == 0);
    r.length = how & 2 ? 0.5 : 0;
    r.scale = how & 4 ? 1 : 0;
    if (how & 8)
        TF_ASSERT(tf_rerank_mbr(&r, tf_rerank_utilities[(how >> 4) % 3], 2, &err) == 0);
    const int rc = choose(&r, &first, data + 1, n - 1);
    if (rc == 0 && !r.mbr) {
        const struct tf_rerank again = {
            .weight = {1}, .n_weights = 1, .all = true, .bad = TF_ON_BAD_OK};
        TF_ASSERT(choose(&again, &second, first.buf, first.len) == 0);
        TF_ASSERT(second.len == first.len && memcmp(first.buf, second.buf, first.len) == 0);
    } else if (rc == 0) {
        check_utilities((const char *)first.buf, first.len);
    }
    memory_out_done(&first);
    memory_out_done(&second);
    return 0;
}
