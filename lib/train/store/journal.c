/* journal.c - the log of a run. */
#include "train/store/journal.h"
#include "base/fd.h"
#include "base/input.h"
#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LONGEST = 1 << 20 };

/* Is the line to be kept? Lines that are not JSON, as the last one of a killed run, are not. */
static bool kept(const char *line, size_t n, const struct tf_run_state *from)
{
    struct tf_json_reader r;
    struct tf_err e = {0};
    enum tf_json_kind kind;
    bool valid = false, in_step = false, in_event = false, whole = false;
    uint64_t at = UINT64_MAX;
    tf_json_read(&r, line, n);
    while (tf_json_next(&r, &kind, &e) == 0) {
        if (kind == TF_JSON_END) {
            whole = true;
            break;
        }
        if (in_step && kind == TF_JSON_NUMBER && r.is_int && !r.negative)
            at = r.uint;
        if (in_event && kind == TF_JSON_STRING)
            valid = strcmp(r.text.p, "valid") == 0;
        in_step = kind == TF_JSON_KEY && r.depth == 1 && strcmp(r.text.p, "step") == 0;
        in_event = kind == TF_JSON_KEY && r.depth == 1 && strcmp(r.text.p, "event") == 0;
    }
    tf_json_read_release(&r);
    return whole && at <= (valid ? from->valid_step : from->step);
}

static int cut_journal(const struct tf_rundir *d, const struct tf_run_state *from,
                       struct tf_err *err)
{
    struct tf_in in;
    struct tf_out out;
    struct tf_err e = {0};
    if (tf_rundir_input(d, &in, TF_RUN_LOG, O_NOFOLLOW, &e) != 0) {
        if (e.sys == ENOENT)
            return 0;
        *err = e;
        return -1;
    }
    if (tf_rundir_create(d, &out, TF_RUN_LOG, err) != 0) {
        tf_in_close(&in);
        return -1;
    }
    const char *line;
    size_t n;
    int rc;
    while ((rc = tf_in_line(&in, &line, &n, LONGEST, err)) > 0)
        if (rc == 1 && from != NULL && kept(line, n, from) &&
            (tf_out_write(&out, line, n, err) != 0 || tf_out_write(&out, "\n", 1, err) != 0)) {
            rc = -1;
            break;
        }
    tf_in_close(&in);
    if (rc == 0)
        return tf_out_commit(&out, err);
    tf_out_abort(&out);
    return -1;
}

static int open_files(struct tf_journal *j, const struct tf_rundir *d,
                      const struct tf_run_state *from, const char *extra, struct tf_err *err)
{
    enum { APPEND = O_WRONLY | O_CREAT | O_APPEND };
    *j = (struct tf_journal){.fd = {-1, -1}, .name[0] = tf_rundir_file(d->path, TF_RUN_LOG)};
    if (cut_journal(d, from, err) != 0)
        return -1;
    j->fd[0] = tf_rundir_open_file(d, TF_RUN_LOG, APPEND | O_NOFOLLOW, err);
    if (j->fd[0] < 0)
        return -1;
    if (extra != NULL && strcmp(extra, "-") == 0) {
        j->name[1] = tf_xstrdup("stdout");
        j->fd[1] = STDOUT_FILENO;
    } else if (extra != NULL) {
        j->name[1] = tf_xstrdup(extra);
        j->fd[1] = tf_fd_open(extra, APPEND, 0666);
        if (j->fd[1] < 0)
            return tf_fail_errno(err, "%s", extra);
    }
    return 0;
}

int tf_journal_open(struct tf_journal *j, const struct tf_rundir *d,
                    const struct tf_run_state *from, const char *extra, struct tf_err *err)
{
    return open_files(j, d, from, extra, err) == 0 ? 0 : tf_rundir_failed(d, err);
}

void tf_journal_close(struct tf_journal *j)
{
    for (int i = 0; i < 2; i++) {
        if (j->name[i] != NULL && j->fd[i] > STDOUT_FILENO)
            close(j->fd[i]);
        free(j->name[i]);
    }
    tf_buf_release(&j->buf);
    *j = (struct tf_journal){.fd = {-1, -1}};
}

struct tf_json *tf_journal_line(struct tf_journal *j, const char *event, uint64_t step)
{
    tf_buf_clear(&j->buf);
    j->json = (struct tf_json){.out = &j->buf};
    tf_json_open(&j->json, '{');
    tf_json_put_str(&j->json, "event", event);
    tf_json_put_uint(&j->json, "step", step);
    return &j->json;
}

int tf_journal_sync(const struct tf_journal *j, struct tf_err *err)
{
    return j->fd[0] >= 0 && fsync(j->fd[0]) != 0 && errno != EINVAL && errno != ENOTSUP
               ? tf_fail_errno(err, "%s: sync", j->name[0])
               : 0;
}

/* What a full disk cut short is removed: the line of the next start would continue it. */
static int write_line(const struct tf_journal *j, int i, struct tf_err *err)
{
    struct stat st;
    const bool file = fstat(j->fd[i], &st) == 0 && S_ISREG(st.st_mode);
    int rc = tf_fd_write(j->fd[i], j->name[i], j->buf.p, j->buf.len, err);
    if (rc != 0 && file)
        (void)!ftruncate(j->fd[i], st.st_size);
    return rc;
}

int tf_journal_put(struct tf_journal *j, struct tf_err *err)
{
    tf_json_close(&j->json, '}');
    tf_buf_byte(&j->buf, '\n');
    for (int i = 0; i < 2; i++) {
        if (j->fd[i] >= 0 && write_line(j, i, err) != 0) {
            /* report it once */
            j->fd[i] = j->fd[i] > STDOUT_FILENO ? (close(j->fd[i]), -1) : -1;
            /* log.jsonl has every line: a second reader may leave. */
            if (i == 0 || err->sys != EPIPE)
                return -1;
            *err = (struct tf_err){0};
        }
    }
    return 0;
}
