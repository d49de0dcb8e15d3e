/* run_facts_private.h - what the log of a training run says about it, and in what several runs
 * differ. */
#ifndef TF_PLOT_RUN_FACTS_PRIVATE_H
#define TF_PLOT_RUN_FACTS_PRIVATE_H

#include <stddef.h>

struct tf_run_fact {
    char *key, *value;
    char *brief; /* a number to 3 digits; NULL: the value */
};
struct tf_run_facts { /* zero-initialise */
    struct tf_run_fact *v;
    size_t n, cap;
    struct tf_run_fact **by_key; /* sorted */
};
void tf_run_facts_release(struct tf_run_facts *f);

/* Fill *f from the first line of a log: settings, options of tf-batch, configuration of the model,
 * number of steps, hashes of the data, version and device. Any other line than a "start" with these
 * leaves *f empty. */
void tf_run_facts_read(struct tf_run_facts *f, const char *line, size_t n);

enum { TF_RUN_FACTS_SHOWN = 4 };
/* The facts of run `which` in which the n runs differ, as "warmup 400, seed 2", numbers to 3 digits
 * if that distinguishes them: at most
 * TF_RUN_FACTS_SHOWN, then the number of others. Runs without facts are left out. NULL if there are
 * none. The caller frees it. */
char *tf_run_facts_difference(const struct tf_run_facts *runs, size_t n, size_t which);

#endif
