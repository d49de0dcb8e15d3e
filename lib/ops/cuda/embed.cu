/* embed.cu - embedding and position, x = dropout(table[id] * scale + pos[place]), and its gradient.
 *
 * The gradient adds up the rows of each id in row order. A hash table chains the rows of an id
 * together, in an order left to chance; a warp sorts a chain that is short enough for its lanes,
 * and for the few ids with more rows than that a block goes over all ids again and picks its own in
 * order. So nothing of the chance is left in the sums. */
#include "quad_private.h"
#include "ops/cuda/memory_private.h"
#include "ops/cuda/weights_private.h"

enum {
    WARPS = 8, /* of a block, but of a crew: */
    /* warps that add up the rows of one id, or of one place: warp w takes every 16th, then their
     * sums are added in order */
    CREW = 16,
    SPAN = 8,  /* rows of a lane in one go over the ids */
};

/* A warp a row; T: of the table. */
template <typename A, typename T>
static __global__ void __launch_bounds__(WARPS * 32)
    forward(A *x, const uint32_t *ids, const T *table, const float *pos,
            const struct tf_rows_head *head, const uint32_t *off, const uint32_t *sentence,
            size_t cap, int D, float scale, struct dropout_args args, bool whole)
{
    const struct dropout dropout = dropout_of(args);
    size_t row = (size_t)blockIdx.x * WARPS + threadIdx.x / 32;
    if (row >= cap)
        return;
    bool live = row < head->rows;
    uint32_t id = live ? ids[row] : TF_NO_ID,
             place = live && pos != nullptr ? (uint32_t)row - off[sentence[row]] : 0,
             packed = head->first + (uint32_t)row;
    for (int d = 4 * (threadIdx.x % 32); d < D; d += 128) {
        float v[4] = {}, p[4], f[4];
        if (id != TF_NO_ID)
            load4(v, table + (size_t)id * D, d, D, whole);
        for (int k = 0; k < 4; k++)
            v[k] *= scale;
        if (live && pos != nullptr) {
            load4(p, pos + (size_t)place * D, d, D, whole);
            for (int k = 0; k < 4; k++)
                v[k] += p[k];
        }
        dropout4(f, dropout, d / 4, packed, dropout.site);
        for (int k = 0; k < 4; k++)
            v[k] *= f[k];
        store4(x + row * D, d, D, whole, v);
    }
}

template <typename A>
void tf_cuda_ops<A>::embed_fwd(struct tf_ctx *c, tf_mem *x, const tf_mem *ids, const tf_mem *table,
                               const tf_mem *pos, const struct tf_rows *r, int D, float scale,
                               struct tf_dropout dropout)
{
    auto run = [&](auto *from) {
        using T = std::remove_const_t<std::remove_pointer_t<decltype(from)>>;
        bool whole = quads_whole(D, (A *)x, from, (const float *)pos);
        launch(c, "embed_fwd", forward<A, T>, dim3(div_up(r->cap_rows, WARPS)), dim3(WARPS * 32),
               0, (A *)x, (const uint32_t *)ids, from, (const float *)pos, r->head, r->off,
               r->sentence, r->cap_rows, D, scale, tf_cuda_dropout(c, dropout), whole);
    };
    if (tf_cuda_narrow(c, table))
        run((const A *)table);
    else
        run((const float *)table);
}


/* ---- gradient ---- */

/* Of `size` entries, a power of two and at least twice the rows. Cleared to 0xff: no key, no
 * row. */
struct chains {
    uint32_t *key;  /* the id of this entry */
    uint32_t *row;  /* its first row */
    /* ids of more rows than a warp has lanes: many[0] + 1 of them from many[1] on */
    uint32_t *many;
    uint32_t *next; /* by row: the next of its id */
    uint32_t size;
};

static __global__ void chain_rows(struct chains h, const uint32_t *ids,
                                  const struct tf_rows_head *head)
{
    uint32_t row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= head->rows || ids[row] == TF_NO_ID)
        return;
    uint32_t id = ids[row], at = id * 0x9E3779B1u & (h.size - 1), was;
    while ((was = atomicCAS(&h.key[at], TF_NO_ID, id)) != TF_NO_ID && was != id)
        at = (at + 1) & (h.size - 1);
    h.next[row] = atomicExch(&h.row[at], row);
}

/* sum += dropout'(dx[row][d .. d + 4)) */
template <typename A>
__device__ static inline void add_row(float sum[4], const A *dx, uint32_t row, int d, int D,
                                      const struct tf_rows_head *head,
                                      const struct dropout &dropout, bool whole)
{
    float v[4], f[4];
    load4(v, dx + (size_t)row * D, d, D, whole);
    dropout4(f, dropout, d / 4, head->first + row, dropout.site);
    for (int k = 0; k < 4; k++)
        sum[k] += v[k] * f[k];
}

__device__ static inline void add_to(float *out, int d, int D, bool whole, const float sum[4],
                                     float scale)
{
    float v[4];
    load4(v, out, d, D, whole);
    for (int k = 0; k < 4; k++)
        v[k] += scale * sum[k];
    store4(out, d, D, whole, v);
}

/* A warp looks at 32 entries and takes one chain after the other. */
template <typename A>
static __global__ void __launch_bounds__(WARPS * 32)
    add_few(float *dtable, const A *dx, struct chains h, const struct tf_rows_head *head, int D,
            float scale, struct dropout_args args, bool whole)
{
    const struct dropout dropout = dropout_of(args);
    uint32_t lane = threadIdx.x % 32, at = blockIdx.x * blockDim.x + threadIdx.x;
    uint32_t my_key = at < h.size ? h.key[at] : TF_NO_ID, my_row = at < h.size ? h.row[at] : 0;
    for (unsigned left = __ballot_sync(0xffffffffu, my_key != TF_NO_ID); left != 0;
         left &= left - 1) {
        int source = __ffs((int)left) - 1, n = 0;
        uint32_t id = __shfl_sync(0xffffffffu, my_key, source), row = TF_NO_ID,
                 r = __shfl_sync(0xffffffffu, my_row, source);
        for (; r != UINT32_MAX && n <= 32; r = h.next[r], n++)
            if (lane == (uint32_t)n)
                row = r;
        if (n > 32) {
            if (lane == 0)
                h.many[2 + atomicAdd(h.many, 1u)] = id;
            continue;
        }
        int rank = 0;
        for (int i = 0; i < n; i++)
            rank += __shfl_sync(0xffffffffu, row, i) < row;
        uint32_t ordered = row;
        for (int i = 0; i < n; i++) {
            int from = __ffs((int)__ballot_sync(0xffffffffu, rank == i && lane < (uint32_t)n)) - 1;
            uint32_t x = __shfl_sync(0xffffffffu, row, from);
            if (lane == (uint32_t)i)
                ordered = x;
        }
        for (int d0 = 0; d0 < D; d0 += 128) {
            int d = d0 + 4 * (int)lane;
            float sum[4] = {};
            for (int i = 0; i < n; i++) {
                uint32_t x = __shfl_sync(0xffffffffu, ordered, i);
                if (d < D)
                    add_row(sum, dx, x, d, D, head, dropout, whole);
            }
            if (d < D)
                add_to(dtable + (size_t)id * D, d, D, whole, sum, scale);
        }
    }
}

/* out[d .. d + 4) += scale * the sum of the crew's sums, in the order of its warps. */
__device__ static inline void add_crew(float *out, int d, int D, bool whole, const float sum[4],
                                       float scale)
{
    __shared__ float room[CREW][32][4];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int k = 0; k < 4; k++)
        room[warp][lane][k] = sum[k];
    __syncthreads();
    if (warp == 0 && d < D) {
        float all[4] = {};
        for (int w = 0; w < CREW; w++)
            for (int k = 0; k < 4; k++)
                all[k] += room[w][lane][k];
        add_to(out, d, D, whole, all, scale);
    }
    __syncthreads();
}

/* Block (i, j): the columns 128 j .. of the i-th id of many rows. */
template <typename A>
static __global__ void __launch_bounds__(CREW * 32)
    add_many(float *dtable, const A *dx, const uint32_t *ids, struct chains h,
             const struct tf_rows_head *head, int D, float scale, struct dropout_args args,
             bool whole)
{
    __shared__ uint32_t list[CREW * 32 * SPAN], counts[CREW];
    if (blockIdx.x >= h.many[0] + 1)
        return;
    const struct dropout dropout = dropout_of(args);
    uint32_t id = h.many[1 + blockIdx.x], rows = head->rows, seen = 0;
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, d = 128 * blockIdx.y + 4 * lane;
    float sum[4] = {};
    for (uint32_t begin = 0; begin < rows; begin += CREW * 32 * SPAN) {
        uint32_t first = begin + warp * 32 * SPAN + lane, mine = 0, before = 0, total = 0;
        unsigned match[SPAN];
        for (int i = 0; i < SPAN; i++) {
            uint32_t row = first + 32 * i;
            match[i] = __ballot_sync(0xffffffffu, row < rows && ids[row] == id);
            mine += __popc(match[i]);
        }
        __syncthreads(); /* the list of the last round is done with */
        if (lane == 0)
            counts[warp] = mine;
        __syncthreads();
        for (int w = 0; w < CREW; w++) {
            before += w < warp ? counts[w] : 0;
            total += counts[w];
        }
        for (int i = 0; i < SPAN; i++) {
            if (match[i] >> lane & 1)
                list[before + __popc(match[i] & ((1u << lane) - 1))] = first + 32 * i;
            before += __popc(match[i]);
        }
        __syncthreads();
        if (d < D)
            for (uint32_t i = (warp + CREW - seen % CREW) % CREW; i < total; i += CREW)
                add_row(sum, dx, list[i], d, D, head, dropout, whole);
        seen += total;
    }
    add_crew(dtable + (size_t)id * D, d, D, whole, sum, scale);
}

/* Block (i, j): the columns 128 j .. of the places i, i + gridDim.x, ...; over sentences in
 * order. */
template <typename A>
static __global__ void __launch_bounds__(CREW * 32)
    add_places(float *dpos, const A *dx, const struct tf_rows_head *head, const uint32_t *off,
               int D, struct dropout_args args, bool whole)
{
    const struct dropout dropout = dropout_of(args);
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, d = 128 * blockIdx.y + 4 * lane;
    for (uint32_t place = blockIdx.x; place < head->longest; place += gridDim.x) {
        float sum[4] = {};
        for (uint32_t s = warp; s < head->n; s += CREW)
            if (place < off[s + 1] - off[s] && d < D)
                add_row(sum, dx, off[s] + place, d, D, head, dropout, whole);
        add_crew(dpos + (size_t)place * D, d, D, whole, sum, 1);
    }
}

template <typename A>
void tf_cuda_ops<A>::embed_bwd(struct tf_ctx *c, tf_mem *dtable, tf_mem *dpos, const tf_mem *dx,
                               const tf_mem *ids, const struct tf_rows *r, int D, float scale,
                               struct tf_dropout dropout)
{
    bool whole = quads_whole(D, (float *)dtable, (float *)dpos, (const A *)dx);
    struct dropout_args args = tf_cuda_dropout(c, dropout);
    size_t cap = r->cap_rows, size = 64, most = cap / 33 + 1; /* ids of more than 32 rows */
    if (cap == 0)
        return;
    while (size < 2 * cap)
        size *= 2;
    uint32_t *room = (uint32_t *)tf_cuda_scratch(c, (2 * size + 1 + most + cap) * sizeof *room);
    if (room == nullptr)
        return;
    struct chains h = {room, room + size, room + 2 * size, room + 2 * size + 1 + most,
                       (uint32_t)size};
    cudaError_t e = cudaMemsetAsync(room, 0xff, (2 * size + 1) * sizeof *room, tf_cuda_stream(c));
    if (e != cudaSuccess)
        tf_cuda_failed(c, e, "embed_bwd");
    unsigned columns = div_up((size_t)D, 128);
    launch(c, "embed_bwd", chain_rows, dim3(div_up(cap, 256)), dim3(256), 0, h,
           (const uint32_t *)ids, r->head);
    launch(c, "embed_bwd few", add_few<A>, dim3(div_up(size, WARPS * 32)), dim3(WARPS * 32), 0,
           (float *)dtable, (const A *)dx, h, r->head, D, scale, args, whole);
    launch(c, "embed_bwd many", add_many<A>, dim3(most, columns), dim3(CREW * 32), 0,
           (float *)dtable, (const A *)dx, (const uint32_t *)ids, h, r->head, D, scale, args,
           whole);
    if (dpos != nullptr)
        launch(c, "embed_bwd places", add_places<A>, dim3(r->cap_longest, columns), dim3(CREW * 32),
               0, (float *)dpos, (const A *)dx, r->head, r->off, D, args, whole);
}

TF_CUDA_EVERY(embed_fwd)
TF_CUDA_EVERY(embed_bwd)
