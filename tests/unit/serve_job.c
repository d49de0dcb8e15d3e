/* A request of tf-serve: what pipelines print for its lines. */
#include "../harness/tap.h"
#include "serve/job_private.h"

#include <string.h>

static const char request[] =
    "{\"q\":\"a\",\"source\":\"en\",\"target\":\"xx\",\"alternatives\":3}";
static const char line[] = "{\"line\":1,\"status\":\"ok\",\"text\":\"b\",\"alternatives\":["
                           "{\"status\":\"ok\",\"text\":\"c\"}]}";

int main(void)
{
    struct tf_err err = {0};
    struct tf_buf out = {0};
    struct tf_job *job = tf_job_new();
    must(tf_job_read_json(job, request, strlen(request), &err), &err);
    must(tf_job_split(job, NULL, &err), &err);
    is_int(tf_job_read_line(job, 0, 2, line, strlen(line), &err), -1, "another line's number");
    must(tf_job_read_line(job, 0, 1, line, strlen(line), &err), &err);
    tf_job_write(job, &out);
    tf_buf_byte(&out, 0);
    is_str(out.p, "{\"translatedText\":\"b\",\"alternatives\":[\"c\"]}\n",
           "the second answer's alternatives alone");
    tf_buf_release(&out);
    tf_job_free(job);
    return done();
}
