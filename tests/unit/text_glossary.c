/* A text has a term in any case, also where its lower case has more bytes or fewer, and there is
 * none longer in the glossary. */
#include "../harness/tap.h"
#include "base/buf.h"
#include "text/glossary.h"

#include <string.h>
#include <unistd.h>

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

/* A term of thousands of words, and a text that lacks its last one. */
static void look_for_long(void)
{
    enum { WORDS = 10000 };
    struct tf_buf term = {0};
    struct tf_glossary *g = NULL;
    struct tf_glossary_term found;
    struct tf_err err = {0};
    size_t n = 0, last = 0;
    for (int i = 0; i < WORDS; i++) {
        last = term.len;
        tf_buf_printf(&term, "w%d ", i);
    }
    must(tf_glossary_add(&g, (struct tf_text){term.p, term.len}, view("x"), &err), &err);
    alarm(60); /* ends the test */
    for (size_t at = 0; at < last; at++)
        n += tf_glossary_find(g, (struct tf_text){term.p, last}, at, &found);
    alarm(0);
    is_int((int)n, 0, "a text as long as a term of %d words, but without its last one", WORDS);
    is_int((int)tf_glossary_find(g, (struct tf_text){term.p, term.len}, 0, &found),
           (int)term.len - 1, "and with it");
    tf_glossary_free(g);
    tf_buf_release(&term);
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
    is_int((int)find("\u03bf\u03c3.\u03b1", "\u039f\u03a3.\u0391 x"), 7, "a sigma within one");
    is_int((int)find("\u03bf\u03c2.\u03b1", "\u039f\u03a3.\u0391 x"), 7, "as one at an end");
    look_for_long();
    return done();
}
