/* spm.c - a tf-tokenize as a child process, with a socket as its stdin and stdout: one line out,
 * its pieces back. tf-tokenize flushes its output when it waits for input, so neither waits
 * forever. */
#include "metrics/spm.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/input.h"
#include "base/log.h"
#include "base/opt.h"
#include "base/pipeline.h"
#include "text/vocab_file.h"

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

#define CHILD_MODEL "/proc/self/fd/3" /* the model as the child opens it */

static struct {
    pid_t pid;           /* 0: no child */
    struct tf_in socket; /* its stdin and stdout */
    int messages;        /* a file in memory: its stderr */
    const char *model;
    struct tf_err err; /* the first failure, which tf_spm_close reports */
} spm = {.socket = {.fd = -1}, .messages = -1};

/* Copy the vocabulary to a file in memory and hash it: it is read once, so it may be a pipe. */
static int copy_model(const char *path, uint8_t hash[32], struct tf_err *err)
{
    char *bytes;
    size_t n;
    if (tf_vocab_file_read(&bytes, &n, NULL, path, false, err) < 0)
        return -1;
    tf_sha256_of(hash, bytes, n);
    int fd = memfd_create("tf-spm-model", MFD_CLOEXEC);
    if (fd < 0) {
        tf_fail_errno(err, "%s: copy in memory", path);
    } else if (tf_fd_write(fd, "copy in memory", bytes, n, err) != 0) {
        tf_context(err, "%s", path);
        close(fd);
        fd = -1;
    }
    free(bytes);
    return fd;
}

static int start_child(int model, struct tf_err *err)
{
    char path[TF_TOOL_PATH], max_line[24];
    char *argv[] = {"tf-tokenize", "--pieces", "--threads", "1",         "--max-line", max_line,
                    "--bad",       "fail",     "-m",        CHILD_MODEL, NULL};
    int ends[2];
    posix_spawn_file_actions_t actions;
    snprintf(max_line, sizeof max_line, "%d", TF_LINES_MAX);
    /* A socket, because a write to a pipe that the child has closed raises SIGPIPE. */
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return tf_fail_errno(err, "tf-tokenize: socket");
    tf_in_from_fd(&spm.socket, ends[0], "tf-tokenize");
    spm.messages = memfd_create("tf-spm-messages", MFD_CLOEXEC);
    const int fds[] = {ends[1], ends[1], spm.messages, model}; /* all are above 2 */
    posix_spawn_file_actions_init(&actions);
    for (int i = 0; i < 4; i++)
        posix_spawn_file_actions_adddup2(&actions, fds[i], i);
    const char *program = tf_tool_path(path, "tf-tokenize");
    int sys = spm.messages < 0
                  ? errno
                  : posix_spawnp(&spm.pid, program, &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    if (sys == 0)
        return 0;
    spm.pid = 0;
    errno = sys;
    return tf_fail_errno(err, "tf-tokenize");
}

int tf_spm_open(const char *model, uint8_t hash[32], struct tf_err *err)
{
    int copy = copy_model(model, hash, err);
    if (copy < 0)
        return -1;
    spm.model = model;
    int rc = start_child(copy, err);
    close(copy);
    return rc;
}

static int send_all(const char *p, size_t n)
{
    while (n > 0) {
        ssize_t sent = send(spm.socket.fd, p, n, MSG_NOSIGNAL);
        if (sent > 0) {
            p += sent;
            n -= (size_t)sent;
        } else if (errno != EINTR) {
            return -1;
        }
    }
    return 0;
}

void tf_tokenize_spm(struct tf_tokens *t, struct tf_text line)
{
    const char *pieces;
    size_t n = 0;
    struct tf_err reset = {0}; /* what a read reports after the child died depends on timing */
    t->n = 0;
    if (spm.pid == 0 || spm.err.msg[0] != 0)
        return;
    if (send_all(line.p, line.n) != 0 || send_all("\n", 1) != 0 ||
        tf_in_line(&spm.socket, &pieces, &n, SIZE_MAX / 2, &reset) != 1) {
        tf_fail(&spm.err, "tf-tokenize: ended early");
        return;
    }
    if (spm.socket.pos < spm.socket.len) { /* each further line would be that of another one */
        tf_fail(&spm.err, "tf-tokenize: more than one line of pieces for a line");
        return;
    }
    tf_buf_clear(&t->line);
    tf_buf_add(&t->line, pieces, n);
    tf_tokenize_none(t, (struct tf_text){t->line.p, t->line.len});
}

/* The first line of the child's messages, if any, becomes the error. A message about the model
 * names the file that the user named. */
static void quote_message(struct tf_err *err)
{
    static const char of_model[] = "tf-tokenize: " CHILD_MODEL;
    char text[sizeof err->msg];
    ssize_t n = pread(spm.messages, text, sizeof text - 1, 0);
    if (n <= 0)
        return;
    text[n] = 0;
    text[strcspn(text, "\n")] = 0;
    if (strncmp(text, of_model, sizeof of_model - 1) == 0)
        tf_fail(err, "%s%s", spm.model, text + sizeof of_model - 1);
    else
        tf_fail(err, "%s", text);
}

int tf_spm_close(struct tf_err *err)
{
    int status = 0;
    tf_in_close(&spm.socket);
    while (spm.pid != 0 && waitpid(spm.pid, &status, 0) < 0 && errno == EINTR)
        continue;
    spm.pid = 0;
    if (status != 0 && spm.err.msg[0] == 0)
        tf_fail(&spm.err, "tf-tokenize: failed");
    if (spm.err.msg[0] != 0)
        quote_message(&spm.err);
    if (spm.messages >= 0)
        close(spm.messages);
    spm.messages = -1;
    if (spm.err.msg[0] == 0)
        return 0;
    *err = spm.err;
    return -1;
}

int tf_spm_choose(enum tf_tokenizer *out, const char *name, bool has_model, struct tf_err *err)
{
    struct tf_err why;
    name = name != NULL ? name : has_model ? "spm" : "13a";
    int k = tf_opt_find_word(tf_tokenizer_names, name, &why);
    if (strcmp(name, "ja-mecab") == 0 || strcmp(name, "ko-mecab") == 0)
        return tf_fail_status(err, TF_USAGE,
                              "--tokenize %s: needs MeCab, which tf-tools does not use", name);
    if (k < 0)
        return tf_fail_status(err, TF_USAGE, "--tokenize %s", why.msg);
    if (k >= TF_TOK_SPM && !has_model)
        return tf_fail_status(err, TF_USAGE, "--tokenize %s: needs --spm-model FILE", name);
    if (k < TF_TOK_SPM && has_model)
        return tf_fail_status(err, TF_USAGE, "--spm-model cannot be used with --tokenize %s", name);
    *out = (enum tf_tokenizer)k;
    return 0;
}

void tf_spm_warn(enum tf_tokenizer tokenizer, const uint8_t hash[32])
{
    /* flores200 is the vocabulary of NLLB-200; the files of the others are not known to us. */
    static const char flores200[] =
        "14bb8dfb35c0ffdea7bc01e56cea38b9e3d5efcdcb9c251d6b40538e1aab555a";
    char hex[65];
    tf_hex(hex, hash, 32);
    if (tokenizer == TF_TOK_FLORES200 && strcmp(hex, flores200) != 0)
        tf_warn("flores200: the model's SHA-256 is %.8s..., sacreBLEU's %.8s...: scores do not "
                "compare",
                hex, flores200);
    else if (tokenizer == TF_TOK_FLORES101 || tokenizer == TF_TOK_SPBLEU)
        tf_warn("%s: not verified to be sacreBLEU's model (its SHA-256 is %.8s...)",
                tf_tokenizer_names[tokenizer], hex);
}
