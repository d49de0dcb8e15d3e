/* fairseq.c - see fairseq_private.h. */
#include "convert/fairseq_private.h"
#include "base/memory.h"
#include "convert/positions_private.h"
#include "convert/search_private.h"
#include "convert/segmenters_private.h"
#include "text/text_file.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { BOS, PAD, EOS, UNK, SPECIALS };

/* ---- arguments ---- */

/* The arguments of old checkpoints, or of newer ones, where they are those of the model. */
static const struct tf_py *arguments(const struct tf_import *m)
{
    const struct tf_py *args = tf_torch_dict(m->torch.root, "args");
    return args != NULL ? args : tf_torch_dict(tf_torch_dict(m->torch.root, "cfg"), "model");
}

static void refuse_argument(struct tf_import *m, const char *key, const char *value)
{
    tf_buf_item(&m->refused, "%s: %s", key, value);
}

/* Flags that change the function, and that we do not compute. */
static const char *const off[] = {"no_token_positional_embeddings",
                                  "no_cross_attention",
                                  "cross_self_attention",
                                  "char_inputs",
                                  "adaptive_input",
                                  "tie_adaptive_weights",
                                  "base_layers",
                                  "scale_attn",
                                  "scale_fc",
                                  "scale_heads",
                                  "scale_resids",
                                  "normformer"};

static void check_flags(struct tf_import *m)
{
    const struct tf_py *args = arguments(m);
    for (size_t i = 0; i < sizeof off / sizeof *off; i++)
        if (tf_torch_int(args, off[i], 0) != 0)
            refuse_argument(m, off[i], "true");
    const char *arch = tf_torch_text(args, "arch", "transformer");
    if (strncmp(arch, "transformer", 11) != 0 || strncmp(arch, "transformer_lm", 14) == 0)
        refuse_argument(m, "arch", arch);
    const char *activation = tf_torch_text(args, "activation_fn", "relu");
    int i = 0;
    while (tf_activations[i] != NULL && strcmp(activation, tf_activations[i]) != 0)
        i++;
    if (tf_activations[i] == NULL)
        refuse_argument(m, "activation_fn", activation);
    m->config.activation = (enum tf_activation)i;
    m->config.unscaled_embeddings = tf_torch_int(args, "no_scale_embedding", 0) != 0;
    m->config.embedding_norm = tf_torch_int(args, "layernorm_embedding", 0) != 0;
}

/* A number that has to be the same for both stacks. */
static int64_t both_stacks(struct tf_import *m, const char *what)
{
    const struct tf_py *args = arguments(m);
    char key[64], other[64], value[32];
    snprintf(key, sizeof key, "encoder_%s", what);
    snprintf(other, sizeof other, "decoder_%s", what);
    const int64_t x = tf_torch_int(args, key, 0), y = tf_torch_int(args, other, x);
    snprintf(value, sizeof value, "%" PRId64, y);
    if (x != y)
        refuse_argument(m, other, value);
    return x;
}

static int read_tying(struct tf_bundle *b, struct tf_config *c, bool shared, struct tf_err *err)
{
    const struct tf_tensor *source = tf_bundle_find(b, "encoder.embed_tokens.weight"),
                           *target = tf_bundle_find(b, "decoder.embed_tokens.weight"),
                           *project = tf_bundle_find(b, "decoder.output_projection.weight");
    if (project == NULL)
        project = tf_bundle_find(b, "decoder.embed_out");
    if (shared) {
        target = target != NULL ? target : source != NULL ? source : project;
        source = source != NULL ? source : target;
    }
    if (source == NULL || target == NULL || source->rank != 2 || target->rank != 2)
        return tf_fail(err, "no matrices of embeddings");
    const bool tied = project == NULL || tf_tensors_equal(target, project);
    c->tie = shared                             ? TF_TIE_ALL
             : !tied                            ? TF_TIE_NONE
             : tf_tensors_equal(source, target) ? TF_TIE_ALL
                                                : TF_TIE_DECODER;
    c->vocab_size = (int64_t)target->dims[0];
    c->source_vocab_size = c->tie == TF_TIE_ALL ? 0 : (int64_t)source->dims[0];
    return 0;
}

static double dropout_of(const struct tf_py *args, const char *key, double missing)
{
    const double p = tf_torch_real(args, key, missing);
    return p >= 0 && p <= 0.999 ? p : missing;
}

/* Those on top are there or not (no_decoder_final_norm). */
static struct tf_norms norms_of(const struct tf_import *m, const char *before, const char *top)
{
    return (struct tf_norms){.before = tf_torch_int(arguments(m), before, 0) != 0,
                             .top = tf_bundle_find(&m->bundle, top) != NULL};
}

static int read_arguments(struct tf_import *m, struct tf_err *err)
{
    static const char *const tables[] = {"encoder.embed_positions.weight",
                                         "decoder.embed_positions.weight"};
    struct tf_config *c = &m->config;
    const struct tf_py *args = arguments(m);
    check_flags(m);
    c->d_model = both_stacks(m, "embed_dim");
    m->ff[0] = tf_torch_int(args, "encoder_ffn_embed_dim", 0);
    m->ff[1] = tf_torch_int(args, "decoder_ffn_embed_dim", m->ff[0]);
    if (!tf_names_ff(m))
        refuse_argument(m, "decoder_ffn_embed_dim",
                        "less than an eighth of the encoder's, or the reverse");
    m->heads[0] = tf_torch_int(args, "encoder_attention_heads", 0);
    m->heads[1] = tf_torch_int(args, "decoder_attention_heads", m->heads[0]);
    tf_config_set_norms(c,
                        norms_of(m, "encoder_normalize_before", "encoder.layer_norm.weight"),
                        norms_of(m, "decoder_normalize_before", "decoder.layer_norm.weight"));
    const bool learned = both_stacks(m, "learned_pos") != 0;
    c->encoder_layers = tf_torch_int(args, "encoder_layers", 0);
    c->decoder_layers = tf_torch_int(args, "decoder_layers", 0);
    c->dropout = dropout_of(args, "dropout", c->dropout);
    c->attention_dropout = dropout_of(args, "attention_dropout", 0);
    c->relu_dropout = dropout_of(args, "activation_dropout", dropout_of(args, "relu_dropout", 0));
    if (tf_import_refused(m, err) != 0 || tf_names_heads(m, "encoder_embed_dim", err) != 0)
        return -1;
    return learned ? tf_positions_learned(m, tables, err) : 0;
}

/* ---- tensors ---- */

#define LINEAR(ours, theirs)       \
    {ours ".w", theirs ".weight"}, \
    {                              \
        ours ".b", theirs ".bias"  \
    }
const struct tf_names_row tf_fairseq_layers[] = {
    {"self.qkv.w", "self_attn.q_proj.weight self_attn.k_proj.weight self_attn.v_proj.weight"},
    {"self.qkv.b", "self_attn.q_proj.bias self_attn.k_proj.bias self_attn.v_proj.bias"},
    LINEAR("self.o", "self_attn.out_proj"),
    TF_FAIRSEQ_NORM("self.norm", "self_attn_layer_norm"),
    LINEAR("cross.q", "encoder_attn.q_proj"),
    {"cross.kv.w", "encoder_attn.k_proj.weight encoder_attn.v_proj.weight"},
    {"cross.kv.b", "encoder_attn.k_proj.bias encoder_attn.v_proj.bias"},
    LINEAR("cross.o", "encoder_attn.out_proj"),
    TF_FAIRSEQ_NORM("cross.norm", "encoder_attn_layer_norm"),
    LINEAR("ff.1", "fc1"),
    LINEAR("ff.2", "fc2"),
    TF_FAIRSEQ_NORM("ff.norm", "final_layer_norm"),
    {NULL, NULL},
};

#define PROJECTION "decoder.output_projection.weight decoder.embed_out"
static const struct tf_names_row model_names[] = {
    {"embed", "encoder.embed_tokens.weight decoder.embed_tokens.weight " PROJECTION},
    {"enc.embed", "encoder.embed_tokens.weight"},
    {"dec.embed", "decoder.embed_tokens.weight " PROJECTION},
    TF_FAIRSEQ_STACKS(""),
    {NULL, NULL},
};
static const struct tf_names_row untied_names[] = {
    {"enc.embed", "encoder.embed_tokens.weight"},
    {"dec.embed", "decoder.embed_tokens.weight"},
    {"dec.project", PROJECTION},
    TF_FAIRSEQ_STACKS(""),
    {NULL, NULL},
};

/* Copies of a layer's matrices, for a fast kernel, that fairseq 0.12.2 saves and does not use:
 * encoder.layers.N.in_proj_weight beside those of encoder.layers.N.self_attn. */
static bool is_copy(const char *name)
{
    static const char *const names[] = {"in_proj_weight", "in_proj_bias", "out_proj_weight",
                                        "out_proj_bias",  "fc1_weight",   "fc1_bias",
                                        "fc2_weight",     "fc2_bias"};
    int n = 0;
    if (sscanf(name, "encoder.layers.%*d.%n", &n) < 0 || n == 0)
        return false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name + n, names[i]) == 0)
            return true;
    return false;
}

/* Numbers that say how the file was written, tables that are computed, and copies. */
static bool is_not_needed(const char *name)
{
    const char *dot = strchr(name, '.');
    return dot != NULL && (strcmp(dot, ".version") == 0 ||
                           strncmp(dot, ".embed_positions.", 17) == 0 || is_copy(name));
}

/* Older checkpoints have the three projections of an attention as one matrix: as three, by rows. */
static void split_fused(struct tf_bundle *b)
{
    static const char fused[] = "attn.in_proj_", letters[] = "qkv";
    struct tf_tensor *all = tf_arena_zalloc(&b->arena, (3 * b->n + 1) * sizeof *all);
    size_t n = 0;
    for (size_t i = 0; i < b->n; i++) {
        const struct tf_tensor *t = &b->tensors[i];
        const char *at = strstr(t->name, fused);
        if (at == NULL || t->rank < 1 || t->dims[0] % 3 != 0) {
            all[n++] = *t;
            continue;
        }
        for (size_t k = 0; k < 3; k++) {
            char name[2 * TF_MAX_NAME];
            const int len = snprintf(name, sizeof name, "%.*sattn.%c_proj.%s", (int)(at - t->name),
                                     t->name, letters[k], at + sizeof fused - 1);
            all[n] = *t;
            all[n].name = tf_arena_strndup(&b->arena, name, (size_t)len);
            all[n].dims[0] = t->dims[0] / 3;
            all[n].bytes = t->bytes / 3;
            all[n++].data = (const char *)t->data + k * (t->bytes / 3);
        }
    }
    b->tensors = all;
    b->n = n;
}

int tf_fairseq_parameters(struct tf_import *m, bool shared, struct tf_err *err)
{
    if (read_tying(&m->bundle, &m->config, shared, err) != 0 ||
        tf_config_check(&m->config, err) != 0)
        return -1;
    split_fused(&m->bundle);
    const struct tf_names f = {.layers = tf_fairseq_layers,
                               .model = m->config.tie == TF_TIE_NONE ? untied_names : model_names,
                               .layer = {"encoder.layers.", "decoder.layers."},
                               .after = ".",
                               .transposed = true,
                               .is_extra = is_not_needed};
    return tf_names_import(&f, m, err);
}

bool tf_fairseq_is(const struct tf_import *m)
{
    return m->from == TF_FORMAT_TORCH && tf_torch_dict(m->torch.root, "model") != NULL &&
           arguments(m) != NULL;
}

int tf_fairseq_import(struct tf_import *m, struct tf_err *err)
{
    m->config = tf_names_config();
    m->config.position_offset = 2;
    m->config.bos = m->config.eos = EOS;
    m->config.pad = PAD;
    return tf_torch_tensors(&m->bundle, tf_torch_dict(m->torch.root, "model"), err) != 0 ||
                   read_arguments(m, err) != 0
               ? -1
               : tf_fairseq_parameters(m, false, err);
}

/* ---- dictionaries ---- */

/* Without "COUNT" or "COUNT #fairseq:overwrite" at the end of a line; 0 if they are not there. */
static size_t token_length(const char *line, size_t n)
{
    static const char overwrite[] = " #fairseq:overwrite";
    const size_t k = sizeof overwrite - 1;
    if (strlen(line) != n)
        return 0;
    while (n > 0 && (line[n - 1] == ' ' || line[n - 1] == '\r'))
        n--;
    if (n > k && memcmp(line + n - k, overwrite, k) == 0)
        n -= k;
    const size_t end = n;
    while (n > 0 && line[n - 1] >= '0' && line[n - 1] <= '9')
        n--;
    return n < end && n > 1 && line[n - 1] == ' ' ? n - 1 : 0;
}

static int by_token(const void *a, const void *b)
{
    const char *const *x = *(const char *const *const *)a, *const *y =
                                                               *(const char *const *const *)b;
    const int order = strcmp(*x, *y);
    return order != 0 ? order : (x > y) - (x < y);
}

/* A token that is there again has the last of its ids, but a special one its own, which fairseq
 * takes for unknown words and ends, whatever follows. No text becomes the others. */
static void leave_one(const char **v, size_t n, struct tf_arena *a)
{
    const char ***sorted = tf_xcalloc(n, sizeof *sorted);
    for (size_t i = 0; i < n; i++)
        sorted[i] = &v[i];
    qsort(sorted, n, sizeof *sorted, by_token);
    for (size_t kept = 0, i = 1; i < n; i++) {
        const bool again = strcmp(*sorted[kept], *sorted[i]) == 0,
                   special = sorted[kept] < v + SPECIALS;
        const size_t unused = special ? i : kept;
        if (again)
            *sorted[unused] = tf_piece_unused(a, (size_t)(sorted[unused] - v));
        kept = again && special ? kept : i;
    }
    free(sorted);
}

static int read_tokens(struct tf_piece_list *list, struct tf_arena *a, char *text, size_t n,
                       struct tf_err *err)
{
    size_t lines = 0;
    for (size_t i = 0; i < n; i++)
        lines += text[i] == '\n';
    const char **v = tf_arena_alloc(a, (lines + SPECIALS + 1) * sizeof *v);
    v[BOS] = "<s>";
    v[PAD] = "<pad>";
    v[EOS] = "</s>";
    v[UNK] = "<unk>";
    size_t k = SPECIALS;
    for (char *p = text, *end = text + n, *lf; p < end; p = lf + 1) {
        lf = memchr(p, '\n', (size_t)(end - p));
        if (lf == NULL)
            lf = end; /* where a NUL is */
        *lf = 0;
        const size_t token = token_length(p, (size_t)(lf - p));
        if (token == 0)
            return tf_fail(err, "line %zu: not a token and a count", k - SPECIALS + 1);
        v[k++] = tf_arena_strndup(a, p, token);
    }
    *list = (struct tf_piece_list){v, k};
    leave_one(v, k, a);
    return 0;
}

static int read_dictionary(struct tf_import *m, int side, const char *lang, struct tf_err *err)
{
    const char *dir = m->dir->path;
    const size_t n = strlen(lang) + sizeof "dict..txt";
    if (strchr(lang, '/') != NULL)
        return tf_fail(err, "%s: source_lang or target_lang with a /", dir);
    char *name = tf_arena_alloc(m->arena, n), *text;
    snprintf(name, n, "dict.%s.txt", lang);
    const char *path = tf_dir_path(m->dir, name);
    struct stat st;
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
        return tf_fail(err, "%s: not a regular file", path);
    size_t n_text;
    if (tf_text_read_file(&text, &n_text, path, TF_MAX_VOCAB, err) != 0)
        return -1;
    const int rc = read_tokens(&m->pieces[side], m->arena, text, n_text, err);
    free(text);
    return rc == 0 ? 0 : tf_context(err, "%s", path);
}

static int check_dictionary(const struct tf_import *m, int side, const char *lang, int64_t size,
                            struct tf_err *err)
{
    const size_t n = m->pieces[side].n;
    return n == (uint64_t)size ? 0
                               : tf_fail(err, "%s/dict.%s.txt: %zu tokens, and %lld embeddings",
                                         m->dir->path, lang, n, (long long)size);
}

/* ---- which side is which ---- */

/* The languages of sources and targets, or NULL. */
struct direction {
    const char *lang[2];
    bool known; /* which of them is the source's */
};

static const char *task_text(const struct tf_import *m, const char *key)
{
    const struct tf_py *task = tf_torch_dict(tf_torch_dict(m->torch.root, "cfg"), "task");
    return tf_torch_text(arguments(m), key, tf_torch_text(task, key, NULL));
}

/* The languages of dict.LANG.txt, if there are two. */
static bool two_langs(const struct tf_import *m, const char *langs[2])
{
    static const char begin[] = "dict.", pattern[] = "dict.*.txt";
    const char *path;
    if (tf_dir_match(m->dir, pattern, &path) != 2)
        return false;
    for (size_t i = 0, k = 0; i < m->dir->n; i++)
        if (fnmatch(pattern, m->dir->v[i].name, 0) == 0) {
            const char *lang = m->dir->v[i].name + sizeof begin - 1;
            langs[k++] = tf_arena_strndup(m->arena, lang, strlen(lang) - (sizeof ".txt" - 1));
        }
    return true;
}

/* Does the user say it? */
static bool is_given(const char *const given[2], const char *source, const char *target)
{
    return (given[0] != NULL || given[1] != NULL) &&
           (given[0] == NULL || strcmp(given[0], source) == 0) &&
           (given[1] == NULL || strcmp(given[1], target) == 0);
}

/* Does a path end with [./_]SOURCE-TARGET, and slashes? */
static bool is_of_path(const char *path, const char *source, const char *target)
{
    char end[520];
    const size_t len = (size_t)snprintf(end, sizeof end, "%s-%s", source, target);
    size_t n = strlen(path);
    while (n > 0 && path[n - 1] == '/')
        n--;
    return n > len && memcmp(path + n - len, end, len) == 0 &&
           strchr("./_", path[n - len - 1]) != NULL;
}

/* fairseq-train without -s and -t does not say in which direction it trains. The user does; or its
 * data, by custom, are in a directory NAME.SOURCE-TARGET; and one dictionary needs no direction. */
static void guess_direction(const struct tf_import *m, struct direction *d)
{
    const char *langs[2], *data = task_text(m, "data");
    if (!two_langs(m, langs))
        return;
    int source = 0;
    bool known = false;
    for (int i = 0; i < 4 && !known; i++) {
        source = i % 2;
        known = i < 2 ? is_given(m->opts->lang, langs[source], langs[1 - source])
                      : data != NULL && is_of_path(data, langs[source], langs[1 - source]);
    }
    *d = (struct direction){.lang = {langs[known ? source : 0], langs[known ? 1 - source : 1]},
                            .known = known};
}

static int read_dictionaries(struct tf_import *m, const struct direction *d, struct tf_err *err)
{
    const char *dir = m->dir->path;
    const struct tf_config *c = &m->config;
    if (read_dictionary(m, 0, d->lang[0], err) != 0 || read_dictionary(m, 1, d->lang[1], err) != 0)
        return -1;
    if (!d->known && !tf_import_same_pieces(m))
        return tf_fail(err,
                       "%s: no source_lang and target_lang in the model: which of two "
                       "dictionaries is that of sources? Name them, such as --lang %s "
                       "--target-lang %s",
                       dir, d->lang[0], d->lang[1]);
    if (check_dictionary(m, 0, d->lang[0], tf_config_source_ids(c), err) != 0 ||
        check_dictionary(m, 1, d->lang[1], c->vocab_size, err) != 0)
        return -1;
    m->header.special.unk = tf_piece_list_id(&m->pieces[1], "<unk>");
    return tf_import_one_list(m, dir, "dictionaries", err);
}

/* ---- all of it ---- */

static bool claims_fairseq_dir(const struct tf_import *m)
{
    const char *path;
    return tf_dir_match(m->dir, "dict.*.txt", &path) > 0 && tf_dir_match(m->dir, "*.pt", &path) > 0;
}

static int find_fairseq_files(struct tf_import *m, struct tf_err *err)
{
    static const char *const weights[] = {"model.pt", "checkpoint_best.pt", NULL},
                             *const codes[] = {"bpecodes", "code", NULL};
    struct tf_model_files *f = &m->files;
    struct stat st;
    if (f->weights == NULL)
        f->weights = tf_dir_first(m->dir, weights);
    f->codes = tf_dir_first(m->dir, codes);
    if (f->codes != NULL && (stat(f->codes, &st) != 0 || !S_ISREG(st.st_mode)))
        f->codes = NULL; /* a folder of code */
    if (tf_import_find_segmenters(m, m->dir, err) != 0)
        return -1;
    return tf_dir_only(m->dir, "*.pt", "name one of them", &f->weights, err);
}

static int read_fairseq(struct tf_import *m, struct tf_err *err)
{
    if (m->dir == NULL)
        return tf_fail_status(err, TF_USAGE, "%s: a model of fairseq: no dict.*.txt beside it",
                              m->name);
    if (tf_fairseq_import(m, err) != 0)
        return tf_context(err, "%s", m->name);
    struct direction d = {.lang = {task_text(m, "source_lang"), task_text(m, "target_lang")}};
    d.known = d.lang[0] != NULL && d.lang[1] != NULL;
    if (!d.known)
        guess_direction(m, &d);
    if (d.lang[0] == NULL || d.lang[1] == NULL)
        return tf_fail(err, "%s: no source_lang and target_lang", m->name);
    if (read_dictionaries(m, &d, err) != 0 || tf_import_codes(m, err) != 0)
        return -1;
    if (tf_import_segmenters(m, err) != 0)
        return m->files.vocab[0] != NULL ? -1 : tf_context(err, "%s", m->dir->path);
    if (d.known)
        (void)(tf_lang_set(m->header.lang, d.lang[0]) &&
               tf_lang_set(m->header.target_lang, d.lang[1]));
    m->vocab_name = m->dir->path;
    return 0;
}

/* fairseq-generate, with "generation" of the checkpoint. max_len_a counts the end of the source,
 * too. */
static int search_of_fairseq(struct tf_import *m, struct tf_err *err)
{
    const struct tf_py *g = tf_torch_dict(tf_torch_dict(m->torch.root, "cfg"), "generation");
    const double a = tf_torch_real(g, "max_len_a", 0), b = tf_torch_real(g, "max_len_b", 200),
                 penalty = tf_torch_real(g, "lenpen", 1);
    (void)err;
    tf_search_put_word(m, "search", "fairseq");
    tf_search_put_beam(m, tf_torch_int(g, "beam", 5), "beam");
    if (tf_torch_int(g, "unnormalized", 0) != 0)
        tf_search_put(m, "normalize", tf_value_real(0));
    else if (penalty >= 0 && penalty <= 100)
        tf_search_put(m, "normalize", tf_value_real(penalty));
    else
        tf_buf_item(&m->left, "lenpen");
    tf_search_put_limit(m, a, 1, floor(b), "max_len_a");
    tf_search_put_length(m, "min-length", tf_torch_int(g, "min_len", 1), "min_len");
    tf_search_put_length(m, "no-repeat-ngram", tf_torch_int(g, "no_repeat_ngram_size", 0),
                         "no_repeat_ngram_size");
    tf_search_put(m, "allow-unk", tf_value_bool(true));
    if (tf_torch_real(g, "unkpen", 0) != 0)
        tf_buf_item(&m->left, "unkpen");
    return 0;
}

const struct tf_program tf_fairseq = {
    .name = "fairseq",
    .claims_dir = claims_fairseq_dir,
    .find_files = find_fairseq_files,
    .claims_file = tf_fairseq_is,
    .read = read_fairseq,
    .search = search_of_fairseq,
    .beside = {".pt"},
    .in_dir = true,
    .reads_torch = true,
};
