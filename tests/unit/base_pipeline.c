/* Pipes of tools: what ends them, and when. */
#include "../harness/tap.h"
#include "base/pipeline.h"

#include <signal.h>
#include <unistd.h>

static void note(int sig)
{
    (void)sig;
}

/* A handler of the caller's is in its children until they are other programs. A signal that they
 * get before would be lost, and the pipe would wait for its last tool for ever. */
static void ended_before_they_run(void)
{
    static const char *const sleeper[] = {"sleep", "1000", NULL};
    static const char *const *const tools[] = {sleeper, sleeper, sleeper};
    struct sigaction old;
    sigaction(SIGTERM, &(struct sigaction){.sa_handler = note}, &old);
    int signalled = 0;
    alarm(60); /* ends the test */
    for (int i = 0; i < 20; i++) {
        struct tf_pipeline *p;
        struct tf_err err = {0};
        int to, from;
        must(tf_pipeline_start(&p, tools, 3, &to, &from, &err), &err);
        tf_pipeline_end(p);
        signalled += tf_pipeline_wait(p, &err) == -1;
        tf_pipeline_free(p);
        close(to);
        close(from);
    }
    alarm(0);
    is_int(signalled, 20, "tools that are ended at once");
    sigset_t mask;
    pthread_sigmask(SIG_BLOCK, NULL, &mask);
    is_int(sigismember(&mask, SIGTERM), 0, "SIGTERM is not blocked afterwards");
    sigaction(SIGTERM, &old, NULL);
}

int main(void)
{
    ended_before_they_run();
    return done();
}
