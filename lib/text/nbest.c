/* nbest.c - see nbest.h. */
#include "text/nbest.h"
#include "base/buf.h"
#include "base/parse.h"

#include <float.h>
#include <math.h>

int tf_nbest_number(struct tf_text *rest, double *x, const char *lack, struct tf_err *err)
{
    struct tf_buf number = {0};
    struct tf_text field;
    struct tf_err why = {0};
    if (!tf_text_cut(rest, '\t', &field) || field.n == 0)
        return tf_fail(err, "%s", lack);
    tf_buf_add(&number, field.p, field.n);
    const int rc = tf_parse_real(x, number.p, -DBL_MAX, DBL_MAX, &why);
    tf_buf_release(&number);
    return rc == 0 ? 0 : tf_fail(err, "%s", lack);
}

int tf_nbest_begin(struct tf_nbest *h, struct tf_text line, struct tf_err *err)
{
    double idx, rank;
    if (tf_nbest_number(&line, &idx, "no number of an input", err) != 0 ||
        tf_nbest_number(&line, &rank, "no rank", err) != 0)
        return -1;
    if (!(idx >= 0 && idx <= 0x1p53 && idx == floor(idx)))
        return tf_fail(err, "no number of an input");
    *h = (struct tf_nbest){.idx = (uint64_t)idx, .none = rank == 0, .rest = line};
    return 0;
}

int tf_nbest_hypothesis(struct tf_nbest *h, struct tf_err *err)
{
    if (tf_nbest_number(&h->rest, &h->score, "no score", err) != 0)
        return -1;
    return tf_text_cut(&h->rest, '\t', &h->text) ? 0 : tf_fail(err, "no text");
}
