/* listen_private.h - the socket on which the service accepts connections. */
#ifndef TF_SERVE_LISTEN_PRIVATE_H
#define TF_SERVE_LISTEN_PRIVATE_H

#include "base/buf.h"

/* A socket for ADDRESS:PORT ([ADDRESS]:PORT in IPv6; port 0: the kernel chooses one), or the one
 * that systemd has passed (sd_listen_fds(3)) if address is NULL and it has; else 127.0.0.1:8080.
 * Appends to `url` where it is. Returns the descriptor, or -1. */
int tf_listen(const char *address, struct tf_buf *url, struct tf_err *err) TF_MUST_CHECK;

#endif
