/* sp_settings.c - see sp_settings_private.h. */
#include "text/sp_settings_private.h"

/* Those that are true or false. */
static const struct {
    uint64_t message, field;
    size_t member;
} flags[] = {
#define FLAG(message, field, member) {message, field, offsetof(struct tf_sp_settings, member)}
    FLAG(TF_PROTO_TRAINER, TF_PROTO_SPACE_ENDS, space_ends),
    FLAG(TF_PROTO_TRAINER, TF_PROTO_BYTE_FALLBACK, byte_fallback),
    FLAG(TF_PROTO_NORMALIZER, TF_PROTO_ADD_SPACE, add_space),
    FLAG(TF_PROTO_NORMALIZER, TF_PROTO_SINGLE_SPACES, single_spaces),
    FLAG(TF_PROTO_NORMALIZER, TF_PROTO_ESCAPE_SPACES, escape_spaces),
    FLAG(TF_PROTO_CODES, TF_PROTO_CODES_END_ALONE, codes.end_alone),
    FLAG(TF_PROTO_CODES, TF_PROTO_CODES_END_IN_PIECES, codes.end_in_pieces),
#undef FLAG
};

static void read_setting(struct tf_sp_settings *s, uint64_t message,
                         const struct tf_proto_field *f)
{
    for (size_t i = 0; i < sizeof flags / sizeof *flags && f->is_varint; i++)
        if (flags[i].message == message && flags[i].field == f->number)
            *(bool *)((char *)s + flags[i].member) = f->value != 0;
    if (message == TF_PROTO_TRAINER && f->number == TF_PROTO_MODEL_TYPE && f->is_varint &&
        (uint32_t)f->value - 1 < TF_TYPE_CHAR) /* others are ignored */
        s->model_type = (uint32_t)f->value;
    if (message == TF_PROTO_TRAINER && f->number == TF_PROTO_UNK_SURFACE)
        s->unk_surface = f->body.n > s->unk_surface ? f->body.n : s->unk_surface;
    if (message == TF_PROTO_NORMALIZER && f->number == TF_PROTO_CHARSMAP && f->body.p != NULL)
        s->charsmap = f->body;
    if (message == TF_PROTO_DENORMALIZER && f->number == TF_PROTO_CHARSMAP)
        s->denormalizes = true;
    if (message == TF_PROTO_CODES && f->number == TF_PROTO_CODES_LINES && f->body.p != NULL) {
        s->codes.lines = (const char *)f->body.p;
        s->codes.n = f->body.n;
    }
}

struct tf_sp_settings tf_sp_settings_of(const void *bytes, size_t n)
{
    struct tf_sp_settings s = {.model_type = TF_TYPE_UNIGRAM,
                               .add_space = true,
                               .single_spaces = true,
                               .escape_spaces = true};
    struct tf_proto_field f, inner;
    for (struct tf_span m = {bytes, n}; tf_proto_field(&m, &f);) {
        if (f.number == TF_PROTO_WORDS)
            s.words = f.value != 0;
        else if (f.number == TF_PROTO_RENUMBERED)
            s.renumbered = f.value != 0;
        else if (f.number == TF_PROTO_ENDS)
            s.ends = f.value != 0;
        else if (f.number == TF_PROTO_WHITE)
            s.white = (unsigned)f.value;
        else if (f.number == TF_PROTO_CODES && f.body.p != NULL)
            s.codes = (struct tf_bpe_codes){.lines = ""};
        for (struct tf_span body = f.body;
             f.number != TF_PROTO_PIECE && tf_proto_field(&body, &inner);)
            read_setting(&s, f.number, &inner);
    }
    return s;
}
