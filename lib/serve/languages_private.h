/* languages_private.h - English names of languages. */
#ifndef TF_SERVE_LANGUAGES_PRIVATE_H
#define TF_SERVE_LANGUAGES_PRIVATE_H

/* The name of a language by its code (ISO 639, with a region or script or without); the code itself
 * if it has none here. */
const char *tf_language_name(const char *code);

#endif
