/* sacrebleu_signature.c - see sacrebleu_signature_private.h. */
#include "metrics/sacrebleu_signature_private.h"
#include "base/hash.h"
#include "base/version.h"
#include <stdarg.h>
#include <stdio.h>

static void add_part(struct tf_signature *s, const char *key, const char *brief, const char *fmt,
                     ...) TF_PRINTF(4, 5);

static void add_part(struct tf_signature *s, const char *key, const char *brief, const char *fmt,
                     ...)
{
    va_list ap;
    TF_ASSERT(s->n < (int)(sizeof s->pair / sizeof s->pair[0]));
    s->pair[s->n].key = key;
    s->pair[s->n].brief = brief;
    va_start(ap, fmt);
    vsnprintf(s->pair[s->n].value, sizeof s->pair[0].value, fmt, ap);
    va_end(ap);
    s->n++;
}

static const char *yes(bool b)
{
    return b ? "yes" : "no";
}

static void add_bleu(struct tf_signature *s, const struct tf_bleu_opts *o)
{
    const char *smooth = tf_bleu_smooth_names[o->smooth], *tok = tf_tokenizer_names[o->tokenizer];
    char hex[65];
    add_part(s, "case", "c", "%s", o->lowercase ? "lc" : "mixed");
    add_part(s, "eff", "e", "%s", yes(o->effective_order));
    if (o->tokenizer == TF_TOK_SPM)
        add_part(s, "tok", "tok", "%s-%.8s", tok, tf_hex(hex, o->model, sizeof o->model));
    else
        add_part(s, "tok", "tok", "%s", tok);
    if (o->smooth == TF_SMOOTH_FLOOR || o->smooth == TF_SMOOTH_ADD_K)
        add_part(s, "smooth", "s", "%s[%.2f]", smooth, o->value);
    else
        add_part(s, "smooth", "s", "%s", smooth);
}

static void add_chrf(struct tf_signature *s, const struct tf_chrf_opts *o)
{
    add_part(s, "case", "c", "%s", o->lowercase ? "lc" : "mixed");
    add_part(s, "eff", "e", "%s", yes(!o->eps));
    add_part(s, "nc", "nc", "%d", (int)o->chars);
    add_part(s, "nw", "nw", "%d", (int)o->words);
    add_part(s, "space", "s", "%s", yes(o->whitespace));
}

static void add_ter(struct tf_signature *s, const struct tf_ter_opts *o)
{
    add_part(s, "case", "c", "%s", o->case_sensitive ? "mixed" : "lc");
    add_part(s, "tok", "t", "tercom");
    add_part(s, "norm", "nr", "%s", yes(o->normalized));
    add_part(s, "punct", "pn", "%s", yes(!o->no_punct));
    add_part(s, "asian", "as", "%s", yes(o->asian));
}

void tf_signature_of(struct tf_signature *s, const struct tf_metric *m,
                     const struct tf_sacrebleu_resampling *r)
{
    *s = (struct tf_signature){0};
    add_part(s, "nrefs", "#", "%zu", m->nrefs);
    if (r != NULL && r->test == TF_TEST_RANDOMIZE)
        add_part(s, "ar", "ar", "%jd", (intmax_t)tf_sacrebleu_samples(r));
    else if (r != NULL)
        add_part(s, "bs", "bs", "%jd", (intmax_t)tf_sacrebleu_samples(r));
    if (r != NULL)
        add_part(s, "seed", "rs", "%s", tf_sacrebleu_seed(r));
    switch (m->kind) {
    case TF_BLEU:
        add_bleu(s, &m->u.bleu.opts);
        break;
    case TF_CHRF:
        add_chrf(s, &m->u.chrf.opts);
        break;
    case TF_TER:
        add_ter(s, &m->u.ter.opts);
        break;
    }
    add_part(s, "version", "v", "tf-bleu-%s", tf_version);
}

void tf_signature_text(struct tf_buf *out, const struct tf_signature *s, bool brief)
{
    for (int i = 0; i < s->n; i++)
        tf_buf_printf(out, "%s%s:%s", i ? "|" : "", brief ? s->pair[i].brief : s->pair[i].key,
                      s->pair[i].value);
}
