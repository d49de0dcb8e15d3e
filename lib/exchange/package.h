/* package.h - a package of Argos Translate as one file, .argosmodel: a ZIP archive of a folder with
 * metadata.json, a SentencePiece model or codes, and the folder "model" (argostranslate/package.py,
 * 1.11). It is unpacked in memory, so that no name in it is a path. */
#ifndef TF_EXCHANGE_PACKAGE_H
#define TF_EXCHANGE_PACKAGE_H

#include "base/arena.h"
#include "base/err.h"

#include <stddef.h>

enum { TF_PACKAGE_FILES = 64 };

struct tf_package_file {
    const char *name; /* from metadata.json's folder: "model/model.bin" */
    int fd;           /* of memory */
};

struct tf_package {
    struct tf_package_file v[TF_PACKAGE_FILES];
    size_t n;
};

/* Unpack what a model consists of: the files beside metadata.json, and those in "model"; names are
 * in the arena. Errors: an archive that is no package, or several; members that are damaged, or
 * unpacked are more than 64 MiB and ten times the archive. */
int tf_package_read(struct tf_package *p, struct tf_arena *a, const char *path,
                    struct tf_err *err) TF_MUST_CHECK;
void tf_package_release(struct tf_package *p);

#endif
