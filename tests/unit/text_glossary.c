/* A text has a term in any case, also where its lower case has more bytes or fewer, and there is
 * none longer in the glossary. */
#include "../harness/tap.h"
#include "text/glossary.h"

#include <string.h>

static struct tf_text view(const char *s)
{
    return (struct tf_text){s, strlen(s)};
}

/* The bytes of the longest term at the start of the text. */
static size_t find(const char *term, const char *text)
{
    struct tf_glossary *g = NULL;
    struct tf_glossary_term found;
    struct tf_err err = {0};
    must(tf_glossary_add(&g, view(term), view("x"), &err), &err);
    const size_t n = tf_glossary_find(g, view(text), 0, &found);
    tf_glossary_free(g);
    return n;
}

int main(void)
{
    is_int((int)find("key", "KEY x"), 3, "a term in another case");
    is_int((int)find("Key", "KEY x"), 0, "one that is not in lower case stands for itself");
    is_int((int)find("key", "keys"), 0, "a part of a word is none");
    is_int((int)find("kk", "\u212a\u212a"), 6, "a text of more bytes than its lower case");
    is_int((int)find("\u2c65\u2c65", "\u023a\u023a x"), 4, "one of fewer");
    is_int((int)find("i\u0307a", "\u0130a"), 3, "a character that becomes two");
    is_int((int)find("o\u03c2", "\u039f\u03a3 x"), 0, "a term of other characters");
    is_int((int)find("\u03bf\u03c2", "\u039f\u03a3 x"), 4, "a sigma at the end of a word");
    is_int((int)find("a b", "a b, c"), 3, "a term of two words");
    return done();
}
