/* opt_print.c - an option table as --help, as a list of options and as completion scripts. */
#include "base/opt_print_private.h"
#include "base/buf.h"
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HELP_COLUMN = 28, HELP_WIDTH = 100 };

static const struct tf_opt builtin_rows[] = {
    {.kind = TF_OPT_FLAG, .letter = 'h', .name = "help", .help = "print this text"},
    {.kind = TF_OPT_FLAG, .name = "version", .help = "print the version"},
    {.kind = TF_OPT_END},
};

static bool is_listed(const struct tf_opt *o)
{
    return o->kind != TF_OPT_GROUP && o->kind != TF_OPT_WORD && !(o->flags & TF_OPT_HIDDEN);
}

static bool letter_taken(const struct tf_tool *tool, char c)
{
    for (const struct tf_opt *o = tool->opts; o->kind != TF_OPT_END; o++)
        if (o->letter == c)
            return true;
    return false;
}

static void add_choices(struct tf_buf *b, const struct tf_opt *o, const char *between)
{
    for (int i = 0; o->choices[i] != NULL; i++)
        tf_buf_printf(b, "%s%s", i > 0 ? between : "", o->choices[i]);
}

/* Print text from column `indent`, wrapped at spaces; the cursor is at column `at`. NO_BREAK prints
 * as a space at which the line does not wrap. */
#define NO_BREAK "\1"
static void print_wrapped(const char *text, int indent, int at)
{
    printf("%*s", indent - at, "");
    for (int column = indent; *text != 0;) {
        int n = (int)strcspn(text, " ");
        if (column > indent && column + 1 + n > HELP_WIDTH) {
            printf("\n%*s", indent, "");
            column = indent;
        }
        column += n + (column > indent);
        if (column > indent + n)
            putchar(' ');
        for (; n > 0; n--, text++)
            putchar(*text != *NO_BREAK ? *text : ' ');
        text += strspn(text, " ");
    }
    putchar('\n');
}

static void print_columns(const char *left, const char *right)
{
    int at = printf("%s", left);
    if (at > HELP_COLUMN - 2) {
        putchar('\n');
        at = 0;
    }
    print_wrapped(right, HELP_COLUMN, at);
}

static void print_row(const struct tf_opt *o, bool with_letter)
{
    struct tf_buf left = {0}, right = {0};
    if (o->letter != 0 && with_letter)
        tf_buf_printf(&left, "  -%c%s", o->letter, o->name != NULL ? ", " : "");
    else
        tf_buf_str(&left, "      ");
    if (o->name != NULL)
        tf_buf_printf(&left, "--%s%s", o->flags & TF_OPT_NEGATABLE ? "[no-]" : "", o->name);
    if (o->kind == TF_OPT_CHOICE && o->arg == NULL) {
        tf_buf_byte(&left, ' ');
        add_choices(&left, o, "|");
    } else if (o->kind != TF_OPT_FLAG) {
        tf_buf_printf(&left, " %s%s", o->arg != NULL ? o->arg : "ARG",
                      o->flags & TF_OPT_GREEDY ? "..." : "");
    }
    tf_buf_str(&right, o->help != NULL ? o->help : "");
    if (o->kind == TF_OPT_CHOICE && o->arg != NULL) {
        tf_buf_str(&right, "; one of ");
        add_choices(&right, o, ", ");
    }
    if (o->alias != NULL)
        tf_buf_printf(&right, " (also" NO_BREAK "-%s)", o->alias);
    /* A default of "-" is not shown: `help` names the standard stream. */
    const char *def = o->kind == TF_OPT_FLAG
                          ? (o->def != NULL && strcmp(o->def, "true") == 0 ? "on" : NULL)
                          : o->def;
    if (def != NULL && *def != 0 && strcmp(def, "-") != 0)
        tf_buf_printf(&right, " (default" NO_BREAK "%s)", def);
    print_columns(left.p, right.p);
    tf_buf_release(&left);
    tf_buf_release(&right);
}

void tf_opt_print_help(const struct tf_tool *tool)
{
    const char *lead = "usage:";
    for (const char *p = tool->synopsis; *p != 0;) {
        int n = (int)strcspn(p, "\n");
        printf("%-6s %s %.*s\n", lead, tool->name, n, p);
        lead = "";
        p += n + (p[n] != 0);
    }
    printf("\n%s\n\n", tool->summary);
    for (const struct tf_opt *o = tool->opts; o->kind != TF_OPT_END; o++) {
        if (o->kind == TF_OPT_GROUP) {
            struct tf_buf b = {0};
            tf_buf_printf(&b, "%s:", o->help);
            if (o != tool->opts)
                putchar('\n');
            print_wrapped(b.p, 0, 0);
            tf_buf_release(&b);
        } else if (o->kind == TF_OPT_WORD) {
            struct tf_buf b = {0};
            tf_buf_printf(&b, "  %s", o->arg);
            print_columns(b.p, o->help);
            tf_buf_release(&b);
        } else if (is_listed(o)) {
            print_row(o, true);
        }
    }
    if (tool->opts->kind != TF_OPT_END)
        putchar('\n');
    for (const struct tf_opt *o = builtin_rows; o->kind != TF_OPT_END; o++)
        print_row(o, !letter_taken(tool, o->letter));
}

/* Every spelling that the manual must have, each after a space. */
static void add_spellings(struct tf_buf *b, const struct tf_tool *tool, const struct tf_opt *o)
{
    bool builtin =
        o >= builtin_rows && o < builtin_rows + sizeof builtin_rows / sizeof *builtin_rows;
    if (o->letter != 0 && !(builtin && letter_taken(tool, o->letter)))
        tf_buf_printf(b, " -%c", o->letter);
    if (o->name != NULL)
        tf_buf_printf(b, " --%s", o->name);
    if (o->name != NULL && (o->flags & TF_OPT_NEGATABLE))
        tf_buf_printf(b, " --no-%s", o->name);
    if (o->alias != NULL)
        tf_buf_printf(b, " --%s", o->alias);
}

static const struct tf_opt *next_listed(const struct tf_tool *tool, const struct tf_opt *o)
{
    bool in_tool = o == NULL || !(o >= builtin_rows &&
                                  o < builtin_rows + sizeof builtin_rows / sizeof *builtin_rows);
    o = o == NULL ? tool->opts : o + 1;
    while (in_tool && o->kind != TF_OPT_END && !is_listed(o))
        o++;
    if (in_tool && o->kind == TF_OPT_END)
        o = builtin_rows;
    return o->kind != TF_OPT_END ? o : NULL;
}

void tf_opt_print_list(const struct tf_tool *tool)
{
    struct tf_buf b = {0};
    for (const struct tf_opt *o = NULL; (o = next_listed(tool, o)) != NULL;) {
        tf_buf_clear(&b);
        add_spellings(&b, tool, o);
        puts(b.p + 1);
    }
    tf_buf_release(&b);
}

/* Print text in a single-quoted word of zsh's _arguments; escape the characters of `special`. */
static void print_zsh(const char *text, const char *special)
{
    for (; *text != 0; text++)
        if (*text == '\'')
            printf("'\\''");
        else
            printf(strchr(special, *text) != NULL ? "\\%c" : "%c", *text);
}

static void print_fish(const char *text)
{
    for (; *text != 0; text++)
        printf(strchr("'\\", *text) != NULL ? "\\%c" : "%c", *text);
}

/* The words that can be the first operand, each after a space. */
static void add_words(struct tf_buf *b, const struct tf_tool *tool)
{
    tf_buf_str(b, "");
    for (const struct tf_opt *o = tool->opts; o->kind != TF_OPT_END; o++)
        if (o->kind == TF_OPT_WORD)
            tf_buf_printf(b, " %s", o->arg);
}

static void bash(const struct tf_tool *tool)
{
    struct tf_buf all = {0}, b = {0};
    for (const struct tf_opt *o = NULL; (o = next_listed(tool, o)) != NULL;)
        add_spellings(&all, tool, o);
    char *function = tf_xstrdup(tool->name); /* "tf_x": some versions of bash allow no dash */
    for (char *p = function; *p != 0; p++)
        if (*p == '-')
            *p = '_';
    tf_buf_clear(&b);
    add_words(&b, tool);
    /* Bash splits --name=value into three words. A word such as "curve" precedes the files. */
    printf("_%s()\n{\n"
           "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}%s%s%s\n"
           "    [[ $prev != = ]] || prev=${COMP_WORDS[COMP_CWORD-2]}\n"
           "    [[ $cur != = ]] || cur=\n"
           "    COMPREPLY=()\n    case $prev in\n",
           function, b.len > 0 ? " word words='" : "", b.p, b.len > 0 ? " '" : "");
    for (const struct tf_opt *o = NULL; (o = next_listed(tool, o)) != NULL;) {
        if (o->kind == TF_OPT_FLAG)
            continue;
        tf_buf_clear(&b);
        add_spellings(&b, tool, o);
        if (o->alias != NULL)
            tf_buf_printf(&b, " -%s", o->alias);
        for (char *p = b.p + 1; *p != 0; p++)
            if (*p == ' ')
                *p = '|';
        printf("    %s)\n", b.p + 1);
        tf_buf_clear(&b);
        if (o->choices != NULL) {
            add_choices(&b, o, " ");
            printf("        mapfile -t COMPREPLY < <(compgen -W '%s' -- \"$cur\")\n", b.p);
        } else if (o->flags & TF_OPT_FILE) {
            printf("        mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n");
        }
        printf("        return ;;\n");
    }
    printf("    esac\n    if [[ $cur == -* ]]; then\n"
           "        mapfile -t COMPREPLY < <(compgen -W '%s' -- \"$cur\")\n"
           "        return\n    fi\n",
           all.p + 1);
    tf_buf_clear(&b);
    add_words(&b, tool);
    if (b.len > 0)
        printf("    for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
               "        [[ $words != *\" $word \"* ]] || words=\n    done\n"
               "    if [[ $words ]]; then\n"
               "        mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
               "        return\n    fi\n");
    printf("    mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n}\n"
           "complete -o filenames -F _%s %s\n",
           function, tool->name);
    free(function);
    tf_buf_release(&all);
    tf_buf_release(&b);
}

static void zsh(const struct tf_tool *tool)
{
    struct tf_buf b = {0};
    printf("#compdef %s\n_arguments -s -S", tool->name);
    for (const struct tf_opt *o = NULL; (o = next_listed(tool, o)) != NULL;) {
        tf_buf_clear(&b);
        add_spellings(&b, tool, o);
        for (char *p = strtok(b.p, " "); p != NULL; p = strtok(NULL, " ")) {
            printf(" \\\n    '%s%s%s[", o->kind == TF_OPT_LIST ? "*" : "", p,
                   o->kind == TF_OPT_FLAG ? "" : p[1] == '-' ? "=" : "+");
            print_zsh(o->help != NULL ? o->help : "", "[]:\\");
            putchar(']');
            if (o->choices != NULL) {
                struct tf_buf c = {0};
                add_choices(&c, o, " ");
                printf(":%s:(%s)", o->name != NULL ? o->name : "word", c.p);
                tf_buf_release(&c);
            } else if (o->kind != TF_OPT_FLAG) {
                putchar(':');
                print_zsh(o->arg != NULL ? o->arg : "ARG", ":");
                printf(":%s", o->flags & TF_OPT_FILE ? "_files" : "");
            }
            putchar('\'');
        }
    }
    tf_buf_clear(&b);
    add_words(&b, tool);
    if (b.len > 0)
        printf(" \\\n    '1:word:(%s)'", b.p + 1);
    printf(" \\\n    '*:file:_files'\n");
    tf_buf_release(&b);
}

static void fish(const struct tf_tool *tool)
{
    for (const struct tf_opt *o = tool->opts; o->kind != TF_OPT_END; o++)
        if (o->kind == TF_OPT_WORD) {
            printf("complete -c %s -n __fish_use_subcommand -a %s -d '", tool->name, o->arg);
            print_fish(o->help);
            printf("'\n");
        }
    for (const struct tf_opt *o = NULL; (o = next_listed(tool, o)) != NULL;) {
        printf("complete -c %s", tool->name);
        if (o->letter != 0)
            printf(" -s %c", o->letter);
        if (o->name != NULL)
            printf(" -l %s", o->name);
        if (o->alias != NULL)
            printf(" -o %s", o->alias);
        if (o->choices != NULL) {
            struct tf_buf c = {0};
            add_choices(&c, o, " ");
            printf(" -x -a '%s'", c.p);
            tf_buf_release(&c);
        } else if (o->kind != TF_OPT_FLAG) {
            printf(" %s", o->flags & TF_OPT_FILE ? "-r" : "-x");
        }
        printf(" -d '");
        print_fish(o->help != NULL ? o->help : "");
        printf("'\n");
        if (o->name != NULL && (o->flags & TF_OPT_NEGATABLE))
            printf("complete -c %s -l no-%s\n", tool->name, o->name);
    }
}

int tf_opt_print_completion(const struct tf_tool *tool, const char *shell)
{
    if (strcmp(shell, "bash") == 0)
        bash(tool);
    else if (strcmp(shell, "zsh") == 0)
        zsh(tool);
    else if (strcmp(shell, "fish") == 0)
        fish(tool);
    else
        return -1;
    return 0;
}
