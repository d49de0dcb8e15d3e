/* The model's sinusoids, as section 3.5 of the paper describes them. */
#include "../harness/model.h"
#include "ops/cpu/cpu.h"

#include <stdlib.h>

enum { LENGTH = 120 };

/* PE(t + k) = R_k PE(t): every pair of a sine and a cosine is rotated by an angle that depends on k
 * alone. first: the column of a pair's sine; second: of its cosine; rate: radians per position. */
static double off_by(const double *pe, size_t D, size_t first, size_t second, double rate)
{
    double worst = 0;
    for (size_t k = 1; k < LENGTH; k += 7)
        for (size_t t = 0; t + k < LENGTH; t++) {
            const double *at = pe + t * D, *moved = pe + (t + k) * D;
            double a = rate * (double)k, c = cos(a), s = sin(a);
            worst = fmax(worst, fabs(moved[first] - (c * at[first] + s * at[second])));
            worst = fmax(worst, fabs(moved[second] - (c * at[second] - s * at[first])));
        }
    return worst;
}

static void rotations(enum tf_dialect dialect, enum tf_position_table table, int64_t offset,
                      const char *name)
{
    struct tf_err err = {0};
    struct tf_config c = small_config();
    struct small_model m;
    c.positions = TF_POS_SIN;
    c.max_positions = 0;
    c.dialect = dialect;
    c.position_table = table;
    c.position_offset = offset;
    float *weights = small_weights(&c, 1);
    small_model_open(&m, tf_cpu_backends(NULL)[0], &c, weights);
    must(tf_weights_positions(&m.w, LENGTH, &err), &err);
    size_t D = (size_t)c.d_model, half = D / 2;
    double *pe = malloc(LENGTH * D * sizeof *pe), worst = 0, first = 0;
    small_model_get(&m, pe, TF_ELEM_PARAM, m.w.sinusoids, LENGTH * D);
    for (size_t i = 0; i < half; i++) {
        double paper = pow(10000, -2 * (double)i / (double)D),
               t2t = half > 1 ? pow(10000, -(double)i / (double)(half - 1)) : 1;
        bool pairs = table == TF_TABLE_PAPER ||
                     (table == TF_TABLE_DIALECT && dialect == TF_AS_PAPER);
        size_t sine = pairs ? 2 * i : i, cosine = pairs ? 2 * i + 1 : half + i;
        double rate = pairs || table == TF_TABLE_HALVES ? paper : t2t, at = (double)offset * rate;
        worst = fmax(worst, off_by(pe, D, sine, cosine, rate));
        first = fmax(first, fmax(fabs(pe[sine] - sin(at)), fabs(pe[cosine] - cos(at))));
    }
    is_near(worst, 0, 1e-6, "%s: PE(t + k) is PE(t), each pair rotated", name);
    is_near(first, 0, 1e-7, "%s: PE(0) is position %d", name, (int)offset);
    /* Shortest wavelength 2 pi; the paper's longest approaches 10000 times that. */
    is_near(pe[D], sin((double)(offset + 1)), 1e-7, "%s: the first wavelength is 2 pi", name);
    free(pe);
    small_model_close(&m);
    free(weights);
}

int main(void)
{
    rotations(TF_AS_PAPER, TF_TABLE_DIALECT, 0, "paper");
    rotations(TF_AS_T2T, TF_TABLE_DIALECT, 0, "t2t");
    rotations(TF_AS_PAPER, TF_TABLE_T2T, 1, "the paper's dialect with t2t's table");
    rotations(TF_AS_T2T, TF_TABLE_PAPER, 2, "t2t's dialect with the paper's table");
    rotations(TF_AS_PAPER, TF_TABLE_HALVES, 2, "halves");
    return done();
}
