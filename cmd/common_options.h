/* common_options.h - rows of option tables that several tools share, so that an option reads the
 * same everywhere. The macros take the address of the variable, as those of opt.h do. */
#ifndef TF_CMD_COMMON_OPTIONS_H
#define TF_CMD_COMMON_OPTIONS_H

#include "base/bad.h"
#include "base/thread.h"
#include "base/tool.h"

#define SEED_MAX 9007199254740992.0 /* 2^53: exact in every JSON reader */

#define COMMON_OUTPUT(p, ...) \
    OPT_STR('o', "output", p, .arg = "FILE", .def = "-", .flags = TF_OPT_FILE | TF_OPT_OUT, \
            .help = "output file; - is stdout", __VA_ARGS__)

/* What to do with records, lines or trees that cannot be processed. */
#define COMMON_BAD(p, what, ...) \
    OPT_CHOICE(0, "bad", p, tf_on_bad_words, .arg = "WORD", .def = "mark", \
               .help = what ": continue and exit with 4, fail at the first, or exit with 0", \
               __VA_ARGS__)

/* Index 0 leaves the choice to the device. */
#define COMMON_PRECISION(p, words, more, gpu) \
    OPT_CHOICE(0, "precision", p, words, .arg = "WORD", .def = "auto", \
               .help = "precision of activations; " more "auto: fp32 on the CPU, " gpu " on a GPU")
#define PRECISIONS "auto", "fp32", "bf16", "fp16"
static const char *const precisions[] = {PRECISIONS, NULL};

/* ---- tools that run models over streams ---- */

#define COMMON_MODELS(p) \
    OPT_LIST('m', "model", p, .arg = "FILE", .flags = TF_OPT_FILE, \
             .help = "model or checkpoint; repeat to average the probabilities of several")
#define COMMON_FORCE_VOCAB(p) \
    OPT_FLAG(0, "force-vocab", p, .help = "accept vocabularies with different hashes")
#define COMMON_MAX_LENGTH(p, what) \
    OPT_INT(0, "max-length", p, .arg = "N", .def = "1024", .lo = 1, .hi = 1 << 20, \
            .flags = TF_OPT_SEMANTIC, .help = "replace " what " than N tokens by a bad record")

/* A string, not a choice: "cuda:N" is a device too. The words are for shell completion. */
static const char *const devices[] = {"auto", "cpu", "ref", "ref64", "cuda", NULL};
#define COMMON_DEVICE(p) \
    OPT_STR('d', "device", p, .arg = "NAME", .def = "auto", .choices = devices, \
            .help = "compute device: auto, cpu, ref, ref64, cuda, or cuda:N for GPU N")

#define COMMON_RUNNING(o, what) \
    OPT_GROUP("Running (on the CPU the output does not depend on these)"), \
    OPT_INT('t', "threads", &(o).threads, .arg = "N", .lo = 1, .hi = TF_THREADS_MAX, \
            .help = "number of threads (default: the available CPUs)"), \
    OPT_INT('b', "batch", &(o).batch, .arg = "N", .lo = 1, .hi = 65536, \
            .help = what " per batch (default 64; 4096 on a GPU)"), \
    OPT_INT('w', "window", &(o).window, .arg = "N", .lo = 1, .hi = 1 << 20, \
            .help = what " to read ahead and sort by length while input is available " \
                         "(default 2048; 16384 on a GPU)"), \
    OPT_FLAG('q', "quiet", &(o).quiet, .help = "show no progress and no totals on stderr"), \
    OPT_FLAG(0, "progress", &(o).progress, \
             .help = "show progress even if stderr is not a terminal")

#endif
