/* conversion_foreign.c - read a model of another program, with its vocabularies. */
#include "base/hash.h"
#include "base/log.h"
#include "convert/added_tokens_private.h"
#include "convert/conversion_private.h"
#include "convert/ct2_private.h"
#include "convert/fairseq_private.h"
#include "convert/fsmt_private.h"
#include "convert/hf_private.h"
#include "convert/hf_tokenizer_private.h"
#include "convert/hf_vocab_private.h"
#include "convert/marian_private.h"
#include "convert/model_dir_private.h"
#include "convert/search_private.h"
#include "model/search_settings.h"
#include "text/bpe_file.h"
#include "text/sp_check.h"
#include "text/sp_renumber.h"
#include "text/vocab_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- a vocabulary and its model ---- */

static int check_target(const struct tf_conversion *m, const char *name, struct tf_err *err)
{
    const struct tf_special special = {.pad = m->config.pad,
                                       .unk = m->header.special.unk,
                                       .bos = m->config.bos != m->config.eos ? m->config.bos : -1,
                                       .eos = m->config.eos};
    return tf_vocab_file_fits(m->vocab_target, m->vocab_target_n, name, m->config.vocab_size,
                              &special, err);
}

int tf_conversion_check_vocab(const struct tf_conversion *m, const char *name,
                              const char *config_name, struct tf_err *err)
{
    struct tf_header given = {.has_vocab = true};
    tf_sha256_of(given.vocab, m->vocab, m->vocab_n);
    if (tf_same_vocab(&given, name, &m->header, config_name, err) != 0)
        return -1;
    const bool own_ids = m->config.source_vocab_size > 0;
    struct tf_special special = {.pad = m->config.pad,
                                 .unk = m->header.special.unk,
                                 .bos = m->config.bos != m->config.eos ? m->config.bos : -1,
                                 .eos = m->config.eos};
    if (own_ids)
        special = (struct tf_special){-1, -1, -1, m->config.source_eos ? m->config.eos : -1};
    if (tf_vocab_file_fits(m->vocab, m->vocab_n, name, tf_config_source_ids(&m->config), &special,
                           err) != 0)
        return -1;
    return own_ids && m->vocab_target != NULL ? check_target(m, name, err) : 0;
}

/* ---- vocabularies of other programs: segmenters, and perhaps a list of ids for both ---- */

/* Are the pieces of a segmenter those of the list, in its order? */
static bool has_ids(struct tf_conversion *m, const struct tf_buf *segmenter,
                    const struct tf_piece_list *list)
{
    const char *const *own, *const *theirs;
    size_t n;
    struct tf_err none;
    if (tf_sp_texts(&m->arena, segmenter->p, segmenter->len, &own, &n, &none) != 0 ||
        n != list->n ||
        tf_sp_foreign_texts(&m->arena, segmenter->p, segmenter->len, &theirs, &n, &none) != 0)
        return false;
    for (size_t i = 0; i < n; i++)
        if (own[i] == NULL ||
            (strcmp(own[i], list->v[i]) != 0 && strcmp(theirs[i], list->v[i]) != 0))
            return false;
    return true;
}

/* *to = the segmenter at a path, with the ids of the list if there is one. No path: one of words,
 * which codes may split. */
static int read_segmenter(struct tf_conversion *m, struct tf_buf *to, const char *path,
                          const struct tf_piece_list *list, const char *pieces,
                          const struct tf_sp_side *side, struct tf_err *err)
{
    char *bytes;
    size_t n;
    const struct tf_bpe_codes *codes = m->codes.lines != NULL ? &m->codes : NULL;
    if (path == NULL)
        return tf_sp_words(to, list->v, list->n, codes, side, err) == 0 ? 0
               : pieces != NULL ? tf_context(err, "%s", pieces)
                                : -1;
    if (tf_vocab_file_read(&bytes, &n, NULL, path, err) != 0)
        return -1;
    tf_buf_add(to, bytes, n);
    free(bytes);
    if (list->n == 0 || (m->added == NULL && has_ids(m, to, list)))
        return 0;
    struct tf_buf with_ids = {0};
    const int rc = tf_sp_renumber(&with_ids, to->p, to->len, list, m->added, side, err);
    tf_buf_release(to);
    *to = with_ids;
    return rc == 0          ? 0
           : pieces != NULL ? tf_context(err, "%s, %s", path, pieces)
                            : tf_context(err, "%s", path);
}

/* From the buffers; one where both are the same. */
static void set_vocabularies(struct tf_conversion *m)
{
    m->vocab = (const uint8_t *)m->vocab_buf.p;
    m->vocab_n = m->vocab_buf.len;
    if (m->vocab_target_buf.len == m->vocab_n &&
        memcmp(m->vocab_target_buf.p, m->vocab, m->vocab_n) == 0)
        return;
    m->vocab_target = (const uint8_t *)m->vocab_target_buf.p;
    m->vocab_target_n = m->vocab_target_buf.len;
}

/* Codes that split words, where no segmenter does. */
static int read_codes(struct tf_conversion *m, const struct tf_convert_opts *o, struct tf_err *err)
{
    return o->codes == NULL || o->vocab != NULL
               ? 0
               : tf_bpe_file_read(&m->codes, &m->arena, o->codes, false, err);
}

/* The segmenters with the ids of lists, for sources and targets. */
static int use_segmenters(struct tf_conversion *m, const struct tf_convert_opts *o,
                          const struct tf_piece_list list[2], struct tf_err *err)
{
    const struct tf_sp_side source = {false, NULL}, target = {true, o->begin};
    if (read_segmenter(m, &m->vocab_buf, o->vocab, &list[0], o->pieces, &source, err) != 0)
        return -1;
    const bool same_ids = list[0].v == list[1].v;
    if (read_segmenter(m, &m->vocab_target_buf,
                       o->vocab_target != NULL ? o->vocab_target : o->vocab, &list[1],
                       same_ids ? o->pieces : o->pieces_target, &target, err) != 0)
        return -1;
    set_vocabularies(m);
    return 0;
}

/* most: pieces beyond these ids are left out: that of a padding id which the model has not. */
static int read_segmenters(struct tf_conversion *m, const struct tf_convert_opts *o, int64_t most,
                           struct tf_err *err)
{
    struct tf_piece_list list[2] = {{0}, {0}};
    if (o->pieces != NULL && tf_piece_list_read(&list[0], &m->arena, o->pieces, err) != 0)
        return -1;
    if (most > 0 && list[0].n == (size_t)most + 1)
        list[0].n--;
    if (most > 0 && o->pieces != NULL &&
        tf_added_tokens_read(&list[0], &m->added, &m->arena, o->added_tokens, o->tokenizer_config,
                             most, err) != 0)
        return -1;
    list[1] = list[0];
    return use_segmenters(m, o, list, err);
}

/* The search of the original, and a note of what was read. */
static int take_search(struct tf_conversion *m, enum tf_original from, const char *name,
                       const struct tf_convert_opts *o, struct tf_err *err)
{
    static const char *const programs[] = {"Marian", "MarianMT",    "M2M100",
                                           "FSMT",   "CTranslate2", "fairseq"};
    const struct tf_config *c = &m->config;
    struct tf_buf left = {0}, line = {0};
    const int rc = tf_conversion_search(m, from, name, o, &left, err);
    tf_search_settings_line(&line, &m->header.search);
    if (rc == 0)
        tf_note("%s: %s, %lld + %lld layers of width %lld, %s; decoded with %s%s%s", name,
                programs[from], (long long)c->encoder_layers, (long long)c->decoder_layers,
                (long long)c->d_model, tf_activations[c->activation], line.p,
                left.len > 0 ? ", but without " : "", left.len > 0 ? left.p : "");
    tf_buf_release(&left);
    tf_buf_release(&line);
    return rc;
}

static void say_words(const char *name, const struct tf_convert_opts *o)
{
    if (o->vocab == NULL && o->codes != NULL)
        tf_note("%s: tf-tokenize splits words by %s; its text is tokens between spaces, as Moses' "
                "tokenizer makes them",
                name, o->codes);
    else if (o->vocab == NULL)
        tf_note("%s: no SentencePiece model: its text is tokens between spaces, as another program "
                "splits it",
                name);
}

static void say_positions(const char *name)
{
    tf_note("%s: computes what Marian computes; for a model that was trained or tuned in "
            "transformers, --positions halves is what it computes there",
            name);
}

/* A model of Marian has no vocabulary in its file. */
int tf_conversion_read_marian(struct tf_conversion *m, const char *name,
                              const struct tf_model_dir *dir, const struct tf_convert_opts *o,
                              struct tf_err *err)
{
    (void)dir;
    if (o->config != NULL)
        return tf_fail_status(err, TF_USAGE, "--config: %s has the settings of Marian", name);
    if (o->vocab == NULL)
        return tf_fail_status(err, TF_USAGE,
                              "%s: a model of Marian: --vocab with its SentencePiece model is "
                              "needed",
                              name);
    if (read_segmenters(m, o, 0, err) != 0)
        return -1;
    const struct tf_marian_vocab vocab[2] = {{m->vocab, m->vocab_n},
                                             {m->vocab_target, m->vocab_target_n}};
    const enum tf_marian_vocabs vocabs = o->vocab_target == NULL ? TF_MARIAN_ONE_GIVEN
                                         : m->vocab_target == NULL || o->pieces != NULL
                                             ? TF_MARIAN_ONE
                                             : TF_MARIAN_TWO;
    if (tf_marian_import(&m->bundle, &m->config, &m->header.special.unk, vocab, vocabs, err) != 0)
        return tf_context(err, "%s", name);
    if (take_search(m, TF_FROM_MARIAN, name, o, err) != 0)
        return -1;
    return tf_conversion_check_vocab(m, o->vocab, name, err);
}

/* tokenizer.json in place of SentencePiece models. */
static int use_tokenizer(struct tf_conversion *m, const char *path, struct tf_err *err)
{
    struct tf_piece_list list;
    struct tf_buf spm = {0};
    const struct tf_sp_side source = {false, NULL}, target = {true, NULL};
    char *json;
    size_t n;
    if (tf_read_file(&json, &n, path, TF_MAX_VOCAB, err) != 0)
        return -1;
    int rc = tf_hf_tokenizer(&spm, &list, &m->arena, json, n, err);
    free(json);
    if (rc == 0 && m->config.start == TF_START_ZERO && list.n == (size_t)m->config.vocab_size + 1)
        list.n--; /* that of the padding id */
    if (rc == 0)
        rc = tf_hf_pad_pieces(&list, &m->arena, m->config.vocab_size, err);
    if (rc == 0)
        rc = tf_sp_renumber(&m->vocab_buf, spm.p, spm.len, &list, NULL, &source, err);
    if (rc == 0)
        rc = tf_sp_renumber(&m->vocab_target_buf, spm.p, spm.len, &list, NULL, &target, err);
    if (rc == 0)
        set_vocabularies(m);
    tf_buf_release(&spm);
    return rc != 0 ? tf_context(err, "%s", path) : 0;
}

static int use_m2m(struct tf_conversion *m, const struct tf_convert_opts *o, struct tf_err *err)
{
    struct tf_piece_list lists[2];
    char *spm;
    size_t n;
    if (o->vocab_target != NULL)
        return tf_fail_status(err, TF_USAGE, "--vocab-target: M2M100 has one list of pieces");
    if (o->positions != TF_STORED_AUTO)
        return tf_fail_status(err, TF_USAGE, "--positions: M2M100 has one table of them");
    if (o->tokenizer != NULL)
        return use_tokenizer(m, o->tokenizer, err);
    if (o->tokens == NULL)
        return tf_fail(err, "no special_tokens_map.json or tokenizer_config.json, which has the "
                            "tags of languages: copy it from the model that this one comes from");
    if (tf_vocab_file_read(&spm, &n, NULL, o->vocab, err) != 0)
        return -1;
    int rc = tf_hf_m2m_pieces(&lists[0], &m->arena, spm, n, o->pieces, o->tokens,
                              m->config.vocab_size, err);
    if (rc == 0)
        rc = tf_added_tokens_read(&lists[0], &m->added, &m->arena, o->added_tokens,
                                  o->tokenizer_config, m->config.vocab_size, err);
    free(spm);
    lists[1] = lists[0];
    return rc == 0 ? use_segmenters(m, o, lists, err) : -1;
}

int tf_conversion_read_hf(struct tf_conversion *m, const char *name,
                          const struct tf_model_dir *dir, const struct tf_convert_opts *o,
                          struct tf_err *err)
{
    char *json;
    size_t n;
    if (tf_read_file(&json, &n, dir->config, TF_MAX_CONFIG, err) != 0)
        return -1;
    bool m2m, guessed;
    const int rc = tf_hf_import(&m->bundle, &m->config, json, n, o->positions, &m2m, &guessed, err);
    free(json);
    if (rc != 0)
        return tf_context(err, "%s", name);
    if ((m2m                    ? use_m2m(m, o, err)
         : o->tokenizer != NULL ? use_tokenizer(m, o->tokenizer, err)
                                : read_segmenters(m, o, m->config.vocab_size, err)) != 0)
        return tf_context(err, "%s", name);
    m->header.special.unk = tf_sp_id(m->vocab, m->vocab_n, "<unk>");
    if (m->config.start == TF_START_ZERO) /* pieces of these names may be there, as in Marian */
        m->config.bos = tf_sp_id(m->vocab, m->vocab_n, "<s>");
    if (!m2m) /* there what pads is what starts */
        m->config.pad = tf_sp_id(m->vocab, m->vocab_n, "<pad>");
    if (take_search(m, m2m ? TF_FROM_M2M100 : TF_FROM_MARIANMT, name, o, err) != 0)
        return -1;
    if (guessed)
        say_positions(name);
    return tf_conversion_check_vocab(m, o->tokenizer != NULL ? o->tokenizer : o->vocab, name, err);
}

static int import_ct2(struct tf_conversion *m, const char *name, const char *config,
                      const struct tf_convert_opts *o, struct tf_piece_list lists[2],
                      bool *guessed, struct tf_err *err)
{
    char *json = NULL;
    size_t n = 0;
    if (config != NULL && tf_read_file(&json, &n, config, TF_MAX_CONFIG, err) != 0)
        return -1;
    const int rc = tf_ct2_import(&m->bundle, &m->config, &m->header.special.unk, json, n, lists,
                                 o->positions, guessed, err);
    free(json);
    return rc != 0 ? tf_context(err, "%s", name) : 0;
}

int tf_conversion_read_ct2(struct tf_conversion *m, const char *name,
                           const struct tf_model_dir *dir, const struct tf_convert_opts *o,
                           struct tf_err *err)
{
    struct tf_piece_list lists[2];
    bool guessed;
    if (o->pieces == NULL)
        return tf_fail_status(err, TF_USAGE, "%s: a model of CTranslate2: name its directory",
                              name);
    if (tf_piece_list_read(&lists[0], &m->arena, o->pieces, err) != 0)
        return -1;
    lists[1] = lists[0];
    if (o->pieces_target != NULL &&
        tf_piece_list_read(&lists[1], &m->arena, o->pieces_target, err) != 0)
        return -1;
    if (import_ct2(m, name, dir->config, o, lists, &guessed, err) != 0 ||
        read_codes(m, o, err) != 0 || use_segmenters(m, o, lists, err) != 0)
        return -1;
    if (o->begin != NULL && tf_piece_list_id(&lists[1], o->begin) < 0)
        return tf_fail(err, "%s: target_prefix %s of metadata.json: no token of its targets", name,
                       o->begin);
    if (take_search(m, TF_FROM_CTRANSLATE2, name, o, err) != 0)
        return -1;
    say_words(name, o);
    if (guessed)
        say_positions(name);
    return tf_conversion_check_vocab(m, o->pieces, name, err);
}

/* ---- fairseq ---- */

static int read_dictionary(struct tf_conversion *m, struct tf_piece_list *list, const char *dir,
                           const char *lang, struct tf_err *err)
{
    const size_t n = strlen(dir) + strlen(lang) + sizeof "/dict..txt";
    if (strchr(lang, '/') != NULL)
        return tf_fail(err, "%s: source_lang or target_lang with a /", dir);
    char *path = tf_arena_alloc(&m->arena, n);
    snprintf(path, n, "%s/dict.%s.txt", dir, lang);
    struct stat st;
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
        return tf_fail(err, "%s: not a regular file", path);
    return tf_fairseq_dictionary(list, &m->arena, path, err);
}

static int check_dictionary(const struct tf_piece_list *list, const char *dir, const char *lang,
                            int64_t size, struct tf_err *err)
{
    return list->n == (uint64_t)size
               ? 0
               : tf_fail(err, "%s/dict.%s.txt: %zu tokens, and %lld embeddings", dir, lang, list->n,
                         (long long)size);
}

static bool equal(const struct tf_piece_list *a, const struct tf_piece_list *b)
{
    for (size_t i = 0; i < a->n && a->n == b->n; i++)
        if (strcmp(a->v[i], b->v[i]) != 0)
            return false;
    return a->n == b->n;
}

/* known: it is known which of the languages is the source's. */
static int read_dictionaries(struct tf_conversion *m, struct tf_piece_list lists[2],
                             const char *dir, const struct tf_fairseq_langs *langs, bool known,
                             struct tf_err *err)
{
    struct tf_config *c = &m->config;
    if (read_dictionary(m, &lists[0], dir, langs->source, err) != 0 ||
        read_dictionary(m, &lists[1], dir, langs->target, err) != 0)
        return -1;
    const bool one = equal(&lists[0], &lists[1]);
    if (!known && !one)
        return tf_fail(err, "%s: no source_lang and target_lang in the model: which of two "
                            "dictionaries is that of sources?",
                       dir);
    if (check_dictionary(&lists[0], dir, langs->source, tf_config_source_ids(c), err) != 0 ||
        check_dictionary(&lists[1], dir, langs->target, c->vocab_size, err) != 0)
        return -1;
    if (one) {
        lists[1] = lists[0];
        c->source_vocab_size = 0;
    } else if (c->tie == TF_TIE_ALL) {
        return tf_fail(err, "%s: one matrix of embeddings, and two dictionaries", dir);
    }
    return 0;
}

/* fairseq-train without -s and -t does not say in which direction it trains. Its data, by custom,
 * are in a directory NAME.SOURCE-TARGET; and one dictionary needs no direction: then false. */
static bool find_direction(struct tf_fairseq_langs *l, const char *const langs[2])
{
    l->source = langs[0];
    l->target = langs[1];
    size_t n = l->data != NULL ? strlen(l->data) : 0;
    while (n > 0 && l->data[n - 1] == '/')
        n--;
    for (int i = 0; i < 2; i++) {
        char end[520];
        const size_t len = (size_t)snprintf(end, sizeof end, "%s-%s", langs[i], langs[1 - i]);
        if (n <= len || memcmp(l->data + n - len, end, len) != 0 ||
            strchr("./_", l->data[n - len - 1]) == NULL)
            continue;
        l->source = langs[i];
        l->target = langs[1 - i];
        return true;
    }
    return false;
}

int tf_conversion_read_fairseq(struct tf_conversion *m, const char *name,
                               const struct tf_model_dir *dir, const struct tf_convert_opts *o,
                               struct tf_err *err)
{
    struct tf_piece_list lists[2];
    struct tf_fairseq_langs langs;
    if (dir->fairseq == NULL)
        return tf_fail_status(err, TF_USAGE, "%s: a model of fairseq: no dict.*.txt beside it",
                              name);
    if (tf_fairseq_import(&m->bundle, &m->config, &langs, &m->torch, err) != 0)
        return tf_context(err, "%s", name);
    bool known = langs.source != NULL && langs.target != NULL;
    if (!known && dir->langs[0] != NULL)
        known = find_direction(&langs, dir->langs);
    if (langs.source == NULL || langs.target == NULL)
        return tf_fail(err, "%s: no source_lang and target_lang", name);
    if (read_dictionaries(m, lists, dir->fairseq, &langs, known, err) != 0 ||
        read_codes(m, o, err) != 0)
        return -1;
    if (use_segmenters(m, o, lists, err) != 0)
        return o->vocab != NULL ? -1 : tf_context(err, "%s", dir->fairseq);
    m->header.special.unk = tf_piece_list_id(&lists[1], "<unk>");
    if (known)
        (void)(tf_lang_set(m->header.lang, langs.source) &&
               tf_lang_set(m->header.target_lang, langs.target));
    if (take_search(m, TF_FROM_FAIRSEQ, name, o, err) != 0)
        return -1;
    say_words(name, o);
    return tf_conversion_check_vocab(m, dir->fairseq, name, err);
}

/* ---- FSMT: fairseq's models, as transformers has them ---- */

static int read_fsmt_tokenizer(const char *path, struct tf_err *err)
{
    char *json;
    size_t n;
    if (tf_read_file(&json, &n, path, TF_MAX_CONFIG, err) != 0)
        return -1;
    const int rc = tf_fsmt_check_tokenizer(json, n, err);
    free(json);
    return rc != 0 ? tf_context(err, "%s", path) : 0;
}

static int read_pieces(struct tf_conversion *m, struct tf_piece_list *list, const char *path,
                       int64_t size, struct tf_err *err)
{
    if (tf_piece_list_read(list, &m->arena, path, err) != 0)
        return -1;
    return list->n == (uint64_t)size ? 0
                                     : tf_fail(err, "%s: %zu pieces, and %lld embeddings", path,
                                               list->n, (long long)size);
}

static int read_fsmt_vocabularies(struct tf_conversion *m, const char *name,
                                  const struct tf_convert_opts *o, struct tf_err *err)
{
    struct tf_config *c = &m->config;
    struct tf_piece_list lists[2];
    if (read_pieces(m, &lists[0], o->pieces, tf_config_source_ids(c), err) != 0 ||
        read_pieces(m, &lists[1], o->pieces_target, c->vocab_size, err) != 0 ||
        tf_bpe_file_read(&m->codes, &m->arena, o->codes, true, err) != 0)
        return -1;
    if (equal(&lists[0], &lists[1])) {
        lists[1] = lists[0];
        c->source_vocab_size = 0;
    } else if (c->tie == TF_TIE_ALL) {
        return tf_fail(err, "%s: one matrix of embeddings, and two vocabularies", name);
    }
    m->header.special.unk = tf_piece_list_id(&lists[1], "<unk>");
    return use_segmenters(m, o, lists, err);
}

int tf_conversion_read_fsmt(struct tf_conversion *m, const char *name,
                            const struct tf_model_dir *dir, const struct tf_convert_opts *o,
                            struct tf_err *err)
{
    struct tf_fairseq_langs langs;
    char *json;
    size_t n;
    if (o->vocab != NULL || o->pieces_target == NULL) /* then --pieces was given */
        return tf_fail_status(err, TF_USAGE, "--%s: %s has vocabularies of its own",
                              o->vocab != NULL ? "vocab" : "pieces", name);
    if (tf_read_file(&json, &n, dir->config, TF_MAX_CONFIG, err) != 0)
        return -1;
    const int rc = tf_fsmt_import(&m->bundle, &m->config, &langs, json, n, err);
    free(json);
    if (rc != 0)
        return tf_context(err, "%s", name);
    if ((o->tokens != NULL && read_fsmt_tokenizer(o->tokens, err) != 0) ||
        read_fsmt_vocabularies(m, name, o, err) != 0)
        return -1;
    (void)(langs.source != NULL && tf_lang_set(m->header.lang, langs.source) &&
           tf_lang_set(m->header.target_lang, langs.target));
    if (take_search(m, TF_FROM_FSMT, name, o, err) != 0)
        return -1;
    say_words(name, o);
    return tf_conversion_check_vocab(m, o->pieces, name, err);
}
