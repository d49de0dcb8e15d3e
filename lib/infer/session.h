/* session.h - what a run of tf-decode, tf-score or tf-attn holds: models, input, lanes and output.
 *
 * The path of a sentence: tf_input_next reads it into a window, the tool hands the window to
 * tf_lanes_run, lanes compute it (lane_search_private.h, lane_forward_private.h), and the tool
 * writes a record to the output. */
#ifndef TF_INFER_SESSION_H
#define TF_INFER_SESSION_H

#include "infer/lanes_private.h"
#include "infer/output_private.h"

/* The default of tf-decode's --max-extra. Targets given to tf-score and tf-attn may be so many
 * tokens longer than --max-length, too. */
#define TF_MAX_EXTRA 50

struct tf_session_opts {
    struct tf_strs models;
    const char *device, *precision; /* precision NULL: the device's default */
    enum tf_list_use list;          /* of decoding */
    bool own_precision;             /* but the model's, if it has one and the device is the CPU */
    /* Or NULL. Called once the models are read, with the map "search" of the first's header: takes
     * from it what the user did not say, into the tool's options. name: of the model. */
    int (*adopt)(const struct tf_value *search, const char *name, struct tf_err *err);
    int64_t max_length;             /* ids of a source; an item with a longer one becomes bad */
    int64_t batch, window;          /* 0: the device's default */
    int64_t threads;                /* 0: tf_threads_default */
    int bad;                        /* enum tf_on_bad */
    struct tf_force force;
    bool quiet, progress;
    bool copies; /* make copies (base/copies.h) with the models that have been read */
};

struct tf_session {
    const struct tf_session_opts *o;
    int threads;
    struct tf_ensemble models;
    struct tf_input in;
    struct tf_output out;
    struct tf_lanes *lanes;
    struct tf_progress progress;
    bool copying; /* copies are to be made */
};

/* Open output (text: it is no stream) and models, in this order. Call tf_session_close after a
 * failure too. */
int tf_session_open(struct tf_session *s, const struct tf_session_opts *o, enum tf_use use,
                    const char *output, bool text, struct tf_err *err) TF_MUST_CHECK;
/* Open the input, in each copy its own; what was read before the copies share. The tool then
 * completes in.side. */
int tf_session_input(struct tf_session *s, const struct tf_input_spec *in,
                     struct tf_err *err) TF_MUST_CHECK;
/* Start the lanes and the progress line. budget: of a group, see lanes_private.h. */
int tf_session_start(struct tf_session *s, size_t budget, struct tf_err *err) TF_MUST_CHECK;
typedef int tf_session_fn(void *arg, struct tf_err *err);
/* Call begin_part for every part of the input and window for every window of items, until it ends
 * or one of them fails. Flushes the output while the input is idle. */
int tf_session_run(struct tf_session *s, tf_session_fn *begin_part, tf_session_fn *window,
                   void *arg, struct tf_err *err) TF_MUST_CHECK;
/* Finish the output as rc says and release everything. Returns 0, TF_PARTIAL or -1. */
int tf_session_close(struct tf_session *s, int rc, struct tf_err *err) TF_MUST_CHECK;

#endif
