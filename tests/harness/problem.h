/* problem.h - one operation of a backend with random inputs: run it, and compare two runs.
 *
 * A problem is an operation with its options and inputs, drawn from a seed. A run takes the
 * sentences [from, to) of a problem through one backend. Every input value fits a float, so that
 * all backends start from the same numbers; results come back as doubles.
 *
 * A run checks what every operation promises. Each buffer has a guard after its capacity. Rows
 * between the actual count and the capacity, and outputs before the call, hold junk. Inputs must
 * keep their bytes. A violation sets run.spoiled and run.why.
 *
 * tests/ops/problems.c has the table of all operations. To add one: a make_ function that adds the
 * inputs, a run_ function that gives them to the backend and takes the results, and a row. */
#ifndef TF_TESTS_PROBLEM_H
#define TF_TESTS_PROBLEM_H

#include "base/arena.h"
#include "base/rng.h"
#include "ops/backend.h"
#include "tap.h"

enum { MAX_IO = 20, MAX_BUFS = 32, GUARD = 48 };

/* What a dimension of rows follows: WHOLE arrays are the same for any range of sentences. */
enum per { WHOLE, PER_Q, PER_K, PER_QK /* a [T, S] block a sentence */ };

struct input {
    const char *name;
    enum tf_elem elem;
    enum per per;
    size_t width; /* elements a row, or a cell of PER_QK */
    size_t n;
    double *v;
};

struct problem;
struct run;

struct op {
    const char *name;
    bool row_wise;
    bool plain; /* takes plain rows: each is a sentence of length 1 */
    void (*make)(struct problem *p, struct tf_rng *g, bool small);
    void (*run)(struct run *r, const struct problem *p);
    double tolerance;  /* of agreement with ref64, by precision */
    double bf16, fp16; /* 0: as in fp32 */
    struct {
        const char *out, *by;
    } loss[3]; /* loss = sum of out * by */
    /* grad (less base) is its gradient with respect to in */
    struct {
        const char *in, *grad, *base;
    } wrt[6];
};

struct problem {
    const struct op *op;
    char label[240];
    struct tf_arena mem;
    size_t n;                /* sentences */
    uint32_t *q_off, *k_off; /* n + 1 */
    struct input in[MAX_IO];
    size_t n_in;
    struct tf_rng_state step;
    struct tf_dropout dropout;
    int D, N, K, H, dk, dv, V, window, alias, layout;
    enum tf_function function;
    unsigned flags;
    bool causal, self, transposed, eps_hat, want_dw, want_db;
    float scale, eps, on, off;
    size_t ld;
    double clip, gscale, lr;
    uint64_t t;
};

struct lane {
    const struct tf_backend *be;
    struct tf_ctx *c;
    const char *name;
    /* what stands in rows past the count: nan where the backend lives in host memory */
    double junk;
};

struct buf {
    tf_mem *p;
    enum tf_elem elem;
    size_t n;     /* capacity in elements, before the guard */
    void *before; /* an input's bytes, guard included; an output's guard only */
    bool input;
};

struct output {
    const char *name;
    enum per per;
    size_t width, n;
    double *v;
    double floor; /* magnitude below which differences are measured against it */
};

struct run {
    struct lane *l;
    const struct problem *p;
    struct tf_arena mem;
    size_t from, to, rows, keys; /* actual rows of the range */
    size_t cap_q, cap_k;
    struct tf_rows *q, *k;
    struct buf buf[MAX_BUFS];
    size_t n_buf;
    struct output out[MAX_IO];
    size_t n_out;
    bool spoiled; /* a guard or an input was written to */
    char why[160];
};

/* ---- random numbers ---- */

float normal(struct tf_rng *g);
/* True with probability p. */
bool chance(struct tf_rng *g, double p);
/* One of n values; PICK(g, 1, 2, 3) is one of those. */
int pick(struct tf_rng *g, const int *v, size_t n);
#define PICK(g, ...) pick(g, (const int[]){__VA_ARGS__}, sizeof((int[]){__VA_ARGS__}) / sizeof(int))

/* ---- problems: what make_ functions call ---- */

/* The table of operations. */
extern const struct op all_ops[];
extern const size_t n_ops;

/* The problem's label, for messages. */
__attribute__((format(printf, 2, 3))) void label(struct problem *p, const char *fmt, ...);
/* Of listed.c. */
void make_listed(struct problem *p, struct tf_rng *g, bool small);
void run_listed(struct run *r, const struct problem *p);

/* `small` keeps sizes low enough for differences over every element. */
void make_problem(struct problem *p, const struct op *op, uint64_t seed, bool small);
void free_problem(struct problem *p);
/* Draw the number of sentences and their lengths. Keys have other lengths than queries unless
 * p->self. */
void make_batch(struct problem *p, struct tf_rng *g, bool small);
/* A new input for the caller to fill; `width` is the whole count for WHOLE. */
double *add_input(struct problem *p, const char *name, enum tf_elem e, enum per per, size_t width);
/* Normal numbers times scale. */
double *add_normal(struct problem *p, struct tf_rng *g, const char *name, enum tf_elem e,
                   enum per per, size_t width, double scale);
/* Multiples of unit, from -4 to 4 of them: sums of products are exact in float. */
double *add_grid(struct problem *p, struct tf_rng *g, const char *name, enum tf_elem e,
                 enum per per, size_t width, double unit);
/* NULL when the problem has no input of that name. */
const struct input *find_input(const struct problem *p, const char *name);
/* Round ACT inputs to the element type of be, so that all backends start from the same numbers. */
void round_problem(struct problem *p, const struct tf_backend *be);

/* ---- backends ---- */

/* A backend under test; cpu comes once for each kernel set of its own. */
struct candidate {
    const struct tf_backend *be;
    const char *isa;
    char name[24];
};

enum { MAX_CANDIDATES = 12 };
/* Collect those that this machine can use; the others count as skipped, with the reason. cpu must
 * be there. The variable TF_TEST_BACKENDS=cuda chooses those of one name. Returns their number. */
size_t candidates(struct candidate v[MAX_CANDIDATES], bool with_ref64);

/* Open a backend with one thread; the caller closes it. */
struct lane open_lane_as(const struct candidate *v);
struct lane open_ref64(void);
void close_lane(struct lane *l);

/* Whether activations have 16 bits; whether what is multiplied has; the error that op may have. */
bool is_16_bit(const struct tf_backend *be);
bool multiplies_16_bit(const struct tf_backend *be);
double tolerance_of(const struct op *op, const struct tf_backend *be);
/* bf16 or fp16 as its bits, rounded to nearest even, and back. */
uint16_t to_16_bit(const struct tf_backend *be, double x);
double from_16_bit(const struct tf_backend *be, uint16_t bits);
/* Doubles to the lane's elements of one kind, and back. */
void to_elements(const struct lane *l, enum tf_elem e, void *dst, const double *src, size_t n);
void from_elements(const struct lane *l, enum tf_elem e, double *dst, const void *src, size_t n);

/* ---- runs: what run_ functions call ---- */

void run_problem(struct run *r, struct lane *l, const struct problem *p, size_t from, size_t to);
void free_run(struct run *r);

/* An input, or one that the operation changes in place; NULL when the problem has none of that
 * name. */
tf_mem *give(struct run *r, const char *name);
tf_mem *give_inout(struct run *r, const char *name);
/* Inputs as columns [col, col + width) of one new buffer with stride ld. The other columns are
 * junk. in2 and in3 may be NULL. */
tf_mem *give_strided(struct run *r, const struct input *in, size_t ld, size_t col,
                     const struct input *in2, size_t col2, const struct input *in3, size_t col3);
/* An output: `width` elements a row, or in all for WHOLE. */
tf_mem *want(struct run *r, enum tf_elem e, enum per per, size_t width);
/* Record an output as a result; differences are measured against `floor` where values are smaller.
 * take_strided: columns [col, col + width) of rows with stride ld. */
void take(struct run *r, const char *name, const tf_mem *p, enum tf_elem e, enum per per,
          size_t width, double floor);
void take_strided(struct run *r, const char *name, const tf_mem *p, enum tf_elem e, enum per per,
                  size_t ld, size_t col, size_t width, double floor);
/* Check that columns [from, ld) of an output were not written. */
void check_gap(struct run *r, const tf_mem *p, enum per per, size_t ld, size_t from);
/* NULL when the run has no result of that name. */
const struct output *find_output(const struct run *r, const char *name);

/* ---- comparison ---- */

/* The largest |x - y| / max(|y| + rms of y, floor); 0 where both are the same value, NaN and
 * infinities included. */
double worst_error(const double *x, const double *y, size_t n, double floor);
/* The largest error over all results, whose name *name becomes; infinity when the lists differ. */
double compare_runs(const struct run *x, const struct run *y, const char **name);
/* Compare the bytes of results that follow sentences: `part` against its place in `whole`. Returns
 * the name of the first that differs, or NULL. */
const char *compare_rows(const struct run *whole, const struct run *part);
/* Compare the bytes of all results. Returns the name of the first that differs, or NULL. */
const char *compare_bytes(const struct run *x, const struct run *y);

/* ---- a part of the cases, for slow backends: see cases() in tap.h ---- */

/* The number of the first one: TF_TEST_FIRST, or 0 (ops/agreement alone). */
uint64_t first_case(void);
/* False when TF_TEST_OPS names another operation. */
bool wanted(const char *op);

#endif
