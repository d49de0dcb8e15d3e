/* bad.c - counts and messages of --bad. */
#include "base/bad.h"
#include "base/log.h"
#include "base/pipeline.h"
#include "base/places.h"

#include <stdio.h>
#include <string.h>

const char *const tf_on_bad_words[] = {"mark", "fail", "ok", NULL};

int tf_bad_add(struct tf_bad_count *c, const char *input, uint64_t number, const char *reason,
               bool reported, struct tf_err *err)
{
    const struct tf_place_of at = tf_place(input, c->place, number, c->text);
    tf_place_set_bad(number, c->text);
    c->found += !reported;
    if (c->on_bad == TF_ON_BAD_MARK && !reported)
        tf_warn("%s: %s %llu: %s", at.input, at.what, (unsigned long long)at.number, reason);
    if (c->bad++ == 0) {
        c->at = at;
        snprintf(c->reason, sizeof c->reason, "%s", reason);
    }
    if (c->text && c->on_bad == TF_ON_BAD_MARK && number == TF_BAD_START && c->bad == number)
        return tf_fail(err,
                       "%s: its first %d lines are all bad; line 1: %s (--bad ok accepts them)",
                       at.input, TF_BAD_START, c->reason);
    return c->on_bad == TF_ON_BAD_FAIL ? tf_fail(err, "%s: %s %llu: %s", at.input, at.what,
                                                 (unsigned long long)at.number, reason)
                                       : 0;
}

int tf_bad_status(const struct tf_bad_count *c, const char *input, struct tf_err *err)
{
    if (c->bad == 0 || c->on_bad != TF_ON_BAD_MARK)
        return 0;
    if (c->found == 0 && tf_in_pipeline())
        return err->status = TF_PARTIAL;
    const bool of_text = c->at.of_text;
    tf_fail_status(err, TF_PARTIAL, "%s: %llu of %llu %s bad; the first is %s %llu: %s",
                   of_text ? c->at.input : input, (unsigned long long)c->bad,
                   (unsigned long long)c->total, of_text ? "sentences" : c->items,
                   of_text ? "in line" : c->place, (unsigned long long)c->at.number, c->reason);
    return TF_PARTIAL;
}

void tf_bad_hint(const struct tf_bad_count *c, struct tf_err *err)
{
    const size_t n = strlen(err->msg);
    if (n > 0 && strncmp(c->reason, "invalid UTF-8", 13) == 0)
        snprintf(err->msg + n, sizeof err->msg - n, "%s",
                 " (text in Latin-1? iconv -f latin1 -t utf-8)");
}
