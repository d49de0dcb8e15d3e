/* nccl.cc - sends and receives over sockets; see nccl.h. As NCCL's, they are queued on a stream and
 * make progress in the order of its work; when a rank is gone they never end, and only
 * ncclCommGetAsyncError reports it; the first one with a rank waits for it on the host. Two ranks
 * on one device are refused. */
#include "nccl.h"
#include "emulate.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { SUCCESS = 0, SYSTEM_ERROR = 2, INVALID_USAGE = 5, REMOTE_ERROR = 6, IN_PROGRESS = 7 };

struct id {
    unsigned char bytes[128];
};

struct ncclComm {
    int rank;
    std::vector<int> fd; /* of each other rank */
    std::vector<bool> met; /* there was an exchange with it */
    int error;
    bool aborted;
    size_t received;
};

namespace {

/* One direction of an exchange, as far as it has come. */
struct transfer {
    struct ncclComm *comm;
    int peer;
    bool sends;
    char *p;
    size_t n;
};

std::vector<transfer> group;
cudaStream_t group_stream;
int exchanges;

/* A socket without a file, named by the id and the rank. */
socklen_t name(struct sockaddr_un *a, const struct id &id, int rank)
{
    *a = {};
    a->sun_family = AF_UNIX;
    int n = snprintf(a->sun_path + 1, sizeof a->sun_path - 1, "tf-nccl-%02x%02x%02x%02x%02x%02x-%d",
                     id.bytes[0], id.bytes[1], id.bytes[2], id.bytes[3], id.bytes[4], id.bytes[5],
                     rank);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

bool whole(int fd, void *p, size_t n, bool sends)
{
    ssize_t k = sends ? send(fd, p, n, MSG_NOSIGNAL) : recv(fd, p, n, MSG_WAITALL);
    return k == (ssize_t)n;
}

/* Say who we are and learn who the other one is. */
bool greet(int fd, const int own[2], int theirs[2])
{
    return whole(fd, (void *)own, 2 * sizeof *own, true) &&
           whole(fd, theirs, 2 * sizeof *theirs, false);
}

int connect_to(const struct id &id, int rank)
{
    struct sockaddr_un a;
    socklen_t n = name(&a, id, rank);
    for (int i = 0; i < 20000; i++) { /* it may not listen yet */
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (connect(fd, (struct sockaddr *)&a, n) == 0)
            return fd;
        close(fd);
        usleep(1000);
    }
    return -1;
}

int listen_as(const struct id &id, int rank)
{
    struct sockaddr_un a;
    socklen_t n = name(&a, id, rank);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return bind(fd, (struct sockaddr *)&a, n) == 0 && listen(fd, 64) == 0 ? fd : -1;
}

/* What a rank sends to itself in a group, if sizes agree; without its other half it never ends. */
void move_to_self(std::vector<transfer> &all)
{
    for (transfer &out : all)
        for (transfer &in : all)
            if (out.sends && !in.sends && out.peer == out.comm->rank && in.peer == out.peer &&
                out.n == in.n) {
                memcpy(in.p, out.p, in.n);
                out.n = in.n = 0;
            }
}

/* Some bytes: is it done? */
bool move(transfer &t)
{
    while (t.n > 0 && t.peer != t.comm->rank) {
        int fd = t.comm->fd[(size_t)t.peer];
        ssize_t k = t.sends ? send(fd, t.p, t.n, MSG_NOSIGNAL) : recv(fd, t.p, t.n, 0);
        if (k <= 0) {
            if (k == 0 || (errno != EAGAIN && errno != EINTR))
                t.comm->error = REMOTE_ERROR;
            return false;
        }
        t.p += k;
        t.n -= (size_t)k;
        t.comm->received += t.sends ? 0 : (size_t)k;
    }
    return t.n == 0;
}

int get_version(int *v)
{
    *v = 22304;
    return SUCCESS;
}

const char *error_string(int rc)
{
    return rc == SUCCESS         ? "no error"
           : rc == INVALID_USAGE ? "invalid usage"
           : rc == REMOTE_ERROR  ? "remote process exited or there was a network error"
                                 : "unhandled system error";
}

int get_unique_id(struct id *id)
{
    return getrandom(id->bytes, sizeof id->bytes, 0) == (ssize_t)sizeof id->bytes ? SUCCESS
                                                                                 : SYSTEM_ERROR;
}

int comm_init_rank(struct ncclComm **comm, int ranks, struct id id, int rank)
{
    static std::vector<struct ncclComm *> &kept = *new std::vector<struct ncclComm *>;
    struct ncclComm *c = new ncclComm();
    kept.push_back(c); /* queued work may refer to it to the end: see leave() */
    int own[2] = {rank, 0}, theirs[2], rc = SUCCESS, door = listen_as(id, rank);
    cudaGetDevice(&own[1]);
    c->rank = rank;
    c->fd.assign((size_t)ranks, -1);
    c->met.assign((size_t)ranks, false);
    for (int i = 0; rc == SUCCESS && i < ranks; i++) {
        if (i == rank)
            continue;
        int fd = i < rank ? connect_to(id, i) : accept4(door, nullptr, nullptr, SOCK_CLOEXEC);
        if (fd < 0 || !greet(fd, own, theirs)) {
            rc = SYSTEM_ERROR;
            break;
        }
        if (theirs[1] == own[1])
            rc = INVALID_USAGE;
        fcntl(fd, F_SETFL, O_NONBLOCK);
        c->fd[(size_t)theirs[0]] = fd;
    }
    close(door);
    *comm = c;
    const char *blocking = getenv("NCCL_COMM_BLOCKING");
    if (rc == SUCCESS && blocking != nullptr && atoi(blocking) == 0)
        return IN_PROGRESS;
    return rc;
}

int leave(struct ncclComm *c, bool wait)
{
    char byte;
    if (getenv("TF_EMULATE_TELL") != nullptr)
        fprintf(stderr, "emulate: %zu bytes from other ranks\n", c->received);
    for (int fd : c->fd)
        if (fd >= 0)
            shutdown(fd, SHUT_WR);
    for (int fd : c->fd) {
        if (fd < 0)
            continue;
        fcntl(fd, F_SETFL, 0);
        while (wait && recv(fd, &byte, 1, 0) > 0)
            ;
        close(fd);
    }
    c->fd.clear();
    return SUCCESS; /* queued work may still refer to it: kept to the end */
}

/* Of ranks on one machine none returns before all of them have called it. */
int comm_destroy(struct ncclComm *c)
{
    return leave(c, true);
}

int comm_abort(struct ncclComm *c)
{
    c->aborted = true;
    return leave(c, false);
}

int comm_get_async_error(struct ncclComm *c, int *rc)
{
    *rc = c->error;
    return SUCCESS;
}

int group_start()
{
    group.clear();
    return SUCCESS;
}

int group_end()
{
    const char *stall = getenv("TF_EMULATE_STALL");
    const bool stalls = ++exchanges == (stall != nullptr ? atoi(stall) : 0);
    if (group.empty())
        return SUCCESS;
    for (transfer &t : group) {
        while (stalls && !t.comm->met[(size_t)t.peer])
            pause();
        t.comm->met[(size_t)t.peer] = true;
    }
    emulate::enqueue_waiting(group_stream, [all = group, stalls]() mutable {
        bool done = true;
        move_to_self(all);
        for (transfer &t : all)
            done &= t.comm->aborted || (!stalls && t.comm->error == SUCCESS && move(t));
        return done;
    });
    return SUCCESS;
}

int post(const void *p, size_t n, int peer, bool sends, struct ncclComm *c, cudaStream_t s)
{
    group.push_back({c, peer, sends, (char *)p, n});
    group_stream = s;
    return SUCCESS;
}

int send_to(const void *p, size_t n, int, int peer, struct ncclComm *c, cudaStream_t s)
{
    return post(p, n, peer, true, c, s);
}

int receive_from(void *p, size_t n, int, int peer, struct ncclComm *c, cudaStream_t s)
{
    return post(p, n, peer, false, c, s);
}

} // namespace

void *open_library()
{
    static int library;
    return getenv("TF_EMULATE_NO_NCCL") == nullptr ? &library : nullptr;
}

void *find_symbol(void *, const char *name)
{
    static const struct {
        const char *name;
        void *function;
    } all[] = {
        {"ncclGetVersion", (void *)get_version},
        {"ncclGetErrorString", (void *)error_string},
        {"ncclGetUniqueId", (void *)get_unique_id},
        {"ncclCommInitRank", (void *)comm_init_rank},
        {"ncclCommDestroy", (void *)comm_destroy},
        {"ncclCommAbort", (void *)comm_abort},
        {"ncclCommGetAsyncError", (void *)comm_get_async_error},
        {"ncclGroupStart", (void *)group_start},
        {"ncclGroupEnd", (void *)group_end},
        {"ncclSend", (void *)send_to},
        {"ncclRecv", (void *)receive_from},
    };
    for (auto &f : all)
        if (std::string(f.name) == name)
            return f.function;
    return nullptr;
}
