/* recode_private.h - read text of another encoding as UTF-8 through a struct tf_in, with iconv. */
#ifndef TF_TEXT_RECODE_PRIVATE_H
#define TF_TEXT_RECODE_PRIVATE_H

#include "base/input.h"

/* Let `in`, opened and of which nothing was taken, return its bytes converted from an encoding that
 * iconv(3) or Python knows by that name, a piece at a time. utf-8-sig: UTF-8 without the mark that
 * may be first. Errors: "NAME: unknown encoding X"; of reads "NAME: not X". */
int tf_recode(struct tf_in *in, const char *encoding, struct tf_err *err) TF_MUST_CHECK;

#endif
