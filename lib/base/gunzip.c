/* gunzip.c - inflate the members of a gzip file. */
#include "base/gunzip.h"
#include "base/buf.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <zlib.h>

struct gunzip {
    struct tf_in *raw; /* the file */
    z_stream z;
    bool in_member; /* between the start and the end of a member */
    bool any;       /* a member has been read */
    bool padding;   /* the last member has been read, and a zero after it */
};

/* What follows a member: another one, or zeros that pad the file. 1, 0 at the end, or -1. */
static int next_member(struct gunzip *g, struct tf_err *err)
{
    ssize_t have = tf_in_fill(g->raw, 2, err);
    if (have < 0)
        return -1;
    if (!g->padding && tf_is_gzip(g->raw->buf + g->raw->pos, (size_t)have)) {
        g->in_member = inflateReset(&g->z) == Z_OK;
        return 1;
    }
    if (!g->any)
        return tf_fail(err, "%s: gzip: not a gzip file", g->raw->name);
    for (; (have = tf_in_fill(g->raw, 1, err)) > 0; g->raw->pos++) {
        if (g->raw->buf[g->raw->pos] != 0)
            return tf_fail(err, "%s: gzip: garbage after the compressed data", g->raw->name);
        g->padding = true; /* also when this is asked again after the error */
    }
    return (int)have;
}

/* Bytes for the tf_in: their number, 0 at the end, or -1. */
static ssize_t read_inflated(void *arg, void *dst, size_t n, struct tf_err *err)
{
    struct gunzip *g = arg;
    g->z.next_out = dst;
    g->z.avail_out = n < 1 << 30 ? (uInt)n : 1 << 30;
    const uInt room = g->z.avail_out;
    while (g->z.avail_out == room) {
        int rc = g->in_member ? 1 : next_member(g, err);
        if (rc <= 0)
            return rc;
        ssize_t have = tf_in_fill(g->raw, 1, err);
        if (have < 0)
            return -1;
        if (have == 0)
            return tf_fail(err, "%s: gzip: the file is truncated", g->raw->name);
        g->z.next_in = g->raw->buf + g->raw->pos;
        g->z.avail_in = (uInt)have; /* at most the size of the buffer */
        rc = inflate(&g->z, Z_NO_FLUSH);
        g->raw->pos += (size_t)have - g->z.avail_in;
        if (rc == Z_MEM_ERROR)
            tf_out_of_memory(0, NULL);
        if (rc == Z_STREAM_END) {
            g->in_member = false;
            g->any = true;
        } else if (rc != Z_OK) {
            return tf_fail(err, "%s: gzip: %s", g->raw->name,
                           g->z.msg != NULL ? g->z.msg : "damaged data");
        }
    }
    return (ssize_t)(room - g->z.avail_out);
}

static void gunzip_free(void *arg)
{
    struct gunzip *g = arg;
    inflateEnd(&g->z);
    free(g);
}

int tf_gunzip(struct tf_in *in, struct tf_err *err)
{
    enum { GZIP_ONLY = 16 };
    struct gunzip *g = tf_xcalloc(1, sizeof *g);
    if (inflateInit2(&g->z, MAX_WBITS + GZIP_ONLY) != Z_OK) {
        free(g);
        return tf_fail(err, "%s: gzip: cannot start zlib", in->name);
    }
    g->raw = tf_in_interpose(in, read_inflated, g, gunzip_free);
    return 0;
}

bool tf_is_named(const char *path, const char *end)
{
    const size_t n = strlen(path) - (tf_ends_with(path, ".gz") ? 3 : 0), k = strlen(end);
    return n >= k && strncasecmp(path + n - k, end, k) == 0;
}

int tf_in_unpack(struct tf_in *in, struct tf_err *err)
{
    const ssize_t n = tf_in_fill(in, 2, err);
    return n < 0 ? -1 : tf_is_gzip(in->buf + in->pos, (size_t)n) ? tf_gunzip(in, err) : 0;
}

int tf_read_unpacked(char **data, size_t *n, const char *path, size_t max, struct tf_err *err)
{
    static const size_t most = (size_t)4 << 30;
    struct tf_in in;
    if (tf_in_open(&in, path, err) != 0)
        return -1;
    int rc = tf_in_unpack(&in, err);
    if (rc == 0)
        rc = tf_in_all(&in, data, n, in.size < 0 && max > most ? most : max, err);
    tf_in_close(&in);
    return rc;
}

int tf_inflate(void *dst, size_t size, const void *src, size_t n, struct tf_err *err)
{
    static const size_t most = 1 << 30; /* of an uInt */
    z_stream z = {.next_out = dst, .next_in = (void *)src};
    int rc = inflateInit2(&z, -MAX_WBITS);
    if (rc != Z_OK)
        return tf_fail(err, "cannot start zlib");
    while (rc == Z_OK) {
        const size_t in = n - z.total_in, out = size - z.total_out;
        z.avail_in = (uInt)(in < most ? in : most);
        z.avail_out = (uInt)(out < most ? out : most);
        rc = inflate(&z, Z_NO_FLUSH);
    }
    const bool whole = rc == Z_STREAM_END && z.total_in == n && z.total_out == size;
    inflateEnd(&z);
    if (rc == Z_MEM_ERROR)
        tf_out_of_memory(0, NULL);
    return whole ? 0 : tf_fail(err, "damaged: its compressed data");
}
