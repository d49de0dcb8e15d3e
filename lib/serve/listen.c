/* listen.c - see listen_private.h. */
#include "serve/listen_private.h"
#include "base/memory.h"
#include "base/parse.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { FIRST_PASSED = 3, BACKLOG = 1024 };

/* The number of sockets that systemd has passed to this process. */
static long passed(void)
{
    const char *pid = getenv("LISTEN_PID"), *n = getenv("LISTEN_FDS");
    const bool ours = pid != NULL && n != NULL && strtol(pid, NULL, 10) == (long)getpid();
    const long count = ours ? strtol(n, NULL, 10) : 0;
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDS");
    return count;
}

static int use_passed(long n, struct tf_err *err)
{
    int on = 0;
    socklen_t size = sizeof on;
    if (n > 1)
        return tf_fail(err, "%ld sockets passed by systemd, not one", n);
    if (getsockopt(FIRST_PASSED, SOL_SOCKET, SO_ACCEPTCONN, &on, &size) != 0 || !on)
        return tf_fail(err, "the socket passed by systemd does not listen");
    fcntl(FIRST_PASSED, F_SETFD, FD_CLOEXEC);
    fcntl(FIRST_PASSED, F_SETFL, fcntl(FIRST_PASSED, F_GETFL) | O_NONBLOCK);
    return FIRST_PASSED;
}

static int open_socket(const struct addrinfo *a)
{
    const int on = 1;
    const int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, a->ai_addr, a->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    const int sys = errno;
    close(fd);
    errno = sys;
    return -1;
}

static int open_address(const char *address, struct tf_err *err)
{
    const struct addrinfo hints = {.ai_family = AF_UNSPEC,
                                   .ai_socktype = SOCK_STREAM,
                                   .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE};
    struct addrinfo *found = NULL;
    const char *colon = strrchr(address, ':');
    const bool brackets = address[0] == '[' && colon != NULL && colon[-1] == ']';
    int64_t port; /* getaddrinfo takes 65537 for 1 */
    if (colon == NULL || colon == address)
        return tf_fail_status(err, TF_USAGE,
                              "--listen %s: not of the form ADDRESS:PORT, such as 127.0.0.1:8080",
                              address);
    if (tf_parse_int(&port, colon + 1, 0, 65535, err) != 0) {
        err->status = TF_USAGE;
        return tf_context(err, "--listen %s: port", address);
    }
    char *host = tf_xstrndup(address + brackets, (size_t)(colon - address) - 2 * brackets);
    const bool local = strcmp(host, "localhost") == 0;
    const int rc = getaddrinfo(local ? "127.0.0.1" : host, colon + 1, &hints, &found);
    free(host);
    if (rc != 0)
        return tf_fail_status(err, TF_USAGE, "--listen %s: %s", address,
                              rc == EAI_NONAME ? "names are not looked up, give the address"
                                               : gai_strerror(rc));
    const int fd = open_socket(found);
    freeaddrinfo(found);
    return fd >= 0 ? fd : tf_fail_errno(err, "--listen %s", address);
}

static void describe(int fd, struct tf_buf *url)
{
    struct sockaddr_storage a;
    socklen_t size = sizeof a;
    char host[64], port[16];
    if (getsockname(fd, (struct sockaddr *)&a, &size) != 0 || a.ss_family == AF_UNIX ||
        getnameinfo((struct sockaddr *)&a, size, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        tf_buf_str(url, "a socket of systemd");
    else
        tf_buf_printf(url, strchr(host, ':') != NULL ? "http://[%s]:%s" : "http://%s:%s", host,
                      port);
}

int tf_listen(const char *address, struct tf_buf *url, struct tf_err *err)
{
    const long n = passed();
    const int fd = address == NULL && n > 0
                       ? use_passed(n, err)
                       : open_address(address != NULL ? address : "127.0.0.1:8080", err);
    if (fd >= 0)
        describe(fd, url);
    return fd;
}
