/* sacrebleu_json_private.h - JSON as Python's json.dumps writes it. */
#ifndef TF_METRICS_SACREBLEU_JSON_PRIVATE_H
#define TF_METRICS_SACREBLEU_JSON_PRIVATE_H

#include "base/buf.h"

/* Append x as Python's repr(float): the shortest decimal number that reads back as x. */
void tf_sacrebleu_json_real(struct tf_buf *out, double x);
/* Append round(x, places). */
void tf_sacrebleu_json_rounded(struct tf_buf *out, double x, int places);
/* Append a string in quotes, in ASCII: other characters become \uXXXX. s: UTF-8. */
void tf_sacrebleu_json_str(struct tf_buf *out, const char *s);

#endif
