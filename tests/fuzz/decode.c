/* decode.c - decoding with any configuration, weights and options: bytes choose them, and the rest
 * are the ids of the lines. Each line has one answer within its limits, whatever the neighbours in
 * its batch, or all fail with a message. */
/* tags: no-emulator */
#include "../harness/memory.h"
#include "base/bad.h"
#include "base/memory.h"
#include "infer/decode_stream.h"
#include "model/load.h"
#include "model/params.h"
#include "stream/model.h"

#include <math.h>
#include <stdio.h>

enum { V = 24, EXTRA = 4, MOST_LINES = 8, MOST_INPUT = 128, MODEL_ROOM = 1 << 19, ROOM = 1 << 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const struct tf_opt no_opts[] = {{.kind = TF_OPT_END}};

struct bytes {
    const uint8_t *p;
    size_t n;
};

/* The next byte, below `below`; 0 when there is none. */
static unsigned draw(struct bytes *b, unsigned below)
{
    if (b->n == 0)
        return 0;
    b->n--;
    return *b->p++ % below;
}

static struct tf_header header(const char *kind)
{
    struct tf_header h = {.kind = kind, .size = V, .special = {0, 1, 2, 3}};
    h.made = tf_value_array();
    h.config = h.extra = tf_value_map();
    return h;
}

static struct tf_config config(struct bytes *b)
{
    static const double eps[] = {1e-6, 1e-12, 1e-3, 1};
    struct tf_config c = {.vocab_size = V, .source_eos = true, .bos = 2, .eos = 3, .pad = 0};
    c.dialect = draw(b, 2);
    c.encoder_layers = 1 + draw(b, 2);
    c.decoder_layers = 1 + draw(b, 2);
    c.d_model = 1 + draw(b, 20);
    c.d_ff = 1 + draw(b, 24);
    c.heads = 1 + draw(b, 3);
    c.d_k = 1 + draw(b, 9);
    c.d_v = 1 + draw(b, 9);
    c.positions = draw(b, 2);
    c.max_positions = c.positions == TF_POS_LEARNED ? 1 + draw(b, 20) : 0;
    c.tie = draw(b, 3);
    c.start = draw(b, 2);
    c.pre_norm = c.final_norm = draw(b, 2);
    c.attention_bias = draw(b, 2);
    c.attention_window = draw(b, 4);
    c.norm_eps = eps[draw(b, 4)];
    return c;
}

static struct tf_decode_opts options(struct bytes *b)
{
    static const char *const devices[] = {"cpu", "ref"};
    struct tf_decode_opts o = {.run.max_length = 20,
                               .run.batch = 64,
                               .run.window = 2048,
                               .run.threads = 1,
                               .run.quiet = true,
                               .run.bad = TF_ON_BAD_OK,
                               .max_extra = EXTRA,
                               .nbest_out = true,
                               .seed = 1};
    bool ref = draw(b, 2);
    o.run.device = devices[ref];
    o.run.precision = draw(b, 4) == 3 && !ref ? "int8" : NULL;
    o.search.sample = draw(b, 2);
    o.beam = 1 + draw(b, 6);
    o.nbest = o.search.sample ? 1 : 1 + draw(b, (unsigned)o.beam);
    o.search.alpha = draw(b, 3) * 0.6;
    o.search.temperature = 0.1 + draw(b, 30) * 0.1;
    o.search.top_k = draw(b, 5);
    o.search.top_p = 1 - draw(b, 10) * 0.1;
    o.allow_unk = draw(b, 2);
    return o;
}

/* From the last byte, which is an id, too. */
static void rules(struct tf_decode_opts *o, unsigned byte)
{
    o->search.min_length = byte & 1 ? 3 : 0;
    o->search.ngram = byte & 2 ? 2 : 0;
    o->search.repetition = byte & 4 ? 1.5 : 0;
    o->truncate = byte & 8;
    o->rule = o->search.sample ? 0 : 1 + (byte >> 4 & 3) + (byte >> 7);
    o->search.free_prefix = byte & 64;
}

/* Do two tokens in a row occur twice? */
static bool repeats(const struct tf_hyp *h)
{
    for (size_t i = 1; i < h->n; i++)
        for (size_t j = 1; j < i; j++)
            if (h->ids[i] == h->ids[j] && h->ids[i - 1] == h->ids[j - 1])
                return true;
    return false;
}

/* Weights as at the start of training, of which some parameters are multiplied, by up to what
 * overflows, and some are all one value. */
static void fill(float *w, const struct tf_params *p, struct bytes *b)
{
    static const float factors[] = {0, 1, 10, 1e4F, 1e15F, 1e30F, 1e-20F, -1},
                       constants[] = {0, -0.0F, 1, 3.4e38F, -3.4e38F, 1e-42F, 1e19F, -1e19F};
    tf_params_fill(w, p, draw(b, 256));
    for (unsigned k = draw(b, 4); k > 0; k--) {
        size_t i = draw(b, (unsigned)p->n);
        unsigned how = draw(b, 16);
        for (size_t j = 0; j < p->v[i].n; j++) {
            float *x = &w[p->v[i].offset + j];
            *x = how < 8 ? constants[how] : *x * factors[how - 8];
            if (!isfinite(*x))
                *x = 3e38F;
        }
    }
}

/* The tensors of w: all f32, or what can be in 8 bits or in halves so; how: bits of a byte. */
static size_t tensors(struct tf_tensor *to, struct tf_arena *a, const struct tf_params *p,
                      const float *w, unsigned how)
{
    const struct tf_tensor *from = tf_model_tensors(a, p, w, "p/");
    size_t n = 0;
    for (size_t i = 0; i < p->n; i++) {
        const struct tf_param *q = &p->v[i];
        struct tf_tensor *t = &to[n++];
        struct tf_err none = {0};
        *t = from[i];
        if (how & 32 && tf_param_takes_int8(q)) {
            const size_t outputs = (size_t)q->dims[q->outputs];
            float *amax = tf_arena_alloc(a, outputs * sizeof *amax);
            int8_t *bytes = tf_arena_alloc(a, q->n);
            char name[64];
            const int len = snprintf(name, sizeof name, "p/%s.amax", q->name);
            tf_int8_quantise(bytes, amax, w + q->offset, t, q->outputs);
            t->dtype = TF_I8;
            t->data = bytes;
            t->bytes = q->n;
            to[n++] = (struct tf_tensor){.name = tf_arena_strndup(a, name, (size_t)len),
                                         .dtype = TF_F32,
                                         .rank = 1,
                                         .dims = {outputs},
                                         .data = amax,
                                         .bytes = outputs * sizeof *amax};
        } else if (how & 64) {
            uint16_t *halves = tf_arena_alloc(a, q->n * sizeof *halves);
            if (tf_floats_as(halves, TF_F16, w + q->offset, q->n, &none) != 0)
                continue; /* beyond their range */
            t->dtype = TF_F16;
            t->data = halves;
            t->bytes = q->n * sizeof *halves;
        }
    }
    return n;
}

static const char *write_model(struct bytes *b, unsigned how, struct tf_err *err)
{
    struct tf_config c = config(b);
    struct tf_params p;
    struct tf_arena a = {0};
    struct tf_header h = header("model");
    struct tf_out out = memory_out(MODEL_ROOM);
    if (tf_config_check(&c, err) != 0)
        TF_BUG("an impossible configuration");
    tf_params_init(&p, &c);
    float *w = tf_xcalloc(p.size, sizeof *w);
    fill(w, &p, b);
    h.config = tf_config_map(&c, &a);
    struct tf_tensor *all = tf_arena_alloc(&a, 2 * p.n * sizeof *all);
    const size_t n = tensors(all, &a, &p, w, how);
    if (tf_model_put(&out, &h, NULL, 0, NULL, 0, all, n, err) != 0)
        TF_BUG("no model");
    const char *path = memory_path(0, out.buf, out.len);
    memory_out_done(&out);
    tf_params_release(&p);
    tf_arena_release(&a);
    free(w);
    return path;
}

/* The rest of the bytes: lengths and ids of *lines lines. */
static const char *write_lines(struct bytes *b, size_t *lines, struct tf_err *err)
{
    struct tf_writer w;
    struct tf_header h = header("tokens");
    struct tf_out out = memory_out(ROOM);
    int rc = tf_writer_begin(&w, &out, &h, err);
    for (*lines = 0; rc == 0 && b->n > 0 && *lines < MOST_LINES; ++*lines) {
        uint32_t ids[16];
        size_t n = draw(b, 14);
        for (size_t i = 0; i < n; i++)
            ids[i] = 4 + draw(b, V - 4);
        rc = tf_writer_tokens(&w, *lines, ids, n, err);
    }
    if (rc != 0 || tf_writer_end(&w, err) != 0)
        TF_BUG("no lines");
    const char *path = memory_path(1, out.buf, out.len);
    tf_writer_release(&w);
    memory_out_done(&out);
    return path;
}

static void check(const char *p, size_t n, size_t lines, const struct tf_decode_opts *o)
{
    struct tf_in in = memory_in(p, n);
    struct tf_reader *r;
    struct tf_record rec;
    struct tf_err err = {0};
    size_t k = 0;
    int rc = tf_reader_new(&r, &in, NULL, 0, &err);
    for (; rc == 0 && (rc = tf_reader_next(r, &rec, &err)) > 0; rc = 0, k++) {
        TF_ASSERT(rec.idx == k);
        if (rec.type == TF_REC_BAD)
            continue;
        TF_ASSERT(rec.type == TF_REC_NBEST && rec.n_hyps <= (size_t)o->nbest);
        for (size_t i = 0; i < rec.n_hyps; i++) {
            TF_ASSERT(rec.hyps[i].n <= 13 + EXTRA && !isnan(rec.hyps[i].logp));
            TF_ASSERT(o->search.ngram == 0 || !repeats(&rec.hyps[i]));
            for (size_t j = 0; j < rec.hyps[i].n; j++)
                TF_ASSERT(rec.hyps[i].ids[j] < V && rec.hyps[i].ids[j] != 3);
        }
    }
    TF_ASSERT(rc == 0 && k == lines);
    tf_reader_free(r);
    memory_in_done(&in);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct bytes b = {data, n};
    struct tf_err err = {0};
    if (n > MOST_INPUT)
        return 0;
    struct tf_decode_opts o = options(&b);
    rules(&o, n > 0 ? data[n - 1] : 0);
    const char *model = write_model(&b, n > 0 ? data[n - 1] : 0, &err);
    o.run.models = (struct tf_strs){.v = &model, .n = 1};
    size_t lines, sizes[2];
    const char *in = write_lines(&b, &lines, &err);
    char *answers[2];
    int rc[2];
    for (int i = 0; i < 2; i++) {
        rc[i] = tf_decode_stream(&o, in, memory_path(2, NULL, 0), no_opts, &err);
        TF_ASSERT(rc[i] == 0 || err.msg[0] != 0);
        answers[i] = memory_path_bytes(2, &sizes[i]);
        if (rc[i] == 0)
            check(answers[i], sizes[i], lines, &o);
        o.run.batch = o.run.window = 1;
    }
    TF_ASSERT(rc[0] == rc[1]);
    if (rc[0] == 0)
        TF_ASSERT(sizes[0] == sizes[1] && memcmp(answers[0], answers[1], sizes[0]) == 0);
    free(answers[0]);
    free(answers[1]);
    return 0;
}
