/* sp_json.c - see sp_json.h. */
#include "text/sp_json.h"
#include "base/json.h"
#include "text/sp_settings_private.h"

#include <string.h>

#define MASK "<mask>" /* of a model that was trained without targets */

bool tf_sp_ends(const void *bytes, size_t n)
{
    return tf_sp_settings_of(bytes, n).ends;
}

bool tf_sp_white(const void *bytes, size_t n)
{
    const struct tf_sp_settings is = tf_sp_settings_of(bytes, n);
    return is.ends || is.white != 0;
}

bool tf_sp_splits(const void *bytes, size_t n)
{
    return tf_sp_settings_of(bytes, n).codes.lines != NULL;
}

static void put_base64(struct tf_buf *b, struct tf_span s)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < s.n; i += 3) {
        unsigned bits = 0;
        for (size_t k = 0; k < 3; k++)
            bits = bits << 8 | (i + k < s.n ? s.p[i + k] : 0);
        for (size_t k = 0; k < 4; k++)
            tf_buf_byte(b, k <= s.n - i ? digits[bits >> (18 - 6 * k) & 63] : '=');
    }
}

static void put_normalizer(struct tf_json *j, struct tf_span map)
{
    tf_json_key(j, "normalizer");
    tf_json_raw(j, "{\"type\":\"Sequence\",\"normalizers\":[");
    if (map.n > 0) {
        tf_buf_str(j->out, "{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"");
        put_base64(j->out, map);
        tf_buf_str(j->out, "\"},");
    }
    tf_buf_str(j->out,
               "{\"type\":\"Replace\",\"pattern\":{\"Regex\":\" {2,}\"},\"content\":\" \"}]}");
}

/* Where spaces are in pieces, and again where they are in text. */
static void put_metaspace(struct tf_json *j, const char *key, bool add_space)
{
    tf_json_put_open(j, key, '{');
    tf_json_put_str(j, "type", "Metaspace");
    tf_json_put_str(j, "replacement", TF_SPACE);
    tf_json_put_str(j, "prepend_scheme", add_space ? "always" : "never");
    tf_json_put_bool(j, "split", true);
    tf_json_close(j, '}');
}

/* Only MASK takes the space before it. */
static void put_special(struct tf_json *j, size_t id, const char *text)
{
    tf_json_open(j, '{');
    tf_json_put_uint(j, "id", id);
    tf_json_put_str(j, "content", text);
    tf_json_put_bool(j, "single_word", false);
    tf_json_put_bool(j, "lstrip", strcmp(text, MASK) == 0);
    tf_json_put_bool(j, "rstrip", false);
    tf_json_put_bool(j, "normalized", false);
    tf_json_put_bool(j, "special", true);
    tf_json_close(j, '}');
}

static int put_pieces(struct tf_json *j, struct tf_json *special, struct tf_span model,
                      const struct tf_piece_list *list, struct tf_err *err)
{
    struct tf_proto_piece piece;
    int64_t unk = -1;
    tf_json_put_open(j, "vocab", '[');
    for (size_t i = 0; i < list->n && tf_proto_piece(&model, &piece); i++) {
        const bool normal = piece.type == TF_PIECE_NORMAL, mask = strcmp(list->v[i], MASK) == 0;
        if (piece.type == TF_PIECE_BYTE || (piece.type == TF_PIECE_UNUSED && !mask))
            return tf_fail(err, "spaces at ends that are pieces, and '%.80s', which is of no text",
                           list->v[i]);
        if (!normal)
            put_special(special, i, list->v[i]);
        unk = piece.type == TF_PIECE_UNKNOWN ? (int64_t)i : unk;
        tf_json_open(j, '[');
        tf_json_str(j, list->v[i]);
        tf_json_real(j, normal ? (double)piece.score : 0);
        tf_json_close(j, ']');
    }
    tf_json_close(j, ']');
    tf_json_put_int(j, "unk_id", unk);
    return 0;
}

int tf_sp_put_json(struct tf_buf *out, const void *bytes, size_t n,
                   const struct tf_piece_list *list, struct tf_err *err)
{
    const struct tf_span model = {bytes, n};
    const struct tf_sp_settings is = tf_sp_settings_of(bytes, n);
    struct tf_buf pieces = {0}, added = {0};
    struct tf_json j = {.out = out}, v = {.out = &pieces}, special = {.out = &added};
    tf_json_open(&v, '{');
    tf_json_put_str(&v, "type", "Unigram");
    tf_json_put_bool(&v, "byte_fallback", false);
    tf_json_open(&special, '[');
    const int rc = is.model_type != TF_TYPE_UNIGRAM
                       ? tf_fail(err, "spaces at ends that are pieces in a vocabulary of BPE")
                       : put_pieces(&v, &special, model, list, err);
    tf_json_close(&v, '}');
    tf_json_close(&special, ']');
    tf_buf_byte(&pieces, 0);
    tf_buf_byte(&added, 0);
    tf_json_open(&j, '{');
    tf_json_put_str(&j, "version", "1.0");
    tf_json_key(&j, "added_tokens");
    tf_json_raw(&j, added.p);
    put_normalizer(&j, is.charsmap);
    put_metaspace(&j, "pre_tokenizer", is.add_space);
    put_metaspace(&j, "decoder", is.add_space);
    tf_json_key(&j, "model");
    tf_json_raw(&j, pieces.p);
    tf_json_close(&j, '}');
    tf_buf_release(&pieces);
    tf_buf_release(&added);
    return rc;
}
