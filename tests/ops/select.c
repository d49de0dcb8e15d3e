/* select.c - some columns of packed weights: on every set of instructions and in every precision
 * their products have the bytes that they have among all columns, and tables whose columns are
 * apart give the embeddings of others. */
#include "../harness/product.h"
#include "../harness/tap.h"
#include "base/memory.h"
#include "base/rng.h"

#include <stdlib.h>
#include <string.h>

static const char *const sets[] = {"generic",    "avx2",       "avxvnni", "avx512",
                                   "avx512vnni", "avx512bf16", "neon",    "neondot"};

static uint32_t drawn(uint64_t seed, uint32_t i)
{
    uint32_t u[4];
    tf_philox(u, (const uint32_t[4]){i, 3}, seed);
    return u[0];
}

/* Packed in two parts, for tables of more than 64 columns. */
static struct tf_packed *packed(const struct tf_backend *be, struct tf_ctx *c,
                                const struct product *p, const void *w, size_t size, unsigned flags)
{
    struct tf_err err = {0};
    struct tf_packed *to = be->pack_new(c, (int)p->K, (int)p->N, flags, &err);
    const size_t first = p->N < TF_PACK_COLUMNS ? p->N : TF_PACK_COLUMNS;
    be->pack(c, to, w, p->N, p->transposed, 0, first);
    if (first < p->N)
        be->pack(c, to, (const char *)w + (p->transposed ? first * p->K : first) * size, p->N,
                 p->transposed, first, p->N - first);
    return to;
}

/* w' of w [K, N], elements of `size` bytes; of what is transposed a copy. */
static char *columns_of(const struct product *p, const char *w, size_t size)
{
    char *t = tf_xarray(NULL, p->K * p->N, size);
    for (size_t k = 0; k < p->K; k++)
        for (size_t j = 0; j < p->N; j++) {
            const size_t at = p->transposed ? j * p->K + k : k * p->N + j;
            memcpy(t + (j * p->K + k) * size, w + at * size, size);
        }
    return t;
}

/* halves: of w, or NULL. */
static bool agrees(const struct tf_backend *be, const struct product *p, const uint16_t *halves)
{
    struct tf_err err = {0};
    struct tf_ctx *c = be->open(&(struct tf_ctx_opts){.threads = 1}, &err);
    const void *w = halves != NULL ? (const void *)halves : p->w;
    const size_t size = halves != NULL ? sizeof *halves : sizeof *p->w, n = p->N + p->N / 2 + 1;
    const unsigned flags = halves != NULL ? TF_PACK_HALVES : 0;
    struct product columns = *p;
    columns.transposed = true;
    char *t = columns_of(p, w, size);
    struct tf_packed *all = packed(be, c, p, w, size, flags),
                     *apart = packed(be, c, &columns, t, size, flags | TF_PACK_APART),
                     *some = be->pack_new(c, (int)p->K, (int)n, 0, &err);
    uint32_t *ids = tf_xarray(NULL, n, sizeof *ids), *at = tf_xcalloc(n, sizeof *at);
    float *y = tf_xarray(NULL, p->rows * p->N + 1, sizeof *y),
          *z = tf_xarray(NULL, p->rows * n + 1, sizeof *z),
          *e = tf_xarray(NULL, n * p->K, sizeof *e), *f = tf_xarray(NULL, n * p->K, sizeof *f);
    for (size_t i = 0; i < n; i++)
        ids[i] = drawn(p->N, (uint32_t)i) % (uint32_t)p->N;
    bool same = true;
    be->linear_packed(c, y, p->x, all, NULL, p->rows, 0);
    for (size_t some_n = n; some_n > 0; some_n /= 3) { /* the same memory for fewer */
        be->pack_select(c, some, apart, ids, some_n);
        be->linear_packed(c, z, p->x, some, NULL, p->rows, 0);
        for (size_t i = 0; i < p->rows; i++)
            for (size_t j = 0; j < some_n; j++)
                same = same && memcmp(&z[i * some_n + j], &y[i * p->N + ids[j]], sizeof *y) == 0;
    }
    be->embed_packed(c, e, ids, at, all, NULL, n, 1.5f);
    be->embed_packed(c, f, ids, at, apart, NULL, n, 1.5f);
    same = same && memcmp(e, f, n * p->K * sizeof *e) == 0;
    free(t);
    free(ids);
    free(at);
    free(y);
    free(z);
    free(e);
    free(f);
    be->close(c);
    return same;
}

static void test(const struct tf_backend *be, const char *isa, const char *precision,
                 bool in_halves)
{
    bool same = true;
    if (be == NULL) {
        skip(isa);
        return;
    }
    for (uint64_t seed = 0; seed < 24 && same; seed++) {
        struct product p = new_product(seed * 5 + 1);
        uint16_t *halves = in_halves ? tf_xarray(NULL, p.K * p.N, sizeof *halves) : NULL;
        p.rows = p.rows > 13 ? 13 : p.rows;
        for (size_t i = 0; i < p.rows * p.K; i++)
            p.x[i] = (float)drawn(seed, (uint32_t)i) / 0x1p32f - 0.5f;
        for (size_t i = 0; i < p.K * p.N; i++) {
            p.w[i] = (float)drawn(seed + 100, (uint32_t)i) / 0x1p31f - 1;
            if (halves != NULL)
                halves[i] = (uint16_t)(drawn(seed + 200, (uint32_t)i) & 0xbbff);
        }
        same = agrees(be, &p, halves);
        if (!same)
            printf("# seed %llu: %zu x %zu x %zu, transposed %d\n", (unsigned long long)seed,
                   p.rows, p.K, p.N, p.transposed);
        free(halves);
        free_product(&p);
    }
    ok(same, "%s, %s%s: columns alone have their bytes", isa, precision,
       in_halves ? " of halves" : "");
}

int main(void)
{
    test(&tf_backend_ref_f32, "ref", "fp32", false);
    for (size_t s = 0; s < sizeof sets / sizeof *sets; s++) {
        test(backend_of(sets[s], "fp32"), sets[s], "fp32", false);
        test(backend_of(sets[s], "fp32"), sets[s], "fp32", true);
        test(backend_of(sets[s], "bf16"), sets[s], "bf16", false);
        test(backend_of(sets[s], "int8"), sets[s], "int8", false);
    }
    return done();
}
