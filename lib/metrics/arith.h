/* arith.h - in which numbers a score is computed. sacreBLEU's own scores are doubles; its
 * resampling runs on arrays of numpy 2, where float32 stays float32 through Python's constants, and
 * integers stay integers. Its p-values hang on that, so it is kept. */
#ifndef TF_METRICS_ARITH_H
#define TF_METRICS_ARITH_H

enum tf_arith {
    TF_DOUBLE,  /* Python's numbers */
    /* numpy float32: every operation rounds; one of two rounded operands in double is the same */
    TF_SINGLE,
    TF_INTEGER, /* numpy int64: what is stored back into the counts loses its fraction */
};

static inline double tf_arith_round(double x, enum tf_arith a)
{
    return a == TF_SINGLE ? (double)(float)x : x;
}

#endif
