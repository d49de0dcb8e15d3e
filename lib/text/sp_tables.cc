/* sp_tables.cc - see sp_tables.h. C++ for std::hash, and the sizes of tables, of the C++ library
 * that SentencePiece uses.
 *
 * The tables: two std::unordered_map with all pieces, one of text, one of other pieces. For unigram
 * models a trie of darts-clone, which keeps its states in a hash table while it builds them. For
 * user-defined symbols another trie, built without one. */
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string_view>
#include <unordered_set>
#include <vector>

#define _Noreturn [[noreturn]]
extern "C" {
#include "text/sp_proto.h"
#include "text/sp_tables.h"
}

namespace
{

/* kResultSize: with more, the library reads outside of an array on its stack. */
constexpr size_t MOST_USER = 64;

using texts = std::vector<std::string_view>;

/* Whether the texts spread over the buckets of a std::unordered_map, while it grows. Chance puts no
 * more than about 10 of n texts into one of n buckets, and no more than about 2 n / p + 20 into one
 * of p. */
bool spread(const texts &t)
{
    std::vector<size_t> hashes;
    for (std::string_view s : t)
        hashes.push_back(std::hash<std::string_view>()(s));
    std::unordered_set<int> sizes; /* stays empty: it knows the numbers of buckets */
    std::vector<uint32_t> counts;
    for (size_t buckets = 0; buckets < t.size();) {
        sizes.rehash(buckets == 0 ? 13 : 2 * buckets);
        buckets = sizes.bucket_count();
        const size_t most = 64 + 8 * t.size() / buckets;
        counts.assign(buckets, 0);
        for (size_t h : hashes)
            if (++counts[h % buckets] > most)
                return false;
    }
    return true;
}

/* The hash table of the states of a trie as darts-clone builds it, without the trie. A state is the
 * children of a node. It has an entry when all of them are complete, and the children get numbers
 * in that order. Since each piece has an id of its own, no two states are equal. */
class states
{
  public:
    /* Add the text of a piece, without NUL. They come in order, and differ. */
    void add(std::string_view s, uint32_t id)
    {
        size_t same = std::mismatch(s.begin(), s.end(), last.begin(), last.end()).first - s.begin();
        if (!open.empty()) {
            complete(same + 1);
            open[same].take(true);
        }
        for (size_t i = same; i <= s.size(); i++) {
            if (i == open.size())
                open.emplace_back();
            open[i].label = i < s.size() ? (unsigned char)s[i] : 0;
            open[i].child = i < s.size() ? 0 : id;
            open[i].children++;
        }
        last = s;
    }
    /* Whether the states spread over the table, of each size that it has. */
    bool spread()
    {
        complete(0);
        size_t size = 1 << 10;
        for (; hashes.size() + 1 >= size - size / 4; size *= 2)
            if (!spread(size - size / 4 - 1, size))
                return false;
        return spread(hashes.size(), size);
    }

  private:
    struct state {
        uint32_t hash = 0, child = 0, children = 0; /* child: number of the last child's state, or
                                                       the id of the piece that ends here */
        unsigned char label = 0;                    /* of the last child; 0: a piece ends here */

        static uint32_t mix(uint32_t x)
        {
            x = ~x + (x << 15);
            x ^= x >> 12;
            x += x << 2;
            x ^= x >> 4;
            x *= 2057;
            return x ^ x >> 16;
        }
        /* Add the last child to the hash. more: it has a sibling. */
        void take(bool more)
        {
            uint32_t unit = label == 0 ? child << 1 : child << 2 | (children == 1 ? 2 : 0);
            hash ^= mix((uint32_t)label << 24 ^ (unit | more));
        }
    };

    /* Complete the states below a depth, from the deepest on. */
    void complete(size_t depth)
    {
        for (; open.size() > depth; open.pop_back()) {
            state &s = open.back();
            s.take(false);
            hashes.push_back(s.hash);
            if (open.size() > 1)
                open[open.size() - 2].child = next;
            next += s.children;
        }
    }

    /* With linear probing an entry goes to the next free slot, and the sum of the steps does not
     * depend on the order. Chance makes 1.5 for each of n entries if three quarters are taken. */
    bool spread(size_t n, size_t size)
    {
        counts.assign(size, 0);
        for (size_t i = 0; i < n; i++)
            counts[hashes[i] & (size - 1)]++;
        uint64_t waiting = 0, steps = 0;
        for (size_t i = 0; i < 2 * size; i++) { /* twice: the first slot follows the last */
            if (i == size)
                steps = 0;
            waiting += counts[i & (size - 1)];
            waiting -= waiting > 0;
            steps += waiting;
        }
        return steps <= 32 * n;
    }

    std::vector<state> open; /* of the last text, by depth */
    std::string_view last;
    std::vector<uint32_t> hashes, counts;
    uint32_t next = 1; /* number of the next state */
};

/* Whether no more than `most` of these texts, which are in order, begin with each other. */
bool nested(const texts &t, size_t most)
{
    texts open;
    for (std::string_view s : t) {
        while (!open.empty() && s.substr(0, open.back().size()) != open.back())
            open.pop_back();
        open.push_back(s);
        if (open.size() > most)
            return false;
    }
    return true;
}

} /* namespace */

extern "C" int tf_sp_check_tables(const void *bytes, size_t n, struct tf_err *err)
{
    std::vector<std::pair<std::string_view, uint32_t>> pieces; /* of text, for the trie */
    texts normal, other, user;
    struct tf_span m = {(const uint8_t *)bytes, n};
    struct tf_proto_piece p;
    for (uint32_t id = 0; tf_proto_piece(&m, &p); id++) {
        std::string_view s((const char *)p.text.p, p.text.n);
        bool is_normal = p.type == TF_PIECE_NORMAL || p.type == TF_PIECE_USER_DEFINED ||
                         p.type == TF_PIECE_UNUSED;
        (is_normal ? normal : other).push_back(s);
        if (is_normal)
            pieces.emplace_back(s, id);
        if (p.type == TF_PIECE_USER_DEFINED)
            user.push_back(s);
    }
    if (!spread(normal) || !spread(other))
        return tf_fail(err, "SentencePiece model with pieces that collide in a hash table");
    std::sort(user.begin(), user.end());
    if (!nested(user, MOST_USER))
        return tf_fail(err,
                       "SentencePiece model with more than %zu user-defined symbols that begin "
                       "with each other",
                       MOST_USER);
    std::sort(pieces.begin(), pieces.end());
    states trie;
    std::string_view last;
    for (const auto &[s, id] : pieces) {
        if (s != last)
            trie.add(s, id);
        last = s;
    }
    if (!trie.spread())
        return tf_fail(err, "SentencePiece model with pieces that collide in a hash table");
    return 0;
}
