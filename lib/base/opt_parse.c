/* opt_parse.c - parse argv with a table. --help and the other built-in options are defined here. */
#include "base/opt_parse_private.h"
#include "base/buf.h"
#include "base/opt_check_private.h"
#include "base/opt_file_private.h"

#include <stdio.h>
#include <string.h>

/* An option of the command line: a row of the table or a built-in one. */
struct match {
    struct tf_opt *row;
    enum tf_ask ask; /* TF_ASK_NOTHING for a row */
    bool negated;
};

static bool same(const char *a, size_t n, const char *b)
{
    return b != NULL && strlen(b) == n && memcmp(a, b, n) == 0;
}

static bool starts(const char *prefix, size_t n, const char *s)
{
    return s != NULL && strncmp(prefix, s, n) == 0;
}

static const struct {
    const char *name;
    enum tf_ask ask;
    bool hidden;
} builtins[] = {{"help", TF_ASK_HELP, false},
                {"version", TF_ASK_VERSION, false},
                {"complete", TF_ASK_COMPLETION, true},
                {"list-options", TF_ASK_OPTIONS, true}};

/* The name of a row that s is a prefix of, or NULL. *negated: s without its "no-" is. */
static const char *extends(const struct tf_opt *o, const char *s, size_t n, bool *negated)
{
    *negated = false;
    if (o->flags & TF_OPT_HIDDEN)
        return NULL;
    if ((o->flags & TF_OPT_NEGATABLE) && n > 3 && memcmp(s, "no-", 3) == 0 &&
        (starts(s + 3, n - 3, o->name) || starts(s + 3, n - 3, o->alias))) {
        *negated = true;
        s += 3;
        n -= 3;
    }
    return starts(s, n, o->name) ? o->name : starts(s, n, o->alias) ? o->alias : NULL;
}

/* Find an option by its long name, or by a prefix of it if `prefix` is set. Returns 1 if found, 0
 * if not, -1 if the prefix is ambiguous. */
static int find_long(const struct tf_tool *tool, const char *s, size_t n, bool prefix,
                     struct match *m)
{
    int found = 0;
    for (struct tf_opt *o = tool->opts; o->kind != TF_OPT_END; o++) {
        bool no = (o->flags & TF_OPT_NEGATABLE) && n > 3 && memcmp(s, "no-", 3) == 0;
        if (same(s, n, o->name) || same(s, n, o->alias) ||
            (no && (same(s + 3, n - 3, o->name) || same(s + 3, n - 3, o->alias)))) {
            *m = (struct match){.row = o, .negated = !same(s, n, o->name) && !same(s, n, o->alias)};
            return 1;
        }
        if (prefix && extends(o, s, n, &no) != NULL) {
            *m = (struct match){.row = o, .negated = no};
            found++;
        }
    }
    for (size_t i = 0; i < sizeof builtins / sizeof *builtins; i++) {
        bool exact = same(s, n, builtins[i].name);
        if (exact || (prefix && !builtins[i].hidden && starts(s, n, builtins[i].name))) {
            *m = (struct match){.ask = builtins[i].ask};
            if (exact)
                return 1;
            found++;
        }
    }
    return found > 1 ? -1 : found;
}

static bool find_letter(const struct tf_tool *tool, char c, struct match *m)
{
    for (struct tf_opt *o = tool->opts; o->kind != TF_OPT_END; o++)
        if (o->letter != 0 && o->letter == c) {
            *m = (struct match){.row = o};
            return true;
        }
    *m = (struct match){.ask = TF_ASK_HELP};
    return c == 'h';
}

/* Is the word an option of the tool? */
static bool is_option(const struct tf_tool *tool, const char *word)
{
    struct match m;
    bool two = word[0] == '-' && word[1] == '-';
    const char *s = word + 1 + two;
    if (word[0] != '-' || word[1] == 0)
        return false;
    return find_long(tool, s, strcspn(s, "="), two, &m) != 0 || (!two && find_letter(tool, *s, &m));
}

/* The command line, read up to `at`. */
struct line {
    const struct tf_tool *tool;
    char **v;
    int n, at;
    struct tf_args *args;
    struct tf_strs operands;
};

static const char *next_word(struct line *l)
{
    return l->at < l->n ? l->v[l->at++] : NULL;
}

/* --help and its like: returns 1. */
static int take_builtin(struct line *l, const struct match *m, const char *shown, const char *value,
                        struct tf_err *err)
{
    if (m->ask == TF_ASK_COMPLETION)
        l->args->shell = value != NULL ? value : next_word(l);
    else if (value != NULL)
        return tf_fail_status(err, TF_USAGE, "%s takes no argument", shown);
    l->args->ask = m->ask;
    return 1;
}

/* Use an option; `value` is the argument attached to it, or NULL. Returns 0, 1 (built-in) or -1. */
static int take_option(struct line *l, const struct match *m, const char *shown, const char *value,
                       struct tf_err *err)
{
    struct tf_opt *o = m->row;
    if (m->ask != TF_ASK_NOTHING)
        return take_builtin(l, m, shown, value, err);
    if (o->kind == TF_OPT_FLAG) {
        if (value != NULL)
            return tf_fail_status(err, TF_USAGE, "%s takes no argument", shown);
        o->given = m->negated ? "false" : "true";
        return tf_opt_set(o, shown, o->given, err);
    }
    if (m->negated)
        return tf_fail_status(err, TF_USAGE, "unknown option %s (try --help)", shown);
    bool attached = value != NULL, greedy = o->kind == TF_OPT_LIST && (o->flags & TF_OPT_GREEDY);
    if (!attached && ((value = next_word(l)) == NULL || (greedy && is_option(l->tool, value))))
        return tf_fail_status(err, TF_USAGE, "%s needs an argument (%s)", shown,
                              o->arg != NULL ? o->arg : "see --help");
    if (o->kind == TF_OPT_LIST && o->given == NULL)
        ((struct tf_strs *)o->target)->n = 0; /* the user's words replace the default */
    o->given = value;
    if (tf_opt_set(o, shown, value, err) != 0)
        return -1;
    if (o->flags & TF_OPT_PLACED)
        tf_strs_place(o->target, l->operands.n);
    int rc = 0;
    if (greedy && !attached)
        while (rc == 0 && l->at < l->n && (l->v[l->at][0] != '-' || l->v[l->at][1] == 0))
            rc = tf_opt_set(o, shown, l->v[l->at++], err);
    return rc;
}

/* Levenshtein's distance of n bytes at s and a name, or more than most if it is greater; n at most
 * LONGEST. */
enum { LONGEST = 40 };
static size_t edit_distance(const char *s, size_t n, const char *name, size_t most)
{
    size_t m = strlen(name), row[LONGEST + 1];
    if (m > n + most || n > m + most)
        return most + 1;
    for (size_t i = 0; i <= n; i++)
        row[i] = i;
    for (size_t j = 1; j <= m; j++) {
        size_t before = row[0]; /* of the row above, one to the left */
        row[0] = j;
        for (size_t i = 1; i <= n; i++) {
            size_t above = row[i], best = before + (s[i - 1] != name[j - 1]);
            best = above + 1 < best ? above + 1 : best;
            row[i] = row[i - 1] + 1 < best ? row[i - 1] + 1 : best;
            before = above;
        }
    }
    return row[n];
}

/* The one option whose name differs little from a misspelt one: by two characters at most, and by
 * less than half of them. NULL if there is none, or more than one. */
static const char *similar(const struct tf_tool *tool, const char *s, size_t n)
{
    size_t most = n > 4 ? 2 : n > 2 ? 1 : 0;
    const char *found = NULL;
    if (most == 0 || n > LONGEST)
        return NULL;
    for (const struct tf_opt *o = tool->opts; o->kind != TF_OPT_END; o++) {
        if (o->name == NULL || (o->flags & TF_OPT_HIDDEN) ||
            edit_distance(s, n, o->name, most) > most)
            continue;
        if (found != NULL)
            return NULL;
        found = o->name;
    }
    return found;
}

/* Names that other programs for translation have for an option, and ours. */
static const struct {
    const char *theirs, *ours;
} synonyms[] = {{"beam-size", "beam"},
                {"num-beams", "beam"},
                {"lenpen", "alpha"},
                {"length-penalty", "alpha"},
                {"max-len-b", "max-extra"},
                {"batch-size", "batch"},
                {"batch-size", "tokens"},
                {"batch-size", "max-sentences"},
                {"max-tokens", "tokens"},
                {"max-epoch", "epochs"},
                {"upsample-primary", "corpus-weight"},
                {"learning-rate", "lr"},
                {"learning-rate", "lr-scale"},
                {"max-update", "steps"},
                {"max-updates", "steps"},
                {"max-steps", "steps"},
                {"warmup-updates", "warmup"},
                {"warmup-steps", "warmup"},
                {"update-freq", "accumulate"},
                {"clip-norm", "clip"},
                {"save-dir", "output"},
                {"save-interval-updates", "save-every"},
                {"num-workers", "threads"},
                {"cpu-threads", "threads"},
                {"model-type", "type"},
                {"vocab", "model"},
                {"vocab", "vocab-size"}};

/* What another tool decides. */
static const struct {
    const char *tool, *theirs, *where;
} elsewhere[] = {{"tf-train", "batch-size", "tf-batch makes the batches: --tokens"},
                 {"tf-train", "max-tokens", "tf-batch makes the batches: --tokens"},
                 {"tf-decode", "max-tokens", "--batch is the number of sentences"}};

/* The same name, with underscores or dashes. */
static bool alike(const char *s, size_t n, const char *name)
{
    if (strlen(name) != n)
        return false;
    for (size_t i = 0; i < n; i++)
        if ((s[i] == '_' ? '-' : s[i]) != name[i])
            return false;
    return true;
}

/* Append those of the tool's options for which s is a synonym. */
static void add_synonyms(struct tf_buf *b, const struct tf_tool *tool, const char *s, size_t n)
{
    for (size_t i = 0; i < sizeof synonyms / sizeof *synonyms; i++)
        if (alike(s, n, synonyms[i].theirs) && tf_opt_find(tool->opts, synonyms[i].ours) != NULL)
            tf_buf_printf(b, "%s--%s", b->len > 0 ? " or " : "", synonyms[i].ours);
}

/* Which other tool decides it; NULL: none. */
static const char *decided_elsewhere(const struct tf_tool *tool, const char *s, size_t n)
{
    for (size_t i = 0; i < sizeof elsewhere / sizeof *elsewhere; i++)
        if (strcmp(tool->name, elsewhere[i].tool) == 0 && alike(s, n, elsewhere[i].theirs))
            return elsewhere[i].where;
    return NULL;
}

static int unknown_option(const struct tf_tool *tool, const char *s, size_t n, struct tf_err *err)
{
    const char *where = decided_elsewhere(tool, s, n);
    if (where != NULL)
        return tf_fail_status(err, TF_USAGE, "unknown option --%.*s (%s)", (int)n, s, where);
    const char *name = similar(tool, s, n);
    if (name != NULL)
        return tf_fail_status(err, TF_USAGE, "unknown option --%.*s (did you mean --%s?)", (int)n,
                              s, name);
    return tf_fail_status(err, TF_USAGE, "unknown option --%.*s (try --help)", (int)n, s);
}

static int ambiguous(const struct tf_tool *tool, const char *s, size_t n, struct tf_err *err)
{
    struct tf_buf all = {0};
    bool no;
    for (const struct tf_opt *o = tool->opts; o->kind != TF_OPT_END; o++) {
        const char *name = extends(o, s, n, &no);
        if (name != NULL)
            tf_buf_item(&all, "--%s%s", no ? "no-" : "", name);
    }
    for (size_t i = 0; i < sizeof builtins / sizeof *builtins; i++)
        if (!builtins[i].hidden && starts(s, n, builtins[i].name))
            tf_buf_item(&all, "--%s", builtins[i].name);
    tf_fail_status(err, TF_USAGE, "option --%.*s is ambiguous: %s", (int)n, s, all.p);
    tf_buf_release(&all);
    return -1;
}

static int take_long(struct line *l, const char *word, struct tf_err *err)
{
    const char *s = word + 1 + (word[1] == '-'), *eq = strchr(s, '=');
    size_t n = eq != NULL ? (size_t)(eq - s) : strlen(s);
    struct match m = {0};
    struct tf_buf meant = {0};
    int found = n > 0 ? find_long(l->tool, s, n, false, &m) : 0;
    if (found == 0 && decided_elsewhere(l->tool, s, n) == NULL)
        add_synonyms(&meant, l->tool, s, n);
    if (meant.len > 0) {
        tf_fail_status(err, TF_USAGE, "unknown option --%.*s (did you mean %s?)", (int)n, s,
                       meant.p);
        tf_buf_release(&meant);
        return -1;
    }
    if (found == 0 && n > 0 && word[1] == '-')
        found = find_long(l->tool, s, n, true, &m);
    if (found < 0)
        return ambiguous(l->tool, s, n, err);
    if (found == 0)
        return unknown_option(l->tool, s, n, err);
    /* Messages show the full name of a row, not the prefix that was typed. */
    char shown[80];
    if (m.row == NULL)
        snprintf(shown, sizeof shown, "--%.*s", (int)n, s);
    else
        snprintf(shown, sizeof shown, "--%s%s", m.negated ? "no-" : "", m.row->name);
    return take_option(l, &m, shown, eq != NULL ? eq + 1 : NULL, err);
}

/* "-x", "-xVALUE", and clusters of flags that may end in one with a value. */
static int take_letters(struct line *l, const char *word, struct tf_err *err)
{
    for (const char *p = word + 1; *p != 0; p++) {
        struct match m = {0};
        char shown[] = {'-', *p, 0};
        if (!find_letter(l->tool, *p, &m)) {
            size_t len = 1;
            while ((p[len] & 0xc0) == 0x80) /* a character beyond ASCII */
                len++;
            return tf_fail_status(err, TF_USAGE, "unknown option -%.*s (try --help)", (int)len, p);
        }
        bool valued = m.row != NULL && m.row->kind != TF_OPT_FLAG;
        int rc = take_option(l, &m, shown, valued && p[1] != 0 ? p + 1 : NULL, err);
        if (rc != 0 || valued)
            return rc;
    }
    return 0;
}

/* Read all words. Returns 0, 1 (built-in) or -1. */
static int read_line(struct line *l, struct tf_err *err)
{
    int rc = 0;
    while (rc == 0 && l->at < l->n) {
        const char *word = l->v[l->at++];
        struct match m;
        if (word[0] != '-' || word[1] == 0) {
            tf_strs_add(&l->operands, word);
        } else if (strcmp(word, "--") == 0) {
            while (l->at < l->n)
                tf_strs_add(&l->operands, l->v[l->at++]);
        } else if (word[1] == '-' ||
                   (word[2] != 0 &&
                    find_long(l->tool, word + 1, strcspn(word + 1, "="), false, &m) == 1)) {
            rc = take_long(l, word, err);
        } else {
            rc = take_letters(l, word, err);
        }
    }
    return rc;
}

/* The whole command line without its checks. Returns 0, 1 (built-in) or -1. */
static int read_args(const struct tf_tool *tool, int argc, char **argv, struct tf_args *args,
                     struct tf_err *err)
{
    *args = (struct tf_args){.command = (const char *const *)argv};
    tf_opt_set_defaults(tool->opts);
    struct line l = {.tool = tool, .v = argv, .n = argc, .at = 1, .args = args};
    int rc = read_line(&l, err);
    args->v = l.operands.v;
    args->n = (int)l.operands.n;
    return rc;
}

int tf_opt_parse(const struct tf_tool *tool, int argc, char **argv, struct tf_args *args,
                 struct tf_err *err)
{
    int rc = read_args(tool, argc, argv, args, err);
    if (rc == 0 && tool->settings != NULL && tf_opt_given(tool->opts, tool->settings)) {
        rc = tf_opt_file_expand(&argc, &argv, tool, err);
        if (rc == 0)
            rc = read_args(tool, argc, argv, args, err);
    }
    return rc != 0 ? rc : tf_opt_check(tool, args, err);
}
