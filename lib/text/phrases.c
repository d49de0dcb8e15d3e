/* phrases.c - see phrases.h. */
#include "text/phrases.h"
#include "base/buf.h"
#include "base/pipeline.h"

#include <sys/mman.h>
#include <unistd.h>

/* To the file in memory *fd, which file names. */
static int convert(int *fd, struct tf_buf *file, const char *path, const char *model,
                   struct tf_err *err)
{
    *fd = memfd_create("terms", 0);
    if (*fd < 0)
        return tf_fail_errno(err, "a file in memory");
    tf_buf_printf(file, "/dev/fd/%d", *fd);
    const char *const argv[] = {"tf-tokenize", "--pieces", "--target", "--phrases", "2",
                                "--bad",       "fail",     "-o",       file->p,     "-m",
                                model,         "--",       path,       NULL};
    const char *const *const tools[] = {argv};
    struct tf_pipeline *p;
    int to, from;
    if (tf_pipeline_start(&p, tools, 1, &to, &from, err) != 0)
        return -1;
    close(to);
    const int rc = tf_pipeline_wait(p, err);
    close(from);
    tf_pipeline_free(p);
    return rc == 0 && lseek(*fd, 0, SEEK_SET) != 0 ? tf_fail_errno(err, "a file in memory") : rc;
}

int tf_phrases_add(struct tf_strs *decode, const char *path, const char *model, struct tf_err *err)
{
    int fd;
    struct tf_buf file = {0};
    const int rc = convert(&fd, &file, path, model, err);
    if (rc != 0)
        return rc;
    tf_opt_add(decode, true, "--terms", file.p);
    tf_opt_add(decode, true, "--terms-name", path);
    return 0;
}
