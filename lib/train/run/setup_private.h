/* setup_private.h - what a run works on: device, input, configuration, and what all its checkpoints
 * share. Made once from the options and the header of the stream; constant while the run trains. */
#ifndef TF_TRAIN_RUN_SETUP_PRIVATE_H
#define TF_TRAIN_RUN_SETUP_PRIVATE_H

#include "train/run/feed_private.h"
#include "train/run/env.h"
#include "train/settings/settings.h"
#include "train/store/save.h"

/* A file of measured algorithms for matrix products (--tuning); text NULL without one. */
struct tf_tuning_file {
    char *text;
    size_t n;
    uint8_t sha[32];
};

/* Owns all but the settings, env and the backend. */
struct tf_setup {
    const struct tf_settings *o;
    const struct tf_run_env *env;
    const struct tf_backend *be; /* NULL when the setup was made from a checkpoint */
    int shards;                  /* of a batch; 0 until it is known */
    struct tf_feed *feed;        /* likewise */
    /* vocabulary size and special ids are the stream's, or the model's that the run starts from */
    struct tf_config config;
    struct tf_schedule schedule;
    struct tf_tuning_file tuning;
    struct tf_save_common common;
    struct tf_special stream_special; /* this and the size: as the stream's header names them */
    int64_t stream_size;
    char *vocab;           /* common.vocab */
    struct tf_arena arena; /* of the values in common */
};

/* Find the device, read the tuning file, open the stream and read its header. On failure too, *s
 * must be released. */
int tf_setup_open(struct tf_setup *s, const struct tf_settings *o, const struct tf_run_env *env,
                  struct tf_err *err) TF_MUST_CHECK;
/* The same without device and stream, from what a checkpoint records of them: enough to compare a
 * finished run with the options. */
int tf_setup_from_checkpoint(struct tf_setup *s, const struct tf_settings *o,
                             const struct tf_run_env *env, const struct tf_model_file *m,
                             struct tf_err *err) TF_MUST_CHECK;
void tf_setup_release(struct tf_setup *s);

/* What the header of further streams, such as the validation data, must agree with. */
struct tf_header tf_setup_streams(const struct tf_setup *s);
/* The run resumes with a model of this configuration: start its decoder as that does, where it
 * starts with something of its own. */
void tf_setup_take_start(struct tf_setup *s, const struct tf_config *c);

/* With --guided-alignment: have the feed link its pairs, and state the head that is guided as the
 * one that aligns. */
int tf_setup_guide(struct tf_setup *s, struct tf_err *err) TF_MUST_CHECK;

/* Decide into how many shards batches are cut. `known`: the settings of the checkpoint that the run
 * resumes from, NULL in a new run. Without --shards, a run keeps its number; a new one takes
 * tf_shards_usual, or on a device the backend's or one for each rank. Settings record it where it
 * is not the backend's. */
int tf_setup_shards(struct tf_setup *s, struct tf_value *known, struct tf_err *err) TF_MUST_CHECK;

/* Say which programs cannot use what a new run trains, and warn of its likely mistakes: batches far
 * from the size that the preset's learning rate is for; a vocabulary that the stream names and the
 * model will not carry. */
void tf_setup_check(const struct tf_setup *s);

/* Take n bytes on the heap as the vocabulary that checkpoints carry. */
void tf_setup_take_vocab(struct tf_setup *s, char *vocab, size_t n);
/* Let checkpoints carry the segmenter of targets that a model has, if it has one. */
void tf_setup_keep_target(struct tf_setup *s, const struct tf_model_file *m);
/* Append a stage of this run to the provenance of its checkpoints; inputs: MAP of hashes. */
void tf_setup_add_stage(struct tf_setup *s, const struct tf_value *inputs);
/* Record the kernels in the stage that was just added: other ones computed what came before. */
void tf_setup_add_kernels(struct tf_setup *s);

/* Host copies of what a stepper starts from; m, v and e (Adam's moments, the moving average) NULL
 * for a start from zero. Blocks of params.size floats, on the heap. */
struct tf_start_weights {
    float *p, *m, *v, *e;
};
void tf_start_weights_release(struct tf_start_weights *w);
/* A stepper that starts from these weights. tune: it measures algorithms. */
int tf_setup_stepper(const struct tf_setup *s, struct tf_stepper *stepper,
                     const struct tf_start_weights *w, bool tune, struct tf_err *err) TF_MUST_CHECK;

#endif
