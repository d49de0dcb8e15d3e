/* sp_internal.hh - what sp.cc and sp_train.cc share. No exception and no message of SentencePiece's
 * own leaves these files: it names source files and line numbers. */
#ifndef TF_TEXT_SP_INTERNAL_HH
#define TF_TEXT_SP_INTERNAL_HH

#include <sentencepiece_processor.h>

#include <cctype>
#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#define _Noreturn [[noreturn]]
extern "C" {
#include "text/normal_private.h"
#include "text/sp.h"
}

namespace sp = sentencepiece;

/* The library joins the unknown characters of a run one by one, and copies the run each time. While
 * we encode, no piece is unknown to it, and we join them. */
class tf_processor : public sp::SentencePieceProcessor
{
  public:
    bool join_unknown = false; /* set if it should be so: with byte pieces nothing is joined */
    struct encoding {
        encoding()
        {
            active = true;
        }
        ~encoding()
        {
            active = false;
        }
    };
    bool IsUnknown(int id) const override
    {
        return !(active && join_unknown) && SentencePieceProcessor::IsUnknown(id);
    }

  private:
    inline static thread_local bool active = false;
};

struct tf_sp {
    tf_processor p;
    int64_t size, all, pad, unk, bos, eos;
    enum tf_sp_sampling sampling;
    /* by id */
    std::unique_ptr<bool[]> user;           /* a user-defined symbol */
    std::unique_ptr<uint32_t[]> text_bytes; /* most that it becomes */
    std::vector<uint32_t> listed;           /* of the pieces from the size on */
    bool renumbered;
    std::map<std::string_view, uint32_t> unused; /* ids, by text, if it is */
    struct tf_piece_trie none;                   /* of user-defined symbols */
    struct tf_normal normal;
};

/* The library's messages have the form "Internal: path/file.cc(123) [condition] text": keep only
 * the text, or the condition if there is no text. */
inline std::string plain_message(const char *msg)
{
    std::string s = msg;
    size_t open = s.find(") ["), close = s.rfind("] ");
    if (s.find(".cc(") != std::string::npos) {
        if (close != std::string::npos && close + 2 < s.size())
            s = s.substr(close + 2);
        else if (open != std::string::npos && close != std::string::npos && open < close)
            s = "refused, since not (" + s.substr(open + 3, close - open - 3) + ")";
        else
            s = "the SentencePiece library failed";
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

inline int fail(struct tf_err *err, const char *what, const sp::util::Status &status)
{
    return tf_fail(err, "%s: %s", what, plain_message(status.message()).c_str());
}

/* Run f, which returns an int, and turn exceptions into errors. */
template <class F> int guarded(struct tf_err *err, const char *what, F f)
{
    try {
        return f();
    } catch (const std::bad_alloc &) {
        return tf_fail(err, "%s: out of memory", what);
    } catch (const std::system_error &e) {
        tf_fail(err, "%s: %s", what,
                e.code() == std::errc::resource_unavailable_try_again
                    ? "no memory for a thread, or too many threads"
                    : "the SentencePiece library failed");
        err->sys = e.code() == std::errc::resource_unavailable_try_again ? ENOMEM : 0;
        return -1;
    } catch (const std::exception &) {
        return tf_fail(err, "%s: the SentencePiece library failed", what);
    } catch (...) {
        return tf_fail(err, "%s: the SentencePiece library failed", what);
    }
}

#endif
