/* A list of files: what its lines may be, its default groups and its permutations. The rest is
 * tested through tf-batch. */
#include "../harness/tap.h"
#include "base/memory.h"
#include "data/list.h"
#include "stream/tail.h"

#include <string.h>

static struct tf_err err;

static int parse(struct tf_list *l, const char *text)
{
    err = (struct tf_err){0};
    return tf_list_parse(l, "list", tf_xstrdup(text), strlen(text), &err);
}

static void test_parse(void)
{
    struct tf_list l;
    must(parse(&l, "a b\tc\nd\te"), &err);
    is_int((long long)l.n, 2, "two lines, the last without LF");
    is_int(l.streams, 2, "two columns");
    is_str(l.lines[0].path[0], "a b", "a name with a space");
    is_str(l.lines[1].path[1], "e", "the last name");
    tf_list_release(&l);
    must(parse(&l, "./-\nx\ry\r\n"), &err);
    is_str(l.lines[1].path[0], "x\ry",
           "a name with a CR; one at the end of the line is none of it");
    tf_list_release(&l);
    must(parse(&l, "\xEF\xBB\xBFx\n"), &err);
    is_str(l.lines[0].path[0], "x", "a byte-order mark is no part of the first name");
    tf_list_release(&l);
    static const char *const wrong[][2] = {
        {"", "list: no files"},
        {"\n", "list: line 1: no file name"},
        {"a\n\n", "list: line 2: no file name"},
        {"\tb\n", "list: line 1: no file name before the tab"},
        {"a\t\n", "list: line 1: no file name after the tab"},
        {"a\tb\tc\n", "list: line 1: weight 'c': not a number"},
        {"a\tb\t1\t\n", "list: line 1: more than three columns"},
        {"a\tb\t1e9\n", "list: line 1: weight 1e9: too large, maximum 1000"},
        {"a\tb\nc\n", "list: line 2: 1 file, those before have 2"},
        {"a\n-\n", "list: line 2: stdin cannot be read once for each epoch"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        is_int(parse(&l, wrong[i][0]), -1, "refused");
        is_str(err.msg, wrong[i][1], "the message");
        tf_list_release(&l);
    }
}

/* A permutation for each epoch and seed, whose groups are in the order of the list. */
static void test_permute(void)
{
    enum { N = 11, K = 4 };
    uint32_t order[N], first[N];
    struct tf_list l = {.n = N, .group = K, .n_groups = 3, .order = order};
    for (uint64_t epoch = 0; epoch < 3; epoch++)
        for (uint64_t seed = 1; seed < 3; seed++) {
            uint32_t seen = 0;
            bool rising = true;
            tf_list_permute(&l, seed, epoch);
            for (int i = 0; i < N; i++) {
                seen |= (uint32_t)1 << order[i];
                rising = rising && (i % K == 0 || order[i] > order[i - 1]);
            }
            is_int(seen, (1 << N) - 1, "each file once");
            ok(rising, "groups in the order of the list");
            if (epoch == 0 && seed == 1)
                memcpy(first, order, sizeof order);
            else
                ok(memcmp(first, order, sizeof order) != 0, "another order");
        }
    tf_list_permute(&l, 1, 0);
    is_mem(order, first, sizeof order, "the same again");
}

static void test_tail(void)
{
    static const struct {
        const char *bytes;
        size_t n;
        int count; /* -1: no end record */
        bool has_crc;
        uint32_t crc;
    } all[] = {
        {"\x83\x0f\x00\xf6", 4, 0, false, 0},
        {"\xaa\xbb\x83\x0f\x07\x1a\x01\x02\x03\x04", 10, 7, true, 0x01020304},
        {"\x83\x0f\x19\x01\x00\x05", 6, 256, true, 5},
        /* The CRC looks like an end record. */
        {"\x83\x0f\x07\x1a\x83\x0f\x01\xf6", 8, 7, true, 0x830f01f6},
        /* With data before it, the record looks like one of a count of 8 bytes. */
        {"\x83\x0f\x1b\x00\x83\x0f\x1a\x00\x01\x00\x00\x1a\x01\x02\x03\x04", 16, 65536, true,
         0x01020304},
        {"\x83\x0f\x07\x1a\x01\x02\x03", 7, -1, false, 0},
        {"\x83\x0f\x07\x1a\x01\x02\x03\x04\x00", 9, -1, false, 0},
        {"\x83\x0d\x07\x1a\x01\x02\x03\x04", 8, -1, false, 0},
        {"", 0, -1, false, 0},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        uint64_t count = 0;
        bool has_crc = false;
        uint32_t crc = 0;
        bool found =
            tf_tail_end((const uint8_t *)all[i].bytes, all[i].n, 1 << 20, &count, &has_crc, &crc);
        is_int(found ? (int64_t)count : -1, all[i].count, "tail %zu", i);
        if (found)
            ok(has_crc == all[i].has_crc && crc == all[i].crc, "its CRC");
    }
}

int main(void)
{
    test_parse();
    test_permute();
    test_tail();
    return done();
}
