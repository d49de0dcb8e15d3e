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
enum { NUMBERS = 1024, MOST_DEVICES = 16 };

/* The GPUs of a name; n 0: all. */
struct gpus {
    int number[MOST_DEVICES], n;
    bool wrap; /* numbers count on from the first GPU after the last */
};

/* Why `auto` does not try the plugin: what a probe before the sandbox found. */
static struct tf_err no_gpu;

/* Is there a driver? Loading CUDA's libraries takes 50 ms and 200 MB, and without a driver they
 * report one that is too old. TF_BACKEND_DIR may name a plugin that needs none (tests/emulate). */
static bool has_driver(struct tf_err *err)
{
    if (tf_plugin_dir() != NULL || dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL) != NULL)
        return true;
    tf_fail(err, "cuda: no NVIDIA driver (libcuda.so.1)");
    err->sys = ENODEV;
    return false;
}

/* The plugin's tables for these devices, or NULL and err. */
static const struct tf_backend *const *load_plugin(const struct gpus *gpus, struct tf_err *err)
{
    char path[PATH_MAX];
    if (no_gpu.status != 0) {
        *err = no_gpu;
        return NULL;
    }
    if (!tf_plugin_path(path, sizeof path, PLUGIN, err) || !has_driver(err))
        return NULL;
    const struct tf_backend *const *(*entry)(const int *number, int n, bool wrap) = NULL;
    void *lib = tf_plugin_load(path, "tf_backend_entry", (void **)&entry, err);
    if (lib == NULL)
        return NULL;
    const struct tf_backend *const *tables =
        entry != NULL ? entry(gpus->number, gpus->n, gpus->wrap) : NULL;
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

/* A number of a list, and what follows it; -1: none. */
static int next_number(const char **p)
{
    char *end;
    if (**p < '0' || **p > '9')
        return -1;
    long n = strtol(*p, &end, 10);
    if (n >= NUMBERS || (*end != ',' && *end != 0))
        return -1;
    *p = *end == ',' ? end + 1 : end;
    return *end == ',' && end[1] == 0 ? -1 : (int)n;
}

/* Those of "cuda" (the first), "cuda:N", "cuda:N,N..." and "cuda:all"; false for any other name. */
static bool gpus_of(const char *name, struct gpus *gpus)
{
    *gpus = (struct gpus){.n = 1};
    if (strncmp(name, "cuda", 4) != 0 || (name[4] != 0 && name[4] != ':'))
        return false;
    if (name[4] == 0)
        return true;
    gpus->n = 0;
    if (strcmp(name + 5, "all") == 0)
        return true;
    const char *p = name + 5;
    do {
        int number = next_number(&p);
        if (number < 0 || gpus->n == MOST_DEVICES)
            return false;
        for (int i = 0; i < gpus->n; i++)
            if (gpus->number[i] == number)
                return false;
        gpus->number[gpus->n++] = number;
    } while (*p != 0);
    return true;
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
    struct gpus gpus;
    const struct gpus next = {.number = {process}, .n = 1, .wrap = process > 0};
    if (gpus_of(name, &gpus)) {
        if (gpus.n != 1 && use == TF_USE_TRAINING) {
            tf_fail_status(err, TF_USAGE,
                           "%s: a process trains on one GPU; mpirun starts one for each", name);
            return NULL;
        }
        return usable(load_plugin(strchr(name, ':') != NULL ? &gpus : &next, err), precision, use,
                      err);
    }
    if (strcmp(name, "auto") == 0) {
        struct tf_err reason = {0};
        const struct tf_backend *be = usable(load_plugin(&next, &reason), precision, use, &reason);
        if (be != NULL)
            return be;
        if (why != NULL)
            *why = reason;
        return usable(tf_cpu_backends(err), precision, use, err);
    }
    tf_fail_status(err, TF_USAGE, "no backend '%s': cpu, ref, %s or auto", name,
                   use != TF_USE_TRAINING ? "ref64, cuda, cuda:N, cuda:N,N..., cuda:all"
                                          : "cuda, cuda:N");
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
    const struct gpus first = {.n = 1};
    const struct tf_backend *const *tables = load_plugin(&first, err);
    if (tables == NULL || tables[0]->probe(err) == 0)
        return tables == NULL ? -1 : 0;
    return tf_context(err, "%s", tables[0]->name);
}

bool tf_backend_may_load(const char *name)
{
    char path[PATH_MAX];
    struct tf_err none = {0};
    struct gpus gpus;
    if (!gpus_of(name, &gpus) && strcmp(name, "auto") != 0)
        return false;
    if (!tf_plugin_path(path, sizeof path, PLUGIN, &none))
        return false;
    if (strcmp(name, "auto") == 0 && no_gpu.status == 0 && !has_gpu_node() && has_driver(&no_gpu))
        (void)tf_plugin_try(probe, &no_gpu);
    return no_gpu.status == 0;
}

void tf_backend_note(const struct tf_err *why)
{
    if (why->status != 0 && why->sys != ENOENT)
        tf_note("on the CPU: %s", why->msg);
}
