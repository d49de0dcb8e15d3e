/* search_private.h - the search that another program does with a model, as its files and that
 * program's defaults say, for the header of the model (model/search_settings.h). What cannot be
 * kept is named in m->left. Errors: files that cannot be read. */
#ifndef TF_CONVERT_SEARCH_PRIVATE_H
#define TF_CONVERT_SEARCH_PRIVATE_H

#include "convert/import_private.h"

/* The settings of m->files.settings (decoder.yml), with Marian's defaults for what they lack;
 * without them its search and the penalty that its models are commonly used with. */
int tf_search_of_marian(struct tf_import *m, struct tf_err *err) TF_MUST_CHECK;
/* generation_config.json of m->dir, or its config.json. */
int tf_search_of_transformers(struct tf_import *m, struct tf_err *err) TF_MUST_CHECK;
/* That of transformers, where a forced prefix, the tag of targets, costs nothing. */
int tf_search_of_m2m100(struct tf_import *m, struct tf_err *err) TF_MUST_CHECK;
/* The defaults of translate_batch. */
int tf_search_of_ct2(struct tf_import *m, struct tf_err *err) TF_MUST_CHECK;
/* What Argos' own call has (argostranslate/translate.py, 1.11). */
int tf_search_of_argos(struct tf_import *m, struct tf_err *err) TF_MUST_CHECK;
/* The defaults of fairseq-generate, and "generation" of the checkpoint. */
int tf_search_of_fairseq(struct tf_import *m, struct tf_err *err) TF_MUST_CHECK;

#endif
