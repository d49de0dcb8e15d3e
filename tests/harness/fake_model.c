/* fake_model.c - see fake_model.h. */
#include "fake_model.h"
#include "base/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* splitmix64's finaliser */
static uint64_t mix64(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static void compute(float *lp, const struct fake *f, uint64_t h)
{
    struct tf_rng r = tf_rng_new(h, 0);
    double sum = 0;
    for (size_t v = 0; v < f->V; v++) {
        double u = tf_rng_real(&r);
        if (f->rare > 0)
            u = u < f->rare ? 0 : 0.999;
        lp[v] = f->levels ? -0.5F * (float)(1 + (int)(u * f->levels)) : (float)(4 * u);
        sum += exp((double)lp[v]);
        if (tf_rng_real(&r) < f->holes)
            lp[v] = (float[]){NAN, -INFINITY, INFINITY}[v % 3];
    }
    for (size_t v = 0; v < f->V && !f->levels; v++)
        lp[v] = (float)((double)lp[v] - log(sum));
}

/* After a history. Each body of a search needs the same distributions, which are kept. */
void distribution(float *lp, const struct fake *f, uint64_t key, const uint32_t *ids, size_t n)
{
    static struct {
        struct fake f;
        uint64_t h;
        float *lp;
    } kept[1024];
    uint64_t h = mix64(f->seed ^ key * 0x9e3779b97f4a7c15u);
    for (size_t i = 0; i < n; i++)
        h = mix64(h ^ (ids[i] + 1));
    const size_t at = h % (sizeof kept / sizeof *kept);
    if (kept[at].lp == NULL || kept[at].h != h || memcmp(&kept[at].f, f, sizeof *f) != 0) {
        free(kept[at].lp);
        kept[at].lp = malloc(f->V * sizeof *lp + 1);
        kept[at].f = *f;
        kept[at].h = h;
        compute(kept[at].lp, f, h);
    }
    memcpy(lp, kept[at].lp, f->V * sizeof *lp);
}
