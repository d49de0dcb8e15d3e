/* The rule for the ids of a sentence, against its definition id by id. */
#include "../harness/tap.h"
#include "base/rng.h"
#include "stream/sentence.h"

static enum tf_sentence_fault of_id(const struct tf_header *h, uint32_t id)
{
    const struct tf_special *s = &h->special;
    if (h->size > 0 && id >= h->size)
        return TF_SENTENCE_UNKNOWN;
    if (id == s->pad && s->pad != s->unk)
        return TF_SENTENCE_PADDED;
    if (id == s->eos)
        return TF_SENTENCE_ENDS;
    return id == s->bos && s->bos != s->eos && s->bos != s->pad ? TF_SENTENCE_BEGINS
                                                                : TF_SENTENCE_GOOD;
}

/* Sentences of ids around `near`, most of them good ones. */
static bool agrees(const struct tf_header *h, uint32_t near)
{
    const struct tf_sentence_rule rule = tf_sentence_rule_of(h, 1);
    struct tf_rng r = tf_rng_new(1, near);
    uint32_t ids[6], id, want_id = 0;
    for (int i = 0; i < 5000; i++) {
        enum tf_sentence_fault want = TF_SENTENCE_GOOD;
        for (int k = 0; k < 6; k++) {
            ids[k] = near + tf_rng_below(&r, 12);
            const enum tf_sentence_fault is = of_id(h, ids[k]);
            want_id = is > want ? ids[k] : want_id;
            want = is > want ? is : want;
        }
        if (tf_sentence_check(&rule, ids, 6, &id) != want ||
            (want != TF_SENTENCE_GOOD && id != want_id))
            return false;
    }
    return true;
}

int main(void)
{
    static const struct {
        int64_t size;
        struct tf_special special;
    } all[] = {{500, {0, 1, 2, 3}},          {500, {1, 3, 0, 2}},           {0, {0, 1, 2, 3}},
               {58101, {58100, 1, -1, 0}},   {58101, {58100, 1, 58100, 0}}, {60000, {-1, 0, 2, 2}},
               {300, {0, 0, 1, 2}},          {500, {-1, -1, -1, -1}},       {0, {-1, -1, -1, -1}},
               {2000, {1500, 1, 1501, 1502}}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct tf_header h = {.kind = "tokens", .size = all[i].size, .special = all[i].special};
        const uint32_t near[] = {0, 290, 494, 1495, 1994, 58094, 59994, UINT32_MAX - 11};
        bool good = true;
        for (size_t k = 0; k < sizeof near / sizeof *near; k++)
            good = agrees(&h, near[k]) && good;
        ok(good, "case %zu", i);
    }
    struct tf_header own = {.kind = "batch",
                            .size = 90,
                            .source_size = 40,
                            .special = {0, 1, 2, 3}};
    const struct tf_sentence_rule source = tf_sentence_rule_of(&own, 0);
    uint32_t id;
    is_int(tf_sentence_check(&source, (uint32_t[]){0, 2, 3, 39}, 4, &id), TF_SENTENCE_GOOD,
           "special ids are those of targets where sources have their own");
    is_int(tf_sentence_check(&source, (uint32_t[]){40}, 1, &id), TF_SENTENCE_UNKNOWN,
           "and their number is theirs");
    return done();
}
