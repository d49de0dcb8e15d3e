/* tf-cbor - inspect, convert and repair streams and models. */
#include "base/log.h"
#include "base/path.h"
#include "common_options.h"
#include "model/load.h"
#include "stream/inspect.h"
#include "text/text_file.h"

static struct {
    int64_t records, max_bytes, max_tensor;
    bool full, allow_nan;
    const char *output, *made;
} o;

enum { CHECK = 1, DIAG = 2, JSON = 4, UNJSON = 8, HEAD = 16, COUNT = 32, SEAL = 64 };

static struct tf_opt opts[] = {
    OPT_GROUP("Commands"),
    OPT_WORD("check", CHECK, "verify structure, counts, CRCs and values"),
    OPT_WORD("diag", DIAG, "convert to diagnostic notation"),
    OPT_WORD("json", JSON, "convert to JSON Lines"),
    OPT_WORD("unjson", UNJSON, "convert from JSON Lines"),
    OPT_WORD("head", HEAD, "write the first records as a stream"),
    OPT_WORD("count", COUNT, "count records by type"),
    OPT_WORD("seal", SEAL, "fill in CRCs and check records"),
    OPT_GROUP("Options"),
    COMMON_OUTPUT(&o.output, .modes = ~CHECK),
    OPT_INT('n', "records", &o.records, .arg = "N", .def = "10", .lo = 0, .hi = 9e15, .modes = HEAD,
            .help = "head: number of records"),
    OPT_INT(0, "max-bytes", &o.max_bytes, .arg = "N", .def = "256", .lo = 0, .hi = 9e15,
            .modes = DIAG, .help = "diag: show at most N bytes of a byte string"),
    OPT_FLAG(0, "full", &o.full, .modes = DIAG, .help = "diag: show byte strings in full"),
    OPT_FLAG(0, "allow-nan", &o.allow_nan, .modes = CHECK,
             .help = "check: accept NaN and infinity in tensors"),
    OPT_STR(0, "made", &o.made, .arg = "STAGE", .modes = UNJSON,
            .help =
                "unjson: append to the provenance: a program's name, or JSON with prog, opts ..."),
    OPT_INT(0, "max-tensor", &o.max_tensor, .arg = "BYTES", .lo = 1, .hi = 1e12,
            .modes = CHECK | DIAG | JSON | COUNT | SEAL,
            .help = "reject larger tensors (default 4 GiB; no limit for check of a file)"),
    OPT_END,
};

static const struct tf_tool tool = {
    .name = "tf-cbor",
    .synopsis = "check [options] [FILE...]\ndiag|json|unjson|head|count|seal [options] [FILE]",
    .summary = "inspect, convert and repair streams and models",
    .opts = opts,
    .max_args = -1,
    .stdin_modes = ~0u,
};

static int check_file(const char *path, struct tf_err *err)
{
    const struct tf_inspect how = {.max_tensor = (uint64_t)o.max_tensor,
                                   .allow_nan = o.allow_nan,
                                   .model = tf_model_check};
    struct tf_in in;
    if (tf_in_open(&in, path, err) != 0)
        return -1;
    int rc = tf_inspect_check(&in, &how, err);
    tf_in_close(&in);
    return rc;
}

/* Returns 0, or the highest status of a file. */
static int check_files(const struct tf_args *args)
{
    int worst = 0;
    for (int i = 0; i < args->n; i++) {
        struct tf_err bad = {0};
        if (check_file(args->v[i], &bad) != 0) {
            tf_note("%s", bad.msg);
            worst = bad.status > worst ? bad.status : worst;
        }
    }
    return worst;
}

static int show(unsigned command, struct tf_in *in, struct tf_out *out,
                const struct tf_value *stage, struct tf_err *err)
{
    const struct tf_inspect how = {
        .stage = stage,
        .config = tf_config_reals,
        .max_tensor = (uint64_t)o.max_tensor,
        .max_bytes = o.full ? SIZE_MAX : (size_t)o.max_bytes,
        .records = (uint64_t)o.records,
    };
    switch (command) {
    case DIAG:
        return tf_inspect_diag(in, out, &how, err);
    case JSON:
        return tf_inspect_json(in, out, &how, err);
    case UNJSON:
        return tf_inspect_from_json(in, out, &how, err);
    case HEAD:
        return tf_inspect_head(in, out, &how, err);
    case COUNT:
        return tf_inspect_count(in, out, &how, err);
    default:
        return tf_inspect_seal(in, out, &how, err);
    }
}

static int run_command(const struct tf_args *args, const struct tf_value *stage, struct tf_err *err)
{
    struct tf_in in;
    struct tf_out out;
    if ((args->mode == UNJSON ? tf_text_open(&in, args->v[0], TF_TEXT_UTF8, err)
                              : tf_in_open(&in, args->v[0], err)) < 0)
        return -1;
    bool binary = args->mode & (UNJSON | HEAD | SEAL);
    int rc = tf_out_open(&out, o.output, binary ? TF_OUT_BINARY : 0, err);
    if (rc == 0) {
        rc = show(args->mode, &in, &out, stage, err);
        rc = tf_out_finish(&out, rc, err);
    }
    tf_in_close(&in);
    return rc;
}

static int run(const struct tf_args *args, struct tf_err *err)
{
    if (args->mode == CHECK)
        return check_files(args);
    if (args->n > 1)
        return tf_fail_status(err, TF_USAGE, "unexpected operand '%s' (try --help)", args->v[1]);
    struct tf_arena a = {0};
    struct tf_value stage;
    int rc;
    if (o.made != NULL && tf_inspect_stage(&stage, &a, o.made, err) != 0) {
        err->status = TF_USAGE;
        rc = tf_context(err, "--made");
    } else {
        rc = run_command(args, o.made != NULL ? &stage : NULL, err);
    }
    tf_arena_release(&a);
    return rc;
}

int main(int argc, char **argv)
{
    return tf_tool_main(&tool, argc, argv, run);
}
