/* sp.cc - see sp.h. Every entry catches everything; statuses of the library are turned into
 * messages of ours, since its own name source files and line numbers. Ids are checked before they
 * reach the library, which ends the process on a wrong one. */
#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>

#include <cctype>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <unordered_map>
#include <vector>

#define _Noreturn [[noreturn]]
extern "C" {
#include "base/parse.h"
#include "text/sp.h"
#include "text/sp_check.h"
}

namespace sp = sentencepiece;

struct tf_sp {
    sp::SentencePieceProcessor p;
    int64_t size, pad, unk, bos, eos;
    enum tf_sp_sampling sampling;
    std::unique_ptr<bool[]> user; /* per id: a user-defined symbol */
};

/* The library writes "Internal: path/file.cc(123) [condition] text": keep the text, or the
 * condition where there is none. */
static std::string plain(const char *msg)
{
    std::string s = msg;
    size_t open = s.find(") ["), close = s.rfind("] ");
    if (s.find(".cc(") != std::string::npos) {
        if (close != std::string::npos && close + 2 < s.size())
            s = s.substr(close + 2);
        else if (open != std::string::npos && close != std::string::npos && open < close)
            s = "refused, since not (" + s.substr(open + 3, close - open - 3) + ")";
        else
            s = "the SentencePiece library gave up";
    }
    size_t end = s.find_first_of("\n");
    if (end != std::string::npos)
        s.resize(end);
    while (!s.empty() && (s.back() == '.' || s.back() == ' '))
        s.pop_back();
    if (s.size() > 1 && isupper((unsigned char)s[0]) && !isupper((unsigned char)s[1]))
        s[0] = (char)tolower((unsigned char)s[0]);
    return s;
}

static int fail(struct tf_err *err, const char *what, const sp::util::Status &status)
{
    return tf_fail(err, "%s: %s", what, plain(status.message()).c_str());
}

/* Run f, which returns an int, with no way out for exceptions. */
template <class F> static int guarded(struct tf_err *err, const char *what, F f)
{
    try {
        return f();
    } catch (const std::bad_alloc &) {
        return tf_fail(err, "%s: out of memory", what);
    } catch (const std::exception &) {
        return tf_fail(err, "%s: the SentencePiece library gave up", what);
    } catch (...) {
        return tf_fail(err, "%s: the SentencePiece library gave up", what);
    }
}

extern "C" {

int tf_sp_load(struct tf_sp **out, const void *bytes, size_t n, struct tf_err *err)
{
    *out = nullptr;
    return guarded(err, "vocabulary", [&]() -> int {
        if (n == 0)
            return tf_fail(err, "not a SentencePiece model: empty");
        struct holder {
            tf_sp *v;
            ~holder()
            {
                delete v;
            }
        } s = {new tf_sp()};
        if (!s.v->p.LoadFromSerializedProto(std::string_view((const char *)bytes, n)).ok())
            return tf_fail(err, "not a SentencePiece model, or a damaged one");
        s.v->size = s.v->p.GetPieceSize();
        if (s.v->size < 1)
            return tf_fail(err, "SentencePiece model without pieces");
        s.v->pad = s.v->p.pad_id();
        s.v->unk = s.v->p.unk_id();
        s.v->bos = s.v->p.bos_id();
        s.v->eos = s.v->p.eos_id();
        s.v->user.reset(new bool[(size_t)s.v->size]());
        tf_sp_user_defined(bytes, n, s.v->user.get(), (size_t)s.v->size);
        std::vector<std::vector<int>> nbest;
        std::vector<int> ids;
        s.v->sampling = TF_SP_NO_SAMPLING;
        if (s.v->p.NBestEncode("a", 2, &nbest).ok())
            s.v->sampling = TF_SP_UNIGRAM;
        else if (s.v->p.SampleEncode("a", -1, 0.0f, &ids).ok())
            s.v->sampling = TF_SP_BPE;
        *out = s.v;
        s.v = nullptr;
        return 0;
    });
}

void tf_sp_free(struct tf_sp *s)
{
    delete s;
}

int64_t tf_sp_size(const struct tf_sp *s)
{
    return s->size;
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

const char *tf_sp_piece(const struct tf_sp *s, uint32_t id, size_t *n)
{
    TF_ASSERT(id < s->size);
    const std::string &piece = s->p.IdToPiece((int)id);
    *n = piece.size();
    return piece.data();
}

float tf_sp_score(const struct tf_sp *s, uint32_t id)
{
    TF_ASSERT(id < s->size);
    return s->p.GetScore((int)id);
}

enum tf_sp_kind tf_sp_kind(const struct tf_sp *s, uint32_t id)
{
    TF_ASSERT(id < s->size);
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
        static thread_local std::vector<int> v;
        sp::util::Status status = s->p.Encode(std::string_view(text, n), &v);
        if (!status.ok())
            return fail(err, "encode", status);
        static_assert(sizeof(int) == sizeof(uint32_t), "ids are ints of 32 bits");
        tf_ids_add(ids, (const uint32_t *)v.data(), v.size());
        if (v.capacity() > (size_t)1 << 16)
            std::vector<int>().swap(v);
        return 0;
    });
}

int tf_sp_pieces(const struct tf_sp *s, const char *text, size_t n, struct tf_buf *out,
                 struct tf_err *err)
{
    return guarded(err, "encode", [&]() -> int {
        sp::ImmutableSentencePieceText t;
        sp::util::Status status = s->p.Encode(std::string_view(text, n), t.mutable_proto());
        if (!status.ok())
            return fail(err, "encode", status);
        for (size_t i = 0; i < t.pieces_size(); i++) {
            auto piece = t.pieces((int)i);
            const std::string &p = piece.piece();
            if (i > 0)
                tf_buf_byte(out, ' ');
            tf_buf_add(out, p.data(), p.size());
        }
        return 0;
    });
}

int tf_sp_normalize(const struct tf_sp *s, const char *text, size_t n, struct tf_buf *out,
                    struct tf_err *err)
{
    return guarded(err, "normalize", [&]() -> int {
        sp::ImmutableSentencePieceText t;
        std::string_view view(text, n);
        /* A BPE model that leaves out every merge gives single characters: the same text for less
         * work. */
        sp::util::Status status = s->sampling == TF_SP_BPE
                                      ? s->p.SampleEncode(view, -1, 1.0f, t.mutable_proto())
                                      : s->p.Encode(view, t.mutable_proto());
        if (!status.ok())
            return fail(err, "normalize", status);
        for (size_t i = 0; i < t.pieces_size(); i++) {
            auto piece = t.pieces((int)i);
            const std::string &p = piece.piece();
            if (piece.id() < s->size && s->p.IsByte((int)piece.id()) &&
                p.size() == 6) /* "<0xE4>" */
                tf_buf_byte(out, (unsigned char)strtoul(p.c_str() + 3, nullptr, 16));
            else
                tf_buf_add(out, p.data(), p.size());
        }
        return 0;
    });
}

int tf_sp_nbest(const struct tf_sp *s, const char *text, size_t n, int size, struct tf_ids *ids,
                size_t *end, float *score, struct tf_err *err)
{
    return guarded(err, "n-best", [&]() -> int {
        sp::ImmutableNBestSentencePieceText t;
        sp::util::Status status =
            s->p.NBestEncode(std::string_view(text, n), size, t.mutable_proto());
        if (!status.ok())
            return fail(err, "n-best", status);
        int count = (int)t.nbests_size() < size ? (int)t.nbests_size() : size;
        size_t start = ids->n;
        for (int i = 0; i < count; i++) {
            auto h = t.nbests(i);
            for (size_t k = 0; k < h.pieces_size(); k++) {
                uint32_t id = h.pieces((int)k).id();
                tf_ids_add(ids, &id, 1);
            }
            end[i] = ids->n - start;
            score[i] = h.score();
        }
        return count;
    });
}

int tf_sp_decode(const struct tf_sp *s, const uint32_t *ids, size_t n, struct tf_buf *out,
                 struct tf_err *err)
{
    return guarded(err, "decode", [&]() -> int {
        static thread_local std::vector<int> v;
        static thread_local std::string text;
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
        return 0;
    });
}

} /* extern "C" */

/* One sentence: the letter a. */
class letter : public sp::SentenceIterator
{
  public:
    bool done() const override
    {
        return done_;
    }
    void Next() override
    {
        done_ = true;
    }
    const std::string &value() const override
    {
        return value_;
    }
    sp::util::Status status() const override
    {
        return sp::util::Status();
    }

  private:
    std::string value_ = "a";
    bool done_ = false;
};

/* The library dies of a text of which normalisation and its own pieces leave nothing to cut, so the
 * same is done here before. Normalisation is asked of a vocabulary for the letter a with the rules
 * of the one to be trained; its other pieces are those that the trainer takes out of the text. */
class sieve
{
  public:
    ~sieve()
    {
        tf_sp_free(vocab_);
    }
    int init(std::unordered_map<std::string, std::string> args, struct tf_err *err)
    {
        letter a;
        std::string model;
        args["model_type"] = "char";
        args["vocab_size"] = "1000";
        args["minloglevel"] = "4";
        sp::util::Status status = sp::SentencePieceTrainer::Train(args, &a, &model);
        return status.ok() ? tf_sp_load(&vocab_, model.data(), model.size(), err)
                           : fail(err, "training", status);
    }
    /* 1 when something is left of the sentence, 0 when not, -1 on error. */
    int keeps(const std::string &sentence, struct tf_err *err) const
    {
        if (sentence.find("\u2585") != std::string::npos) /* its mark for the unknown: left out */
            return 0;
        struct tf_buf buf = {};
        int rc = tf_sp_normalize(vocab_, sentence.data(), sentence.size(), &buf, err);
        std::string text(buf.p != nullptr ? buf.p : "", buf.len);
        tf_buf_release(&buf);
        for (uint32_t id = 0; rc == 0 && id < vocab_->size; id++)
            if (tf_sp_kind(vocab_, id) != TF_SP_NORMAL)
                replace(text, vocab_->p.IdToPiece((int)id), "\t");
        replace(text, "\u2581", "\t");
        return rc < 0 ? -1 : text.find_first_not_of('\t') != std::string::npos;
    }

  private:
    static void replace(std::string &text, const std::string &from, const char *to)
    {
        for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at++)
            text.replace(at, from.size(), to);
    }
    struct tf_sp *vocab_ = nullptr;
};

/* Sentences for the trainer, pulled from the caller one by one. Fed this way, no path enters the
 * model. It is an error when nothing is left of any. */
class feed : public sp::SentenceIterator
{
  public:
    feed(const struct tf_sp_train *t, const sieve &s, struct tf_err *err)
        : t_(t), sieve_(s), err_(err)
    {
        Next();
    }
    bool done() const override
    {
        return rc_ <= 0;
    }
    void Next() override
    {
        const char *p = nullptr;
        size_t n = 0;
        rc_ = t_->next(t_->arg, &p, &n, err_);
        if (rc_ > 0)
            value_.assign(p, n);
        if (rc_ > 0 && kept_ == 0)
            kept_ = sieve_.keeps(value_, err_);
        if (kept_ < 0)
            rc_ = -1;
        else if (rc_ == 0 && kept_ == 0)
            rc_ = tf_fail(err_, "no sentence to train on");
    }
    const std::string &value() const override
    {
        return value_;
    }
    sp::util::Status status() const override
    {
        return rc_ < 0 ? sp::util::Status(sp::util::StatusCode::kInternal, "input failed")
                       : sp::util::Status();
    }
    bool failed() const
    {
        return rc_ < 0;
    }

  private:
    const struct tf_sp_train *t_;
    const sieve &sieve_;
    struct tf_err *err_;
    std::string value_;
    int rc_ = 0, kept_ = 0;
};

/* What most often goes wrong, in the words of our options. */
static int fail_training(struct tf_err *err, const sp::util::Status &status)
{
    long size, least;
    const char *p = strstr(status.message(), "required_chars. ");
    if (p != nullptr && sscanf(p, "required_chars. %ld vs %ld", &size, &least) == 2)
        return tf_fail(err,
                       "training: --vocab-size %ld: the characters and special pieces alone are "
                       "%ld; --character-coverage leaves rare ones out",
                       size, least);
    return fail(err, "training", status);
}

extern "C" int tf_sp_train(const struct tf_sp_train *t, struct tf_buf *out, struct tf_err *err)
{
    return guarded(err, "training", [&]() -> int {
        char real[32];
        std::unordered_map<std::string, std::string> args = {
            {"model_type", t->bpe ? "bpe" : "unigram"},
            {"vocab_size", std::to_string(t->size)},
            {"hard_vocab_limit", "false"},
            {"character_coverage", tf_format_real(real, t->coverage)},
            {"split_digits", t->split_digits ? "true" : "false"},
            {"byte_fallback", t->byte_fallback ? "true" : "false"},
            {"remove_extra_whitespaces", t->keep_spaces ? "false" : "true"},
            {"normalization_rule_name", t->normalization},
            {"max_sentence_length", std::to_string(t->max_bytes)},
            {"num_threads", "16"}, /* part of the result: the order of sums follows it; never the
                                      machine's number */
            {"pad_id", "0"},
            {"unk_id", "1"},
            {"bos_id", "2"},
            {"eos_id", "3"},
            {"minloglevel", t->verbose ? "0" : "4"},
        };
        sieve s;
        if (s.init(args, err) != 0)
            return -1;
        sp::SetRandomGeneratorSeed(1); /* nothing of what is asked for here draws from it; were that
                                          to change, not from the system */
        std::string model;
        feed sentences(t, s, err);
        if (sentences.failed())
            return -1;
        sp::util::Status status = sp::SentencePieceTrainer::Train(args, &sentences, &model);
        if (sentences.failed())
            return -1;
        if (!status.ok())
            return fail_training(err, status);
        tf_buf_add(out, model.data(), model.size());
        return 0;
    });
}
