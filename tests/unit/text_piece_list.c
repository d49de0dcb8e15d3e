/* Lists of pieces: golden files of Marian and PyYAML (golden/yaml/make.py), and how names and
 * content decide what a file is. */
#include "../harness/tap.h"
#include "../harness/temp.h"
#include "text/piece_list.h"

#include <string.h>

static struct tf_arena arena;

/* NAME.yml has the pieces of PIECES.json. */
static void golden(const char *name, const char *pieces)
{
    char path[100];
    struct tf_err err = {0};
    struct tf_piece_list got, want;
    size_t same = 0;
    snprintf(path, sizeof path, "tests/golden/yaml/%s.yml", name);
    must(tf_piece_list_read(&got, &arena, path, &err), &err);
    snprintf(path, sizeof path, "tests/golden/yaml/%s.json", pieces);
    must(tf_piece_list_read(&want, &arena, path, &err), &err);
    is_int((long long)got.n, (long long)want.n, "%s: as many pieces", name);
    while (same < got.n && same < want.n && strcmp(got.v[same], want.v[same]) == 0)
        same++;
    is_int((long long)same, (long long)want.n, "%s: the same pieces", name);
}

/* The pieces of a file, each in brackets, or the message. */
static const char *pieces(const char *name, const char *text)
{
    static char all[200];
    struct tf_err err = {0};
    struct tf_piece_list list;
    const char *path = temp_path(name);
    write_file(path, text, strlen(text));
    if (tf_piece_list_read(&list, &arena, path, &err) != 0)
        return strncmp(err.msg, path, strlen(path)) == 0 ? strcpy(all, err.msg + strlen(path) + 2)
                                                         : "no path";
    size_t n = 0;
    for (size_t i = 0; i < list.n; i++)
        n += (size_t)snprintf(all + n, sizeof all - n, "[%s]", list.v[i]);
    return all;
}

static void names(void)
{
    is_str(pieces("a.yml", "b: 1\na: 0\n"), "[a][b]", "a map of YAML");
    is_str(pieces("b.YAML", "{b: 1,\n a: 0}"), "[a][b]", "in brackets");
    is_str(pieces("c.yml", "{\"b\": 1, \"\\/\": 0}"), "[/][b]", "JSON is YAML, too");
    is_str(pieces("d.yml", "a\nb\n"), "line 1: not 'key: value'", "and nothing else by that name");
    is_str(pieces("e.yml", "# none\n"), "no pieces", "an empty one");
    is_str(pieces("f.txt", "a: 0\n? b\n[c\n"), "[a: 0][? b][[c]", "a list by its name");
    is_str(pieces("g.json", "[\"a: 0\", \"b\"]"), "[a: 0][b]", "JSON");
    is_str(pieces("h.json", "a: 0"), "json: byte 1: not a value", "and nothing else by that name");
    is_str(pieces("i", "# x\n---\n?a: 1\n\"\\N\": 0\n"), "[\xc2\x85][?a]", "no name: YAML");
    is_str(pieces("j", "\xef\xbb\xbf{?a: 0, b: 1}"), "[?a][b]", "YAML in brackets");
    is_str(pieces("k", " { \"a\": 0}"), "[a]", "JSON");
    is_str(pieces("l", "[\n]"), "no pieces", "an empty array");
    is_str(pieces("m", "{\n[\na: x\n\"\n"), "[{][[][a: x][\"]", "a piece a line");
    is_str(pieces("n", "<unk>\na: 0\n"), "[<unk>][a: 0]", "a piece a line");
    is_str(pieces("o", "BZh91AY&SY"), "data compressed by bzip2, not UTF-8 text (use bzip2 -dc)",
           "compressed");
    is_str(pieces("o.yml", "a: 0\n\"\\0\": 1\n"), "line 2: an unknown escape in quotes, or a NUL",
           "a NUL is no part of a piece");
}

int main(void)
{
    static const char *const some[] = {"libyaml",   "narrow", "wide",   "flow",
                                       "canonical", "single", "double", "literal"};
    golden("marian", "marian");
    golden("ascii", "all");
    golden("unicode", "all");
    golden("folded", "folded");
    for (size_t i = 0; i < sizeof some / sizeof *some; i++)
        golden(some[i], "some");
    names();
    tf_arena_release(&arena);
    return done();
}
