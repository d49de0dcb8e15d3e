/* insertions_private.h - outputs that are their input with words of a given set between its words:
 * a constraint on the search, for sequences such as those of `tf-tree -b words`. CPU only. */
#ifndef TF_INFER_INSERTIONS_PRIVATE_H
#define TF_INFER_INSERTIONS_PRIVATE_H

#include "infer/ensemble_private.h"
#include "ops/search_state.h"
#include "text/spelling.h"

/* What may be inserted as a whole: n ids. */
struct tf_insertion {
    const uint32_t *ids;
    size_t n;
};

/* Zero-initialise. */
struct tf_insertions {
    struct tf_arena mem;
    struct tf_insertion *v; /* ordered by their ids, each once */
    size_t n, cap;
    size_t most;                 /* that may be inserted in a row; 0: any number */
    struct tf_spelling spelling; /* for the edges of words; without a vocabulary each id is one */
};

/* Read the records of a token stream, which must have the models' vocabulary, without ids that the
 * search never produces (ban) or that end an output, and add the SHA-256 of their lengths and ids
 * to the models' inputs as "insert". Bad records are an error. */
int tf_insertions_read(struct tf_insertions *s, const char *path, struct tf_ensemble *m,
                       const struct tf_search_opts *opts, struct tf_force force,
                       struct tf_err *err) TF_MUST_CHECK;
void tf_insertions_release(struct tf_insertions *s);

/* How far each hypothesis of a lane's search has come. Zero-initialise; released with
 * tf_insertion_progress_release. */
struct tf_insertion_progress {
    struct tf_copied {
        uint32_t n;        /* ids of the source copied */
        uint32_t inserted; /* insertions begun since */
        /* The last ids are the first `part` of insertions from to end - 1; part 0: of none. */
        uint32_t from, end, part;
    } * of;     /* by slot */
    bool *keep; /* [V] */
    size_t cap;
};
void tf_insertion_progress_release(struct tf_insertion_progress *p);

/* Before a search_step with log-probabilities lp [rows, V]: set to -infinity those of all ids
 * that the constraint excludes. A hypothesis has copied the first p of the n ids of its source.
 * At the edge of a word of the source, and after an insertion there, may follow: the next id of
 * the source or, if p = n, EOS; what continues the last insertion to a longer one, if the limit
 * leaves room for that and the rest of the source; another insertion, if it does, too, unless
 * `most` of them came last. An id that does several of these does the first. Within an insertion
 * only its next id may follow, within a word of the source that of the source. Ids that the
 * search never produces (ban) count as copied. The source of sentence i is src[off[i]] ..
 * src[off[i + 1] - 1]. To be called at every step of a group. */
void tf_insertions_mask(const struct tf_insertions *s, struct tf_insertion_progress *progress,
                        const struct tf_search *q, const uint32_t *src, const uint32_t *off,
                        tf_mem *lp);

#endif
