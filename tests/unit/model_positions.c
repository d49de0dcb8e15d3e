/* The model's sinusoids, as section 3.5 of the paper describes them. */
#include "../harness/model.h"

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

static void rotations(enum tf_dialect dialect, const char *name)
{
    struct tf_err err = {0};
    struct tf_config c = small_config();
    struct small_model m;
    c.positions = TF_POS_SIN;
    c.max_positions = 0;
    c.dialect = dialect;
    float *weights = small_weights(&c, 1);
    small_model_open(&m, tf_cpu_backends(NULL)[0], &c, weights);
    must(tf_weights_positions(&m.w, LENGTH, &err), &err);
    size_t D = (size_t)c.d_model, half = D / 2;
    double *pe = malloc(LENGTH * D * sizeof *pe), worst = 0;
    small_model_get(&m, pe, TF_ELEM_PARAM, m.w.sinusoids, LENGTH * D);
    for (size_t i = 0; i < half; i++) {
        double paper = pow(10000, -2 * (double)i / (double)D),
               t2t = half > 1 ? pow(10000, -(double)i / (double)(half - 1)) : 1;
        worst = fmax(worst, dialect == TF_AS_PAPER ? off_by(pe, D, 2 * i, 2 * i + 1, paper)
                                                   : off_by(pe, D, i, half + i, t2t));
    }
    is_near(worst, 0, 1e-6, "%s: PE(t + k) is PE(t), each pair rotated", name);
    /* Shortest wavelength 2 pi; the paper's longest approaches 10000 times that. */
    is_near(pe[D], sin(1), 1e-7, "%s: the first wavelength is 2 pi", name);
    free(pe);
    small_model_close(&m);
    free(weights);
}

int main(void)
{
    rotations(TF_AS_PAPER, "paper");
    rotations(TF_AS_T2T, "t2t");
    return done();
}
