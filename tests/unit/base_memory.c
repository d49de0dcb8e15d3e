/* Allocation, arena and buffer. */
#include "../harness/child.h"
#include "../harness/tap.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/memory.h"

#include <errno.h>
#include <pthread.h>

static void test_alloc(void)
{
    struct tf_err err = {0};
    void *p = tf_try_alloc(100, &err);
    ok(p != NULL && (uintptr_t)p % 64 == 0, "tf_try_alloc aligns to 64");
    free(p);
    ok(tf_try_alloc(SIZE_MAX - 10, &err) == NULL && err.status == TF_FAILED && err.sys == ENOMEM,
       "tf_try_alloc reports an impossible size");
    char *s = tf_xstrndup("abc", 2);
    is_str(s, "ab", "tf_xstrndup");
    free(s);
    s = tf_xstrndup("a", 100);
    is_str(s, "a", "tf_xstrndup stops at the end");
    free(s);
}

/* Threads that run out of memory at once: one line, one exit. */
static void *starve(void *barrier)
{
    pthread_barrier_wait(barrier);
    return tf_xarray(NULL, SIZE_MAX, 2);
}

static void starve_four(void *unused)
{
    pthread_t t[4];
    pthread_barrier_t barrier;
    (void)unused;
    pthread_barrier_init(&barrier, NULL, 4);
    for (int i = 0; i < 4; i++)
        pthread_create(&t[i], NULL, starve, &barrier);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
}

static void test_starving_threads(void)
{
    int bad = 0;
    for (int round = 0; round < 50; round++) {
        static struct child c;
        run_child(&c, starve_four, NULL, NULL);
        const char *line = strstr(c.err, ": no memory for 3.69e+13 MB\n"); /* 2^65 bytes */
        bad += c.status != TF_FAILED || line == NULL || strchr(line, '\n')[1] != 0;
    }
    is_int(bad, 0, "threads that run out of memory at once print one line");
}

static void test_arena(void)
{
    struct tf_arena a = {0};
    bool aligned = true, apart = true;
    unsigned char *last = NULL;
    size_t last_n = 0;
    for (size_t i = 0; i < 2000; i++) {
        size_t n = i * 37 % 900;
        unsigned char *p = tf_arena_alloc(&a, n);
        aligned &= (uintptr_t)p % (n >= 64 ? 64 : 8) == 0;
        if (n > 0)
            memset(p, (int)i, n);
        apart &= last_n == 0 ||
                 (last[0] == (unsigned char)(i - 1) && last[last_n - 1] == (unsigned char)(i - 1));
        last = p;
        last_n = n;
    }
    ok(aligned, "alignment 64 from 64 bytes on, else 8");
    ok(apart, "allocations do not overlap");
    tf_arena_clear(&a);
    unsigned char *p = tf_arena_alloc(&a, 100);
    tf_arena_clear(&a);
    ok(p == tf_arena_alloc(&a, 100), "memory is reused");
    unsigned char *z = tf_arena_zalloc(&a, 5000);
    size_t sum = 0;
    for (size_t i = 0; i < 5000; i++)
        sum += z[i];
    is_int(sum, 0, "zalloc clears");
    is_str(tf_arena_strndup(&a, "hello", 3), "hel", "strndup terminates");
    memset(tf_arena_alloc(&a, 100 << 20), 1, 100 << 20);
    ok(tf_arena_alloc(&a, 0) != NULL, "size 0 is not NULL");
    tf_arena_release(&a);
    ok(a.head == NULL, "release");
    tf_arena_clear(&a);
    tf_arena_release(&a);
}

static void test_buf(void)
{
    struct tf_buf b = {0};
    tf_buf_clear(&b);
    tf_buf_add(&b, NULL, 0);
    ok(b.len == 0 && b.p != NULL && b.p[0] == 0, "adding nothing adds the NUL");
    tf_buf_str(&b, "ab");
    tf_buf_byte(&b, 0);
    tf_buf_printf(&b, "%d-%s", 12, "x");
    is_int(b.len, 7, "length");
    is_mem(b.p, "ab\00012-x", 8, "contents and terminator");
    for (int i = 0; i < 100000; i++)
        tf_buf_printf(&b, "%05d", i);
    is_int(b.len, 500007, "grows");
    is_str(b.p + 500002, "99999", "the last bytes");
    char *p = tf_buf_grow(&b, 1000);
    memset(p, 'z', 1000);
    b.len += 1000;
    is_int(b.p[b.len - 1], 'z', "grow gives room");
    size_t cap = b.cap;
    tf_buf_clear(&b);
    ok(b.len == 0 && b.cap == cap && b.p[0] == 0, "clear keeps memory");
    tf_buf_printf(&b, "%s", "");
    is_int(b.len, 0, "empty printf");
    bool same = true;
    for (uint64_t power = 1, i = 0; i < 20; i++, power *= 10) {
        for (uint64_t x = power - 1; x - power + 1 < 3; x++) {
            struct tf_buf one = {0};
            tf_buf_uint(&one, x);
            tf_buf_clear(&b);
            tf_buf_printf(&b, "%llu", (unsigned long long)x);
            same = same && one.len == b.len && strcmp(one.p, b.p) == 0;
            tf_buf_release(&one);
        }
    }
    ok(same, "decimals next to every power of ten");
    tf_buf_clear(&b);
    tf_buf_uint(&b, UINT64_MAX);
    is_str(b.p, "18446744073709551615", "the largest");
    static const size_t counts[] = {0, 1, 2, 63, 64, 65, 127, 128, 129, 200};
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
        const size_t n = counts[k];
        uint32_t ids[200];
        struct tf_buf want = {0}, got = {0};
        for (size_t i = 0; i < n; i++) {
            ids[i] = (uint32_t)(UINT32_MAX >> i % 32);
            tf_buf_printf(&want, "%s%u", i ? "," : "", ids[i]);
        }
        tf_buf_ids(&got, ids, n);
        ok(got.len == want.len && (n == 0 || strcmp(got.p, want.p) == 0), "%zu ids", n);
        tf_buf_release(&want);
        tf_buf_release(&got);
    }
    tf_buf_clear(&b);
    tf_buf_str(&b, "abc");
    tf_buf_printf(&b, "xy%ls", (const wchar_t[]){0xd800, 0}); /* no character: EILSEQ */
    is_str(b.p, "abc", "a format that fails adds nothing");
    tf_buf_release(&b);
    ok(b.p == NULL && b.cap == 0, "release");
    same = true;
    for (int n = 0; n < 200; n++) { /* less, as much, and more than there is room for */
        struct tf_buf one = {0};
        tf_buf_printf(&one, "%s%0*d", "x", n, 7);
        same = same && one.len == 1 + (size_t)(n > 0 ? n : 1) && strlen(one.p) == one.len;
        tf_buf_printf(&one, "%s%0*d", "y", 199 - n, 7);
        same = same && strlen(one.p) == one.len && one.len >= 201;
        tf_buf_release(&one);
    }
    ok(same, "formats of every length");
}

int main(void)
{
    test_alloc();
    test_starving_threads();
    test_arena();
    test_buf();
    return done();
}
