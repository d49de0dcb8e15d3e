/* common_options.h - rows of option tables that several tools share, so that an option reads the
 * same everywhere. The macros take the address of the variable, as those of opt.h do. */
#ifndef TF_CMD_COMMON_OPTIONS_H
#define TF_CMD_COMMON_OPTIONS_H

#include "base/bad.h"
#include "base/cpus.h"
#include "base/rng.h"
#include "base/tool.h"

#define COMMON_OUTPUT(p, ...) \
    OPT_STR('o', "output", p, .arg = "FILE", .def = "-", .flags = TF_OPT_FILE | TF_OPT_OUT, \
            .help = "output file; - is stdout", __VA_ARGS__)

/* What to do with records, lines or trees that cannot be processed. */
#define COMMON_BAD(p, what, ...) \
    OPT_CHOICE(0, "bad", p, tf_on_bad_words, .arg = "WORD", .def = "mark", \
               .help = what ": continue and exit with 4, fail at the first, or exit with 0", \
               __VA_ARGS__)

#define COMMON_QUIET(p, ...) \
    OPT_FLAG('q', "quiet", p, .help = "print only warnings and errors on stderr", __VA_ARGS__)

/* Index 0 leaves the choice to the device. */
#define COMMON_PRECISION(p, words, more, gpu) \
    OPT_CHOICE(0, "precision", p, words, .arg = "WORD", .def = "auto", \
               .help = "precision of activations; " more "auto: fp32 on the CPU, " gpu " on a GPU")
#define PRECISIONS "auto", "fp32", "bf16", "fp16"

#endif
