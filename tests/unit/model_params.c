/* Parameter counts of every row of Table 3 and of big, with the two vocabularies that the printed
 * table mixes; initial weights; the configuration through its map. */
#include "model/load.h"
#include "model/params.h"
#include "train/settings/presets.h"
#include "../harness/tap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint64_t count(const char *preset, enum tf_dialect as, int64_t V)
{
    struct tf_settings s = {0};
    struct tf_err err = {0};
    if (tf_preset(&s, preset, as, &err) < 0)
        return 0;
    s.config.vocab_size = V;
    struct tf_params p;
    tf_params_init(&p, &s.config);
    uint64_t n = p.count;
    tf_params_release(&p);
    return n;
}

/* ---- initial weights ---- */

static const int64_t N_ENC = 3, N_DEC = 2, D = 24, F = 40, H = 2, K = 8, V = 16;

/* A flat block of initial weights, to be freed. */
static float *fill(struct tf_params *p, enum tf_initializer initializer, enum tf_dialect as)
{
    struct tf_config c = {.dialect = as,
                          .encoder_layers = N_ENC,
                          .decoder_layers = N_DEC,
                          .d_model = D,
                          .d_ff = F,
                          .heads = H,
                          .d_k = K,
                          .d_v = V,
                          .vocab_size = 50,
                          .norm_eps = 1e-6,
                          .initializer = initializer};
    tf_params_init(p, &c);
    float *flat = malloc(p->size * sizeof *flat);
    tf_params_fill(flat, p, 7);
    return flat;
}

/* Every value in columns [from, to) of the matrix is within the limit, and some are near it. */
static void uniform(const struct tf_params *p, const float *flat, const char *name, int64_t from,
                    int64_t to, double limit)
{
    const struct tf_param *q = tf_params_find(p, name);
    double most = 0;
    for (size_t i = 0; i < q->n; i++) {
        int64_t column = (int64_t)i % q->dims[1];
        if (column >= from && column < to)
            most = fmax(most, fabs((double)flat[q->offset + i]));
    }
    ok(most <= limit && most > 0.98 * limit, "%s, columns %lld to %lld: %g, limit %g", name,
       (long long)from, (long long)to, most, limit);
}

static double glorot(int64_t in, int64_t out)
{
    return sqrt(6.0 / (double)(in + out));
}

static void initial_weights(void)
{
    static const enum tf_initializer kinds[] = {TF_INITIALIZER_GLOROT, TF_INITIALIZER_FUSED,
                                                TF_INITIALIZER_SCALED};
    for (size_t i = 0; i < 3; i++) {
        struct tf_params p;
        float *flat = fill(&p, kinds[i], TF_AS_PAPER);
        bool own = kinds[i] == TF_INITIALIZER_GLOROT, scaled = kinds[i] == TF_INITIALIZER_SCALED;
        double enc = scaled ? 1 / sqrt(2.0 * 3) : 1, dec = scaled ? 1 / sqrt(2.0 * 2) : 1;
        int64_t qkv = 2 * H * K + H * V, kv = H * K + H * V;
        uniform(&p, flat, "enc.2.self.qkv.w", 0, 2 * H * K,
                own ? glorot(D, H * K) : glorot(D, qkv));
        uniform(&p, flat, "dec.1.self.qkv.w", 2 * H * K, qkv,
                own ? glorot(D, H * V) : glorot(D, qkv));
        uniform(&p, flat, "dec.cross.kv.w", kv, kv + H * K, own ? glorot(D, H * K) : glorot(D, kv));
        uniform(&p, flat, "dec.0.cross.q.w", 0, H * K, glorot(D, H * K));
        uniform(&p, flat, "enc.0.self.o.w", 0, D, enc * glorot(H * V, D));
        uniform(&p, flat, "enc.1.ff.1.w", 0, F, glorot(D, F));
        uniform(&p, flat, "enc.1.ff.2.w", 0, D, enc * glorot(F, D));
        uniform(&p, flat, "dec.1.self.o.w", 0, D, dec * glorot(H * V, D));
        uniform(&p, flat, "dec.1.cross.o.w", 0, D, dec * glorot(H * V, D));
        uniform(&p, flat, "dec.0.ff.2.w", 0, D, dec * glorot(F, D));
        tf_params_release(&p);
        free(flat);
    }
    /* The dialect alone changes nothing. */
    struct tf_params p, q;
    float *a = fill(&p, TF_INITIALIZER_SCALED, TF_AS_PAPER),
          *b = fill(&q, TF_INITIALIZER_SCALED, TF_AS_T2T);
    is_mem(b, a, p.size * sizeof *a, "the same weights in both dialects");
    tf_params_release(&p);
    tf_params_release(&q);
    free(a);
    free(b);
}

/* ---- the map of the configuration ---- */

/* What is read from the map of a configuration with this choice, and whether the map has it. */
static void initializer_map(enum tf_dialect as, enum tf_initializer initializer, bool omitted)
{
    struct tf_config c, back;
    struct tf_settings s = {0};
    struct tf_err err = {0};
    struct tf_arena a = {0};
    const char *name = tf_initializers[initializer];
    must(tf_preset(&s, "base", as, &err), &err);
    c = s.config;
    c.initializer = initializer;
    struct tf_value map = tf_config_map(&c, &a), all = tf_config_explicit(&map, &a);
    ok((tf_value_get(&map, "initializer") == NULL) == omitted, "%s as %s: %s", name,
       tf_dialects[as], omitted ? "omitted" : "recorded");
    is_str(tf_value_get(&all, "initializer")->text, name, "the explicit map has it");
    ok(tf_config_read(&back, &map, &err) == 0 && back.initializer == initializer, "read back %s",
       err.msg);
    tf_arena_release(&a);
}

static void shapes(void)
{
    const struct tf_param vector = {.rank = 1, .dims = {16}}, matrix = {.rank = 2, .dims = {16, 8}};
    const struct {
        const struct tf_param *want;
        struct tf_tensor t;
        const char *message; /* NULL: it fits */
    } rows[] = {
        {&vector, {.rank = 1, .dims = {16}}, NULL},
        {&matrix, {.rank = 2, .dims = {16, 8}}, NULL},
        {&vector, {.rank = 2, .dims = {16, 1}}, "tensor 'x': 16 x 1, want 16"},
        {&vector, {.rank = 0}, "tensor 'x': a scalar, want 16"},
        {&matrix, {.rank = 2, .dims = {8, 16}}, "tensor 'x': 8 x 16, want 16 x 8"},
        {&matrix, {.rank = 3, .dims = {16, 8, 1}}, "tensor 'x': 16 x 8 x 1, want 16 x 8"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct tf_tensor t = rows[i].t;
        struct tf_err err = {0};
        t.name = "x";
        const struct tf_param *want = rows[i].want;
        is_int(tf_check_shape(&t, want->dims, want->rank, &err), rows[i].message ? -1 : 0,
               "a shape");
        is_str(err.msg, rows[i].message ? rows[i].message : "", "its message");
    }
}

int main(void)
{
    shapes();
    initial_weights();
    initializer_map(TF_AS_PAPER, TF_INITIALIZER_GLOROT, true);
    initializer_map(TF_AS_PAPER, TF_INITIALIZER_FUSED, false);
    initializer_map(TF_AS_PAPER, TF_INITIALIZER_SCALED, false);
    initializer_map(TF_AS_T2T, TF_INITIALIZER_GLOROT, false);
    initializer_map(TF_AS_T2T, TF_INITIALIZER_FUSED, true);
    initializer_map(TF_AS_T2T, TF_INITIALIZER_SCALED, false);

    /* The paper's column "params x 10^6", to the digits printed; the fuller figures count all
     * biases, as the code did (t2t). */
    static const struct {
        const char *preset;
        int64_t V;
        double million;
        double unit;
    } rows[] = {
        {"base", 40960, 65, 1},          {"B-dk16", 40960, 58, 1},
        {"B-dk32", 40960, 60, 1},        {"C-n2", 40960, 36, 1},
        {"C-n4", 40960, 50, 1},          {"C-n8", 40960, 80, 1},
        {"C-d256", 40960, 28, 1},        {"C-d1024", 40960, 168, 1},
        {"C-ff1024", 40960, 53, 1},      {"C-ff4096", 40960, 90, 1},
        {"base", 40960, 65.1, .1},       {"B-dk16", 40960, 58.0, .1},
        {"B-dk32", 40960, 60.4, .1},     {"C-n2", 40960, 35.7, .1},
        {"C-n4", 40960, 50.4, .1},       {"C-n8", 40960, 79.8, .1},
        {"C-d256", 40960, 27.8, .1},     {"C-d1024", 40960, 167.9, .1},
        {"C-ff1024", 40960, 52.5, .1},   {"C-ff4096", 40960, 90.3, .1},
        {"big", 36500, 213.7, .1},       {"base", 37000, 63.08, .01},
        {"B-dk16", 37000, 55.99, .01},   {"B-dk32", 37000, 58.35, .01},
        {"C-n2", 37000, 33.66, .01},     {"C-n4", 37000, 48.37, .01},
        {"C-n8", 37000, 77.80, .01},     {"C-d256", 37000, 26.83, .01},
        {"C-d1024", 37000, 163.89, .01}, {"C-ff1024", 37000, 50.49, .01},
        {"C-ff4096", 37000, 88.27, .01}, {"big", 37000, 214.25, .01},
        {"A-h1", 37000, 63.08, .01},     {"A-h4", 37000, 63.08, .01},
        {"A-h16", 37000, 63.08, .01},    {"A-h32", 37000, 63.08, .01},
        {"D-p0.0", 37000, 63.08, .01},   {"D-p0.2", 37000, 63.08, .01},
        {"D-ls0.0", 37000, 63.08, .01},  {"D-ls0.2", 37000, 63.08, .01},
        {"E", 37000, 64.13, .01},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double n = (double)count(rows[i].preset, TF_AS_T2T, rows[i].V) / 1e6;
        ok(fabs(round(n / rows[i].unit) * rows[i].unit - rows[i].million) < 1e-9,
           "%s with %lld rows: %.4f million, want %g", rows[i].preset, (long long)rows[i].V, n,
           rows[i].million);
    }
    ok(count("base", TF_AS_T2T, 37000) - count("base", TF_AS_PAPER, 37000) == 6 * 2048 + 6 * 4096,
       "the dialects differ by the biases of the projections");
    for (size_t i = 0; tf_presets[i]; i++) {
        ok(count(tf_presets[i], TF_AS_PAPER, 37000) > 0, "preset %s as paper", tf_presets[i]);
        ok(count(tf_presets[i], TF_AS_T2T, 37000) > 0, "preset %s as t2t", tf_presets[i]);
    }
    struct tf_settings s = {0};
    struct tf_err err = {0};
    ok(tf_preset(&s, "bases", TF_AS_PAPER, &err) < 0 && err.status == TF_USAGE &&
           strstr(err.msg, "C-ff4096"),
       "an unknown preset lists the known ones: %s", err.msg);

    /* The map of the header brings every field back. */
    ok(tf_preset(&s, "E", TF_AS_T2T, &err) == 0, "preset E");
    struct tf_config c = s.config;
    c.vocab_size = 321;
    c.pre_norm = c.final_norm = true;
    c.attention_window = 7;
    c.relu_dropout = 0.25;
    struct tf_arena a = {0};
    struct tf_value map = tf_config_map(&c, &a);
    struct tf_config back;
    struct tf_err e = {0};
    ok(tf_config_read(&back, &map, &e) == 0 && memcmp(&back, &c, sizeof c) == 0,
       "configuration through its map %s", e.msg);
    tf_value_put(&a, &map, "rotary", tf_value_bool(true));
    ok(tf_config_read(&back, &map, &e) < 0 && strstr(e.msg, "rotary"),
       "an unknown key is refused: %s", e.msg);
    tf_value_put(&a, &map, "heads", tf_value_int(-3));
    ok(tf_config_read(&back, &map, &e) < 0, "a range is kept: %s", e.msg);
    tf_arena_release(&a);
    return done();
}
