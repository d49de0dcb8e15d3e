/* report.c - lines of the log, and progress. */
#include "train/run/report_private.h"
#include "train/run/length_private.h"
#include "base/hash.h"
#include "base/version.h"
#include "cbor/json.h"
#include "train/store/average.h"
#include "train/store/rundir.h"
#include "train/run/validation_private.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

/* Six digits: more would be noise. */
static double round6(double x)
{
    if (x == 0 || !isfinite(x))
        return x;
    double unit = pow(10, 5 - floor(log10(fabs(x))));
    return isfinite(unit) ? round(x * unit) / unit : x;
}

/* Of the last batch used; the cursor is after it. */
static uint64_t epoch(const struct tf_batch_cursor *c)
{
    return c->record == 0 && c->group == 0 && c->epoch > 0 ? c->epoch - 1 : c->epoch;
}

static void put_sums(struct tf_json *j, const struct tf_sums *s)
{
    tf_json_put_real(j, "loss", round6(s->loss / s->tokens));
    tf_json_put_real(j, "nll", round6(s->nll / s->tokens));
    tf_json_put_real(j, "ppl", round6(tf_sums_ppl(s)));
    tf_json_put_real(j, "acc", round6(tf_sums_acc(s)));
}

static double milli(double seconds)
{
    return round(seconds * 1000) / 1000;
}

int tf_run_report_open(struct tf_run_report *r, const struct tf_settings *o,
                       const struct tf_run_env *env, const struct tf_rundir *d,
                       const struct tf_run_state *from, struct tf_err *err)
{
    *r = (struct tf_run_report){.o = o, .env = env, .untuned = NAN};
    return tf_journal_open(&r->journal, d, from, o->log, err);
}

void tf_run_report_close(struct tf_run_report *r)
{
    tf_progress_end(&r->progress);
    tf_journal_close(&r->journal);
}

/* Wall-clock time, in UTC as in RFC 3339. */
static void put_time(struct tf_json *j)
{
    char text[32];
    struct tm tm;
    time_t now = time(NULL);
    gmtime_r(&now, &tm);
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &tm);
    tf_json_put_str(j, "time", text);
}

static void put_command(struct tf_json *j, const char *const *words)
{
    size_t n = 0;
    while (words != NULL && words[n] != NULL)
        n++;
    tf_json_key(j, "command");
    tf_json_strs(j, words, n);
}

static void put_settings(struct tf_json *j, const struct tf_settings *s)
{
    struct tf_arena a = {0};
    struct tf_setting row;
    for (int i = -1; tf_settings_next(&i, TF_SETTING_LOGGED, &row);) {
        if (row.applies != NULL && !row.applies(s))
            continue;
        const struct tf_value v = tf_member_value(&row.field, s, &a);
        tf_json_put_value(j, row.field.name, &v, TF_JSON_PLAIN);
    }
    tf_arena_release(&a);
}

static void put_hash(struct tf_json *j, const char *key, bool known, const uint8_t sha[32])
{
    char text[65];
    if (known)
        tf_json_put_str(j, key, tf_hex(text, sha, 32));
}

static void put_data(struct tf_json *j, const struct tf_run_origin *from)
{
    const struct tf_header *h = &from->setup->common.header;
    const struct tf_run_state *s = from->state;
    tf_json_put_open(j, "data", '{');
    if (from->data != NULL)
        put_hash(j, "corpus", from->data->has_corpus, from->data->corpus);
    put_hash(j, "vocab", h->has_vocab, h->vocab);
    if (h->lang[0] != 0)
        tf_json_put_str(j, "lang", h->lang);
    if (h->target_lang[0] != 0)
        tf_json_put_str(j, "target_lang", h->target_lang);
    put_hash(j, "valid", from->setup->o->valid != NULL && s->has_valid, s->valid);
    tf_json_close(j, '}');
}

static void put_ranks(struct tf_json *j, const struct tf_team *t, int shards)
{
    const struct tf_comm *c = &t->comm;
    tf_json_put_uint(j, "ranks", (uint64_t)c->size);
    tf_json_put_int(j, "shards", shards);
    tf_json_put_str(j, "comm", c->library);
    if (t->link[0] != 0)
        tf_json_put_str(j, "link", t->link);
    tf_json_put_open(j, "hosts", '['); /* of rank 0, 1, ... */
    for (int rank = 0; rank < c->size; rank++)
        tf_json_str(j, c->host[rank]);
    tf_json_close(j, ']');
}

int tf_run_report_start(struct tf_run_report *r, const struct tf_run_origin *from,
                        struct tf_err *err)
{
    const struct tf_settings *o = r->o;
    const struct tf_stepper *stepper = from->stepper;
    const struct tf_save_common *common = &from->setup->common;
    r->started = r->logged.since = r->shown.since = tf_now();
    struct tf_json *j = tf_journal_line(&r->journal, "start", from->state->step);
    put_time(j);
    tf_json_put_str(j, "version", tf_build);
    put_command(j, r->env->command);
    if (from->checkpoint != NULL)
        tf_json_put_str(j, "from", from->checkpoint);
    tf_json_put_str(j, "device", stepper->be->describe(stepper->ctx[0]));
    tf_json_put_uint(j, "threads", (uint64_t)stepper->lanes);
    if (r->env->team != NULL)
        put_ranks(j, r->env->team, stepper->shards);
    tf_json_put_uint(j, "parameters", stepper->w.params.count);
    put_settings(j, o);
    tf_json_put_value(j, "config", &common->header.config, TF_JSON_PLAIN);
    tf_json_put_value(j, "settings", &common->settings, TF_JSON_PLAIN);
    tf_json_put_value(j, "batches", &common->batches, TF_JSON_PLAIN);
    put_data(j, from);
    tf_json_put_value(j, "made", &common->header.made, TF_JSON_PLAIN);
    tf_progress_begin(&r->progress, o->progress, o->quiet);
    return tf_journal_put(&r->journal, err);
}

/* Target tokens per second. */
static double rate(const struct tf_interval *i, double now)
{
    double seconds = now - i->since;
    return seconds > 0 ? i->sums.tokens / seconds : 0;
}

/* Fits into 80 columns; log.jsonl has the rest. */
static void show(struct tf_run_report *r, const struct tf_update_metrics *u)
{
    double now = tf_now();
    const struct tf_sums *s = &r->shown.sums;
    char eta[32] = "", all[32] = "";
    double left = tf_run_length_left(r->o, &u->at) * (now - r->started) / (double)r->updates;
    if (left > 0 && isfinite(left))
        snprintf(eta, sizeof eta, "  ETA %.0f:%02.0f:%02.0f", floor(left / 3600),
                 floor(fmod(left, 3600) / 60), floor(fmod(left, 60)));
    if (r->o->steps > 0)
        snprintf(all, sizeof all, "/%lld", (long long)r->o->steps);
    else if (r->o->epochs > 0)
        snprintf(all, sizeof all, "  epoch %.0f/%lld",
                 fmin((double)u->at.cursor.epoch + 1, (double)r->o->epochs),
                 (long long)r->o->epochs);
    tf_progress_show(&r->progress, "step %llu%s  loss %.3f  %.0f tok/s%s",
                     (unsigned long long)u->at.step, all, s->loss / s->tokens,
                     rate(&r->shown, now), eta);
    r->shown = (struct tf_interval){.since = now};
}

/* The line of the updates since the last one. */
static int log_updates(struct tf_run_report *r, struct tf_err *err)
{
    const struct tf_update_metrics *u = &r->last;
    double now = tf_now();
    struct tf_json *j = tf_journal_line(&r->journal, "step", u->at.step);
    tf_json_put_uint(j, "epoch", epoch(&u->at.cursor));
    put_sums(j, &r->logged.sums);
    tf_json_put_real(j, "lr", round6(u->lr));
    tf_json_put_real(j, "grad_norm", round6(u->norm));
    tf_json_put_uint(j, "src_tokens", u->at.src_tokens);
    tf_json_put_uint(j, "tgt_tokens", u->at.tgt_tokens);
    tf_json_put_real(j, "tok_s", round(rate(&r->logged, now)));
    tf_json_put_real(j, "seconds", milli(now - r->started));
    struct tf_team *team = r->env->team;
    if (team != NULL) {
        tf_json_put_real(j, "comm_s", milli(team->comm.waited));
        tf_json_put_int(j, "slowest", team->slowest);
        team->comm.waited = 0;
    }
    r->logged = (struct tf_interval){.since = now};
    return tf_journal_put(&r->journal, err);
}

int tf_run_report_update(struct tf_run_report *r, const struct tf_update_metrics *u,
                         struct tf_err *err)
{
    r->updates++;
    r->last = *u;
    tf_sums_add(&r->logged.sums, &u->sums);
    tf_sums_add(&r->shown.sums, &u->sums);
    if (tf_progress_due(&r->progress))
        show(r, u);
    return u->at.step % (uint64_t)r->o->log_every == 0 ? log_updates(r, err) : 0;
}

/* A model that has diverged has one of up to 300 digits. */
static void add_perplexity(struct tf_buf *b, double x)
{
    tf_buf_printf(b, x < 1e6 ? "perplexity %.2f" : "perplexity %.4g", x);
}

/* "perplexity 23.41", "accuracy 45.20 %" or "command 27.31", whichever the best is chosen by. */
static void add_best(struct tf_buf *b, const struct tf_settings *o, const struct tf_run_state *s)
{
    if (o->best_by == TF_BEST_ACC)
        tf_buf_printf(b, "accuracy %.2f %%", 100 * s->best);
    else if (o->best_by == TF_BEST_COMMAND)
        tf_buf_printf(b, "command %.6g", s->best);
    else
        add_perplexity(b, s->best);
}

/* When the best was found. */
static void add_place(struct tf_buf *b, const struct tf_run_state *s)
{
    if (s->best_step == 0)
        tf_buf_str(b, " before the first update");
    else
        tf_buf_printf(b, " at step %llu", (unsigned long long)s->best_step);
}

static void note_valid(const struct tf_run_report *r, const struct tf_run_state *s,
                       const struct tf_validation *v)
{
    struct tf_buf b = {0};
    if (r->o->quiet)
        return;
    const bool untuned = s->step == 0;
    if (untuned)
        tf_buf_str(&b, "before the first update: validation ");
    else
        tf_buf_printf(&b, "step %llu: validation ", (unsigned long long)s->step);
    add_perplexity(&b, tf_sums_ppl(&v->sums));
    tf_buf_printf(&b, ", accuracy %.2f %%", 100 * tf_sums_acc(&v->sums));
    if (!isnan(v->metric))
        tf_buf_printf(&b, ", command %.6g", v->metric);
    if (!isnan(v->metric) && !untuned && !isnan(r->untuned))
        tf_buf_printf(&b, " (%.6g before the first update)", r->untuned);
    if (!untuned && v->best) {
        tf_buf_str(&b, "; the best so far");
    } else if (!untuned && s->has_best) {
        tf_buf_str(&b, "; best: ");
        add_best(&b, r->o, s);
        add_place(&b, s);
    }
    tf_note("%s", b.p);
    tf_buf_release(&b);
}

int tf_run_report_valid(struct tf_run_report *r, const struct tf_run_state *s,
                        const struct tf_validation *v, struct tf_err *err)
{
    note_valid(r, s, v);
    struct tf_json *j = tf_journal_line(&r->journal, "valid", s->step);
    tf_json_put_uint(j, "epoch", epoch(&s->cursor));
    put_sums(j, &v->sums);
    tf_json_put_uint(j, "tgt_tokens", (uint64_t)v->sums.tokens);
    if (!isnan(v->metric))
        tf_json_put_real(j, "metric", v->metric);
    if (*v->text != 0)
        tf_json_put_str(j, "output", v->text);
    tf_json_put_bool(j, "best", v->best);
    tf_json_put_real(j, "took", milli(v->seconds));
    tf_json_put_real(j, "seconds", milli(tf_now() - r->started));
    r->logged.since += v->seconds;
    r->shown.since += v->seconds;
    return tf_journal_put(&r->journal, err);
}

int tf_run_report_save(struct tf_run_report *r, uint64_t step, const char *name, struct tf_err *err)
{
    struct tf_json *j = tf_journal_line(&r->journal, "save", step);
    tf_json_put_str(j, "file", name);
    tf_json_put_real(j, "seconds", milli(tf_now() - r->started));
    return tf_journal_put(&r->journal, err);
}

int tf_run_report_end(struct tf_run_report *r, const struct tf_run_state *s, const char *reason,
                      size_t memory, struct tf_err *err)
{
    tf_progress_end(&r->progress);
    if (r->logged.sums.tokens > 0 && log_updates(r, err) != 0)
        return -1;
    struct tf_json *j = tf_journal_line(&r->journal, "end", s->step);
    tf_json_put_str(j, "reason", reason);
    tf_json_put_uint(j, "memory", memory);
    tf_json_put_real(j, "seconds", milli(tf_now() - r->started));
    return tf_journal_put(&r->journal, err);
}

/* At least three validations and half of the updates without a better one. Where none was better
 * than the model of --init, size is not what is wrong. */
static void advise_size(const struct tf_run_state *s)
{
    if (s->has_best && s->best_step > 0 && s->stale >= 3 && s->best_step <= s->step / 2)
        tf_note("no validation has been better since step %llu of %llu: the model overfits "
                "(advice: tf-howto(7), Sizes)",
                (unsigned long long)s->best_step, (unsigned long long)s->step);
}

void tf_run_report_complete(const struct tf_settings *o, const struct tf_run_state *s,
                            const char *last, bool much_worse)
{
    struct tf_buf b = {0};
    if (o->quiet || last == NULL)
        return;
    if (much_worse)
        advise_size(s);
    tf_buf_printf(&b, "finished at step %llu; ", (unsigned long long)s->step);
    if (s->has_best && s->best_step == 0) {
        tf_buf_str(&b, "no validation was better than that before the first update, ");
        add_best(&b, o, s);
        tf_note("%s: %s/" TF_RUN_BEST " is the model that the run began with", b.p, o->dir);
        tf_buf_release(&b);
        return;
    }
    if (s->has_best) {
        tf_buf_printf(&b, "best: %s/" TF_RUN_BEST " of step %llu, ", o->dir,
                      (unsigned long long)s->best_step);
        add_best(&b, o, s);
    } else {
        tf_buf_printf(&b, "last: %s", last);
    }
    tf_buf_str(&b, "; next: ");
    if (tf_advise_average(&b, o->dir, tf_count_regular(o->dir, (uint64_t)o->average), o->ema > 0))
        tf_note("%s", b.p);
    tf_buf_release(&b);
}
