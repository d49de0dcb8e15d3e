/* validation.c - validation. The file is read again each time rather than kept in memory. */
#include "train/run/validation_private.h"
#include "base/hash.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

double tf_sums_ppl(const struct tf_sums *s)
{
    return exp(s->nll / s->tokens);
}

double tf_sums_acc(const struct tf_sums *s)
{
    return s->correct / s->tokens;
}

/* The open file, batch by batch. */
struct valid {
    const struct tf_config *config;
    struct tf_sentence_rule rule[2]; /* of this part */
    struct tf_batch_turn turn;
    struct tf_one_vocab vocab; /* of the training stream, and the parts so far */
    struct tf_in in;
    struct tf_reader *reader;
    struct tf_pairs pairs;
    uint64_t sentences;
    struct tf_sha256 sha; /* of the sentences so far */
};

static int begin_part(struct valid *v, struct tf_err *err)
{
    for (int side = 0; side < 2; side++)
        v->rule[side] = tf_config_sentences(v->config, side, tf_reader_header(v->reader));
    v->turn = (struct tf_batch_turn){0};
    if (tf_one_vocab_add(&v->vocab, tf_reader_header(v->reader), v->in.name, err) != 0)
        return -1;
    return tf_config_takes(v->config, tf_reader_header(v->reader), err) != 0
               ? tf_context(err, "%s", v->in.name)
               : 0;
}

static void close_valid(struct valid *v)
{
    tf_pairs_release(&v->pairs);
    tf_reader_free(v->reader);
    tf_in_close(&v->in);
}

static int open_valid(struct valid *v, const char *path, const struct tf_header *train,
                      const struct tf_config *c, struct tf_err *err)
{
    static const char *const kinds[] = {"batch", NULL};
    struct stat st;
    *v = (struct valid){.config = c, .vocab = TF_NO_VOCAB};
    if (tf_one_vocab_add(&v->vocab, train, "the training stream", err) != 0)
        return -1;
    tf_sha256_init(&v->sha);
    /* Checked before opening, which would wait for the writer of a FIFO. */
    if (strcmp(path, "-") == 0 || (stat(path, &st) == 0 && !S_ISREG(st.st_mode)))
        return tf_fail(err, "%s: validation data must be a regular file: it is read several times",
                       path);
    if (tf_in_open(&v->in, path, err) != 0)
        return -1;
    if (tf_reader_new(&v->reader, &v->in, kinds, 0, err) == 0 && begin_part(v, err) == 0)
        return 0;
    close_valid(v);
    return -1;
}

static void add_ids(struct tf_sha256 *sha, const uint32_t *ids, const uint32_t *off, size_t n)
{
    tf_sha256_add(sha, off, (n + 1) * sizeof *off);
    tf_sha256_add(sha, ids, off[n] * sizeof *ids);
}

static void add_pairs(struct tf_sha256 *sha, const struct tf_pairs *pairs)
{
    const uint64_t n = pairs->n;
    tf_sha256_add(sha, &n, sizeof n);
    add_ids(sha, pairs->src, pairs->src_off, pairs->n);
    add_ids(sha, pairs->tgt_out, pairs->tgt_off, pairs->n);
}

/* The next batch, in v->pairs: 1; 0 at the end. */
static int next_batch(struct valid *v, struct tf_err *err)
{
    struct tf_record rec;
    int rc;
    while ((rc = tf_reader_next(v->reader, &rec, err)) > 0) {
        const struct tf_batch *b = &rec.batch;
        if (rec.type == TF_REC_HEADER) {
            if (begin_part(v, err) != 0)
                return -1;
        } else if (rec.type != TF_REC_BATCH) {
            return tf_fail(err, "%s: a record of type %d in a batch stream", v->in.name, rec.type);
        } else {
            char text[TF_SENTENCE_TEXT];
            if (tf_batch_take_turn(&v->turn, b, err) != 0)
                return tf_context(err, "%s", v->in.name);
            if ((tf_batch_check_ids(b, v->rule, text) > TF_SENTENCE_BEGINS &&
                 tf_fail(err, "%s", text) != 0) ||
                tf_pairs_set(&v->pairs, v->config, b->n, b->src, b->src_off, b->tgt, b->tgt_off,
                             err) != 0 ||
                tf_config_fits(v->config, v->pairs.longest, err) != 0)
                return tf_context(err, "%s: batch %llu", v->in.name,
                                  (unsigned long long)b->ordinal);
            v->sentences += b->n;
            add_pairs(&v->sha, &v->pairs);
            return 1;
        }
    }
    return rc == 0 && v->sentences == 0 ? tf_fail(err, "%s: contains no sentence", v->in.name) : rc;
}

int tf_validate_check(struct tf_valid_data *data, const char *path, const struct tf_header *train,
                      const struct tf_config *c, struct tf_err *err)
{
    struct valid v;
    int rc;
    if (open_valid(&v, path, train, c, err) != 0)
        return -1;
    const size_t ids = (size_t)c->vocab_size;
    uint64_t *count = tf_xcalloc(ids, sizeof *count);
    while ((rc = next_batch(&v, err)) > 0) {
        const uint64_t n = v.pairs.n;
        for (size_t i = 0; i < v.pairs.tgt_off[n]; i++)
            count[v.pairs.tgt_out[i]]++;
    }
    tf_sha256_end(&v.sha, data->sha);
    data->tokens = tf_token_stats_of(count, ids);
    free(count);
    close_valid(&v);
    return rc;
}

int tf_validate(struct tf_sums *sums, struct tf_stepper *s, const char *path, const uint8_t sha[32],
                const struct tf_header *train, const struct tf_run_env *env, struct tf_err *err)
{
    struct valid v;
    int rc = 0;
    *sums = (struct tf_sums){0};
    if (open_valid(&v, path, train, &s->w.config, err) != 0)
        return -1;
    while (!tf_run_stopping(env) && (rc = next_batch(&v, err)) > 0)
        if (tf_stepper_evaluate(s, sums, &v.pairs, err) != 0) {
            rc = tf_context(err, "%s", v.in.name);
            break;
        }
    uint8_t now[32];
    tf_sha256_end(&v.sha, now);
    close_valid(&v);
    const bool stopped = tf_run_stopping(env);
    if (!stopped && rc == 0 && memcmp(now, sha, sizeof now) != 0)
        return tf_fail(err, "%s: its sentences changed during the run", path);
    return stopped ? 1 : rc;
}
