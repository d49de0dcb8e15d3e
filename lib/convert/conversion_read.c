/* conversion_read.c - read the model that is to be converted: one of ours, ours in another format,
 * or one of another program. */
#include "cbor/json.h"
#include "convert/conversion_private.h"
#include "convert/convert.h"
#include "convert/fairseq_private.h"
#include "convert/marian_private.h"
#include "convert/model_dir_private.h"
#include "convert/positions_private.h"
#include "exchange/ct2_bin.h"
#include "exchange/marian_bin.h"
#include "exchange/npz.h"
#include "exchange/safetensors.h"
#include "model/search_settings.h"
#include "text/gunzip.h"
#include "text/vocab_file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_KEYS = 1000, FIRST_N = TF_TORCH_HEAD };

/* ---- configuration: a JSON object of the settings, and entries of our header: "unk", the labels
 * of languages and, unless the file contains the vocabulary itself, its SHA-256 as "vocab" ---- */

/* Move what is not of the settings to the header; the rest of map becomes *settings. */
static int split_config(struct tf_conversion *m, const struct tf_value *map,
                        struct tf_value *settings, struct tf_err *err)
{
    struct tf_header *h = &m->header;
    *settings = tf_value_map();
    for (size_t i = 0; i < map->n; i++) {
        const struct tf_value *v = &map->items[i];
        if (strcmp(map->keys[i], "unk") == 0) {
            if (tf_value_int_of(map, "unk", -1, INT64_MAX, &h->special.unk, err) < 0)
                return -1;
        } else if (strcmp(map->keys[i], "vocab") == 0) {
            struct tf_value hash;
            if (v->kind != TF_TEXT || v->n != 64 ||
                tf_value_from_hex(&hash, &m->arena, v->text, v->n, err) != 0)
                return tf_fail(err, "vocab: not a SHA-256 in hex");
            memcpy(h->vocab, hash.text, sizeof h->vocab);
            h->has_vocab = true;
        } else if (strcmp(map->keys[i], "lang") == 0 || strcmp(map->keys[i], "target_lang") == 0) {
            char *label = map->keys[i][0] == 'l' ? h->lang : h->target_lang;
            if (v->kind != TF_TEXT || !tf_lang_set(label, v->text))
                return tf_fail(err, "%s: no language label", map->keys[i]);
        } else if (strcmp(map->keys[i], "search") == 0) {
            if (v->kind != TF_MAP)
                return tf_fail(err, "search: not an object");
            if (tf_search_settings_check(v, err) != 0)
                return -1;
            h->search = *v;
        } else if (settings->n == MAX_KEYS) {
            return tf_fail(err, "more than %d keys", MAX_KEYS);
        } else {
            tf_value_put(&m->arena, settings, map->keys[i], *v);
        }
    }
    return 0;
}

static int read_config(struct tf_conversion *m, const char *text, size_t n, struct tf_err *err)
{
    struct tf_value map, settings;
    if (tf_value_from_json_text(&map, &m->arena, text, n, TF_JSON_PLAIN, "value", err) < 0)
        return tf_context(err, "config");
    if (map.kind != TF_MAP)
        return tf_fail(err, "config: not a JSON object");
    if (split_config(m, &map, &settings, err) != 0)
        return tf_context(err, "config");
    if (tf_config_read(&m->config, &settings, err) != 0)
        return -1;
    if (m->header.special.unk >= m->config.vocab_size)
        return tf_fail(err, "config: unk: %lld in a vocabulary of %lld",
                       (long long)m->header.special.unk, (long long)m->config.vocab_size);
    return 0;
}

/* ---- reading ---- */

static bool npz_begins(const void *p, size_t n)
{
    return n >= 4 && memcmp(p, "PK", 2) == 0;
}

static bool label_begins(const void *p, size_t n) /* or is a truncated label, even an empty one */
{
    return tf_label_begins(p, n);
}

/* Formats of files by their first bytes; read: what makes a bundle of one. */
static const struct file_format {
    enum tf_format format;
    bool (*begins)(const void *p, size_t n);
    int (*read)(struct tf_bundle *b, const void *p, size_t n, struct tf_err *err);
} file_formats[] = {
    {TF_FORMAT_TFM, label_begins, NULL},
    {TF_FORMAT_TORCH, tf_torch_begins, NULL}, /* two steps: read_bundle, read_state */
    {TF_FORMAT_NPZ, npz_begins, tf_npz_read},
    {TF_FORMAT_MARIAN_BIN, tf_marian_bin_begins, tf_marian_bin_read},
    {TF_FORMAT_CT2_BIN, tf_ct2_bin_begins, tf_ct2_bin_read},
    {TF_FORMAT_SAFETENSORS, tf_safetensors_begins, tf_safetensors_read},
    {TF_FORMAT_AUTO, NULL, NULL},
};

static const struct file_format *format_of(const void *p, size_t n)
{
    const struct file_format *f = file_formats;
    while (f->begins != NULL && !f->begins(p, n))
        f++;
    return f;
}

static int read_own(struct tf_conversion *m, struct tf_in *in, struct tf_err *err)
{
    if (tf_model_read_in(&m->own, in, TF_MODEL_WEIGHTS, 0, err) < 0)
        return -1;
    m->header = m->own.header;
    m->vocab = m->own.vocab;
    m->vocab_n = m->own.vocab_n;
    const struct tf_value *target = tf_value_get(&m->own.state, "vocab_target");
    if (target != NULL && target->kind == TF_BYTES) {
        m->vocab_target = (const uint8_t *)target->text;
        m->vocab_target_n = target->n;
    }
    return tf_model_load(&m->own, &m->config, NULL, "p/", err) != 0
               ? tf_context(err, "%s", in->name)
               : 0;
}

/* ---- one of our models in another format ---- */

static int read_bundle(struct tf_conversion *m, struct tf_in *in, const struct file_format *f,
                       struct tf_err *err)
{
    struct tf_bundle *b = &m->bundle;
    /* A pipe may never end. */
    if (tf_in_all(in, &m->bytes, &m->n, in->size < 0 ? TF_MAX_TENSOR : SIZE_MAX / 2, err) != 0)
        return -1;
    const int rc = f->read != NULL ? f->read(b, m->bytes, m->n, err)
                                   : tf_torch_read(&m->torch, m->bytes, m->n, err);
    if (rc < 0 && m->from == TF_FORMAT_NPZ && tf_ends_with(in->name, ".argosmodel"))
        return tf_fail(err, "%s: a package of Argos: unpack it with unzip, and name its directory",
                       in->name);
    if (rc < 0)
        return tf_context(err, "%s", in->name);
    b->file_n = m->n;
    m->header = (struct tf_header){.version = 1,
                                   .special = {-1, -1, -1, -1},
                                   .made = tf_value_array(),
                                   .search = tf_value_map(),
                                   .extra = tf_value_map()};
    return 0;
}

/* --vocab in place of the file's own. */
static int replace_vocab(struct tf_conversion *m, const char *path, struct tf_err *err)
{
    char *bytes;
    size_t n;
    if (tf_vocab_file_read(&bytes, &n, NULL, path, err) != 0)
        return -1;
    tf_buf_add(&m->vocab_buf, bytes, n);
    free(bytes);
    m->vocab = (const uint8_t *)m->vocab_buf.p;
    m->vocab_n = m->vocab_buf.len;
    return 0;
}

/* A vocabulary of our own models, which another may replace. */
static int read_own_vocab(struct tf_conversion *m, const char *name,
                          const struct tf_convert_opts *o, struct tf_err *err)
{
    if (o->vocab != NULL && replace_vocab(m, o->vocab, err) != 0)
        return -1;
    if (m->vocab == NULL || (m->from == TF_FORMAT_TFM && o->vocab == NULL))
        return 0;
    return tf_conversion_check_vocab(m, o->vocab != NULL ? o->vocab : name,
                                     o->config != NULL ? o->config : name, err);
}

static int read_plain(struct tf_conversion *m, const char *name, const struct tf_model_dir *dir,
                      const struct tf_convert_opts *o, struct tf_err *err)
{
    const char *file = name;
    (void)dir;
    const struct tf_bundle *b = &m->bundle;
    if (o->pieces != NULL || o->vocab_target != NULL)
        return tf_fail_status(err, TF_USAGE, "--%s: %s has ids of its own",
                              o->pieces != NULL ? "pieces" : "vocab-target", name);
    m->vocab = b->vocab;
    m->vocab_n = b->vocab_n;
    m->vocab_target = b->vocab_target;
    m->vocab_target_n = b->vocab_target_n;
    const size_t longer = m->vocab_n > m->vocab_target_n ? m->vocab_n : m->vocab_target_n;
    if (longer > TF_MAX_VOCAB)
        return tf_fail(err, "%s: a vocabulary of %zu bytes: at most %zu", name, longer,
                       TF_MAX_VOCAB);
    const char *config = b->config;
    char *own = NULL;
    size_t n = b->config_n;
    if (o->config != NULL) {
        if (tf_read_file(&own, &n, o->config, TF_MAX_CONFIG, err) != 0)
            return -1;
        config = own;
        name = o->config;
    }
    int rc = -1;
    if (config == NULL)
        tf_fail(err, "%s: contains no configuration; use --config", name);
    else if (n > TF_MAX_CONFIG)
        tf_fail(err, "%s: a configuration of %zu bytes: at most %d", name, n, TF_MAX_CONFIG);
    else if (read_config(m, config, n, err) != 0)
        tf_context(err, "%s", name);
    else
        rc = 0;
    free(own);
    return rc != 0 ? -1 : read_own_vocab(m, file, o, err);
}

/* ---- any of them ---- */

/* Which table of positions: a question of two formats only. */
static int refuse_positions(const char *name, const struct tf_convert_opts *o, struct tf_err *err)
{
    return o->positions == TF_STORED_AUTO
               ? 0
               : tf_fail_status(err, TF_USAGE,
                                "--positions: %s is not a model in a directory of transformers or "
                                "CTranslate2",
                                name);
}

static int refuse_config(const char *name, const struct tf_convert_opts *o, struct tf_err *err)
{
    return o->config == NULL ? 0
                             : tf_fail_status(err, TF_USAGE, "--config: %s has its own", name);
}

static int refuse_options(const char *name, const struct tf_convert_opts *o, struct tf_err *err)
{
    if (o->pieces != NULL || o->vocab_target != NULL)
        return tf_fail_status(err, TF_USAGE, "--%s: %s has ids of its own",
                              o->pieces != NULL ? "pieces" : "vocab-target", name);
    return refuse_config(name, o, err) != 0 ? -1 : refuse_positions(name, o, err);
}

/* Find the format, through gzip. */
static int detect(const struct file_format **f, struct tf_in *in, bool *cut, struct tf_err *err)
{
    ssize_t n;
    if (tf_in_refuse_terminal(in, "a model", err) != 0 || (n = tf_in_fill(in, FIRST_N, err)) < 0)
        return -1;
    if (tf_is_gzip(in->buf + in->pos, (size_t)n) &&
        (tf_gunzip(in, err) != 0 || (n = tf_in_fill(in, FIRST_N, err)) < 0))
        return -1;
    *f = format_of((const char *)in->buf + in->pos, (size_t)n);
    *cut = n < TF_LABEL_N;
    return (*f)->format != TF_FORMAT_AUTO
               ? 0
               : tf_fail(err,
                         "%s: not a model of tf-tools, safetensors, npz, Marian, CTranslate2 or "
                         "PyTorch",
                         in->name);
}

/* The parameters of a file of PyTorch, which are those of a model of transformers. */
static int read_state(struct tf_conversion *m, const char *name, const char *config,
                      struct tf_err *err)
{
    if (config == NULL)
        return tf_fail(err,
                       "%s: a file of PyTorch, neither of fairseq nor in a directory of "
                       "transformers",
                       name);
    return tf_torch_tensors(&m->bundle, m->torch.root, err) != 0 ? tf_context(err, "%s", name) : 0;
}

static int read_part(struct tf_part *part, const char *path, enum tf_format format,
                     struct tf_err *err)
{
    if (tf_read_file(&part->bytes, &part->n, path, SIZE_MAX / 2, err) != 0)
        return -1;
    const int rc = format == TF_FORMAT_SAFETENSORS
                       ? tf_safetensors_read(&part->bundle, part->bytes, part->n, err)
                   : tf_torch_read(&part->torch, part->bytes, part->n, err) != 0
                       ? -1
                       : tf_torch_tensors(&part->bundle, part->torch.root, err);
    return rc != 0 ? tf_context(err, "%s", path) : 0;
}

/* The rest of weights in several files: one bundle. */
static int read_parts(struct tf_conversion *m, const struct tf_model_dir *dir, struct tf_err *err)
{
    struct tf_bundle *b = &m->bundle;
    size_t n = b->n;
    if (dir->n_more == 0)
        return 0;
    m->more = tf_arena_zalloc(&m->arena, dir->n_more * sizeof *m->more);
    while (m->n_more < dir->n_more) {
        struct tf_part *part = &m->more[m->n_more];
        if (read_part(part, dir->more[m->n_more++], m->from, err) != 0)
            return -1;
        n += part->bundle.n;
        b->file_n += part->n;
    }
    struct tf_tensor *all = tf_arena_alloc(&b->arena, (n + 1) * sizeof *all);
    memcpy(all, b->tensors, b->n * sizeof *all);
    for (size_t i = 0; i < m->n_more; b->n += m->more[i++].bundle.n)
        memcpy(all + b->n, m->more[i].bundle.tensors, m->more[i].bundle.n * sizeof *all);
    b->tensors = all;
    return tf_tensors_unique(b->tensors, b->n, err) != 0
               ? tf_context(err, "%s and the files beside it", dir->weights)
               : 0;
}

/* ---- which program a file is from ---- */

static bool is_fairseq(const struct tf_conversion *m, const struct tf_model_dir *dir)
{
    (void)dir;
    return m->from == TF_FORMAT_TORCH && tf_fairseq_is(&m->torch);
}

static bool is_ct2(const struct tf_conversion *m, const struct tf_model_dir *dir)
{
    (void)dir;
    return m->from == TF_FORMAT_CT2_BIN;
}

static bool is_fsmt(const struct tf_conversion *m, const struct tf_model_dir *dir)
{
    (void)m;
    return dir->fsmt;
}

static bool is_hf(const struct tf_conversion *m, const struct tf_model_dir *dir)
{
    (void)m;
    return dir->config != NULL;
}

static bool is_marian(const struct tf_conversion *m, const struct tf_model_dir *dir)
{
    (void)dir;
    return tf_marian_is(&m->bundle);
}

static bool is_plain(const struct tf_conversion *m, const struct tf_model_dir *dir)
{
    (void)m, (void)dir;
    return true;
}

/* The first that claims a file has it. */
static const struct program {
    bool (*claims)(const struct tf_conversion *m, const struct tf_model_dir *dir);
    int (*read)(struct tf_conversion *m, const char *name, const struct tf_model_dir *dir,
                const struct tf_convert_opts *o, struct tf_err *err);
    bool positions, config; /* Are --positions and --config questions of its models? */
    bool reads_torch;       /* it takes a file of PyTorch as it is */
} programs[] = {
    {is_fairseq, tf_conversion_read_fairseq, .reads_torch = true},
    {is_ct2, tf_conversion_read_ct2, .positions = true},
    {is_fsmt, tf_conversion_read_fsmt, .positions = false},
    {is_hf, tf_conversion_read_hf, .positions = true},
    {is_marian, tf_conversion_read_marian, .config = true},
    {is_plain, read_plain, .config = true},
};

/* dir: that of the file; all of it NULL where there is none. */
static int read_foreign(struct tf_conversion *m, const char *name, const struct tf_model_dir *dir,
                        const struct tf_convert_opts *o, struct tf_err *err)
{
    const struct program *p = programs;
    while (!p->claims(m, dir))
        p++;
    if ((!p->positions && refuse_positions(name, o, err) != 0) ||
        (!p->config && refuse_config(name, o, err) != 0))
        return -1;
    if (m->from == TF_FORMAT_TORCH && !p->reads_torch &&
        read_state(m, name, dir->config, err) != 0)
        return -1;
    return read_parts(m, dir, err) != 0 ? -1 : p->read(m, name, dir, o, err);
}

static int read_file(struct tf_conversion *m, struct tf_in *in, const struct tf_model_dir *dir,
                     const struct tf_convert_opts *o, struct tf_err *err)
{
    const struct file_format *f;
    bool cut;
    if (detect(&f, in, &cut, err) != 0)
        return -1;
    m->from = f->format;
    if (m->from != TF_FORMAT_TFM)
        return read_bundle(m, in, f, err) != 0 ? -1 : read_foreign(m, in->name, dir, o, err);
    if ((!cut && refuse_options(in->name, o, err) != 0) || read_own(m, in, err) != 0)
        return -1;
    return read_own_vocab(m, in->name, o, err);
}

/* The settings that Marian writes beside a model, or NULL. */
static const char *decoder_beside(struct tf_conversion *m, const char *input)
{
    static const char end[] = ".decoder.yml";
    const size_t n = strlen(input);
    char *path = tf_arena_alloc(&m->arena, n + sizeof end);
    memcpy(path, input, n);
    memcpy(path + n, end, sizeof end);
    return tf_convert_reads_beside(input) && access(path, F_OK) == 0 ? path : NULL;
}

/* Options that a directory answers, where the user did not. */
static int read_dir(struct tf_conversion *m, const char **input, struct tf_model_dir *d,
                    struct tf_convert_opts *o, struct tf_err *err)
{
    struct stat st;
    if (strcmp(*input, "-") == 0 || stat(*input, &st) != 0)
        return 0;
    const bool beside = S_ISREG(st.st_mode) && tf_ends_with(*input, ".pt");
    if (!beside && !S_ISDIR(st.st_mode)) {
        o->settings = decoder_beside(m, *input);
        return 0;
    }
    *d = (struct tf_model_dir){.vocab = o->vocab, .vocab_target = o->vocab_target};
    if ((beside ? tf_model_dir_read_beside : tf_model_dir_read)(d, &m->arena, *input, err) != 0)
        return -1;
    if (d->weights == NULL)
        return 0;
    *input = d->weights;
    if (o->pieces == NULL && (o->vocab == NULL || d->needs_pieces)) {
        o->pieces = d->pieces;
        o->pieces_target = d->pieces_target;
        o->tokens = d->tokens;
        o->added_tokens = d->added_tokens;
        o->tokenizer_config = d->tokenizer_config;
    }
    o->codes = d->codes;
    o->begin = d->begin;
    o->argos = d->argos;
    o->settings = d->settings;
    if (o->vocab != NULL) /* then all of it is the user's */
        return 0;
    o->vocab = d->vocab;
    o->vocab_target = d->vocab_target;
    o->tokenizer = d->tokenizer;
    return 0;
}

/* --search */
static int set_search(struct tf_conversion *m, const struct tf_strs *settings, struct tf_err *err)
{
    struct tf_value *map = &m->header.search;
    for (size_t i = 0; i < settings->n; i++) {
        const char *text = settings->v[i], *value = strchr(text, '=');
        if (strcmp(text, "none") == 0) {
            *map = tf_value_map();
            continue;
        }
        if (value == NULL)
            return tf_fail_status(err, TF_USAGE, "--search %s: neither KEY=VALUE nor none", text);
        const char *key = tf_arena_strndup(&m->arena, text, (size_t)(value - text));
        if (tf_search_settings_set(map, &m->arena, key, value + 1, err) != 0)
            return tf_fail_status(err, TF_USAGE, "--%s", err->msg);
    }
    if (settings->n > 0 && tf_search_settings_check(map, err) != 0)
        return tf_fail_status(err, TF_USAGE, "--%s", err->msg);
    return 0;
}

int tf_conversion_read(struct tf_conversion *m, const char **input,
                       const struct tf_convert_opts *opts, struct tf_err *err)
{
    struct tf_convert_opts o = *opts;
    struct tf_model_dir dir = {0};
    struct tf_in in;
    if (read_dir(m, input, &dir, &o, err) != 0 || tf_in_open(&in, *input, err) != 0)
        return -1;
    int rc = read_file(m, &in, &dir, &o, err);
    if (rc == 0)
        rc = set_search(m, &o.search, err);
    *input = tf_arena_strndup(&m->arena, in.name, strlen(in.name));
    tf_in_close(&in);
    return rc;
}
