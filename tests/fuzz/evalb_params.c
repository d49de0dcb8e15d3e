/* evalb_params.c - any bytes as a parameter file of EVALB, and trees scored with it: what is
 * accepted is in range, scores are percentages, and gold against itself has no error. */
#include "../harness/memory.h"
#include "base/bad.h"
#include "tree/evalb.h"

enum { MAX_INPUT = 1 << 12, ROOM = 1 << 18 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const char gold[] = "(TOP (S (NP (DT the) (NN dog)) (VP (VBZ barks) (PRT (RP up))) (. .)))\n"
                           "(S (`` ``) (NP (-NONE- *)) (ADVP (RB so)) ('' '') (: --) (, ,))\n",
                  test[] =
                      "(TOP (S (NP (DT the)) (VP (NN dog) (VBZ barks) (ADVP (RP up))) (. .)))\n"
                      "(S (`` ``) (NP (RB so)) ('' '') (: --) (, ,))\n";

static void score(struct tf_evalb_opts *o, const char *other, size_t n)
{
    struct tf_err err = {0};
    struct tf_in a = memory_in(gold, sizeof gold - 1), b = memory_in(other, n);
    struct tf_out out = memory_out(ROOM);
    int rc = tf_evalb(o, &a, &b, &out, &err);
    TF_ASSERT(rc >= 0 || err.msg[0] != 0);
    if (rc == 0) {
        TF_ASSERT(memmem(out.buf, out.len, "inf", 3) == NULL);
        TF_ASSERT(memmem(out.buf, out.len, "-nan", 4) == NULL);
    }
    memory_in_done(&a);
    memory_in_done(&b);
    memory_out_done(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct tf_err err = {0};
    struct tf_evalb_opts o = {.max_line = 1 << 16, .bad = TF_ON_BAD_OK};
    if (n > MAX_INPUT)
        return 0;
    int rc = tf_evalb_params_load(&o.params, memory_path(0, data, n), &err);
    TF_ASSERT(rc == 0 || err.msg[0] != 0);
    if (rc == 0) {
        /* What it reports on stderr is not of interest. */
        o.params.max_error = -1;
        score(&o, gold, sizeof gold - 1);
        score(&o, test, sizeof test - 1);
    }
    tf_evalb_params_release(&o.params);
    return 0;
}
