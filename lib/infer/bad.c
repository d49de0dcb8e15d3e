/* bad.c - see bad.h. */
#include "infer/bad.h"
#include "stream/stream.h"

int tf_bads_count(struct tf_bads *b, uint64_t idx, int code, const char *text, const char *input,
                  struct tf_err *err)
{
    b->lines++;
    if (code == 0)
        return 0;
    if (b->bad++ == 0) {
        b->first = idx;
        tf_bad_say(b->why, sizeof b->why, code, text);
    }
    return b->policy == TF_ON_BAD_FAIL
               ? tf_fail(err, "%s: record %llu is bad: %s", input, (unsigned long long)idx, b->why)
               : 0;
}

int tf_bads_verdict(const struct tf_bads *b, const char *input, struct tf_err *err)
{
    if (b->bad == 0 || b->policy != TF_ON_BAD_MARK)
        return 0;
    tf_fail_status(err, TF_PARTIAL, "%s: %llu of %llu records bad; the first is record %llu: %s",
                   input, (unsigned long long)b->bad, (unsigned long long)b->lines,
                   (unsigned long long)b->first, b->why);
    return TF_PARTIAL;
}
