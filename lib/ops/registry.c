/* registry.c - backends by name. cpu, ref and ref64 are built in; cuda is a plugin that is loaded
 * only on request, so that other programs do not pay for the start of CUDA. */
#include "base/log.h"
#include "ops/backend.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef TF_LIBDIR
#define TF_LIBDIR "/usr/local/lib"
#endif

#define PLUGIN "tf-backend-cuda.so"
enum { MOST_DEVICES = 1024 };

/* The directory of this program, or "" when it is unknown. */
static void exe_dir(char *dir, size_t size)
{
    ssize_t n = readlink("/proc/self/exe", dir, size - 1);
    dir[n > 0 ? n : 0] = 0;
    char *slash = strrchr(dir, '/');
    *(slash != NULL ? slash : dir) = 0;
}

/* TF_BACKEND_DIR, which is not for who runs a program with another's rights. */
static const char *named_dir(void)
{
    return secure_getenv("TF_BACKEND_DIR");
}

/* The path of the plugin: the first directory that has it. False and err (ENOENT) if none has. */
static bool plugin_path(char *path, size_t size, struct tf_err *err)
{
    char exe[PATH_MAX], beside[PATH_MAX + 16] = "";
    exe_dir(exe, sizeof exe);
    if (exe[0] != 0)
        snprintf(beside, sizeof beside, "%s/../lib/tf", exe);
    /* The plugin next to the program comes before the installed one: they were built together. The
     * build writes it next to the tools. */
    const char *const dirs[] = {named_dir(), exe, beside, TF_LIBDIR "/tf"};
    for (size_t i = 0; i < sizeof dirs / sizeof dirs[0]; i++) {
        if (dirs[i] == NULL || dirs[i][0] == 0)
            continue;
        int n = snprintf(path, size, "%s/" PLUGIN, dirs[i]);
        if (n > 0 && (size_t)n < size && access(path, F_OK) == 0)
            return true;
    }
    tf_fail(err, "the plugin " PLUGIN " is not installed");
    err->sys = ENOENT;
    return false;
}

/* The plugin's tables for a device, or NULL and err. For `auto`, check for a driver first: loading
 * CUDA's libraries takes 50 ms and 200 MB. */
static const struct tf_backend *const *load_plugin(int device, bool automatic, struct tf_err *err)
{
    char path[PATH_MAX];
    if (!plugin_path(path, sizeof path, err))
        return NULL;
    if (automatic && named_dir() == NULL &&
        dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL) == NULL) {
        tf_fail(err, "cuda: no NVIDIA driver (libcuda.so.1)");
        return NULL;
    }
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (lib == NULL) {
        tf_fail(err, "%s", dlerror()); /* names the file */
        return NULL;
    }
    const struct tf_backend *const *(*entry)(int device) = NULL;
    *(void **)&entry = dlsym(lib, "tf_backend_entry");
    const struct tf_backend *const *tables = entry != NULL ? entry(device) : NULL;
    if (entry != NULL && tables == NULL) {
        tf_fail(err, "cuda: this process already uses another GPU");
    } else if (tables == NULL || tables[0] == NULL) {
        tf_fail(err, "%s: not a backend plugin", path);
        tables = NULL;
    } else if (tables[0]->abi != TF_BACKEND_ABI) {
        tf_fail(err, "%s: made for another version: interface %u, this program has %u", path,
                (unsigned)tables[0]->abi, (unsigned)TF_BACKEND_ABI);
        tables = NULL;
    }
    /* An accepted plugin is never unloaded: CUDA does not survive it. */
    if (tables == NULL)
        dlclose(lib);
    return tables;
}

/* The table of that precision, or the default one, if it works here; else NULL and err. tables may
 * be NULL, with err set. */
static const struct tf_backend *usable(const struct tf_backend *const *tables,
                                       const char *precision, enum tf_use use, struct tf_err *err)
{
    if (tables == NULL)
        return NULL;
    static const char *const doing[] = {[TF_USE_TRAINING] = "training",
                                        [TF_USE_SCORING] = "scoring",
                                        [TF_USE_DECODING] = "decoding"};
    char has[64] = "";
    for (; *tables != NULL; tables++) {
        const struct tf_backend *be = *tables;
        if ((be->supports & use) == 0)
            continue;
        if (precision != NULL ? strcmp(precision, be->precision) == 0
                              : (be->default_for & use) != 0) {
            if (be->probe(err) == 0)
                return be;
            tf_context(err, "%s", be->name);
            return NULL;
        }
        size_t n = strlen(has);
        snprintf(has + n, sizeof has - n, "%s%s", n > 0 ? ", " : "", be->precision);
    }
    tf_fail_status(err, TF_USAGE, "the %s backend has no precision '%s' for %s, only %s",
                   tables[-1]->name, precision != NULL ? precision : "", doing[use], has);
    return NULL;
}

/* N of "cuda:N", 0 of "cuda"; -1 for any other name. */
static int cuda_device(const char *name)
{
    if (strcmp(name, "cuda") == 0)
        return 0;
    if (strncmp(name, "cuda:", 5) != 0 || name[5] < '0' || name[5] > '9')
        return -1;
    char *end;
    long n = strtol(name + 5, &end, 10);
    return *end == 0 && n < MOST_DEVICES ? (int)n : -1;
}

const struct tf_backend *tf_backend_find(const char *name, const char *precision, enum tf_use use,
                                         struct tf_err *why, struct tf_err *err)
{
    static const struct tf_backend *const ref[] = {&tf_backend_ref_f32, NULL},
                                          *const ref64[] = {&tf_backend_ref_f64, NULL};
    if (strcmp(name, "cpu") == 0)
        return usable(tf_cpu_backends(err), precision, use, err);
    if (strcmp(name, "ref") == 0)
        return usable(ref, precision, use, err);
    if (strcmp(name, "ref64") == 0)
        return usable(ref64, precision, use, err);
    int device = cuda_device(name);
    if (device >= 0)
        return usable(load_plugin(device, false, err), precision, use, err);
    if (strcmp(name, "auto") == 0) {
        struct tf_err reason = {0};
        const struct tf_backend *be =
            usable(load_plugin(0, true, &reason), precision, use, &reason);
        if (be != NULL)
            return be;
        if (why != NULL)
            *why = reason;
        return usable(tf_cpu_backends(err), precision, use, err);
    }
    tf_fail_status(err, TF_USAGE, "no backend '%s': cpu, ref, ref64, cuda, cuda:N or auto", name);
    return NULL;
}

void tf_backend_note(const struct tf_err *why)
{
    if (why->status != 0 && why->sys != ENOENT)
        tf_note("on the CPU: %s", why->msg);
}
