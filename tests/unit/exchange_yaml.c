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
    is_int(tf_yaml_read(&y, &arena, "a: 1\0b: {", 9, &err), 0, "a NUL ends the text");
    is_int((long long)y.n, 1, "and nothing after it counts");

    refused("a: 1\nb\n", "line 2: not 'key: value'");
    refused("a: 1\na: 2\n", "'a' is there twice");
    refused("a: {b: c}\n", "line 1: YAML beyond scalars and lists of them");
    refused("a:\n  b: c\n", "line 2: YAML beyond scalars and lists of them");
    refused("? a\n: b\n", "line 1: YAML beyond scalars and lists of them");
    refused("a: &x 1\n", "line 1: YAML beyond scalars and lists of them");
    refused("- 1\n", "line 1: YAML beyond scalars and lists of them");
    refused("a: \"b\n", "line 1: a text in quotes without its end, or with an unknown escape");
    refused("a: \"\\q\"\n", "line 1: a text in quotes without its end, or with an unknown escape");
    refused("a: 'b' c\n", "line 1: text after a value");
    refused("a: [1, 2\n", "line 1: a list without its end");
    tf_arena_release(&arena);
    return done();
}
