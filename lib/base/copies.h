/* copies.h - a process that makes copies of itself on request, by fork(2). What it has read, it has
 * read once: the copies share this memory, which none of them writes.
 *
 * A request is a message on a socket (SOCK_SEQPACKET): descriptors and two numbers. */
#ifndef TF_BASE_COPIES_H
#define TF_BASE_COPIES_H

#include "base/err.h"
#include <stdbool.h>
#include <sys/types.h>

struct tf_copy_request {
    int in, out; /* stdin and stdout of the copy */
    int life;    /* the copy has it until it ends; of a pipe */
    pid_t group; /* that it joins */
    int place;   /* in its pipe, from 0 */
};

/* Ask on a socket. The descriptors stay the caller's. False: nobody takes it. */
bool tf_copies_ask(int socket, const struct tf_copy_request *r);
/* The next request on a socket, whose descriptors are the caller's. False: nobody asks any more. */
bool tf_copies_next(int socket, struct tf_copy_request *r);
/* Wait for the first request on stdin, and leave it there: who asks has then seen that this process
 * may read its files. The process ends if nobody asks any more. */
void tf_copies_await(void);
/* Make a copy for each request on stdin. Returns in the copies, with their place; the process
 * itself ends when nobody asks any more. Call it before threads are started. */
int tf_copies_make(void);
/* A copy whose input ends too early, or with an error, ends here without a word, since the process
 * before it in the pipe has said why. Elsewhere it returns. */
void tf_copies_leave(void);

#endif
