/* nbest.c - see nbest.h. */
#include "text/nbest.h"
#include "base/parse.h"

#include <float.h>
#include <math.h>
#include <string.h>

int tf_nbest_number(struct tf_text *rest, double *x, const char *lack, struct tf_err *err)
{
    char number[512];
    struct tf_text field;
    struct tf_err why = {0};
    if (!tf_text_cut(rest, '\t', &field) || field.n == 0 || field.n >= sizeof number)
        return tf_fail(err, "%s", lack);
    memcpy(number, field.p, field.n);
    number[field.n] = 0;
    return tf_parse_real(x, number, -DBL_MAX, DBL_MAX, &why) == 0 ? 0 : tf_fail(err, "%s", lack);
}

int tf_nbest_parse(struct tf_nbest *h, struct tf_text line, struct tf_err *err)
{
    double idx, rank;
    if (tf_nbest_number(&line, &idx, "no number of an input", err) != 0 ||
        tf_nbest_number(&line, &rank, "no rank", err) != 0)
        return -1;
    if (!(idx >= 0 && idx <= 0x1p53 && idx == floor(idx)))
        return tf_fail(err, "no number of an input");
    *h = (struct tf_nbest){.idx = (uint64_t)idx, .none = rank == 0};
    if (h->none)
        return 0;
    if (tf_nbest_number(&line, &h->score, "no score", err) != 0)
        return -1;
    if (!tf_text_cut(&line, '\t', &h->text))
        return tf_fail(err, "no text");
    h->rest = line;
    return 0;
}
