/* phrases.c - see phrases.h. */
#include "text/phrases.h"
#include "base/buf.h"
#include "base/pipeline.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

/* Copy all that can be read. */
static int copy_all(int to, int from, struct tf_err *err)
{
    char bytes[1 << 14];
    for (;;) {
        const ssize_t n = read(from, bytes, sizeof bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return tf_fail_errno(err, "reading from a pipe");
        if (n == 0)
            return lseek(to, 0, SEEK_SET) == 0 ? 0 : tf_fail_errno(err, "a file in memory");
        for (ssize_t done = 0, some; done < n; done += some) {
            some = write(to, bytes + done, (size_t)(n - done));
            if (some < 0)
                return tf_fail_errno(err, "writing to memory");
        }
    }
}

static int convert(int *fd, const char *path, const char *model, struct tf_err *err)
{
    const char *const argv[] = {"tf-tokenize", "--pieces", "--target", "--phrases", "2", "--bad",
                                "fail",        "-m",       model,      path,        NULL};
    const char *const *const tools[] = {argv};
    struct tf_pipeline *p;
    int to, from;
    *fd = memfd_create("terms", 0);
    if (*fd < 0)
        return tf_fail_errno(err, "a file in memory");
    if (tf_pipeline_start(&p, tools, 1, &to, &from, err) != 0)
        return -1;
    close(to);
    struct tf_err copying = {0};
    const int copied = copy_all(*fd, from, &copying);
    close(from);
    const int rc = tf_pipeline_wait(p, err);
    tf_pipeline_free(p);
    if (rc == 0 && copied != 0)
        *err = copying;
    return rc == 0 ? copied : rc;
}

int tf_phrases_add(struct tf_strs *decode, const char *path, const char *model, struct tf_err *err)
{
    int fd;
    struct tf_buf file = {0};
    const int rc = convert(&fd, path, model, err);
    if (rc != 0)
        return rc;
    tf_buf_printf(&file, "/dev/fd/%d", fd);
    const char *const words[] = {"--terms", file.p, "--terms-name", path};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        tf_strs_add(decode, words[i]);
    return 0;
}
