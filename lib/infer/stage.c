/* stage.c - see stage.h. */
#include "infer/stage.h"
#include "base/thread.h"

int tf_stage_open(struct tf_stage *s, const struct tf_stage_opts *o, enum tf_use use,
                  const struct tf_stage_inputs *in, const char *output, unsigned out_flags,
                  const struct tf_opt *table, struct tf_err *err)
{
    *s = (struct tf_stage){.o = o, .table = table, .bads.policy = o->bad};
    s->threads = o->threads > 0 ? (int)o->threads : tf_threads_default();
    if (tf_out_open(&s->file, output, out_flags, err) < 0 ||
        tf_models_open(&s->models, &o->models, o->device, o->precision, s->threads, use,
                       o->force_vocab, err) < 0)
        return -1;
    s->batch = tf_models_batch(&s->models, o->batch);
    s->in = tf_paired_new(&s->models, in->v, in->n, in->alone, in->second, err);
    return s->in != NULL ? 0 : -1;
}

static int begin_part(void *arg, const struct tf_header *const from[2], struct tf_err *err)
{
    struct tf_stage *s = arg;
    if (s->job->kind == NULL)
        return 0;
    tf_writer_release(&s->out);
    tf_arena_clear(&s->header_mem);
    struct tf_header h =
        tf_models_header(&s->models, &s->header_mem, from, s->job->kind, s->table);
    if (s->job->header != NULL)
        s->job->header(s->job->arg, &h, from);
    if (tf_writer_begin(&s->out, &s->file, &h, err) < 0)
        return -1;
    s->begun = true;
    return 0;
}

static int run_window(void *arg, struct tf_pair_entry *v, size_t n, struct tf_err *err)
{
    struct tf_stage *s = arg;
    return s->job->window(s->job->arg, v, n, err);
}

static int flush(void *arg, struct tf_err *err)
{
    struct tf_stage *s = arg;
    return s->job->kind != NULL ? tf_writer_flush(&s->out, err) : tf_out_flush(&s->file, err);
}

static int end_part(void *arg, struct tf_err *err)
{
    struct tf_stage *s = arg;
    s->begun = false;
    return s->job->kind != NULL ? tf_writer_end(&s->out, err) : 0;
}

int tf_stage_run(struct tf_stage *s, const struct tf_stage_job *job, struct tf_paired_limits limits,
                 struct tf_err *err)
{
    const struct tf_paired_job paired = {s, begin_part, run_window, flush, end_part};
    s->job = job;
    limits.window = tf_models_window(&s->models, s->o->window);
    limits.force_vocab = s->o->force_vocab;
    tf_progress_begin(&s->progress, s->o->progress, s->o->quiet);
    tf_models_told(&s->models, &s->progress);
    int rc = tf_paired_run(s->in, &paired, &limits, err);
    tf_progress_end(&s->progress);
    if (rc < 0 && s->begun)
        tf_writer_fail(&s->out, err);
    return rc;
}

int tf_stage_take(struct tf_stage *s, const struct tf_pair_entry *e, struct tf_err *err)
{
    if (tf_bads_count(&s->bads, e->idx, e->code, e->text, tf_paired_name(s->in), err) < 0)
        return -1;
    if (e->code == 0)
        return 1;
    return s->job->kind != NULL ? tf_writer_bad(&s->out, e->idx, e->code, e->text, err) : 0;
}

int tf_stage_close(struct tf_stage *s, int rc, struct tf_err *err)
{
    rc = tf_out_finish(&s->file, rc, err);
    if (rc == 0)
        rc = tf_bads_verdict(&s->bads, tf_paired_name(s->in), err);
    tf_paired_free(s->in);
    tf_models_close(&s->models);
    tf_writer_release(&s->out);
    tf_arena_release(&s->header_mem);
    return rc;
}
