/* decode_stream.h - the job of tf-decode: a stream of sources, with a second stream of forced
 * prefixes if given, to a stream of translations in the order of the input. */
#ifndef TF_INFER_DECODE_STREAM_H
#define TF_INFER_DECODE_STREAM_H

#include "base/opt.h"
#include "infer/session.h"
#include "ops/search_state.h"

/* terms_beam where the user gives no beam: some places for each token of a few phrases, and the one
 * that M. Post and D. Vilar's tables end with. */
enum { TF_TERMS_BEAM = 20 };

struct tf_decode_opts {
    struct tf_session_opts run;
    const char *prefix; /* a token stream of forced prefixes, or NULL */
    const char *begin;  /* the first piece of every output, or NULL */
    const char *insert; /* a token stream of what to insert (insertions_private.h), or NULL; CPU
                         * only */
    const char *forbid; /* a text file of words that no output has (forbidden_private.h), or NULL;
                         * CPU only */
    const char *shortlist; /* with run.list TF_LIST_FILE: its path (text/shortlist.h) */
    int64_t shortlist_first, shortlist_best; /* as below */
    double shortlist_threshold;
    bool shortlist_cut;              /* the user gave one of these */
    const char *terms_name;          /* in messages, or NULL: its path */
    const char *constraints, *terms; /* what outputs contain (terms_private.h), or NULL; CPU only */
    /* Of these the user's alpha to free_prefix count; decoding fills in the rest. */
    struct tf_search_opts search;
    int64_t beam, nbest; /* 1 .. TF_SEARCH_MAX_BEAM */
    int64_t terms_beam;  /* >= beam: of inputs whose outputs must contain something */
    bool terms_sum;      /* their score is log P */
    /* Groups of a diverse beam (diverse_private.h), which divide it, or 0; CPU only. */
    int64_t diverse;
    double diversity; /* its strength */
    int64_t max_extra, max_insert, seed;
    double max_factor;          /* of the input's tokens, before max_extra is added */
    bool count_end;             /* its end is one of them */
    bool nbest_out;             /* n-best records instead of token records */
    const char *alignment_head; /* see alignment_private.h; NULL: the model's */
    bool alignment;             /* with the source and the alignments of each output */
    bool token_scores, allow_unk;
    bool early_stopping; /* the rule is TF_SEARCH_CTRANSLATE2 */
    int rule;            /* 0: of the model; else 1 + enum tf_search_rule; not with sample */
    bool truncate;       /* cut a source that is too long */
};

/* Run the whole job. input, output: paths or "-". table: the tool's options, for provenance.
 * Returns 0, TF_PARTIAL when records were bad (see --bad), or -1. */
int tf_decode_stream(const struct tf_decode_opts *o, const char *input, const char *output,
                     const struct tf_opt *table, struct tf_err *err) TF_MUST_CHECK;

#endif
