/* state.h - where a training run stands: all that a resumed run needs besides weights and moments,
 * kept in the state records of its checkpoints. */
#ifndef TF_TRAIN_STORE_STATE_H
#define TF_TRAIN_STORE_STATE_H

#include "stream/model.h"

/* The next batch: the ordinal in its part of the stream, and the position in the corpus for
 * `tf-batch --from`, which has a group if the corpus is a list of files. */
struct tf_batch_cursor {
    uint64_t part, ordinal, epoch, group, record;
    bool has_group, has_corpus;
    uint8_t corpus[32];
};

struct tf_run_state {
    uint64_t step;                   /* updates done */
    uint64_t micro;                  /* micro-batches used by them: the dropout counter */
    uint64_t src_tokens, tgt_tokens; /* EOS included */
    struct tf_batch_cursor cursor;
    uint64_t valid_step; /* of the latest validation, 0: none */
    bool has_best;
    double best; /* its perplexity or accuracy */
    uint64_t best_step;
    uint64_t stale;    /* validations since the best */
    bool has_valid;    /* the hash of the data that all this was measured on is known */
    uint8_t valid[32]; /* of tf_validate_check */
};

/* Count a validation of this step: its perplexity, or its accuracy (larger is better). True when it
 * is the best so far; a NaN never is. */
bool tf_state_add_validation(struct tf_run_state *s, double value, bool larger_is_better);
/* After a change of measure or data: the next validation has nothing to compare with. */
void tf_state_forget_best(struct tf_run_state *s);

enum { TF_STATE_RECORDS = 8 };
/* As state records (at most TF_STATE_RECORDS); settings and batches are maps that tf_differs
 * compares at resume. Memory from the arena. Returns the count. */
size_t tf_state_records(struct tf_state *out, struct tf_arena *a, const struct tf_run_state *s,
                        const struct tf_value *settings, const struct tf_value *batches);
/* From a file that was read; -1 when it is not a checkpoint. */
int tf_state_read(struct tf_run_state *s, const struct tf_model_file *m,
                  struct tf_err *err) TF_MUST_CHECK;
/* Do both resume at the same place with the same results so far? */
bool tf_state_same(const struct tf_run_state *a, const struct tf_run_state *b);
/* The step of a checkpoint (0 for a plain model). */
int tf_state_step(uint64_t *step, const struct tf_model_file *m, struct tf_err *err) TF_MUST_CHECK;

/* Find the next key with different values in two maps: true, and "key: A in WHAT_A, B in WHAT_B" in
 * text (size bytes). *at is 0 at first. A missing key is a difference; NULL is an empty map. */
bool tf_differs(char *text, size_t size, size_t *at, const struct tf_value *a, const char *what_a,
                const struct tf_value *b, const char *what_b);

#endif
