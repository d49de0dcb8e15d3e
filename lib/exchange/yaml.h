/* yaml.h - the subset of YAML in which Marian writes the configuration of a model: a map of scalars
 * and of lists of scalars, a line each (yaml.org/spec/1.2.2).
 *
 *     dec-depth: 6
 *     separator-symbol: "[eos]"
 *     dim-vocabs:
 *       - 32000
 *       - 32000
 *     input-types:
 *       []
 *
 * All keys and values are text. Anchors, nested maps, block scalars and complex keys are refused.
 */
#ifndef TF_EXCHANGE_YAML_H
#define TF_EXCHANGE_YAML_H

#include "base/arena.h"
#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>

struct tf_yaml_entry {
    const char *key;
    const char **v; /* n values: one of a scalar */
    size_t n;
};

struct tf_yaml {
    struct tf_yaml_entry *v;
    size_t n;
};

/* Read n bytes, up to the first NUL. Texts are in the arena. Errors name the line: what is outside
 * the subset, and a key that is there twice. */
int tf_yaml_read(struct tf_yaml *y, struct tf_arena *a, const char *text, size_t n,
                 struct tf_err *err) TF_MUST_CHECK;
/* NULL if there is none. */
const struct tf_yaml_entry *tf_yaml_find(const struct tf_yaml *y, const char *key);

#endif
