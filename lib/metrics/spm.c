/* spm.c - a line to the child, a line of pieces back; the child flushes when its input is idle, so neither waits for the other. */
#include "metrics/spm.h"
#include "base/file.h"
#include "base/hash.h"
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static struct {
    pid_t pid;
    int to;
    struct tf_in from;
    struct tf_err err;
    char name[32];
} spm = {.to = -1};

static const char *program(char *path, size_t size)
{
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n > 0) {
        self[n] = 0;
        snprintf(path, size, "%s/tf-tokenize", dirname(self));
        if (!access(path, X_OK))
            return path;
    }
    return "tf-tokenize";
}

int tf_spm_open(const char *model, struct tf_err *err)
{
    enum { MODEL_MAX = 1 << 30 };
    char path[PATH_MAX + 16], hex[65], *bytes;
    uint8_t sha[32];
    size_t n;
    int in[2], out[2];
    posix_spawn_file_actions_t a;
    if (tf_read_file(&bytes, &n, model, MODEL_MAX, err) < 0)
        return -1;
    tf_sha256_of(sha, bytes, n);
    free(bytes);
    snprintf(spm.name, sizeof spm.name, "spm-%.8s", tf_hex(hex, sha, sizeof sha));
    /* A socket, since writing to one can leave SIGPIPE out. */
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in) < 0)
        return tf_fail_errno(err, "socketpair");
    if (pipe2(out, O_CLOEXEC) < 0) {
        close(in[0]);
        close(in[1]);
        return tf_fail_errno(err, "pipe");
    }
    char *argv[] = {"tf-tokenize", "--pieces", "--threads", "1", "-m", (char *)model, NULL};
    posix_spawn_file_actions_init(&a);
    posix_spawn_file_actions_adddup2(&a, in[1], 0);
    posix_spawn_file_actions_adddup2(&a, out[1], 1);
    int rc = posix_spawnp(&spm.pid, program(path, sizeof path), &a, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&a);
    close(in[1]);
    close(out[1]);
    spm.to = in[0];
    spm.from = (struct tf_in){.fd = out[0], .name = tf_xstrdup("tf-tokenize"), .cap = 1 << 16, .buf = tf_xmalloc(1 << 16), .size = -1};
    if (rc) {
        spm.pid = 0;
        errno = rc;
        return tf_fail_errno(err, "tf-tokenize");
    }
    return 0;
}

static int send_all(const char *p, size_t n)
{
    while (n) {
        ssize_t k = send(spm.to, p, n, MSG_NOSIGNAL);
        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0)
            return tf_fail_errno(&spm.err, "tf-tokenize");
        p += k;
        n -= (size_t)k;
    }
    return 0;
}

void tf_tokenize_spm(struct tf_tokens *t, struct tf_text line)
{
    const char *pieces;
    size_t n = 0;
    t->n = 0;
    if (spm.err.msg[0] || !spm.pid)
        return;
    if (send_all(line.p, line.n) < 0 || send_all("\n", 1) < 0)
        return;
    int rc = tf_in_line(&spm.from, &pieces, &n, TF_LINES_MAX, &spm.err);
    if (rc == 0 || rc == 2)
        tf_fail(&spm.err, "tf-tokenize: %s", rc ? "a line too long" : "ended early");
    if (rc != 1)
        return;
    tf_buf_clear(&t->line);
    tf_buf_add(&t->line, pieces, n);
    tf_tokenize_none(t, (struct tf_text){t->line.p, t->line.len});
}

const char *tf_spm_name(void)
{
    return spm.name[0] ? spm.name : "spm";
}

int tf_spm_close(struct tf_err *err)
{
    int status = 0;
    if (spm.to >= 0)
        close(spm.to);
    spm.to = -1;
    tf_in_close(&spm.from);
    if (!spm.pid)
        return 0;
    while (waitpid(spm.pid, &status, 0) < 0 && errno == EINTR)
        continue;
    spm.pid = 0;
    if (spm.err.msg[0] && !err->msg[0])
        return *err = spm.err, -1;
    return status && !err->msg[0] ? tf_fail(err, "tf-tokenize failed") : 0;
}

int tf_spm_choose(enum tf_tokenizer *out, const char *name, bool has_model, struct tf_err *err)
{
    int k = 0;
    name = name ? name : has_model ? "spm" : "13a";
    while (tf_tokenizer_names[k] && strcmp(tf_tokenizer_names[k], name))
        k++;
    if (!strcmp(name, "ja-mecab") || !strcmp(name, "ko-mecab"))
        return tf_fail_status(err, TF_USAGE, "--tokenize %s: needs MeCab, which is not here", name);
    if (!tf_tokenizer_names[k])
        return tf_fail_status(err, TF_USAGE, "--tokenize %s: one of 13a, intl, zh, char, none, spm", name);
    if (k >= TF_TOK_SPM && !has_model)
        return tf_fail_status(err, TF_USAGE, "--tokenize %s: needs --spm-model FILE", name);
    if (k < TF_TOK_SPM && has_model)
        return tf_fail_status(err, TF_USAGE, "--spm-model goes with --tokenize spm, not %s", name);
    *out = (enum tf_tokenizer)k;
    return 0;
}
