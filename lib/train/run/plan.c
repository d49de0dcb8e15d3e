/* plan.c - parameters, memory and work of a run on paper. */
#include "train/run/plan.h"
#include "base/buf.h"
#include "base/log.h"
#include "base/output.h"
#include "base/parse.h"
#include "model/params.h"
#include "model/work.h"
#include "ops/registry.h"
#include "text/sp_check.h"
#include "text/vocab_file.h"
#include "train/step/stepper.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct kind {
    const char *label, *prefix, *part; /* names with this prefix that contain part */
} kinds[] = {
    {"embeddings", "embed", ""},
    {"source embedding", "enc.embed", ""},
    {"target embedding", "dec.embed", ""},
    {"projection", "dec.project", ""},
    {"learned positions", "", ".pos"},
    {"layer norms", "", "norm."},
    {"encoder self-attention", "enc.", ".self."},
    {"encoder feed-forward", "enc.", ".ff."},
    {"decoder self-attention", "dec.", ".self."},
    {"decoder cross-attention", "dec.", "cross."},
    {"decoder feed-forward", "dec.", ".ff."},
    {"others", "", ""},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static void put_row(struct tf_buf *out, const char *label, uint64_t n, double all)
{
    tf_buf_printf(out, "  %-26s %13llu  %5.1f %%\n", label, (unsigned long long)n,
                  100 * (double)n / all);
}

static void text_row(struct tf_buf *out, const char *label, const char *text)
{
    tf_buf_printf(out, "  %-26s %13s\n", label, text);
}

static void value_row(struct tf_buf *out, const char *label, const struct tf_value *v)
{
    char number[32];
    if (v->kind == TF_INT)
        snprintf(number, sizeof number, "%lld", (long long)v->integer);
    else if (v->kind == TF_REAL)
        tf_format_real(number, v->real);
    else if (v->kind == TF_BOOL)
        snprintf(number, sizeof number, "%s", v->boolean ? "yes" : "no");
    text_row(out, label, v->kind == TF_TEXT ? v->text : number);
}

static void int_row(struct tf_buf *out, const char *label, int64_t n)
{
    const struct tf_value v = tf_value_int(n);
    value_row(out, label, &v);
}

/* All that a preset sets, and what the options changed. The special ids are the stream's. */
static void add_settings(struct tf_buf *out, const struct tf_settings *o, double tokens)
{
    struct tf_arena a = {0};
    const struct tf_value map = tf_config_map(&o->config, &a), all = tf_config_explicit(&map, &a);
    tf_buf_printf(out, "model\n");
    for (size_t i = 0; i < all.n; i++)
        if (strcmp(all.keys[i], "bos") != 0 && strcmp(all.keys[i], "eos") != 0 &&
            strcmp(all.keys[i], "pad") != 0)
            value_row(out, all.keys[i], &all.items[i]);
    tf_buf_printf(out, "training\n");
    int_row(out, "tokens", (int64_t)tokens);
    if (o->steps > 0)
        int_row(out, "steps", o->steps);
    if (o->epochs > 0)
        int_row(out, "epochs", o->epochs);
    if (o->tokens > 0)
        int_row(out, "target tokens", o->tokens);
    const struct tf_value recorded = tf_settings_map(o, &a);
    for (size_t i = 0; i < recorded.n; i++)
        value_row(out, recorded.keys[i], &recorded.items[i]);
    int_row(out, "save_every", o->save_every);
    const struct tf_value minutes = tf_value_real(o->save_minutes);
    value_row(out, "save_minutes", &minutes);
    int_row(out, "keep", o->keep);
    int_row(out, "checkpoints averaged", o->average);
    tf_arena_release(&a);
}

/* The rows of the paper's Table 1 for self-attention and for the unit in its place, with their
 * numbers in place of O(...): the path is the number of layers after which each position can depend
 * on each other one. */
static void add_table1(struct tf_buf *out, const struct tf_config *c, double n)
{
    const double d = (double)c->d_model, window = (double)c->attention_window,
                 r = fmin(2 * window + 1, n);
    tf_buf_printf(out, "a layer of self-attention, Table 1 with n = %.0f, d = %.0f\n", n, d);
    tf_buf_printf(out, "  %-26s %13s %11s %6s\n", "", "operations", "sequential", "path");
    tf_buf_printf(out, "  %-26s %13.3e %11d %6d\n", "full: n^2 d, 1, 1", n * n * d, 1, 1);
    if (c->decoder_self == TF_DECODER_SSRU)
        tf_buf_printf(out, "  %-26s %13.3e %11.0f %6.0f\n", "recurrent: n d^2, n, n", n * d * d, n,
                      n);
    if (window > 0)
        tf_buf_printf(out, "  r = %-7.0f %-14s %13.3e %11d %6.0f\n", r, "r n d, 1, n/r", r * n * d,
                      1, fmax(1, ceil((n - 1) / window)));
}

enum { MUCH_HIGHER = 3 }; /* times the preset's peak: a rate to be warned of */

static void add_rate(struct tf_buf *out, const struct tf_settings *o)
{
    struct tf_schedule s = o->schedule;
    uint64_t at, usual_at, last = o->steps > 0 ? (uint64_t)o->steps : UINT64_MAX;
    s.d_model = o->config.d_model;
    double peak = tf_schedule_peak(&s, &at), usual = tf_schedule_peak(&o->usual, &usual_at);
    tf_buf_printf(out, "learning rate, schedule %s\n", tf_schedule_names[s.kind]);
    tf_buf_printf(out, "  %-26s %13.3e\n", "peak", peak);
    tf_buf_printf(out, "  %-26s %13llu\n", "update of the peak", (unsigned long long)at);
    if (last < at)
        tf_buf_printf(out, "  %-26s %13.3e\n", "highest, in the last update",
                      tf_schedule_lr(&s, last));
    tf_buf_printf(out, "  %-26s %13.3e\n", "peak of the preset", usual);
    if (peak >= MUCH_HIGHER * usual)
        tf_warn("the learning rate peaks at %.3g in update %llu, %.3g times the preset's %.3g in "
                "update %llu: the model may collapse",
                peak, (unsigned long long)at, peak / usual, usual, (unsigned long long)usual_at);
}

/* From a number or the name of a card in the paper's estimate. */
static int parse_tflops(double *tflops, const char *text, struct tf_err *err)
{
    /* Paper, footnote 5. */
    static const struct {
        const char *name;
        double tflops;
    } cards[] = {{"K80", 2.8}, {"K40", 3.7}, {"M40", 6.0}, {"P100", 9.5}};
    for (size_t i = 0; i < sizeof cards / sizeof *cards; i++)
        if (strcmp(text, cards[i].name) == 0) {
            *tflops = cards[i].tflops;
            return 0;
        }
    if (tf_parse_real(tflops, text, 1e-6, 1e6, err) == 0)
        return 0;
    return tf_fail_status(err, TF_USAGE, "--tflops '%s': a number, or one of K80, K40, M40, P100",
                          text);
}

/* The total with 40,960 embeddings, with which the counts in the paper's Table 3 agree best: 65
 * million for base. */
static void add_table3(struct tf_buf *out, const struct tf_config *config)
{
    struct tf_config c = *config;
    struct tf_params p;
    c.vocab_size = 40960;
    tf_params_init(&p, &c);
    tf_buf_printf(out, "  %-26s %13llu\n", "total with 40960 pieces", (unsigned long long)p.count);
    tf_params_release(&p);
}

static void add_estimate(struct tf_buf *out, const struct tf_plan *plan, double tflops)
{
    const double devices = (double)plan->devices;
    tf_buf_printf(out, "  %-26s %13.3e  (%g hours, %g devices, %g TFLOPS)\n",
                  "FLOP, the paper's estimate",
                  plan->hours * 3600 * devices * tflops * 1e12, plan->hours, devices, tflops);
}

/* Of full batches of so many tokens; 0: --epochs of a text whose size is not known. */
static double plan_updates(const struct tf_settings *o, double tokens)
{
    const double by_tokens = ceil((double)o->tokens / (tokens * (double)o->accumulate));
    if (o->steps == 0 || (o->tokens > 0 && by_tokens < (double)o->steps))
        return by_tokens;
    return (double)o->steps;
}

static int add_cost(struct tf_buf *out, const struct tf_settings *o, const struct tf_plan *plan,
                    double tflops, struct tf_err *err)
{
    const struct tf_config *c = &o->config;
    double tokens = (double)plan->tokens, length = (double)plan->length;
    struct tf_params p;
    uint64_t count[KINDS] = {0};
    if (c->vocab_size < 1) {
        tf_warn("without --vocab-size, --vocab or --init, no parameters, memory and FLOP are "
                "printed");
        return 0;
    }
    const struct tf_backend *cpu = tf_backend_find("cpu", "fp32", TF_USE_TRAINING, NULL, err);
    if (cpu == NULL)
        return -1;
    tf_params_init(&p, c);
    for (size_t i = 0; i < p.n; i++) {
        int k = 0;
        while (strncmp(p.v[i].name, kinds[k].prefix, strlen(kinds[k].prefix)) != 0 ||
               strstr(p.v[i].name, kinds[k].part) == NULL)
            k++;
        count[k] += p.v[i].n;
    }
    double all = (double)p.count, mb = 1e-6, block = 4 * (double)p.size * mb;
    tf_buf_printf(out, "parameters\n");
    for (int k = 0; k < KINDS; k++)
        if (count[k] > 0)
            put_row(out, kinds[k].label, count[k], all);
    put_row(out, "total", p.count, all);
    add_table3(out, c);
    int ema = o->ema > 0, lanes = (int)o->threads,
        shards = o->shards > 0 ? (int)o->shards : tf_shards_usual((int64_t)tokens);
    double grads = (double)tf_stepper_gradients(lanes, (size_t)shards, o->accumulate);
    size_t rows = (size_t)(lanes < shards ? tokens * lanes / shards : tokens);
    double act = (double)tf_work_training_bytes(cpu, c, rows, rows) * mb;
    tf_buf_printf(out, "memory on the CPU with %d thread%s, MB\n", lanes, lanes == 1 ? "" : "s");
    tf_buf_printf(out, "  %-26s %13.1f\n", "weights", block);
    tf_buf_printf(out, "  %-26s %13.1f\n", ema ? "moments and average" : "moments",
                  (2 + ema) * block);
    tf_buf_printf(out, "  %-26s %13.1f\n", "gradients", grads * block);
    tf_buf_printf(out, "  %-26s %13.1f\n", "activations, about", act);
    tf_buf_printf(out, "  %-26s %13.1f\n", "total", (3 + ema + grads) * block + act);
    tf_buf_printf(out, "  %-26s %13.1f\n", "a checkpoint on disk",
                  ((o->weights_only ? 1 : 3) + ema) * block);
    const double updates = plan_updates(o, tokens);
    double micro = tf_params_flop(&p, c, &(struct tf_batch_size){tokens, tokens, length, length}),
           step = micro * (double)o->accumulate;
    tf_buf_printf(out, "work, updates of %.0f source and %.0f target tokens in sentences of %.0f\n",
                  tokens * (double)o->accumulate, tokens * (double)o->accumulate, length);
    tf_buf_printf(out, "  %-26s %13.3e\n", "FLOP an update", step);
    tf_buf_printf(out, "  %-26s %13.3e\n", "FLOP a target token",
                  step / (tokens * (double)o->accumulate));
    if (updates > 0)
        tf_buf_printf(out, "  %-26s %13.0f\n", "updates", updates);
    if (updates > 0)
        tf_buf_printf(out, "  %-26s %13.3e\n", "FLOP in all", step * updates);
    if (plan->hours > 0)
        add_estimate(out, plan, tflops);
    tf_params_release(&p);
    return 0;
}

/* Set the size to the number of pieces in the file of --vocab, if it is one of tf-tokenize. */
static int count_pieces(int64_t *size, const char *path, struct tf_err *err)
{
    struct tf_arena a = {0};
    struct tf_err none = {0};
    const char *const *pieces;
    char *bytes;
    size_t n, n_pieces;
    if (tf_vocab_file_read(&bytes, &n, NULL, path, false, err) != 0)
        return -1;
    if (tf_sp_texts(&a, bytes, n, &pieces, &n_pieces, &none) == 0)
        *size = (int64_t)n_pieces;
    free(bytes);
    tf_arena_release(&a);
    return 0;
}

int tf_run_plan(const struct tf_settings *given, const struct tf_start_model *from,
                const struct tf_plan *plan, struct tf_err *err)
{
    struct tf_buf text = {0};
    struct tf_out out = {0};
    double tflops;
    struct tf_settings with = *given, *o = &with;
    if (o->vocab != NULL && o->config.vocab_size == 0 &&
        count_pieces(&o->config.vocab_size, o->vocab, err) != 0)
        return -1;
    struct tf_config c = o->config;
    if (from != NULL) { /* what a run has from its stream */
        c.bos = from->config.bos;
        c.eos = from->config.eos;
        c.pad = from->config.pad;
        c.start = c.bos < 0 ? TF_START_ZERO : c.start;
    }
    if (parse_tflops(&tflops, plan->tflops, err) != 0 ||
        (from != NULL && tf_start_model_compare(from, &c, o->force, err) != 0))
        return -1;
    add_settings(&text, o, (double)plan->tokens);
    int rc = add_cost(&text, o, plan, tflops, err);
    add_table1(&text, &o->config, (double)plan->length);
    add_rate(&text, o);
    if (rc == 0)
        rc = tf_out_open(&out, "-", 0, err);
    if (rc == 0)
        rc = tf_out_write(&out, text.p, text.len, err);
    rc = tf_out_finish(&out, rc, err);
    tf_buf_release(&text);
    return rc;
}
