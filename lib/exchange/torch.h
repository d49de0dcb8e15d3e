/* torch.h - files of torch.save(): an archive with a pickle and the numbers of each storage, or the
 * form of PyTorch before 1.6, pickles and then the numbers (torch/serialization.py). Nothing of a
 * pickle is executed. */
#ifndef TF_EXCHANGE_TORCH_H
#define TF_EXCHANGE_TORCH_H

#include "exchange/bundle.h"

struct tf_py;

/* What is in a file. Zero-initialise; the objects are in the arena. */
struct tf_torch {
    struct tf_arena arena;
    const struct tf_py *root;
};
void tf_torch_release(struct tf_torch *t);

enum { TF_TORCH_HEAD = 96 /* bytes that show it */ };
/* Could n bytes be the beginning of one? */
bool tf_torch_begins(const void *p, size_t n);
/* Read a file of n bytes, to which the tensors then refer. Errors: a file that is cut, damaged or
 * contradicts itself; a pickle with other opcodes than those of data. */
int tf_torch_read(struct tf_torch *t, const void *p, size_t n, struct tf_err *err) TF_MUST_CHECK;
/* Fill *b (zero-initialised) with the tensors of a dict of them, by name; their data are in the
 * file. dict NULL: none. Errors: what is no tensor; one that is not contiguous. */
int tf_torch_tensors(struct tf_bundle *b, const struct tf_py *dict,
                     struct tf_err *err) TF_MUST_CHECK;
/* Values of a dict, such as the attributes of an argparse.Namespace: the dict below a key, or NULL;
 * a text, an integer, a flag, or `missing` if there is none of that kind. */
const struct tf_py *tf_torch_dict(const struct tf_py *dict, const char *key);
const char *tf_torch_text(const struct tf_py *dict, const char *key, const char *missing);
double tf_torch_real(const struct tf_py *dict, const char *key, double missing); /* or integer */
int64_t tf_torch_int(const struct tf_py *dict, const char *key, int64_t missing);

#endif
