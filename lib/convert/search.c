/* search.c - see search_private.h. */
#include "convert/search_private.h"
#include "stream/search_settings.h"
#include "ops/search_state.h"

#include <math.h>

void tf_search_put(struct tf_import *m, const char *key, struct tf_value v)
{
    tf_value_put(m->arena, &m->header.search, key, v);
}

void tf_search_put_word(struct tf_import *m, const char *key, const char *word)
{
    tf_search_put(m, key, tf_value_str(m->arena, word));
}

void tf_search_put_length(struct tf_import *m, const char *key, int64_t n, const char *theirs)
{
    if (n > TF_SEARCH_MAX_LENGTH)
        tf_buf_item(&m->left, "%s", theirs);
    else if (n > 0)
        tf_search_put(m, key, tf_value_int(n));
}

void tf_search_put_limit(struct tf_import *m, double factor, int ends, double extra,
                         const char *theirs)
{
    if (!(factor >= 0 && factor <= 100 && extra >= 0 && extra <= TF_SEARCH_MAX_LENGTH)) {
        tf_buf_item(&m->left, "%s", theirs);
        return;
    }
    const bool whole = factor == floor(factor); /* the end's share is known */
    tf_search_put(m, "max-factor", tf_value_real(factor));
    tf_search_put(m, "max-extra", tf_value_int((int64_t)(extra + (whole ? factor * ends : 0))));
    if (!whole && ends > 0)
        tf_search_put(m, "count-end", tf_value_bool(true));
}

void tf_search_put_beam(struct tf_import *m, int64_t beam, const char *theirs)
{
    if (beam < 1 || beam > TF_SEARCH_MAX_BEAM)
        tf_buf_item(&m->left, "%s", theirs);
    else
        tf_search_put(m, "beam", tf_value_int(beam));
}

void tf_search_put_begin(struct tf_import *m, const char *text, const char *theirs)
{
    if (text != NULL && m->config.source_vocab_size > 0)
        tf_buf_item(&m->left, "%s", theirs);
    else if (text != NULL && *text != 0)
        tf_search_put_word(m, "begin", text);
}
