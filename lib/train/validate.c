/* validate.c - validation. The file is read anew each time: it is small, and may be larger than we want to hold. */
#include "train/validate.h"

#include <math.h>

double tf_sums_ppl(const struct tf_sums *s)
{
    return exp(s->nll / s->tokens);
}

double tf_sums_acc(const struct tf_sums *s)
{
    return s->correct / s->tokens;
}

static int open_valid(struct tf_in *in, struct tf_reader **r, const char *path, const struct tf_header *train, struct tf_err *err)
{
    static const char *const kinds[] = {"batch", NULL};
    if (tf_in_open(in, path, err) != 0)
        return -1;
    if (in->size < 0)
        tf_fail(err, "%s: validation data must be a regular file, it is read again and again", in->name);
    else if (tf_reader_new(r, in, kinds, 0, err) == 0) {
        if (tf_same_vocab(tf_reader_header(*r), in->name, train, "the training stream", err) == 0)
            return 0;
        tf_reader_free(*r);
    }
    tf_in_close(in);
    return -1;
}

int tf_validate_check(const char *path, const struct tf_header *train, struct tf_err *err)
{
    struct tf_in in;
    struct tf_reader *r;
    if (open_valid(&in, &r, path, train, err) != 0)
        return -1;
    tf_reader_free(r);
    tf_in_close(&in);
    return 0;
}

static int evaluate(struct tf_sums *sums, struct tf_stepper *s, struct tf_pairs *p, const struct tf_batch *b, struct tf_err *err)
{
    if (b->n == 0)
        return 0;
    if (tf_pairs_set(p, &s->w.config, b->n, b->src, b->src_off, b->tgt, b->tgt_off, err) != 0)
        return -1;
    return tf_step_evaluate(s, sums, p, err);
}

int tf_validate(struct tf_sums *sums, struct tf_stepper *s, const char *path, const struct tf_header *train, const volatile sig_atomic_t *stop, struct tf_err *err)
{
    struct tf_in in;
    struct tf_reader *r;
    struct tf_record rec;
    struct tf_pairs pairs = {0};
    int rc = 0;
    *sums = (struct tf_sums){0};
    if (open_valid(&in, &r, path, train, err) != 0)
        return -1;
    while (!*stop && (rc = tf_reader_next(r, &rec, err)) > 0) {
        if (rec.type == TF_REC_HEADER)
            continue;
        if (rec.type != TF_REC_BATCH)
            rc = tf_fail(err, "%s: a record of type %d in a batch stream", in.name, rec.type);
        else if (evaluate(sums, s, &pairs, &rec.batch, err) != 0)
            rc = tf_context(err, "%s: batch %llu", in.name, (unsigned long long)rec.batch.ordinal);
        if (rc < 0)
            break;
    }
    bool stopped = *stop;
    if (!stopped && rc == 0 && sums->tokens == 0)
        rc = tf_fail(err, "%s: holds no sentence", in.name);
    tf_pairs_release(&pairs);
    tf_reader_free(r);
    tf_in_close(&in);
    return stopped ? 1 : rc;
}
