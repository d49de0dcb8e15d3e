/* stream_damage.c - no reader accepts a truncated stream or model, or one with a flipped bit. For
 * samples of 20 kB every 61st length and bit is tested, and all with TF_DAMAGE=all. */
/* tags: no-emulator */
#include "../harness/stream.h"
#include "../harness/temp.h"
#include "base/memory.h"
#include "base/sanitize_private.h"
#include "stream/inspect.h"

/* Coprime to 8, so that every bit of a byte is flipped somewhere. */
#if TF_ASAN
enum { STRIDE = 5, LONG_STRIDE = 305 };
#else
enum { STRIDE = 1, LONG_STRIDE = 61 };
#endif

static long prefixes, flips;
static struct tf_out shown; /* what the tools would print */

/* Do these n bytes end with the end record of a part? */
static bool part_end(const struct sample *s, size_t n)
{
    struct tf_err err;
    return strcmp(s->name, "parts") == 0 && n > 0 &&
           read_all(s->p, n, TF_READ_RAW, NULL, &err) >= 0 && read_all(s->p, n, 0, NULL, &err) == 3;
}

static bool is_model(const struct sample *s)
{
    return strcmp(s->name, "model") == 0 || strstr(s->name, "checkpoint");
}

typedef int show_fn(struct tf_in *, struct tf_out *, const struct tf_inspect *, struct tf_err *);

static bool shows(show_fn *fn, const uint8_t *p, size_t n)
{
    const struct tf_inspect how = {.max_bytes = 0};
    struct tf_err err = {0};
    struct tf_in in = memory_in(p, n);
    shown.len = 0;
    int rc = fn(&in, &shown, &how, &err);
    memory_in_done(&in);
    return rc == 0;
}

/* Read in all ways. Returns a bit for each that accepted. */
static unsigned accepted(const struct sample *s, const uint8_t *p, size_t n, const char *must_say)
{
    struct tf_err err = {0};
    unsigned yes = 0;
    bool said = true;
    const struct tf_inspect how = {.max_bytes = 0};
    if (is_model(s)) {
        static const unsigned flags[] = {0, TF_MODEL_WEIGHTS, TF_MODEL_CHECK};
        for (unsigned i = 0; i < sizeof flags / sizeof *flags; i++) {
            struct tf_model_file m;
            struct tf_in in = i == 1 ? memory_in(p, n) : memory_file(p, n);
            err = (struct tf_err){0};
            if (tf_model_read_in(&m, &in, flags[i], 0, &err) == 0) {
                yes |= 1u << i;
                tf_model_release(&m);
            } else {
                said = said && (!must_say || strstr(err.msg, must_say));
            }
            memory_in_done(&in);
        }
    } else {
        if (read_all(p, n, 0, NULL, &err) >= 0)
            yes |= 4;
        else
            said = said &&
                   (!must_say || strstr(err.msg, must_say) || strstr(err.msg, "upstream failed"));
    }
    if (read_all(p, n, TF_READ_RAW | TF_READ_TENSORS, NULL, &err) >= 0)
        yes |= 8;
    if (read_all(p, n, TF_READ_RAW | TF_READ_TENSORS | TF_READ_UNHELD, NULL, &err) >= 0)
        yes |= 16;
    struct tf_in in = memory_in(p, n);
    err = (struct tf_err){0};
    if (tf_inspect_check(&in, &how, &err) == 0)
        yes |= 32;
    memory_in_done(&in);
    if (shows(tf_inspect_json, p, n))
        yes |= 64;
    if (shows(tf_inspect_count, p, n))
        yes |= 128;
    if (shows(tf_inspect_seal, p, n))
        yes |= 256;
    if (!said)
        printf("# %s: %zu bytes: %s\n", s->name, n, err.msg);
    return yes | (said ? 0 : 512);
}

static void cut(const struct sample *s, size_t step)
{
    unsigned bad = 0;
    for (size_t n = 0; n < s->n; n += step) {
        prefixes++;
        if (!part_end(s, n))
            bad |= accepted(s, s->p, n, "truncated");
    }
    is_int(bad, 0, "%s: no prefix accepted, all called truncated", s->name);
}

static void flip(const struct sample *s, size_t stride)
{
    unsigned bad = 0;
    uint8_t *p = tf_xmalloc(s->n);
    memcpy(p, s->p, s->n);
    for (size_t bit = 0; bit < 8 * s->n; bit += stride) {
        p[bit / 8] ^= (uint8_t)(1u << bit % 8);
        unsigned yes = accepted(s, p, s->n, NULL);
        if (yes)
            printf("# %s: byte %zu bit %zu: %x\n", s->name, bit / 8, bit % 8, yes);
        bad |= yes;
        p[bit / 8] ^= (uint8_t)(1u << bit % 8);
        flips++;
    }
    is_int(bad, 0, "%s: none of the bit flips accepted", s->name);
    free(p);
}

static bool reads_head(const uint8_t *p, size_t n)
{
    struct tf_model_file m;
    struct tf_err err = {0};
    struct tf_in in = memory_file(p, n);
    bool yes = tf_model_read_in(&m, &in, TF_MODEL_HEAD, 0, &err) == 0;
    if (yes)
        tf_model_release(&m);
    memory_in_done(&in);
    return yes;
}

/* The head of a model is proved without its tensors: damage there is found, damage after it is not
 * looked for. */
static void model_head(const struct sample *s)
{
    size_t head = 0;
    long wrong = 0;
    uint8_t *p = tf_xmalloc(s->n);
    memcpy(p, s->p, s->n);
    static const uint8_t tensor[] = {0x86, 0x06, 0x69, 'p', '/'};
    while (memcmp(p + head, tensor, sizeof tensor) != 0)
        head++;
    for (size_t n = 0; n < head; n++) {
        if (reads_head(p, n))
            wrong++;
    }
    ok(reads_head(p, head + 200), "%s: its head alone", s->name);
    is_int(wrong, 0, "%s: prefixes of the head", s->name);
    wrong = 0;
    for (size_t bit = 0; bit < 8 * head; bit++) {
        p[bit / 8] ^= (uint8_t)(1u << bit % 8);
        if (reads_head(p, s->n)) {
            printf("# byte %zu bit %zu\n", bit / 8, bit % 8);
            wrong++;
        }
        p[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    is_int(wrong, 0, "%s: flips in the head", s->name);
    free(p);
}

/* JSON Lines without the end line are refused too. */
static void cut_json(const struct sample *s)
{
    struct tf_err err = {0};
    struct tf_in in = memory_in(s->p, s->n);
    struct tf_out text = memory_out(1 << 20);
    const struct tf_inspect how = {.max_bytes = 0};
    must(tf_inspect_json(&in, &text, &how, &err), &err);
    memory_in_done(&in);
    long bad = 0;
    for (size_t n = 0; n + 2 < text.len; n += 3) {
        struct tf_out out = memory_out(1 << 20);
        in = memory_in(text.buf, n);
        err = (struct tf_err){0};
        bad += tf_inspect_from_json(&in, &out, &(struct tf_inspect){0}, &err) == 0;
        memory_in_done(&in);
        memory_out_done(&out);
        prefixes++;
    }
    is_int(bad, 0, "%s: no prefix of its JSON accepted", s->name);
    memory_out_done(&text);
}

/* A stream of 20 kB, with checks in it. */
static struct sample long_sample(void)
{
    struct tf_err err = {0};
    struct tf_arena a = {0};
    struct tf_out out = memory_out(1 << 20);
    struct tf_writer w;
    struct tf_header h = sample_header(&a, "pairs", 4096);
    must(tf_writer_begin(&w, &out, &h, &err), &err);
    uint32_t ids[80], x = 1;
    for (uint64_t i = 0; i < 160; i++) {
        for (int k = 0; k < 80; k++)
            ids[k] = (x = x * 1664525 + 1013904223) >> 20;
        must(write_pair(&w, i, ids, x >> 28, ids + 16, 32 + (x >> 27), &err), &err);
        if (i % 50 == 49)
            must(tf_writer_check(&w, &err), &err);
    }
    must(tf_writer_end(&w, &err), &err);
    tf_writer_release(&w);
    tf_arena_release(&a);
    return end_sample("long", &out);
}

/* A checkpoint of 20 kB. */
static struct sample long_checkpoint(void)
{
    struct tf_err err = {0};
    struct tf_arena a = {0};
    const char *path = temp_path("long.tfm");
    static float w[1500];
    for (int i = 0; i < 1500; i++)
        w[i] = (float)i * 0.125f;
    struct tf_header h = sample_header(&a, "checkpoint", 4096);
    struct tf_state st[] = {{"step", tf_value_int(1200)}};
    struct tf_tensor t[] = {
        {.name = "p/w", .dtype = TF_F32, .rank = 2, .dims = {30, 50}, .data = w, .bytes = sizeof w},
        {.name = "m/w", .dtype = TF_F32, .rank = 2, .dims = {30, 50}, .data = w, .bytes = sizeof w},
        {.name = "v/w", .dtype = TF_F32, .rank = 2, .dims = {30, 50}, .data = w, .bytes = sizeof w},
    };
    struct sample s = {.name = "long checkpoint"};
    must(write_model(path, &h, sample_vocab, SAMPLE_VOCAB_N, st, 1, t, 3, &err), &err);
    s.p = (uint8_t *)read_file(path, &s.n);
    tf_arena_release(&a);
    return s;
}

int main(void)
{
    struct sample samples[N_SAMPLES];
    make_samples(samples);
    shown = memory_out(1 << 20);
    for (int i = 0; i < N_SAMPLES; i++) {
        cut(&samples[i], 1);
        flip(&samples[i], STRIDE);
        if (is_model(&samples[i]))
            model_head(&samples[i]);
        else if (strcmp(samples[i].name, "error") != 0 && strcmp(samples[i].name, "parts") != 0)
            cut_json(&samples[i]);
    }
    const char *all = getenv("TF_DAMAGE");
    size_t stride = all && strcmp(all, "all") == 0 ? 1 : LONG_STRIDE;
    struct sample large[] = {long_sample(), long_checkpoint()};
    for (int i = 0; i < 2; i++) {
        cut(&large[i], stride);
        flip(&large[i], stride);
        free(large[i].p);
    }
    memory_out_done(&shown);
    printf("# %ld prefixes, %ld flips\n", prefixes, flips);
    free_samples(samples);
    return done();
}
