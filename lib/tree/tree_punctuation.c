/* tree_punctuation.c - corrects punctuation tags by the words. */
#include "tree/tree_private.h"

#include <string.h>

static const char *const tags[] = {",", ".", ":", "``", "''"};
enum { COMMA, STOP, COLON, OPENING, CLOSING, ANY };

/* ANY: words that have one of these tags in treebanks, but also others such as HYPH, SYM and POS;
 * their tags are kept. */
static const struct {
    const char *word;
    int tag;
} known[] = {
    {",", COMMA},        {".", STOP},     {"?", STOP},         {"!", STOP},       {";", COLON},
    {"--", COLON},       {"...", COLON},  {"\u2014", COLON},   {"\u2026", COLON}, {"``", OPENING},
    {"\u201c", OPENING}, {"''", CLOSING}, {"\u201d", CLOSING}, {":", ANY},        {"-", ANY},
    {"..", ANY},         {"\u2013", ANY}, {"'", ANY},          {"`", ANY},        {"\u2018", ANY},
    {"\u2019", ANY},
};

static int tag_of_word(struct tf_text word, bool *is)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if ((*is = tf_text_is(word, known[i].word)))
            return known[i].tag;
    return ANY;
}

/* ANY: not a punctuation tag. */
static int read_tag(struct tf_text label)
{
    int tag = 0;
    while (tag < ANY && !tf_text_is(label, tags[tag]))
        tag++;
    return tag;
}

bool tf_tree_punctuation_tag(struct tf_text tag)
{
    return read_tag(tag) != ANY;
}

bool tf_tree_punctuation_word(struct tf_text word)
{
    bool is;
    return tf_text_is(word, "\"") || tag_of_word(word, &is) != ANY;
}

void tf_tree_punctuate(struct tf_tree *t, const char *other)
{
    for (size_t i = 0; i < t->n; i++) {
        struct tf_tree_node *v = &t->v[i];
        if (v->kind != TF_TREE_LEAF)
            continue;
        bool is;
        int has = read_tag(v->label), tag = tag_of_word(v->word, &is);
        if (tf_text_is(v->word, "\"")) /* ambiguous: trust an opening tag */
            tag = has == OPENING ? OPENING : CLOSING;
        else if (is && tag == ANY)
            continue;
        if (tag != ANY)
            v->label = (struct tf_text){tags[tag], strlen(tags[tag])};
        else if (has != ANY)
            v->label = (struct tf_text){other, strlen(other)};
    }
}
