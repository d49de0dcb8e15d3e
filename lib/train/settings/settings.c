/* settings.c - the table of settings, and what it drives. */
#include "train/settings/settings.h"
#include "base/memory.h"
#include "base/rng.h"
#include "train/step/shards.h"

#include <string.h>

static const char *const best_words[] = {"ppl", "acc", "command", NULL};
static const char *const on_collapse_words[] = {"warn", "stop", NULL};

static bool follows_paper(const struct tf_settings *s)
{
    return s->schedule.kind == TF_SCHEDULE_PAPER;
}

static bool has_peak(const struct tf_settings *s)
{
    return !follows_paper(s);
}

static bool decays(const struct tf_settings *s)
{
    return tf_schedule_decays(s->schedule.kind);
}

static bool has_steps(const struct tf_settings *s)
{
    return s->steps > 0;
}

static bool has_epochs(const struct tf_settings *s)
{
    return s->epochs > 0;
}

static bool has_tokens(const struct tf_settings *s)
{
    return s->tokens > 0;
}

static bool has_clock(const struct tf_settings *s)
{
    return s->save_minutes > 0;
}

static bool guides(const struct tf_settings *s)
{
    return s->guided_alignment > 0;
}

static bool validates(const struct tf_settings *s)
{
    return s->valid != NULL;
}

/* clang-format off */
#define HEADING(text) {.help = (text)}
/* lo: the minimum of the option, where it is not that of the configuration. */
#define MODEL(name_, lo_, flags_, ...) \
    {.field = {.name = #name_, .lo = (lo_)}, \
     .flags = TF_SETTING_MODEL | TF_SETTING_SEMANTIC | (flags_), __VA_ARGS__}
#define ROW(kind_, name_, member, lo_, hi_, words, ...) \
    {.field = {name_, TF_MEMBER_##kind_, TF_##kind_##_AT(struct tf_settings, member), lo_, hi_, \
               words}, \
     __VA_ARGS__}
/* clang-format on */
#define INT(name, member, lo, hi, ...) ROW(INT, name, member, lo, hi, NULL, .arg = "N", __VA_ARGS__)
#define REAL(name, member, lo, hi, ...) ROW(REAL, name, member, lo, hi, NULL, __VA_ARGS__)
#define BOOL(name, member, ...) ROW(BOOL, name, member, 0, 0, NULL, __VA_ARGS__)
#define CHOICE(name, member, words, ...) \
    ROW(CHOICE, name, member, 0, 0, words, .arg = "WORD", __VA_ARGS__)

enum {
    S = TF_SETTING_SEMANTIC,
    R = TF_SETTING_SEMANTIC | TF_SETTING_RECORDED,
    T = TF_SETTING_TRAINING,
    LOGGED = TF_SETTING_LOGGED,
    NEGATABLE = TF_SETTING_NEGATABLE,
};

/* In the order of --help. */
static const struct tf_setting rows[] = {
    /* only presets set these */
    INT("fit_tokens", fit_tokens, 0, 0, .help = NULL),
    INT("average", average, 0, 0, .help = NULL),
    MODEL(vocab_size, 1, 0, .arg = "N",
          .help = "rows of the embeddings (default: size of the stream's vocabulary)"),
    INT("layers", layers, 1, TF_MAX_LAYERS, .flags = S,
        .help = "number of layers in encoder and decoder"),
    MODEL(encoder_layers, 0, 0, .arg = "N", .help = "number of layers in the encoder"),
    MODEL(decoder_layers, 0, 0, .arg = "N", .help = "number of layers in the decoder"),
    MODEL(d_model, 0, 0, .arg = "N", .help = "model width"),
    MODEL(d_ff, 0, 0, .arg = "N", .help = "inner width of the feed-forward layers"),
    MODEL(heads, 0, 0, .arg = "N", .help = "number of attention heads"),
    MODEL(d_k, 0, 0, .arg = "N",
          .help = "key width per head; d-model / heads if either of those is given and the preset "
                  "sets no width of its own (B-dk16, B-dk32)"),
    MODEL(d_v, 0, 0, .arg = "N",
          .help = "value width per head; d-model / heads if either of those is given"),
    MODEL(positions, 0, 0, .arg = "WORD",
          .help = "position encoding: sinusoids or a learned table"),
    MODEL(position_table, 0, 0, .arg = "WORD",
          .help = "table of sinusoids: the dialect's, or one of the others"),
    MODEL(position_offset, 0, 0, .arg = "N", .help = "row of that table for the first position"),
    MODEL(max_positions, 1, 0, .arg = "N",
          .help = "rows of the learned position table (1024); longer sentences are rejected"),
    MODEL(source_eos, 0, NEGATABLE, .help = "end a source with eos (the default)"),
    MODEL(tie, 0, 0, .arg = "WORD",
          .help = "share embeddings: one matrix for all, one for the decoder's two, or three"),
    MODEL(start, 0, 0, .arg = "WORD",
          .help = "first decoder input: the bos embedding or a zero vector"),
    MODEL(pre_norm, 0, NEGATABLE, .help = "layer norm before each sublayer instead of after it"),
    MODEL(final_norm, 0, NEGATABLE,
          .help = "layer norm at the end of each stack (default: with --pre-norm)"),
    MODEL(decoder_norms, 0, 0, .arg = "WORD",
          .help = "those of the decoder, if they are not where the encoder's are"),
    MODEL(embedding_norm, 0, NEGATABLE, .help = "layer norm on the embeddings"),
    MODEL(unscaled_embeddings, 0, NEGATABLE,
          .help = "do not multiply embeddings by the root of d-model"),
    MODEL(activation, 0, 0, .arg = "WORD", .help = "of the feed-forward layers"),
    MODEL(decoder_self, 0, 0, .arg = "WORD",
          .help = "of the decoder's layers: self-attention, or a recurrent unit"),
    MODEL(output_bias, 0, NEGATABLE, .help = "a bias on the output projection"),
    MODEL(attention_bias, 0, NEGATABLE, .help = "biases in the attention projections"),
    MODEL(attention_window, 0, 0, .arg = "N",
          .help = "limit self-attention to N positions on each side; 0: no limit"),
    MODEL(norm_eps, 0, 0, .arg = "X", .help = "epsilon of layer norm"),
    MODEL(dropout, 0, T, .arg = "P", .help = "dropout of embeddings and sublayer outputs"),
    MODEL(attention_dropout, 0, T, .arg = "P", .help = "dropout of attention weights"),
    MODEL(relu_dropout, 0, T, .arg = "P", .help = "dropout inside feed-forward layers"),
    MODEL(label_smoothing, 0, T, .arg = "X", .help = "probability mass taken from the target"),
    MODEL(smoothing, 0, T, .arg = "WORD",
          .help = "spread that mass over all V ids, or over the V-1 others"),
    MODEL(initializer, 0, 0, .arg = "WORD",
          .help = "initial weights: Glorot by projection or by fused matrix, or the latter "
                  "with sublayer outputs scaled by 1/sqrt(2 layers)"),
    HEADING("Training (defaults are the preset's)"),
    INT("steps", steps, 1, 1e12, .flags = LOGGED, .applies = has_steps,
        .help = "total number of updates, including those of earlier runs"),
    INT("epochs", epochs, 0, 1e12, .def = "0", .flags = LOGGED, .applies = has_epochs,
        .help = "end after so many epochs of the stream; without --steps that is the only end, "
                "or --tokens; 0: off"),
    INT("tokens", tokens, 0, 1e15, .def = "0", .flags = LOGGED, .applies = has_tokens,
        .help = "end after so many target tokens, ends of sentences included; likewise"),
    INT("seed", seed, 0, TF_SEED_MAX, .def = "1", .flags = R,
        .help = "random seed for initial weights and dropout"),
    INT("accumulate", accumulate, 1, 1e6, .def = "1", .flags = R, .help = "batches per update"),
    INT("shards", shards, 1, TF_MAX_SHARDS, .flags = S,
        .help = "parts of a batch whose gradients are added, a power of two; up to N times "
                "--accumulate ranks can share an update (default: 8 on the CPU, more for "
                "batches over 8,192 tokens, the ranks on GPUs)"),
    CHOICE("schedule", schedule.kind, tf_schedule_names, .flags = R,
           .help = "learning rate schedule"),
    INT("warmup", schedule.warmup, 0, 1e12, .flags = R, .help = "warmup updates"),
    REAL("lr_scale", schedule.scale, 0, 1e6, .arg = "X", .flags = R, .applies = follows_paper,
         .help = "factor on the paper's learning rate"),
    REAL("lr", schedule.lr, 0, 1e30, .arg = "X", .flags = R, .applies = has_peak,
         .help = "peak learning rate of the other schedules"),
    INT("decay_steps", schedule.end, 1, 1e12, .flags = R, .applies = decays,
        .help = "update in which cosine and linear reach --lr-end (default: --steps)"),
    REAL("lr_end", schedule.lr_end, 0, 1e30, .arg = "X", .def = "0", .flags = R, .applies = decays,
         .help = "learning rate with which cosine and linear end"),
    REAL("beta1", beta1, 0, 0.9999999, .arg = "X", .flags = R,
         .help = "Adam: decay of the first moment"),
    REAL("beta2", beta2, 0, 0.9999999, .arg = "X", .flags = R,
         .help = "Adam: decay of the second moment"),
    REAL("adam_eps", adam_eps, 1e-30, 1, .arg = "X", .flags = R, .help = "Adam: epsilon"),
    BOOL("eps_hat", eps_hat, .flags = R | NEGATABLE,
         .help = "Adam: add epsilon before the bias correction"),
    REAL("weight_decay", weight_decay, 0, 1000, .arg = "X", .def = "0",
         .flags = R | TF_SETTING_LATER, .older = 0,
         .help = "AdamW: multiply the weights by 1 - X times the learning rate; 0: off"),
    REAL("clip", clip, 0, 1e9, .arg = "X", .def = "0", .flags = R,
         .help = "clip the gradient norm; 0: off"),
    REAL("guided_alignment", guided_alignment, 0, 1000, .arg = "WEIGHT", .def = "0", .flags = R,
         .applies = guides,
         .help = "train the first head of a layer on the links of tf-batch --links; 0: off"),
    INT("guided_layer", guided_layer, 0, TF_MAX_LAYERS, .def = "0", .flags = R, .applies = guides,
        .help = "--guided-alignment: that layer of the decoder; 0: the last"),
    REAL("ema", ema, 0, 0.9999999, .arg = "DECAY", .def = "0", .flags = R,
         .help = "keep a moving average of the weights; 0: off"),
    HEADING("Checkpoints and validation"),
    INT("save_every", save_every, 1, 1e12, .flags = LOGGED,
        .help = "write a checkpoint every N updates (default: the preset's; 1000 for base)"),
    REAL("save_minutes", save_minutes, 0, 1e6, .arg = "X", .def = "0", .flags = LOGGED,
         .applies = has_clock,
         .help = "write a checkpoint every X minutes, with --save-every only resume.tfm; 0: off"),
    INT("keep", keep, 0, 1e9, .flags = LOGGED,
        .help = "keep the last N checkpoints and the best; 0: all (default "
                "5, or as many as the preset averages)"),
    BOOL("weights_only", weights_only, .flags = LOGGED,
         .help = "checkpoints have the weights alone, a third of the size, and no run resumes "
                 "from them"),
    INT("valid_every", valid_every, 0, 1e12, .def = "0", .needs = "valid", .flags = LOGGED,
        .help = "validate every N updates; 0: as --save-every"),
    CHOICE("best_by", best_by, best_words, .def = "ppl", .needs = "valid",
           .flags = TF_SETTING_RECORDED, .applies = validates,
           .help = "best.tfm has the lowest perplexity, the highest accuracy, or the highest "
                   "number of --valid-command (default: ppl, or command if there is one)"),
    INT("patience", patience, 0, 1e9, .def = "0", .needs = "valid", .flags = LOGGED,
        .help = "stop after N validations without improvement; 0: never"),
    CHOICE("on_collapse", on_collapse, on_collapse_words, .def = "warn", .needs = "valid",
           .help = "when the model predicts nothing any more: warn, or stop with status 3"),
    BOOL("no_save", no_save, .flags = TF_SETTING_HIDDEN,
         .help = "write no checkpoints, for benchmarks"),
    BOOL("force", force,
         .help = "continue even if corpus or settings differ from the checkpoint, or options "
                 "from the model of --init"),
};
enum { ROWS = sizeof rows / sizeof *rows };

/* The row; one of the model has its kind, range and words from the table of tf_config. */
static struct tf_setting complete(const struct tf_setting *row)
{
    struct tf_setting s = *row;
    if (s.flags & TF_SETTING_MODEL) {
        s.field = *tf_config_field(row->field.name);
        s.field.at += offsetof(struct tf_settings, config);
        if (row->field.lo > s.field.lo)
            s.field.lo = row->field.lo;
    }
    return s;
}

struct tf_setting tf_setting_of(const char *name)
{
    for (int i = 0; i < ROWS; i++)
        if (rows[i].field.name != NULL && strcmp(rows[i].field.name, name) == 0)
            return complete(&rows[i]);
    TF_BUG("no setting '%s'", name);
}

bool tf_settings_next(int *row, unsigned flags, struct tf_setting *s)
{
    while (++*row < ROWS)
        if ((rows[*row].flags & flags) == flags) {
            *s = complete(&rows[*row]);
            return true;
        }
    return false;
}

/* ---- options ---- */

static char *option_name(const char *name)
{
    char *p = tf_xstrdup(name);
    for (char *c = p; *c != 0; c++)
        if (*c == '_')
            *c = '-';
    return p;
}

static struct tf_opt option(const struct tf_setting *row, struct tf_settings *s)
{
    static const enum tf_opt_kind kinds[] = {[TF_MEMBER_INT] = TF_OPT_INT,
                                             [TF_MEMBER_REAL] = TF_OPT_REAL,
                                             [TF_MEMBER_BOOL] = TF_OPT_FLAG,
                                             [TF_MEMBER_CHOICE] = TF_OPT_CHOICE};
    const struct tf_member *f = &row->field;
    if (f->name == NULL)
        return (struct tf_opt)OPT_GROUP(row->help);
    return (struct tf_opt){.kind = kinds[f->kind],
                           .name = option_name(f->name),
                           .target = tf_member_of(f, s),
                           .arg = row->arg,
                           .def = row->def,
                           .lo = f->lo,
                           .hi = f->hi,
                           .choices = f->choices,
                           .flags = (row->flags & TF_SETTING_SEMANTIC ? TF_OPT_SEMANTIC : 0) |
                                    (row->flags & TF_SETTING_NEGATABLE ? TF_OPT_NEGATABLE : 0) |
                                    (row->flags & TF_SETTING_HIDDEN ? TF_OPT_HIDDEN : 0),
                           .needs = row->needs,
                           .help = row->help};
}

/* The number of rows before the end. */
static size_t length(const struct tf_opt *opts)
{
    size_t n = 0;
    while (opts[n].kind != TF_OPT_END)
        n++;
    return n;
}

struct tf_opt *tf_settings_options(const struct tf_opt *before, struct tf_settings *s,
                                   const struct tf_opt *after)
{
    const size_t first = length(before), last = length(after) + 1;
    struct tf_opt *all = tf_xarray(NULL, first + ROWS + last, sizeof *all);
    struct tf_setting row;
    size_t n = first;
    memcpy(all, before, first * sizeof *all);
    for (int i = -1; tf_settings_next(&i, 0, &row);)
        if (row.help != NULL)
            all[n++] = option(&row, s);
    memcpy(all + n, after, last * sizeof *all);
    return all;
}

/* ---- maps ---- */

struct tf_value tf_settings_map(const struct tf_settings *s, struct tf_arena *a)
{
    struct tf_value map = tf_value_map();
    struct tf_setting row;
    for (int i = -1; tf_settings_next(&i, TF_SETTING_RECORDED, &row);)
        if (row.applies == NULL || row.applies(s))
            tf_value_put(a, &map, row.field.name, tf_member_value(&row.field, s, a));
    return map;
}

void tf_settings_complete(struct tf_value *map, struct tf_arena *a)
{
    struct tf_settings older = {0};
    struct tf_setting row;
    for (int i = -1; tf_settings_next(&i, TF_SETTING_RECORDED | TF_SETTING_LATER, &row);)
        if (tf_value_get(map, row.field.name) == NULL) {
            tf_member_set(&row.field, &older, row.older);
            tf_value_put(a, map, row.field.name, tf_member_value(&row.field, &older, a));
        }
}
