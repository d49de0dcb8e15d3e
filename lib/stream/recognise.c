/* recognise.c - the table of formats, and tests for those that have no mark. */
#include "stream/recognise.h"
#include "base/utf8.h"
#include "cbor/scan.h"
#include "stream/header.h"
#include "stream/record.h"
#include "stream/schema_private.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* A format that begins with a mark. UTF-32 comes before UTF-16, whose mark is the start of its own.
 */
static const struct format {
    const char *mark;
    size_t n;
    const char *name, *text, *stream;
} formats[] = {
#define MARK(bytes) bytes, sizeof(bytes) - 1
    {MARK("\x1f\x8b"), "data compressed by gzip", "zcat", "zcat"},
    {MARK("\x28\xb5\x2f\xfd"), "data compressed by zstd", "zstd -dc", "zstd -dc"},
    {MARK("\xfd"
          "7zXZ\0"),
     "data compressed by xz", "xz -dc", "xz -dc"},
    {MARK("BZh91AY&SY"), "data compressed by bzip2", "bzip2 -dc", "bzip2 -dc"},
    {MARK("PK\x03\x04"), "a zip or npz archive", "unzip -p", "tf-convert"},
    {MARK("\xff\xfe\0\0"), "UTF-32", "iconv -f UTF-32 -t UTF-8", "iconv -f UTF-32 -t UTF-8"},
    {MARK("\0\0\xfe\xff"), "UTF-32", "iconv -f UTF-32 -t UTF-8", "iconv -f UTF-32 -t UTF-8"},
    {MARK("\xff\xfe"), "UTF-16", "iconv -f UTF-16 -t UTF-8", "iconv -f UTF-16 -t UTF-8"},
    {MARK("\xfe\xff"), "UTF-16", "iconv -f UTF-16 -t UTF-8", "iconv -f UTF-16 -t UTF-8"},
};

/* Text in UTF-16 or UTF-32 without a mark. */
static const struct wide {
    size_t width, at; /* of a unit; the byte that is rarely zero */
    const char *name, *iconv;
} wides[] = {
    {4, 0, "UTF-32", "iconv -f UTF-32LE -t UTF-8"},
    {4, 3, "UTF-32", "iconv -f UTF-32BE -t UTF-8"},
    {2, 0, "UTF-16", "iconv -f UTF-16LE -t UTF-8"},
    {2, 1, "UTF-16", "iconv -f UTF-16BE -t UTF-8"},
};

static void set_found(struct tf_recognised *found, const char *name, const char *text,
                      const char *stream)
{
    *found = (struct tf_recognised){.text = text, .stream = stream};
    snprintf(found->name, sizeof found->name, "%s", name);
}

/* Of most units, all bytes but one are zero, and that one never is. */
static bool is_wide(const struct wide *w, const uint8_t *p, size_t n)
{
    size_t units = (n < 64 ? n : 64) / w->width, narrow = 0;
    for (size_t i = 0; i < units; i++) {
        size_t zeros = 0;
        for (size_t k = 0; k < w->width; k++)
            zeros += p[i * w->width + k] == 0;
        if (p[i * w->width + w->at] == 0)
            return false;
        narrow += zeros == w->width - 1;
    }
    return units >= 2 && 4 * narrow >= 3 * units;
}

/* A SentencePiece model: a message whose first field is a piece, as "<unk>", with its score. */
static bool is_sentencepiece(const uint8_t *p, size_t n)
{
    return n >= 12 && p[0] == 0x0a && p[2] == 0x0a && p[3] < 0x40 && p[1] >= p[3] + 2 &&
           n > 4U + p[3] && p[4] == '<' && p[3 + p[3]] == '>' && p[4 + p[3]] == 0x15;
}

/* safetensors: the length of a JSON object in 8 bytes, and the object. */
static bool is_safetensors(const uint8_t *p, size_t n)
{
    return n > 9 && p[5] == 0 && p[6] == 0 && p[7] == 0 && p[8] == '{' && p[9] == '"';
}

static void set_stream(struct tf_recognised *found, const uint8_t *p, size_t n)
{
    struct tf_scan s = {0};
    struct tf_arena a = {0};
    struct tf_header h;
    struct tf_err quiet = {0};
    set_found(found, "a stream of tf-tools", "tf-cbor json", "");
    if (n > TF_LABEL_N && tf_scan_item(&s, p + TF_LABEL_N, n - TF_LABEL_N, TF_MAX_RECORD) > 0 &&
        tf_header_decode(&h, &a, p + TF_LABEL_N, s.pos, &quiet) == 0) {
        bool model = (tf_kind_of(h.kind) & TF_KIND_MODELS) != 0;
        snprintf(found->name, sizeof found->name,
                 model ? "a %.40s of tf-train" : "a stream of kind %.40s", h.kind);
        found->text = tf_kind_use(h.kind)->to_text;
    }
    tf_arena_release(&a);
}

/* UTF-8 as far as it goes: the last character may be cut. */
static bool is_utf8(const char *p, size_t n)
{
    size_t good = tf_utf8_span(p, n);
    return memchr(p, 0, n) == NULL && good + 3 >= n && good > 0;
}

bool tf_recognise(struct tf_recognised *found, const void *bytes, size_t n)
{
    const uint8_t *p = bytes;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        const struct format *f = &formats[i];
        if (n >= f->n && memcmp(p, f->mark, f->n) == 0)
            return set_found(found, f->name, f->text, f->stream), true;
    }
    if (n >= TF_LABEL_N && tf_label_begins(p, n))
        return set_stream(found, p, n), true;
    if (is_safetensors(p, n))
        return set_found(found, "a safetensors file", "", "tf-convert"), true;
    if (is_sentencepiece(p, n)) {
        set_found(found, "a SentencePiece model", "tf-tokenize --export-vocab", "");
        return found->is_vocab = true;
    }
    for (size_t i = 0; i < sizeof wides / sizeof *wides; i++)
        if (is_wide(&wides[i], p, n))
            return set_found(found, wides[i].name, wides[i].iconv, wides[i].iconv), true;
    if (n == 0 || !is_utf8(bytes, n))
        return false;
    bool ours = n >= 16 && memcmp(p, "{\"type\":\"header\"", 16) == 0;
    set_found(found, *p == '{' || *p == '[' ? "JSON" : "text", "", ours ? "tf-cbor unjson" : "");
    found->is_text = true;
    found->is_json = *p == '{' || *p == '[';
    return true;
}
