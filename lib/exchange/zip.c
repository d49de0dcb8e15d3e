/* zip.c - ZIP archives. The reader follows the central directory and requires
 * that the local headers agree with it. */
#include "exchange/zip_private.h"
#include "base/bits.h"
#include "base/gunzip.h"
#include "base/memory.h"
#include "base/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum {
    LOCAL_SIG = 0x04034b50,
    CENTRAL_SIG = 0x02014b50,
    END_SIG = 0x06054b50,
    END64_SIG = 0x06064b50,
    LOCATOR_SIG = 0x07064b50,
    LOCAL_N = 30, /* bytes without name, extra fields and comment */
    CENTRAL_N = 46,
    END_N = 22,
    END64_N = 56,
    LOCATOR_N = 20,
    DEFLATE = 8, /* a method; and the most that a byte of it makes */
    MOST_RATIO = 1032,
    ENCRYPTED = 0x2041, /* flags: encrypted, strong encryption, encrypted directory */
    DESCRIPTOR = 8,     /* CRC and sizes are after the data, not in the local header */
    UTF8 = 0x800,       /* the name's encoding */
    ZIP64_ID = 1,       /* extra fields */
    ALIGN_ID = 0xd935,  /* Android's zipalign: the alignment, then zeros */
    ALIGN = TF_ZIP_ALIGN,
};
static const uint32_t wide32 = 0xffffffff; /* in a field whose value is in the extra field */

/* ---- reading ---- */

int tf_zip_open(struct tf_zip *z, const void *archive, size_t n, uint64_t most, struct tf_err *err)
{
    const uint8_t *e = NULL;
    *z = (struct tf_zip){.p = archive, .n = n};
    for (size_t k = 0; e == NULL && k <= 0xffff && k + END_N <= z->n; k++) {
        const uint8_t *p = z->p + z->n - END_N - k;
        if (tf_load32(p) == END_SIG && tf_load16(p + 20) == k)
            e = p;
    }
    if (e == NULL)
        return tf_fail(err, "no end record of a zip archive: truncated, or not an archive");
    uint64_t disks = tf_load16(e + 4) | tf_load16(e + 6), here = tf_load16(e + 8),
             size = tf_load32(e + 12);
    z->count = tf_load16(e + 10);
    z->dir = tf_load32(e + 16);
    z->dir_end = (uint64_t)(e - z->p);
    if (z->dir_end >= LOCATOR_N && tf_load32(e - LOCATOR_N) == LOCATOR_SIG) {
        const uint8_t *l = e - LOCATOR_N, *r = z->p;
        uint64_t end = z->dir_end - LOCATOR_N, at = tf_load64(l + 8);
        if (end < END64_N || at > end - END64_N || tf_load32(r + at) != END64_SIG ||
            tf_load64(r + at + 4) != end - at - 12)
            return tf_fail(err, "damaged: no ZIP64 end record where its locator points to");
        r += at;
        disks |= tf_load32(l + 4) | (tf_load32(l + 16) > 1) | tf_load32(r + 16) | tf_load32(r + 20);
        here = tf_load64(r + 24);
        z->count = tf_load64(r + 32);
        size = tf_load64(r + 40);
        z->dir = tf_load64(r + 48);
        z->dir_end = at;
    }
    if (disks != 0 || here != z->count)
        return tf_fail(err, "an archive of several parts");
    if (z->dir > z->dir_end || size != z->dir_end - z->dir || z->count > size / CENTRAL_N)
        return tf_fail(err, "damaged: the directory does not match the end record");
    if (z->count > most)
        return tf_fail(err, "%llu members: too many", (unsigned long long)z->count);
    z->next = z->p + z->dir;
    z->left = z->count;
    return 0;
}

/* Replace values of 0xffffffff by those of the ZIP64 extra field. */
static bool widen(uint64_t *const v[], int n_v, const uint8_t *p, size_t n)
{
    while (n >= 4) { /* fewer bytes are padding */
        size_t len = tf_load16(p + 2);
        if (len > n - 4)
            return false;
        const uint8_t *f = p + 4, *end = f + len;
        for (int i = 0; tf_load16(p) == ZIP64_ID && i < n_v; i++) {
            if (*v[i] != wide32)
                continue;
            if (end - f < 8)
                return false;
            *v[i] = tf_load64(f);
            f += 8;
        }
        p = end;
        n -= 4 + len;
    }
    return true;
}

/* Read the next entry of the directory. Returns NULL, or why it is refused. */
static const char *read_entry(struct tf_zip_member *m, struct tf_zip *z)
{
    const uint8_t *p = z->next;
    size_t left = (size_t)(z->p + z->dir_end - p);
    *m = (struct tf_zip_member){.name = "directory"};
    if (left < CENTRAL_N || tf_load32(p) != CENTRAL_SIG)
        return "damaged";
    size_t name_n = tf_load16(p + 28), extra_n = tf_load16(p + 30), comment_n = tf_load16(p + 32);
    if (left - CENTRAL_N < name_n + extra_n + comment_n)
        return "damaged";
    if (name_n > TF_ZIP_MAX_NAME)
        return "a member's name is too long";
    snprintf(m->name, sizeof m->name, "%.*s", (int)name_n, (const char *)p + CENTRAL_N);
    m->deflated = z->deflate && tf_load16(p + 10) == DEFLATE;
    m->crc = tf_load32(p + 16);
    m->packed = tf_load32(p + 20);
    m->size = tf_load32(p + 24);
    m->at = tf_load32(p + 42);
    z->next = p + CENTRAL_N + name_n + extra_n + comment_n;
    if (!tf_utf8_valid(p + CENTRAL_N, name_n))
        return "a name that is not UTF-8";
    if (tf_load16(p + 8) & ENCRYPTED)
        return "encrypted";
    if (tf_load16(p + 10) != 0 && !m->deflated)
        return z->deflate ? "compressed, and not by deflate"
                          : "compressed: write it with numpy.savez, not savez_compressed";
    if (tf_load16(p + 34) != 0)
        return "in another part of the archive";
    if (!widen((uint64_t *const[]){&m->size, &m->packed, &m->at}, 3, p + CENTRAL_N + name_n,
               extra_n))
        return "damaged: its extra fields";
    return (m->deflated ? m->size / MOST_RATIO > m->packed : m->size != m->packed)
               ? "damaged: stored in more or fewer bytes than it has"
               : NULL;
}

/* Check the local header and the data of a member. Returns NULL, or why it is refused. Members must
 * be in the order of the directory and not overlap, so that no byte is summed twice. */
static const char *read_local(struct tf_zip_member *m, struct tf_zip *z)
{
    const uint8_t *p = z->p;
    if (m->at < z->free)
        return "members overlap, or are not in order";
    if (z->dir < LOCAL_N || m->at > z->dir - LOCAL_N || tf_load32(p + m->at) != LOCAL_SIG)
        return "damaged: not where the directory says";
    p += m->at;
    size_t name_n = tf_load16(p + 26), extra_n = tf_load16(p + 28);
    uint64_t room = z->dir - m->at - LOCAL_N, size = tf_load32(p + 22), packed = tf_load32(p + 18);
    if (name_n + extra_n > room || m->packed > room - name_n - extra_n)
        return "damaged: it runs into the directory";
    const uint8_t *extra = p + LOCAL_N + name_n;
    bool same = widen((uint64_t *const[]){&size, &packed}, 2, extra, extra_n);
    if (!(tf_load16(p + 6) & DESCRIPTOR))
        same = same && size == m->size && packed == m->packed && tf_load32(p + 14) == m->crc;
    if (!same || tf_load16(p + 8) != (m->deflated ? DEFLATE : 0) ||
        (tf_load16(p + 6) & ENCRYPTED) || name_n != strlen(m->name) ||
        memcmp(p + LOCAL_N, m->name, name_n) != 0)
        return "damaged: its header and the directory disagree";
    m->data = extra + extra_n;
    z->free = (uint64_t)(m->data - z->p) + m->packed;
    if (m->deflated)
        return NULL;
    return crc32_z(0, m->data, (size_t)m->size) != m->crc ? "damaged: its crc32 is wrong" : NULL;
}

int tf_zip_next(struct tf_zip *z, struct tf_zip_member *m, struct tf_err *err)
{
    if (z->left == 0)
        return z->next == z->p + z->dir_end
                   ? 0
                   : tf_fail(err, "damaged: the directory continues after its last member");
    z->left--;
    const char *why = read_entry(m, z);
    if (why == NULL)
        why = read_local(m, z);
    return why != NULL ? tf_fail(err, "%s: %s", m->name, why) : 1;
}

int tf_zip_inflate(const struct tf_zip_member *m, void **data, struct tf_err *err)
{
    *data = tf_try_alloc((size_t)m->size + 1, err);
    int rc = *data == NULL ? -1 : tf_inflate(*data, (size_t)m->size, m->data, m->packed, err);
    if (rc == 0 && crc32_z(0, *data, (size_t)m->size) != m->crc)
        rc = tf_fail(err, "damaged: its crc32 is wrong");
    if (rc != 0) {
        free(*data);
        *data = NULL;
        return tf_context(err, "%s", m->name);
    }
    return 0;
}

/* ---- writing ---- */

static void put_le(struct tf_buf *b, uint64_t x, size_t bytes)
{
    tf_buf_add(b, &x, bytes);
}

static bool is_ascii(const char *s)
{
    while (*s && (unsigned char)*s < 0x80)
        s++;
    return !*s;
}

/* Append the local header of a member, or its entry in the directory. Extra fields store values
 * that need 64 bits and pad the local header to a multiple of ALIGN. */
static void put_header(struct tf_buf *b, const char *name, uint64_t at, uint64_t size, uint32_t crc,
                       bool local)
{
    bool wide = size >= wide32 || at >= wide32;
    size_t wide_n = !wide ? 0 : local ? 16 : 24, name_n = strlen(name);
    size_t extra_n = wide ? 4 + wide_n : 0, pad = 0;
    if (local) {
        extra_n += 6;
        pad = (size_t)(ALIGN - (at + LOCAL_N + name_n + extra_n) % ALIGN) % ALIGN;
    }
    put_le(b, local ? LOCAL_SIG : CENTRAL_SIG, 4);
    if (!local)
        put_le(b, 3 << 8 | 45, 2); /* Unix, version that wrote it */
    put_le(b, wide ? 45 : 20, 2);  /* version that reads it */
    put_le(b, is_ascii(name) ? 0 : UTF8, 2);
    put_le(b, 0, 4);    /* stored; 00:00:00 */
    put_le(b, 0x21, 2); /* 1980-01-01 */
    put_le(b, crc, 4);
    put_le(b, wide ? wide32 : size, 4);
    put_le(b, wide ? wide32 : size, 4);
    put_le(b, name_n, 2);
    put_le(b, extra_n + pad, 2);
    if (!local) {
        put_le(b, 0, 6);          /* no comment, first disk, not text */
        put_le(b, 0x81a40000, 4); /* a file, rw-r--r-- */
        put_le(b, wide ? wide32 : at, 4);
    }
    tf_buf_str(b, name);
    if (wide) {
        put_le(b, ZIP64_ID | wide_n << 16, 4);
        put_le(b, size, 8);
        put_le(b, size, 8);
        put_le(b, at, wide_n - 16);
    }
    if (local)
        put_le(b, ALIGN_ID | (uint64_t)(2 + pad) << 16 | (uint64_t)ALIGN << 32, 6);
    while (pad-- > 0)
        tf_buf_byte(b, 0);
}

int tf_zip_put(struct tf_zip_writer *w, const char *name, const void *head, size_t head_n,
               const void *data, size_t n, struct tf_err *err)
{
    uint64_t at = w->out->offset - w->start, size = (uint64_t)head_n + n;
    uint32_t crc = (uint32_t)crc32_z(crc32_z(0, head, head_n), n > 0 ? data : head, n);
    TF_ASSERT(strlen(name) <= TF_ZIP_MAX_NAME);
    tf_buf_clear(&w->head);
    put_header(&w->head, name, at, size, crc, true);
    put_header(&w->dir, name, at, size, crc, false);
    w->count++;
    if (tf_out_write(w->out, w->head.p, w->head.len, err) != 0 ||
        tf_out_write(w->out, head, head_n, err) != 0)
        return -1;
    return tf_out_write(w->out, data, n, err);
}

int tf_zip_end(struct tf_zip_writer *w, struct tf_err *err)
{
    struct tf_buf *d = &w->dir;
    uint64_t at = w->out->offset - w->start, size = d->len, count = w->count;
    if (count >= 0xffff || size >= wide32 || at >= wide32) {
        put_le(d, END64_SIG, 4);
        put_le(d, END64_N - 12, 8);
        put_le(d, 45 | 45 << 16, 4);
        put_le(d, 0, 8); /* disks */
        put_le(d, count, 8);
        put_le(d, count, 8);
        put_le(d, size, 8);
        put_le(d, at, 8);
        put_le(d, LOCATOR_SIG, 4);
        put_le(d, 0, 4);
        put_le(d, at + size, 8);
        put_le(d, 1, 4); /* of one disk */
    }
    put_le(d, END_SIG, 4);
    put_le(d, 0, 4); /* disks */
    put_le(d, count < 0xffff ? count : 0xffff, 2);
    put_le(d, count < 0xffff ? count : 0xffff, 2);
    put_le(d, size < wide32 ? size : wide32, 4);
    put_le(d, at < wide32 ? at : wide32, 4);
    put_le(d, 0, 2); /* comment */
    return tf_out_write(w->out, d->p, d->len, err);
}

void tf_zip_writer_release(struct tf_zip_writer *w)
{
    tf_buf_release(&w->dir);
    tf_buf_release(&w->head);
}
