/* cpus.c - see cpus.h. */
#include "base/cpus.h"
#include "base/memory.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The positive numbers that a file begins with, at most 2. Returns how many there are. */
static int read_numbers(const char *dir, const char *file, long long number[2])
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/%s", dir, file) >= (int)sizeof path)
        return 0;
    FILE *f = fopen(path, "re");
    if (f == NULL)
        return 0;
    int n = fscanf(f, "%lld %lld", &number[0], &number[1]);
    fclose(f);
    return n < 1 || number[0] <= 0 ? 0 : n < 2 || number[1] <= 0 ? 1 : 2;
}

/* Of one group, in CPUs; 0: any. */
static int group_quota(const char *dir, bool version2)
{
    long long x[2], period[2];
    bool limited = version2 ? read_numbers(dir, "cpu.max", x) == 2
                            : read_numbers(dir, "cpu.cfs_quota_us", x) >= 1 &&
                                  read_numbers(dir, "cpu.cfs_period_us", period) >= 1;
    if (!limited)
        return 0;
    const long long per = version2 ? x[1] : period[0], cpus = x[0] / per + (x[0] % per != 0);
    return cpus < INT_MAX ? (int)cpus : 0;
}

/* Of a group and those above it. path is overwritten; its first `n` bytes are the root. */
static int path_quota(char *path, size_t n, bool version2)
{
    int least = 0;
    for (;;) {
        const int quota = group_quota(path, version2);
        if (quota > 0 && (least == 0 || quota < least))
            least = quota;
        char *slash = strrchr(path + n, '/');
        if (slash == NULL)
            return least;
        *slash = 0;
    }
}

/* Is `word` in a list with commas? */
static bool has_word(const char *list, const char *word)
{
    const size_t n = strlen(word);
    for (const char *s = list; *s != 0; s += strcspn(s, ","), s += *s == ',')
        if (strcspn(s, ",") == n && memcmp(s, word, n) == 0)
            return true;
    return false;
}

int tf_cpu_quota(const char *proc, const char *root)
{
    char *line = NULL, path[PATH_MAX];
    size_t size = 0;
    ssize_t got;
    int least = 0;
    FILE *f = fopen(proc, "re");
    while (f != NULL && (got = getline(&line, &size, f)) > 0) { /* number:controllers:path */
        char *controllers = strchr(line, ':'), *group;
        if (controllers == NULL || (group = strchr(controllers + 1, ':')) == NULL)
            continue;
        *group++ = 0;
        controllers++;
        group[strcspn(group, "\n")] = 0;
        const bool version2 = *controllers == 0;
        if (!version2 && !has_word(controllers, "cpu"))
            continue;
        const int n = snprintf(path, sizeof path, "%s%s", root, version2 ? "" : "/cpu");
        if (n < 0 || n + strlen(group) >= sizeof path)
            continue;
        memcpy(path + n, group, strlen(group) + 1);
        const int quota = path_quota(path, (size_t)n, version2);
        if (quota > 0 && (least == 0 || quota < least))
            least = quota;
    }
    free(line);
    if (f != NULL)
        fclose(f);
    return least;
}

int tf_cpus_bound(void)
{
    /* A kernel for more CPUs than a cpu_set_t has fails with EINVAL. */
    for (size_t most = CPU_SETSIZE; most <= 1 << 20; most *= 2) {
        size_t size = CPU_ALLOC_SIZE(most);
        cpu_set_t *set = tf_xcalloc(1, size);
        int rc = sched_getaffinity(0, size, set), why = errno,
            n = rc == 0 ? CPU_COUNT_S(size, set) : 1;
        free(set);
        if (rc == 0 || why != EINVAL)
            return n < 1 ? 1 : n > TF_THREADS_MAX ? TF_THREADS_MAX : n;
    }
    return 1;
}

int tf_threads_default(void)
{
    static int quota = -1;
    if (quota < 0)
        quota = tf_cpu_quota("/proc/self/cgroup", "/sys/fs/cgroup");
    const int cpus = tf_cpus_bound();
    return quota > 0 && quota < cpus ? quota : cpus;
}
