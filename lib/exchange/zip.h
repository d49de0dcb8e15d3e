/* zip.h - ZIP archives (PKWARE's APPNOTE) in memory, read member by member, and written: stored,
 * not compressed; ZIP64 where sizes ask for it. */
#ifndef TF_EXCHANGE_ZIP_H
#define TF_EXCHANGE_ZIP_H

#include "base/buf.h"
#include "base/output.h"

enum {
    TF_ZIP_MAX_NAME = 255, /* bytes of a member's name */
    /* what is written for a member begins at multiples of this in the archive */
    TF_ZIP_ALIGN = 64,
};

struct tf_zip {
    const uint8_t *p; /* the archive; borrowed */
    size_t n;
    uint64_t count, dir, dir_end; /* members; where their directory is */
    uint64_t free;                /* where the next member may begin */
    const uint8_t *next;          /* entry of the directory */
    uint64_t left;                /* members from there on */
};

/* A view of the archive. */
struct tf_zip_member {
    const char *name; /* UTF-8; not terminated */
    size_t name_n;
    uint64_t at, size; /* of the local header; of the data */
    uint32_t crc;
    const uint8_t *data;
};

/* Find the directory of n bytes that outlive *z. An archive of several parts, or of more than
 * `most` members, is refused. */
int tf_zip_open(struct tf_zip *z, const void *archive, size_t n, uint64_t most,
                struct tf_err *err) TF_MUST_CHECK;
/* The next member, its CRC-32 checked: 1; 0 at the end; -1 on what is damaged, compressed or
 * encrypted, by name. Members lie in the order of the directory and apart, so that no byte is read
 * twice. */
int tf_zip_next(struct tf_zip *z, struct tf_zip_member *m, struct tf_err *err) TF_MUST_CHECK;

/* Begin with {.out = out, .start = out->offset}. The same members make the same bytes: all are of 1
 * January 1980. */
struct tf_zip_writer {
    struct tf_out *out; /* borrowed */
    uint64_t start;     /* of the archive in the output */
    uint64_t count;
    struct tf_buf dir, head; /* the directory so far; the header of the member at hand */
};
/* Begin a member of head_n and n bytes. The head is written; the caller writes the data, of which
 * the archive has the CRC, to the output. */
int tf_zip_begin(struct tf_zip_writer *w, const char *name, const void *head, size_t head_n,
                 const void *data, size_t n, struct tf_err *err) TF_MUST_CHECK;
/* the directory; the output is not committed */
int tf_zip_end(struct tf_zip_writer *w, struct tf_err *err) TF_MUST_CHECK;
void tf_zip_writer_release(struct tf_zip_writer *w);

#endif
