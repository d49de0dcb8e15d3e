/* opt_file.c - see opt_file_private.h. */
#include "base/opt_file_private.h"
#include "base/buf.h"
#include "base/input.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { LONGEST = 1 << 16 };
static const char blanks[] = " \t\r";

/* The row of a name; negated: of "no-" before it. */
static struct tf_opt *find(struct tf_opt *opts, const char *name, bool *negated)
{
    struct tf_opt *o = tf_opt_find(opts, name);
    *negated = false;
    if (o != NULL || strncmp(name, "no-", 3) != 0)
        return o;
    o = tf_opt_find(opts, name + 3);
    *negated = o != NULL && (o->flags & TF_OPT_NEGATABLE);
    return *negated ? o : NULL;
}

/* The word of the command line that a line is, not of option `own`; NULL with a reason. */
static char *word_of(char *line, struct tf_opt *opts, const char *own, struct tf_err *err)
{
    const size_t n = strcspn(line, " \t\r=:");
    const char *value = line + n + strspn(line + n, blanks);
    bool negated, is_false;
    if (*value == '=' || *value == ':')
        value += 1 + strspn(value + 1, blanks);
    line[n] = 0;
    for (char *c = line; *c != 0; c++)
        if (*c == '_')
            *c = '-';
    struct tf_opt *o = find(opts, line, &negated);
    if (o == NULL) {
        tf_fail_status(err, TF_USAGE, "no option '%.80s'", line);
        return NULL;
    }
    if (strcmp(line, own) == 0) {
        tf_fail_status(err, TF_USAGE, "--%s: only on the command line", own);
        return NULL;
    }
    is_false = o->kind == TF_OPT_FLAG && strcmp(value, "false") == 0;
    if (o->kind == TF_OPT_FLAG && strcmp(value, "true") == 0) {
        value = "";
    } else if (o->kind == TF_OPT_FLAG && *value != 0 && !is_false) {
        tf_fail_status(err, TF_USAGE, "--%s '%.80s': true or false, or no value", line, value);
        return NULL;
    }
    if (is_false && !negated && (o->flags & TF_OPT_NEGATABLE) == 0) /* as it is without it */
        return tf_xstrdup("");
    struct tf_buf b = {0};
    tf_buf_printf(&b, "--%s%s", is_false && !negated ? "no-" : "",
                  is_false && negated ? line + 3 : line);
    /* Set for the reason alone; the parser begins with the defaults again. */
    if (o->kind != TF_OPT_FLAG && tf_opt_set(o, b.p, value, err) != 0) {
        tf_buf_release(&b);
        return NULL;
    }
    if (!is_false && (*value != 0 || o->kind != TF_OPT_FLAG)) /* else the next word is its value */
        tf_buf_printf(&b, "=%s", value);
    return b.p;
}

static int read_file(struct tf_strs *words, const char *path, const struct tf_tool *tool,
                     struct tf_err *err)
{
    struct tf_in in;
    const char *line;
    size_t n;
    int rc;
    if (strcmp(path, "-") == 0)
        return tf_fail_status(err, TF_USAGE, "-: options come from a file, not from stdin");
    if (tool->open_settings(&in, path, err) != 0)
        return -1;
    for (unsigned long number = 1; (rc = tf_in_line(&in, &line, &n, LONGEST, err)) > 0; number++) {
        if (rc == 2 || memchr(line, 0, n) != NULL) {
            rc = tf_fail_status(err, TF_USAGE, "%s: line %lu: %s", path, number,
                                rc == 2 ? "too long" : "has a NUL byte");
            break;
        }
        char *copy = tf_xstrndup(line, n), *text = copy + strspn(copy, blanks);
        for (size_t end = strlen(text); end > 0 && strchr(blanks, text[end - 1]) != NULL; end--)
            text[end - 1] = 0;
        char *word = *text != 0 && *text != '#' ? word_of(text, tool->opts, tool->settings, err)
                                                : tf_xstrdup("");
        free(copy);
        if (word == NULL) {
            rc = tf_context(err, "%s: line %lu", path, number);
            break;
        }
        if (*word != 0)
            tf_strs_add(words, word);
        else
            free(word);
    }
    tf_in_close(&in);
    return rc;
}

int tf_opt_file_expand(int *argc, char ***argv, const struct tf_tool *tool, struct tf_err *err)
{
    const struct tf_strs *files = tf_opt_find(tool->opts, tool->settings)->target;
    struct tf_strs words = {0};
    tf_strs_add(&words, **argv);
    for (size_t i = 0; i < files->n; i++)
        if (read_file(&words, files->v[i], tool, err) != 0)
            return tf_context(err, "--%s", tool->settings);
    for (int i = 1; i <= *argc; i++) /* and the NULL at the end */
        tf_strs_add(&words, (*argv)[i]);
    *argc = (int)words.n - 1;
    *argv = (char **)words.v;
    return 0;
}
