/* quad.h - four neighbours of a row at once: the unit of dropout (one call of Philox) and of the
 * loads and stores of the kernels that go by rows. `whole` says that every quad of the operation
 * lies inside its row at an address that is a multiple of its size (quads_whole, on the host);
 * otherwise elements go one by one. */
#ifndef TF_OPS_CUDA_QUAD_H
#define TF_OPS_CUDA_QUAD_H

#include "device.h"

template <typename E> struct alignas(4 * sizeof(E)) quad {
    E v[4];
};

/* row[d .. d + 4), 0 from D on. */
template <typename E>
__device__ static inline quad<E> quad_at(const E *row, int d, int D, bool whole)
{
    if (whole)
        return *(const quad<E> *)(row + d);
    quad<E> q;
    for (int i = 0; i < 4; i++)
        q.v[i] = d + i < D ? row[d + i] : from_float<E>(0);
    return q;
}

template <typename E> __device__ static inline void floats_of(float x[4], const quad<E> &q)
{
    for (int i = 0; i < 4; i++)
        x[i] = to_float(q.v[i]);
}

template <typename E>
__device__ static inline void load4(float x[4], const E *row, int d, int D, bool whole)
{
    floats_of(x, quad_at(row, d, D, whole));
}

template <typename E>
__device__ static inline void store4(E *row, int d, int D, bool whole, const float x[4])
{
    if (whole) {
        quad<E> q;
        for (int i = 0; i < 4; i++)
            q.v[i] = from_float<E>(x[i]);
        *(quad<E> *)(row + d) = q;
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
