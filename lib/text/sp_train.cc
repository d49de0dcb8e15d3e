/* sp_train.cc - training of vocabularies, see sp.h. */
#include "text/sp_internal.hh"

#include <sentencepiece_trainer.h>

#include <cstdio>
#include <cstring>
#include <unordered_map>

extern "C" {
#include "base/memory.h"
#include "base/parse.h"
#include "text/normal_private.h"
#include "text/pieces_private.h"
}

/* The symbols as the trainer reads them: a line of CSV. */
static std::string quoted(const char *const *symbols, size_t n)
{
    std::string line;
    for (size_t i = 0; i < n; i++) {
        line += i > 0 ? ",\"" : "\"";
        for (const char *p = symbols[i]; *p != 0; p++)
            line.append(*p == '"' ? 2 : 1, *p);
        line += '"';
    }
    return line;
}

/* A corpus of one sentence, the letter a. */
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

/* The library aborts if normalisation and the removal of its special pieces leave nothing of the
 * text, so we check that first. A vocabulary trained on the letter a with the same rules provides
 * the normalisation; its other pieces are those that the trainer removes from the text. */
class sieve
{
  public:
    ~sieve()
    {
        tf_pieces_release(&pieces_);
        tf_sp_free(vocab_);
    }
    int init(std::unordered_map<std::string, std::string> args, size_t symbols, struct tf_err *err)
    {
        letter a;
        args["model_type"] = "char";
        args["vocab_size"] = std::to_string(symbols + 1000);
        args["minloglevel"] = "4";
        sp::util::Status status = sp::SentencePieceTrainer::Train(args, &a, &model_);
        if (!status.ok())
            return fail(err, "training", status);
        if (tf_sp_load(&vocab_, model_.data(), model_.size(), err) != 0)
            return -1;
        if (!tf_pieces_load(&pieces_, vocab_, false))
            return tf_fail(err, "the symbols take too much memory");
        tf_normal_read(&normal_, model_.data(), model_.size(), &pieces_.user);
        return 0;
    }
    /* Is something left of the sentence? */
    bool keeps(const std::string &sentence) const
    {
        /* The trainer skips sentences with its mark for unknown text. */
        if (sentence.find("\u2585") != std::string::npos)
            return false;
        struct tf_buf buf = {};
        tf_normalise(&normal_, sentence.data(), sentence.size(), &buf);
        std::string text(buf.p != nullptr ? buf.p : "", buf.len);
        tf_buf_release(&buf);
        for (uint32_t id = 0; id < vocab_->size; id++)
            if (tf_sp_kind(vocab_, id) != TF_SP_NORMAL)
                replace(text, vocab_->p.IdToPiece((int)id), "\t");
        replace(text, "\u2581", "\t");
        return text.find_first_not_of('\t') != std::string::npos;
    }

  private:
    static void replace(std::string &text, const std::string &from, const char *to)
    {
        for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at++)
            text.replace(at, from.size(), to);
    }
    std::string model_;
    struct tf_sp *vocab_ = nullptr;
    struct tf_pieces pieces_ = {};
    struct tf_normal normal_ = {};
};

/* Sentences for the trainer, read from the caller one by one; so no path is stored in the model. It
 * is an error if nothing is left of any sentence. */
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
        kept_ = kept_ || (rc_ > 0 && sieve_.keeps(value_));
        if (rc_ == 0 && !kept_)
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
    int rc_ = 0;
    bool kept_ = false;
};

static const char remedy[] = "--max-sentences trains on a sample, which takes less";

/* Explain the most frequent failure in terms of our options. */
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

/* Operator new calls it where there is no memory, in the library's threads, too, which catch
 * nothing. */
[[noreturn]] static void no_memory()
{
    tf_out_of_memory(0, remedy);
}

extern "C" int tf_sp_train(const struct tf_sp_train *t, struct tf_buf *out, struct tf_err *err)
{
    std::new_handler usual = std::set_new_handler(no_memory);
    int rc = guarded(err, "training", [&]() -> int {
        char real[32];
        std::unordered_map<std::string, std::string> args = {
            {"model_type", t->bpe ? "bpe" : "unigram"},
            {"vocab_size", std::to_string(t->size)},
            {"hard_vocab_limit", "false"},
            {"character_coverage", tf_format_real(real, t->coverage)},
            {"split_digits", t->split_digits ? "true" : "false"},
            {"split_by_unicode_script", t->mixed_scripts ? "false" : "true"},
            {"byte_fallback", t->byte_fallback ? "true" : "false"},
            {"remove_extra_whitespaces", t->keep_spaces ? "false" : "true"},
            {"normalization_rule_name", t->normalization},
            {"max_sentence_length", std::to_string(t->max_bytes)},
            {"num_threads", "16"}, /* fixed, since the order of sums, and so the result, depends on
                                      it */
            {"pad_id", "0"},
            {"unk_id", "1"},
            {"bos_id", "2"},
            {"eos_id", "3"},
            {"minloglevel", t->verbose ? "0" : "4"},
        };
        if (t->n_symbols > 0)
            args["user_defined_symbols"] = quoted(t->symbols, t->n_symbols);
        sieve s;
        if (s.init(args, t->n_symbols, err) != 0)
            return -1;
        /* Unused with these settings; if that changes, results stay repeatable. */
        sp::SetRandomGeneratorSeed(1);
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
    std::set_new_handler(usual);
    if (rc != 0)
        tf_memory_remedy(err, remedy);
    return rc;
}
