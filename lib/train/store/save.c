/* save.c - checkpoints, written while training continues. */
#include "train/store/save.h"
#include "base/memory.h"
#include "base/thread.h"
#include "model/load.h"
#include "train/store/retain.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct tf_saver {
    const struct tf_rundir *dir;
    const struct tf_save_common *common;
    struct tf_stepper *from;
    uint64_t keep, end;
    /* p, m, v, e of what is being written, NULL without a moving average; copies of them where
     * those of the stepper cannot be read */
    const float *block[TF_BLOCKS];
    float *copy[TF_BLOCKS];
    struct tf_run_state state;
    enum tf_save_kind kind;
    bool best;
    pthread_t thread;
    bool running;  /* a save began, and tf_saver_wait has not said how it ended */
    bool joinable; /* it has a thread */
    bool written;  /* the file got its name, whatever failed after that */
    atomic_bool done;
    pthread_mutex_t lock; /* guards reading */
    pthread_cond_t released;
    bool reading; /* the thread needs block[] */
    struct tf_err err;    /* of the save, read after the join */
    char *name;           /* of the file being written, without the directory */
    char *writing, *last; /* its path; that of the newest complete one */
};

char *tf_save_name(enum tf_save_kind kind, uint64_t step)
{
    static const char *const names[] = {
        [TF_SAVE_RESUME] = TF_RUN_RESUME,
        [TF_SAVE_BEST] = TF_RUN_BEST,
        [TF_SAVE_VALID] = TF_RUN_VALID,
    };
    return kind == TF_SAVE_REGULAR ? tf_rundir_regular_name(step) : tf_xstrdup(names[kind]);
}

/* Is a block in the file? */
static bool has_block(const struct tf_saver *s, int i)
{
    const bool moments = i == TF_BLOCK_M || i == TF_BLOCK_V;
    return i == TF_BLOCK_P || (s->kind != TF_SAVE_VALID && !(moments && s->common->weights_only));
}

struct tf_saver *tf_saver_new(const struct tf_rundir *dir, const struct tf_save_common *common,
                              struct tf_stepper *from, uint64_t keep, uint64_t end)
{
    struct tf_saver *s = tf_xcalloc(1, sizeof *s);
    s->dir = dir;
    s->common = common;
    s->from = from;
    s->keep = keep;
    s->end = end;
    for (int i = 0; i < TF_BLOCKS; i++)
        if (has_block(s, i) && tf_share_block(from, (enum tf_stepper_block)i) != NULL &&
            tf_stepper_live(from, (enum tf_stepper_block)i) == NULL)
            s->copy[i] = tf_xcalloc(from->w.params.size, sizeof(float));
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->released, NULL);
    return s;
}

void tf_saver_free(struct tf_saver *s)
{
    if (s == NULL)
        return;
    struct tf_err ignored = {0};
    (void)!tf_saver_wait(s, &ignored);
    for (int i = 0; i < TF_BLOCKS; i++)
        free(s->copy[i]);
    pthread_cond_destroy(&s->released);
    pthread_mutex_destroy(&s->lock);
    free(s->name);
    free(s->writing);
    free(s->last);
    free(s);
}

/* A finite gradient can produce weights or moments that are not (its square overflows). They are
 * never written. */
static int check_finite(const struct tf_saver *s, struct tf_err *err)
{
    static const char *const what[] = {"a weight", "a first moment", "a second moment",
                                       "a moving average"};
    for (int i = 0; i < TF_BLOCKS; i++)
        if (has_block(s, i) && s->block[i] != NULL &&
            !tf_tensor_finite(TF_F32, s->block[i], s->from->w.params.size * sizeof *s->block[i]))
            return tf_fail_status(err, TF_DIVERGED, "diverged at step %llu: %s is not finite",
                                  (unsigned long long)s->state.step, what[i]);
    return 0;
}

static int put_checkpoint(const struct tf_saver *s, struct tf_out *out, struct tf_err *err)
{
    static const char *const prefix[] = {"p/", "m/", "v/", "e/"};
    const struct tf_save_common *c = s->common;
    struct tf_header h = c->header;
    struct tf_arena a = {0};
    struct tf_state records[TF_STATE_RECORDS + 1];
    const struct tf_params *params = &s->from->w.params;
    const bool model = s->kind == TF_SAVE_VALID;
    size_t n_records =
               model ? 0 : tf_state_records(records, &a, &s->state, &c->settings, &c->batches),
           n = 0;
    if (c->vocab_target.kind == TF_BYTES)
        records[n_records++] = (struct tf_state){"vocab_target", c->vocab_target};
    struct tf_tensor *t = tf_arena_zalloc(&a, TF_BLOCKS * params->n * sizeof *t);
    h.kind = model ? "model" : h.kind;
    for (int i = 0; i < TF_BLOCKS; i++)
        if (has_block(s, i) && s->block[i] != NULL) {
            memcpy(t + n, tf_model_tensors(&a, params, s->block[i], prefix[i]),
                   params->n * sizeof *t);
            n += params->n;
        }
    int rc = tf_model_put(out, &h, c->vocab, c->vocab_n, records, n_records, t, n, err);
    tf_arena_release(&a);
    return rc;
}

/* Read back and check what was written before it gets its name, as a run that resumes would. */
static int verify(const struct tf_saver *s, struct tf_out *out, struct tf_err *err)
{
    struct tf_model_file m;
    struct tf_run_state state;
    if (tf_out_flush(out, err) != 0)
        return -1;
    int rc = tf_rundir_read(s->dir, tf_out_temp_name(out), &m, TF_MODEL_CHECK, err);
    if (rc == 0) {
        rc = s->kind == TF_SAVE_VALID ? 0 : tf_state_read(&state, &m, err);
        if (rc == 0 && s->kind != TF_SAVE_VALID && !tf_state_same(&state, &s->state))
            rc = tf_fail(err, "another state than was written");
        tf_model_release(&m);
    }
    return rc == 0 ? 0 : tf_context(err, "reading back the new file");
}

static void set_reading(struct tf_saver *s, bool reading)
{
    pthread_mutex_lock(&s->lock);
    s->reading = reading;
    pthread_cond_broadcast(&s->released);
    pthread_mutex_unlock(&s->lock);
}

void tf_saver_release(struct tf_saver *s)
{
    pthread_mutex_lock(&s->lock);
    while (s->reading)
        pthread_cond_wait(&s->released, &s->lock);
    pthread_mutex_unlock(&s->lock);
}

static int write_file(struct tf_saver *s, struct tf_err *err)
{
    struct tf_out out;
    if (tf_rundir_create(s->dir, &out, s->name, err) != 0)
        return -1;
    int rc = put_checkpoint(s, &out, err);
    set_reading(s, false);
    if (rc == 0)
        rc = verify(s, &out, err);
    if (rc == 0)
        rc = tf_rundir_check_lock(s->dir, err);
    if (rc == 0)
        return tf_out_commit(&out, err);
    tf_out_abort(&out);
    return rc;
}

static int save_files(struct tf_saver *s, struct tf_err *err)
{
    if (write_file(s, err) != 0)
        return -1;
    s->written = true;
    if (s->best && tf_rundir_make_best(s->dir, s->writing, err) != 0)
        return -1;
    if (s->kind != TF_SAVE_REGULAR)
        return 0;
    return tf_rundir_retain(s->dir, s->keep, s->end, s->state.step, err);
}

static int save(struct tf_saver *s, struct tf_err *err)
{
    if (check_finite(s, err) != 0)
        return -1;
    return save_files(s, err) == 0 ? 0 : tf_rundir_failed(s->dir, err);
}

static void *save_main(void *arg)
{
    struct tf_saver *s = arg;
    (void)!save(s, &s->err);
    set_reading(s, false);
    atomic_store_explicit(&s->done, true, memory_order_release);
    return NULL;
}

int tf_saver_wait(struct tf_saver *s, struct tf_err *err)
{
    if (!s->running)
        return 0;
    if (s->joinable)
        pthread_join(s->thread, NULL);
    s->running = false;
    if (s->written && s->kind != TF_SAVE_VALID)
        tf_saver_set_last(s, s->writing);
    if (s->err.status != 0) {
        *err = s->err;
        return -1;
    }
    return 1;
}

bool tf_saver_writing(const struct tf_saver *s)
{
    return s->running && !atomic_load_explicit(&s->done, memory_order_acquire);
}

int tf_saver_poll(struct tf_saver *s, struct tf_err *err)
{
    return atomic_load_explicit(&s->done, memory_order_acquire) ? tf_saver_wait(s, err) : 0;
}

/* What to write into block[]: the stepper's own memory, or a copy. */
static int take_blocks(struct tf_saver *s, struct tf_err *err)
{
    for (int i = 0; i < TF_BLOCKS; i++) {
        const enum tf_stepper_block b = (enum tf_stepper_block)i;
        if (!has_block(s, i))
            continue;
        if (s->copy[i] != NULL && tf_stepper_collect(s->from, s->copy[i], b, err) != 0)
            return -1;
        s->block[i] = s->copy[i] != NULL ? s->copy[i] : tf_stepper_live(s->from, b);
    }
    return 0;
}

int tf_saver_start(struct tf_saver *s, const struct tf_run_state *state, enum tf_save_kind kind,
                   bool best, struct tf_err *err)
{
    if (tf_saver_wait(s, err) < 0)
        return -1;
    s->kind = kind;
    if (take_blocks(s, err) != 0)
        return -1;
    free(s->name);
    free(s->writing);
    s->name = tf_save_name(kind, state->step);
    s->writing = tf_rundir_file(s->dir->path, s->name);
    s->state = *state;
    s->best = best;
    s->written = false;
    memset(&s->err, 0, sizeof s->err);
    atomic_store(&s->done, false);
    set_reading(s, s->copy[TF_BLOCK_P] == NULL);
    s->running = true;
    s->joinable = tf_thread_start(&s->thread, save_main, s) == 0;
    if (!s->joinable)
        save_main(s);
    return 0;
}

const char *tf_saver_last(const struct tf_saver *s)
{
    return s->last;
}

void tf_saver_set_last(struct tf_saver *s, const char *path)
{
    char *copy = tf_xstrdup(path);
    free(s->last);
    s->last = copy;
}
