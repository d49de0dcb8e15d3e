/* plugin.h - shared libraries of this build that a program loads only on request: backends and
 * transports. They are searched in $TF_BACKEND_DIR (tests), next to the program (a build tree), in
 * ../lib/tf from there, and in LIBDIR/tf. */
#ifndef TF_BASE_PLUGIN_H
#define TF_BASE_PLUGIN_H

#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>

/* TF_BACKEND_DIR, or NULL; also NULL for who runs a program with another's rights. */
const char *tf_plugin_dir(void);
/* The path of the file `name` in the first directory that has it. False and err (ENOENT): not
 * installed. */
bool tf_plugin_path(char *path, size_t size, const char *name, struct tf_err *err);
/* Load the file. *entry becomes its symbol of that name, a function, or NULL. Returns the handle
 * for dlclose, or NULL and err. */
void *tf_plugin_load(const char *path, const char *symbol, void **entry, struct tf_err *err);

/* Run f, which loads plugins, in a child, so that nothing of them stays in this process: -1 and its
 * error if it fails; 0 also if that is not known. Call it before threads are started. */
int tf_plugin_try(int (*f)(struct tf_err *err), struct tf_err *err);

#endif
