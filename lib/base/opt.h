/* opt.h - the option table of a tool. One table drives the parser, --help, shell completion, the
 * check of the man pages and the provenance in output streams.
 *
 * Write a table with the OPT_* macros below. They check the type of the variable: a row whose
 * variable does not fit does not compile. The other fields are designated initialisers:
 *
 *     static struct tf_opt opts[] = {
 *         OPT_GROUP("Search"),
 *         OPT_INT('k', "beam", &o.beam, .arg = "K", .def = "4", .lo = 1, .hi = 64,
 *                 .flags = TF_OPT_SEMANTIC, .help = "beam size; 1 is greedy search"),
 *         OPT_FLAG('q', "quiet", &o.quiet, .help = "do not show progress"),
 *         OPT_END,
 *     };
 *
 * A tool that does one of several things has modes, one bit each. A flag (OPT_MODE) or a word that
 * is the first operand (OPT_WORD) selects a mode, and `modes` in a row lists those that use it. */
#ifndef TF_BASE_OPT_H
#define TF_BASE_OPT_H

#include "base/err.h"
#include <stdbool.h>
#include <stdint.h>

enum tf_opt_kind {
    TF_OPT_END,    /* last row */
    TF_OPT_GROUP,  /* a heading in --help */
    TF_OPT_WORD,   /* a word that can be the first operand; selects a mode */
    TF_OPT_FLAG,   /* bool; TF_OPT_NEGATABLE adds --no-NAME */
    TF_OPT_INT,    /* int64_t in [lo, hi]; accepts suffixes k M G (10^3, 10^6, 10^9) */
    TF_OPT_REAL,   /* finite double in [lo, hi] */
    TF_OPT_STR,    /* const char *, points into argv */
    TF_OPT_CHOICE, /* int or enum: index into choices */
    TF_OPT_LIST,   /* struct tf_strs: each use appends a word */
};

enum {
    TF_OPT_SEMANTIC = 1,  /* changes the output bytes: recorded in provenance */
    TF_OPT_NEGATABLE = 2, /* a flag that also has a --no- form */
    TF_OPT_HIDDEN = 4,    /* parsed, not listed */
    TF_OPT_GREEDY = 8,    /* a list: one use takes all words up to the next option */
    TF_OPT_FILE = 16,     /* the argument is a path */
    TF_OPT_OUT = 32,      /* with FILE: a path to write to; it must differ from all others */
    TF_OPT_DIR = 64,      /* with OUT: a directory of several files */
    TF_OPT_WEIGHTED = 128, /* a list: a number > 0 after the last colon of a word is its weight */
    TF_OPT_PLACED = 256,   /* a list: each word is about the operands that follow it */
};

/* A list of words. They live as long as argv; the array is never freed. */
struct tf_strs {
    const char **v;
    size_t n;
    size_t *place; /* of TF_OPT_PLACED: the number of operands before each word; else NULL */
    double *weight; /* of TF_OPT_WEIGHTED, 1 where none was given, and the words are without; else
                       NULL */
};

/* One row. */
struct tf_opt {
    enum tf_opt_kind kind;
    char letter;          /* short option; 0: none */
    const char *name;     /* long name without dashes; required */
    const char *alias;    /* second long name, or NULL; may be given with one dash (-tok) */
    void *target;         /* the variable; NULL for a flag that only selects a mode */
    const char *arg;      /* name of the argument in --help */
    /* Default, parsed like an argument; NULL leaves the variable as it is (a list: empty). */
    const char *def;
    /* Range of numbers, both ends included, exact up to 2^53; both 0: no limit but the type's. */
    double lo, hi;
    const char *const *choices; /* ends with NULL; for STR only used by completion */
    unsigned flags;
    unsigned selects;     /* the mode that this flag or word selects; 0: none */
    unsigned modes;       /* bits of the modes that use this option; 0: all */
    unsigned out_modes;   /* with FILE: modes in which the path is written to; OUT is all modes */
    /* An option that must be in force for this one to be used: "sample", or "as=paper" for a value.
     * An option that this run does not use (because of `modes` or `needs`) is refused if given,
     * and not recorded in provenance. */
    const char *needs;
    /* Options that this one cannot be combined with, separated by spaces: "text as=paper". */
    const char *excludes;
    const char *help;     /* one line, lower case, no full stop; the default is appended */
    /* Results. */
    const char *given;    /* the last argument on the command line ("true" or "false" for flags);
                             NULL if the user did not give the option */
    bool unused;          /* this run does not use it */
};

/* p, if it points to a variable of the type. */
#define TF_OPT_POINTER(type, p) _Generic((p), type *: (p))

#define OPT_GROUP(text) {.kind = TF_OPT_GROUP, .help = (text)}
#define OPT_WORD(word, mode, text) \
    {.kind = TF_OPT_WORD, .arg = (word), .selects = (mode), .help = (text)}
#define OPT_MODE(short_, long_, mode, ...) \
    {.kind = TF_OPT_FLAG, .letter = (short_), .name = (long_), .selects = (mode), __VA_ARGS__}
#define OPT_FLAG(short_, long_, p, ...) \
    {.kind = TF_OPT_FLAG, .letter = (short_), .name = (long_), \
     .target = TF_OPT_POINTER(bool, p), __VA_ARGS__}
#define OPT_INT(short_, long_, p, ...) \
    {.kind = TF_OPT_INT, .letter = (short_), .name = (long_), \
     .target = TF_OPT_POINTER(int64_t, p), __VA_ARGS__}
#define OPT_REAL(short_, long_, p, ...) \
    {.kind = TF_OPT_REAL, .letter = (short_), .name = (long_), \
     .target = TF_OPT_POINTER(double, p), __VA_ARGS__}
#define OPT_STR(short_, long_, p, ...) \
    {.kind = TF_OPT_STR, .letter = (short_), .name = (long_), \
     .target = TF_OPT_POINTER(const char *, p), __VA_ARGS__}
/* An enum counts as unsigned. */
#define OPT_CHOICE(short_, long_, p, words, ...) \
    {.kind = TF_OPT_CHOICE, .letter = (short_), .name = (long_), \
     .target = _Generic((p), int *: (p), unsigned *: (p)), .choices = (words), __VA_ARGS__}
#define OPT_LIST(short_, long_, p, ...) \
    {.kind = TF_OPT_LIST, .letter = (short_), .name = (long_), \
     .target = TF_OPT_POINTER(struct tf_strs, p), __VA_ARGS__}
#define OPT_END {.kind = TF_OPT_END}

struct tf_args;
struct tf_in;
struct tf_sandbox;

/* A tool, for its parser, --help and --version. */
struct tf_tool {
    const char *name;         /* "tf-batch" */
    const char *synopsis;     /* "[options] SRC.tfs TGT.tfs", one line per form */
    const char *summary;      /* one line */
    struct tf_opt *opts;      /* ends with OPT_END; -h, --help and --version are built in */
    int min_args, max_args;   /* operands, without a word that selects a mode; max -1: any number */
    const char *default_mode; /* what mode 1 is called in messages, if no option selects it */
    const char *ending;       /* a first operand that ends so needs no word, or NULL */
    unsigned ending_mode;     /* the mode that it selects */
    const char *settings;     /* a list option, of files of options (opt_file_private.h), or NULL */
    int (*open_settings)(struct tf_in *in, const char *path, struct tf_err *err);
    unsigned stdin_modes;     /* modes that read stdin if no operand is given; 1 without modes */
    /* Add to the sandbox (base/sandbox.h), which has the files of the command line, what else the
     * tool needs; NULL: nothing. */
    void (*widen)(const struct tf_args *args, struct tf_sandbox *sandbox);
};

/* A built-in option that prints something and ends the tool. */
enum tf_ask { TF_ASK_NOTHING, TF_ASK_HELP, TF_ASK_VERSION, TF_ASK_COMPLETION, TF_ASK_OPTIONS };

/* The command line besides its options. */
struct tf_args {
    const char **v;  /* operands; { "-" } if stdin takes their place */
    int n;
    unsigned mode;   /* the selected mode; 1 if none was selected */
    enum tf_ask ask;
    const char *shell; /* of TF_ASK_COMPLETION; may be NULL */
    const char *const *command; /* the whole command line: argv, NULL-terminated */
};

/* Set the row's variable from text; a list gains a word. `shown` is the option's name in messages
 * such as "--beam 0: too small, minimum 1" (status TF_USAGE). */
int tf_opt_set(struct tf_opt *o, const char *shown, const char *text,
               struct tf_err *err) TF_MUST_CHECK;
/* Set all variables to the defaults of the table, empty the lists, and forget what was given. */
void tf_opt_set_defaults(struct tf_opt *opts);
/* Set the variables again to what the user gave. For a tool that overwrites them with a preset that
 * an option has named. Lists stay as they are. */
void tf_opt_reassign(struct tf_opt *opts);

/* Did the user give an option that cannot be combined with that of this name? */
bool tf_opt_excluded(const struct tf_opt *opts, const char *name);
/* Set a row as if the user had given this text, which is copied, unless it was given, or an option
 * that excludes it, or this run does not use it: for a default that a file has. */
int tf_opt_adopt(struct tf_opt *opts, const char *name, const char *text,
                 struct tf_err *err) TF_MUST_CHECK;

/* The index of a word in a list that ends with NULL, or -1 and a reason that has the list. */
int tf_opt_find_word(const char *const *list, const char *text, struct tf_err *why) TF_MUST_CHECK;

/* The row of that long name; NULL: the table has none. */
struct tf_opt *tf_opt_find(struct tf_opt *opts, const char *name);
/* Did the user give the option of that long name? */
bool tf_opt_given(const struct tf_opt *opts, const char *name);
/* Append the options that the user gave, but those of the names in `but`, to a command line of
 * another tool with such rows. Of a list only its last word; the words are never freed. */
void tf_opt_words(struct tf_strs *line, const struct tf_opt *opts, const char *const *but);
/* The same of one list of TF_OPT_WEIGHTED: its name and PATH:WEIGHT for each word. */
void tf_opt_weighted_words(struct tf_strs *line, const char *name, const struct tf_strs *list);
/* Append an option to a command line, if `is`, with its value unless that is NULL. */
void tf_opt_add(struct tf_strs *line, bool is, const char *name, const char *value);
/* Append a word to a list; then, of TF_OPT_PLACED, its place. */
void tf_strs_add(struct tf_strs *list, const char *word);
void tf_strs_place(struct tf_strs *list, size_t place);

#endif
