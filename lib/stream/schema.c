/* schema.c - the table of records and kinds, as specified in formats/. */
#include "stream/schema_private.h"

#include <string.h>

#define AT(member) .at = offsetof(struct tf_record, member)
#define N_AT(member) .n_at = offsetof(struct tf_record, member)
#define FLAG_AT(member) .flag_at = offsetof(struct tf_record, member)
#define HYP_AT(member) .at = offsetof(struct tf_hyp, member)
#define HYP_N_AT(member) .n_at = offsetof(struct tf_hyp, member)

#define F(name_, type_, ...)                                 \
    {                                                        \
        .name = name_, .type = TF_FIELD_##type_, __VA_ARGS__ \
    }
#define F_IDX F("idx", UINT, AT(idx))
#define F_CUT F("cut", UINT, .flags = TF_OPTIONAL, AT(cut), FLAG_AT(has_cut))
#define F_SOURCE \
    F("source", IDS, .flags = TF_OPTIONAL, AT(source), N_AT(n_source), .max = TF_MAX_IDS)
#define F_LAST       \
    {                \
        .name = NULL \
    }

static size_t hyp_tokens(const void *hyp)
{
    return ((const struct tf_hyp *)hyp)->n + 1; /* one more for EOS */
}

/* The factors are at most 2^20, 2^16 and 2^16. */
static size_t attn_weights(const void *rec)
{
    const struct tf_attn *t = &((const struct tf_record *)rec)->attn;
    return t->n_heads * t->n_rows * t->n_cols;
}

static size_t batch_pairs(const void *rec)
{
    return ((const struct tf_record *)rec)->batch.n;
}

static const struct tf_field hyp_fields[] = {
    F("ids", IDS, .flags = TF_VOCAB, HYP_AT(ids), HYP_N_AT(n), .max = TF_MAX_IDS),
    F("score", FLOAT, HYP_AT(score)),
    F("logp", FLOAT, HYP_AT(logp)),
    F("token_logp", FLOATS, .flags = TF_OPTIONAL, HYP_AT(token_logp), .count = hyp_tokens,
      .max = TF_MAX_IDS + 1),
    F("alignment", FLOATS, .flags = TF_OPTIONAL, HYP_AT(alignment), HYP_N_AT(n_alignment),
      .max = TF_MAX_RECORD / sizeof(float)),
    F_LAST,
};

static const struct tf_field batch_fields[] = {
    F("idx", IDS, AT(batch.idx), N_AT(batch.n), .max = TF_MAX_IDS),
    F("src", PACKED, .flags = TF_VOCAB | TF_KNOWN, AT(batch.src), N_AT(batch.n),
      FLAG_AT(batch.src_off), .max = TF_MAX_IDS),
    F("tgt", PACKED, .flags = TF_VOCAB | TF_KNOWN, AT(batch.tgt), N_AT(batch.n),
      FLAG_AT(batch.tgt_off), .max = TF_MAX_IDS),
    F("epoch", UINT, AT(batch.epoch)),
    F("group", UINT, .flags = TF_OPTIONAL, AT(batch.group), FLAG_AT(batch.has_group)),
    F("record", UINT, AT(batch.record)),
    F("corpus", SHA256, .flags = TF_OPTIONAL, AT(batch.corpus), FLAG_AT(batch.has_corpus)),
    F("src_off", OFFSETS, AT(batch.src_off), N_AT(batch.n), .max = TF_MAX_IDS + 1),
    F("tgt_off", OFFSETS, AT(batch.tgt_off), N_AT(batch.n), .max = TF_MAX_IDS + 1),
    F("links", PACKED, .flags = TF_OPTIONAL, AT(batch.links), N_AT(batch.n),
      FLAG_AT(batch.links_off), .max = 2 * TF_MAX_LINKS),
    F("links_off", OFFSETS, .flags = TF_OPTIONAL, AT(batch.links_off), N_AT(batch.n),
      .max = TF_MAX_IDS + 1),
    F("weights", FLOATS, .flags = TF_OPTIONAL, AT(batch.weights), .count = batch_pairs,
      .max = TF_MAX_IDS, .most = TF_MAX_PAIR_WEIGHT),
    F_LAST,
};

#define FIELDS(...) ((const struct tf_field[]){__VA_ARGS__, F_LAST})

#define OTHER TF_KIND_OTHER

const struct tf_schema tf_schemas[TF_REC_END + 1] = {
    [TF_REC_HEADER] = {"header", .apart = true, .fields = FIELDS(F("header", VALUE, .at = 0))},
    [TF_REC_TOKENS] = {"tokens", TF_KIND_TOKENS | OTHER,
                       .fields = FIELDS(F_IDX, F("ids", IDS, .flags = TF_VOCAB, AT(ids), N_AT(n),
                                                 .max = TF_MAX_IDS),
                                        F_CUT, F_SOURCE,
                                        F("alignment", FLOATS, .flags = TF_OPTIONAL, AT(alignment),
                                          N_AT(n_alignment),
                                          .max = TF_MAX_RECORD / sizeof(float)))},
    [TF_REC_PAIR] = {"pair", TF_KIND_PAIRS | OTHER,
                     .fields = FIELDS(F_IDX,
                                      F("src", IDS, .flags = TF_VOCAB | TF_KNOWN, AT(ids), N_AT(n),
                                        .max = TF_MAX_IDS),
                                      F("tgt", IDS, .flags = TF_VOCAB | TF_KNOWN, AT(tgt),
                                        N_AT(n_tgt), .max = TF_MAX_IDS))},
    [TF_REC_BATCH] = {"batch", TF_KIND_BATCH | OTHER, .own_crc = true,
                      .fields = FIELDS(F("ordinal", UINT, AT(batch.ordinal)),
                                       F("fields", MAP, .fields = batch_fields),
                                       F("crc", OWN_CRC, .at = 0))},
    [TF_REC_NBEST] = {"nbest", TF_KIND_NBEST | OTHER,
                      .fields = FIELDS(F_IDX, F("hyps", STRUCTS, AT(hyps), N_AT(n_hyps),
                                                .max = TF_MAX_HYPS, .fields = hyp_fields,
                                                .size = sizeof(struct tf_hyp)),
                                        F_CUT, F_SOURCE)},
    [TF_REC_ATTN] =
        {"attention", TF_KIND_ATTENTION | OTHER,
         .fields =
             FIELDS(F_IDX, F("kind", TEXT, AT(attn.kind)), F("layer", UINT, AT(attn.layer)),
                    F("heads", IDS, AT(attn.heads), N_AT(attn.n_heads), .max = TF_MAX_IDS),
                    F("rows", TEXTS, AT(attn.rows), N_AT(attn.n_rows), .max = TF_MAX_TEXTS),
                    F("columns", TEXTS, AT(attn.cols), N_AT(attn.n_cols), .max = TF_MAX_TEXTS),
                    F("weights", FLOATS, .flags = TF_BULK, AT(attn.weights), .count = attn_weights,
                      .max = TF_MAX_RECORD / sizeof(float)))},
    [TF_REC_TENSOR] = {"tensor", TF_KIND_MODELS, .own_crc = true, .apart = true,
                       .fields = FIELDS(F("name", TEXT, .at = 0), F("dtype", DTYPE, .at = 0),
                                        F("pad", PAD, .at = 0), F("data", MATRIX, .at = 0),
                                        F("crc", DATA_CRC, .at = 0))},
    [TF_REC_STATE] = {"state", TF_KIND_MODELS, .own_crc = true,
                      .fields = FIELDS(F("name", TEXT, AT(state.name)),
                                       F("value", VALUE, AT(state.value), N_AT(state.n),
                                         FLAG_AT(state.bytes)),
                                       F("crc", OWN_CRC, .at = 0))},
    [TF_REC_BAD] = {"bad", TF_KIND_STREAMS & ~TF_KIND_BATCH,
                    .fields = FIELDS(F_IDX, F("code", CODE, AT(fault.code)),
                                     F("text", TEXT, AT(fault.text)))},
    [TF_REC_SCORE] = {"score", TF_KIND_SCORES | OTHER,
                      .fields =
                          FIELDS(F_IDX, F("logp", FLOAT, AT(score.logp)),
                                 F("token_logp", FLOATS, .flags = TF_OPTIONAL, AT(score.token_logp),
                                   N_AT(score.n), .max = TF_MAX_IDS + 1))},
    [TF_REC_STATS] = {"stats", TF_KIND_STATS | OTHER,
                      .fields =
                          FIELDS(F_IDX, F("counts", IDS, AT(ids), N_AT(n), .max = TF_MAX_IDS))},
    [TF_REC_CHECK] = {"check", TF_KIND_ALL, .closed = true,
                      .fields = FIELDS(F("count", UINT, AT(count.records)),
                                       F("crc", PART_CRC, AT(count.crc), FLAG_AT(count.has_crc)))},
    [TF_REC_ERROR] = {"error", TF_KIND_ALL,
                      .fields =
                          FIELDS(F("code", CODE, AT(fault.code)), F("text", TEXT, AT(fault.text)))},
    [TF_REC_END] = {"end", TF_KIND_ALL, .closed = true,
                    .fields = FIELDS(F("count", UINT, AT(count.records)),
                                     F("crc", PART_CRC, AT(count.crc), FLAG_AT(count.has_crc)))},
};

/* In the order of the bits. */
static const struct kind {
    const char *name;
    struct tf_kind_use use;
} kinds[] = {
    {"tokens", {"tf-tokenize", "tf-tokenize", "tf-tokenize -d"}},
    {"pairs", {"tf-tokenize", "two token streams", "tf-cbor json"}},
    {"batch", {"tf-tokenize, then tf-batch", "tf-batch", "tf-cbor json"}},
    {"nbest", {"", "tf-decode --nbest", "tf-tokenize -d"}},
    {"scores", {"", "tf-score", "tf-cbor json"}},
    {"stats", {"tf-bleu --stats", "tf-bleu --stats", "tf-cbor json"}},
    {"attention", {"", "tf-attn", "tf-cbor json"}},
    {"model", {"", "", "tf-info"}},
    {"checkpoint", {"", "", "tf-info"}},
};

/* The row of a kind, or NULL. */
static const struct kind *kind_row(const char *name)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(name, kinds[i].name) == 0)
            return &kinds[i];
    return NULL;
}

size_t tf_schema_fields(const struct tf_schema *s)
{
    size_t n = 0;
    while (s->fields[n].name != NULL)
        n++;
    return n;
}

int tf_schema_type(const char *name)
{
    for (int i = 0; i <= TF_REC_END; i++)
        if (tf_schemas[i].name != NULL && strcmp(tf_schemas[i].name, name) == 0)
            return i;
    return -1;
}

const char *tf_record_name(int type)
{
    const struct tf_schema *s = tf_schema_of(type);
    return type >= TF_REC_ANCILLARY ? "ancillary" : s != NULL ? s->name : "unknown";
}

unsigned tf_kind_of(const char *kind)
{
    const struct kind *k = kind_row(kind);
    return k != NULL ? 1U << (k - kinds) : TF_KIND_OTHER;
}

const struct tf_kind_use *tf_kind_use(const char *kind)
{
    static const struct tf_kind_use other = {"", "", "tf-cbor json"};
    const struct kind *k = kind_row(kind);
    return k != NULL ? &k->use : &other;
}

bool tf_field_present(const struct tf_field *f, const void *base)
{
    if (!(f->flags & TF_OPTIONAL))
        return true;
    return f->type == TF_FIELD_SHA256 || f->type == TF_FIELD_UINT
               ? *TF_MEMBER(const bool, base, f->flag_at)
               : *TF_MEMBER(const void *const, base, f->at) != NULL;
}

size_t tf_field_count(const struct tf_field *f, const void *base)
{
    return f->count != NULL ? f->count(base) : *TF_MEMBER(const size_t, base, f->n_at);
}

size_t tf_field_ids(const struct tf_field *f, const void *base)
{
    size_t n = tf_field_count(f, base);
    if (f->type == TF_FIELD_PACKED)
        return (*TF_MEMBER(const uint32_t *const, base, f->flag_at))[n];
    return f->type == TF_FIELD_OFFSETS ? n + 1 : n;
}
