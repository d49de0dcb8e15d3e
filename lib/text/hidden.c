/* hidden.c - see hidden.h. */
#include "text/hidden.h"
#include "base/memory.h"
#include "text/copy_unknown_private.h"
#include "text/placeholders_private.h"
#include "text/unicode.h"

#include <stdlib.h>

struct tf_hidden {
    struct tf_placeholders names;
    bool copy_unknown;
    bool alone;         /* the sentence is its translation */
    struct tf_buf sent; /* what the model sees, or would see, for both */
};

/* Make a space of each white space from an offset on, as normalizations of some vocabularies do:
 * copy_unknown has to count the words that the model sees. */
static void make_spaces(struct tf_buf *b, size_t from)
{
    size_t to = from;
    int len;
    for (size_t p = from; p < b->len; p += (size_t)len) {
        const bool space = tf_uc_space(tf_utf8_get(b->p + p, &len));
        if (space)
            b->p[to++] = ' ';
        for (int i = 0; i < len && !space; i++)
            b->p[to++] = b->p[p + (size_t)i];
    }
    b->len = to;
}

struct tf_hidden *tf_hidden_new(struct tf_text sentence, struct tf_hide hide, bool copy_unknown,
                                bool named, struct tf_buf *out)
{
    struct tf_hidden h = {.copy_unknown = copy_unknown};
    const size_t from = out->len;
    if (hide.addresses || hide.glossary != NULL)
        tf_placeholders_hide(&h.names, sentence, hide, out);
    else
        tf_buf_add(out, sentence.p, sentence.n);
    if (copy_unknown)
        make_spaces(out, from);
    const struct tf_text sent = {out->p + from, out->len - from};
    h.alone = (named || h.names.n > 0) && tf_placeholders_alone(sent);
    if (h.names.n == 0 && !copy_unknown && !h.alone) {
        tf_placeholders_release(&h.names);
        return NULL;
    }
    if (copy_unknown || h.alone)
        tf_buf_add(&h.sent, sent.p, sent.n);
    if (h.alone)
        out->len = from;
    struct tf_hidden *made = tf_xmalloc(sizeof *made);
    *made = h;
    return made;
}

void tf_hidden_free(struct tf_hidden *h)
{
    if (h == NULL)
        return;
    tf_placeholders_release(&h->names);
    tf_buf_release(&h->sent);
    free(h);
}

/* Links of the words of a text to themselves. */
static void link_words(struct tf_buf *links, struct tf_text s)
{
    size_t words = 0;
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] != ' ' && (i == 0 || s.p[i - 1] == ' ')) {
            tf_buf_printf(links, "%zu-%zu ", words, words);
            words++;
        }
}

size_t tf_hidden_show(const struct tf_hidden *h, struct tf_text translation, struct tf_text links,
                      struct tf_buf *out, struct tf_buf *new_links)
{
    struct tf_buf copied = {0};
    const struct tf_text sent = {h->sent.p, h->sent.len};
    size_t lost = 0;
    if (h->alone) {
        translation = sent;
        link_words(new_links, sent);
    } else if (h->copy_unknown) {
        tf_buf_grow(&copied, 1);
        tf_copy_unknown(&copied, sent, translation, links, new_links);
        translation = (struct tf_text){copied.p, copied.len};
    }
    if (h->names.n > 0) {
        lost = tf_placeholders_show(&h->names, translation, out);
        tf_buf_clear(new_links);
    } else {
        tf_buf_add(out, translation.p, translation.n);
    }
    tf_buf_release(&copied);
    return lost;
}
