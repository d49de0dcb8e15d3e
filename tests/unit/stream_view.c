/* stream_view.c - read the ids of a record from a mapped file, in every valid encoding. */
#include "../harness/stream.h"
#include "base/memory.h"
#include "cbor/encode.h"
#include "cbor/head.h"
#include "stream/view.h"

/* LONG: the tag in more bytes than it needs, which a writer may do and tf_writer_... does not. */
enum { PLAIN = 0, N_IDS = 5, BEFORE = 7, LONG = 1000 };
static const uint32_t narrow[N_IDS] = {0, 1, 23, 24, 255},
                      middle[N_IDS] = {0, 255, 256, 4095, 65535},
                      wide[N_IDS] = {0, 65535, 65536, 70000, UINT32_MAX};

static const struct {
    unsigned tag;
    const char *name;
    const uint32_t *ids;
} encodings[] = {{PLAIN, "array", wide},
                 {TF_TAG_U8, "tag 64", narrow},
                 {TF_TAG_U16, "tag 69", middle},
                 {TF_TAG_U32, "tag 70", wide},
                 {TF_TAG_U64, "tag 71", wide},
                 {LONG + TF_TAG_U8, "tag 64 in five bytes", narrow},
                 {LONG + TF_TAG_U16, "tag 69 in five bytes", middle},
                 {LONG + TF_TAG_U32, "tag 70 in five bytes", wide}};

static void put_ids(struct tf_buf *b, unsigned form, const uint32_t *ids, size_t n)
{
    const unsigned tag = form % LONG;
    size_t width = tag == TF_TAG_U8 ? 1 : tag == TF_TAG_U16 ? 2 : tag == TF_TAG_U32 ? 4 : 8;
    if (tag == PLAIN) {
        tf_cbor_array(b, n);
    } else {
        if (form >= LONG)
            tf_buf_add(b, (const uint8_t[]){0xda, 0, 0, 0, (uint8_t)tag}, 5);
        else
            tf_cbor_tag(b, tag);
        tf_cbor_bytes_head(b, n * width);
    }
    for (size_t i = 0; i < n; i++) {
        uint64_t x = ids[i];
        if (tag == PLAIN)
            tf_cbor_uint(b, x);
        else
            tf_buf_add(b, &x, width);
    }
}

/* A file of some bytes and a record whose first `sides` lists are in the encoding, the last one
 * last in the file. */
static void take(unsigned tag, const char *name, const uint32_t *ids, int sides, int side)
{
    struct tf_buf b = {0};
    uint32_t got[N_IDS + 1];
    tf_buf_add(&b, "before.", BEFORE);
    tf_cbor_array(&b, 2 + (uint64_t)sides);
    tf_cbor_uint(&b, sides == 1 ? TF_REC_TOKENS : TF_REC_PAIR);
    tf_cbor_uint(&b, 1000);
    for (int i = 0; i < sides; i++)
        put_ids(&b, tag, ids + (i != side), N_IDS - (size_t)(i != side));
    const uint8_t *map = (const uint8_t *)b.p;
    uint64_t place = tf_view_ids(map + BEFORE, b.len - BEFORE, BEFORE, side);
    ok(tf_view_take(got, N_IDS, map, b.len, place) == 0 && memcmp(got, ids, sizeof narrow) == 0,
       "%s, side %d of %d", name, side, sides);
    ok(tf_view_take(got, 0, map, b.len, place) == (tag == TF_TAG_U16 || tag == TF_TAG_U32 ? 0 : -1),
       "%s: reads no more than there is", name);
    if (side + 1 == sides) {
        long taken = 0;
        for (size_t n = 0; n < b.len; n++) {
            /* Exactly n bytes, so that a read past them is seen. */
            uint8_t *cut = tf_xmalloc(n + 1);
            memcpy(cut, map, n);
            cut = realloc(cut, n ? n : 1);
            taken += tf_view_take(got, N_IDS, cut, n, place) == 0;
            free(cut);
        }
        is_int(taken, 0, "%s: not from a file that became shorter", name);
        is_int(tf_view_take(got, N_IDS + 1, map, b.len, place), -1, "%s: nor more than there are",
               name);
    }
    is_int(tf_view_take(got, N_IDS, map, b.len, place + ((uint64_t)1 << 40)), -1,
           "%s: nor from beyond the file", name);
    tf_buf_release(&b);
}

/* The file changed after it was indexed: the list has been overwritten. */
static void changed(void)
{
    struct tf_buf b = {0};
    uint32_t got[N_IDS];
    tf_cbor_array(&b, 3);
    tf_cbor_uint(&b, TF_REC_TOKENS);
    tf_cbor_uint(&b, 0);
    put_ids(&b, PLAIN, wide, N_IDS);
    uint8_t *map = (uint8_t *)b.p;
    uint64_t place = tf_view_ids(map, b.len, 0, 0);
    static const uint8_t others[] = {0x85, 0x65, 0xd8, 0xf6, 0x1b, 0xa5, 0xff};
    size_t at = (size_t)(place >> 2);
    long taken = 0;
    for (size_t i = 1; i < sizeof others; i++) {
        map[at] = others[i];
        taken += tf_view_take(got, N_IDS, map, b.len, place) == 0;
    }
    is_int(taken, 0, "what is no list of that many is refused");
    map[at] = others[0];
    ok(tf_view_take(got, N_IDS, map, b.len, place) == 0, "the list itself is taken");
    map[at + 1] = 0x20;
    is_int(tf_view_take(got, N_IDS, map, b.len, place), -1, "a number below zero is no id");
    memcpy(map + at, (const uint8_t[]){0xd8, TF_TAG_F32, 0x40}, 3);
    is_int(tf_view_take(got, 0, map, b.len, place), -1, "numbers that are no integers are no ids");
    tf_buf_release(&b);
}

int main(void)
{
    for (size_t i = 0; i < sizeof encodings / sizeof *encodings; i++) {
        take(encodings[i].tag, encodings[i].name, encodings[i].ids, 1, 0);
        for (int side = 0; side < 2; side++)
            take(encodings[i].tag, encodings[i].name, encodings[i].ids, 2, side);
    }
    changed();
    return done();
}
