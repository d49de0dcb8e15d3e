/* yaml.h - the subset of YAML in which Marian (yaml-cpp) and PyYAML write the configuration of a
 * model and the list of its pieces: one map of scalars and of lists of scalars
 * (yaml.org/spec/1.2.2).
 *
 *     dec-depth: 6
 *     separator-symbol: "[eos]"
 *     dim-vocabs:
 *       - 32000
 *       - 32000
 *     input-types:
 *       []
 *     ?a: 7
 *     ? a key that is longer than a line, or
 *       one over several lines
 *     : 8
 *
 * or {dec-depth: 6, dim-vocabs: [32000, 32000]}. All keys and values are text, in any style: plain,
 * in quotes, or as a block after | or >; tags (!!str) say nothing. In single quotes and
 * blocks U+0085, U+2028 and U+2029 end a line, as in PyYAML's YAML 1.1, and belong to the text;
 * elsewhere they are text, as in YAML 1.2. Anchors, nested maps, complex keys, texts with a NUL and
 * several documents are refused.
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
/* Do n bytes look like such a map, whose first value is a number? For a file whose name does not
 * say it. */
bool tf_yaml_is_list(const char *text, size_t n);

#endif
