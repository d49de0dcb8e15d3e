/* programs.c - see programs_private.h. */
#include "convert/programs_private.h"
#include "base/gunzip.h"
#include "convert/bart_private.h"
#include "convert/ct2_private.h"
#include "convert/fairseq_private.h"
#include "convert/foreign_private.h"
#include "convert/fsmt_private.h"
#include "convert/hf_private.h"
#include "convert/hf_settings_private.h"
#include "convert/marian_private.h"
#include "convert/plain_private.h"

#include <string.h>

/* The first that claims a model has it: the last but one every directory, the last every file. */
static const struct tf_program *const programs[] = {
    &tf_ct2,   &tf_argos, &tf_fairseq,   &tf_fsmt,   &tf_m2m100,
    &tf_bart,  &tf_mbart, &tf_marian_mt, &tf_marian, &tf_plain,
};
enum { PROGRAMS = sizeof programs / sizeof *programs };

static bool claims(const struct tf_program *p, const struct tf_import *m)
{
    if (m->from == TF_FORMAT_AUTO && p->model_type != NULL)
        return strcmp(tf_hf_type(m), p->model_type) == 0;
    if (m->from == TF_FORMAT_AUTO)
        return p->claims_dir != NULL && p->claims_dir(m);
    return p->claims_file != NULL ? p->claims_file(m) : p == m->program;
}

const struct tf_program *tf_program_of(const struct tf_import *m)
{
    int i = 0;
    if (m->from == TF_FORMAT_OTHER)
        return m->program;
    while (!claims(programs[i], m))
        i++;
    return programs[i];
}

static bool has_bytes(const struct tf_program *program, const void *p, size_t n)
{
    return program != NULL && program->begins != NULL && program->begins(p, n);
}

const struct tf_program *tf_program_of_bytes(const struct tf_import *m, const void *p, size_t n)
{
    if (has_bytes(m->program, p, n))
        return m->program;
    for (int i = 0; i < PROGRAMS; i++)
        if (has_bytes(programs[i], p, n))
            return programs[i];
    return NULL;
}

static bool reads_beside(const struct tf_program *p, const char *path)
{
    for (int i = 0; i < 2 && p->beside[i] != NULL; i++)
        if (tf_is_named(path, p->beside[i]))
            return true;
    return false;
}

const struct tf_program *tf_program_beside(const struct tf_import *m, const char *path)
{
    for (int i = 0; i < PROGRAMS; i++)
        if (reads_beside(programs[i], path) &&
            (m == NULL || (programs[i]->in_dir && programs[i]->claims_dir(m))))
            return programs[i];
    return NULL;
}

const struct tf_export_format *tf_export_format(enum tf_format to, const struct tf_config *c)
{
    for (int i = 0; i < PROGRAMS; i++) {
        const struct tf_export_format *f = programs[i]->writes;
        if (f != NULL && f->format == to && (c == NULL || f->fits == NULL || f->fits(c)))
            return f;
    }
    return NULL;
}
