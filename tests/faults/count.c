/* count.c - how much of our code a tool runs. In programs built with -fsanitize-coverage=trace-pc
 * (`make counted`) every basic block calls this; TF_COUNT names a file of 8 bytes that receives the
 * number. Unlike seconds it is the same in every run. */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static uint64_t unused, *count = &unused;

void __sanitizer_cov_trace_pc(void);

__attribute__((no_sanitize_coverage)) void __sanitizer_cov_trace_pc(void)
{
    ++*count;
}

/* Before main(), whose sandbox allows no other file. */
__attribute__((constructor, no_sanitize_coverage)) static void start(void)
{
    const char *path = getenv("TF_COUNT");
    int fd = path != NULL ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
    if (fd < 0)
        return;
    void *p = ftruncate(fd, 0) == 0 && ftruncate(fd, sizeof *count) == 0
                  ? mmap(NULL, sizeof *count, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
                  : MAP_FAILED;
    close(fd);
    if (p != MAP_FAILED)
        count = p;
}
