/* sp_model.c - any bytes as a SentencePiece model: what our checks and the library accept can be
 * used on any text. Unless it is built with SP_SOURCE the library is the system's and not
 * instrumented: a crash is seen, a read outside of its memory mostly not. */
#include "../harness/memory.h"
#include "base/rng.h"
#include "base/utf8.h"
#include "text/sample_private.h"
#include "text/segment_private.h"
#include "text/vocab.h"

enum { MAX_INPUT = 1 << 15, MOST_PIECES = 1 << 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check_ids(const struct tf_sp *sp, const struct tf_ids *ids)
{
    struct tf_err err = {0};
    struct tf_buf text = {0};
    for (size_t i = 0; i < ids->n; i++)
        TF_ASSERT((int64_t)ids->v[i] < tf_sp_size(sp));
    TF_ASSERT(tf_sp_decode(sp, ids->v, ids->n, &text, &err) == 0 || err.msg[0] != 0);
    tf_buf_release(&text);
}

static void use(const struct tf_sp *sp, const struct tf_sampler *sampler, const char *text,
                size_t n)
{
    struct tf_err err = {0};
    struct tf_ids ids = {0};
    struct tf_buf out = {0};
    struct tf_rng rng = tf_rng_new(1, n);
    size_t end[4];
    float score[4];
    TF_ASSERT(tf_sp_encode(sp, text, n, &ids, &err) == 0 || err.msg[0] != 0);
    check_ids(sp, &ids);
    (void)!tf_sp_pieces(sp, text, n, &out, &err);
    ids.n = 0;
    if (sampler != NULL && tf_sample(sampler, text, n, 0.1, 0, &rng, &ids, &err) == 0)
        check_ids(sp, &ids);
    ids.n = 0;
    int got = tf_sp_sampling(sp) == TF_SP_UNIGRAM
                  ? tf_sp_nbest(sp, text, n, 4, &ids, end, score, &err)
                  : 0;
    for (int i = 0; i < got; i++)
        TF_ASSERT(end[i] <= ids.n);
    check_ids(sp, &ids);
    tf_ids_release(&ids);
    tf_buf_release(&out);
}

/* Our own segmentation has the library's ids. */
static void compare(const struct tf_vocab *v, const struct tf_segmenter *s, const char *text,
                    size_t n)
{
    struct tf_err err = {0};
    struct tf_ids want = {0}, got = {0};
    if (s == NULL)
        return;
    struct tf_segment_room *room = tf_segment_room_new();
    TF_ASSERT(tf_sp_encode(v->sp, text, n, &want, &err) == 0);
    tf_segment(s, room, text, n, &got);
    TF_ASSERT(want.n == got.n);
    for (size_t i = 0; i < want.n; i++)
        TF_ASSERT(want.v[i] == got.v[i]);
    tf_segment_room_free(room);
    tf_ids_release(&want);
    tf_ids_release(&got);
}

/* The same where codes split words. */
static void use_codes(const struct tf_vocab *v, const char *text, size_t n)
{
    struct tf_err err = {0};
    struct tf_ids ids = {0};
    struct tf_buf out = {0};
    if (v->bpe == NULL)
        return;
    tf_bpe_encode(v->bpe, text, n, &ids);
    for (size_t i = 0; i < ids.n; i++)
        TF_ASSERT((int64_t)ids.v[i] < tf_sp_size(v->sp));
    TF_ASSERT(tf_bpe_decode(v->bpe, ids.v, ids.n, &out, &err) == 0 || err.msg[0] != 0);
    tf_bpe_pieces(v->bpe, text, n, &out);
    tf_ids_release(&ids);
    tf_buf_release(&out);
}

/* What is read without what segments, alone: the library may refuse the rest. */
static void use_pieces(const char *path)
{
    struct tf_vocab v;
    struct tf_err err = {0};
    if (tf_vocab_read(&v, path, false, false, &err) != 0 ||
        tf_vocab_parse(&v, TF_VOCAB_DECODES, path, &err) != 0)
        return;
    struct tf_segmenter *s = v.bpe == NULL ? tf_segmenter_new(v.sp, v.bytes, v.n) : NULL;
    struct tf_segment_room *room = tf_segment_room_new();
    struct tf_ids ids = {0};
    for (uint32_t id = 0; (int64_t)id < tf_sp_size(v.sp) && id < 50; id++) {
        size_t len;
        const char *piece = tf_sp_piece(v.sp, id, &len);
        ids.n = 0;
        tf_ids_add(&ids, &id, 1);
        if (s != NULL && tf_utf8_valid((const uint8_t *)piece, len))
            tf_segment(s, room, piece, len, &ids);
        check_ids(v.sp, &ids);
    }
    tf_ids_release(&ids);
    tf_segment_room_free(room);
    tf_segmenter_free(s);
    tf_vocab_release(&v);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const char text[] = "abc \xe2\x96\x81 bcd  \xc3\xa4\xc2\xa0\xef\xbd\x81 123 <s> \n\t";
    struct tf_vocab v;
    struct tf_sampler *sampler = NULL;
    struct tf_err err = {0};
    if (n > MAX_INPUT)
        return 0;
    const char *path = memory_path(0, data, n);
    use_pieces(path);
    if (tf_vocab_read(&v, path, false, false, &err) != 0 ||
        tf_vocab_parse(&v, TF_VOCAB_SAMPLES, path, &err) != 0) {
        TF_ASSERT(err.msg[0] != 0);
        return 0;
    }
    int64_t size = tf_sp_size(v.sp);
    const int64_t special[] = {tf_sp_pad(v.sp), tf_sp_unk(v.sp), tf_sp_bos(v.sp), tf_sp_eos(v.sp)};
    TF_ASSERT(size > 0 && size <= MOST_PIECES);
    for (int i = 0; i < 4; i++)
        TF_ASSERT(special[i] >= -1 && special[i] < size);
    if (tf_sampler_new(&sampler, v.sp, v.bytes, v.n, &err) != 0)
        sampler = NULL;
    struct tf_sp *pieces;
    TF_ASSERT(tf_sp_load_pieces(&pieces, v.bytes, v.n, &err) == 0);
    struct tf_segmenter *segmenter = tf_segmenter_new(pieces, v.bytes, v.n);
    use(v.sp, sampler, "", 0);
    use(v.sp, sampler, text, sizeof text - 1);
    use_codes(&v, text, sizeof text - 1);
    compare(&v, segmenter, text, sizeof text - 1);
    for (uint32_t id = 0; id < (uint32_t)size && id < 50; id++) {
        size_t len;
        const char *piece = tf_sp_piece(v.sp, id, &len);
        (void)tf_sp_kind(v.sp, id);
        if (tf_utf8_valid((const uint8_t *)piece, len)) {
            use(v.sp, sampler, piece, len);
            use_codes(&v, piece, len);
            compare(&v, segmenter, piece, len);
        }
    }
    tf_segmenter_free(segmenter);
    tf_sp_free(pieces);
    tf_sampler_free(sampler);
    tf_vocab_release(&v);
    return 0;
}
