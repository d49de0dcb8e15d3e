/* rows.h - rows of option tables that several tools have, so that the same option reads the same
 * everywhere. The argument is the row's target. */
#ifndef TF_CMD_ROWS_H
#define TF_CMD_ROWS_H

#include "base/opt.h"

#define ROW_OUTPUT(t) \
    {TF_OPT_STR, 'o', "output", .target = &(t), .arg = "FILE", .def = "-", \
     .flags = TF_OPT_FILE | TF_OPT_OUT, .help = "write here instead of to stdout"}

/* What happens to the records, lines or trees that could not be processed. */
#define ROW_BAD(t, what) \
    {TF_OPT_CHOICE, .name = "bad", .target = &(t), .arg = "WORD", .def = "mark", \
     .choices = tf_on_bad_words, \
     .help = what ": go on and exit with 4, fail at the first, or exit with 0"}

/* Index 0 leaves it to the device: `gpu` on a GPU. */
#define ROW_PRECISION(t, words, what, gpu) \
    {TF_OPT_CHOICE, .name = "precision", .target = &(t), .arg = "WORD", .def = "auto", \
     .choices = words, .help = what "; auto: fp32 on the CPU, " gpu " on a GPU"}
#define PRECISIONS "auto", "fp32", "bf16", "fp16"
static const char *const precisions[] = {PRECISIONS, NULL};

/* Of the tools that run models over streams. */
#define ROW_MODELS(t) \
    {TF_OPT_LIST, 'm', "model", .target = &(t), .arg = "FILE", .flags = TF_OPT_FILE, \
     .help = "model or checkpoint; several times: their probabilities are averaged"}
#define ROW_FORCE_VOCAB(t) \
    {TF_OPT_FLAG, .name = "force-vocab", .target = &(t), \
     .help = "go on when vocabularies have different hashes"}
#define ROW_MAX_LENGTH(t, what) \
    {TF_OPT_INT, .name = "max-length", .target = &(t), .arg = "N", .def = "1024", .lo = 1, \
     .hi = 1 << 20, .flags = TF_OPT_SEMANTIC, .help = what " becomes a bad record"}

/* How they run: on what, and how many at a time. */
static const char *const devices[] = {"auto", "cpu", "ref", "ref64", "cuda", NULL};
#define ROW_DEVICE(t) \
    {TF_OPT_CHOICE, 'd', "device", .target = &(t), .arg = "NAME", .def = "auto", \
     .choices = devices, .help = "where to compute"}
#define ROWS_RUNNING(o, what) \
    {TF_OPT_GROUP, .help = "Running (on the CPU the output does not depend on these)"}, \
    {TF_OPT_INT, 't', "threads", .target = &(o).threads, .arg = "N", .lo = 1, .hi = 64, \
     .help = "threads; default: the CPUs at hand"}, \
    {TF_OPT_INT, 'b', "batch", .target = &(o).batch, .arg = "N", .lo = 1, .hi = 65536, \
     .help = what " taken together; default: 64, on a GPU 4096"}, \
    {TF_OPT_INT, 'w', "window", .target = &(o).window, .arg = "N", .lo = 1, .hi = 1 << 20, \
     .help = what " read ahead and sorted by length, while input is ready; default: 2048, " \
                  "on a GPU 16384"}, \
    {TF_OPT_FLAG, 'q', "quiet", .target = &(o).quiet, \
     .help = "no progress and no totals on stderr"}, \
    {TF_OPT_FLAG, .name = "progress", .target = &(o).progress, \
     .help = "show the rate even where stderr is no terminal"}

#endif
