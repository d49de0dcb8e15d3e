/* insertions_private.h - outputs that are their input with tokens of a given set between: a
 * constraint on the search, for sequences such as those of `tf-tree -b words`. CPU only. */
#ifndef TF_INFER_INSERTIONS_PRIVATE_H
#define TF_INFER_INSERTIONS_PRIVATE_H

#include "infer/ensemble_private.h"
#include "ops/search_state.h"

/* Zero-initialise. */
struct tf_insertions {
    uint32_t *ids; /* that may be inserted; n, sorted, each once */
    size_t n;
    size_t most; /* that may be inserted in a row; 0: any number */
};

/* Read the ids of all tokens of a token stream, which must have the models' vocabulary, and add its
 * SHA-256 to the models' inputs as "insert". Bad records are an error. */
int tf_insertions_read(struct tf_insertions *s, const char *path, struct tf_ensemble *m,
                       struct tf_force force, struct tf_err *err) TF_MUST_CHECK;
void tf_insertions_release(struct tf_insertions *s);

/* How far each hypothesis of a lane's search has come. Zero-initialise; released with
 * tf_insertion_progress_release. */
struct tf_insertion_progress {
    struct tf_copied {
        uint32_t n;        /* ids of the source copied */
        uint32_t inserted; /* ids inserted since */
    } * of;                /* by slot */
    size_t cap;
};
void tf_insertion_progress_release(struct tf_insertion_progress *p);

/* Before a search_step with log-probabilities lp [rows, V]: set to -infinity those of all ids that
 * the constraint excludes. A hypothesis has copied the first p of the n ids of its source; an id
 * that equals the next one of the source copies it. Ids that the search never produces (ban) count
 * as copied. May follow: the next id of the source; an id of the set, unless `most` of them came
 * last or the limit leaves room only for the rest of the source; EOS if p = n. The source of
 * sentence i is src[off[i]] .. src[off[i + 1] - 1]. To be called at every step of a group. */
void tf_insertions_mask(const struct tf_insertions *s, struct tf_insertion_progress *progress,
                        const struct tf_search *q, const uint32_t *src, const uint32_t *off,
                        tf_mem *lp);

#endif
