/* positions.c - see positions_private.h. */
#include "convert/positions_private.h"
#include "base/memory.h"
#include "model/weights.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CHECKED_ROWS = 16, MOST_CHECKED = 1024 };

static bool has_table(const struct tf_config *c, const float *x, size_t rows)
{
    const size_t n = rows * (size_t)c->d_model;
    float *pe = tf_xarray(NULL, n, sizeof *pe);
    size_t near = 0;
    tf_sinusoids(pe, rows, c);
    for (size_t i = 0; i < n; i++) /* it may have been stored in half precision, or be no number */
        near += fabs((double)x[i] - (double)pe[i]) < 2e-3;
    free(pe);
    return near == n;
}

/* Set the configuration to the table that it is; false if it is none of ours. */
static bool is_ours(struct tf_config *c, const float *x, size_t rows)
{
    struct tf_config try = *c;
    for (try.position_table = TF_TABLE_DIALECT; try.position_table <= TF_TABLE_HALVES;
         try.position_table++)
        for (try.position_offset = 0; try.position_offset <= 2; try.position_offset++)
            if (has_table(&try, x, rows)) {
                *c = try;
                return true;
            }
    return false;
}

#define KEY "position_table"

/* The table that the user names, or that config.json does. */
static int find_asked(const struct tf_import *m, enum tf_stored_positions *positions,
                      struct tf_err *err)
{
    const char *word = "";
    *positions = (enum tf_stored_positions)m->opts->positions;
    if (*positions != TF_STORED_AUTO)
        return 0;
    if (tf_value_text_of(&m->json, KEY, &word, err) < 0)
        return tf_context(err, "config.json");
    if (strcmp(word, tf_position_tables[TF_TABLE_HALVES]) == 0)
        *positions = TF_STORED_HALVES;
    return 0;
}

void tf_positions_put(struct tf_json *config, const struct tf_config *c)
{
    if (c->positions == TF_POS_SIN && c->position_table == TF_TABLE_HALVES)
        tf_json_put_str(config, KEY, tf_position_tables[TF_TABLE_HALVES]);
}

int tf_positions_recognise(struct tf_import *m, const struct tf_tensor *encoder,
                           const struct tf_tensor *decoder, struct tf_err *err)
{
    struct tf_config *c = &m->config;
    enum tf_stored_positions positions;
    if (find_asked(m, &positions, err) != 0)
        return -1;
    if (encoder == NULL || decoder == NULL)
        return tf_fail(err, "a table of positions for one stack only");
    if (decoder->rank != 2 || decoder->dims[1] != (uint64_t)c->d_model)
        return tf_fail(err, "tensor '%s': not a table of positions", decoder->name);
    float *x = tf_try_alloc((decoder->bytes / tf_dtype_size(decoder->dtype) + 1) * sizeof *x, err);
    if (x == NULL)
        return -1;
    const int rc = tf_tensor_floats(x, decoder, err);
    const size_t rows = decoder->dims[0] < CHECKED_ROWS ? decoder->dims[0] : CHECKED_ROWS;
    if (rc == 0 && (!tf_tensors_equal(encoder, decoder) || !is_ours(c, x, rows))) {
        c->positions = TF_POS_LEARNED;
        c->max_positions = (int64_t)decoder->dims[0];
    }
    free(x);
    if (rc == 0 && c->position_table == TF_TABLE_HALVES && positions != TF_STORED_HALVES) {
        c->position_table = TF_TABLE_DIALECT; /* t2t */
        c->norm_eps = 1e-6;
        m->guessed = positions == TF_STORED_AUTO;
    }
    return rc;
}

int tf_positions_missing(struct tf_import *m, struct tf_err *err)
{
    enum tf_stored_positions positions;
    if (find_asked(m, &positions, err) != 0)
        return -1;
    if (positions == TF_STORED_HALVES) {
        m->config.position_table = TF_TABLE_HALVES;
    } else {
        m->config.norm_eps = 1e-6;
        m->guessed = positions == TF_STORED_AUTO;
    }
    return 0;
}

int tf_positions_check(const struct tf_config *c, const struct tf_tensor *t, struct tf_err *err)
{
    const uint64_t first = (uint64_t)c->position_offset, D = (uint64_t)c->d_model;
    if (t == NULL)
        return 0;
    if (D == 0 || t->rank != 2 || t->dims[1] != D)
        return tf_fail(err, "tensor '%s': not a table of positions", t->name);
    float *x = tf_try_alloc((t->bytes / tf_dtype_size(t->dtype) + 1) * sizeof *x, err);
    if (x == NULL)
        return -1;
    int rc = tf_tensor_floats(x, t, err);
    const uint64_t rows = t->dims[0] > first ? t->dims[0] - first : 0;
    if (rc == 0 && !has_table(c, x + first * D, rows < MOST_CHECKED ? rows : MOST_CHECKED))
        rc = tf_fail(err, "tensor '%s': other positions than sinusoids are not supported", t->name);
    free(x);
    return rc;
}

struct tf_tensor tf_positions_table(const struct tf_config *c, size_t rows, struct tf_arena *a)
{
    const size_t D = (size_t)c->d_model, bytes = rows * D * sizeof(float);
    float *pe = tf_arena_alloc(a, bytes);
    tf_sinusoids(pe, rows, c);
    return (struct tf_tensor){
        .dtype = TF_F32, .rank = 2, .dims = {rows, D}, .data = pe, .bytes = bytes};
}

int tf_positions_learned(struct tf_import *m, const char *const tables[2], struct tf_err *err)
{
    m->config.positions = TF_POS_LEARNED;
    m->config.position_offset = 0;
    for (int i = 0; i < 2; i++) {
        struct tf_tensor *t = tf_bundle_find(&m->bundle, tables[i]);
        if (t == NULL || t->rank != 2 || t->dims[0] <= TF_NO_POSITION)
            return tf_fail(err, "tensor '%s': no table of positions", tables[i]);
        const size_t skip = TF_NO_POSITION * (t->bytes / t->dims[0]);
        t->data = (const char *)t->data + skip;
        t->bytes -= skip;
        t->dims[0] -= TF_NO_POSITION;
        m->config.max_positions = (int64_t)t->dims[0];
    }
    return 0;
}
