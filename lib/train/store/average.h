/* average.h - the mean of several checkpoints of one model (paper, 6.1). */
#ifndef TF_TRAIN_STORE_AVERAGE_H
#define TF_TRAIN_STORE_AVERAGE_H

#include "base/buf.h"
#include "base/opt.h"
#include "train/store/rundir.h"

/* Write to `output` ("-": stdout) a model whose weights are the means of those of n files, summed
 * in float64 in the given order and rounded once; ema: the means of their moving averages. All
 * inputs and the output are opened before the first is read. Inputs must agree in configuration,
 * vocabulary, languages and shapes. The provenance is that of the first input and a stage of
 * `prog` with its options and the fingerprints of all inputs. */
int tf_average(const char *output, const char *const *paths, size_t n, bool ema, const char *prog,
               const struct tf_opt *opts, struct tf_err *err) TF_MUST_CHECK;
/* The same with the last n regular checkpoints of a run's directory, by the steps in their headers,
 * oldest first; n 0: as many as the run's preset averages. If there are fewer, `exact` makes that
 * an error, and otherwise they are averaged, with a note. An output with the name of one of the
 * run's own files is an error. */
int tf_average_run(const char *output, const char *dir, uint64_t n, bool exact, bool ema,
                   const char *prog, const struct tf_opt *opts, struct tf_err *err) TF_MUST_CHECK;

/* Append the tf-avgckpt command that makes a model of the last n regular checkpoints in the
 * directory of a run; n 0: of its best.tfm or resume.tfm. Its output is a new file. False, and
 * nothing is added, if it has none of these. */
bool tf_advise_average(struct tf_buf *b, const char *dir, uint64_t n, bool ema);
/* The number of regular checkpoints in a directory, at most `most`; 0 if it can't be read. */
uint64_t tf_count_regular(const char *dir, uint64_t most);

#endif
