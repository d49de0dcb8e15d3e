/* copies.c - see copies.h. */
#include "base/copies.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { FDS = 3 };

/* A message of a request: its data are its numbers. */
struct message {
    struct msghdr h;
    struct iovec data;
    union {
        char bytes[CMSG_SPACE(FDS * sizeof(int))];
        struct cmsghdr align;
    } control;
};

struct numbers {
    pid_t group;
    int place;
};

static void begin(struct message *m, struct numbers *numbers)
{
    memset(m, 0, sizeof *m);
    m->data = (struct iovec){numbers, sizeof *numbers};
    m->h = (struct msghdr){.msg_iov = &m->data,
                           .msg_iovlen = 1,
                           .msg_control = m->control.bytes,
                           .msg_controllen = sizeof m->control.bytes};
}

bool tf_copies_ask(int socket, const struct tf_copy_request *r)
{
    const int fds[FDS] = {r->in, r->out, r->life};
    struct numbers numbers = {r->group, r->place};
    struct message m;
    begin(&m, &numbers);
    struct cmsghdr *c = CMSG_FIRSTHDR(&m.h);
    *c = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof fds),
                          .cmsg_level = SOL_SOCKET,
                          .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(c), fds, sizeof fds);
    ssize_t n;
    while ((n = sendmsg(socket, &m.h, MSG_NOSIGNAL)) < 0 && errno == EINTR)
        continue;
    return n == (ssize_t)sizeof numbers;
}

bool tf_copies_next(int socket, struct tf_copy_request *r)
{
    int fds[FDS];
    for (;;) {
        struct numbers numbers;
        struct message m;
        begin(&m, &numbers);
        const ssize_t n = recvmsg(socket, &m.h, MSG_CMSG_CLOEXEC);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        const struct cmsghdr *c = CMSG_FIRSTHDR(&m.h);
        if (n != (ssize_t)sizeof numbers || c == NULL || c->cmsg_len != CMSG_LEN(sizeof fds))
            continue; /* no descriptors were left for them */
        memcpy(fds, CMSG_DATA(c), sizeof fds);
        r->group = numbers.group;
        r->place = numbers.place;
        r->in = fds[0];
        r->out = fds[1];
        r->life = fds[2];
        return true;
    }
}

static bool is_copy;

void tf_copies_leave(void)
{
    if (is_copy)
        _exit(TF_FAILED);
}

static bool become(const struct tf_copy_request *r)
{
    is_copy = true;
    signal(SIGCHLD, SIG_DFL);
    if (setpgid(0, r->group) != 0 || dup2(r->in, STDIN_FILENO) < 0 ||
        dup2(r->out, STDOUT_FILENO) < 0)
        return false;
    close(r->in);
    close(r->out);
    return true;
}

void tf_copies_await(void)
{
    char byte;
    ssize_t n;
    while ((n = recv(STDIN_FILENO, &byte, 1, MSG_PEEK)) < 0 && errno == EINTR)
        continue;
    if (n <= 0)
        _exit(TF_OK);
}

int tf_copies_make(void)
{
    struct tf_copy_request r;
    signal(SIGCHLD, SIG_IGN); /* nobody waits for them */
    while (tf_copies_next(STDIN_FILENO, &r)) {
        const pid_t pid = fork();
        if (pid == 0 && become(&r))
            return r.place;
        if (pid == 0)
            _exit(TF_FAILED);
        close(r.in); /* where there is no process, the one that asked sees the end of both */
        close(r.out);
        close(r.life);
    }
    _exit(TF_OK);
}
