/* sentence.c - see sentence.h. */
#include "stream/sentence.h"

#include <math.h>
#include <stdio.h>

void tf_sentence_rule_add(struct tf_sentence_rule *r, const struct tf_special *s)
{
    const int k = r->end[0] >= 0 || r->pad[0] >= 0;
    r->end[k] = s->eos;
    r->pad[k] = s->pad != s->unk ? s->pad : -1;
    if (s->bos >= 0 && s->bos != s->eos && s->bos != s->pad)
        r->begin = s->bos;
}

struct tf_sentence_rule tf_sentence_rule_of(const struct tf_header *h, int side)
{
    struct tf_sentence_rule r = TF_ANY_SENTENCE;
    const bool own = side == 0 && h->source_size > 0;
    r.size = own ? h->source_size : h->size;
    if (!own) /* the special ids are those of targets */
        tf_sentence_rule_add(&r, &h->special);
    return r;
}

static enum tf_sentence_fault fault_of(const struct tf_sentence_rule *r, int64_t id)
{
    if (r->size > 0 && id >= r->size)
        return TF_SENTENCE_UNKNOWN;
    if (id == r->pad[0] || id == r->pad[1])
        return TF_SENTENCE_PADDED;
    if (id == r->end[0] || id == r->end[1])
        return TF_SENTENCE_ENDS;
    return id == r->begin ? TF_SENTENCE_BEGINS : TF_SENTENCE_GOOD;
}

/* Special ids are the first of a vocabulary or, in some, the last. Nearly all sentences have ids
 * between them only, which one comparison of each shows. */
static bool suspect(const struct tf_sentence_rule *r, const uint32_t *ids, size_t n)
{
    enum { FIRST = 1024 };
    const int64_t special[] = {r->end[0], r->end[1], r->pad[0], r->pad[1], r->begin};
    int64_t low = 0, high = r->size > 0 ? r->size : UINT32_MAX;
    for (size_t k = 0; k < sizeof special / sizeof *special; k++)
        if (special[k] < FIRST)
            low = special[k] >= low ? special[k] + 1 : low;
        else
            high = special[k] < high ? special[k] : high;
    const uint32_t from = (uint32_t)low, width = high > low ? (uint32_t)(high - low) : 0;
    uint32_t any = 0;
    for (size_t i = 0; i < n; i++)
        any |= (uint32_t)(ids[i] - from >= width);
    return any != 0;
}

enum tf_sentence_fault tf_sentence_check(const struct tf_sentence_rule *r, const uint32_t *ids,
                                         size_t n, uint32_t *id)
{
    enum tf_sentence_fault worst = TF_SENTENCE_GOOD;
    if (!suspect(r, ids, n))
        return worst;
    for (size_t i = 0; i < n; i++) {
        const enum tf_sentence_fault is = fault_of(r, ids[i]);
        if (is <= worst)
            continue;
        worst = is;
        *id = ids[i];
    }
    return worst;
}

const char *tf_sentence_describe(char buf[TF_SENTENCE_TEXT], const struct tf_sentence_rule *r,
                                 enum tf_sentence_fault fault, const char *side, uint32_t id)
{
    static const char *const what[] = {[TF_SENTENCE_BEGINS] = "bos",
                                       [TF_SENTENCE_ENDS] = "the end of a sentence",
                                       [TF_SENTENCE_PADDED] = "padding"};
    if (fault == TF_SENTENCE_UNKNOWN)
        snprintf(buf, TF_SENTENCE_TEXT, "%s id %u, the vocabulary has %lld", side, id,
                 (long long)r->size);
    else
        snprintf(buf, TF_SENTENCE_TEXT, "%s with id %u, which is %s", side, id, what[fault]);
    return buf;
}

enum tf_sentence_fault tf_sentence_worse(enum tf_sentence_fault worst,
                                         const struct tf_sentence_rule *r, const char *side,
                                         const uint32_t *ids, size_t n, char text[TF_SENTENCE_TEXT])
{
    uint32_t id;
    const enum tf_sentence_fault is = tf_sentence_check(r, ids, n, &id);
    if (is <= worst)
        return worst;
    tf_sentence_describe(text, r, is, side, id);
    return is;
}

enum tf_sentence_fault tf_batch_check_ids(const struct tf_batch *b,
                                          const struct tf_sentence_rule rule[2],
                                          char text[TF_SENTENCE_TEXT])
{
    enum tf_sentence_fault worst = TF_SENTENCE_GOOD;
    if (b->n == 0)
        return worst;
    worst = tf_sentence_worse(worst, &rule[0], "source", b->src, b->src_off[b->n], text);
    return tf_sentence_worse(worst, &rule[1], "target", b->tgt, b->tgt_off[b->n], text);
}

int tf_batch_take_turn(struct tf_batch_turn *t, const struct tf_batch *b, struct tf_err *err)
{
    const unsigned long long is = b->ordinal, due = t->next;
    if (b->n == 0)
        return tf_fail(err, "batch %llu is empty", is);
    if (t->begun && is != due)
        return tf_fail(err, "batch %llu, expected batch %llu", is, due);
    *t = (struct tf_batch_turn){true, b->ordinal + 1};
    return 0;
}

int tf_batch_check_links(const struct tf_batch *b, struct tf_err *err)
{
    for (size_t i = 0; i < b->n; i++) {
        const uint32_t S = b->src_off[i + 1] - b->src_off[i], T = b->tgt_off[i + 1] - b->tgt_off[i],
                       end = b->links_off[i + 1];
        if ((end - b->links_off[i]) % 2 != 0)
            return tf_fail(err, "pair %zu: links: half a link", i);
        for (uint32_t k = b->links_off[i]; k < end; k += 2)
            if (b->links[k] >= S || b->links[k + 1] >= T)
                return tf_fail(err, "pair %zu: link %u-%u of %u and %u tokens", i, b->links[k],
                               b->links[k + 1], S, T);
    }
    return 0;
}

int tf_alignment_check(size_t n, size_t n_source, const float *weights, size_t n_weights,
                       struct tf_err *err)
{
    const size_t rows = n + 1, cols = n_weights / rows;
    if (n_weights == 0 && n_source == 0)
        return 0;
    if (n_weights % rows != 0 || (cols != n_source && cols != n_source + 1))
        return tf_fail(err, "an alignment of %zu weights for %zu tokens of %zu", n_weights, n,
                       n_source);
    for (size_t i = 0; i < n_weights; i++)
        if (!(weights[i] >= 0) || isinf(weights[i]))
            return tf_fail(err, "an alignment with the weight %g", weights[i]);
    return 0;
}
