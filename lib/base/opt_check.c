/* opt_check.c - rules between options. */
#include "base/opt_check_private.h"
#include "base/buf.h"
#include "base/path.h"

#include <string.h>

/* Was the option given, and not negated by --no-NAME? */
static bool is_on(const struct tf_opt *o)
{
    return o->given != NULL && (o->kind != TF_OPT_FLAG || strcmp(o->given, "true") == 0);
}

/* ---- modes ---- */

/* The row that selects the mode; NULL if no row does. */
static const struct tf_opt *selector(const struct tf_tool *tool, unsigned mode)
{
    for (const struct tf_opt *o = tool->opts; o->kind != TF_OPT_END; o++)
        if (o->selects == mode)
            return o;
    return NULL;
}

/* "curve, --train or encoding" */
static void add_mode_names(struct tf_buf *b, const struct tf_tool *tool, unsigned modes)
{
    const char *names[33], *dashes[33];
    int n = 0;
    for (unsigned mode = 1; mode != 0; mode <<= 1) {
        const struct tf_opt *o = selector(tool, mode);
        if (!(modes & mode) || (o == NULL && (mode > 1 || tool->default_mode == NULL)))
            continue;
        dashes[n] = o != NULL && o->kind != TF_OPT_WORD ? "--" : "";
        names[n++] = o == NULL ? tool->default_mode : o->kind == TF_OPT_WORD ? o->arg : o->name;
    }
    for (int i = 0; i < n; i++)
        tf_buf_printf(b, "%s%s%s", i == 0 ? "" : i < n - 1 ? ", " : " or ", dashes[i], names[i]);
    tf_buf_str(b, "");
}

static int bad_word(const struct tf_tool *tool, const char *word, struct tf_err *err)
{
    struct tf_buf all = {0};
    const char *between = "";
    for (const struct tf_opt *o = tool->opts; o->kind != TF_OPT_END; o++)
        if (o->kind == TF_OPT_WORD) {
            tf_buf_printf(&all, "%s%s", between, o->arg);
            between = ", ";
        }
    if (word == NULL)
        tf_fail_status(err, TF_USAGE, "missing operand: one of %s", all.p);
    else
        tf_fail_status(err, TF_USAGE, "'%s': one of %s", word, all.p);
    tf_buf_release(&all);
    return -1;
}

/* The first operand selects the mode. */
static int take_word(const struct tf_tool *tool, struct tf_args *args, struct tf_err *err)
{
    if (args->n == 0)
        return bad_word(tool, NULL, err);
    for (const struct tf_opt *o = tool->opts; o->kind != TF_OPT_END; o++)
        if (o->kind == TF_OPT_WORD && strcmp(o->arg, args->v[0]) == 0) {
            args->mode = o->selects;
            args->v++;
            args->n--;
            return 0;
        }
    if (tool->ending != NULL && tf_ends_with(args->v[0], tool->ending)) {
        args->mode = tool->ending_mode;
        return 0;
    }
    return bad_word(tool, args->v[0], err);
}

static int find_mode(const struct tf_tool *tool, struct tf_args *args, struct tf_err *err)
{
    const struct tf_opt *selected = NULL;
    args->mode = 1;
    for (const struct tf_opt *o = tool->opts; o->kind != TF_OPT_END; o++) {
        if (o->kind == TF_OPT_WORD)
            return take_word(tool, args, err);
        if (o->selects == 0 || !is_on(o))
            continue;
        if (selected != NULL)
            return tf_fail_status(err, TF_USAGE, "--%s and --%s cannot be used together",
                                  selected->name, o->name);
        selected = o;
        args->mode = o->selects;
    }
    return 0;
}

/* ---- needs and excludes ---- */

/* One condition of a list such as "sample as=paper". */
struct condition {
    const struct tf_opt *opt;
    const char *value; /* NULL: the option need only be on */
    size_t n;
};

/* Read the condition at s; returns what follows it. */
static const char *next_condition(struct condition *c, const struct tf_tool *tool, const char *s)
{
    char name[64];
    size_t n = strcspn(s, " "), length = strcspn(s, " =");
    TF_ASSERT(length < sizeof name);
    memcpy(name, s, length);
    name[length] = 0;
    *c = (struct condition){.opt = tf_opt_find(tool->opts, name)};
    TF_ASSERT(c->opt != NULL);
    if (length < n) {
        c->value = s + length + 1;
        c->n = n - length - 1;
    }
    return s + n + strspn(s + n, " ");
}

static bool holds(const struct condition *c)
{
    if (c->value == NULL)
        return is_on(c->opt);
    TF_ASSERT(c->opt->kind == TF_OPT_CHOICE);
    const char *now = c->opt->choices[*(const int *)c->opt->target];
    return strlen(now) == c->n && memcmp(now, c->value, c->n) == 0;
}

/* "--as paper" */
static void add_condition(struct tf_buf *b, const struct condition *c)
{
    tf_buf_printf(b, "--%s", c->opt->name);
    if (c->value != NULL)
        tf_buf_printf(b, " %.*s", (int)c->n, c->value);
}

/* Set whether this run uses the option. An error if the user gave one that it does not use. */
static int check_use(const struct tf_tool *tool, struct tf_opt *o, unsigned mode,
                     struct tf_err *err)
{
    struct condition c;
    struct tf_buf text = {0};
    int rc = 0;
    o->unused = o->modes != 0 && !(o->modes & mode);
    if (o->unused && o->given != NULL) {
        add_mode_names(&text, tool, o->modes);
        rc = tf_fail_status(err, TF_USAGE, "--%s is only for %s", o->name, text.p);
    }
    if (!o->unused && o->needs != NULL) {
        next_condition(&c, tool, o->needs);
        o->unused = !holds(&c);
        if (o->unused && o->given != NULL) {
            add_condition(&text, &c);
            rc = tf_fail_status(err, TF_USAGE, "--%s requires %s", o->name, text.p);
        }
    }
    tf_buf_release(&text);
    return rc;
}

static int check_excludes(const struct tf_tool *tool, const struct tf_opt *o, struct tf_err *err)
{
    struct condition c;
    for (const char *s = o->excludes; s != NULL && *s != 0;) {
        s = next_condition(&c, tool, s);
        if (!is_on(o) || !holds(&c))
            continue;
        struct tf_buf text = {0};
        add_condition(&text, &c);
        tf_fail_status(err, TF_USAGE, "--%s and %s cannot be used together", o->name, text.p);
        tf_buf_release(&text);
        return -1;
    }
    return 0;
}

/* ---- files ---- */

/* The paths that a row holds. */
static struct tf_strs paths_of(const struct tf_opt *o, const char **one)
{
    if (!(o->flags & TF_OPT_FILE))
        return (struct tf_strs){0};
    if (o->kind == TF_OPT_LIST)
        return *(const struct tf_strs *)o->target;
    *one = *(const char *const *)o->target;
    return (struct tf_strs){.v = one, .n = *one != NULL};
}

static bool is_output(const struct tf_opt *o, unsigned mode)
{
    return (o->flags & TF_OPT_FILE) && ((o->flags & TF_OPT_OUT) || (o->out_modes & mode));
}

/* At most one input can be stdin, and one output stdout. */
static int check_standard_streams(const struct tf_tool *tool, const struct tf_args *args,
                                  struct tf_err *err)
{
    size_t in = tf_count_std(args->v, (size_t)args->n), out = 0;
    const char *one;
    for (const struct tf_opt *o = tool->opts; o->kind != TF_OPT_END; o++) {
        struct tf_strs paths = paths_of(o, &one);
        if (!o->unused)
            *(is_output(o, args->mode) ? &out : &in) += tf_count_std(paths.v, paths.n);
    }
    if (in > 1)
        return tf_fail_status(err, TF_USAGE, "only one file can be stdin");
    return out > 1 ? tf_fail_status(err, TF_USAGE, "only one output can be stdout") : 0;
}

/* An output must not replace an input or another output. */
static int check_output(const struct tf_tool *tool, const struct tf_args *args,
                        const struct tf_opt *out, struct tf_err *err)
{
    const char *path = *(const char *const *)out->target, *one;
    if (path == NULL || strcmp(path, "-") == 0)
        return 0;
    bool same = false;
    for (int i = 0; i < args->n; i++)
        same = same || tf_same_file(args->v[i], path);
    for (const struct tf_opt *o = tool->opts; o->kind != TF_OPT_END; o++) {
        struct tf_strs paths = paths_of(o, &one);
        for (size_t i = 0; o != out && i < paths.n; i++) {
            bool output = is_output(o, args->mode), here = tf_same_file(paths.v[i], path);
            if (output && (here || strcmp(paths.v[i], path) == 0)) /* it may not exist yet */
                return tf_fail_status(err, TF_USAGE, "%s: is the output of both --%s and --%s",
                                      path, out->name, o->name);
            same = same || here;
        }
    }
    return same ? tf_fail_status(err, TF_USAGE, "%s: is both input and output", path) : 0;
}

/* Is stdout the output? Not where --output names a file. */
static bool writes_stdout(const struct tf_tool *tool)
{
    for (const struct tf_opt *o = tool->opts; o->kind != TF_OPT_END; o++)
        if (o->name != NULL && strcmp(o->name, "output") == 0)
            return tf_is_std(*(const char *const *)o->target);
    return true;
}

/* A tool that appends to its own input would never end. */
static int check_stdout(const struct tf_tool *tool, const struct tf_args *args, struct tf_err *err)
{
    struct tf_strs inputs = {0}, others = {0};
    if (!writes_stdout(tool))
        return 0;
    tf_opt_files(tool, args, &inputs, &others, &others);
    if (tf_count_std(args->v, (size_t)args->n) > 0)
        tf_strs_add(&inputs, "-");
    for (size_t i = 0; i < inputs.n; i++)
        if (tf_same_file(inputs.v[i], "-"))
            return tf_fail_status(err, TF_USAGE, "%s: is both input and output",
                                  tf_is_std(inputs.v[i]) ? "stdin" : inputs.v[i]);
    return 0;
}

void tf_opt_files(const struct tf_tool *tool, const struct tf_args *args, struct tf_strs *read,
                  struct tf_strs *write, struct tf_strs *dirs)
{
    const char *one;
    for (int i = 0; i < args->n; i++)
        if (!tf_is_std(args->v[i]))
            tf_strs_add(read, args->v[i]);
    for (const struct tf_opt *o = tool->opts; o->kind != TF_OPT_END; o++) {
        struct tf_strs paths = paths_of(o, &one);
        struct tf_strs *list = !is_output(o, args->mode) ? read
                               : (o->flags & TF_OPT_DIR) ? dirs
                                                         : write;
        for (size_t i = 0; i < paths.n && !o->unused; i++)
            if (!tf_is_std(paths.v[i]))
                tf_strs_add(list, paths.v[i]);
    }
}

/* ---- entry point ---- */

static int check_count(const struct tf_tool *tool, const struct tf_args *args, struct tf_err *err)
{
    if (args->n < tool->min_args)
        return tf_fail_status(err, TF_USAGE,
                              "too few operands: %d given, at least %d needed (try --help)",
                              args->n, tool->min_args);
    if (tool->max_args >= 0 && args->n > tool->max_args)
        return tf_fail_status(err, TF_USAGE, "unexpected operand '%s' (try --help)",
                              args->v[tool->max_args]);
    for (int i = 0; i < args->n; i++)
        if (*args->v[i] == 0)
            return tf_fail_status(err, TF_USAGE, "'': empty file name");
    return 0;
}

int tf_opt_check(const struct tf_tool *tool, struct tf_args *args, struct tf_err *err)
{
    static const char *std_in[] = {"-"};
    if (find_mode(tool, args, err) != 0 || check_count(tool, args, err) != 0)
        return -1;
    if (args->n == 0 && (tool->stdin_modes & args->mode)) {
        args->v = std_in;
        args->n = 1;
    }
    for (struct tf_opt *o = tool->opts; o->kind != TF_OPT_END; o++)
        if (check_use(tool, o, args->mode, err) != 0)
            return -1;
    for (const struct tf_opt *o = tool->opts; o->kind != TF_OPT_END; o++)
        if (check_excludes(tool, o, err) != 0)
            return -1;
    if (check_standard_streams(tool, args, err) != 0)
        return -1;
    for (const struct tf_opt *o = tool->opts; o->kind != TF_OPT_END; o++)
        if (is_output(o, args->mode) && check_output(tool, args, o, err) != 0)
            return -1;
    return check_stdout(tool, args, err);
}
