/* The line reader: the lines of any bytes, joined again, are those bytes. The first byte gives the
 * limit. */
#include "base/input.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (n == 0)
        return 0;
    size_t max = data[0], got, total = 0;
    data++;
    n--;
    int fd = memfd_create("lines", 0);
    TF_ASSERT(fd >= 0 && write(fd, data, n) == (ssize_t)n && lseek(fd, 0, SEEK_SET) == 0);
    struct tf_in in;
    struct tf_err err = {0};
    char path[32];
    snprintf(path, sizeof path, "/dev/fd/%d", fd);
    TF_ASSERT(tf_in_open(&in, path, &err) == 0);
    const char *line;
    int rc;
    while ((rc = tf_in_line(&in, &line, &got, max, &err)) > 0) {
        TF_ASSERT((rc == 2) == (got > max));
        TF_ASSERT(total + got <= n &&
                  memcmp(line, data + total, rc == 1 || got < 64 ? got : 64) == 0);
        TF_ASSERT(total + got == n || data[total + got] == '\n');
        total += got + (total + got < n);
        TF_ASSERT(in.offset + in.pos == total);
    }
    TF_ASSERT(rc == 0 && total == n);
    tf_in_close(&in);
    close(fd);
    return 0;
}
