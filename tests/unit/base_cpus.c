/* The number of CPUs: by affinity, whatever the kernel's size, and by control groups. */
#include "../harness/tap.h"
#include "../harness/temp.h"
#include "base/cpus.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* A kernel for so many CPUs, of which this process may use some: in place of the C library's. */
static size_t kernel_cpus = 64, usable_cpus = 1;

int sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set)
{
    (void)pid;
    if (8 * size < kernel_cpus) {
        errno = EINVAL;
        return -1;
    }
    CPU_ZERO_S(size, set);
    for (size_t i = 0; i < usable_cpus; i++)
        CPU_SET_S(i, size, set);
    return 0;
}

static int on_machine(size_t cpus, size_t usable)
{
    kernel_cpus = cpus;
    usable_cpus = usable;
    return tf_threads_default();
}

/* A group of the hierarchy, in a new directory with these files. */
static void make_group(const char *dir, const char *file, const char *text)
{
    char path[200];
    mkdir(temp_path(dir), 0700);
    snprintf(path, sizeof path, "%s/%s", dir, file);
    write_file(temp_path(path), text, strlen(text));
}

/* The quota of a process in these groups. */
static int quota(const char *groups)
{
    write_file(temp_path("proc"), groups, strlen(groups));
    return tf_cpu_quota(temp_path("proc"), temp_path("root"));
}

static void test_quota(void)
{
    mkdir(temp_path("root"), 0700);
    is_int(quota("0::/\n"), 0, "no file");
    make_group("root/a", "cpu.max", "150000 100000\n");
    make_group("root/a/b", "cpu.max", "max 100000\n");
    make_group("root/a/b/c", "cpu.max", "300000 100000\n");
    is_int(quota("0::/a\n"), 2, "one and a half CPUs");
    is_int(quota("0::/a/b\n"), 2, "of the group above");
    is_int(quota("0::/a/b/c\n"), 2, "the least of all above");
    is_int(quota("0::/elsewhere/d\n"), 0, "a path that is not there");
    make_group("root", "cpu.max", "800000 100000\n");
    is_int(quota("0::/elsewhere/d\n"), 8, "a path that is not there, in a container's own root");
    is_int(quota("0::/\n"), 8, "the root");
    mkdir(temp_path("root/cpu"), 0700);
    make_group("root/cpu/x", "cpu.cfs_quota_us", "50000\n");
    is_int(quota("2:cpu:/x\n"), 0, "version 1: no period");
    make_group("root/cpu/x", "cpu.cfs_period_us", "20000\n");
    is_int(quota("5:cpuset:/x\n"), 0, "version 1: another controller");
    is_int(quota("2:cpu,cpuacct:/x\n0::/\n"), 3, "version 1, beside version 2");
    make_group("root/cpu/x", "cpu.cfs_quota_us", "-1\n");
    is_int(quota("2:cpuacct,cpu:/x\n"), 0, "version 1: no limit");
    static const char *const odd[] = {"", "x", "1:2", "0::", "\n\n", "0::/../..\n"};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
        ok(quota(odd[i]) >= 0, "odd groups %zu", i);
    make_group("root", "cpu.max", "99999999999999999999 1\n");
    is_int(quota("0::/\n"), 0, "a quota beyond all numbers");
    is_int(tf_cpu_quota(temp_path("none"), temp_path("root")), 0, "no groups");
}

int main(void)
{
    /* This machine may have a quota, too. */
    const int own = tf_cpu_quota("/proc/self/cgroup", "/sys/fs/cgroup");
    const int most = own > 0 ? own : TF_THREADS_MAX;
    static const struct {
        size_t cpus, usable;
        int want;
        const char *what;
    } machine[] = {{64, 3, 3, "three CPUs"},
                   {1024, 200, 200, "200 CPUs"},
                   {8192, 16, 16, "16 CPUs, a kernel for 8192"},
                   {8192, 5000, TF_THREADS_MAX, "5000 CPUs"},
                   {(size_t)1 << 24, 16, 1, "a kernel that is never satisfied"}};
    for (size_t i = 0; i < sizeof machine / sizeof *machine; i++)
        is_int(on_machine(machine[i].cpus, machine[i].usable),
               machine[i].want < most ? machine[i].want : most, "%s", machine[i].what);
    test_quota();
    return done();
}
