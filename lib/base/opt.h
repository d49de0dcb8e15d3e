/* opt.h - one table of options per tool: it parses, prints --help, feeds completion and the checks
 * of the man pages, and says which options shape the output and so belong into its provenance. */
#ifndef TF_BASE_OPT_H
#define TF_BASE_OPT_H

#include "base/err.h"
#include <stdbool.h>
#include <stdint.h>

enum tf_opt_kind {
    TF_OPT_END,    /* last row */
    TF_OPT_GROUP,  /* a heading in --help; only `help` is used */
    /* a row in --help about an operand: `arg` is the word, `help` says what it means */
    TF_OPT_WORD,
    TF_OPT_FLAG,   /* bool target; also --no-NAME when TF_OPT_NEGATABLE */
    TF_OPT_INT,    /* int64_t target, range [lo, hi]; accepts suffixes k M G (10^3, 10^6, 10^9) */
    TF_OPT_REAL,   /* double target, range [lo, hi], finite */
    TF_OPT_STR,    /* const char * target (points into argv) */
    TF_OPT_CHOICE, /* int target: index into choices; unknown words list the choices */
    /* struct tf_strs target: each use appends; with TF_OPT_GREEDY one use takes all words up to the
     * next option */
    TF_OPT_LIST,
};

enum {
    TF_OPT_SEMANTIC = 1,  /* shapes the output bytes: its value in force goes into provenance */
    TF_OPT_NEGATABLE = 2, /* a flag that also has a --no- form */
    TF_OPT_HIDDEN = 4,    /* parsed, not listed */
    TF_OPT_GREEDY = 8,    /* a list that takes several words at a time (sacreBLEU's -i) */
    TF_OPT_FILE = 16,     /* the argument is a path: for completion, and to be kept apart */
    TF_OPT_OUT = 32,      /* with FILE: a path to write to */
};

struct tf_strs {
    const char **v;
    size_t n;
};

/* One row. Defaults are text and are parsed like arguments, so that the table is their only home;
 * NULL leaves the target alone. A row may have a short letter, a long name, and an alias (a second
 * long name, or a single-dash long name such as sacreBLEU's -tok). */
struct tf_opt {
    enum tf_opt_kind kind;
    char letter;             /* 0: none */
    const char *name;        /* long name without dashes, or NULL */
    /* second long name, or NULL; both are accepted with one dash as well as with two */
    const char *alias;
    void *target;
    const char *arg;         /* name of the argument in --help */
    const char *def;
    /* range of numbers, both inclusive; exact up to 2^53; both 0: no limit but the type's */
    double lo, hi;
    const char *const *choices; /* NULL-terminated; with STR only for completion */
    unsigned flags;
    const char *help;        /* one line, lower case, no full stop */
    bool set;                /* out: given by the user (not by default) */
};

/* What a tool is, for --help and --version. */
struct tf_tool {
    const char *name;      /* "tf-batch" */
    const char *synopsis;  /* "[options] SRC.tfs TGT.tfs" (several lines allowed) */
    const char *summary;   /* one line */
    /* ends with TF_OPT_END; -h/--help and --version are added by the parser */
    struct tf_opt *opts;
    int min_args, max_args; /* operands; max -1: any number */
    int n_words;           /* the first operands are words such as "curve"; the others are files */
};

/* Operands left after the options; pointers into argv. */
struct tf_args {
    const char **v;
    int n;
};

/* Parse argv by the table. Also: `--name=value`, `--name value`, `-xvalue`, clusters of flags,
 * unambiguous prefixes of long names, `--` ends options, `-` is an operand, options and operands
 * may mix. --help, --version and the hidden --complete=bash|zsh|fish and --list-options print to
 * stdout and end the process (0, or 1 when stdout fails). Also sets SIGXFSZ to ignored and the name
 * for messages.
 * On a mistake: -1 with status TF_USAGE and a message such as "--beam 0: too small, minimum 1". One
 * is that the file of a row with TF_OPT_OUT is also an operand or the argument of another row with
 * TF_OPT_FILE. */
int tf_opt_parse(const struct tf_tool *tool, int argc, char **argv, struct tf_args *args,
                 struct tf_err *err) TF_MUST_CHECK;

/* The row of that long name, or NULL. */
struct tf_opt *tf_opt_find(const struct tf_opt *opts, const char *name);

/* End of every tool: when rc < 0 or err->status, prints "tf-x: msg" to stderr once (rc > 0 is an
 * exit status of its own, such as TF_PARTIAL); flushes, checks and closes stdout ("write error: No
 * space left on device", status 1). EPIPE on stdout ends quietly with 1. Returns the exit status:
 * `return tf_finish(rc, &err);`. */
int tf_finish(int rc, struct tf_err *err);

extern const char tf_version[]; /* "0.1.0" */
extern const char *tf_progname; /* "tf-x", set by tf_opt_parse */

#endif
