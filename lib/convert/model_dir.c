/* model_dir.c - see model_dir_private.h. */
#include "base/buf.h"
#include "base/input.h"
#include "base/memory.h"
#include "base/path.h"
#include "cbor/json.h"
#include "convert/hf_type_private.h"
#include "convert/model_dir_private.h"
#include "exchange/yaml.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_FILES = 1000, MAX_SETTINGS = 1 << 20 };

struct dir {
    struct tf_arena *a;
    const char *path;
    const char *name[MAX_FILES];
    size_t n;
};

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Opening a pipe would wait for its writer. */
static bool is_file(int dir, const char *name)
{
    struct stat st;
    return fstatat(dir, name, &st, 0) == 0 && (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode));
}

static int list(struct dir *d, struct tf_err *err)
{
    DIR *open = opendir(d->path);
    struct dirent *e;
    if (open == NULL)
        return tf_fail_errno(err, "%s", d->path);
    for (errno = 0; d->n < MAX_FILES && (e = readdir(open)) != NULL; errno = 0)
        if (e->d_name[0] != '.' && is_file(dirfd(open), e->d_name))
            d->name[d->n++] = tf_arena_strndup(d->a, e->d_name, strlen(e->d_name));
    const int failed = errno;
    closedir(open);
    errno = failed;
    if (failed != 0)
        return tf_fail_errno(err, "%s", d->path);
    qsort(d->name, d->n, sizeof *d->name, by_name);
    return d->n < MAX_FILES ? 0 : tf_fail(err, "%s: more than %d files", d->path, MAX_FILES - 1);
}

/* The path of a file below the directory. */
static const char *at(const struct dir *d, const char *name)
{
    const size_t n = strlen(d->path) + strlen(name) + 2;
    char *path = tf_arena_alloc(d->a, n);
    snprintf(path, n, "%s/%s", d->path, name);
    return path;
}

/* The path of that file, or NULL. */
static const char *has(const struct dir *d, const char *name)
{
    for (size_t i = 0; i < d->n; i++)
        if (strcmp(d->name[i], name) == 0)
            return at(d, name);
    return NULL;
}

/* How many names match a pattern; *path is the first of them, if there is one. */
static size_t matching(const struct dir *d, const char *pattern, const char **path)
{
    size_t n = 0;
    for (size_t i = 0; i < d->n; i++)
        if (fnmatch(pattern, d->name[i], 0) == 0 && n++ == 0)
            *path = at(d, d->name[i]);
    return n;
}

/* *path: what it is already, or the only file that matches. also: what to do if there are more. */
static int one_of(const struct dir *d, const char *pattern, const char *also, const char **path,
                  struct tf_err *err)
{
    const char *found = NULL;
    const size_t n = matching(d, pattern, &found);
    if (n > 1 && *path == NULL)
        return tf_fail(err, "%s: %zu files %s: %s", d->path, n, pattern, also);
    *path = *path != NULL ? *path : found;
    return 0;
}

/* ---- CTranslate2 ---- */

/* side: "shared_" and the like */
static const char *list_of(const struct dir *d, const char *side)
{
    static const char *const ends[] = {"json", "txt"};
    char name[64];
    const char *path = NULL;
    for (size_t i = 0; i < 2 && path == NULL; i++) {
        snprintf(name, sizeof name, "%svocabulary.%s", side, ends[i]);
        path = has(d, name);
    }
    return path;
}

static bool is_ct2(const struct dir *d)
{
    return has(d, "model.bin") != NULL &&
           (list_of(d, "shared_") != NULL || list_of(d, "source_") != NULL ||
            list_of(d, "") != NULL /* of a model without an encoder, or of speech */);
}

/* The segmenters, if there are any, under the names that converters and packages give them. */
static void find_segmenters(const struct dir *d, struct tf_model_dir *m)
{
    static const char *const shared[] = {"sentencepiece.model", "sentencepiece.bpe.model",
                                         "spm.model", "source.spm"};
    for (size_t i = 0; i < sizeof shared / sizeof *shared && m->vocab == NULL; i++)
        m->vocab = has(d, shared[i]);
    m->vocab_target = has(d, "target.spm");
}

static int read_ct2(const struct dir *d, struct tf_model_dir *m, struct tf_err *err)
{
    m->needs_pieces = true;
    m->weights = has(d, "model.bin");
    m->config = has(d, "config.json");
    m->pieces = list_of(d, "shared_");
    if (m->pieces == NULL)
        m->pieces = list_of(d, "");
    if (m->vocab == NULL)
        find_segmenters(d, m);
    if (m->pieces != NULL)
        return 0;
    m->pieces = list_of(d, "source_");
    m->pieces_target = list_of(d, "target_");
    return m->pieces_target != NULL ? 0 : tf_fail(err, "%s: no target_vocabulary", d->path);
}

/* target_prefix of metadata.json, if it has one. */
static int read_metadata(const struct dir *d, struct tf_model_dir *m, const char *path,
                         struct tf_err *err)
{
    char *json;
    size_t n;
    struct tf_value v;
    const char *prefix = "";
    if (tf_read_file(&json, &n, path, MAX_SETTINGS, err) != 0)
        return -1;
    int rc = tf_value_from_json_text(&v, d->a, json, n, TF_JSON_PLAIN, "value", err);
    free(json);
    if (rc == 0)
        rc = v.kind != TF_MAP ? tf_fail(err, "not a JSON object")
             : tf_value_text_of(&v, "target_prefix", &prefix, err) < 0 ? -1
                                                                       : 0;
    m->begin = *prefix != 0 ? prefix : NULL;
    return rc != 0 ? tf_context(err, "%s", path) : 0;
}

/* A package of Argos: the model is in a folder of it. */
static bool is_package(const struct dir *d)
{
    return has(d, "metadata.json") != NULL && has(d, "model") != NULL;
}

static int read_package(const struct dir *d, struct tf_model_dir *m, struct tf_err *err)
{
    struct dir inner = {.a = d->a, .path = at(d, "model")};
    m->argos = true;
    find_segmenters(d, m);
    if (m->vocab == NULL)
        m->codes = has(d, "bpe.model");
    if (read_metadata(d, m, has(d, "metadata.json"), err) != 0 || list(&inner, err) != 0)
        return -1;
    return is_ct2(&inner) ? read_ct2(&inner, m, err)
                          : tf_fail(err, "%s: no model of CTranslate2", inner.path);
}

/* ---- fairseq ---- */

static bool is_fairseq(const struct dir *d)
{
    const char *path;
    return matching(d, "dict.*.txt", &path) > 0 && matching(d, "*.pt", &path) > 0;
}

/* Those of dict.LANG.txt. */
static void find_langs(const struct dir *d, struct tf_model_dir *m)
{
    const char *path;
    if (matching(d, "dict.*.txt", &path) != 2)
        return;
    for (size_t i = 0, k = 0; i < d->n; i++)
        if (fnmatch("dict.*.txt", d->name[i], 0) == 0)
            m->langs[k++] = tf_arena_strndup(d->a, d->name[i] + 5, strlen(d->name[i]) - 9);
}

static int read_fairseq(const struct dir *d, struct tf_model_dir *m, struct tf_err *err)
{
    static const char *const names[] = {"model.pt", "checkpoint_best.pt"};
    struct stat st;
    for (size_t i = 0; i < 2 && m->weights == NULL; i++)
        m->weights = has(d, names[i]);
    m->fairseq = d->path;
    find_langs(d, m);
    m->codes = has(d, "bpecodes");
    if (m->codes == NULL)
        m->codes = has(d, "code");
    if (m->codes != NULL && (stat(m->codes, &st) != 0 || !S_ISREG(st.st_mode)))
        m->codes = NULL; /* a folder of code */
    find_segmenters(d, m);
    return one_of(d, "*.pt", "name one of them", &m->weights, err);
}

/* ---- transformers ---- */

/* The files that the weight_map of an index names, each once, in the order of their names. */
static int use_index(const struct dir *d, struct tf_model_dir *m, const char *index,
                     const struct tf_value *map, struct tf_err *err)
{
    if (map == NULL || map->kind != TF_MAP || map->n == 0)
        return tf_fail(err, "%s: no weight_map", index);
    const char **v = tf_arena_alloc(d->a, map->n * sizeof *v);
    size_t n = 0;
    for (size_t i = 0; i < map->n; i++) {
        const struct tf_value *file = &map->items[i];
        if (file->kind != TF_TEXT || strchr(file->text, '/') != NULL)
            return tf_fail(err, "%s: %.80s: not the name of a file", index, map->keys[i]);
        v[i] = file->text;
    }
    qsort(v, map->n, sizeof *v, by_name);
    for (size_t i = 0; i < map->n; i++) {
        if (i > 0 && strcmp(v[i], v[i - 1]) == 0)
            continue;
        if (has(d, v[i]) == NULL)
            return tf_fail(err, "%s: no %.200s, which %s names", d->path, v[i],
                           tf_path_name(index));
        v[n++] = v[i];
    }
    for (size_t i = 0; i < n; i++)
        v[i] = at(d, v[i]);
    m->weights = v[0];
    m->more = v + 1;
    m->n_more = n - 1;
    return 0;
}

static int read_index(const struct dir *d, struct tf_model_dir *m, const char *index,
                      struct tf_err *err)
{
    char *json;
    size_t n;
    struct tf_value v;
    if (tf_read_file(&json, &n, index, MAX_SETTINGS, err) != 0)
        return -1;
    const int rc = tf_value_from_json_text(&v, d->a, json, n, TF_JSON_PLAIN, "value", err);
    free(json);
    if (rc != 0)
        return tf_context(err, "%s", index);
    return use_index(d, m, index, v.kind == TF_MAP ? tf_value_get(&v, "weight_map") : NULL, err);
}

static int read_weights(const struct dir *d, struct tf_model_dir *m, struct tf_err *err)
{
    static const char *const names[] = {"model.safetensors", "pytorch_model.bin"};
    m->config = has(d, "config.json");
    for (size_t i = 0; i < 2; i++) {
        char name[64];
        m->weights = has(d, names[i]);
        if (m->weights != NULL)
            return 0;
        snprintf(name, sizeof name, "%s.index.json", names[i]);
        const char *index = has(d, name);
        if (index != NULL)
            return read_index(d, m, index, err);
    }
    return tf_fail(err,
                   "%s: no model.safetensors or pytorch_model.bin, the weights: they come with "
                   "config.json",
                   d->path);
}

/* A file that belongs to a tokenizer, by the name of its class. */
static int require(const struct dir *d, const char **to, const char *name, const char *of,
                   struct tf_err *err)
{
    *to = has(d, name);
    return *to != NULL ? 0
                       : tf_fail(err,
                                 "%s: no %s, a file of %s: copy it from the model that this one "
                                 "comes from",
                                 d->path, name, of);
}

static bool is_fsmt(const struct dir *d)
{
    return has(d, "vocab-src.json") != NULL || has(d, "vocab-tgt.json") != NULL;
}

static int read_fsmt(const struct dir *d, struct tf_model_dir *m, struct tf_err *err)
{
    static const char of[] = "FSMTTokenizer";
    m->fsmt = m->needs_pieces = true;
    m->tokens = has(d, "tokenizer_config.json");
    return read_weights(d, m, err) != 0 || require(d, &m->pieces, "vocab-src.json", of, err) != 0 ||
                   require(d, &m->pieces_target, "vocab-tgt.json", of, err) != 0 ||
                   require(d, &m->codes, "merges.txt", of, err) != 0
               ? -1
               : 0;
}

/* transformers 5 writes no SentencePiece model of NLLB's, and no special_tokens_map.json. */
static int read_m2m(const struct dir *d, struct tf_model_dir *m, struct tf_err *err)
{
    const char *map = has(d, "special_tokens_map.json");
    m->needs_pieces = true;
    m->pieces = has(d, "vocab.json");
    m->tokens = map != NULL ? map : m->tokenizer_config;
    m->vocab = has(d, "sentencepiece.bpe.model");
    if ((map == NULL && m->pieces == NULL) || m->vocab == NULL)
        m->tokenizer = has(d, "tokenizer.json");
    return m->tokenizer != NULL ? 0
                                : require(d, &m->vocab, "sentencepiece.bpe.model",
                                          "NllbTokenizer or M2M100Tokenizer", err);
}

static int read_marian_mt(const struct dir *d, struct tf_model_dir *m, struct tf_err *err)
{
    static const char of[] = "MarianTokenizer";
    if (has(d, "source.spm") == NULL && has(d, "tokenizer.json") != NULL) {
        m->tokenizer = has(d, "tokenizer.json");
        return 0;
    }
    if (require(d, &m->vocab, "source.spm", of, err) != 0 ||
        require(d, &m->pieces, "vocab.json", of, err) != 0)
        return -1;
    m->vocab_target = has(d, "target.spm");
    return has(d, "target_vocab.json") == NULL
               ? 0
               : tf_fail(err, "%s: target_vocab.json: separate vocabularies are not supported",
                         d->path);
}

static int read_hf(const struct dir *d, struct tf_model_dir *m, struct tf_err *err)
{
    const char *type;
    if (tf_hf_type(&type, d->a, has(d, "config.json"), err) != 0)
        return -1;
    if (strcmp(type, "fsmt") == 0 || is_fsmt(d))
        return read_fsmt(d, m, err);
    if (read_weights(d, m, err) != 0)
        return -1;
    m->added_tokens = has(d, "added_tokens.json");
    m->tokenizer_config = has(d, "tokenizer_config.json");
    return strcmp(type, "m2m_100") == 0 ? read_m2m(d, m, err) : read_marian_mt(d, m, err);
}

/* ---- Marian ---- */

#define NAME_ONE "name one of them, with --vocab (and --vocab-target, if targets have their own)"

/* A file that the settings name: without the directory where it was when they were written. */
static const char *named(const struct dir *d, const char *path)
{
    const char *windows = strrchr(tf_path_name(path), '\\');
    return has(d, windows != NULL ? windows + 1 : tf_path_name(path));
}

static int read_settings(const struct dir *d, struct tf_model_dir *m, const char *path,
                         struct tf_err *err)
{
    char *text;
    size_t n;
    struct tf_yaml y;
    if (tf_read_file(&text, &n, path, MAX_SETTINGS, err) != 0)
        return -1;
    const int rc = tf_yaml_read(&y, d->a, text, n, err);
    free(text);
    if (rc != 0)
        return tf_context(err, "%s", path);
    const struct tf_yaml_entry *models = tf_yaml_find(&y, "models"),
                               *vocabs = tf_yaml_find(&y, "vocabs");
    if (models != NULL && models->n > 1)
        return tf_fail(err, "%s: %zu models: " NAME_ONE, path, models->n);
    m->weights = models != NULL && models->n == 1 ? named(d, models->v[0]) : NULL;
    if (vocabs == NULL || vocabs->n == 0 || m->vocab != NULL)
        return 0;
    const char *source = named(d, vocabs->v[0]), *target = named(d, vocabs->v[vocabs->n - 1]);
    if (source == NULL || target == NULL)
        return tf_fail(err, "%s: a vocabulary that is not in the directory", path);
    if (tf_ends_with(source, ".spm")) {
        m->vocab = source;
        m->vocab_target = target;
    } else if (strcmp(source, target) == 0) {
        m->pieces = source;
    } else {
        return tf_fail(err, "%s: separate vocabularies are not supported", path);
    }
    return 0;
}

/* Those of both sides, as OPUS-MT and Firefox name them, or the only one. */
static int find_vocabularies(const struct dir *d, struct tf_model_dir *m, struct tf_err *err)
{
    m->vocab = has(d, "source.spm");
    m->vocab_target = has(d, "target.spm");
    if (m->vocab == NULL && matching(d, "srcvocab.*.spm", &m->vocab) > 0) {
        (void)matching(d, "trgvocab.*.spm", &m->vocab_target);
    } else if (m->vocab == NULL) {
        if (one_of(d, "*.spm", "name those of sources and targets, --vocab and --vocab-target",
                   &m->vocab, err) != 0)
            return -1;
        m->vocab_target = m->vocab;
    }
    return m->pieces == NULL && m->vocab_target != m->vocab
               ? one_of(d, "*vocab.yml", "name one of them, with --vocab and --vocab-target",
                        &m->pieces, err)
               : 0;
}

static int read_marian(const struct dir *d, struct tf_model_dir *m, struct tf_err *err)
{
    const char *settings = has(d, "decoder.yml");
    if (settings == NULL)
        (void)matching(d, "*decoder.yml", &settings);
    if (settings == NULL)
        (void)matching(d, "config*.yml", &settings);
    m->settings = settings;
    if (settings != NULL && read_settings(d, m, settings, err) != 0)
        return -1;
    if (one_of(d, "*.npz", NAME_ONE, &m->weights, err) != 0 ||
        one_of(d, "model*.bin*", NAME_ONE, &m->weights, err) != 0)
        return -1;
    if (m->weights == NULL)
        return tf_fail(err, "%s: no model of a format that is known", d->path);
    if (m->vocab == NULL && find_vocabularies(d, m, err) != 0)
        return -1;
    return m->vocab != NULL ? 0 : tf_fail(err, "%s: no SentencePiece model (.spm)", d->path);
}

int tf_model_dir_read_beside(struct tf_model_dir *m, struct tf_arena *a, const char *path,
                             struct tf_err *err)
{
    char *copy = tf_arena_strndup(a, path, strlen(path));
    struct dir d = {.a = a, .path = dirname(copy)};
    struct tf_err none = {0};
    *m = (struct tf_model_dir){0};
    if (list(&d, &none) != 0 || !is_fairseq(&d))
        return 0;
    m->weights = path;
    return read_fairseq(&d, m, err);
}

static bool is_hf(const struct dir *d)
{
    return has(d, "config.json") != NULL;
}

static bool is_another(const struct dir *d)
{
    return d != NULL;
}

/* The first that claims a directory has it. */
static const struct {
    bool (*claims)(const struct dir *d);
    int (*read)(const struct dir *d, struct tf_model_dir *m, struct tf_err *err);
} programs[] = {
    {is_ct2, read_ct2},
    {is_package, read_package},
    {is_fairseq, read_fairseq},
    {is_hf, read_hf},
    {is_another, read_marian},
};

int tf_model_dir_read(struct tf_model_dir *m, struct tf_arena *a, const char *path,
                      struct tf_err *err)
{
    struct dir d = {.a = a, .path = path};
    size_t i = 0;
    if (list(&d, err) != 0)
        return -1;
    while (!programs[i].claims(&d))
        i++;
    return programs[i].read(&d, m, err);
}
