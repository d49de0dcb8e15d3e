/* evalb_context.c - see evalb_context_private.h. */
#include "tree/evalb_context_private.h"
#include "base/log.h"
#include <stdarg.h>
#include <stdio.h>

void tf_evalb_error(struct tf_evalb_context *c, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    if (c->stop || c->quiet)
        return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    tf_warn("line %llu: %s", (unsigned long long)c->line, text);
    c->status = TF_EVALB_ERROR;
    c->in_error = true;
    c->stop = c->error_count++ > c->p->max_error;
}
