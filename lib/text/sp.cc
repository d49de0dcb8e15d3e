/* sp.cc - loaded vocabularies, see sp.h. Ids are checked before they reach the library,
 * which aborts on an invalid one. */
#include "text/sp_internal.hh"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string_view>
#include <unordered_set>
#include <vector>

extern "C" {
#include "text/sp_charsmap_private.h"
#include "text/sp_settings_private.h"
}

/* kResultSize: with more, the library reads outside of an array on its stack. */
static constexpr size_t MOST_USER = 64;

using table = std::unordered_set<std::string_view>;

/* The length of the character at p, of n bytes. */
static size_t char_at(const char *p, size_t n)
{
    const unsigned char c = n > 0 ? (unsigned char)*p : 0;
    const size_t len = c < 0xc0 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
    return len < n ? len : n;
}

/* Whether the texts spread over the buckets. Chance puts no more than about 10 of n texts into one
 * of n buckets, and no more than about 2 n / p + 20 into one of p. */
static bool spread(const table &t)
{
    for (size_t i = 0; i < t.bucket_count(); i++)
        if (t.bucket_size(i) > 64 + 8 * t.size() / t.bucket_count())
            return false;
    return true;
}

/* Whether no more than `most` of these texts, which are in order, begin with each other. */
static bool nested(const std::vector<std::string_view> &t, size_t most)
{
    std::vector<std::string_view> open;
    for (std::string_view s : t) {
        while (!open.empty() && s.substr(0, open.back().size()) != open.back())
            open.pop_back();
        open.push_back(s);
        if (open.size() > most)
            return false;
    }
    return true;
}

/* What untrusted pieces do to the tables in which SentencePiece 0.1 looks them up while it encodes:
 * a limit on the time of loading (base/sandbox.h) does not bound that. Refused are pieces that
 * collide far more often than by chance, for the hash function has no key and every lookup in a
 * full bucket visits all of it; and more user-defined symbols that begin with each other than the
 * library has room for. */
static int check_tables(const void *bytes, size_t n, struct tf_err *err)
{
    table normal, other; /* as in the library, which looks texts up in them while it encodes */
    std::vector<std::string_view> user;
    const struct tf_span model = {(const uint8_t *)bytes, n};
    struct tf_span m = model, more = model;
    struct tf_proto_piece p;
    while (tf_proto_piece(&m, &p) || tf_proto_unlisted(&more, &p)) {
        std::string_view s(p.text.p, p.text.n);
        bool is_user = p.type == TF_PIECE_USER_DEFINED;
        if (is_user)
            user.push_back(s);
        (is_user || p.type == TF_PIECE_NORMAL || p.type == TF_PIECE_UNUSED ? normal : other)
            .insert(s);
    }
    if (!spread(normal) || !spread(other))
        return tf_fail(err, "SentencePiece model with pieces that collide in a hash table");
    std::sort(user.begin(), user.end());
    if (!nested(user, MOST_USER))
        return tf_fail(err,
                       "SentencePiece model with more than %zu user-defined symbols that begin "
                       "with each other",
                       MOST_USER);
    return 0;
}

/* What the library does not provide: which pieces are user-defined symbols, the length of the text
 * that each becomes, and whether there are byte pieces. */
static void read_pieces(struct tf_sp *s, const void *bytes, size_t n)
{
    const struct tf_span all = {(const uint8_t *)bytes, n};
    const struct tf_sp_settings is = tf_sp_settings_of(bytes, n);
    const size_t unknown = std::max(strlen(" \u2047 "), is.unk_surface),
                 growth = is.denormalizes ? TF_MAX_GROWTH : 1;
    struct tf_proto_piece piece;
    size_t id = 0;
    s->p.join_unknown = !is.byte_fallback;
    s->renumbered = is.renumbered || s->all > s->size;
    s->sampling = is.model_type == TF_TYPE_UNIGRAM ? TF_SP_UNIGRAM
                  : is.model_type == TF_TYPE_BPE   ? TF_SP_BPE
                                                    : TF_SP_NO_SAMPLING;
    for (struct tf_span m = all, more = all;
         id < (size_t)s->all && (tf_proto_piece(&m, &piece) || tf_proto_unlisted(&more, &piece));
         id++) {
        size_t text =
            piece.type == TF_PIECE_UNKNOWN ? std::max(piece.text.n, unknown) : piece.text.n;
        s->user[id] = piece.type == TF_PIECE_USER_DEFINED;
        if (s->renumbered && piece.type == TF_PIECE_UNUSED && (int64_t)id < s->size)
            s->unused[s->p.IdToPiece((int)id)] = (uint32_t)id;
        s->text_bytes[id] = (uint32_t)(text * growth);
    }
    struct tf_proto_added token;
    for (struct tf_span m = all; tf_proto_added(&m, &token);) {
        std::string_view own(token.text.p, token.text.n);
        if (token.id < s->size && s->p.IsUnused((int)token.id)) {
            std::string_view piece = s->p.IdToPiece((int)token.id);
            if (piece.size() > own.size())
                piece.remove_prefix(piece.size() - own.size());
            if (token.flags & TF_ADDED_WORD) /* text that touches a word stays text */
                s->unused.erase(piece);
            else if (piece == own)
                s->unused[piece] = (uint32_t)token.id;
        }
    }
}

/* The model without its self-test: lines that the library encodes, and prints as they are if the
 * result is not the expected one; without what it does not know; and with the pieces that have no
 * id after all others. */
static std::string without_extras(const void *bytes, size_t n)
{
    std::string out;
    struct tf_buf unlisted = {};
    struct tf_span m = {(const uint8_t *)bytes, n};
    struct tf_proto_field f;
    while (tf_proto_field(&m, &f))
        if (f.number == TF_PROTO_UNLISTED && f.body.p != nullptr)
            tf_proto_put_bytes(&unlisted, TF_PROTO_PIECE, f.body.p, f.body.n);
        else if (f.number != TF_PROTO_SELF_TEST && f.number < TF_PROTO_CODES)
            out.append((const char *)f.all.p, f.all.n);
    if (unlisted.len > 0)
        out.append(unlisted.p, unlisted.len);
    tf_buf_release(&unlisted);
    return out;
}

/* How many pieces have an id, and what stands for the others. */
static int read_unlisted(struct tf_sp *s, const void *bytes, size_t n, struct tf_err *err)
{
    struct tf_proto_piece piece;
    s->all = s->p.GetPieceSize();
    for (struct tf_span m = {(const uint8_t *)bytes, n}; tf_proto_unlisted(&m, &piece);)
        s->listed.push_back((uint32_t)(piece.stands_for >= 0 ? piece.stands_for : s->unk));
    s->size = s->all - (int64_t)s->listed.size();
    for (uint32_t id : s->listed)
        if (s->size > 0 && id >= s->size)
            return tf_fail(err, "SentencePiece model with a piece that stands for no other");
    return 0;
}

/* Append the ids of one segmentation of the library, with the texts of its pieces. */
template <class T> static void add_pieces(const struct tf_sp *s, const T &t, struct tf_ids *ids)
{
    const size_t start = ids->n;
    std::string text;
    for (size_t i = 0; i < t.pieces_size(); i++) {
        auto piece = t.pieces((int)i);
        const uint32_t id = piece.id();
        if (s->renumbered)
            text += piece.piece();
        tf_ids_add(ids, &id, 1);
    }
    tf_sp_finish(s, text.data(), text.size(), ids, start);
}

/* The text for the library, which does not know the rules for white space: in `room` if there are
 * some. */
static std::string_view white(const struct tf_sp *s, const char *text, size_t n, std::string *room)
{
    struct tf_buf buf = {};
    if (!s->normal.splits && !s->normal.begins)
        return std::string_view(text, n);
    tf_normal_white(&s->normal, text, n, &buf);
    room->assign(buf.len > 0 ? buf.p : "", buf.len);
    tf_buf_release(&buf);
    return *room;
}

static int segment(const struct tf_sp *s, const char *text, size_t n,
                   sp::ImmutableSentencePieceText *t, struct tf_err *err)
{
    tf_processor::encoding scope;
    std::string room;
    const sp::util::Status status = s->p.Encode(white(s, text, n, &room), t->mutable_proto());
    return status.ok() ? 0 : fail(err, "encode", status);
}

static int load(struct tf_sp **out, const void *bytes, size_t n, bool segments, struct tf_err *err)
{
    *out = nullptr;
    return guarded(err, "vocabulary", [&]() -> int {
        if (n == 0)
            return tf_fail(err, "not a SentencePiece model: empty");
        if (check_tables(bytes, n, err) != 0)
            return -1;
        std::unique_ptr<tf_sp> s(new tf_sp());
        std::string model = without_extras(bytes, n);
        if (!segments) /* trainer_spec {model_type: CHAR}, which has no trie */
            model += "\x12\x02\x18\x04";
        if (!s->p.LoadFromSerializedProto(model).ok())
            return tf_fail(err, "not a SentencePiece model, or a damaged one");
        s->pad = s->p.pad_id();
        s->unk = s->p.unk_id();
        s->bos = s->p.bos_id();
        s->eos = s->p.eos_id();
        if (read_unlisted(s.get(), bytes, n, err) != 0)
            return -1;
        if (s->size < 1)
            return tf_fail(err, "SentencePiece model without pieces");
        s->user.reset(new bool[(size_t)s->all]());
        s->text_bytes.reset(new uint32_t[(size_t)s->all]());
        read_pieces(s.get(), bytes, n);
        tf_normal_read(&s->normal, bytes, n, &s->none);
        *out = s.release();
        return 0;
    });
}

extern "C" {

int tf_sp_load(struct tf_sp **out, const void *bytes, size_t n, struct tf_err *err)
{
    return load(out, bytes, n, true, err);
}

int tf_sp_load_pieces(struct tf_sp **out, const void *bytes, size_t n, struct tf_err *err)
{
    return load(out, bytes, n, false, err);
}

void tf_sp_free(struct tf_sp *s)
{
    delete s;
}

int64_t tf_sp_size(const struct tf_sp *s)
{
    return s->size;
}

int64_t tf_sp_all(const struct tf_sp *s)
{
    return s->all;
}

bool tf_sp_renumbered(const struct tf_sp *s)
{
    return s->renumbered;
}

/* The id of a run of unknown characters. */
static uint32_t id_of_run(const struct tf_sp *s, const char *p, size_t n)
{
    auto found = s->unused.find(std::string_view(p, n));
    return found != s->unused.end() ? found->second : (uint32_t)s->unk;
}

void tf_sp_finish(const struct tf_sp *s, const char *text, size_t n, struct tf_ids *ids,
                  size_t start)
{
    size_t to = start, at = 0, run = 0; /* run: bytes of unknown characters before `at` */
    if (!s->renumbered) {
        auto joined = [s](uint32_t a, uint32_t b) { return a == b && a == s->unk; };
        if (s->p.join_unknown && ids->n > start)
            ids->n = (size_t)(std::unique(ids->v + start, ids->v + ids->n, joined) - ids->v);
        return;
    }
    for (size_t i = start; i < ids->n; i++) {
        const uint32_t id = ids->v[i];
        const bool unknown = s->p.join_unknown && (id == s->unk || s->p.IsUnused((int)id));
        const size_t len = std::min(n - at, id == s->unk ? char_at(text + at, n - at)
                                                         : s->p.IdToPiece((int)id).size());
        if (!unknown && run > 0)
            ids->v[to++] = id_of_run(s, text + at - run, run);
        if (!unknown)
            ids->v[to++] = id < s->size ? id : s->listed[(size_t)(id - s->size)];
        at += len;
        run = unknown ? run + len : 0;
    }
    if (run > 0)
        ids->v[to++] = id_of_run(s, text + at - run, run);
    ids->n = to;
}

int64_t tf_sp_pad(const struct tf_sp *s)
{
    return s->pad;
}

int64_t tf_sp_unk(const struct tf_sp *s)
{
    return s->unk;
}

int64_t tf_sp_bos(const struct tf_sp *s)
{
    return s->bos;
}

int64_t tf_sp_eos(const struct tf_sp *s)
{
    return s->eos;
}

enum tf_sp_sampling tf_sp_sampling(const struct tf_sp *s)
{
    return s->sampling;
}

bool tf_sp_joins_unknown(const struct tf_sp *s)
{
    return s->p.join_unknown;
}

const char *tf_sp_piece(const struct tf_sp *s, uint32_t id, size_t *n)
{
    TF_ASSERT(id < s->all);
    const std::string &piece = s->p.IdToPiece((int)id);
    *n = piece.size();
    return piece.data();
}

float tf_sp_score(const struct tf_sp *s, uint32_t id)
{
    TF_ASSERT(id < s->all);
    return s->p.GetScore((int)id);
}

enum tf_sp_kind tf_sp_kind(const struct tf_sp *s, uint32_t id)
{
    TF_ASSERT(id < s->all);
    int i = (int)id;
    return s->p.IsUnknown(i)   ? TF_SP_UNKNOWN
           : s->p.IsControl(i) ? TF_SP_CONTROL
           : s->p.IsUnused(i)  ? TF_SP_UNUSED
           : s->p.IsByte(i)    ? TF_SP_BYTE
           : s->user[id]       ? TF_SP_USER
                               : TF_SP_NORMAL;
}

int tf_sp_encode(const struct tf_sp *s, const char *text, size_t n, struct tf_ids *ids,
                 struct tf_err *err)
{
    return guarded(err, "encode", [&]() -> int {
        sp::ImmutableSentencePieceText t;
        if (!s->renumbered) { /* ids alone take less time */
            tf_processor::encoding scope;
            std::vector<int> v;
            std::string room;
            const sp::util::Status status = s->p.Encode(white(s, text, n, &room), &v);
            const size_t start = ids->n;
            tf_ids_add(ids, (const uint32_t *)v.data(), v.size());
            tf_sp_finish(s, text, n, ids, start);
            return status.ok() ? 0 : fail(err, "encode", status);
        }
        if (segment(s, text, n, &t, err) != 0)
            return -1;
        add_pieces(s, t, ids);
        return 0;
    });
}

int tf_sp_pieces(const struct tf_sp *s, const char *text, size_t n, struct tf_buf *out,
                 struct tf_err *err)
{
    return guarded(err, "encode", [&]() -> int {
        sp::ImmutableSentencePieceText t;
        if (segment(s, text, n, &t, err) != 0)
            return -1;
        int64_t last = -1;
        for (size_t i = 0; i < t.pieces_size(); i++) {
            auto piece = t.pieces((int)i);
            const std::string &p = piece.piece();
            if (i > 0 && !(s->p.join_unknown && last == s->unk && piece.id() == s->unk))
                tf_buf_byte(out, ' ');
            tf_buf_add(out, p.data(), p.size());
            last = piece.id();
        }
        return 0;
    });
}

int tf_sp_nbest(const struct tf_sp *s, const char *text, size_t n, int size, struct tf_ids *ids,
                size_t *end, float *score, struct tf_err *err)
{
    return guarded(err, "n-best", [&]() -> int {
        tf_processor::encoding scope;
        sp::ImmutableNBestSentencePieceText t;
        std::string room;
        sp::util::Status status =
            s->p.NBestEncode(white(s, text, n, &room), size, t.mutable_proto());
        if (!status.ok())
            return fail(err, "n-best", status);
        int count = (int)t.nbests_size() < size ? (int)t.nbests_size() : size;
        size_t start = ids->n;
        for (int i = 0; i < count; i++) {
            auto h = t.nbests(i);
            add_pieces(s, h, ids);
            end[i] = ids->n - start;
            score[i] = h.score();
        }
        return count;
    });
}

size_t tf_sp_text_bytes(const struct tf_sp *s, const uint32_t *ids, size_t n)
{
    size_t sum = 0;
    for (size_t i = 0; i < n; i++)
        if (ids[i] < (uint64_t)s->size)
            sum += s->text_bytes[ids[i]];
    return sum;
}

int tf_sp_decode(const struct tf_sp *s, const uint32_t *ids, size_t n, struct tf_buf *out,
                 struct tf_err *err)
{
    return guarded(err, "decode", [&]() -> int {
        static thread_local std::vector<int> v;
        static thread_local std::string text;
        size_t text_bytes = tf_sp_text_bytes(s, ids, n);
        if (text_bytes > TF_MAX_TEXT)
            return tf_fail(err, "text of %zu bytes, at most %zu", text_bytes, TF_MAX_TEXT);
        v.resize(n);
        for (size_t i = 0; i < n; i++) {
            if (ids[i] >= (uint64_t)s->size)
                return tf_fail(err, "id %lu: the vocabulary has %ld", (unsigned long)ids[i],
                               (long)s->size);
            v[i] = (int)ids[i];
        }
        sp::util::Status status = s->p.Decode(v, &text);
        if (!status.ok())
            return fail(err, "decode", status);
        tf_buf_add(out, text.data(), text.size());
        if (text.capacity() > (size_t)1 << 20)
            std::string().swap(text);
        if (v.capacity() > (size_t)1 << 16)
            std::vector<int>().swap(v);
        return 0;
    });
}

} /* extern "C" */
