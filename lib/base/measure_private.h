/* measure_private.h - the number that a user's program means, in what it printed. */
#ifndef TF_BASE_MEASURE_PRIVATE_H
#define TF_BASE_MEASURE_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>

enum { TF_MEASURE_WHY = 160 };

/* The number in the last line that has any: the only one there, or, in the forms of sacreBLEU,
 * tf-bleu and multi-bleu, the score after "BLEU ... =" (chrF and COMET likewise). Of JSON that ends
 * in this line, the value of "score", or the only number. A number is a word between blanks,
 * ,;:=()[]{}% or quotation marks. False, with the reason, where it is not clear which number is
 * meant, and for TER, of which less is better. text: n bytes. */
bool tf_measure_of(double *x, char why[TF_MEASURE_WHY], const char *text, size_t n);

#endif
