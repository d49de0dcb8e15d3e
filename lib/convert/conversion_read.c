/* conversion_read.c - read the model that is to be converted: one of ours, ours in another format,
 * or one of another program. */
#include "base/log.h"
#include "base/memory.h"
#include "convert/conversion_private.h"
#include "convert/plain_private.h"
#include "convert/programs_private.h"
#include "convert/segmenters_private.h"
#include "exchange/npz.h"
#include "exchange/safetensors.h"
#include "stream/search_settings.h"
#include "base/gunzip.h"

#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { FIRST_N = TF_TORCH_HEAD };

/* ---- the kind of a file ---- */

static bool npz_begins(const void *p, size_t n)
{
    return n >= 4 && memcmp(p, "PK", 2) == 0;
}

/* Formats of files that several programs have, by their first bytes; read: what makes a bundle of
 * one. */
static const struct file_kind {
    enum tf_format format;
    bool (*begins)(const void *p, size_t n);
    int (*read)(struct tf_bundle *b, const void *p, size_t n, struct tf_err *err);
} kinds[] = {
    {TF_FORMAT_TFM, tf_label_begins, NULL}, /* or a truncated label, even an empty one */
    {TF_FORMAT_TORCH, tf_torch_begins, NULL}, /* read_tensors */
    {TF_FORMAT_NPZ, npz_begins, tf_npz_read},
    {TF_FORMAT_SAFETENSORS, tf_safetensors_begins, tf_safetensors_read},
    {TF_FORMAT_AUTO, NULL, NULL},
};

static const struct file_kind *find_kind(const void *p, size_t n)
{
    const struct file_kind *f = kinds;
    while (f->begins != NULL && !f->begins(p, n))
        f++;
    return f;
}

/* Find the kind, through gzip: by the program whose directory it is, or by the first bytes. */
static int detect_kind(const struct file_kind **f, struct tf_import *m, struct tf_in *in, bool *cut,
                       struct tf_err *err)
{
    static const struct file_kind other = {TF_FORMAT_OTHER, NULL, NULL};
    ssize_t n;
    if (m->program != NULL && m->program->read_weights != NULL && m->program->begins == NULL) {
        *f = &other;
        return tf_ends_with(in->name, ".gz") ? tf_in_unpack(in, err) : 0; /* it may begin as gzip */
    }
    if (tf_in_refuse_terminal(in, "a model", err) != 0 || tf_in_unpack(in, err) != 0 ||
        (n = tf_in_fill(in, FIRST_N, err)) < 0)
        return -1;
    const void *first = (const char *)in->buf + in->pos;
    const struct tf_program *program = tf_program_of_bytes(m, first, (size_t)n);
    m->program = program != NULL ? program : m->program;
    *f = program != NULL ? &other : find_kind(first, (size_t)n);
    *cut = n < TF_LABEL_N;
    return (*f)->format != TF_FORMAT_AUTO
               ? 0
               : tf_fail(err,
                         "%s: not a model of tf-tools, safetensors, npz, Marian, CTranslate2 or "
                         "PyTorch",
                         in->name);
}

/* ---- options that are no question of a model ---- */

static int refuse_positions(const struct tf_import *m, struct tf_err *err)
{
    return m->opts->positions == TF_STORED_AUTO
               ? 0
               : tf_fail_status(err, TF_USAGE,
                                "--positions: %s is not a model in a directory of transformers or "
                                "CTranslate2",
                                m->name);
}

static int refuse_config(const struct tf_import *m, struct tf_err *err)
{
    return m->opts->config == NULL
               ? 0
               : tf_fail_status(err, TF_USAGE, "--config: %s has its own", m->name);
}

static int refuse_options(const struct tf_import *m, struct tf_err *err)
{
    return tf_plain_refuse_ids(m, err) != 0 || refuse_config(m, err) != 0
               ? -1
               : refuse_positions(m, err);
}

/* ---- a .tfm ---- */

static void use_own(struct tf_import *in, const struct tf_model_file *own)
{
    const struct tf_value *target = tf_value_find(&own->state, "vocab_target", TF_BYTES),
                          *list = tf_value_find(&own->state, "shortlist", TF_BYTES);
    in->header = own->header;
    if (own->vocab != NULL)
        tf_buf_add(&in->segmenter[0], own->vocab, own->vocab_n);
    if (target != NULL)
        tf_buf_add(&in->segmenter[1], target->text, target->n);
    if (list != NULL)
        tf_buf_add(&in->list, list->text, list->n);
}

/* What a list of the model is for. */
static struct tf_shortlist_vocab list_vocab(const struct tf_import *m)
{
    const struct tf_buf *source = &m->segmenter[0],
                        *target = &m->segmenter[m->segmenter[1].p != NULL];
    return (struct tf_shortlist_vocab){
        .source = source->p,
        .source_n = source->len,
        .target = target->p,
        .target_n = target->len,
        .source_ids = (size_t)tf_config_source_ids(&m->config),
        .target_ids = (size_t)m->config.vocab_size,
        .unk = m->header.special.unk,
    };
}

/* That of a .tfm, unless it is left out. */
static int check_list(const struct tf_import *m, const char *name, struct tf_err *err)
{
    const struct tf_shortlist_vocab vocab = list_vocab(m);
    struct tf_shortlist s;
    if (m->list.len == 0 || m->opts->list != NULL)
        return 0;
    if (tf_shortlist_parse(&s, m->list.p, m->list.len, &vocab, err) != 0)
        return tf_fail(err, "%s: %s (--shortlist none leaves it out)", name,
                       err->msg);
    tf_shortlist_release(&s);
    return 0;
}

static int read_own(struct tf_conversion *m, struct tf_in *in, struct tf_err *err)
{
    if (tf_model_read_in(&m->own, in, TF_MODEL_WEIGHTS, 0, err) < 0)
        return -1;
    use_own(&m->in, &m->own);
    return tf_model_load(&m->own, &m->in.config, NULL, "p/", err) != 0
               ? tf_context(err, "%s", in->name)
           : tf_plain_vocab(&m->in, in->name, err) != 0 ? -1
                                                        : check_list(&m->in, in->name, err);
}

/* ---- files of weights ---- */

static int read_first(struct tf_conversion *m, struct tf_in *in, const struct file_kind *f,
                      struct tf_err *err)
{
    struct tf_import *im = &m->in;
    struct tf_part *part = m->parts;
    m->n_parts = 1;
    /* A pipe may never end. */
    if (tf_in_all(in, &part->bytes, &part->n, in->size < 0 ? TF_MAX_TENSOR : SIZE_MAX / 2, err) !=
        0)
        return -1;
    const int rc = f->read != NULL ? f->read(&im->bundle, part->bytes, part->n, err)
                   : f->format == TF_FORMAT_OTHER
                       ? im->program->read_weights(im, part->bytes, part->n, err)
                       : tf_torch_read(&im->torch, part->bytes, part->n, err);
    im->bundle.file_n = part->n;
    return rc < 0 ? tf_context(err, "%s", in->name) : 0;
}

static int read_more(struct tf_part *part, const char *path, enum tf_format kind,
                     struct tf_err *err)
{
    if (tf_read_unpacked(&part->bytes, &part->n, path, SIZE_MAX / 2, err) != 0)
        return -1;
    const int rc = kind == TF_FORMAT_SAFETENSORS
                       ? tf_safetensors_read(&part->bundle, part->bytes, part->n, err)
                   : tf_torch_read(&part->torch, part->bytes, part->n, err) != 0
                       ? -1
                       : tf_torch_tensors(&part->bundle, part->torch.root, err);
    return rc != 0 ? tf_context(err, "%s", path) : 0;
}

/* The rest of weights in several files: one bundle. */
static int join_parts(struct tf_conversion *m, struct tf_err *err)
{
    const struct tf_model_files *files = &m->in.files;
    struct tf_bundle *b = &m->in.bundle;
    size_t n = b->n;
    while (m->n_parts <= files->n_more) {
        struct tf_part *part = &m->parts[m->n_parts];
        if (read_more(part, files->more[m->n_parts++ - 1], m->in.from, err) != 0)
            return -1;
        n += part->bundle.n;
        b->file_n += part->n;
    }
    struct tf_tensor *all = tf_arena_alloc(&b->arena, (n + 1) * sizeof *all);
    memcpy(all, b->tensors, b->n * sizeof *all);
    for (size_t i = 1; i < m->n_parts; b->n += m->parts[i++].bundle.n)
        memcpy(all + b->n, m->parts[i].bundle.tensors, m->parts[i].bundle.n * sizeof *all);
    b->tensors = all;
    return tf_tensors_unique(b->tensors, b->n, err) != 0
               ? tf_context(err, "%s and the files beside it", files->weights)
               : 0;
}

/* The tensors of all files; those of PyTorch are a dict of transformers'. */
static int read_tensors(struct tf_conversion *m, struct tf_err *err)
{
    struct tf_import *im = &m->in;
    if (im->from == TF_FORMAT_TORCH && !im->program->reads_torch) {
        if (im->json.kind != TF_MAP)
            return tf_fail(err,
                           "%s: a file of PyTorch, neither of fairseq nor in a directory of "
                           "transformers",
                           im->name);
        if (tf_torch_tensors(&im->bundle, im->torch.root, err) != 0)
            return tf_context(err, "%s", im->name);
    }
    return im->files.n_more > 0 ? join_parts(m, err) : 0;
}

/* ---- a model of another program ---- */

static void note_model(const struct tf_import *m)
{
    const struct tf_config *c = &m->config;
    const struct tf_buf *left = &m->left;
    struct tf_buf line = {0};
    tf_search_settings_line(&line, &m->header.search);
    tf_note("%s: %s, %lld + %lld layers of width %lld, %s; decoded with %s%s%s", m->name,
            m->program->name, (long long)c->encoder_layers, (long long)c->decoder_layers,
            (long long)c->d_model, tf_activations[c->activation], line.p,
            left->len > 0 ? ", but without " : "", left->len > 0 ? left->p : "");
    tf_buf_release(&line);
}

static void note_words(const struct tf_import *m)
{
    const struct tf_model_files *f = &m->files;
    if (f->vocab[0] != NULL || f->tokenizer != NULL)
        return;
    if (m->segmenter[0].p == NULL)
        tf_note("%s: no vocabulary, as its pieces are bytes: it reads streams of ids", m->name);
    else if (f->codes != NULL)
        tf_note("%s: tf-tokenize splits words by %s; its text is tokens between spaces, as Moses' "
                "tokenizer makes them",
                m->name, tf_dir_shown(m->dir, f->codes));
    else
        tf_note("%s: no SentencePiece model: its text is tokens between spaces, as another program "
                "splits it",
                m->name);
}

static void note_positions(const struct tf_import *m)
{
    if (m->guessed)
        tf_note("%s: computes what Marian computes; for a model that was trained or tuned in "
                "transformers, --positions halves is what it computes there",
                m->name);
}

/* The search that its program does with it, and notes of what was read. */
static int complete_import(struct tf_import *m, struct tf_err *err)
{
    m->header.search = tf_value_map();
    if (m->bundle.int8)
        tf_value_put(m->arena, &m->header.search, "precision", tf_value_str(m->arena, "int8"));
    if (m->program->search(m, err) != 0)
        return -1;
    note_model(m);
    note_words(m);
    note_positions(m);
    return m->segmenter[0].p == NULL ? 0 : tf_import_check_vocab(m, m->vocab_name, m->name, err);
}

/* What the user names takes the place of the directory's. */
static void use_options(struct tf_import *m)
{
    const struct tf_convert_opts *o = m->opts;
    struct tf_model_files *f = &m->files;
    m->own_pieces = o->pieces == NULL && (o->vocab == NULL || m->program->needs_pieces);
    if (!m->own_pieces) {
        f->pieces[0] = o->pieces;
        f->pieces[1] = NULL;
    }
    if (o->vocab != NULL) {
        f->vocab[0] = o->vocab;
        f->vocab[1] = o->vocab_target;
        f->tokenizer = NULL;
    }
}

static int read_program(struct tf_conversion *m, struct tf_err *err)
{
    struct tf_import *im = &m->in;
    im->header = (struct tf_header){.special = {-1, -1, -1, -1},
                                    .made = tf_value_array(),
                                    .search = tf_value_map()};
    im->program = tf_program_of(im);
    use_options(im);
    if ((!im->program->has_positions && refuse_positions(im, err) != 0) ||
        (!im->program->takes_config && refuse_config(im, err) != 0) || read_tensors(m, err) != 0 ||
        im->program->read(im, err) != 0)
        return -1;
    return im->program->search != NULL ? complete_import(im, err) : 0;
}

static int read_file(struct tf_conversion *m, struct tf_in *in, struct tf_err *err)
{
    const struct file_kind *f;
    bool cut = false;
    if (detect_kind(&f, &m->in, in, &cut, err) != 0)
        return -1;
    m->in.from = f->format;
    m->in.name = in->name;
    if (f->format != TF_FORMAT_TFM)
        return read_first(m, in, f, err) != 0 ? -1 : read_program(m, err);
    return !cut && refuse_options(&m->in, err) != 0 ? -1 : read_own(m, in, err);
}

/* ---- a directory ---- */

static void use_dir(struct tf_import *m, const struct tf_dir *d)
{
    m->dir = d;
    tf_import_read_config(m, d);
}

/* The directory of a file that is one of several in it, such as a checkpoint of fairseq. */
static int read_beside(struct tf_import *m, struct tf_dir *d, const char *input, struct tf_err *err)
{
    char *copy = tf_arena_strndup(m->arena, input, strlen(input));
    struct tf_err none = {0};
    if (tf_program_beside(NULL, input) == NULL ||
        tf_dir_list(d, m->arena, dirname(copy), &none) != 0)
        return 0;
    use_dir(m, d);
    m->program = tf_program_beside(m, input);
    if (m->program == NULL) {
        m->dir = NULL;
        m->json = tf_value_null();
        m->json_err = (struct tf_err){0};
        return 0;
    }
    m->files.weights = input;
    return m->program->find_files(m, err);
}

static int find_files(struct tf_import *m, const struct tf_dir *d, struct tf_err *err)
{
    use_dir(m, d);
    m->program = tf_program_of(m);
    return m->program->find_files(m, err);
}

static int read_dir(struct tf_import *m, struct tf_dir *d, struct tf_package *package,
                    const char *input, struct tf_err *err)
{
    struct stat st;
    m->files.vocab[0] = m->opts->vocab;
    m->files.vocab[1] = m->opts->vocab_target;
    if (strcmp(input, "-") == 0 || stat(input, &st) != 0)
        return 0;
    if (S_ISREG(st.st_mode) && tf_ends_with(input, ".argosmodel"))
        return tf_dir_unpack(d, m->arena, input, package, err) != 0 ? -1 : find_files(m, d, err);
    if (S_ISREG(st.st_mode))
        return read_beside(m, d, input, err);
    return !S_ISDIR(st.st_mode)                        ? 0
           : tf_dir_list(d, m->arena, input, err) != 0 ? -1
                                                       : find_files(m, d, err);
}

/* ---- the shortlist ---- */

static int read_list(struct tf_import *m, const char *path, const struct tf_shortlist_cut *cut,
                     struct tf_err *err)
{
    const struct tf_shortlist_vocab vocab = list_vocab(m);
    struct tf_shortlist s;
    uint8_t sum[32];
    bool text;
    if (tf_shortlist_read(&s, path, &vocab, cut, sum, &text, err) != 0)
        return -1;
    tf_buf_release(&m->list);
    tf_shortlist_put(&m->list, &s);
    tf_shortlist_release(&s);
    return m->list.len <= TF_MAX_VOCAB
               ? 0
               : tf_fail(err, "%s: a shortlist of %zu bytes in a model, at most %zu", path,
                         m->list.len, TF_MAX_VOCAB);
}

/* That of --shortlist, or of the directory. */
static int set_list(struct tf_import *m, struct tf_err *err)
{
    const char *given = m->opts->list;
    const struct tf_model_files *f = &m->files;
    if (given != NULL && strcmp(given, "none") == 0) {
        tf_buf_release(&m->list);
        return 0;
    }
    if (given != NULL)
        return read_list(m, given, NULL, err);
    if (f->list == NULL)
        return 0;
    if (read_list(m, f->list, f->has_cut ? &f->list_cut : NULL, err) != 0)
        return tf_fail(err, "%s (--shortlist none does without)", err->msg);
    tf_note("%s: with its shortlist, %s (tf-decode --shortlist none searches without)", m->name,
            f->list);
    return 0;
}

/* --search */
static int set_search(struct tf_import *m, const struct tf_strs *settings, struct tf_err *err)
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
        const char *key = tf_arena_strndup(m->arena, text, (size_t)(value - text));
        if (tf_search_settings_set(map, m->arena, key, value + 1, err) != 0)
            return tf_fail_status(err, TF_USAGE, "--%s", err->msg);
    }
    if (settings->n > 0 && tf_search_settings_check(map, err) != 0)
        return tf_fail_status(err, TF_USAGE, "--%s", err->msg);
    return 0;
}

/* The model that im->files.weights, or else input, is. */
static int read_files(struct tf_conversion *m, const char **input, struct tf_err *err)
{
    struct tf_import *im = &m->in;
    struct tf_in in;
    if (tf_in_open(&in, im->files.weights != NULL ? im->files.weights : *input, err) != 0)
        return -1;
    if (im->dir != NULL && im->dir->package != NULL) {
        free(in.name);
        in.name = tf_xstrdup(*input);
    }
    m->parts = tf_arena_zalloc(&m->arena, (im->files.n_more + 1) * sizeof *m->parts);
    int rc = read_file(m, &in, err);
    if (rc == 0)
        rc = set_search(im, &im->opts->search, err);
    if (rc == 0)
        rc = set_list(im, err);
    *input = tf_arena_strndup(&m->arena, in.name, strlen(in.name));
    tf_in_close(&in);
    return rc;
}

int tf_conversion_read(struct tf_conversion *m, const char **input, const struct tf_convert_opts *o,
                       struct tf_err *err)
{
    struct tf_dir dir = {0};
    struct tf_package package = {0};
    m->in.arena = &m->arena;
    m->in.opts = o;
    int rc = read_dir(&m->in, &dir, &package, *input, err);
    if (rc == 0)
        rc = read_files(m, input, err);
    if (rc != 0)
        tf_dir_show(&dir, err);
    tf_package_release(&package);
    return rc;
}
