/* scan.c - find the end of an item without trusting any length in it. */
#include "cbor/scan.h"

#include "cbor/head.h"

static int refuse_item(struct tf_scan *s, const char *why)
{
    s->why = why;
    return -1;
}

static int refuse_longer(struct tf_scan *s, const char *why)
{
    s->longer = true;
    return refuse_item(s, why);
}

/* Each of these: 1, or 0 if more input is needed, or -1. The limit counts from p. */

/* Read the head at pos. *at: the position after it. */
static int scan_head(struct tf_scan *s, const uint8_t *p, size_t n, size_t limit, size_t pos,
                     struct tf_head *h, size_t *at)
{
    if (pos >= limit)
        return refuse_longer(s, "too large");
    int k = tf_head_read(p + pos, n - pos, h);
    if (k < 0)
        return refuse_item(s, tf_head_fault(p[pos]));
    if (k == 0) {
        unsigned info = n > pos ? p[pos] & 31 : 0;
        s->need = pos + 1 + (info >= 24 ? (size_t)1 << (info - 24) : 0);
        return s->need > limit ? refuse_longer(s, "too large") : 0;
    }
    *at = pos + (size_t)k;
    return *at > limit ? refuse_longer(s, "too large") : 1;
}

/* Skip the bytes of a string, which begin at *at. */
static int scan_string(struct tf_scan *s, size_t n, size_t limit, uint64_t bytes, size_t *at)
{
    if (bytes > limit - *at)
        return refuse_longer(s, "a string longer than the limit");
    if (bytes > n - *at) {
        s->need = *at + (size_t)bytes;
        return 0;
    }
    *at += (size_t)bytes;
    return 1;
}

/* Check what follows a head: a string's bytes end at *at, others contain so many *items. */
static int scan_content(struct tf_scan *s, size_t n, size_t limit, const struct tf_head *h,
                        size_t *at, uint64_t *items)
{
    const unsigned each = h->major == TF_MAJOR_MAP ? 2 : 1;
    switch (h->major) {
    case TF_MAJOR_BYTES:
    case TF_MAJOR_TEXT:
        return scan_string(s, n, limit, h->val, at);
    case TF_MAJOR_ARRAY:
    case TF_MAJOR_MAP:
        if (h->val > (limit - *at) / each)
            return refuse_longer(s, "more items than the limit");
        *items = h->val * each;
        return 1;
    case TF_MAJOR_TAG:
        *items = 1;
        return 1;
    case TF_MAJOR_SIMPLE:
        return h->info == 24 && h->val < 32 ? refuse_item(s, "reserved simple value") : 1;
    default:
        return 1;
    }
}

int tf_scan_item(struct tf_scan *s, const uint8_t *p, size_t n, size_t limit)
{
    if (!s->begun) {
        s->begun = true;
        s->left[0] = 1;
    }
    size_t pos = s->pos, at;
    int depth = s->depth;
    while (s->left[depth] || depth) {
        struct tf_head h;
        uint64_t items = 0;
        if (!s->left[depth]) {
            depth--;
            continue;
        }
        s->pos = pos;
        s->depth = depth;
        int rc = scan_head(s, p, n, limit, pos, &h, &at);
        if (rc > 0)
            rc = scan_content(s, n, limit, &h, &at, &items);
        if (rc <= 0)
            return rc;
        s->left[depth]--;
        pos = at;
        if (h.major >= TF_MAJOR_ARRAY && h.major <= TF_MAJOR_TAG) {
            if (depth == TF_CBOR_DEPTH)
                return refuse_item(s, "nested too deeply");
            s->left[++depth] = items;
        }
    }
    s->pos = pos;
    s->depth = depth;
    return 1;
}
