/* mix.h - how often each record of a weighted corpus comes in an epoch: in epoch e
 *
 *     floor(w (e + 1) + u) - floor(w e + u)
 *
 * times, where w is the weight and u in [0, 1) the phase of the record. So it comes floor(w) or
 * ceil(w) times in an epoch, and floor(w n + u) times in the first n: with w = 1/k once in k
 * epochs. The phases of records that follow each other are a golden section apart (mod 1; Weyl,
 * "Ueber die Gleichverteilung von Zahlen mod. Eins", 1916), so that those of an epoch are spread
 * evenly over the file, and no number of records need be known. The first phase is random. */
#ifndef TF_DATA_MIX_H
#define TF_DATA_MIX_H

#include "base/err.h"
#include <stdint.h>

/* Weights are in millionths, so that sums of decimal fractions are exact. */
#define TF_MIX_ONE 1000000u
enum { TF_MIX_MOST = 1000 };

/* A weight from 0.001 to TF_MIX_MOST, rounded to millionths. */
int tf_mix_parse(uint32_t *weight, const char *text, struct tf_err *err) TF_MUST_CHECK;
/* The phase of record 0 of file number `file`, in 2^-32. */
uint32_t tf_mix_phase(uint64_t seed, uint64_t file);
/* How often record i comes in an epoch; first: tf_mix_phase. At most TF_MIX_MOST. */
uint16_t tf_mix_times(uint32_t weight, uint32_t first, uint64_t i, uint64_t epoch);

#endif
