/* infer_rig.h - random models and streams in files, for the tests of decoding and scoring. */
#ifndef TF_TESTS_DECODE_RIG_H
#define TF_TESTS_DECODE_RIG_H

#include "../tap.h"
#include "base/rng.h"
#include "model/load.h"
#include "stream/stream.h"
#include <dirent.h>
#include <unistd.h>

enum { RIG_V = 50 };

static inline void must(int rc, const struct tf_err *err)
{
    if (rc < 0) {
        printf("Bail out! %s\n", err->msg);
        exit(1);
    }
}

static inline struct tf_config rig_small(void)
{
    return (struct tf_config){.encoder_layers = 2,
                              .decoder_layers = 2,
                              .d_model = 32,
                              .d_ff = 48,
                              .heads = 4,
                              .d_k = 8,
                              .d_v = 8,
                              .vocab_size = RIG_V,
                              .norm_eps = 1e-6,
                              .bos = 2,
                              .eos = 3,
                              .pad = 0};
}

static inline void rig_header(struct tf_header *h, const char *kind, uint8_t vocab, int64_t size)
{
    *h = (struct tf_header){
        .kind = kind, .version = 1, .has_vocab = true, .size = size, .special = {0, 1, 2, 3}};
    memset(h->vocab, vocab, sizeof h->vocab);
    h->made = tf_value_array();
    h->config = h->extra = tf_value_map();
}

/* A model of random weights; sharpness scales the embeddings, and so how sure it is. */
static inline void rig_model(const char *path, const struct tf_config *c, uint64_t seed,
                             float sharpness)
{
    struct tf_err err = {0};
    struct tf_params p;
    struct tf_arena a = {0};
    must(tf_config_check(c, &err), &err);
    tf_params_init(&p, c);
    float *flat = tf_xcalloc(p.size, sizeof *flat);
    tf_params_fill(flat, &p, seed);
    for (size_t i = 0; i < p.n; i++)
        if (p.v[i].dims[0] == c->vocab_size)
            for (size_t j = 0; j < p.v[i].n; j++)
                flat[p.v[i].offset + j] *= sharpness;
    struct tf_header h;
    rig_header(&h, "model", 7, c->vocab_size);
    h.config = tf_config_map(c, &a);
    must(tf_model_write(path, &h, NULL, 0, NULL, 0, tf_model_tensors(&a, &p, flat, "p/"), p.n,
                        &err),
         &err);
    tf_params_release(&p);
    tf_arena_release(&a);
    free(flat);
}

struct rig_line {
    uint32_t ids[64];
    size_t n;
    int code; /* a bad record */
    uint64_t idx;
};

static inline void rig_stream(const char *path, const struct rig_line *v, size_t n, uint8_t vocab,
                              const char *mode)
{
    struct tf_err err = {0};
    struct tf_out out;
    struct tf_writer w;
    struct tf_header h;
    char part[256];
    snprintf(part, sizeof part, "%s%s", path, *mode == 'a' ? ".part" : "");
    rig_header(&h, "tokens", vocab, RIG_V);
    must(tf_out_open(&out, part, 0, &err), &err);
    must(tf_writer_begin(&w, &out, &h, &err), &err);
    for (size_t i = 0; i < n; i++)
        must(v[i].code ? tf_writer_bad(&w, v[i].idx, v[i].code, "spoilt", &err)
                       : tf_writer_tokens(&w, v[i].idx, v[i].ids, v[i].n, &err),
             &err);
    must(tf_writer_end(&w, &err), &err);
    tf_writer_release(&w);
    must(tf_out_commit(&out, &err), &err);
    if (*mode == 'a') { /* behind what is there */
        char *old, *more;
        size_t a, b;
        must(tf_read_file(&old, &a, path, 1 << 26, &err), &err);
        must(tf_read_file(&more, &b, part, 1 << 26, &err), &err);
        FILE *f = fopen(path, "ab");
        ok(f && fwrite(more, 1, b, f) == b && fclose(f) == 0, "appended a part");
        unlink(part);
        free(old);
        free(more);
    }
}

static inline size_t rig_read(const char *path, char **p)
{
    struct tf_err err = {0};
    size_t n = 0;
    must(tf_read_file(p, &n, path, 1 << 26, &err), &err);
    return n;
}

static inline bool rig_same_files(const char *a, const char *b)
{
    char *pa, *pb;
    size_t na = rig_read(a, &pa), nb = rig_read(b, &pb);
    bool same = na == nb && memcmp(pa, pb, na) == 0;
    free(pa);
    free(pb);
    return same;
}

static char rig_dir[] = "/tmp/tf-decode-XXXXXX";

/* A path in the test's own directory; four at a time. */
static inline const char *rig_path(const char *name)
{
    static char path[4][320];
    static int at;
    at = (at + 1) % 4;
    snprintf(path[at], sizeof path[at], "%s/%s", rig_dir, name);
    return path[at];
}

static inline void rig_begin(void)
{
    if (!mkdtemp(rig_dir)) {
        printf("Bail out! no temporary directory\n");
        exit(1);
    }
}

static inline void rig_clean(void)
{
    DIR *d = opendir(rig_dir);
    const struct dirent *e;
    while (d && (e = readdir(d)))
        if (e->d_name[0] != '.' || e->d_name[1] == 't')
            unlink(rig_path(e->d_name));
    if (d)
        closedir(d);
    rmdir(rig_dir);
}

#endif
