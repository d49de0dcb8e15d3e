/* modes.h - options that only some of the things that a tool does look at. Given with another they
 * are a mistake: nothing that was asked for is passed over in silence. */
#ifndef TF_CMD_MODES_H
#define TF_CMD_MODES_H

#include "base/opt.h"

struct mode_row {
    unsigned modes;        /* bits of the tool's own */
    const char *with;      /* what the options go with, in words */
    const char *names[20]; /* of the options; NULL at the end */
};

/* rows: the last one is zero. The bits of `mode`, what is being done, must all be among those of
 * the options given; provenance leaves the others out. */
static inline int check_modes(struct tf_opt *opts, const struct mode_row *rows, unsigned mode,
                              struct tf_err *err)
{
    for (; rows->with; rows++)
        for (size_t i = 0; rows->names[i]; i++) {
            struct tf_opt *o = tf_opt_find(opts, rows->names[i]);
            if ((rows->modes & mode) == mode)
                continue;
            if (o->set)
                return tf_fail_status(err, TF_USAGE, "--%s goes with %s", rows->names[i],
                                      rows->with);
            o->flags &= ~(unsigned)TF_OPT_SEMANTIC;
        }
    return 0;
}

#endif
