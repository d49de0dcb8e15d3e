/* convert_members.c - every member of a configuration through every format of another program: its
 * value comes back, or the format refuses it by name. */
#include "../harness/tap.h"
#include "../harness/temp.h"
#include "base/opt.h"
#include "base/output.h"
#include "cbor/json.h"
#include "convert/convert.h"
#include "exchange/npz.h"
#include "model/load.h"

#include <ftw.h>
#include <unistd.h>

/* In place of libc's, for hundreds of directories that nobody keeps. */
int fsync(int fd)
{
    (void)fd;
    return 0;
}

/* A vocabulary of targets, and one of sources with ids of their own. */
static const char *const vocab_path[] = {"tests/golden/marian/de.spm",
                                         "tests/golden/marian/en.spm"};
enum { EOS = 0, V = 32, MOST_VALUES = 16 };

/* Values of numbers that are tried where tf_config_check allows them; d_model needs a multiple. */
static const double numbers[] = {-1, 0, 1, 2, 16, 1e-5, 0.25, V};
enum { NUMBERS = sizeof numbers / sizeof *numbers };

/* What only training uses, and ids that the decoder neither reads nor looks for. */
static bool is_of_training(const struct tf_config *c, const char *name)
{
    static const char *const names[] = {
        "dropout", "attention_dropout", "relu_dropout", "label_smoothing", "smoothing",
        "initializer", "pad", "dialect" /* position_table is compared */};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return (strcmp(name, "bos") == 0 && c->start == TF_START_ZERO) ||
           (strcmp(name, "attention_bias") == 0 && !c->attention_bias); /* comes back as zeros */
}

/* ---- models in files ---- */

static struct tf_config base(void)
{
    return (struct tf_config){.dialect = TF_AS_T2T,
                              .encoder_layers = 1,
                              .decoder_layers = 1,
                              .d_model = 8,
                              .d_ff = 8,
                              .heads = 2,
                              .d_k = 4,
                              .d_v = 4,
                              .vocab_size = V,
                              .start = TF_START_ZERO,
                              .attention_bias = true,
                              .output_bias = true,
                              .source_eos = true,
                              .norm_eps = 1e-6,
                              .bos = -1,
                              .eos = EOS,
                              .pad = -1};
}

/* Other models, to which a value may belong. */
enum { LEARNED = 2, BASES = 6 };

static struct tf_config base_number(int i)
{
    struct tf_config c = base();
    switch (i) {
    case 1:
        c.start = TF_START_BOS, c.bos = 5;
        break;
    case LEARNED:
        c.positions = TF_POS_LEARNED, c.max_positions = 20;
        break;
    case 3:
        c.tie = TF_TIE_NONE;
        break;
    case 4:
        c.tie = TF_TIE_DECODER, c.source_vocab_size = V;
        break;
    case 5:
        c.pre_norm = c.final_norm = true;
        break;
    }
    return c;
}

static void write_npz(const char *path, const struct tf_config *c)
{
    struct tf_err err = {0};
    struct tf_arena a = {0};
    struct tf_params p;
    struct tf_buf text = {0};
    struct tf_out out = {0};
    size_t n, n_target;
    const bool own = c->source_vocab_size > 0;
    char *vocab = read_file(vocab_path[own], &n), *target = read_file(vocab_path[0], &n_target);
    const struct tf_value map = tf_config_map(c, &a);
    struct tf_json j = {.out = &text};
    tf_value_to_json(&j, &map, TF_JSON_PLAIN);
    text.len--; /* "unk" goes in before the end */
    tf_buf_str(&text, ",\"unk\":1}");
    tf_params_init(&p, c);
    float *flat = calloc(p.size, sizeof *flat);
    for (size_t i = 0; i < p.size; i++)
        flat[i] = (float)(1 + i % 251) / 64;
    const struct tf_bundle b = {.tensors = tf_model_tensors(&a, &p, flat, ""),
                                .n = p.n,
                                .config = text.p,
                                .config_n = text.len,
                                .vocab = (const uint8_t *)vocab,
                                .vocab_n = n,
                                .vocab_target = own ? (const uint8_t *)target : NULL,
                                .vocab_target_n = own ? n_target : 0};
    must(tf_out_open(&out, path, TF_OUT_BINARY, &err), &err);
    must(tf_npz_write(&out, &b, &err), &err);
    must(tf_out_commit(&out, &err), &err);
    tf_params_release(&p);
    tf_buf_release(&text);
    tf_arena_release(&a);
    free(flat);
    free(vocab);
    free(target);
}

static int convert(const char *from, const char *to, enum tf_format format, struct tf_err *err)
{
    static const struct tf_opt none[] = {OPT_END};
    const struct tf_convert_opts o = {.to = (int)format, .positions = 0};
    return tf_convert(from, to, &o, "test", none, err);
}

static struct tf_config read_config(const char *path)
{
    struct tf_err err = {0};
    struct tf_model_file m = {0};
    struct tf_config c;
    must(tf_model_read(&m, path, TF_MODEL_WEIGHTS, NULL, &err), &err);
    must(tf_model_load(&m, &c, NULL, "p/", &err), &err);
    tf_model_release(&m);
    return c;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

/* ---- what is required of a format ---- */

/* Has every member the value that it had? */
static void check_same(const struct tf_config *was, const struct tf_config *is, const char *name)
{
    size_t n;
    const struct tf_member *f = tf_config_fields(&n);
    struct tf_config a = *was, b = *is;
    a.position_table = tf_config_position_table(&a);
    b.position_table = tf_config_position_table(&b);
    if (a.positions == TF_POS_LEARNED)
        a.position_table = b.position_table;
    for (size_t i = 0; i < n; i++)
        if (!is_of_training(was, f[i].name) &&
            tf_member_number(&f[i], &a) != tf_member_number(&f[i], &b))
            ok(false, "%s: %s was %g and is %g", name, f[i].name, tf_member_number(&f[i], &a),
               tf_member_number(&f[i], &b));
}

/* Is it in the message? The table of a dialect and the text of an id have other names. */
static bool is_named(const char *msg, const char *name)
{
    return strstr(msg, name) != NULL ||
           (strcmp(name, "dialect") == 0 && strstr(msg, "position_table") != NULL) ||
           (strcmp(name, "eos") == 0 && strstr(msg, "</s>") != NULL);
}

/* Convert it to the format and from it: 1; 0 if the format refuses it. */
static int try(const struct tf_config *c, enum tf_format to, const char *member)
{
    struct tf_err err = {0};
    const char *npz = temp_path("m.npz"), *dir = temp_path("dir"), *back = temp_path("back.tfm");
    write_npz(npz, c);
    nftw(dir, remove_one, 8, FTW_DEPTH);
    int rc = convert(npz, dir, to, &err);
    if (rc == 0 && (rc = convert(dir, back, TF_FORMAT_TFM, &err)) == 0) {
        const struct tf_config is = read_config(back);
        check_same(c, &is, member);
        return 1;
    }
    if (member != NULL && !is_named(err.msg, member))
        ok(false, "%s is not named: %s", member, err.msg);
    return 0;
}

/* The values of a member, without its own. */
static int values_of(double v[MOST_VALUES], const struct tf_member *f, const struct tf_config *c)
{
    const double own = tf_member_number(f, c);
    int n = 0;
    if (f->kind == TF_MEMBER_CHOICE || f->kind == TF_MEMBER_BOOL)
        for (int i = 0; f->kind == TF_MEMBER_BOOL ? i < 2 : f->choices[i] != NULL; i++)
            v[n++] = i;
    else
        for (int i = 0; i < NUMBERS; i++)
            if (numbers[i] >= f->lo && numbers[i] <= f->hi &&
                (f->kind == TF_MEMBER_REAL || numbers[i] == (double)(int64_t)numbers[i]))
                v[n++] = numbers[i];
    int left = 0;
    for (int i = 0; i < n; i++)
        if (v[i] != own)
            v[left++] = v[i];
    return left;
}

static bool is_size_of_heads(const char *name)
{
    return strcmp(name, "d_model") == 0 || strcmp(name, "heads") == 0;
}

/* The configuration with another value of that member, and what it needs: false if there is no such
 * model. */
static bool set(struct tf_config *c, const struct tf_member *f, double x)
{
    struct tf_err err = {0};
    tf_member_set(f, c, x);
    if (strcmp(f->name, "positions") == 0)
        c->max_positions = c->positions == TF_POS_LEARNED ? 20 : 0;
    if (strcmp(f->name, "start") == 0)
        c->bos = 5;
    if (is_size_of_heads(f->name)) {
        if (c->heads < 1 || c->d_model % c->heads != 0)
            return false;
        c->d_k = c->d_v = c->d_model / c->heads;
    }
    if (c->vocab_size != V || (c->source_vocab_size != 0 && c->source_vocab_size != V))
        return false; /* not those of the vocabularies */
    if (strcmp(f->name, "max_positions") == 0 && c->positions == TF_POS_SIN)
        return false; /* it has no meaning */
    return tf_config_check(c, &err) == 0;
}

/* Words in all models that the format has, numbers in the first that can have them. */
static int walk(enum tf_format to, const struct tf_member *f, const bool has[BASES])
{
    int tried = 0;
    double done[MOST_VALUES];
    const bool number = f->kind == TF_MEMBER_INT || f->kind == TF_MEMBER_REAL;
    for (int k = 0; k < BASES; k++) {
        double v[MOST_VALUES];
        const struct tf_config own = base_number(k);
        const int n = has[k] ? values_of(v, f, &own) : 0;
        for (int i = 0; i < n; i++) {
            struct tf_config c = own;
            bool again = false;
            for (int j = 0; number && j < tried; j++)
                again |= done[j] == v[i];
            if (again || !set(&c, f, v[i]))
                continue;
            try(&c, to, f->name);
            if (number)
                done[tried] = v[i];
            tried++;
        }
    }
    return tried;
}

int main(void)
{
    size_t n;
    const struct tf_member *f = tf_config_fields(&n);
    if (freopen("/dev/null", "w", stderr) == NULL) /* a note for every model that is read */
        bail_out("/dev/null");
    for (int to = TF_FORMAT_MARIAN; tf_format_is_dir(to); to++) {
        bool has[BASES];
        for (int k = 0; k < BASES; k++) {
            const struct tf_config c = base_number(k);
            has[k] = try(&c, (enum tf_format)to, NULL) != 0;
        }
        ok(has[0], "%s: a model goes there and comes back", tf_format_names[to]);
        for (size_t i = 0; i < n; i++) {
            const int tried = walk((enum tf_format)to, &f[i], has);
            /* A vocabulary has one size; positions have a number only where they are learned. */
            ok(tried > 0 || strcmp(f[i].name, "vocab_size") == 0 ||
                   (strcmp(f[i].name, "max_positions") == 0 && !has[LEARNED]),
               "%s: %s, %d times",
               tf_format_names[to], f[i].name, tried);
        }
    }
    return done();
}
