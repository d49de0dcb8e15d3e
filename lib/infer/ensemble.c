/* ensemble.c - see ensemble_private.h. */
#include "infer/ensemble_private.h"
#include "base/hash.h"
#include "base/memory.h"
#include "infer/weights_file_private.h"
#include "stream/search_settings.h"
#include "ops/registry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Add the way out to a message about languages. */
static int or_force(struct tf_err *err)
{
    return tf_fail(err, "%s (--force-lang accepts it)", err->msg);
}

/* Does a further model fit the first one? */
static int check_same_ids(const struct tf_ensemble *m, const struct tf_config *c,
                          const struct tf_header *h, const char *path, struct tf_force force,
                          struct tf_err *err)
{
    const struct tf_config *first = &m->model[0].config;
    if (!force.vocab && tf_same_vocab(&m->header, m->name, h, path, err) != 0)
        return -1;
    if (!force.lang && tf_langs_fit(h, path, &m->header, err) != 0)
        return or_force(err);
    if (tf_config_source_ids(c) != tf_config_source_ids(first))
        return tf_fail(err, "%s: %lld ids of sources, but %s has %lld", path,
                       (long long)tf_config_source_ids(c), m->name,
                       (long long)tf_config_source_ids(first));
    if (c->source_eos != first->source_eos)
        return tf_fail(err, "%s: its sources end %s eos, those of %s %s", path,
                       c->source_eos ? "with" : "without", m->name,
                       first->source_eos ? "with it" : "without");
    if (c->vocab_size != first->vocab_size || c->eos != first->eos)
        return tf_fail(err,
                       "%s: %lld ids, with end of sentence %lld, but %s has %lld ids, with %lld",
                       path, (long long)c->vocab_size, (long long)c->eos, m->name,
                       (long long)first->vocab_size, (long long)first->eos);
    return 0;
}

static const struct tf_value *own_list(const struct tf_model_file *file)
{
    return tf_value_get(&file->state, "shortlist");
}

/* Keep what output headers need of the first file. */
static void keep_first(struct tf_ensemble *m, const struct tf_model_file *file,
                       const struct tf_config *c, const char *path)
{
    const int64_t size = file->header.size;
    m->ids = size > 0 && size < c->vocab_size ? size : c->vocab_size;
    m->source_ids = c->source_vocab_size > 0 ? c->source_vocab_size : m->ids;
    m->header = file->header;
    m->header.kind = "model";
    m->header.made = tf_value_clone(&m->arena, &file->header.made);
    m->header.search = tf_value_clone(&m->arena, &file->header.search);
    m->header.config = tf_value_null();
    m->header.extra = tf_value_null();
    m->name = tf_xstrdup(strcmp(path, "-") == 0 ? "stdin" : path);
    if (file->vocab != NULL) {
        m->vocab_n = file->vocab_n;
        m->vocab = tf_arena_alloc(&m->arena, file->vocab_n);
        memcpy(m->vocab, file->vocab, file->vocab_n);
    }
    const struct tf_value *target = tf_value_find(&file->state, "vocab_target", TF_BYTES);
    m->target_vocab = (struct tf_text){m->vocab, m->vocab_n};
    if (target != NULL)
        m->target_vocab = (struct tf_text){
            tf_arena_strndup(&m->arena, target->text, target->n), target->n};
    if (m->listed && own_list(file) != NULL)
        m->shortlist = tf_value_clone(&m->arena, own_list(file));
}

void tf_ensemble_add_input(struct tf_ensemble *m, const char *role, const uint8_t sum[32])
{
    tf_value_put(&m->arena, &m->inputs, role, tf_value_bytes(&m->arena, sum, 32));
}

static void keep_fingerprint(struct tf_ensemble *m, size_t i, const struct tf_model_file *file)
{
    char role[32] = "model";
    if (i > 0)
        snprintf(role, sizeof role, "model%zu", i + 1);
    tf_ensemble_add_input(m, tf_arena_strndup(&m->arena, role, strlen(role)), file->header.model);
    memcpy(m->fingerprint, file->header.model, 32);
}

/* What was requested. */
struct choice {
    const char *precision; /* or NULL */
    bool own_precision;
    int threads;
    bool pack; /* for decoding */
    enum tf_list_use list;
    struct tf_force force;
};

/* A file that is read. */
struct loading {
    struct tf_ensemble *m;
    const char *path;
    const struct choice *choice;
    struct tf_config config; /* of the file */
    bool tried, begun;       /* to load its weights */
    const struct tf_model_file *file;
    size_t taken; /* tensors */
};

/* ---- replicas ---- */

static struct tf_replica *first_replica(const struct tf_ensemble *m)
{
    for (size_t i = 0; i < m->replicas; i++)
        if (!m->replica[i].lost)
            return &m->replica[i];
    return NULL;
}

/* One for each device of the backend. */
static void make_replicas(struct tf_ensemble *m, size_t models)
{
    int n;
    (void)m->be->devices(&n);
    m->replicas = (size_t)n;
    m->replica = tf_xcalloc(m->replicas, sizeof *m->replica);
    for (size_t i = 0; i < m->replicas; i++)
        m->replica[i].model = tf_xcalloc(models, sizeof *m->replica->model);
    m->model = m->replica->model;
}

/* What is done on a device; -1 and err where it fails. */
typedef int replica_fn(struct tf_ensemble *m, struct tf_replica *r, void *arg, struct tf_err *err);

/* Do it on all that are not lost. Those where it fails are, unless it fails on each: -1. */
static int on_replicas(struct tf_ensemble *m, replica_fn *fn, void *arg, struct tf_err *err)
{
    struct tf_err *why = tf_xcalloc(m->replicas, sizeof *why);
    size_t worked = 0;
    for (size_t i = 0; i < m->replicas; i++)
        if (!m->replica[i].lost && fn(m, &m->replica[i], arg, &why[i]) == 0)
            worked++;
    for (size_t i = 0; i < m->replicas; i++) {
        if (why[i].status == 0)
            continue;
        if (worked > 0)
            tf_ensemble_lose(m, i, &why[i]);
        else if (err->status == 0)
            *err = why[i];
    }
    free(why);
    return worked > 0 ? 0 : -1;
}

void tf_ensemble_lose(struct tf_ensemble *m, size_t i, const struct tf_err *why)
{
    int n;
    const int *number = m->be->devices(&n);
    m->replica[i].lost = true;
    if (number != NULL)
        tf_warn("cuda:%d is left out from now on: %s", number[i], why->msg);
}

/* A model decodes in the precision that it names, or an int8 model in int8, where nothing else is
 * requested and the device can. */
static int choose_precision(struct tf_ensemble *m, const struct tf_model_file *file, bool own,
                            struct tf_err *err)
{
    const char *precision = tf_model_is_int8(file) ? "int8" : NULL;
    if (strcmp(m->be->name, "cpu") != 0)
        return 0;
    if (own && (tf_search_settings_check(&file->header.search, err) != 0 ||
                tf_value_text_of(&file->header.search, "precision", &precision, err) < 0))
        return -1;
    if (precision != NULL)
        m->be = tf_backend_find(m->be->name, precision, TF_USE_DECODING, NULL, err);
    return m->be != NULL ? 0 : -1;
}

static bool is_matrix_of_layer(const struct tf_tensor *t)
{
    const char *end = strrchr(t->name, '.');
    return strncmp(t->name, "p/", 2) == 0 && end != NULL && strcmp(end, ".w") == 0;
}

static int open_replica(struct tf_ensemble *m, struct tf_replica *r, void *arg, struct tf_err *err)
{
    const struct loading *l = arg;
    const struct tf_ctx_opts open = {.threads = l->choice->threads,
                                     .device = (int)(r - m->replica)};
    r->ctx = m->be->open(&open, err);
    return r->ctx != NULL ? 0 : -1;
}

static int begin_replica(struct tf_ensemble *m, struct tf_replica *r, void *arg, struct tf_err *err)
{
    const struct loading *l = arg;
    const enum tf_weights_use use = !l->choice->pack ? TF_WEIGHTS_FORWARD
                                    : m->listed && m->be->host ? TF_WEIGHTS_SELECTING
                                                               : TF_WEIGHTS_DECODING;
    return tf_weights_begin(&r->model[m->n], m->be, r->ctx, &l->config, l->file, use, err);
}

static int take_tensor(struct tf_ensemble *m, struct tf_replica *r, void *arg, struct tf_err *err)
{
    const struct loading *l = arg;
    return tf_weights_take(&r->model[m->n], l->file, &l->file->tensors[l->taken], err);
}

static int end_replica(struct tf_ensemble *m, struct tf_replica *r, void *arg, struct tf_err *err)
{
    const struct loading *l = arg;
    return tf_weights_end(&r->model[m->n], l->file, err);
}

/* Begin to load weights. What the first file has when that is first tried decides on the precision
 * and the shortlist. */
static int begin_loading(struct loading *l, struct tf_err *err)
{
    struct tf_ensemble *m = l->m;
    const struct choice *choice = l->choice;
    const bool first = first_replica(m)->ctx == NULL;
    if (first && choice->precision == NULL && choice->pack &&
        choose_precision(m, l->file, choice->own_precision, err) != 0)
        return tf_context(err, "%s", l->path);
    if (first)
        m->listed = choice->list > TF_LIST_OWN ||
                    (choice->list == TF_LIST_OWN && own_list(l->file) != NULL);
    if (first && on_replicas(m, open_replica, l, err) != 0)
        return -1;
    l->begun = tf_model_load(l->file, &l->config, NULL, "p/", err) == 0 &&
               on_replicas(m, begin_replica, l, err) == 0;
    return l->begun ? 0 : tf_context(err, "%s", l->path);
}

/* Load what has been read, from the first matrix of a layer on, whose type counts for the others.
 * Where it cannot begin, finish tries again: damage to the file is reported first. */
static int take_weights(void *to, struct tf_model_file *file, struct tf_err *err)
{
    struct loading *l = to;
    struct tf_ensemble *m = l->m;
    struct tf_err later = {0};
    l->file = file;
    if (!l->tried && is_matrix_of_layer(&file->tensors[file->n_tensors - 1])) {
        l->tried = true;
        (void)begin_loading(l, &later);
    }
    for (; l->begun && l->taken < file->n_tensors; l->taken++) {
        if (on_replicas(m, take_tensor, l, err) != 0)
            return tf_context(err, "%s", l->path);
        tf_weights_taken(&first_replica(m)->model[m->n], file, &file->tensors[l->taken]);
    }
    return 0;
}

/* Check a file that has been read, and load the rest. */
static int finish_loading(struct loading *l, struct tf_model_file *file, struct tf_err *err)
{
    struct tf_ensemble *m = l->m;
    l->file = file;
    if (!l->begun && (begin_loading(l, err) != 0 || take_weights(l, file, err) != 0))
        return -1;
    m->model = first_replica(m)->model;
    if (m->n == 0)
        keep_first(m, file, &l->config, l->path);
    else if (check_same_ids(m, &l->config, &file->header, l->path, l->choice->force, err) != 0)
        return -1;
    keep_fingerprint(m, m->n, file);
    if (on_replicas(m, end_replica, l, err) != 0)
        return tf_context(err, "%s", l->path);
    return 0;
}

static void release_model(struct tf_ensemble *m, size_t n)
{
    for (size_t i = 0; i < m->replicas; i++)
        tf_weights_release(&m->replica[i].model[n]);
}

/* Read a further file and load its weights. */
static int load_file(struct tf_ensemble *m, const char *path, const struct choice *choice,
                     struct tf_err *err)
{
    struct tf_model_file file;
    struct loading l = {.m = m, .path = path, .choice = choice};
    const struct tf_model_taker taker = {take_weights, &l};
    int rc = tf_model_read(&file, path, TF_MODEL_WEIGHTS, &taker, err);
    if (rc == 0)
        rc = finish_loading(&l, &file, err);
    tf_model_release(&file);
    if (rc == 0)
        m->n++;
    else
        release_model(m, m->n);
    return rc;
}

static void weigh(struct tf_ensemble *m, const struct tf_strs *paths)
{
    double sum = 0;
    bool equal = true;
    m->share = tf_xcalloc(paths->n, sizeof *m->share);
    m->weights = tf_value_null();
    for (size_t i = 0; i < paths->n; i++) {
        const double w = paths->weight != NULL ? paths->weight[i] : 1;
        sum += w;
        m->share[i] = w / sum;
        equal = equal && w == (paths->weight != NULL ? paths->weight[0] : 1);
    }
    if (equal)
        return;
    m->weights = tf_value_array();
    for (size_t i = 0; i < paths->n; i++)
        tf_value_push(&m->arena, &m->weights, tf_value_real(paths->weight[i]));
}

int tf_ensemble_open(struct tf_ensemble *m, const struct tf_strs *paths, const char *device,
                     const char *precision, bool own_precision, int threads, enum tf_use use,
                     enum tf_list_use list, struct tf_force force, struct tf_err *err)
{
    *m = (struct tf_ensemble){.inputs = tf_value_map()};
    m->be = tf_backend_find(device, precision, use, &m->no_gpu, err);
    if (m->be == NULL)
        return -1;
    const struct choice choice = {precision, own_precision, threads, use == TF_USE_DECODING,
                                  list,      force};
    make_replicas(m, paths->n);
    weigh(m, paths);
    struct tf_sha256 sha;
    tf_sha256_init(&sha);
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < paths->n; i++) {
        rc = load_file(m, paths->v[i], &choice, err);
        if (rc == 0)
            tf_sha256_add(&sha, m->fingerprint, sizeof m->fingerprint);
    }
    if (rc != 0) {
        tf_ensemble_close(m);
        return -1;
    }
    if (m->weights.kind == TF_ARRAY)
        tf_sha256_add(&sha, m->share, paths->n * sizeof *m->share);
    if (paths->n > 1)
        tf_sha256_end(&sha, m->fingerprint);
    return 0;
}

void tf_ensemble_close(struct tf_ensemble *m)
{
    for (size_t i = 0; i < m->n; i++)
        release_model(m, i);
    for (size_t i = 0; i < m->replicas; i++) {
        free(m->replica[i].model);
        if (m->replica[i].ctx != NULL)
            m->be->close(m->replica[i].ctx);
    }
    free(m->replica);
    free(m->share);
    free(m->name);
    tf_arena_release(&m->arena);
    *m = (struct tf_ensemble){0};
}

/* A GPU computes thousands of sentences at once. On the CPU with a shortlist the last product, of
 * all rows with what any sentence may have, grows with the square of their number. */
size_t tf_ensemble_batch(const struct tf_ensemble *m, int64_t requested)
{
    return requested > 0 ? (size_t)requested : !m->be->host ? 4096 : m->listed ? 16 : 64;
}

/* Of each GPU four batches: long and short ones, of which the short ones are left for the end. */
size_t tf_ensemble_window(const struct tf_ensemble *m, int64_t requested)
{
    return requested > 0 ? (size_t)requested : m->be->host ? 2048 : 16384 * m->replicas;
}

int tf_ensemble_accepts(const struct tf_ensemble *m, const struct tf_header *h, const char *name,
                        bool target, struct tf_force force, struct tf_err *err)
{
    const bool two = strcmp(h->kind, "pairs") == 0 || strcmp(h->kind, "batch") == 0;
    const long long size =
        target || (two && m->ids > m->source_ids) ? (long long)m->ids : (long long)m->source_ids;
    struct tf_header sides = *h;
    if (target) {
        memcpy(sides.target_lang, h->lang, sizeof h->lang);
        sides.lang[0] = 0;
    }
    if (!force.lang && tf_langs_fit(&sides, name, &m->header, err) != 0)
        return or_force(err);
    if (!force.vocab && tf_same_vocab(&m->header, m->name, h, name, err) != 0)
        return -1;
    if (h->size > size)
        return tf_fail(err, "%s: vocabulary of %lld ids, but %s has %lld", name, (long long)h->size,
                       m->name, size);
    return 0;
}

struct tf_header tf_ensemble_header(const struct tf_ensemble *m, struct tf_arena *a,
                                    const struct tf_header *const from[2], const char *kind,
                                    const struct tf_opt *opts)
{
    struct tf_header h = {.kind = kind,
                          .has_vocab = m->header.has_vocab,
                          .has_model = true,
                          .size = m->ids,
                          .special = m->header.special};
    const bool translation = strcmp(kind, "tokens") == 0 || strcmp(kind, "nbest") == 0;
    if (!translation && m->source_ids > m->ids)
        h.size = m->source_ids;
    memcpy(h.lang, translation ? m->header.target_lang : m->header.lang, sizeof h.lang);
    if (!translation)
        memcpy(h.target_lang, m->header.target_lang, sizeof h.target_lang);
    memcpy(h.vocab, m->header.vocab, sizeof h.vocab);
    memcpy(h.model, m->fingerprint, sizeof h.model);
    tf_header_made_from(&h, a, from[0], from[1]);
    tf_header_made(&h, a, tf_progname, opts, &m->inputs);
    if (m->weights.kind == TF_ARRAY)
        tf_value_put(a, &h.made.items[h.made.n - 1], "weights", m->weights);
    if (strcmp(m->be->precision, "fp32") != 0) /* the numbers, and so the bytes, differ */
        tf_value_put(a, &h.made.items[h.made.n - 1], "precision",
                     tf_value_str(a, m->be->precision));
    return h;
}

static int make_positions(struct tf_ensemble *m, struct tf_replica *r, void *arg,
                          struct tf_err *err)
{
    const size_t *n = arg;
    for (size_t i = 0; i < m->n; i++)
        if (tf_weights_positions(&r->model[i], *n, err) != 0)
            return -1;
    return 0;
}

int tf_ensemble_positions(struct tf_ensemble *m, size_t n, struct tf_err *err)
{
    return on_replicas(m, make_positions, &n, err);
}

size_t tf_ensemble_max_positions(const struct tf_ensemble *m)
{
    size_t most = SIZE_MAX;
    for (size_t i = 0; i < m->n; i++) {
        const struct tf_config *c = &m->model[i].config;
        if (c->positions == TF_POS_LEARNED && (size_t)c->max_positions < most)
            most = (size_t)c->max_positions;
    }
    return most;
}
