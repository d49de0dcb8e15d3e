/* Learning rates against the formulas of schedule.h, the peak of the paper's, and the schedulers of
 * PyTorch. */
#include "../harness/tap.h"
#include "train/step/schedule.h"

/* torch 2.15.0, SequentialLR of LinearLR(1/10, 1, 9) and, from step 9 on,
 * CosineAnnealingLR(90, 0.01) or LinearLR(1, 0.02, 90), on a base rate of 0.5: the rate of the
 * optimizer in each update. */
static void test_decay(void)
{
    static const struct {
        int step;
        double cosine, linear;
    } torch[] = {
        {1, 0.05, 0.05},
        {9, 0.45, 0.45},
        {10, 0.5, 0.5},
        {11, 0.4998507526196785, 0.4945555555555556},
        {25, 0.4671762239271875, 0.4183333333333333},
        {40, 0.37749999999999995, 0.3366666666666667},
        {55, 0.25499999999999995, 0.25499999999999995},
        {77, 0.08480869923754572, 0.1352222222222222},
        {99, 0.010149247380321538, 0.015444444444444443},
        {100, 0.01, 0.010000000000000002},
    };
    const struct tf_schedule cosine = {.kind = TF_SCHEDULE_COSINE,
                                       .lr = 0.5, .warmup = 10, .end = 100, .lr_end = 0.01},
                             linear = {.kind = TF_SCHEDULE_LINEAR,
                                       .lr = 0.5, .warmup = 10, .end = 100, .lr_end = 0.01};
    for (size_t i = 0; i < sizeof torch / sizeof *torch; i++) {
        const uint64_t s = (uint64_t)torch[i].step;
        is_near(tf_schedule_lr(&cosine, s), torch[i].cosine, 1e-14, "cosine, step %d", (int)s);
        is_near(tf_schedule_lr(&linear, s), torch[i].linear, 1e-14, "linear, step %d", (int)s);
    }
    ok(tf_schedule_lr(&cosine, 101) == 0.01 && tf_schedule_lr(&linear, 1000000) == 0.01,
       "after the end: its rate");
    uint64_t at;
    ok(tf_schedule_peak(&cosine, &at) == 0.5 && at == 10, "the peak is at the end of warmup");

    double most = 0; /* difference from the C library's cosine */
    const struct tf_schedule whole = {.kind = TF_SCHEDULE_COSINE, .lr = 1, .end = 1000};
    for (uint64_t s = 1; s <= 1000; s++) {
        const double x = (double)s / 1000;
        most = fmax(most, fabs(tf_schedule_lr(&whole, s) - (1 + cos(acos(-1) * x)) / 2));
    }
    ok(most < 4e-16, "cosine without warmup: within %g of libm", most);
}

int main(void)
{
    test_decay();

    struct tf_schedule p = {.kind = TF_SCHEDULE_PAPER, .scale = 1, .warmup = 4000, .d_model = 512};
    for (uint64_t s = 1; s < 1000000; s = s * 3 + 1) {
        double a = pow((double)s, -0.5), b = (double)s * pow(4000, -1.5);
        is_near(tf_schedule_lr(&p, s), pow(512, -0.5) * (a < b ? a : b), 1e-15, "paper, step %llu",
                (unsigned long long)s);
    }
    is_near(tf_schedule_lr(&p, 4000), 6.987712429686843e-4, 1e-12, "peak of base");
    ok(tf_schedule_lr(&p, 3999) < tf_schedule_lr(&p, 4000) &&
           tf_schedule_lr(&p, 4001) < tf_schedule_lr(&p, 4000),
       "the peak is at the end of warmup");
    p.scale = 2;
    p.warmup = 0;
    is_near(tf_schedule_lr(&p, 1), 2 / sqrt(512), 1e-12, "no warmup: falls from the first step");
    is_near(tf_schedule_lr(&p, 100), 2 / sqrt(512) / 10, 1e-12, "no warmup, step 100");

    struct tf_schedule c = {.kind = TF_SCHEDULE_CONSTANT, .lr = 0.5, .warmup = 10};
    is_near(tf_schedule_lr(&c, 1), 0.05, 1e-15, "constant: rises");
    is_near(tf_schedule_lr(&c, 10), 0.5, 0, "constant: is there");
    is_near(tf_schedule_lr(&c, 1000000), 0.5, 0, "constant: stays");
    c.warmup = 0;
    is_near(tf_schedule_lr(&c, 1), 0.5, 0, "constant without warmup");

    struct tf_schedule i = {.kind = TF_SCHEDULE_INVERSE_SQRT, .lr = 3e-4, .warmup = 100};
    is_near(tf_schedule_lr(&i, 50), 1.5e-4, 1e-18, "inverse-sqrt: rises");
    is_near(tf_schedule_lr(&i, 100), 3e-4, 1e-18, "inverse-sqrt: peak");
    is_near(tf_schedule_lr(&i, 400), 1.5e-4, 1e-18, "inverse-sqrt: falls");
    return done();
}
