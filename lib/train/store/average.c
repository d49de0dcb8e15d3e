/* average.c - means of weights. */
#include "train/store/average.h"
#include "base/log.h"
#include "base/memory.h"
#include "model/load.h"
#include "train/settings/presets.h"
#include "train/store/state.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
    OTHER_FILES = 32, /* descriptors besides the inputs */
    NAMED = 10,       /* checkpoints named in a message */
};

/* ---- the command ---- */

static bool add_single(struct tf_buf *b, const char *dir, bool ema)
{
    static const char *const names[] = {TF_RUN_BEST, TF_RUN_RESUME};
    bool found = false;
    for (int i = 0; i < 2 && !found; i++) {
        char *path = tf_rundir_file(dir, names[i]);
        found = access(path, R_OK) == 0;
        if (found) {
            tf_buf_printf(b, "tf-avgckpt %s", ema ? "--ema " : "");
            tf_buf_shell_file(b, path);
        }
        free(path);
    }
    return found;
}

/* A name in the current directory that no file has, so that the command overwrites no model. */
static void add_output(struct tf_buf *b)
{
    char name[32] = "model.tfm";
    for (int i = 2; i < 1000 && access(name, F_OK) == 0; i++)
        snprintf(name, sizeof name, "model-%d.tfm", i);
    tf_buf_printf(b, " -o %s", name);
}

bool tf_advise_average(struct tf_buf *b, const char *dir, uint64_t n, bool ema)
{
    if (n > 0) {
        tf_buf_printf(b, "tf-avgckpt %s-n %llu ", ema ? "--ema " : "", (unsigned long long)n);
        tf_buf_shell_file(b, dir);
    } else if (!add_single(b, dir, ema)) {
        return false;
    }
    add_output(b);
    return true;
}

uint64_t tf_count_regular(const char *dir, uint64_t most)
{
    struct tf_checkpoint_list l;
    struct tf_err err;
    if (tf_rundir_list(&l, dir, &err) != 0)
        return 0;
    uint64_t n = l.n < most ? l.n : most;
    tf_checkpoint_list_release(&l);
    return n;
}

/* ---- which checkpoints ---- */

/* Is it a checkpoint of its step? 0; 1 for a directory, and for a model that is no checkpoint. */
static int check_checkpoint(const struct tf_checkpoint_file *f, struct tf_err *err)
{
    struct tf_model_file m;
    struct stat st;
    uint64_t step;
    if (stat(f->path, &st) == 0 && S_ISDIR(st.st_mode))
        return 1;
    if (tf_model_read(&m, f->path, TF_MODEL_HEAD, NULL, err) != 0)
        return -1;
    int rc = strcmp(m.header.kind, "checkpoint") != 0;
    if (rc == 0 && (rc = tf_state_step(&step, &m, err)) != 0)
        tf_context(err, "%s", f->path);
    else if (rc == 0)
        rc = tf_checkpoint_check_step(f, step, err);
    tf_model_release(&m);
    return rc;
}

/* The number of checkpoints that the preset averages with which the run began or was continued
 * last; base's if the provenance names none. */
static int usual_number(uint64_t *number, const char *path, struct tf_err *err)
{
    struct tf_model_file m;
    struct tf_settings s = {0};
    const char *preset = "base", *as = "";
    if (tf_model_read(&m, path, TF_MODEL_HEAD, NULL, err) != 0)
        return -1;
    for (size_t i = m.header.made.n; i-- > 0;) {
        const struct tf_value *stage = &m.header.made.items[i], *opts = tf_value_get(stage, "opts");
        const char *prog;
        struct tf_err quiet = {0};
        if (tf_value_text_of(stage, "prog", &prog, &quiet) != 0 || strcmp(prog, "tf-train") != 0)
            continue;
        if (tf_value_text_of(opts, "preset", &preset, &quiet) < 0 ||
            tf_value_text_of(opts, "as", &as, &quiet) < 0)
            preset = "base";
        break;
    }
    enum tf_dialect dialect = strcmp(as, tf_dialects[TF_AS_T2T]) == 0 ? TF_AS_T2T : TF_AS_PAPER;
    struct tf_err quiet = {0};
    if (tf_preset(&s, preset, dialect, &quiet) == 0 || tf_preset(&s, "base", dialect, err) == 0)
        *number = (uint64_t)s.average;
    tf_model_release(&m);
    return 0;
}

/* Name the checkpoints that exist, and the command that works with them. */
static void fail_too_few(const struct tf_checkpoint_list *l, const char *dir, uint64_t wanted,
                         bool ema, struct tf_err *err)
{
    struct tf_buf b = {0};
    tf_buf_printf(&b, "%zu regular checkpoint%s", l->n, l->n == 1 ? "" : "s");
    for (size_t i = 0; i < l->n && i < NAMED; i++)
        tf_buf_printf(&b, "%s%llu", i == 0 ? " (of step " : ", ", (unsigned long long)l->v[i].step);
    if (l->n > 0)
        tf_buf_str(&b, l->n > NAMED ? ", ...)" : ")");
    else
        tf_buf_str(&b, " (files such as ckpt-00000100.tfm)");
    if (wanted > 0)
        tf_buf_printf(&b, ", %llu requested", (unsigned long long)wanted);
    struct tf_buf command = {0};
    if (tf_advise_average(&command, dir, l->n, ema))
        tf_buf_printf(&b, "; try: %s", command.p);
    tf_fail(err, "%s: %s", dir, b.p);
    tf_buf_release(&command);
    tf_buf_release(&b);
}

/* No more than the checkpoints that there are. */
static void take_available(uint64_t *number, bool usual, const struct tf_checkpoint_list *l,
                           const char *dir)
{
    if (l->n == 0 || l->n >= *number)
        return;
    tf_note("%s: only %zu of %s%llu checkpoints; averaging %s", dir, l->n,
            usual ? "the usual " : "", (unsigned long long)*number,
            l->n == 1 ? "this one" : "these");
    *number = l->n;
}

/* Keep the newest *last checkpoints of a list, or if that is 0 the usual number, which *last
 * becomes: from the newest down, so that an older one that is damaged does not matter. */
static int keep_newest(struct tf_checkpoint_list *l, uint64_t *last, struct tf_err *err)
{
    size_t first = l->n; /* l->v[first] and the rest are kept */
    for (size_t i = l->n; i-- > 0 && (*last == 0 || l->n - first < *last);) {
        const int rc = check_checkpoint(&l->v[i], err);
        if (rc < 0)
            return -1;
        if (rc > 0) {
            tf_warn("%s: not a checkpoint; skipped", l->v[i].path);
            continue;
        }
        const struct tf_checkpoint_file f = l->v[i];
        l->v[i] = l->v[--first];
        l->v[first] = f;
        if (*last == 0 && usual_number(last, f.path, err) != 0)
            return -1;
    }
    for (size_t i = 0; i < first; i++)
        free(l->v[i].path);
    l->n -= first;
    if (l->n > 0)
        memmove(l->v, l->v + first, l->n * sizeof *l->v);
    return 0;
}

/* The last *last of a directory, oldest first; *last becomes their number. See tf_average_run. */
static int pick(struct tf_checkpoint_list *l, const char *dir, uint64_t *last, bool exact, bool ema,
                struct tf_err *err)
{
    const bool usual = *last == 0;
    if (tf_rundir_list(l, dir, err) != 0)
        return -1;
    int rc = keep_newest(l, last, err);
    if (rc == 0 && !exact)
        take_available(last, usual, l, dir);
    if (rc == 0 && (l->n == 0 || l->n < *last)) {
        fail_too_few(l, dir, exact ? *last : 0, ema, err);
        rc = -1;
    }
    if (rc != 0)
        tf_checkpoint_list_release(l);
    return rc;
}

/* The first input's header and shapes, and the sums. */
struct mean {
    struct tf_arena arena;
    struct tf_header header; /* of the first */
    struct tf_config config;
    struct tf_params params;
    struct tf_one_vocab all; /* of the inputs so far */
    uint8_t *vocab;
    size_t vocab_n;
    struct tf_state target; /* the segmenter of targets, if the models have one */
    double *sum;            /* params.size */
    struct tf_value inputs; /* MAP: number -> fingerprint */
};

static int begin_mean(struct mean *s, const struct tf_model_file *m, const char *path,
                      struct tf_err *err)
{
    s->header = m->header;
    s->header.config = tf_value_clone(&s->arena, &m->header.config);
    s->header.made = tf_value_clone(&s->arena, &m->header.made);
    s->header.search = tf_value_clone(&s->arena, &m->header.search);
    s->header.extra = tf_value_map();
    if (tf_model_load(m, &s->config, NULL, "p/", err) != 0)
        return tf_context(err, "%s", path);
    if (tf_one_vocab_add(&s->all, &m->header, path, err) != 0)
        return -1;
    tf_params_init(&s->params, &s->config);
    s->sum = tf_try_alloc(s->params.size * sizeof *s->sum, err);
    if (s->sum == NULL)
        return -1;
    memset(s->sum, 0, s->params.size * sizeof *s->sum);
    return 0;
}

/* The vocabulary is that of the first model that carries it; others may only name it. */
static void take_vocab(struct mean *s, const struct tf_model_file *m)
{
    if (s->vocab != NULL || m->vocab == NULL)
        return;
    s->vocab = memcpy(tf_xmalloc(m->vocab_n), m->vocab, m->vocab_n);
    s->vocab_n = m->vocab_n;
    const struct tf_value *target = tf_value_find(&m->state, "vocab_target", TF_BYTES);
    if (target != NULL)
        s->target = (struct tf_state){"vocab_target", tf_value_clone(&s->arena, target)};
}

static int same_model(struct mean *s, const struct tf_model_file *m, const char *path,
                      const char *first, struct tf_err *err)
{
    char text[400];
    size_t at = 0;
    struct tf_arena a = {0};
    const struct tf_value x = tf_config_explicit(&m->header.config, &a),
                          y = tf_config_explicit(&s->header.config, &a);
    const bool differs = tf_differs(text, sizeof text, &at, &x, path, &y, first);
    tf_arena_release(&a);
    if (differs)
        return tf_fail(err, "not the same model: %s", text);
    if (m->header.has_vocab != s->header.has_vocab)
        return tf_fail(err, "%s: %s a vocabulary, unlike %s", path,
                       m->header.has_vocab ? "names" : "does not name", first);
    return tf_one_vocab_add(&s->all, &m->header, path, err);
}

static int add_file(struct mean *s, size_t i, struct tf_in *in, const char *first, bool ema,
                    struct tf_err *err)
{
    struct tf_model_file m;
    struct tf_config config;
    float *flat = NULL;
    char number[32];
    if (tf_model_read_in(&m, in, ema ? 0 : TF_MODEL_WEIGHTS, 0, err) != 0)
        return -1;
    int rc = i == 0 ? begin_mean(s, &m, in->name, err) : same_model(s, &m, in->name, first, err);
    if (rc == 0 && (rc = tf_model_load(&m, &config, &flat, ema ? "e/" : "p/", err)) != 0)
        tf_context(err, "%s%s", in->name, ema ? ": no moving average (--ema)" : "");
    if (rc == 0) {
        take_vocab(s, &m);
        for (size_t k = 0; k < s->params.size; k++)
            s->sum[k] += (double)flat[k];
        snprintf(number, sizeof number, "%zu", i + 1);
        tf_value_put(&s->arena, &s->inputs, number,
                     tf_value_bytes(&s->arena, m.header.model, 32));
    }
    free(flat);
    tf_model_release(&m);
    return rc;
}

static int put_mean(struct mean *s, struct tf_out *out, size_t n, const char *prog,
                    const struct tf_opt *opts, struct tf_err *err)
{
    float *flat = tf_try_alloc(s->params.size * sizeof *flat, err);
    if (flat == NULL)
        return -1;
    for (size_t k = 0; k < s->params.size; k++)
        flat[k] = (float)(s->sum[k] / (double)n);
    s->header.kind = "model";
    tf_header_made(&s->header, &s->arena, prog, opts, &s->inputs);
    struct tf_tensor *t = tf_model_tensors(&s->arena, &s->params, flat, "p/");
    int rc = tf_model_put(out, &s->header, s->vocab, s->vocab_n, &s->target, s->target.name != NULL,
                          t, s->params.n, err);
    free(flat);
    return rc;
}

/* All inputs are open at once, and the usual soft limit is 1024 descriptors. */
static void raise_limit(size_t n)
{
    struct rlimit l;
    rlim_t want = (rlim_t)n + OTHER_FILES;
    if (getrlimit(RLIMIT_NOFILE, &l) != 0 || l.rlim_cur == RLIM_INFINITY || l.rlim_cur >= want)
        return;
    l.rlim_cur = l.rlim_max == RLIM_INFINITY || l.rlim_max > want ? want : l.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &l); /* if it fails, opening reports it */
}

static void close_inputs(struct tf_in *in, size_t n)
{
    for (size_t i = 0; i < n; i++)
        tf_in_close(&in[i]);
    free(in);
}

static int open_inputs(struct tf_in **in, const char *const *paths, size_t n, struct tf_err *err)
{
    raise_limit(n);
    *in = tf_xcalloc(n, sizeof **in);
    for (size_t i = 0; i < n; i++)
        if (tf_in_open(&(*in)[i], paths[i], err) != 0) {
            close_inputs(*in, i);
            return -1;
        }
    return 0;
}

/* Closes the inputs. */
static int average(const char *output, struct tf_in *in, size_t n, bool ema, const char *prog,
                   const struct tf_opt *opts, struct tf_err *err)
{
    struct mean s = {.all = TF_NO_VOCAB, .inputs = tf_value_map()};
    struct tf_out out = {0};
    int rc = tf_out_open(&out, output, TF_OUT_BINARY, err);
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = add_file(&s, i, &in[i], in[0].name, ema, err);
    if (rc == 0)
        rc = put_mean(&s, &out, n, prog, opts, err);
    if (rc == 0)
        rc = tf_out_commit(&out, err);
    tf_out_abort(&out);
    close_inputs(in, n);
    free(s.vocab);
    free(s.sum);
    tf_params_release(&s.params);
    tf_arena_release(&s.arena);
    return rc;
}

int tf_average(const char *output, const char *const *paths, size_t n, bool ema, const char *prog,
               const struct tf_opt *opts, struct tf_err *err)
{
    struct tf_in *in;
    return open_inputs(&in, paths, n, err) == 0 ? average(output, in, n, ema, prog, opts, err) : -1;
}

/* Pick the checkpoints and open them. */
static int open_run(struct tf_in **in, const char *dir, uint64_t *last, bool exact, bool ema,
                    struct tf_err *err)
{
    struct tf_checkpoint_list l;
    if (pick(&l, dir, last, exact, ema, err) != 0)
        return -1;
    const char **paths = tf_xcalloc(l.n, sizeof *paths);
    for (size_t i = 0; i < l.n; i++)
        paths[i] = l.v[i].path;
    int rc = open_inputs(in, paths, l.n, err);
    free(paths);
    tf_checkpoint_list_release(&l);
    return rc;
}

int tf_average_run(const char *output, const char *dir, uint64_t n, bool exact, bool ema,
                   const char *prog, const struct tf_opt *opts, struct tf_err *err)
{
    struct tf_in *in;
    uint64_t found;
    int own = output != NULL && strcmp(output, "-") != 0 ? tf_rundir_owns(dir, output, err) : 0;
    if (own != 0)
        return own < 0 ? -1 : tf_fail_status(err, TF_USAGE, "%s: a file of the run itself", output);
    /* A run in progress may delete its oldest checkpoint between our listing and our open: list
     * again. Open files stay readable. */
    for (int attempt = 1; found = n, open_run(&in, dir, &found, exact, ema, err) != 0; attempt++) {
        if (attempt == 3 || err->sys != ENOENT)
            return -1;
        *err = (struct tf_err){0};
    }
    return average(output, in, (size_t)found, ema, prog, opts, err);
}
