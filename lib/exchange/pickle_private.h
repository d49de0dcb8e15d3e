/* pickle_private.h - what is in a pickle of Python (Lib/pickletools.py), without executing any of
 * it: numbers, texts, lists, dicts, and the tensors of PyTorch. Whatever else an object is, it is
 * only known to be there. */
#ifndef TF_EXCHANGE_PICKLE_PRIVATE_H
#define TF_EXCHANGE_PICKLE_PRIVATE_H

#include "exchange/bundle.h"

enum tf_py_kind {
    TF_PY_OTHER, /* any other object */
    TF_PY_NONE,
    TF_PY_BOOL,
    TF_PY_INT,
    TF_PY_REAL,
    TF_PY_TEXT,
    TF_PY_LIST, /* or a tuple */
    TF_PY_DICT, /* or an OrderedDict, or the attributes of an argparse.Namespace */
    TF_PY_GLOBAL,
    TF_PY_STORAGE,
    TF_PY_TENSOR
};

/* An object. */
struct tf_py {
    enum tf_py_kind kind;
    bool is_namespace;
    bool strided; /* TENSOR: its elements are not one after the other */
    int64_t integer;  /* BOOL, INT; STORAGE: elements; TENSOR: the first element in its storage */
    double real;
    const char *text; /* TEXT, terminated, without a NUL; GLOBAL: module.name; STORAGE: its key */
    struct tf_py **items; /* LIST; DICT: keys and values in turn; TENSOR: storage, then dims */
    size_t n, cap;        /* of items */
    enum tf_dtype dtype;  /* STORAGE */
    const uint8_t *data;  /* STORAGE, set by the reader of the file */
};

enum { TF_MAX_PICKLE = 8 << 20 /* bytes of one */ };

struct tf_pickle {
    struct tf_arena *a;
    struct tf_py *root;
    struct tf_py **storages; /* in the order of the file; on the heap */
    size_t n_storages;
};

/* Read one pickle from the front of p [n]; *used is its length. More storages are appended to
 * those that are there. Errors: an opcode other than those that pickle and PyTorch write for data,
 * a pickle that ends early, or is longer than TF_MAX_PICKLE. */
int tf_pickle_read(struct tf_pickle *k, const void *p, size_t n, size_t *used,
                   struct tf_err *err) TF_MUST_CHECK;
/* The value of a key of a DICT, or NULL; NULL, too, for another kind of object. */
struct tf_py *tf_py_get(const struct tf_py *dict, const char *key);

#endif
