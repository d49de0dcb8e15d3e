/* A request of tf-serve in JSON: any bytes, split into sentences and answered, each sentence by
 * itself; where all lines came back as they were, so does the text. */
#include "serve/job_private.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* What tf-translate --json would print for a line that it copies. */
static void copy_line(struct tf_job *job, size_t i, struct tf_buf *line)
{
    struct tf_err err = {0};
    struct tf_json j = {.out = line};
    tf_buf_clear(line);
    tf_json_open(&j, '{');
    tf_json_put_uint(&j, "line", i);
    tf_json_put_str(&j, "status", "ok");
    tf_json_key(&j, "text");
    tf_json_strn(&j, job->lines[i].source, job->lines[i].n);
    tf_json_close(&j, '}');
    TF_ASSERT(tf_job_read_line(job, i, i, line->p, line->len, &err) == 0);
}

/* The first text of the answer is that of the request, but for spaces between joined sentences. */
static void compare(const struct tf_job *job, const struct tf_buf *answer)
{
    struct tf_json_reader r;
    struct tf_err err = {0};
    enum tf_json_kind kind = TF_JSON_OBJECT;
    tf_json_read(&r, answer->p, answer->len);
    r.nul = true;
    while (kind != TF_JSON_STRING && kind != TF_JSON_END)
        TF_ASSERT(tf_json_next(&r, &kind, &err) == 0);
    if (kind == TF_JSON_STRING && job->n_texts > 0 && !job->html) {
        const struct tf_job_text *t = &job->texts[0];
        TF_ASSERT(r.text.len >= t->n && (t->n == 0 || r.text.p[0] == t->p[0]));
        TF_ASSERT(r.text.len > t->n || memcmp(r.text.p, t->p, t->n) == 0);
    }
    while (kind != TF_JSON_END)
        TF_ASSERT(tf_json_next(&r, &kind, &err) == 0);
    tf_json_read_release(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct tf_job *job = tf_job_new();
    struct tf_sentences *sentences = NULL;
    struct tf_buf line = {0}, answer = {0};
    struct tf_err err = {0};
    TF_ASSERT(tf_sentences_new(&sentences, "en", 20, &err) == 0);
    if (tf_job_read_json(job, (const char *)data, n, &err) == 0 && tf_job_check(job, &err) == 0 &&
        tf_job_split(job, n % 2 == 0 ? sentences : NULL, &err) == 0) {
        for (size_t i = 0; i < job->n_lines; i++)
            copy_line(job, i, &line);
        TF_ASSERT(tf_job_failure(job) == NULL);
        tf_job_write(job, &answer);
        compare(job, &answer);
    } else {
        TF_ASSERT(err.msg[0] != 0);
    }
    tf_job_free(job);
    tf_sentences_free(sentences);
    tf_buf_release(&line);
    tf_buf_release(&answer);
    return 0;
}
