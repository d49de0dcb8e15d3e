/* zip_private.h - read ZIP archives in memory, and write them to an output without compression
 * (PKWARE's APPNOTE). ZIP64 is used where sizes require it. */
#ifndef TF_EXCHANGE_ZIP_PRIVATE_H
#define TF_EXCHANGE_ZIP_PRIVATE_H

#include "base/buf.h"
#include "base/output.h"

enum {
    TF_ZIP_MAX_NAME = 255, /* bytes of a member's name */
    /* alignment in the archive of the members that are written */
    TF_ZIP_ALIGN = 64,
};

struct tf_zip {
    const uint8_t *p; /* the archive; borrowed */
    size_t n;
    uint64_t count, dir, dir_end; /* members; where their directory is */
    uint64_t free;                /* where the next member may begin */
    const uint8_t *next;          /* entry of the directory */
    uint64_t left;                /* members from there on */
    bool deflate;                 /* set it after tf_zip_open: members may be compressed */
};

/* A member; data are in the archive. */
struct tf_zip_member {
    char name[TF_ZIP_MAX_NAME + 1]; /* UTF-8 */
    uint64_t at, size; /* of the local header; of the data */
    uint32_t crc;
    const uint8_t *data; /* compressed, if it is deflated */
    uint64_t packed;     /* bytes there */
    bool deflated;
};

/* Find the directory of an archive of n bytes, which must outlive *z. Fails if the archive has
 * several parts or more than `most` members. */
int tf_zip_open(struct tf_zip *z, const void *archive, size_t n, uint64_t most,
                struct tf_err *err) TF_MUST_CHECK;
/* Read the next member and check its CRC-32, unless it is deflated: 1; 0 at the end; -1 if it is
 * damaged, encrypted or compressed in a way that is not allowed. Members must be in the order of
 * the directory and not overlap. */
int tf_zip_next(struct tf_zip *z, struct tf_zip_member *m, struct tf_err *err) TF_MUST_CHECK;

/* Set *data to the m->size bytes of a deflated member, which the caller frees, and check them. */
int tf_zip_inflate(const struct tf_zip_member *m, void **data, struct tf_err *err) TF_MUST_CHECK;

/* Initialise with {.out = out, .start = out->offset}. All members are dated 1 January 1980, so that
 * the same members make the same bytes. */
struct tf_zip_writer {
    struct tf_out *out; /* borrowed */
    uint64_t start;     /* of the archive in the output */
    uint64_t count;
    struct tf_buf dir, head; /* the directory so far; the header of the member at hand */
};
/* Write a member of head_n and n bytes. */
int tf_zip_put(struct tf_zip_writer *w, const char *name, const void *head, size_t head_n,
               const void *data, size_t n, struct tf_err *err) TF_MUST_CHECK;
/* Write the directory. The caller commits the output. */
int tf_zip_end(struct tf_zip_writer *w, struct tf_err *err) TF_MUST_CHECK;
void tf_zip_writer_release(struct tf_zip_writer *w);

#endif
