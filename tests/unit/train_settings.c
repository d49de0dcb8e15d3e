/* The table of settings: what a run records, and the options that rows become. */
#include "../harness/tap.h"
#include "train/settings/presets.h"

static struct tf_settings s;
static struct tf_opt *opts;

static bool records(const char *name)
{
    struct tf_arena a = {0};
    const struct tf_value map = tf_settings_map(&s, &a);
    bool found = tf_value_get(&map, name) != NULL;
    tf_arena_release(&a);
    return found;
}

static void test_map(void)
{
    struct tf_err err = {0};
    must(tf_preset(&s, "base", TF_AS_PAPER, &err), &err);
    ok(records("beta1") && records("seed") && !records("steps") && !records("d_model"),
       "what changes results is recorded, and the model's in its configuration");
    ok(records("lr_scale") && !records("lr"), "the paper's schedule has a factor");
    s.schedule.kind = TF_SCHEDULE_CONSTANT;
    ok(!records("lr_scale") && records("lr"), "others have a peak");
    ok(!records("best_by"), "without validation there is no best");
    s.valid = "v.tfs";
    ok(records("best_by"), "with it there is");
}

/* What the first checkpoints did not record is what they did. */
static void test_older(void)
{
    struct tf_arena a = {0};
    struct tf_value map = tf_settings_map(&s, &a), old = tf_value_map();
    tf_value_put(&a, &old, "clip", tf_value_real(2));
    tf_settings_complete(&old, &a);
    const struct tf_value *decay = tf_value_get(&old, "weight_decay");
    ok(decay != NULL && decay->kind == TF_REAL && decay->real == 0, "no weights decayed");
    ok(tf_value_get(&old, "beta1") == NULL, "what all of them record has no such value");
    tf_value_put(&a, &map, "weight_decay", tf_value_real(0.5));
    tf_settings_complete(&map, &a);
    ok(tf_value_get(&map, "weight_decay")->real == 0.5, "what is recorded stays");
    tf_arena_release(&a);
}

/* A row of the model has the kind and the range of the configuration. */
static void test_options(void)
{
    const struct tf_opt none[] = {OPT_END};
    opts = tf_settings_options(none, &s, none);
    const struct tf_opt *heads = tf_opt_find(opts, "heads"),
                        *vocab = tf_opt_find(opts, "vocab-size"), *tie = tf_opt_find(opts, "tie"),
                        *clip = tf_opt_find(opts, "clip");
    ok(heads->kind == TF_OPT_INT && heads->target == &s.config.heads && heads->hi == 1024,
       "--heads: as in the configuration");
    ok(vocab->lo == 1 && vocab->hi == 1 << 24, "--vocab-size: at least 1");
    ok(tie->kind == TF_OPT_CHOICE && tie->choices == tf_ties, "--tie: its words");
    ok(clip->kind == TF_OPT_REAL && clip->target == &s.clip && clip->flags == TF_OPT_SEMANTIC,
       "--clip: a number that is part of the provenance");
    ok(tf_opt_find(opts, "average") == NULL, "only presets set how many checkpoints are averaged");
}

int main(void)
{
    test_map();
    test_older();
    test_options();
    return done();
}
