/* Bracketed trees: parsing, errors and their messages, layouts of files, cleaning. */
#include "../harness/memory.h"
#include "../harness/tap.h"
#include "tree/tree_private.h"

static struct tf_tree tree;

static void good(const char *text, const char *want)
{
    struct tf_err err = {0};
    struct tf_buf out = {0};
    if (ok(tf_tree_parse(&tree, text, strlen(text), &err) == 0, "%s: parses %s", want, err.msg)) {
        tf_tree_write(&out, &tree);
        is_str(out.p, want, "and is written");
    }
    tf_buf_release(&out);
}

static void bad(const char *text, const char *why)
{
    struct tf_err err = {0};
    ok(tf_tree_parse(&tree, text, strlen(text), &err) < 0, "'%s' is refused", text);
    is_str(err.msg, why, "with the reason");
}

static void clean(const char *text, const char *want)
{
    struct tf_err err = {0};
    struct tf_buf out = {0};
    ok(tf_tree_parse(&tree, text, strlen(text), &err) == 0, "'%s' parses", text);
    if (tf_tree_clean(&tree, "TOP", &err) == 0) {
        tf_tree_reroot(&tree, "TOP");
        tf_tree_write(&out, &tree);
    }
    is_str(out.p ? out.p : err.msg, want, "cleaned, or the reason why not");
    tf_buf_release(&out);
}

/* A file to lines of trees, "!REASON" for bad ones, "@LINE" in front. */
static void layout(enum tf_tree_layout how, const char *text, const char *want, const char *name)
{
    struct tf_err err = {0};
    struct tf_buf out = {0};
    struct tf_in in = memory_in(text, strlen(text));
    struct tf_tree_reader r = {.in = &in, .layout = how, .max = 60};
    int rc;
    while ((rc = tf_tree_read(&r, &tree, &err)) > 0) {
        tf_buf_printf(&out, "@%d ", (int)r.first);
        if (rc == 1)
            tf_tree_write(&out, &tree);
        else
            tf_buf_printf(&out, "!%s", r.why.msg);
        tf_buf_byte(&out, '\n');
    }
    is_int(rc, 0, "%s: ends well", name);
    is_str(out.p ? out.p : "", want, "%s", name);
    tf_tree_reader_release(&r);
    memory_in_done(&in);
    tf_buf_release(&out);
}

static void deep(size_t depth)
{
    struct tf_buf text = {0}, out = {0};
    struct tf_err err = {0};
    for (size_t i = 0; i < depth; i++)
        tf_buf_str(&text, i ? " (X" : "(X");
    tf_buf_str(&text, " (NN w)");
    for (size_t i = 0; i < depth; i++)
        tf_buf_byte(&text, ')');
    ok(tf_tree_parse(&tree, text.p, text.len, &err) == 0, "%zu levels", depth);
    must(tf_tree_clean(&tree, "TOP", &err), &err);
    tf_tree_write(&out, &tree);
    ok(out.len == text.len && memcmp(out.p, text.p, text.len) == 0, "the same when written");
    is_int(tree.v[0].mate, tree.n - 1, "mates");
    tf_buf_release(&text);
    tf_buf_release(&out);
}

int main(void)
{
    good("(S (NP (DT the) (NN cat)) (VP (VBZ is)))", "(S (NP (DT the) (NN cat)) (VP (VBZ is)))");
    good(" (S(NP\t(DT  the )\r(NN cat))\n (VP (VBZ is) ) ) ",
         "(S (NP (DT the) (NN cat)) (VP (VBZ is)))");
    good("( (S (NN x)) )", "( (S (NN x)))");
    good("(NN x)", "(NN x)");
    good("(TOP)", "(TOP)");
    good("( )", "()");
    good("(NN two  words)", "(NN two words)");
    good("(-LRB- -LRB-)", "(-LRB- -LRB-)");
    good("(NN \303\244\377\001)", "(NN \303\244\377\001)");

    bad("", "no tree");
    bad(" \t", "no tree");
    bad("word", "byte 1: a word without brackets around it and its tag");
    bad("(S (NN x)", "1 bracket is not closed");
    bad("(S (NP (NN x", "byte 8: a bracket is not closed");
    bad("(S (NP", "2 brackets are not closed");
    bad("(S (NN x)))", "byte 11: a closing bracket too many");
    bad(")", "byte 1: a closing bracket too many");
    bad("(S (NN x)) (S (NN y))", "byte 12: text after the tree");
    bad("(S (NN x) word)", "byte 11: a word without brackets around it and its tag");
    bad("(S word (NN x))", "byte 9: a bracket among words");
    bad("(S ( x))", "byte 6: a word without a tag");

    clean("( (S (NP-SBJ-1 (NN x)) (VP (VBZ is) (NP=2 (-NONE- *-1)))) )",
          "(TOP (S (NP (NN x)) (VP (VBZ is))))");
    clean("(ROOT (NP (NP (-LRB- -LRB-) (NN x-y))))", "(TOP (NP (NP (-LRB- -LRB-) (NN x-y))))");
    clean("(S (NN x))", "(TOP (S (NN x)))");
    clean("(NN x)", "(TOP (NN x))");
    clean("(TOP (X (-NONE- *)))", "(TOP)");
    clean("(-NONE- *)", "(TOP)");
    clean("(S (-NONE- *))", "(TOP)");
    clean("(S (A (B (C (-NONE- *)) (D (-NONE- ))) (E (NN x))) (F (-NONE- *)))",
          "(TOP (S (A (E (NN x)))))");
    clean("(TOP)", "(TOP)");
    clean("( )", "(TOP)");
    clean("(S (NP-SBJ (PRP (Fido))) (VP (VB (runs))))", "a constituent without words: (Fido)");
    clean("(S (NN x) (HYPH ))", "a constituent without words: (HYPH)");
    clean("(S (A (-NONE- *) (D)) (NN x))", "a constituent without words: (D)");
    clean("(S ( ) (NN x))", "a constituent without words: ()");
    clean("(Fido)", "a constituent without words: (Fido)");
    clean("(TOP (S))", "a constituent without words: (S)");

    const char pretty[] =
        "\n( (S\n    (NP (NN x))\n    (VP (VBZ is)))\n)\n\n( (S (NN y)) )\n\n(S (NN\n  z))\n";
    const char joined[] = "@2 ( (S (NP (NN x)) (VP (VBZ is))))\n@7 ( (S (NN y)))\n@9 (S (NN z))\n";
    layout(TF_TREE_PRETTY, pretty, joined, "pretty-printed");
    layout(TF_TREE_AUTO, pretty + 1,
           "@1 ( (S (NP (NN x)) (VP (VBZ is))))\n@6 ( (S (NN y)))\n@8 (S (NN z))\n",
           "found to be pretty-printed");
    layout(TF_TREE_AUTO, pretty, joined, "with an empty first line");
    layout(TF_TREE_AUTO, "\n \n(A (B c)\n)\n\n(D e)\n", "@3 (A (B c))\n@6 (D e)\n", "with two");
    layout(TF_TREE_AUTO, "\n(A b)\n\n(A (B c)\n)\n\n(D e)\n",
           "@1 !no tree\n@2 (A b)\n@3 !no tree\n@4 (A (B c))\n@7 (D e)\n",
           "an empty line before a tree of one line");
    layout(TF_TREE_AUTO, "\n(A (B c)\n(D e)\n",
           "@1 !no tree\n@2 !1 bracket is not closed\n@3 (D e)\n", "and before a damaged one");
    layout(TF_TREE_AUTO, "\n( (A b) )\n\n((C d))\n", "@2 ( (A b))\n@4 ( (C d))\n",
           "empty lines around trees of one line, whose outer bracket has no label");
    layout(TF_TREE_AUTO, "\n(A (B c))\n", "@1 !no tree\n@2 (A (B c))\n",
           "an empty line before a tree of one line with a label");
    layout(TF_TREE_AUTO, "\n\n", "@1 !no tree\n@2 !no tree\n", "nothing but empty lines");
    layout(TF_TREE_LINES, "\n(A (B c)\n )\n",
           "@1 !no tree\n@2 !1 bracket is not closed\n@3 !byte 2: a closing bracket too many\n",
           "one a line, the first empty");
    layout(TF_TREE_LINES, "(A (B c)\n  )\n\n(D e)",
           "@1 !1 bracket is not closed\n@2 !byte 3: a closing bracket too many\n@3 !no tree\n@4 "
           "(D e)\n",
           "one a line");
    layout(TF_TREE_AUTO, "(A b)\n\n(A (B c)\n(D e)\n",
           "@1 (A b)\n@2 !no tree\n@3 !1 bracket is not closed\n@4 (D e)\n",
           "a damaged line takes no other with it");
    layout(TF_TREE_PRETTY, "(A (B c)\n  (D e)\n(F g)\n", "@1 !1 bracket is not closed\n@3 (F g)\n",
           "a damaged tree ends where the next begins");
    layout(
        TF_TREE_PRETTY,
        "(A (B cccccccccccccccccccccccc)\n  (D eeeeeeeeeeeeeeeeeeeeeeeeeeeeeee)\n (G h))\n(F g)\n",
        "@1 !tree over 60 bytes\n@4 (F g)\n", "a long tree is read past");
    layout(TF_TREE_PRETTY,
           "(A (B c)\n"
           "  (D eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee)\n"
           "  (G h))\n(F g)\n",
           "@1 !tree over 60 bytes\n@4 (F g)\n", "a long line within a tree is skipped");
    layout(TF_TREE_AUTO,
           "(A bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb)\n(F g)",
           "@1 !line of 72 bytes, maximum 60\n@2 (F g)\n", "a long line is read past");
    layout(TF_TREE_AUTO, "", "", "no input");

    deep(300000);
    tf_tree_release(&tree);
    return done();
}
