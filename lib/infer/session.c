/* session.c - see session.h. */
#include "infer/session.h"
#include "base/copies.h"
#include "base/cpus.h"
#include "base/memory.h"
#include "ops/registry.h"

#include <errno.h>

int tf_session_open(struct tf_session *s, const struct tf_session_opts *o, enum tf_use use,
                    const char *output, bool text, struct tf_err *err)
{
    *s = (struct tf_session){.o = o,
                             .threads = o->threads > 0 ? (int)o->threads : tf_threads_default(),
                             .copying = o->copies};
    if (o->copies)
        tf_copies_await();
    if (o->copies && tf_backend_may_load(o->device)) { /* a driver is not for copies */
        tf_copies_make();
        s->copying = false;
    }
    return tf_output_open(&s->out, output, text, o->bad, err) != 0 ||
                   tf_ensemble_open(&s->models, &o->models, o->device, o->precision,
                                    o->own_precision, s->threads, use, o->list, o->force,
                                    err) != 0 ||
                   (o->adopt != NULL &&
                    o->adopt(&s->models.header.search, s->models.name, err) != 0)
               ? -1
               : 0;
}

int tf_session_input(struct tf_session *s, const struct tf_input_spec *in, struct tf_err *err)
{
    if (s->copying)
        tf_copies_make();
    if (tf_input_open(&s->in, &s->models, in, err) != 0)
        return -1;
    s->in.window = tf_ensemble_window(&s->models, s->o->window);
    s->in.force = s->o->force;
    return 0;
}

int tf_session_start(struct tf_session *s, size_t budget, struct tf_err *err)
{
    s->lanes = tf_lanes_new(&s->models, s->threads, tf_ensemble_batch(&s->models, s->o->batch),
                            budget, err);
    if (s->lanes == NULL)
        return -1;
    tf_progress_begin(&s->progress, s->o->progress, s->o->quiet);
    /* No driver is no surprise each time that a few lines are typed: tf-train alone notes it. */
    if (s->progress.on && s->models.no_gpu.sys != ENODEV)
        tf_backend_note(&s->models.no_gpu);
    return 0;
}

int tf_session_run(struct tf_session *s, tf_session_fn *begin_part, tf_session_fn *window,
                   void *arg, struct tf_err *err)
{
    for (int rc = 0; rc == 0;)
        switch (tf_input_next(&s->in, err)) {
        case TF_INPUT_PART:
            rc = begin_part(arg, err);
            break;
        case TF_INPUT_WINDOW:
            rc = window(arg, err);
            break;
        case TF_INPUT_IDLE:
            rc = tf_output_flush(&s->out, err);
            break;
        case TF_INPUT_END:
            tf_progress_end(&s->progress);
            return 0;
        case TF_INPUT_FAILED:
            return -1;
        }
    return -1;
}

int tf_session_close(struct tf_session *s, int rc, struct tf_err *err)
{
    const struct tf_err *failure = tf_input_failure(&s->in);
    if (rc < 0 && failure != NULL)
        *err = *failure;
    if (rc < 0)
        tf_memory_remedy(err, "a smaller --batch and fewer --threads take less");
    tf_progress_end(&s->progress);
    rc = tf_output_close(&s->out, rc, s->in.name, err);
    tf_lanes_free(s->lanes);
    tf_input_close(&s->in);
    tf_ensemble_close(&s->models);
    return rc;
}
