/* matrix.h - a matrix with labels, read from JSON or separated values. */
#ifndef TF_PLOT_MATRIX_H
#define TF_PLOT_MATRIX_H

#include "base/err.h"
#include <stddef.h>

/* Row-major. NaN: no value. NULL labels: rows or columns are numbered from 0. Zero-initialise. */
struct tf_matrix {
    double *v;
    size_t rows, cols;
    char **row_labels, **col_labels;
};
enum { TF_MATRIX_CELLS = 1 << 20 }; /* the most cells that can be read or drawn */
void tf_matrix_release(struct tf_matrix *m);

/* Whether the first line, or column, of separated values contains labels. AUTO: both do if their
 * corner is empty; each does if a later cell of it is a name, that is, neither a number nor "no
 * value"; and if the corner is a name, the line does, and so does the column if there is no other
 * name in the line. */
enum tf_labelled { TF_LABELLED_AUTO, TF_LABELLED_YES, TF_LABELLED_NO };

/* Read a file ("-" is stdin). JSON: an array of rows, or an object with "data" (that array), "rows"
 * and "cols" (labels); null is no value. Anything else is separated values with RFC 4180 quotes,
 * separated by tabs if the first line has one, else by commas; an empty cell, NA and NaN in any
 * case are no value. Errors: no values, rows of unequal length, more than TF_MATRIX_CELLS, text
 * that is not a finite number, JSON unless both are AUTO. */
int tf_matrix_read(struct tf_matrix *m, const char *path, enum tf_labelled line,
                   enum tf_labelled column, struct tf_err *err) TF_MUST_CHECK;

#endif
