/* rows.cu - row spaces: counts and offsets in device memory, read by every kernel that works by
 * rows. */
#include "device_private.h"
#include "ops/cuda/memory_private.h"

#include <vector>

/* sentence[r] = the last s with off[s] <= r < off[s + 1]; UINT32_MAX past the last row. A thread a
 * row. */
static __global__ void name_rows(uint32_t *sentence, const struct tf_rows_head *head,
                                 const uint32_t *off, uint32_t cap)
{
    uint32_t r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= cap)
        return;
    uint32_t s = UINT32_MAX;
    if (r < head->rows) {
        uint32_t lo = 0, hi = head->n; /* off[lo] <= r < off[hi] */
        while (hi - lo > 1) {
            uint32_t mid = (lo + hi) / 2;
            *(off[mid] <= r ? &lo : &hi) = mid;
        }
        s = lo;
    }
    sentence[r] = s;
}

struct tf_rows *tf_cuda_rows_new(struct tf_ctx *c, size_t max_rows, size_t max_sentences,
                                 struct tf_err *err)
{
    if (max_rows > INT32_MAX || max_sentences > INT32_MAX) {
        tf_fail(err, "%zu rows in %zu sentences are too many", max_rows, max_sentences);
        return nullptr;
    }
    struct tf_rows *r = new tf_rows();
    r->max_rows = max_rows;
    r->cap_sentences = max_sentences;
    /* Head and offsets lie together, so that one copy sets both; memory is cleared: no rows. */
    size_t head = sizeof *r->head / sizeof(uint32_t);
    uint32_t *p = (uint32_t *)tf_cuda_alloc(c, TF_ELEM_U32, head + max_sentences + 1, err);
    r->sentence = p != nullptr ? (uint32_t *)tf_cuda_alloc(c, TF_ELEM_U32, max_rows, err) : nullptr;
    if (r->sentence == nullptr) {
        tf_cuda_free(c, p);
        delete r;
        return nullptr;
    }
    r->head = (struct tf_rows_head *)p;
    r->off = p + head;
    return r;
}

void tf_cuda_rows_free(struct tf_ctx *c, struct tf_rows *r)
{
    if (r == nullptr)
        return;
    tf_cuda_free(c, r->head);
    tf_cuda_free(c, r->sentence);
    delete r;
}

void tf_cuda_rows_set(struct tf_ctx *c, struct tf_rows *r, size_t n, const uint32_t *off)
{
    TF_ASSERT(n <= r->cap_sentences && off[n] - off[0] <= r->max_rows);
    uint32_t longest = 0;
    struct tf_rows_head head;
    std::vector<uint32_t> p(sizeof head / sizeof(uint32_t) + n + 1); /* head, then offsets */
    uint32_t *own = &p[sizeof head / sizeof(uint32_t)];
    for (size_t s = 0; s < n; s++) {
        TF_ASSERT(off[s] <= off[s + 1]);
        own[s + 1] = off[s + 1] - off[0];
        longest = off[s + 1] - off[s] > longest ? off[s + 1] - off[s] : longest;
    }
    head = {(uint32_t)n, off[n] - off[0], off[0], longest};
    r->cap_rows = tf_rows_round_up(head.rows);
    r->cap_rows = r->cap_rows < r->max_rows ? r->cap_rows : r->max_rows;
    r->cap_used = tf_rows_round_up(n) < r->cap_sentences ? tf_rows_round_up(n) : r->cap_sentences;
    uint32_t step = longest <= 64 ? 16 : 64;
    r->cap_longest = (longest + step - 1) / step * step;
    memcpy(p.data(), &head, sizeof head);
    tf_cuda_send(c, r->head, p.data(), p.size() * sizeof p[0]);
    launch(c, "rows", name_rows, dim3(div_up(r->cap_rows, 256)), dim3(256), 0, r->sentence, r->head,
           r->off, (uint32_t)r->cap_rows);
}

bool tf_cuda_rows_shape(struct tf_ctx *, const struct tf_rows *r, uint32_t shape[2])
{
    shape[0] = (uint32_t)(r->cap_used << 16 | r->cap_rows);
    shape[1] = r->cap_longest;
    return r->cap_rows <= 8192 && r->cap_used <= 8192; /* above, shapes hardly come again */
}
