/* Option tables: values from a command line, messages for wrong ones, what the table prints, and
 * the end of a tool. */
#include "../harness/child.h"
#include "../harness/tap.h"
#include "../harness/temp.h"
#include "base/buf.h"
#include "base/log.h"
#include "base/tool.h"
#include "base/version.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

static int64_t beam, free_int;
static double rate;
static bool force, shuffle;
static int dialect;
static struct tf_strs files, langs;
static const char *tok;
static const char *const dialects[] = {"paper", "t2t", NULL};

/* The words come first, so that the tests of parsing can skip them. */
static struct tf_opt with_words[] = {
    OPT_GROUP("What to do"),
    OPT_WORD("first", 1, "a word among the operands"),
    OPT_WORD("a-word-without-room-beside-it", 2, "has its text below"),
    OPT_GROUP("Search"),
    OPT_INT('b', "beam", &beam, .arg = "N", .def = "4", .lo = 1, .hi = 100,
            .flags = TF_OPT_SEMANTIC, .help = "width of the beam"),
    OPT_REAL('r', "rate", &rate, .arg = "X", .def = "0.1", .lo = 0, .hi = 1,
             .help = "a rate whose help is so long that the line must be broken at a space "
                     "somewhere, not before 0.1"),
    OPT_INT(0, "beans", &free_int, .arg = "N", .help = "no range, no default"),
    OPT_GROUP("Other"),
    OPT_FLAG('f', "force", &force, .def = "false", .help = "force it"),
    OPT_FLAG('s', "shuffle", &shuffle, .def = "true", .flags = TF_OPT_NEGATABLE, .help = "shuffle"),
    OPT_CHOICE(0, "as", &dialect, dialects, .def = "paper", .help = "dialect"),
    OPT_LIST('i', "input", &files, .arg = "FILE", .flags = TF_OPT_GREEDY | TF_OPT_FILE,
             .help = "inputs"),
    OPT_LIST(0, "lang", &langs, .arg = "L", .def = "en", .help = "languages"),
    OPT_STR(0, "tokenize", &tok, .alias = "tok", .arg = "NAME", .def = "13a", .help = "tokenizer"),
    OPT_STR(0, "secret", &tok, .arg = "S", .flags = TF_OPT_HIDDEN, .help = "hidden"),
    OPT_END,
};
static struct tf_opt *const opts = with_words + 3;
static const struct tf_tool tool = {.name = "tf-x",
                                    .synopsis = "[options] [FILE ...]\n-d X",
                                    .summary = "an example",
                                    .opts = with_words + 3,
                                    .max_args = 3};
static const struct tf_tool tool_with_words = {.name = "tf-x",
                                               .synopsis = "[options] [FILE ...]\n-d X",
                                               .summary = "an example",
                                               .opts = with_words,
                                               .max_args = 3};
static const struct tf_tool *tool_in_use = &tool;

static struct tf_err err;
static struct tf_args args;

/* Parse a line split at spaces; `_` stands for an empty word. */
static int parse(const char *line)
{
    static char text[512];
    static char *argv[64];
    static char empty[] = "", name[] = "tf-x";
    int argc = 1;
    argv[0] = name;
    snprintf(text, sizeof text, "%s", line);
    for (char *p = strtok(text, " "); p != NULL; p = strtok(NULL, " "))
        argv[argc++] = strcmp(p, "_") == 0 ? empty : p;
    argv[argc] = NULL;
    err = (struct tf_err){0};
    return tf_tool_start(tool_in_use, argc, argv, &args, &err);
}

static void put_value(struct tf_buf *b, const struct tf_opt *o)
{
    const struct tf_strs *list = o->target;
    if (o->kind == TF_OPT_FLAG)
        tf_buf_str(b, *(const bool *)o->target ? "true" : "false");
    else if (o->kind == TF_OPT_INT)
        tf_buf_printf(b, "%lld", (long long)*(const int64_t *)o->target);
    else if (o->kind == TF_OPT_REAL)
        tf_buf_printf(b, "%g", *(const double *)o->target);
    else if (o->kind == TF_OPT_STR)
        tf_buf_str(b, *(const char *const *)o->target);
    else if (o->kind == TF_OPT_CHOICE)
        tf_buf_str(b, o->choices[*(const int *)o->target]);
    else
        for (size_t i = 0; i < list->n; i++)
            tf_buf_printf(b, "%s%s", i > 0 ? "," : "", list->v[i]);
}

/* All values given and the operands as one text. */
static const char *values(void)
{
    static struct tf_buf b;
    tf_buf_clear(&b);
    for (struct tf_opt *o = opts; o->kind != TF_OPT_END; o++)
        if (o->given != NULL) {
            tf_buf_printf(&b, "%s=", o->name);
            put_value(&b, o);
            tf_buf_byte(&b, ' ');
        }
    for (int i = 0; i < args.n; i++)
        tf_buf_printf(&b, "[%s]", args.v[i]);
    tf_buf_str(&b, "");
    return b.p;
}

static void good(const char *line, const char *want)
{
    if (is_int(parse(line), 0, "'%s' parses (%s)", line, err.msg))
        is_str(values(), want, "'%s' sets", line);
}

static void bad(const char *line, const char *want)
{
    is_int(parse(line), -1, "'%s' is refused", line);
    is_str(err.msg, want, "'%s': message", line);
    is_int(err.status, TF_USAGE, "'%s': status", line);
}

static void parsing(void)
{
    is_int(parse(""), 0, "an empty line");
    ok(beam == 4 && rate == 0.1 && !force && shuffle && dialect == 0 && strcmp(tok, "13a") == 0 &&
           langs.n == 1 && files.n == 0,
       "defaults from the table");
    ok(tf_opt_find(opts, "beam")->target == &beam && tf_opt_find(opts, "bea") == NULL,
       "find takes full names");

    good("-b 7 a", "beam=7 [a]");
    good("-b7", "beam=7 ");
    good("--beam=7 --beam 8", "beam=8 ");
    good("-beam 9", "beam=9 ");
    good("-beam=9", "beam=9 ");
    good("-fs -r0.5", "rate=0.5 force=true shuffle=true ");
    good("-fb2", "beam=2 force=true ");
    good("--no-shuffle", "shuffle=false ");
    good("--no-shuffle --shuffle", "shuffle=true ");
    good("--no-sh", "shuffle=false ");
    good("--fo --ra 1", "rate=1 force=true ");
    good("--beans -5", "beans=-5 ");
    good("--beans 9G", "beans=9000000000 ");
    good("--as t2t", "as=t2t ");
    good("-tok none", "tokenize=none ");
    good("--tok none", "tokenize=none ");
    good("--toke none", "tokenize=none ");
    good("-tokenize=none", "tokenize=none ");
    good("--tok=", "tokenize= ");
    good("--tok -", "tokenize=- ");
    good("--tok _", "tokenize= ");
    good("--secret x", "secret=x ");
    good("-i a b - -f c", "force=true input=a,b,- [c]");
    good("-i a -i b", "input=a,b ");
    good("--input=a b", "input=a [b]");
    good("--lang de --lang fr --lang cs", "lang=de,fr,cs ");
    good("a -f - -- -b", "force=true [a][-][-b]");
    good("-", "[-]");
    bad("- -", "only one file can be stdin");
    good("-- --help", "[--help]");

    bad("--beam 0", "--beam 0: too small, minimum 1");
    bad("-b 101", "-b 101: too large, maximum 100");
    bad("--bea 3", "option --bea is ambiguous: --beam, --beans");
    bad("--beam=1x", "--beam '1x': not a number");
    bad("--ra 1.5", "--rate 1.5: too large, maximum 1");
    bad("--beam", "--beam needs an argument (N)");
    bad("-fb", "-b needs an argument (N)");
    bad("--force=1", "--force takes no argument");
    bad("--no-shuffle=1", "--no-shuffle takes no argument");
    bad("--no-force", "unknown option --no-force (try --help)");
    bad("--shufle", "unknown option --shufle (did you mean --shuffle?)");
    bad("--baem=7", "unknown option --baem (try --help)");
    bad("--focre", "unknown option --focre (did you mean --force?)");
    bad("--as x", "--as x: not one of paper, t2t");
    bad("--x", "unknown option --x (try --help)");
    bad("--x=secret", "unknown option --x (try --help)");
    bad("-x", "unknown option -x (try --help)");
    bad("-fx", "unknown option -x (try --help)");
    bad("-\xc3\xa4", "unknown option -\xc3\xa4 (try --help)");
    bad("--secre x", "unknown option --secre (try --help)");
    bad("--=1", "unknown option -- (try --help)");
    bad("---", "unknown option --- (try --help)");
    bad("-bea 3", "-b 'ea': not a number");
    bad("a b c d", "unexpected operand 'd' (try --help)");
    bad("--help=1", "--help takes no argument");
    bad("--list-options=1", "--list-options takes no argument");
    struct tf_tool needs = tool;
    needs.min_args = 2;
    static char name[] = "tf-x", a[] = "a";
    char *argv[] = {name, a, NULL};
    is_int(tf_tool_start(&needs, 2, argv, &args, &err), -1, "too few operands");
    is_str(err.msg, "too few operands: 1 given, at least 2 needed (try --help)", "message");
    parse("--lang de");
    is_int(parse(""), 0, "parsed again");
    ok(langs.n == 1 && strcmp(langs.v[0], "en") == 0 && !tf_opt_given(opts, "lang"),
       "a second parse resets the results");
}

/* An output is neither an input nor another output, whatever the names. */
static void apart(void)
{
    static const char *in, *log, *out;
    static struct tf_opt rows[] = {
        OPT_STR(0, "in", &in, .arg = "FILE", .flags = TF_OPT_FILE),
        OPT_STR(0, "log", &log, .arg = "FILE", .flags = TF_OPT_FILE | TF_OPT_OUT),
        OPT_STR(0, "output", &out, .arg = "FILE", .flags = TF_OPT_FILE | TF_OPT_OUT),
        OPT_END,
    };
    static const struct tf_tool t = {.name = "tf-x", .opts = rows, .max_args = 1};
    static char name[] = "tf-x", path[64], same[80], o_in[] = "--in", o_log[] = "--log",
                o_out[] = "--output", none[] = "/nowhere/x", other[] = "/nowhere/y";
    char *cases[][6] = {{name, path, o_log, same},
                        {name, o_in, path, o_log, same},
                        {name, same, o_out, path},
                        {name, o_out, same, o_log, path},
                        {name, path, o_out, none, o_log, none},
                        {name, path, o_out, none, o_log, other}};
    const int argc[] = {4, 5, 4, 5, 6, 6};
    const char *const want[] = {"is both input and output",
                                "is both input and output",
                                "is both input and output",
                                "is the output of both --log and --output",
                                "is the output of both --log and --output",
                                NULL};
    snprintf(path, sizeof path, "%s", temp_path("in-and-out"));
    snprintf(same, sizeof same, "%s/../tmp/%s", "/tmp", path + strlen("/tmp/"));
    write_file(path, "", 0);
    for (int i = 0; i < 6; i++) {
        in = log = out = NULL;
        err = (struct tf_err){0};
        int rc = tf_tool_start(&t, argc[i], cases[i], &args, &err);
        if (want[i] == NULL)
            is_int(rc, 0, "files that are not there are kept apart: %s", err.msg);
        else
            ok(rc == -1 && err.status == TF_USAGE && strstr(err.msg, want[i]) != NULL, "%s",
               err.msg);
    }
}

/* ---- rules between options ---- */

enum { ENCODE = 1, DECODE = 2, TRAIN = 4 };
static bool sample, as_text, json;
static int64_t size, seed;
static const char *model, *words_file, *output;
static int format;
static const char *const formats[] = {"plain", "table", NULL};

static struct tf_opt ruled[] = {
    OPT_MODE('d', "decode", DECODE),
    OPT_STR(0, "train", &words_file, .arg = "FILE", .selects = TRAIN),
    OPT_STR('m', "model", &model, .arg = "FILE", .flags = TF_OPT_FILE),
    OPT_STR('o', "output", &output, .arg = "FILE", .flags = TF_OPT_FILE | TF_OPT_OUT),
    OPT_STR('w', "words", &words_file, .arg = "FILE", .flags = TF_OPT_FILE, .out_modes = DECODE),
    OPT_FLAG(0, "sample", &sample, .flags = TF_OPT_NEGATABLE, .modes = ENCODE),
    OPT_INT(0, "size", &size, .def = "7", .needs = "sample"),
    OPT_INT(0, "seed", &seed, .def = "1", .modes = ENCODE | TRAIN),
    OPT_CHOICE(0, "format", &format, formats, .def = "plain"),
    OPT_FLAG(0, "text", &as_text, .excludes = "json format=table"),
    OPT_FLAG(0, "json", &json, .needs = "format=plain"),
    OPT_END,
};
static const struct tf_tool ruled_tool = {.name = "tf-x",
                                          .opts = ruled,
                                          .max_args = 2,
                                          .default_mode = "encoding",
                                          .stdin_modes = ENCODE | DECODE};

static void rules(void)
{
    tool_in_use = &ruled_tool;
    model = words_file = output = NULL;
    ok(parse("") == 0 && args.mode == ENCODE && args.n == 1 && strcmp(args.v[0], "-") == 0,
       "the default mode is the first; without operands the input is stdin");
    ok(tf_opt_find(ruled, "size")->unused && !tf_opt_find(ruled, "seed")->unused,
       "an option whose need is not met is unused");
    ok(parse("-d") == 0 && args.mode == DECODE && tf_opt_find(ruled, "seed")->unused,
       "a flag selects a mode; options of other modes are unused");
    ok(parse("--train x") == 0 && args.mode == TRAIN && args.n == 0,
       "an option with an argument selects a mode; this mode does not read stdin");
    words_file = NULL;
    bad("-d --train x", "--decode and --train cannot be used together");
    bad("-d --seed 3", "--seed is only for encoding or --train");
    bad("-d --sample", "--sample is only for encoding");
    bad("--size 3", "--size requires --sample");
    bad("--no-sample --size 3", "--size requires --sample");
    ok(parse("--sample --size 3") == 0 && !tf_opt_find(ruled, "size")->unused,
       "an option with the one that it needs");
    bad("--text --json", "--text and --json cannot be used together");
    bad("--text --format table", "--text and --format table cannot be used together");
    bad("--json --format table", "--json requires --format plain");
    ok(parse("--json --format plain") == 0 && parse("--text") == 0, "compatible options");
    words_file = NULL;
    bad("-m - -", "only one file can be stdin");
    bad("-m -", "only one file can be stdin");
    ok(parse("-m - a") == 0, "one input is stdin");
    model = NULL;
    bad("-w - -", "only one file can be stdin");
    ok(parse("-d -w - -") == 0, "a path that one mode reads and another writes");
    bad("-d -w - -o - a", "only one output can be stdout");
    bad("-d -w none -o none", "none: is the output of both --output and --words");
    words_file = output = NULL;
    ok(parse("--sample --size 3") == 0, "before the preset");
    size = seed = 99;
    tf_opt_reassign(ruled);
    ok(size == 3 && seed == 99 && sample,
       "reassigned: what was given; a preset's value stays, though the table has a default");

    tool_in_use = &tool_with_words;
    ok(parse("-f first a") == 0 && args.mode == 1 && args.n == 1 && strcmp(args.v[0], "a") == 0,
       "a word selects a mode and is not an operand");
    bad("", "missing operand: one of first, a-word-without-room-beside-it");
    bad("a", "'a': one of first, a-word-without-room-beside-it");
    tool_in_use = &tool;
}

/* What to do in a child process: a function, or to parse a line with a tool's table. */
static void call(void *fn)
{
    (*(void (**)(void))fn)();
}

static void parse_and_exit(void *line)
{
    exit(parse(line));
}

static int in_child(struct child *c, void (*fn)(void), const char *stdout_path)
{
    run_child(c, call, &fn, stdout_path);
    return c->status;
}

static int asked(struct child *c, const struct tf_tool *of, char *line, const char *stdout_path)
{
    tool_in_use = of;
    run_child(c, parse_and_exit, line, stdout_path);
    tool_in_use = &tool;
    return c->status;
}

static void end_good(void)
{
    parse("");
    puts("data");
    exit(tf_tool_finish(0, &err));
}

static void end_failed(void)
{
    parse("");
    puts("data");
    exit(tf_tool_finish(tf_fail_status(&err, TF_DIVERGED, "it\ndiverged"), &err));
}

static void end_partial(void)
{
    parse("");
    puts("data");
    exit(tf_tool_finish(TF_PARTIAL, &err));
}

static void end_pipe(void)
{
    parse("");
    err = (struct tf_err){.status = TF_READER_LEFT, .msg = "stdout: write: Broken pipe"};
    exit(tf_tool_finish(-1, &err));
}

static void end_much(void)
{
    parse("");
    for (int i = 0; i < 10000; i++)
        puts("0123456789");
    exit(tf_tool_finish(0, &err));
}

/* With stdout closed, the first file opened must not get its number. */
static void end_closed(void)
{
    parse("");
    int fd = open("/dev/null", O_RDONLY);
    exit(fd > 2 ? tf_tool_finish(0, &err) : 98);
}

static void warnings(void)
{
    parse("");
    for (int i = 0; i < 25; i++)
        tf_warn("line %d: odd\n", i);
    tf_warn("another");
    tf_note("note %d", 1);
    exit(tf_tool_finish(0, &err));
}

static void unknown_name(void)
{
    tf_opt_given(opts, "bea");
}

static void bug(void)
{
    parse("");
    TF_ASSERT(beam == 5);
}

static int count(const char *text, const char *what)
{
    int n = 0;
    for (; (text = strstr(text, what)) != NULL; text++)
        n++;
    return n;
}

static void printing(void)
{
    static struct child c;
    is_int(asked(&c, &tool_with_words, "-b 2 --help --nonsense", NULL), 0, "--help ends with 0");
    is_str(c.err, "", "nothing on stderr");
    is_str(c.out,
           "usage: tf-x [options] [FILE ...]\n"
           "       tf-x -d X\n\nan example\n\n"
           "What to do:\n"
           "  first                     a word among the operands\n"
           "  a-word-without-room-beside-it\n"
           "                            has its text below\n"
           "\nSearch:\n"
           "  -b, --beam N              width of the beam (default 4)\n"
           "  -r, --rate X              a rate whose help is so long that the line must be broken "
           "at a space\n"
           "                            somewhere, not before 0.1 (default 0.1)\n"
           "      --beans N             no range, no default\n"
           "\nOther:\n"
           "  -f, --force               force it\n"
           "  -s, --[no-]shuffle        shuffle (default on)\n"
           "      --as paper|t2t        dialect (default paper)\n"
           "  -i, --input FILE...       inputs\n"
           "      --lang L              languages (default en)\n"
           "      --tokenize NAME       tokenizer (also -tok) (default 13a)\n"
           "\n"
           "  -h, --help                print this text\n"
           "      --version             print the version\n",
           "the text");
    is_int(asked(&c, &tool_with_words, "--help", "/dev/full"), 1, "--help to a full device");
    is_str(c.err, "tf-x: write error: No space left on device\n", "its message");
    is_int(asked(&c, &tool, "--vers", NULL), 0, "--version by a prefix");
    char version[128];
    snprintf(version, sizeof version, "tf-x (tf-tools) %s\n", tf_build);
    is_str(c.out, version, "version");
    is_int(asked(&c, &tool, "--list-options", NULL), 0, "--list-options");
    is_str(c.out,
           "-b --beam\n-r --rate\n--beans\n-f --force\n-s --shuffle --no-shuffle\n--as\n-i "
           "--input\n--lang\n--tokenize --tok\n-h --help\n--version\n",
           "the list");
    is_int(asked(&c, &tool_with_words, "--complete=bash", NULL), 0, "bash");
    ok(strstr(c.out, "--as)\n        mapfile -t COMPREPLY < <(compgen -W 'paper t2t'") != NULL &&
           strstr(c.out, "-F _tf_x tf-x\n") != NULL,
       "completes choices");
    ok(strstr(c.out, "words=' first a-word-without-room-beside-it '") != NULL, "completes words");
    is_int(asked(&c, &tool_with_words, "--complete zsh", NULL), 0, "zsh");
    ok(strstr(c.out, "'--as=[dialect]:as:(paper t2t)'") != NULL &&
           strstr(c.out, "'-b+[width of the beam]:N:'") != NULL &&
           strncmp(c.out, "#compdef tf-x\n", 14) == 0,
       "completes choices");
    ok(strstr(c.out, "'1:word:(first a-word-without-room-beside-it)'") != NULL, "completes words");
    is_int(asked(&c, &tool_with_words, "--complete fish", NULL), 0, "fish");
    ok(strstr(c.out, "complete -c tf-x -l as -x -a 'paper t2t' -d 'dialect'\n") != NULL &&
           strstr(c.out, "secret") == NULL,
       "completes choices, hides the hidden");
    ok(strstr(
           c.out,
           "complete -c tf-x -n __fish_use_subcommand -a first -d 'a word among the operands'\n") !=
           NULL,
       "completes words");
    is_int(asked(&c, &tool, "--complete=tcsh", NULL), 2, "another shell");
}

static void ending(void)
{
    static struct child c;
    is_int(in_child(&c, end_good, NULL), 0, "a run without error");
    is_str(c.out, "data\n", "its output");
    is_int(in_child(&c, end_good, "/dev/full"), 1, "a full device");
    is_str(c.err, "tf-x: write error: No space left on device\n", "is an error");
    is_int(in_child(&c, end_much, "/dev/full"), 1, "a full device, where an earlier write failed");
    is_int(count(c.err, "tf-x: write error"), 1, "one message");
    is_int(in_child(&c, end_failed, NULL), 3, "status of the error");
    is_str(c.err, "tf-x: it\\x0adiverged\n", "one line");
    is_str(c.out, "data\n", "output before it is kept");
    is_int(in_child(&c, end_partial, NULL), 4, "a status without an error");
    is_str(c.err, "", "no message");
    is_int(in_child(&c, end_partial, "/dev/full"), 1, "a full device overrides it");
    is_int(in_child(&c, end_pipe, NULL), 0, "a reader that has left");
    is_str(c.err, "", "is silent");
    is_int(in_child(&c, end_closed, ""), 0, "a closed stdout, nothing written");
    is_int(in_child(&c, end_good, ""), 1, "a closed stdout, data written");
    is_int(in_child(&c, warnings, NULL), 0, "warnings");
    is_int(count(c.err, ": odd"), 11, "ten are shown, one in the summary");
    ok(strstr(c.err, "tf-x: warning: 15 more like 'line 0: odd\\x0a'\n") != NULL, "the summary");
    ok(strstr(c.err, "tf-x: warning: another\n") != NULL && strstr(c.err, "tf-x: note 1\n") != NULL,
       "other formats are counted separately");
    is_int(in_child(&c, unknown_name, NULL), 128 + SIGABRT, "a name not in the table");
    is_int(in_child(&c, bug, NULL), 128 + SIGABRT, "a bug aborts");
    ok(strstr(c.err, "tf-x: bug at ") != NULL && strstr(c.err, "beam == 5") != NULL,
       "with file and line");
}

int main(void)
{
    parsing();
    apart();
    rules();
    printing();
    ending();
    return done();
}
