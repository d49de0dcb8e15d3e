/* sp_proto.c - see sp_proto_private.h. */
#include "text/sp_proto_private.h"

#include <string.h>

/* Read a number in groups of 7 bits, the low ones first. False if the message is malformed. */
static bool varint(struct tf_span *m, uint64_t *x)
{
    *x = 0;
    for (int shift = 0; shift < 70 && m->n > 0; shift += 7) {
        uint8_t b = *m->p++;
        m->n--;
        *x |= shift < 64 ? (uint64_t)(b & 0x7f) << shift : 0;
        if (!(b & 0x80))
            return true;
    }
    return false;
}

bool tf_proto_field(struct tf_span *m, struct tf_proto_field *f)
{
    const uint8_t *begin = m->p;
    uint64_t key, n;
    *f = (struct tf_proto_field){0};
    if (!varint(m, &key))
        return false;
    f->number = key >> 3;
    switch (key & 7) {
    case 0:
        f->is_varint = true;
        if (!varint(m, &f->value))
            return false;
        n = 0;
        break;
    case 1:
        n = 8;
        break;
    case 5:
        n = 4;
        break;
    case 2:
        if (!varint(m, &n))
            return false;
        break;
    default:
        return false;
    }
    if (n > m->n)
        return false;
    if ((key & 7) == 2)
        f->body = (struct tf_span){m->p, (size_t)n};
    else if (n == sizeof f->real)
        memcpy(&f->real, m->p, sizeof f->real);
    m->p += n;
    m->n -= (size_t)n;
    f->all = (struct tf_span){begin, (size_t)(m->p - begin)};
    return true;
}

static bool next_piece(struct tf_span *m, uint64_t number, struct tf_proto_piece *piece)
{
    struct tf_proto_field f;
    do {
        if (!tf_proto_field(m, &f))
            return false;
    } while (f.number != number || f.body.p == NULL);
    *piece = (struct tf_proto_piece){.type = TF_PIECE_NORMAL, .stands_for = -1};
    for (struct tf_span body = f.body; tf_proto_field(&body, &f);) {
        int type = (int)(uint32_t)f.value; /* as the library, which takes the low 32 bits */
        if (f.number == TF_PROTO_TEXT && f.body.p != NULL)
            piece->text = (struct tf_text){(const char *)f.body.p, f.body.n};
        else if (f.number == TF_PROTO_SCORE)
            piece->score = f.real;
        else if (f.number == TF_PROTO_TYPE && type >= TF_PIECE_NORMAL && type <= TF_PIECE_BYTE)
            piece->type = type; /* other types are ignored */
        else if (f.number == TF_PROTO_STANDS_FOR && number == TF_PROTO_UNLISTED)
            piece->stands_for = f.value <= INT32_MAX ? (int64_t)f.value : INT32_MAX;
    }
    return true;
}

bool tf_proto_piece(struct tf_span *m, struct tf_proto_piece *piece)
{
    return next_piece(m, TF_PROTO_PIECE, piece);
}

bool tf_proto_unlisted(struct tf_span *m, struct tf_proto_piece *piece)
{
    return next_piece(m, TF_PROTO_UNLISTED, piece);
}

void tf_proto_put_varint(struct tf_buf *b, uint64_t x)
{
    for (; x > 127; x >>= 7)
        tf_buf_byte(b, (unsigned char)(x | 128));
    tf_buf_byte(b, (unsigned char)x);
}

void tf_proto_put_number(struct tf_buf *b, uint64_t field, uint64_t x)
{
    tf_proto_put_varint(b, field << 3);
    tf_proto_put_varint(b, x);
}

void tf_proto_put_bytes(struct tf_buf *b, uint64_t field, const void *p, size_t n)
{
    tf_proto_put_varint(b, field << 3 | 2);
    tf_proto_put_varint(b, n);
    tf_buf_add(b, p, n);
}

void tf_proto_put_piece(struct tf_buf *out, struct tf_buf *work, uint64_t field, const char *prefix,
                        const struct tf_proto_piece *p)
{
    tf_buf_clear(work);
    tf_proto_put_varint(work, (uint64_t)TF_PROTO_TEXT << 3 | 2);
    tf_proto_put_varint(work, strlen(prefix) + p->text.n);
    tf_buf_str(work, prefix);
    tf_buf_add(work, p->text.p, p->text.n);
    tf_proto_put_varint(work, (uint64_t)TF_PROTO_SCORE << 3 | 5);
    tf_buf_add(work, &p->score, sizeof p->score); /* little-endian, as the machines are */
    tf_proto_put_number(work, TF_PROTO_TYPE, (uint64_t)p->type);
    tf_proto_put_bytes(out, field, work->p, work->len);
}

bool tf_proto_added(struct tf_span *m, struct tf_proto_added *t)
{
    struct tf_proto_field f;
    while (tf_proto_field(m, &f)) {
        if (f.number != TF_PROTO_ADDED || f.body.p == NULL)
            continue;
        *t = (struct tf_proto_added){0};
        for (struct tf_span body = f.body; tf_proto_field(&body, &f);)
            if (f.number == TF_PROTO_TEXT && f.body.p != NULL)
                t->text = (struct tf_text){(const char *)f.body.p, f.body.n};
            else if (f.number == TF_PROTO_ADDED_ID)
                t->id = f.value <= INT32_MAX ? (int64_t)f.value : INT32_MAX;
            else if (f.number == TF_PROTO_ADDED_FLAGS)
                t->flags = (unsigned)f.value;
        if (t->text.n > 0)
            return true;
    }
    return false;
}

void tf_proto_put_added(struct tf_buf *out, struct tf_buf *work, const struct tf_proto_added *t)
{
    tf_buf_clear(work);
    tf_proto_put_bytes(work, TF_PROTO_TEXT, t->text.p, t->text.n);
    tf_proto_put_number(work, TF_PROTO_ADDED_ID, (uint64_t)t->id);
    tf_proto_put_number(work, TF_PROTO_ADDED_FLAGS, t->flags);
    tf_proto_put_bytes(out, TF_PROTO_ADDED, work->p, work->len);
}
