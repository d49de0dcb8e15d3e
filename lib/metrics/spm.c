/* spm.c - a line to the child, a line of pieces back; the child flushes when its input is idle, so
 * neither waits for the other. */
#include "metrics/spm.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/input.h"
#include "base/memory.h"
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

#define MODEL "/proc/self/fd/3" /* as the child sees it */

static struct {
    pid_t pid;
    int to, said; /* said: what the child writes to stderr */
    struct tf_in from;
    struct tf_err err;
    const char *model;
} spm = {.to = -1, .said = -1};

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

/* The model in a file of memory: read once, and hashed and loaded are the same bytes. */
static int copy_model(const char *path, uint8_t hash[32], struct tf_err *err)
{
    enum { MODEL_MAX = 1 << 30 };
    char *bytes;
    size_t n;
    if (tf_read_file(&bytes, &n, path, MODEL_MAX, err) < 0)
        return -1;
    tf_sha256_of(hash, bytes, n);
    int fd = memfd_create("tf-spm-model", MFD_CLOEXEC), rc = 0;
    if (fd < 0)
        tf_fail_errno(err, "%s: memory for the model", path);
    else if ((rc = tf_fd_write(fd, "memory for the model", bytes, n, err)) < 0)
        tf_context(err, "%s", path);
    free(bytes);
    if (rc == 0)
        return fd;
    close(fd);
    return -1;
}

static int spawn(int model, int in, int out, struct tf_err *err)
{
    char path[PATH_MAX + 16], most[24];
    char *argv[] = {"tf-tokenize", "--pieces", "--threads", "1",   "--max-line", most,
                    "--bad",       "fail",     "-m",        MODEL, NULL};
    const int fds[] = {in, out, spm.said, model}; /* none of them is below 3 */
    posix_spawn_file_actions_t a;
    snprintf(most, sizeof most, "%d", TF_LINES_MAX);
    posix_spawn_file_actions_init(&a);
    for (int i = 0; i < 4; i++)
        posix_spawn_file_actions_adddup2(&a, fds[i], i);
    errno = posix_spawnp(&spm.pid, program(path, sizeof path), &a, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&a);
    if (!errno)
        return 0;
    spm.pid = 0;
    return tf_fail_errno(err, "tf-tokenize");
}

int tf_spm_open(const char *model, uint8_t hash[32], struct tf_err *err)
{
    int in[2] = {-1, -1}, out[2] = {-1, -1}, rc = -1, copy = copy_model(model, hash, err);
    if (copy < 0)
        return -1;
    spm.model = model;
    spm.said = memfd_create("tf-spm-said", MFD_CLOEXEC);
    /* A socket, since writing to one can leave SIGPIPE out. */
    if (spm.said < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in) < 0 ||
        pipe2(out, O_CLOEXEC) < 0) {
        tf_fail_errno(err, "tf-tokenize");
    } else {
        spm.from = (struct tf_in){.fd = out[0],
                                  .name = tf_xstrdup("tf-tokenize"),
                                  .cap = 1 << 16,
                                  .buf = tf_xmalloc(1 << 16),
                                  .size = -1};
        rc = spawn(copy, in[1], out[1], err);
    }
    spm.to = in[0];
    close(copy);
    close(in[1]);
    close(out[1]);
    return rc;
}

static int send_all(const char *p, size_t n)
{
    while (n) {
        ssize_t k = send(spm.to, p, n, MSG_NOSIGNAL);
        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0) /* without the errno: EPIPE would mean stdout's */
            return tf_fail(&spm.err, "tf-tokenize: ended early");
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
    /* several times as long as the line */
    int rc = tf_in_line(&spm.from, &pieces, &n, SIZE_MAX / 2, &spm.err);
    if (rc == 0)
        tf_fail(&spm.err, "tf-tokenize: ended early");
    if (rc != 1)
        return;
    tf_buf_clear(&t->line);
    tf_buf_add(&t->line, pieces, n);
    tf_tokenize_none(t, (struct tf_text){t->line.p, t->line.len});
}

/* The child's own words, where it had any, go over ours; about the model they give it the user's
 * name. */
static void quote(struct tf_err *err)
{
    static const char of_model[] = "tf-tokenize: " MODEL;
    char said[sizeof err->msg];
    ssize_t n = pread(spm.said, said, sizeof said - 1, 0);
    if (n <= 0)
        return;
    said[n] = 0;
    said[strcspn(said, "\n")] = 0;
    bool model = !strncmp(said, of_model, sizeof of_model - 1);
    tf_fail(err, "%s%s", model ? spm.model : "", model ? said + sizeof of_model - 1 : said);
}

int tf_spm_close(struct tf_err *err)
{
    int status = 0;
    if (spm.to >= 0)
        close(spm.to);
    spm.to = -1;
    tf_in_close(&spm.from);
    while (spm.pid && waitpid(spm.pid, &status, 0) < 0 && errno == EINTR)
        continue;
    spm.pid = 0;
    if (status && !spm.err.msg[0])
        tf_fail(&spm.err, "tf-tokenize failed");
    if (status)
        quote(&spm.err);
    if (spm.said >= 0)
        close(spm.said);
    spm.said = -1;
    if (!spm.err.msg[0])
        return 0;
    *err = spm.err;
    return -1;
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
        return tf_fail_status(err, TF_USAGE, "--tokenize %s: one of 13a, intl, zh, char, none, spm",
                              name);
    if (k >= TF_TOK_SPM && !has_model)
        return tf_fail_status(err, TF_USAGE, "--tokenize %s: needs --spm-model FILE", name);
    if (k < TF_TOK_SPM && has_model)
        return tf_fail_status(err, TF_USAGE, "--spm-model goes with --tokenize spm, not %s", name);
    *out = (enum tf_tokenizer)k;
    return 0;
}
