/* sacrebleu_table_private.h - tables as Python's tabulate draws them: formats fancy_grid (box
 * characters) and latex_booktabs. */
#ifndef TF_METRICS_SACREBLEU_TABLE_PRIVATE_H
#define TF_METRICS_SACREBLEU_TABLE_PRIVATE_H

#include "base/buf.h"
#include <stdbool.h>

/* Append a table of rows x columns cells, row by row, the header first. A cell may have several
 * lines. The first column is right-aligned, the others are centred. */
void tf_sacrebleu_table(struct tf_buf *out, char *const *cells, size_t rows, size_t columns,
                        bool latex);

#endif
