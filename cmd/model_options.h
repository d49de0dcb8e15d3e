/* model_options.h - rows of option tables that the tools which run models over streams share. */
#ifndef TF_CMD_MODEL_OPTIONS_H
#define TF_CMD_MODEL_OPTIONS_H

#include "common_options.h"
#include "infer/session.h"

#define COMMON_MODELS(p) \
    OPT_LIST('m', "model", p, .arg = "FILE[:WEIGHT]", .flags = TF_OPT_FILE | TF_OPT_WEIGHTED, \
             .help = "model or checkpoint; repeat to average the probabilities of several, by " \
                     "weights if they have some")
#define COMMON_FORCE(f) \
    OPT_FLAG(0, "force-vocab", &(f).vocab, .help = "accept vocabularies with different hashes"), \
    OPT_FLAG(0, "force-lang", &(f).lang, .help = "accept labels of other languages")
#define COMMON_MAX_LENGTH(p, what) \
    OPT_INT(0, "max-length", p, .arg = "N", .def = "1024", .lo = 1, .hi = 1 << 20, \
            .flags = TF_OPT_SEMANTIC, .help = "replace " what " by a bad record")
#define TEXT_(x) #x
#define TEXT(x) TEXT_(x) /* the value of a macro as text */
/* Targets may be outputs of tf-decode. */
#define COMMON_PAIR_MAX_LENGTH(p) \
    COMMON_MAX_LENGTH(p, "a pair with a source longer than N tokens, or a target longer than " \
                         "N + " TEXT(TF_MAX_EXTRA) ",")

/* A string, not a choice: "cuda:0,1" is one, too. The words are for shell completion. */
#define COMMON_DEVICE(p) \
    OPT_STR('d', "device", p, .arg = "NAME", .def = "auto", \
            .choices = (const char *const[]){"auto", "cpu", "ref", "ref64", "cuda", NULL}, \
            .help = "compute device: auto, cpu, ref, ref64, cuda, cuda:N for GPU N, or for " \
                    "several cuda:N,N... or cuda:all")

#define COMMON_ALIGNMENT_HEAD(p, ...) \
    OPT_STR(0, "alignment-head", p, .arg = "LAYER[,HEAD]", .flags = TF_OPT_SEMANTIC, __VA_ARGS__, \
            .help = "the cross-attention that aligns, counted from 1; without HEAD the mean " \
                    "(default: the model's)")

#define COMMON_RUNNING(o, what, sizes) \
    OPT_GROUP("Running (on the CPU the output does not depend on these)"), \
    OPT_INT('t', "threads", &(o).threads, .arg = "N", .lo = 1, .hi = TF_THREADS_MAX, \
            .help = "number of threads (default: the available CPUs)"), \
    OPT_INT('b', "batch", &(o).batch, .arg = "N", .lo = 1, .hi = 65536, \
            .help = what " per batch (default " sizes ")"), \
    OPT_INT('w', "window", &(o).window, .arg = "N", .lo = 1, .hi = 1 << 20, \
            .help = what " to read ahead and sort by length while input is available " \
                         "(default 2048; 16384 on each GPU)"), \
    COMMON_QUIET(&(o).quiet), \
    OPT_FLAG(0, "progress", &(o).progress, \
             .help = "show progress even if stderr is not a terminal")

#endif
