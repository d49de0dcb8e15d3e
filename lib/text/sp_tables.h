/* sp_tables.h - what the pieces of an untrusted vocabulary do to the tables in which SentencePiece
 * 0.1 keeps them. Their hash functions have no key, so that chosen pieces could collide and loading
 * would take time that grows with the square of their number. */
#ifndef TF_TEXT_SP_TABLES_H
#define TF_TEXT_SP_TABLES_H

#include "base/err.h"
#include <stddef.h>

/* Check the n bytes of a .model file that tf_sp_check has accepted. Refused are pieces that collide
 * far more often than by chance, and more user-defined symbols that begin with each other than the
 * library has room for. */
int tf_sp_check_tables(const void *bytes, size_t n, struct tf_err *err) TF_MUST_CHECK;

#endif
