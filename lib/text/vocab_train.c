/* vocab_train.c - see vocab_train.h. */
#include "text/vocab_train.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/parse.h"
#include "base/rng.h"
#include "base/utf8.h"
#include "stream/model.h"
#include "text/sp_check.h"
#include "text/text_file.h"
#include <stdlib.h>
#include <string.h>

int tf_training_fields(bool fields[TF_TRAINING_FIELDS], size_t *last, const char *list,
                       bool several, struct tf_err *err)
{
    size_t n = 0;
    if (tf_parse_list(fields, TF_TRAINING_FIELDS, list, err) != 0) {
        err->status = TF_USAGE;
        return tf_context(err, "--field");
    }
    for (size_t i = 0; i < TF_TRAINING_FIELDS; i++)
        if (fields[i]) {
            *last = i + 1;
            n++;
        }
    return several || n == 1
               ? 0
               : tf_fail_status(err, TF_USAGE, "--field %s: several are only for --train", list);
}

enum { LONGEST_RECORD = 1 << 24 }; /* of a line with fields, as for text that is encoded */

/* The next of l->fields in the rest of the line. */
static bool next_field(struct tf_training_text *l, const char **text, size_t *n)
{
    struct tf_text field;
    while (l->field < TF_TRAINING_FIELDS && tf_text_cut(&l->rest, '\t', &field))
        if (l->fields[l->field++]) {
            *text = field.p;
            *n = field.n;
            return true;
        }
    return false;
}

/* A line, or its first field of l->fields, as tf_in_line. */
static int read_line(struct tf_training_text *l, const char **text, size_t *n, struct tf_err *err)
{
    /* Of its fields, or without its CR, the line may be short enough. */
    const size_t longest = l->fields != NULL ? LONGEST_RECORD : l->max + l->crlf;
    int rc = tf_in_line(&l->in, text, n, longest, err);
    if (rc == 1 && l->crlf && *n > 0 && (*text)[*n - 1] == '\r')
        --*n;
    if (rc != 1 || l->fields == NULL)
        return rc;
    l->rest = (struct tf_text){*text, *n};
    l->field = 0;
    if (!next_field(l, text, n))
        *n = 0;
    return 1;
}

/* Read the next usable line: 1; 0 at the end; -1 on error. */
static int next_line(struct tf_training_text *l, const char **text, size_t *n, struct tf_err *err)
{
    for (;;) {
        if (!l->open) {
            if (l->at == l->n)
                return 0;
            if (tf_text_open(&l->in, l->paths[l->at++], TF_TEXT_AS_IS, err) != 0)
                return -1;
            l->open = true;
        }
        int rc = next_field(l, text, n) ? 1 : read_line(l, text, n, err);
        if (rc <= 0) {
            tf_in_close(&l->in);
            l->open = false;
            if (rc < 0)
                return -1;
        } else if (rc == 2 || *n > l->max) {
            l->too_long++;
        } else if (memchr(*text, 0, *n) != NULL) {
            l->with_nul++;
        } else if (tf_utf8_span(*text, *n) < *n) {
            l->bad_utf8++;
        } else if (*n > 0 && !(*n == 1 && **text == '\r')) {
            return 1;
        }
    }
}

/* A uniform sample of the lines (Vitter, "Random sampling with a reservoir", algorithm R). */
static int draw_sample(struct tf_training_text *l, struct tf_err *err)
{
    const char *text;
    size_t n, cap = 0;
    int rc;
    struct tf_rng rng = tf_rng_new(l->seed, 0);
    for (uint64_t i = 0; (rc = next_line(l, &text, &n, err)) > 0; i++) {
        size_t k = l->n_kept;
        if (k == l->sample) {
            uint64_t slot = tf_rng_below(&rng, i + 1);
            if (slot >= l->sample)
                continue;
            k = (size_t)slot;
            free((char *)l->kept[k].p);
        } else {
            TF_GROW(l->kept, k, cap);
            l->n_kept++;
        }
        l->kept[k] = (struct tf_text){tf_xstrndup(text, n), n};
    }
    l->sampled = true;
    return rc;
}

/* tf_sp_train.next */
static int next_sentence(void *lines, const char **text, size_t *n, struct tf_err *err)
{
    struct tf_training_text *l = lines;
    if (l->sample > 0 && !l->sampled && draw_sample(l, err) < 0)
        return -1;
    if (l->sample == 0)
        return next_line(l, text, n, err);
    if (l->next == l->n_kept)
        return 0;
    *text = l->kept[l->next].p;
    *n = l->kept[l->next++].n;
    return 1;
}

static void training_text_release(struct tf_training_text *l)
{
    if (l->open)
        tf_in_close(&l->in);
    for (size_t i = 0; i < l->n_kept; i++)
        free((char *)l->kept[i].p);
    free(l->kept);
    *l = (struct tf_training_text){0};
}

static void report_skipped(const struct tf_training_text *l)
{
    if (l->bad_utf8 + l->with_nul + l->too_long > 0)
        tf_note("lines left out: %llu with invalid UTF-8, %llu with NUL, %llu over %zu bytes",
                (unsigned long long)l->bad_utf8, (unsigned long long)l->with_nul,
                (unsigned long long)l->too_long, l->max);
}

/* What SentencePiece ignores, changes or aborts on. */
static int check_symbol(const struct tf_sp_train *t, size_t i, struct tf_err *err)
{
    static const char *const special[] = {"<pad>", "<unk>", "<s>", "</s>"};
    const char *s = t->symbols[i];
    size_t n = strlen(s);
    if (n == 0)
        return tf_fail_status(err, TF_USAGE, "no text");
    if (n > TF_MAX_PIECE)
        return tf_fail_status(err, TF_USAGE, "longer than %zu bytes", TF_MAX_PIECE);
    if (tf_utf8_span(s, n) < n)
        return tf_fail_status(err, TF_USAGE, "not UTF-8");
    for (const char *p = s; *p != 0; p++)
        if ((unsigned char)*p <= ' ' || *p == 0x7f || strncmp(p, "\u2581", 3) == 0)
            return tf_fail_status(err, TF_USAGE, "a space or control character");
    for (size_t k = 0; k < sizeof special / sizeof *special; k++)
        if (strcmp(s, special[k]) == 0)
            return tf_fail_status(err, TF_USAGE, "is a special piece");
    if (t->byte_fallback && n == 6 && strncmp(s, "<0x", 3) == 0 && s[5] == '>' &&
        strspn(s + 3, "0123456789ABCDEF") == 2)
        return tf_fail_status(err, TF_USAGE, "is the piece of a byte");
    for (size_t k = 0; k < i; k++)
        if (strcmp(s, t->symbols[k]) == 0)
            return tf_fail_status(err, TF_USAGE, "given twice");
    return 0;
}

int tf_vocab_train(struct tf_sp_train *t, struct tf_training_text *text, struct tf_out *out,
                   struct tf_err *err)
{
    struct tf_sp *sp = NULL;
    struct tf_buf model = {0};
    t->next = next_sentence;
    t->arg = text;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < t->n_symbols; i++)
        if ((rc = check_symbol(t, i, err)) != 0)
            tf_context(err, "symbol '%.80s'", t->symbols[i]);
    if (rc == 0)
        rc = tf_sp_train(t, &model, err);
    if (rc == 0)
        rc = tf_sp_load(&sp, model.p, model.len, err);
    if (rc == 0 && model.len > TF_MAX_VOCAB)
        rc = tf_fail(err, "a vocabulary of %zu bytes: at most %zu", model.len, TF_MAX_VOCAB);
    if (rc == 0)
        rc = tf_out_write(out, model.p, model.len, err);
    if (rc == 0 && tf_sp_size(sp) < t->size)
        tf_note("the text gave %lld pieces, fewer than --vocab-size %lld",
                (long long)tf_sp_size(sp), (long long)t->size);
    report_skipped(text);
    tf_sp_free(sp);
    tf_buf_release(&model);
    training_text_release(text);
    return rc;
}
