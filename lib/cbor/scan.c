/* scan.c - find the end of an item without trusting any length in it. */
#include "cbor/scan.h"

#include "cbor/head.h"

int tf_scan_item(struct tf_scan *s, const uint8_t *p, size_t n, size_t limit)
{
    if (!s->begun) {
        s->begun = true;
        s->left[0] = 1;
    }
    size_t pos = s->pos;
    int depth = s->depth, rc = 1;
    while (s->left[depth] || depth) {
        if (!s->left[depth]) {
            depth--;
            continue;
        }
        struct tf_head h;
        s->pos = pos;
        if (pos >= limit) {
            s->why = "too large";
            return -1;
        }
        int k = tf_head_read(p + pos, n - pos, &h);
        if (k < 0) {
            s->why = tf_head_fault(p[pos]);
            return -1;
        }
        if (k == 0) {
            unsigned info = n > pos ? p[pos] & 31 : 0;
            s->need = pos + 1 + (info >= 24 ? (size_t)1 << (info - 24) : 0);
            rc = 0;
            if (s->need > limit) {
                s->why = "too large";
                rc = -1;
            }
            break;
        }
        size_t at = pos + (size_t)k;
        uint64_t inner = 0;
        if (at > limit) {
            s->why = "too large";
            return -1;
        }
        switch (h.major) {
        case TF_MAJOR_BYTES:
        case TF_MAJOR_TEXT:
            if (h.val > limit - at) {
                s->why = "a string longer than the limit";
                return -1;
            }
            if (h.val > n - at) {
                s->need = at + (size_t)h.val;
                rc = 0;
            } else {
                at += (size_t)h.val;
            }
            break;
        case TF_MAJOR_ARRAY:
        case TF_MAJOR_MAP:
            if (h.val > (limit - at) / (h.major == TF_MAJOR_MAP ? 2 : 1)) {
                s->why = "more items than the limit";
                return -1;
            }
            inner = h.val * (h.major == TF_MAJOR_MAP ? 2 : 1);
            break;
        case TF_MAJOR_TAG:
            inner = 1;
            break;
        case TF_MAJOR_SIMPLE:
            if (h.info == 24 && h.val < 32) {
                s->why = "reserved simple value";
                return -1;
            }
            break;
        default:
            break;
        }
        if (rc == 0)
            break;
        s->left[depth]--;
        pos = at;
        if (h.major >= TF_MAJOR_ARRAY && h.major <= TF_MAJOR_TAG) {
            if (depth == TF_CBOR_DEPTH) {
                s->why = "nested too deeply";
                return -1;
            }
            s->left[++depth] = inner;
        }
    }
    s->pos = pos;
    s->depth = depth;
    return rc;
}
