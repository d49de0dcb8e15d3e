/* tuning_private.h - which algorithm a matrix product takes: choices that were measured once and
 * stand in a file of text, so that who has the file gets the same bytes.
 *
 *     tf-tuning 1
 *     device NVIDIA H200
 *     library 130100
 *     24576x512x512 nn bf16 bf16 bias ld 512 512 512 align 256 256 256 256 : 6f01... 41.2 38.7
 *
 * A line a product: its shape, then the library's algorithm in 128 hexadecimal digits, then
 * microseconds with the algorithm that the library would take itself and with this one. */
#ifndef TF_OPS_CUDA_TUNING_PRIVATE_H
#define TF_OPS_CUDA_TUNING_PRIVATE_H

#include "device_private.h"

#include <string>
#include <unordered_map>
#include <vector>

struct tf_tuned {
    uint8_t algo[64]; /* as the library has it in memory */
    double first, best;
};

struct tf_tuning {
    std::string device;
    size_t library;
    bool measuring; /* products without an entry are to be measured */
    /* by the shape as the file names it */
    std::unordered_map<std::string, struct tf_tuned> entries;
    std::vector<std::string> order;
};

/* Rows come in any number: an algorithm is chosen for those of about so many, the nearest of eight
 * steps an octave or so. */
int64_t tf_tuning_rows(int64_t rows);

/* The entries of a file that was made on this device with this library; those before are forgotten.
 * Everything in it is checked but the algorithms, which the library checks before their use. */
int tf_tuning_parse(struct tf_tuning *t, const char *text, size_t n, struct tf_err *err);
void tf_tuning_add(struct tf_tuning *t, const std::string &shape, const struct tf_tuned &e);
/* The file's text, from malloc; NULL and err without memory. */
char *tf_tuning_text(const struct tf_tuning *t, struct tf_err *err);

#endif
