/* child.h - what a function does in a process of its own, and pipes that another process feeds. */
#ifndef TF_TESTS_CHILD_H
#define TF_TESTS_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct child {
    int status;      /* of exit, or 128 + the signal; 99 when fn returned */
    char out[65536]; /* what it wrote to stdout, cut to fit; "" with stdout_path */
    char err[65536]; /* to stderr */
};

/* Run fn(arg) in a child process that has only the standard streams, and wait for it. stdout_path:
 * where its stdout goes, "" for a closed one, NULL to collect it. */
void run_child(struct child *c, void (*fn)(void *arg), void *arg, const char *stdout_path);

/* A child process that writes these bytes into a pipe in pieces of `step` bytes, then ends. The
 * result is the path of the reading end, valid until the next call, which closes it. */
const char *piped(const void *data, size_t n, size_t step);

/* Open a new pseudo-terminal, `columns` wide (0: of unknown width): fd[0] is our end, fd[1] that of
 * the programs. It does not become the controlling terminal. False if there is none to be had. */
bool open_terminal(int fd[2], unsigned short columns);

#endif
