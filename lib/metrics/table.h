/* table.h - tables as Python's tabulate draws them: a grid of box characters, or LaTeX with
 * booktabs. */
#ifndef TF_METRICS_TABLE_H
#define TF_METRICS_TABLE_H

#include "base/buf.h"
#include <stdbool.h>

/* Cells by row, the header first; LF within a cell begins a further line of it. The first column
 * stands right, the others in the middle. */
void tf_table(struct tf_buf *out, char *const *cells, size_t rows, size_t columns, bool latex);
/* Characters of a text. */
size_t tf_table_width(const char *s, size_t n);

#endif
