/* text.c - see text.h. */
#include "text/text.h"
#include "base/memory.h"

struct tf_text *tf_text_words(struct tf_text s, size_t *n)
{
    struct tf_text *words = tf_xarray(NULL, s.n / 2 + 1, sizeof *words), word;
    *n = 0;
    while (tf_text_cut(&s, ' ', &word))
        if (word.n > 0)
            words[(*n)++] = word;
    return words;
}
