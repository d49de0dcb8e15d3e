/* tf-cbor - looks at streams and models, and mends them. */
#include "stream/inspect.h"
#include "modes.h"
#include "rows.h"

#include <string.h>

static struct {
    int64_t records, max_bytes, max_tensor;
    bool full, allow_nan;
    const char *output;
} o;

static struct tf_opt opts[] = {
    {TF_OPT_GROUP, .help = "What to do"},
    {TF_OPT_WORD, .arg = "check", .help = "verify all of it: form, counts, CRCs, values"},
    {TF_OPT_WORD, .arg = "diag", .help = "to diagnostic notation"},
    {TF_OPT_WORD, .arg = "json", .help = "to JSON Lines"},
    {TF_OPT_WORD, .arg = "unjson", .help = "back from JSON Lines"},
    {TF_OPT_WORD, .arg = "head", .help = "the first records, as a stream"},
    {TF_OPT_WORD, .arg = "count", .help = "records by type"},
    {TF_OPT_WORD, .arg = "seal", .help = "fill in CRCs and checks"},
    {TF_OPT_GROUP, .help = "Options"},
    ROW_OUTPUT(o.output),
    {TF_OPT_INT, 'n', "records", .target = &o.records, .arg = "N", .def = "10", .lo = 0, .hi = 9e15,
     .help = "head: so many records"},
    {TF_OPT_INT, .name = "max-bytes", .target = &o.max_bytes, .arg = "N", .def = "256", .lo = 0,
     .hi = 9e15, .help = "diag: show so many bytes of a byte string"},
    {TF_OPT_FLAG, .name = "full", .target = &o.full, .help = "diag: show all of them"},
    {TF_OPT_FLAG, .name = "allow-nan", .target = &o.allow_nan,
     .help = "check: tensors may hold NaN and infinities"},
    {TF_OPT_INT, .name = "max-tensor", .target = &o.max_tensor, .arg = "BYTES",
     .lo = 1, .hi = 1e12, .help = "refuse larger tensors; default: 4 GiB, none to check a file"},
    {.kind = TF_OPT_END},
};

static const struct tf_tool tool = {
    .name = "tf-cbor",
    .synopsis = "check|diag|json|unjson|head|count|seal [options] [FILE]",
    .summary = "look at streams and models, and mend them",
    .opts = opts,
    .min_args = 1,
    .max_args = 2,
    .n_words = 1,
};

enum verb { CHECK, DIAG, JSON, UNJSON, HEAD, COUNT, SEAL, N_VERBS };
static const char *const verbs[N_VERBS] = {"check", "diag",  "json", "unjson",
                                           "head",  "count", "seal"};

#define V(verb) (1u << verb)
static const struct mode_row modes[] = {
    {V(HEAD), "head", {"records"}},
    {V(DIAG), "diag", {"max-bytes", "full"}},
    {V(CHECK), "check", {"allow-nan"}},
    {~(V(UNJSON) | V(HEAD)), "check, diag, json, count and seal", {"max-tensor"}},
    {~V(CHECK), "what prints something, which check does not", {"output"}},
    {0},
};

static int run(enum verb verb, struct tf_in *in, struct tf_out *out, struct tf_err *err)
{
    const struct tf_show how = {
        .max_tensor = (uint64_t)o.max_tensor,
        .max_bytes = o.full ? SIZE_MAX : (size_t)o.max_bytes,
        .records = (uint64_t)o.records,
        .allow_nan = o.allow_nan,
    };
    switch (verb) {
    case CHECK:
        return tf_show_check(in, &how, err);
    case DIAG:
        return tf_show_diag(in, out, &how, err);
    case JSON:
        return tf_show_json(in, out, &how, err);
    case UNJSON:
        return tf_show_unjson(in, out, err);
    case HEAD:
        return tf_show_head(in, out, &how, err);
    case COUNT:
        return tf_show_count(in, out, &how, err);
    default:
        return tf_show_seal(in, out, &how, err);
    }
}

int main(int argc, char **argv)
{
    struct tf_err err = {0};
    struct tf_args args;
    struct tf_in in;
    struct tf_out out;
    if (tf_opt_parse(&tool, argc, argv, &args, &err))
        return tf_finish(-1, &err);
    int verb = 0;
    while (verb < N_VERBS && strcmp(args.v[0], verbs[verb]) != 0)
        verb++;
    if (verb == N_VERBS)
        return tf_finish(
            tf_fail_status(&err, TF_USAGE,
                           "'%s': one of check, diag, json, unjson, head, count, seal",
                           args.v[0]),
            &err);
    if (check_modes(opts, modes, 1u << verb, &err))
        return tf_finish(-1, &err);
    if (tf_in_open(&in, args.n > 1 ? args.v[1] : "-", &err))
        return tf_finish(-1, &err);
    bool binary = verb == UNJSON || verb == HEAD || verb == SEAL;
    int rc = tf_out_open(&out, o.output, binary ? TF_OUT_BINARY : 0, &err);
    if (rc == 0) {
        rc = run((enum verb)verb, &in, &out, &err);
        rc = tf_out_finish(&out, rc, &err);
    }
    tf_in_close(&in);
    return tf_finish(rc, &err);
}
