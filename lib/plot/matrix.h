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

/* Read a file ("-" is stdin). JSON: an array of rows, or an object with "data" (that array), "rows"
 * and "cols" (labels); null is no value. Anything else is separated values with RFC 4180 quotes,
 * separated by tabs if the first line has one, else by commas. A first line or first column with a
 * cell that is neither empty nor a number contains labels; an empty cell is no value. Errors: no
 * values, rows of unequal length, more than TF_MATRIX_CELLS, text that is not a number. */
int tf_matrix_read(struct tf_matrix *m, const char *path, struct tf_err *err) TF_MUST_CHECK;

#endif
