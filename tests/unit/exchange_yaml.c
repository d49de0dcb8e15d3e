/* The subset of YAML that Marian writes, and what is refused. */
#include "../harness/tap.h"
#include "exchange/yaml.h"

#include <string.h>

static struct tf_arena arena;
static struct tf_yaml y;

static int read_text(const char *text, struct tf_err *err)
{
    *err = (struct tf_err){0};
    return tf_yaml_read(&y, &arena, text, strlen(text), err);
}

/* The values of a key, each in brackets. */
static const char *values(const char *key)
{
    static char all[200];
    const struct tf_yaml_entry *e = tf_yaml_find(&y, key);
    if (e == NULL)
        return "none";
    size_t n = 0;
    all[0] = 0;
    for (size_t i = 0; i < e->n; i++)
        n += (size_t)snprintf(all + n, sizeof all - n, "[%s]", e->v[i]);
    return all;
}

static void refused(const char *text, const char *why)
{
    struct tf_err err;
    is_int(read_text(text, &err), -1, "refused: %.30s", text);
    is_str(err.msg, why, "and why");
}

int main(void)
{
    struct tf_err err;
    is_int(read_text("# a comment\n---\ndec-depth: 6\r\nsep: \"[eos]\"  # another\n"
                     "dims:\n  - 10\n  -  x y \n\nnone:\n  []\nflow: [a, 'b, c', \"\"]\n"
                     "empty: \"\"\n"
                     "colon: a:b\nlist:\n- 1\n- \"2\"\n~: null\nyes: 1.0\n",
                     &err),
           0, "a map of scalars and lists");
    is_str(values("dec-depth"), "[6]", "a number is text");
    is_str(values("sep"), "[[eos]]", "in quotes a bracket is text");
    is_str(values("dims"), "[10][x y]", "a list");
    is_str(values("none"), "", "an empty list");
    is_str(values("flow"), "[a][b, c][]", "a list in brackets");
    is_str(values("empty"), "[]", "an empty text");
    is_str(values("colon"), "[a:b]", "a colon before no blank is text");
    is_str(values("list"), "[1][2]", "a list that is not indented");
    is_str(values("~"), "[null]", "words of YAML are text, as keys and as values");
    is_str(values("yes"), "[1.0]", "and numbers with a point");
    is_str(values("absent"), "none", "a key that is not there");

    is_int(read_text("\"\\x85\": 'it''s'\n'a\\n': \"\\\"\\\\\\t\\u20ac\\x41\"\n", &err), 0,
           "quotes");
    is_str(values("\xc2\x85"), "[it's]", "\\x is a code point; two quotes are one");
    is_str(values("a\\n"), "[\"\\\t\xe2\x82\xac" "A]", "escapes in double quotes only");
    is_int(read_text("\"\\U0001F600\\_\\N\\L\\P\": \"\\ud83d\\uDE00\"\n"
                     "\"x\\\n   \\ y\": \"a\n   b\n\n  c\"\n",
                     &err),
           -1, "a key in quotes over lines, without '?'");
    is_int(read_text("\"\\U0001F600\\_\\N\\L\\P\": \"\\ud83d\\uDE00\"\n"
                     "? \"x\\\n   \\ y\"\n: \"a\n   b\n\n  c\"\n",
                     &err),
           0, "all of PyYAML's escapes, a pair of surrogates, and lines");
    is_str(values("\xf0\x9f\x98\x80\xc2\xa0\xc2\x85\xe2\x80\xa8\xe2\x80\xa9"), "[\xf0\x9f\x98\x80]",
           "characters by name and by number");
    is_str(values("x y"), "[a b\nc]", "lines are folded");
    is_int(read_text("\xef\xbb\xbf%YAML 1.1\r\n# a\r\n--- !!map\r\n?a: 1  \r\n-b: 2\t# two\r\n\r\n"
                     ":c: 3\r\n? d\r\n  e\r\n: !!int \"4\"\r\n--: 5\r\n---f: 6\r\n...\r\n# end",
                     &err),
           0, "a mark, a directive, comments, CR LF, markers, tags, blanks at ends");
    is_str(values("?a"), "[1]", "a plain key that begins with ?");
    is_str(values("-b"), "[2]", "and with -");
    is_str(values(":c"), "[3]", "and with :");
    is_str(values("d e"), "[4]", "a key over lines");
    is_str(values("--"), "[5]", "dashes");
    is_str(values("---f"), "[6]", "that are no marker");
    is_int(read_text(
               "? |\n  a\n   b\n\n: 1\n? >-\n  a\n  b\n\n  c\n: |2+\n    d\n\n? |1-\n  e\n:\n  2\n",
               &err),
           0, "blocks");
    is_str(values("a\n b\n"), "[1]", "lines are kept, with one at the end");
    is_str(values("a b\nc"), "[  d\n\n]", "or folded; blanks beyond the indent are text");
    is_str(values(" e"), "[2]", "the indent may be given");
    is_int(read_text("{a: 0, \"b\":1,\n ? c\n   d\n  : [2, 'x'], e: , 'f''g': -1 # h\n}\n", &err),
           0, "a map in brackets");
    is_str(values("a"), "[0]", "its plain scalars");
    is_str(values("b"), "[1]", "quotes before a colon");
    is_str(values("c d"), "[2][x]", "a key over lines, a list");
    is_str(values("e"), "", "no value");
    is_str(values("f'g"), "[-1]", "its last entry");
    is_int(tf_yaml_read(&y, &arena, "a: 1\0b: {", 9, &err), 0, "a NUL ends the text");
    is_int((long long)y.n, 1, "and nothing after it counts");

    refused("a: 1\nb\n", "line 2: not 'key: value'");
    refused("a: 1\na: 2\n", "'a' is there twice");
    refused("a: {b: c}\n", "line 1: YAML beyond scalars and lists of them");
    refused("a:\n  b: c\n", "line 2: YAML beyond scalars and lists of them");
    refused("? a: b\n: c\n", "line 1: YAML beyond scalars and lists of them");
    refused("? a\nb: c\n", "line 2: not 'key: value'");
    refused("?\n  - a\n: c\n", "line 2: YAML beyond scalars and lists of them");
    refused("a: b: c\n", "line 1: YAML beyond scalars and lists of them");
    refused("a:\n  - - b\n", "line 2: YAML beyond scalars and lists of them");
    refused("a: 1\n---\nb: 2\n", "line 2: more than one map");
    refused("{a: 1, b: 2\n", "line 2: a map without its end");
    refused("{a: 1, b}\n", "line 1: not 'key: value'");
    refused("{a: 1} b\n", "line 1: text after a value");
    refused("a: &x 1\n", "line 1: YAML beyond scalars and lists of them");
    refused("- 1\n", "line 1: YAML beyond scalars and lists of them");
    refused("a: \"b\n", "line 1: a text in quotes without its end");
    refused("\"b\nc\": 1\n", "line 1: a text in quotes without its end");
    refused("a: 'b' c\n", "line 1: text after a value");
    refused("a: [1, 2\n", "line 1: a list without its end");
    static const char *const escapes[] = {"q",     "x4",    "u20",          "U0000",
                                          "0",     "x00",   "u0000",        "U00110000",
                                          "ud800", "udc00", "ud83d\\ud83d", "ud83dx"};
    for (size_t i = 0; i < sizeof escapes / sizeof *escapes; i++) {
        char text[40];
        snprintf(text, sizeof text, "\"\\%s\": 1\n", escapes[i]);
        refused(text, "line 1: an unknown escape in quotes, or a NUL");
    }
    tf_arena_release(&arena);
    return done();
}
