/* registry.c - backends by name. cpu, ref and ref64 are built in; cuda is a plugin that is loaded
 * only on request, so that other programs do not pay for the start of CUDA. */
#include "base/log.h"
#include "base/plugin.h"
#include "ops/backend.h"
#include "ops/cpu/cpu.h"
#include "ops/registry.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PLUGIN "tf-backend-cuda.so"
enum { MOST_DEVICES = 1024 };

/* Why `auto` does not try the plugin: what a probe before the sandbox found. */
static struct tf_err no_gpu;

/* The plugin's tables for a device (wrap: see tf_backend_find), or NULL and err. The check for a
 * driver comes first: loading CUDA's libraries takes 50 ms and 200 MB, and without a driver they
 * report one that is too old. TF_BACKEND_DIR may name a plugin that needs none (tests/emulate). */
static const struct tf_backend *const *load_plugin(int device, bool wrap, struct tf_err *err)
{
    char path[PATH_MAX];
    if (no_gpu.status != 0) {
        *err = no_gpu;
        return NULL;
    }
    if (!tf_plugin_path(path, sizeof path, PLUGIN, err))
        return NULL;
    if (tf_plugin_dir() == NULL && dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL) == NULL) {
        tf_fail(err, "cuda: no NVIDIA driver (libcuda.so.1)");
        err->sys = ENODEV;
        return NULL;
    }
    const struct tf_backend *const *(*entry)(int device, bool wrap) = NULL;
    void *lib = tf_plugin_load(path, "tf_backend_entry", (void **)&entry, err);
    if (lib == NULL)
        return NULL;
    const struct tf_backend *const *tables = entry != NULL ? entry(device, wrap) : NULL;
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

static const struct tf_backend *find_backend(const char *name, int process, const char *precision,
                                             enum tf_use use, struct tf_err *why,
                                             struct tf_err *err)
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
        return usable(strchr(name, ':') != NULL ? load_plugin(device, false, err)
                                                : load_plugin(process, process > 0, err),
                      precision, use, err);
    if (strcmp(name, "auto") == 0) {
        struct tf_err reason = {0};
        const struct tf_backend *be =
            usable(load_plugin(process, process > 0, &reason), precision, use, &reason);
        if (be != NULL)
            return be;
        if (why != NULL)
            *why = reason;
        return usable(tf_cpu_backends(err), precision, use, err);
    }
    tf_fail_status(err, TF_USAGE, "no backend '%s': cpu, ref, %scuda, cuda:N or auto", name,
                   use != TF_USE_TRAINING ? "ref64, " : "");
    return NULL;
}

const struct tf_backend *tf_backend_find(const char *name, const char *precision, enum tf_use use,
                                         struct tf_err *why, struct tf_err *err)
{
    return find_backend(name, 0, precision, use, why, err);
}

const struct tf_backend *tf_backend_find_shared(const char *name, int process,
                                                const char *precision, enum tf_use use,
                                                struct tf_err *err)
{
    return find_backend(name, process, precision, use, NULL, err);
}

/* Nodes of NVIDIA's driver: on a PC or server, under WSL, on Tegra. Where there is one, a probe
 * would only take the time that CUDA takes to start. */
static bool has_gpu_node(void)
{
    static const char *const nodes[] = {"/dev/nvidiactl", "/dev/dxg", "/dev/nvhost-ctrl-gpu",
                                        "/dev/nvmap"};
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++)
        if (access(nodes[i], F_OK) == 0)
            return true;
    return false;
}

static int probe(struct tf_err *err)
{
    const struct tf_backend *const *tables = load_plugin(0, false, err);
    if (tables == NULL || tables[0]->probe(err) == 0)
        return tables == NULL ? -1 : 0;
    return tf_context(err, "%s", tables[0]->name);
}

bool tf_backend_may_load(const char *name)
{
    char path[PATH_MAX];
    struct tf_err none = {0};
    if (cuda_device(name) < 0 && strcmp(name, "auto") != 0)
        return false;
    if (!tf_plugin_path(path, sizeof path, PLUGIN, &none))
        return false;
    if (strcmp(name, "auto") == 0 && !has_gpu_node())
        (void)tf_plugin_try(probe, &no_gpu);
    return no_gpu.status == 0;
}

void tf_backend_note(const struct tf_err *why)
{
    if (why->status != 0 && why->sys != ENOENT)
        tf_note("on the CPU: %s", why->msg);
}
