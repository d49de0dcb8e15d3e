/* plugin.c - see plugin.h. */
#include "base/plugin.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef TF_LIBDIR
#define TF_LIBDIR "/usr/local/lib"
#endif

/* The directory of this program, or "" when it is unknown. */
static void exe_dir(char *dir, size_t size)
{
    ssize_t n = readlink("/proc/self/exe", dir, size - 1);
    dir[n > 0 ? n : 0] = 0;
    char *slash = strrchr(dir, '/');
    *(slash != NULL ? slash : dir) = 0;
}

const char *tf_plugin_dir(void)
{
    return secure_getenv("TF_BACKEND_DIR");
}

bool tf_plugin_path(char *path, size_t size, const char *name, struct tf_err *err)
{
    char exe[PATH_MAX], beside[PATH_MAX + 16] = "";
    exe_dir(exe, sizeof exe);
    if (exe[0] != 0)
        snprintf(beside, sizeof beside, "%s/../lib/tf", exe);
    /* The plugin next to the program comes before the installed one: they were built together. The
     * build writes it next to the tools. */
    const char *const dirs[] = {tf_plugin_dir(), exe, beside, TF_LIBDIR "/tf"};
    for (size_t i = 0; i < sizeof dirs / sizeof dirs[0]; i++) {
        if (dirs[i] == NULL || dirs[i][0] == 0)
            continue;
        int n = snprintf(path, size, "%s/%s", dirs[i], name);
        if (n > 0 && (size_t)n < size && access(path, F_OK) == 0)
            return true;
    }
    tf_fail(err, "the plugin %s is not installed", name);
    err->sys = ENOENT;
    return false;
}

void *tf_plugin_load(const char *path, const char *symbol, void **entry, struct tf_err *err)
{
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (lib == NULL)
        tf_fail(err, "%s", dlerror()); /* names the file */
    else
        *entry = dlsym(lib, symbol);
    return lib;
}

int tf_plugin_try(int (*f)(struct tf_err *err), struct tf_err *err)
{
    int ends[2], status;
    struct tf_err own = {0};
    if (pipe2(ends, O_CLOEXEC) != 0)
        return 0;
    const pid_t child = fork();
    if (child == 0) {
        if (f(&own) != 0)
            (void)!write(ends[1], &own, sizeof own);
        _exit(0);
    }
    close(ends[1]);
    const bool failed = child > 0 && read(ends[0], &own, sizeof own) == sizeof own;
    close(ends[0]);
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (failed)
        *err = own;
    return failed ? -1 : 0;
}
