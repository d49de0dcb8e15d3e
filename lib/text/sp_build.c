/* sp_build.c - see sp_build.h. */
#include "text/sp_build.h"
#include "text/sp_proto_private.h"

#include <string.h>

void tf_sp_build_piece(struct tf_buf *out, const char *text, float score, int type)
{
    struct tf_buf work = {0};
    const struct tf_proto_piece p = {.text = {text, strlen(text)},
                                     .score = score,
                                     .type = type};
    tf_proto_put_piece(out, &work, TF_PROTO_PIECE, "", &p);
    tf_buf_release(&work);
}

void tf_sp_build_settings(struct tf_buf *out, const struct tf_sp_build *b)
{
    struct tf_buf work = {0};
    tf_proto_put_number(&work, TF_PROTO_MODEL_TYPE, b->bpe ? TF_TYPE_BPE : TF_TYPE_UNIGRAM);
    tf_proto_put_bytes(out, TF_PROTO_TRAINER, work.p, work.len);
    tf_buf_clear(&work);
    if (b->charsmap->len > 0)
        tf_proto_put_bytes(&work, TF_PROTO_CHARSMAP, b->charsmap->p, b->charsmap->len);
    tf_proto_put_number(&work, TF_PROTO_ADD_SPACE, b->add_space);
    tf_proto_put_number(&work, TF_PROTO_SINGLE_SPACES, b->single_spaces);
    tf_proto_put_bytes(out, TF_PROTO_NORMALIZER, work.p, work.len);
    if (b->ends)
        tf_proto_put_number(out, TF_PROTO_ENDS, 1);
    if (b->white != 0)
        tf_proto_put_number(out, TF_PROTO_WHITE, b->white);
    tf_buf_release(&work);
}
