/* unknown.c - see unknown_private.h. */
#include "text/unknown_private.h"
#include "base/memory.h"
#include "base/utf8.h"
#include <pthread.h>
#include <stdlib.h>

enum { CHARACTERS = 0x110000, NOT_ASKED = 0, KNOWN, UNKNOWN };

struct tf_unknown {
    pthread_mutex_t lock;
    uint8_t is[CHARACTERS];
    uint64_t count[CHARACTERS];
};

struct tf_unknown *tf_unknown_new(void)
{
    struct tf_unknown *u = tf_xcalloc(1, sizeof *u);
    pthread_mutex_init(&u->lock, NULL);
    return u;
}

void tf_unknown_free(struct tf_unknown *u)
{
    if (u != NULL)
        pthread_mutex_destroy(&u->lock);
    free(u);
}

static bool is_unknown(const struct tf_vocab *v, struct tf_segment_room *room, const char *s,
                       size_t n)
{
    struct tf_ids ids = {0};
    struct tf_err ignored = {0};
    bool found = false;
    int rc = 0;
    if (v->segmenter != NULL)
        tf_segment(v->segmenter, room, s, n, &ids);
    else
        rc = tf_sp_encode(v->sp, s, n, &ids, &ignored);
    for (size_t i = 0; i < ids.n && rc == 0; i++)
        found = found || ids.v[i] == (uint64_t)tf_sp_unk(v->sp);
    tf_ids_release(&ids);
    return found;
}

void tf_unknown_count(struct tf_unknown *u, const struct tf_vocab *v, struct tf_segment_room *room,
                      const char *s, size_t n)
{
    pthread_mutex_lock(&u->lock);
    for (size_t i = 0; i < n;) {
        int len;
        const uint32_t c = tf_utf8_get(s + i, &len);
        if (u->is[c] == NOT_ASKED)
            u->is[c] = is_unknown(v, room, s + i, (size_t)len) ? UNKNOWN : KNOWN;
        u->count[c] += u->is[c] == UNKNOWN;
        i += (size_t)len;
    }
    pthread_mutex_unlock(&u->lock);
}

/* The most frequent character but those of `done`, the first of several; 0: none. */
static uint32_t most_frequent(const struct tf_unknown *u, const uint32_t *done, size_t n)
{
    uint32_t best = 0;
    for (uint32_t c = 1; c < CHARACTERS; c++) {
        bool is_done = u->count[c] <= u->count[best] && best != 0;
        for (size_t i = 0; i < n && !is_done && u->count[c] > 0; i++)
            is_done = done[i] == c;
        if (!is_done && u->count[c] > 0)
            best = c;
    }
    return best;
}

size_t tf_unknown_list(const struct tf_unknown *u, struct tf_buf *out, size_t most)
{
    uint32_t *done = tf_xcalloc(most, sizeof *done);
    size_t all = 0, n = 0;
    for (uint32_t c = 1; c < CHARACTERS; c++)
        all += u->count[c] > 0;
    for (uint32_t c; n < most && (c = most_frequent(u, done, n)) != 0; n++) {
        done[n] = c;
        tf_buf_str(out, n > 0 ? " " : "");
        tf_buf_char(out, c);
    }
    if (all > n)
        tf_buf_printf(out, " and %zu more", all - n);
    free(done);
    return all;
}
