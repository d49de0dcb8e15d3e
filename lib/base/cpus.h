/* cpus.h - how many CPUs this process may use. */
#ifndef TF_BASE_CPUS_H
#define TF_BASE_CPUS_H

enum { TF_THREADS_MAX = 1024 }; /* of --threads */
/* The CPUs that this process may run on (sched_getaffinity), or fewer if its control groups allow
 * it less CPU time, as in a container; from 1 to TF_THREADS_MAX. The first call reads the groups;
 * tools with --threads make it before they enter the sandbox. */
int tf_threads_default(void);
/* By affinity alone. */
int tf_cpus_bound(void);

/* The CPU time that control groups allow, in CPUs, rounded up; 0: any. proc: the groups of a
 * process, such as /proc/self/cgroup; root: where their files are, such as /sys/fs/cgroup. A group
 * is limited by those above it, too. Source: cgroups(7), cpu.max of version 2, and
 * cpu.cfs_quota_us of version 1. */
int tf_cpu_quota(const char *proc, const char *root);

#endif
