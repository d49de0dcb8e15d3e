/* table_hash.c - see table_hash.h. */
#include "base/table_hash.h"

#include <pthread.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

static struct tf_table_key key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Without the system's random numbers (before Linux 3.17, or filtered), time and process differ. */
static void draw_key(void)
{
    struct timespec t;
    if (getrandom(&key, sizeof key, GRND_NONBLOCK) != (ssize_t)sizeof key) {
        clock_gettime(CLOCK_REALTIME, &t);
        key.plus = (uint64_t)t.tv_nsec * 0x9e3779b97f4a7c15u ^ (uint64_t)t.tv_sec;
        key.times = ((uint64_t)getpid() << 32 ^ key.plus) * 0xbf58476d1ce4e5b9u ^ (uintptr_t)&t;
    }
    key.times |= 1;
}

struct tf_table_key tf_table_key(void)
{
    pthread_once(&once, draw_key);
    return key;
}
