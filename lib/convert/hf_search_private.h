/* hf_search_private.h - the search of transformers' generate(). */
#ifndef TF_CONVERT_HF_SEARCH_PRIVATE_H
#define TF_CONVERT_HF_SEARCH_PRIVATE_H

#include "convert/import_private.h"

/* What generation_config.json of m->dir says, or its config.json. */
int tf_search_of_transformers(struct tf_import *m, struct tf_err *err) TF_MUST_CHECK;
/* The same, where a forced prefix, the tag of targets, costs nothing. */
int tf_search_of_m2m100(struct tf_import *m, struct tf_err *err) TF_MUST_CHECK;

#endif
