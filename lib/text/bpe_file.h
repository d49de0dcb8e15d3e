/* bpe_file.h - reads files of codes of byte-pair encoding. */
#ifndef TF_TEXT_BPE_FILE_H
#define TF_TEXT_BPE_FILE_H

#include "base/arena.h"
#include "text/bpe_codes.h"

/* Read a file of them into the arena: of subword-nmt, whose first line is its version unless that
 * is 0.1, or of fastBPE, where each line has a count besides. fsmt: merges.txt of FSMT of
 * transformers, in which words end as in version 0.2 whatever it says, and end_in_pieces. Errors
 * name the path: another version; a line that is no merge; what tf_bpe_codes_check refuses. */
int tf_bpe_file_read(struct tf_bpe_codes *codes, struct tf_arena *a, const char *path, bool fsmt,
                     struct tf_err *err) TF_MUST_CHECK;

#endif
