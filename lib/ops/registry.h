/* registry.h - backends by name. */
#ifndef TF_OPS_REGISTRY_H
#define TF_OPS_REGISTRY_H

#include "ops/backend.h"

/* Find a backend: "cpu", "ref", "ref64", "cuda" (the first GPU), "cuda:N" (GPU N, from 0),
 * "cuda:N,N..." and "cuda:all" (several of one kind, but not for training), or "auto" (cuda if its
 * plugin loads and its device works, else cpu; the reason goes to *why if given, with ENOENT where
 * no plugin is installed). While a lane is open, no other GPUs can be used. precision: NULL for the
 * backend's default for that use. NULL and err if the backend does not work here or lacks that
 * precision. A plugin exports `const struct tf_backend *const *tf_backend_entry(const int *number,
 * int n, bool wrap)`: its tables, NULL last, for n devices, or with n 0 for all; wrap: a device is
 * its number modulo how many there are. Plugins are searched in $TF_BACKEND_DIR, next to the
 * program (a build tree), in ../lib/tf from there, and in LIBDIR/tf. */
const struct tf_backend *tf_backend_find(const char *name, const char *precision, enum tf_use use,
                                         struct tf_err *why, struct tf_err *err);

/* The same for one of several processes of a machine, counted from 0: those that ask for "cuda" or
 * "auto" take the GPUs in turn. */
const struct tf_backend *tf_backend_find_shared(const char *name, int process,
                                                const char *precision, enum tf_use use,
                                                struct tf_err *err);

/* Will tf_backend_find load a plugin for that name? What the driver of its device opens and calls
 * is not for us to list, so it gets no sandbox (base/sandbox.h). For "auto", where there
 * is a driver and nothing shows that there is a GPU, a child process probes; if that fails, or
 * there is no driver, tf_backend_find no longer loads the plugin and gives that reason. Call it
 * before threads are started. */
bool tf_backend_may_load(const char *name);

/* Note on stderr why `auto` chose the CPU, unless no plugin is installed. why->sys is ENODEV where
 * there is no driver. */
void tf_backend_note(const struct tf_err *why);

#endif
