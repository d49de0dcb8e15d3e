/* Temporary files when signals arrive. Runs in an empty directory of its own. */
#include "../harness/child.h"
#include "../harness/tap.h"
#include "../harness/temp.h"
#include "base/temp_private.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static int next_signal; /* arrives while files are being removed */

/* In place of the C library's: the first call waits until the other thread has had the time to die
 * of the next signal. */
int unlinkat(int dir, const char *name, int flags)
{
    int sig = next_signal;
    next_signal = 0;
    if (sig != 0) {
        kill(getpid(), sig);
        usleep(200000);
    }
    return (int)syscall(SYS_unlinkat, dir, name, flags);
}

static void *sleep_on(void *none)
{
    for (;;)
        pause();
    return none;
}

static void die_of_two(void *second)
{
    pthread_t other;
    char *temp;
    for (int i = 0; i < 3; i++)
        if (tf_temp_create(&temp, AT_FDCWD, "file", 0600) < 0)
            exit(1);
    if (pthread_create(&other, NULL, sleep_on, NULL) != 0)
        exit(1);
    next_signal = *(int *)second;
    pthread_kill(pthread_self(), SIGTERM);
    pause();
}

int main(void)
{
    static struct child c;
    if (chdir(temp_path("")) != 0)
        bail_out("chdir");
    int empty = count_entries(".");
    for (int *second = (int[]){0, SIGTERM, SIGINT, -1}; *second >= 0; second++) {
        run_child(&c, die_of_two, second, NULL);
        ok(c.status == 128 + SIGTERM || (*second != 0 && c.status == 128 + *second),
           "SIGTERM, then %d: the process dies of one of them: %d", *second, c.status);
        is_int(count_entries("."), empty, "SIGTERM, then %d: no temporary file is left", *second);
    }
    return done();
}
