/* search_private.h - the search of the program that an imported model comes from, as its files and
 * that program's defaults say, for the header of the model (model/search_settings.h). */
#ifndef TF_CONVERT_SEARCH_PRIVATE_H
#define TF_CONVERT_SEARCH_PRIVATE_H

#include "convert/conversion_private.h"

enum tf_original {
    TF_FROM_MARIAN,
    TF_FROM_MARIANMT,
    TF_FROM_M2M100,
    TF_FROM_FSMT,
    TF_FROM_CTRANSLATE2,
    TF_FROM_FAIRSEQ,
};

/* Fill m->header.search. m's vocabulary is set; name: of the file of weights.
 * Marian: the settings of o->settings (decoder.yml), with Marian's defaults for what they lack;
 * without them its search and the penalty that its models are commonly used with.
 * MarianMT, M2M100, FSMT: generation_config.json beside the weights, or config.json.
 * CTranslate2: defaults of translate_batch. fairseq: those of fairseq-generate, and "generation" of
 * the checkpoint. Weights in 8 bits: int8. *left: what the original says that cannot be kept, by
 * its names. Errors: files that cannot be read. */
int tf_conversion_search(struct tf_conversion *m, enum tf_original from, const char *name,
                         const struct tf_convert_opts *o, struct tf_buf *left,
                         struct tf_err *err) TF_MUST_CHECK;

#endif
