/* Learning rates against the formulas of schedule.h, and the peak of the paper's. */
#include "../harness/tap.h"
#include "train/step/schedule.h"

int main(void)
{
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
