/* Collapse by validation results: none in runs that learn, two validations in runs that do not. */
#include "../harness/temp.h"
#include "../harness/tap.h"
#include "train/run/collapse_private.h"
#include "train/run/history_private.h"

#include <stdio.h>

/* The German side of 520 short sentences: 7,032 tokens of 2,500 kinds. */
static const struct tf_token_stats text = {.entropy = 5.96, .top = 0.0739477};
/* A peak of 0.03 after 200 updates: the sum of rates is high from the start. */
static const struct tf_schedule steep = {
    .kind = TF_SCHEDULE_PAPER, .scale = 5, .warmup = 200, .d_model = 128};
/* The paper's for base. */
static const struct tf_schedule usual = {
    .kind = TF_SCHEDULE_PAPER, .scale = 1, .warmup = 4000, .d_model = 512};

struct result {
    double ppl, acc;
};

/* The number of the first validation that is a collapse, counted from 1; 0: none is. */
static int first(const struct tf_schedule *schedule, uint64_t every, const struct result *v,
                 size_t n, enum tf_collapse_kind *kind)
{
    struct tf_collapse c;
    tf_collapse_init(&c, &text, schedule, 100000);
    for (size_t i = 0; i < n; i++)
        if ((*kind = tf_collapse_add(&c, (i + 1) * every, log(v[i].ppl), v[i].acc)) !=
            TF_COLLAPSE_NONE)
            return (int)i + 1;
    return 0;
}

#define FIRST(schedule, every, ...)                                              \
    first(&(schedule), every, (const struct result[]){__VA_ARGS__},              \
          sizeof((const struct result[]){__VA_ARGS__}) / sizeof(struct result), &kind)

static void test_stats(void)
{
    static const uint64_t even[4] = {25, 25, 25, 25}, one[4] = {0, 7, 0, 0};
    struct tf_token_stats s = tf_token_stats_of(even, 4);
    is_near(s.entropy, log(4) + 3.0 / 200, 1e-12, "entropy of four equal frequencies");
    is_near(s.top, 0.25, 0, "and the highest");
    s = tf_token_stats_of(one, 4);
    ok(s.entropy == 0 && s.top == 1, "one token");
    s = tf_token_stats_of(one, 1);
    ok(s.entropy == 0 && s.top == 0, "no token");
}

static void test_collapse(void)
{
    enum tf_collapse_kind kind;
    /* Measured: the tiny preset on Tatoeba, with too high a peak from the start. */
    is_int(FIRST(steep, 100, {446.894, 0.0739477}, {435.724, 0.0739477}, {723.42, 0.0169226},
                 {667.764, 0.0152162}, {2054.46, 0.0277304}),
           2, "a model that never learned: the second validation");
    is_int(kind, TF_COLLAPSE_STUCK, "its kind");
    is_int(FIRST(steep, 500, {2054.46, 0.0277304}, {618.472, 0.0152162}, {421, 0.0739477}), 2,
           "the same, with a loss that falls to that of constant predictions");
    is_int(FIRST(steep, 25, {466.006, 0.0612912}, {454.316, 0.0739477}, {443.53, 0.0739477},
                 {446.894, 0.0739477}, {436.525, 0.0739477}, {433.74, 0.0612912},
                 {468.333, 0.0739477}, {435.724, 0.0739477}),
           8, "validated often: not before it had 200 updates");
    is_int(FIRST(usual, 1000, {180, 0.19}, {60, 0.33}, {31, 0.43}, {25, 0.46}, {440, 0.0739477},
                 {430, 0.0739477}),
           6, "a model that had learned: the second validation after");
    is_int(kind, TF_COLLAPSE_LOST, "its kind");
    is_int(FIRST(usual, 1000, {60, 0.33}, {31, 0.43}, {290, 0.14}, {280, 0.15}), 4,
           "back to little more than frequencies");
    is_int(FIRST(usual, 1000, {60, 0.33}, {31, 0.43}, {INFINITY, 0}, {NAN, 0}), 4,
           "losses that are not finite");
    is_int(FIRST(usual, 100, {440, 0.074}, {200, 0.12}, {430, 0.0739}, {425, 0.0739}), 4,
           "a model that had learned little, early");
}

static void test_no_collapse(void)
{
    enum tf_collapse_kind kind;
    is_int(FIRST(usual, 100, {900, 0.0612912}, {470, 0.0739477}, {440, 0.0739477},
                 {430, 0.0739477}, {425, 0.0739477}, {421, 0.0739477}, {415, 0.0739477},
                 {405, 0.0739477}, {330, 0.078}, {290, 0.09}),
           0, "the start of a long warmup");
    is_int(FIRST(steep, 100, {900, 0.0612912}, {440, 0.0739477}, {410, 0.0739477},
                 {380, 0.0739477}, {300, 0.09}),
           0, "a slow start that learns");
    is_int(FIRST(usual, 1000, {60, 0.33}, {31, 0.43}, {440, 0.0739}, {60, 0.33}, {500, 0.0739},
                 {33, 0.42}),
           0, "spikes");
    is_int(FIRST(usual, 1000, {60, 0.33}, {20, 0.5}, {15, 0.55}, {20, 0.551}, {40, 0.55},
                 {90, 0.54}, {300, 0.53}, {900, 0.52}, {2000, 0.5}),
           0, "overfitting");
    is_int(FIRST(usual, 1000, {9.1, 0.61}, {9.05, 0.612}, {9.05, 0.612}, {9.05, 0.612}), 0,
           "a model that is done");
    is_int(FIRST(usual, 100, {30, 0.4}, {22, 0.45}, {35, 0.38}, {26, 0.42}), 0,
           "fine-tuning that wavers");
    is_int(FIRST(usual, 20000, {420, 0.0739477}), 0, "one validation");
    is_int(FIRST(usual, 20000, {1.0001, 1}, {1.0001, 1}, {1.0001, 1}), 0, "all correct");
}

static void test_ripe(void)
{
    struct tf_collapse c;
    struct tf_schedule s = {.kind = TF_SCHEDULE_CONSTANT, .lr = 1.0 / 1024};
    tf_collapse_init(&c, &text, &s, 100000);
    is_int((int64_t)c.ripe, 256, "a low rate needs more updates");
    s.lr = 1;
    tf_collapse_init(&c, &text, &s, 100000);
    is_int((int64_t)c.ripe, 200, "a high one needs some");
    tf_collapse_init(&c, &text, &s, 100);
    ok(c.ripe == UINT64_MAX, "a short run never has enough");
    s.lr = 1e-9;
    tf_collapse_init(&c, &text, &s, 1000000000);
    ok(c.ripe == UINT64_MAX, "nor one with rates that never add up, and that is known soon");
    s.lr = 0;
    tf_collapse_init(&c, &text, &s, 1000);
    ok(c.ripe == UINT64_MAX, "nor one without a rate");
}

static void test_history(void)
{
    static const char a[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
                      b[] = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";
    char log[2000];
    const char *path = temp_path("log");
    struct tf_collapse c;
    struct tf_in in;
    struct tf_err err = {0};
    tf_collapse_init(&c, &text, &steep, 100000);
    int n = snprintf(log, sizeof log,
                     "{\"event\":\"start\",\"step\":0,\"data\":{\"valid\":\"%s\"}}\n"
                     "{\"event\":\"valid\",\"step\":100,\"nll\":2.5,\"acc\":0.6}\n"
                     "{\"event\":\"start\",\"step\":100,\"data\":{\"valid\":\"%s\"}}\n"
                     "{\"event\":\"valid\",\"step\":200,\"nll\":3.25,\"acc\":0.5}\n"
                     "no json\n{\"event\":\"valid\",\"nll\":1}\n[1]\n"
                     "{\"event\":\"step\",\"step\":210,\"nll\":1,\"acc\":1}\n"
                     "{\"event\":\"start\",\"step\":200,\"save_every\":50,\"data\":{}}\n"
                     "{\"event\":\"start\",\"step\":200,\"save_every\":50,"
                     "\"data\":{\"valid\":\"%s\"}}\n"
                     "{\"event\":\"valid\",\"step\":300,\"nll\":6.1,\"acc\":0.0739477}\n",
                     a, b, b);
    write_file(path, log, (size_t)n);
    must(tf_in_open(&in, path, &err), &err);
    struct tf_regular at[] = {{250, 0}, {100, 7}};
    ok(tf_history_read(&c, at, 2, &in, &err) == 0, "reads a log: %s", err.msg);
    tf_in_close(&in);
    is_int((int64_t)at[0].every, 50, "--save-every of the start before step 250");
    is_int((int64_t)at[1].every, 0, "that before step 100 saved by time");
    at[0].every = 7;
    must(tf_in_open(&in, path, &err), &err);
    ok(tf_history_read(NULL, at, 1, &in, &err) == 0, "only the interval");
    tf_in_close(&in);
    is_int((int64_t)at[0].every, 50, "the same");
    ok(c.nll == 3.25 && c.acc == 0.5, "the best on the last data");
    is_int(c.bad, 1, "the last validation is suspicious");
    is_int(tf_collapse_add(&c, 400, 6.1, 0.0739477), TF_COLLAPSE_LOST, "and the next is another");
}

int main(void)
{
    test_stats();
    test_collapse();
    test_no_collapse();
    test_ripe();
    test_history();
    return done();
}
