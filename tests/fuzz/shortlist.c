/* shortlist.c - any bytes as a binary shortlist, as they are and with the checksum that they need:
 * a verdict, or a list within its sizes, which is the same after it was written and read. */
#include "text/shortlist.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { SOURCES = 5, TARGETS = 7, MAX_INPUT = 1 << 12 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const struct tf_shortlist_vocab vocab = {.source_ids = SOURCES, .target_ids = TARGETS};

static void check(const char *data, size_t n)
{
    struct tf_shortlist s, again;
    struct tf_err err = {0};
    if (tf_shortlist_parse(&s, data, n, &vocab, &err) != 0) {
        TF_ASSERT(err.msg[0] != 0);
        return;
    }
    TF_ASSERT(s.n == SOURCES && s.first <= TARGETS && s.off[0] == 0);
    for (size_t i = 0; i < s.n; i++)
        for (size_t k = s.off[i]; k < s.off[i + 1]; k++)
            TF_ASSERT(s.ids[k] < TARGETS);
    struct tf_buf b = {0};
    tf_shortlist_put(&b, &s);
    TF_ASSERT(tf_shortlist_parse(&again, b.p, b.len, &vocab, &err) == 0);
    TF_ASSERT(again.first == s.first && again.best == s.best &&
              memcmp(again.off, s.off, (s.n + 1) * sizeof *s.off) == 0 &&
              memcmp(again.ids, s.ids, s.off[s.n] * sizeof *s.ids) == 0);
    tf_buf_release(&b);
    tf_shortlist_release(&again);
    tf_shortlist_release(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (n > MAX_INPUT)
        return 0;
    char *copy = tf_xmalloc(n + 1);
    memcpy(copy, data, n);
    check(copy, n);
    if (n >= 16) {
        uint64_t sum = 0, v;
        for (size_t i = 16; i + sizeof v <= n; i += sizeof v) {
            memcpy(&v, copy + i, sizeof v);
            sum ^= v + 0x9e3779b9 + (sum << 6) + (sum >> 2);
        }
        memcpy(copy + 8, &sum, sizeof sum);
        check(copy, n);
    }
    free(copy);
    return 0;
}
