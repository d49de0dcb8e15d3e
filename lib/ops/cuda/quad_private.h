/* quad_private.h - four neighbours of a row at once: the unit of dropout (one call of Philox) and
 * of the loads and stores of the kernels that go by rows. `whole` says that every quad of the
 * operation lies inside its row at an address that is a multiple of its size (quads_whole, on the
 * host); otherwise elements go one by one. */
#ifndef TF_OPS_CUDA_QUAD_PRIVATE_H
#define TF_OPS_CUDA_QUAD_PRIVATE_H

#include "device_private.h"

#include <type_traits>

template <typename E> struct alignas(4 * sizeof(E)) quad {
    E v[4];
};

/* The bits of a quad: elements of two bytes would take a register each until they are used, and the
 * compiler splits some loads and stores of a struct, but none of a number. */
template <typename E> using quad_words = std::conditional_t<sizeof(E) == 2, uint64_t, uint4>;

/* row[d .. d + 4), 0 from D on. */
template <typename E>
__device__ static inline quad_words<E> quad_at(const E *row, int d, int D, bool whole)
{
    if (whole)
        return *(const quad_words<E> *)(row + d);
    quad_words<E> q;
    E v[4];
    for (int i = 0; i < 4; i++)
        v[i] = d + i < D ? row[d + i] : from_float<E>(0);
    memcpy(&q, v, sizeof q);
    return q;
}

template <typename E> __device__ static inline void floats_of(float x[4], const quad_words<E> &q)
{
    E v[4];
    memcpy(v, &q, sizeof q);
    for (int i = 0; i < 4; i++)
        x[i] = to_float(v[i]);
}

template <typename E>
__device__ static inline void load4(float x[4], const E *row, int d, int D, bool whole)
{
    floats_of<E>(x, quad_at(row, d, D, whole));
}

template <typename E>
__device__ static inline void store4(E *row, int d, int D, bool whole, const float x[4])
{
    if (whole) {
        quad_words<E> q;
        E v[4];
        for (int i = 0; i < 4; i++)
            v[i] = from_float<E>(x[i]);
        memcpy(&q, v, sizeof q);
        *(quad_words<E> *)(row + d) = q;
    } else {
        for (int i = 0; i < 4; i++)
            if (d + i < D)
                row[d + i] = from_float<E>(x[i]);
    }
}

/* For rows of D elements, of whatever kinds: the pointers are those of their first rows, NULL
 * included. */
template <typename... P> static inline bool quads_whole(int D, const P *...p)
{
    return D % 4 == 0 && (... && ((uintptr_t)p % (4 * sizeof(P)) == 0));
}

#endif
