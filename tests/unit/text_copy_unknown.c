/* What the vocabulary does not have, copied by alignment: cases by hand. */
#include "../harness/tap.h"
#include "text/copy_unknown_private.h"

static void copies(const char *source, const char *translation, const char *links, const char *want)
{
    struct tf_buf out = {0}, new = {0};
    const struct tf_text s = {source, strlen(source)}, t = {translation, strlen(translation)},
                         l = {links, strlen(links)};
    tf_copy_unknown(&out, s, t, l, &new);
    is_str(out.len > 0 ? out.p : "", want, "%s: %s", source, links);
    tf_buf_release(&out);
    tf_buf_release(&new);
}

/* The links of the words of the result. */
static void links(const char *source, const char *translation, const char *links, const char *want)
{
    struct tf_buf out = {0}, new = {0};
    const struct tf_text s = {source, strlen(source)}, t = {translation, strlen(translation)},
                         l = {links, strlen(links)};
    tf_copy_unknown(&out, s, t, l, &new);
    is_str(new.len > 0 ? new.p : "", want, "links of %s: %s", out.p, links);
    tf_buf_release(&out);
    tf_buf_release(&new);
}

int main(void)
{
    /* Marks of unknown pieces. */
    copies("a \xE2\x82\xAC b", "A  \xE2\x81\x87  B", "0-0 1-1 2-2 ?1:0:0", "A  \xE2\x82\xAC  B");
    copies("5\xE2\x82\xAC b", "B 5 \xE2\x81\x87 ", "0-1 0-2 1-0 ?0:1:0", "B 5 \xE2\x82\xAC ");
    copies("Joe b", "B \xE2\x81\x87", "0-1 1-0", "B Joe");
    copies("Joe b", "B \xE2\x81\x87", "1-0", "B \xE2\x81\x87");
    /* Parts that are lost. */
    copies("costs 5\xE2\x82\xAC.", "Kostet 5.", "0-0 1-1 ?1:1:1", "Kostet 5\xE2\x82\xAC.");
    copies("a #tag", "Marke A", "0-1 1-0 ?1:0:3", "#Marke A");
    copies("x@y z", "Z Q", "0-1 1-0 ?0:1:1", "Z Q@");
    copies("(~) b", "(B)", "1-0 ?0:1:1", "~ (B)");
    copies("hi \xF0\x9F\x98\x80 you", "DU DA", "0-1 2-0 ?1:0:0", "DU DA \xF0\x9F\x98\x80");
    copies("\xF0\x9F\x98\x80 you", "DU", "1-0 ?0:0:0", "\xF0\x9F\x98\x80 DU");
    copies("~ ^", "", "?0:0:0 ?1:0:0", "~ ^");
    copies("a ~ ^ b", "A B", "0-0 3-1 ?1:0:0 ?2:0:0", "A ~ ^ B");
    /* What the translation has in its place gives way. */
    copies("M~ller b", "B M'ller", "0-1 1-0 ?0:1:4", "B M~ller");
    copies("C:~a~b~c.d b", "B C:-a-b-c.d,", "0-1 1-0 ?0:2:3", "B C:~a~b~c.d,");
    copies("~ 12", "- 12", "0-0 1-1 ?0:0:0", "~ 12");
    copies("^yes~. b", "\"yes\". B", "0-0 1-1 ?0:0:1 =yes", "^yes~. B");
    copies("^yes~, b", "\"SIM\", B", "0-0 1-1 ?0:0:1 =yes", "^SIM~, B");
    copies("~yes b", "SIM B", "0-0 1-1 ?0:0:3", "~SIM B");
    copies("doesn\xE2\x80\x99t b", "NICHT B", "0-0 1-1 ?0:5:1", "NICHT B");
    copies("dogs\xE2\x80\x99 b", "HUNDE B", "0-0 1-1 ?0:4:0", "HUNDE\xE2\x80\x99 B");
    /* Without spaces: what is known between is not part. */
    copies("囧我喜欢苹果囧", "I like apples", "0-0 0-1 0-2 ?0:0:0 =我喜欢苹果",
           "囧I like apples囧");
    copies("~我,~x苹^ b", "I 4. B", "0-0 0-1 1-2 ?0:0:0 =我, =x苹", "~I 4.,~x^ B");
    copies("~我，~a~ b", "I B", "0-0 1-1 ?0:0:0 =我, =a", "~I，~a~ B");
    copies("~我~他^", "\xE2\x81\x87 \xE2\x81\x87 I", "0-0 0-1 0-2 ?0:0:0 =我 =他", "~ ~ I^");
    copies("foo~bar~x b", "B C", "0-0 1-1 ?0:3:1 =bar", "B~bar~ C");
    /* A word of which no letter is known stays a word; after a number it is in place of a unit. */
    copies("~, b", "X, B", "0-0 1-1 ?0:0:1", "X ~, B");
    copies("(~ b", "X B", "0-0 1-1 ?0:1:0", "~ X B");
    copies("a (~). b", "A (X Y). B", "0-0 1-1 1-2 2-3 ?1:1:2", "A (~ X Y). B");
    copies("8 ~, b", "8 X Y, B", "0-0 1-1 1-2 ?1:0:1", "8 ~ X Y, B");
    copies("8 ~, b", "8 X Y, B", "0-0 1-1 1-2 2-3 ?1:0:1", "8 ~ Y, B");
    copies("~\xD0\x96~ b", "X B", "0-0 1-1 ?0:0:0", "~\xD0\x96~ X B");
    copies("~, b", "\xE6\x88\x91, B", "0-0 1-1 ?0:0:1", "\xE6\x88\x91~, B");
    copies("for 8 ~.", "UM 8 EUR.", "0-0 1-1 2-2 ?2:0:1", "UM 8 ~.");
    copies("8 ~ now", "8 \"s\" JA", "0-0 1-1 2-2 ?1:0:0", "8 \"~\" JA");
    copies("8 ~ now", "8 JA", "0-0 1-1 ?1:0:0", "8 ~ JA");
    copies("for 8 ~.", "UM 8.", "0-0 2-1 ?2:0:1", "UM 8 ~.");
    copies("for 8 ~ b", "UM 8 EUR B", "0-0 1-1 2-2 3-2 3-3 ?2:0:0", "UM 8 ~ EUR B");
    copies("for 8 ~ b", "NUR UM 8 EUR, B", "0-1 1-2 2-0 2-3 3-4 ?2:0:0", "NUR UM 8 ~, B");
    copies("8 ~", "8 , 8 s", "0-0 1-1 1-2 1-3 ?1:0:0", "8 ~");
    copies("8 ~.", "8 - (X Y).", "0-0 1-1 1-2 1-3 ?1:0:1", "8 ~.");
    copies("8 ~.", "8 .", "0-0 1-1 ?1:0:1", "8 ~.");
    copies("8 (~)", "8 (X)", "0-0 1-1 ?1:1:1", "8 (~)");
    copies("8 ~", "EUR", "1-0 ?1:0:0", "~ EUR");
    copies("\xD9\xA8 ~", "\xD9\xA8 EUR", "0-0 1-1 ?1:0:0", "\xD9\xA8 ~");
    copies("X-19 ~ b", "X-19 JA B", "0-0 1-1 2-2 ?1:0:0", "X-19 ~ JA B");
    copies("8 ~ b", "8 我我 B", "0-0 1-1 2-2 ?1:0:0", "8 ~ 我我 B");
    /* A word at the beginning comes before what is in place of the first one. */
    copies("~ b ^c", "\xE2\x81\x87 D", "1-1 2-0 ?0:0:0 ?2:0:1", "~ ^ D");
    copies("#b (~", "X", "0-0 1-0 ?0:0:1 ?1:1:0", "~ #X");
    /* Two words become one. */
    copies("^a~ ^b~", "\"X\"", "0-0 1-0 ?0:0:0 =a ?1:0:0 =b", "^X~");
    copies("M~ller M^ller", "M'ller", "0-0 1-0 ?0:1:4 ?1:1:4", "M~ller");
    copies("M~ller M^l", "M'ller", "0-0 1-0 ?0:1:4 ?1:1:1", "M~^ller");
    /* What is there is not copied. */
    copies("a ~ b", "A~ B", "0-0 2-1 ?1:0:0", "A~ B");
    copies("a b", "A B", "0-0 1-1", "A B");
    /* Links and parts that do not fit. */
    copies("a ~b", "A", "0-0 9-9 1-7 ?1:0:9 ?5:0:0 - x", "A");
    copies("a \xC3\xA9~", "A B", "0-0 1-1 ?1:1:0", "A \xC3\xA9~ B");
    copies("~我~ b", "A B", "=我 0-0 1-1 ?0:0:0 = =他 =我~", "~A~ B");
    copies("", "", "", "");
    links("a ~ ^ b", "A  B C", "0-0 3-1 ?1:0:0 ?2:0:0", "0-0 1-1 2-2 3-3");
    links("M~ller b", "B M'ller", "0-1 1-0 ?0:1:4", "1-0 0-1");
    links("~ b", "B x", " ?0:0:0", "0-0");
    links("a ~x^ b ~", "B A X C", "0-1 2-0 1-2 ?1:0:0 =x ?3:0:0", "2-0 3-1 0-2 1-3");
    links("for 8 ~. b", "UM 8 EUR. B", "0-0 1-1 2-2 3-3 ?2:0:1", "0-0 1-1 2-2 3-3");
    links("~, b", "X, B", "0-0 1-1 ?0:0:1", "0-0 0-1 1-2");
    links("~ b", "B x ", "1-0 ?0:0:0", "0-0 1-1");
    return done();
}
