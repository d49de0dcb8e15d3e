/* plugin.cu - the tables of the CUDA backend, one for each precision, and its lanes.
 *
 * TF_CUDA_WITHOUT in the environment leaves out parts of the backend, so that a part that is broken
 * on some device or driver can be found, and avoided, without a new build. It is a list of words
 * separated by commas; what does the work instead is slower.
 *     graphs   CUDA graphs: every kernel is launched on its own (graphs.cu)
 *     product  the own matrix product of decoding: cuBLASLt does it (product.cu)
 *     mma      all own kernels that use the tensor cores: attention and the product above
 *     library  cuBLASLt: a plain kernel does it, very slowly (blas.cu)
 *     pdl      programmatic dependent launch: a kernel starts after the one before it has ended
 *     nccl     NCCL: ranks exchange what is in device memory through the host's (link.cu)
 *     relu     in the backward pass, ReLU and sums for bias gradients in one kernel (linear.cu)
 *     scatter  in decoding few sentences, attention that stores new keys and values (decode.cu)
 *     beside   gradients of weights on a stream of their own (beside.cu)
 * TF_CUDA_WITH=wgmma: many rows of decoding are multiplied by wgmma (product.cu). No device has
 * shown yet whether it rounds as mma.sync does; if not, a row would depend on its neighbours. */
#include "blas_private.h"
#include "ops/cuda/beside_private.h"
#include "ops/cuda/graphs_private.h"
#include "ops/cuda/linear_private.h"
#include "ops/cuda/memory_private.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bit>
#include <string>
#include <type_traits>

/* ---- what the plugin does not take from the program that loads it ---- */

int tf_fail(struct tf_err *err, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(err->msg, sizeof err->msg, fmt, ap);
    va_end(ap);
    err->status = TF_FAILED;
    err->sys = 0;
    return -1;
}

void tf_bug(const char *file, int line, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fprintf(stderr, "%s:%d: ", file, line);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    va_end(ap);
    abort();
}

void tf_cuda_report(const char *format, ...)
{
    char text[1000], line[1024];
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    snprintf(line, sizeof line, "cuda: %s\n", text);
    fputs(line, stderr); /* one write, so that no other line gets between */
}

/* ---- parts that may be left out ---- */

static unsigned left_out; /* TF_CUDA_... */
static const char *const parts[] = {"graphs",  "product", "mma", /* by bit */
                                    "library", "pdl",     "nccl", "relu",
                                    "scatter", "beside"};
enum { PARTS = sizeof parts / sizeof *parts };

bool tf_cuda_uses(unsigned part)
{
    return (left_out & part) == 0;
}

static int read_left_out(struct tf_err *err)
{
    const char *list = getenv("TF_CUDA_WITHOUT");
    const char *with = getenv("TF_CUDA_WITH");
    const bool taken = with != nullptr && strcmp(with, "wgmma") == 0;
    if (with != nullptr && *with != 0 && !taken)
        return tf_fail(err, "TF_CUDA_WITH: '%.40s': not wgmma", with);
    left_out = taken ? 0 : (unsigned)TF_CUDA_WGMMA;
    for (const char *p = list; p != nullptr && *p != 0;) {
        size_t n = strcspn(p, ","), i = 0;
        while (i < PARTS && (strlen(parts[i]) != n || strncmp(p, parts[i], n) != 0))
            i++;
        if (i == PARTS)
            return tf_fail(err, "TF_CUDA_WITHOUT: '%.*s': not one of graphs, product, mma, library,"
                           " pdl, nccl, relu, scatter, beside", n > 40 ? 40 : (int)n, p);
        left_out |= 1u << i;
        p += n + (p[n] == ',');
    }
    return 0;
}

/* ---- the device ---- */

bool tf_cuda_started_early[TF_CUDA_PLACES];

/* What all devices in use have in common. */
static struct {
    bool known;
    int arch, sms;
    size_t shared; /* bytes of it that a block may have */
    bool pdl; /* the code for this device has wait_for_previous() */
    size_t logits; /* TF_CUDA_XENT_ROOM, or 0 */
    char name[96];
} device;

/* The devices in use. */
static int places = 1, numbers[TF_CUDA_PLACES]; /* CUDA's, from 0 */
static struct {
    cudaStream_t stream;
    struct tf_blas *blas;
    /* that are open: the stream and the library's handle are made for the first and go with the
     * last */
    int lanes;
} at[TF_CUDA_PLACES];

static thread_local int selected = -1;

static cudaError_t select_number(int number)
{
    cudaError_t e = selected == number ? cudaSuccess : cudaSetDevice(number);
    selected = e == cudaSuccess ? number : -1;
    return e;
}

void tf_cuda_select(const struct tf_ctx *c)
{
    (void)select_number(c->number); /* it was selected before: else what follows fails, too */
}

static __global__ void nothing()
{
}

/* The number in an environment variable; `other` where it is not set. -1 and err where it is none
 * from 1 to `most`. */
static long long number_in(const char *name, long long most, long long other, struct tf_err *err)
{
    const char *text = getenv(name);
    char *end;
    if (text == nullptr)
        return other;
    errno = 0;
    long long n = strtoll(text, &end, 10);
    if (*end != 0 || errno != 0 || n < 1 || n > most)
        return tf_fail(err, "%s: '%.40s': a number from 1 to %lld", name, text, most);
    return n;
}

/* Its properties; it has code of this plugin. */
static int look_at(int number, cudaDeviceProp *p, int *ptx, struct tf_err *err)
{
    cudaError_t e = select_number(number);
    if (e == cudaSuccess)
        e = cudaGetDeviceProperties(p, number);
    if (e != cudaSuccess) {
        cudaGetLastError();
        return tf_fail(err, "%s", cudaGetErrorString(e));
    }
    cudaFuncAttributes a;
    /* loads the code that was compiled for this device */
    e = cudaFuncGetAttributes(&a, (const void *)nothing);
    if (e != cudaSuccess) {
        cudaGetLastError();
        return tf_fail(err, "%.95s, compute capability %d.%d: %s; build with CUDA_ARCH=%d%d",
                       p->name, p->major, p->minor, cudaGetErrorString(e), p->major, p->minor);
    }
    *ptx = a.ptxVersion;
    return 0;
}

/* A result must not depend on which of the devices in use computed it. */
static int check_alike(int place, const cudaDeviceProp *first, const cudaDeviceProp *p,
                       struct tf_err *err)
{
    if (strcmp(first->name, p->name) == 0 && first->major == p->major &&
        first->minor == p->minor && first->multiProcessorCount == p->multiProcessorCount &&
        first->sharedMemPerBlockOptin == p->sharedMemPerBlockOptin)
        return 0;
    return tf_fail(err, "GPUs of two kinds, whose results may differ: cuda:%d is %.60s with %d "
                   "multiprocessors, cuda:%d is %.60s with %d", numbers[0], first->name,
                   first->multiProcessorCount, numbers[place], p->name, p->multiProcessorCount);
}

static int find_devices(struct tf_err *err)
{
    if (device.known)
        return 0;
    if (read_left_out(err) != 0)
        return -1;
    int n = 0;
    cudaError_t e = cudaGetDeviceCount(&n);
    if (e == cudaSuccess && n == 0)
        e = cudaErrorNoDevice;
    if (e != cudaSuccess) {
        cudaGetLastError();
        return tf_fail(err, "%s", cudaGetErrorString(e));
    }
    cudaDeviceProp p = {}, other = {};
    int ptx = 0, others_ptx;
    for (int i = 0; i < places; i++) {
        if (numbers[i] >= n)
            return tf_fail(err, "there is no device %d; the last one is cuda:%d", numbers[i],
                           n - 1);
        if (look_at(numbers[i], i == 0 ? &p : &other, i == 0 ? &ptx : &others_ptx, err) != 0 ||
            (i > 0 && check_alike(i, &p, &other, err) != 0))
            return -1;
    }
    device.arch = 10 * p.major + p.minor;
    device.shared = p.sharedMemPerBlockOptin;
    device.pdl = device.arch >= 90 && ptx >= 90 && tf_cuda_uses(TF_CUDA_PDL);
    /* How many multiprocessors choices of kernels go by: small tests have those of large ones. */
    const long long sms = number_in("TF_CUDA_SMS", 1024, p.multiProcessorCount, err),
                    logits = sms < 0 ? -1 : number_in("TF_CUDA_XENT_ROOM", 1LL << 40, 0, err);
    if (logits < 0)
        return -1;
    device.sms = (int)sms;
    device.logits = (size_t)logits;
    snprintf(device.name, sizeof device.name, "%.95s", p.name);
    device.known = true;
    return 0;
}

static int probe_from(int arch, const char *precision, struct tf_err *err)
{
    if (find_devices(err) != 0)
        return -1;
    if (device.arch < arch)
        return tf_fail(err, "%s has compute capability %d.%d; %s needs %d.%d", device.name,
                       device.arch / 10, device.arch % 10, precision, arch / 10, arch % 10);
    unsigned epilogues;
    return tf_cuda_epilogues(&epilogues, device.arch, precision, err);
}

template <typename A> struct kind;
template <> struct kind<float> {
    static constexpr const char *name = "fp32";
    static constexpr int arch = 75;
};
template <> struct kind<bf16> {
    static constexpr const char *name = "bf16";
    static constexpr int arch = 80;
};
template <> struct kind<half> {
    static constexpr const char *name = "fp16";
    static constexpr int arch = 75;
};

template <> bool has_mma<float>(const struct tf_ctx *) { return false; }
template <> bool has_mma<bf16>(const struct tf_ctx *c)
{
    return c->arch >= 80 && tf_cuda_uses(TF_CUDA_MMA);
}
template <> bool has_mma<half>(const struct tf_ctx *c)
{
    return c->arch >= 75 && tf_cuda_uses(TF_CUDA_MMA);
}

/* What the first lane of a device opened, where no lane is left. */
static void release_device(int place)
{
    auto &d = at[place];
    if (d.lanes > 0)
        return;
    tf_cuda_beside_close(place);
    tf_blas_free(d.blas);
    if (d.stream != nullptr)
        cudaStreamDestroy(d.stream);
    d.blas = nullptr;
    d.stream = nullptr;
}

struct tf_ctx *tf_cuda_open(size_t act, const char *precision, int place, struct tf_err *err)
{
    unsigned epilogues;
    if (find_devices(err) != 0 || tf_cuda_epilogues(&epilogues, device.arch, precision, err) != 0)
        return nullptr;
    TF_ASSERT(place < places);
    auto &d = at[place];
    cudaError_t e = select_number(numbers[place]);
    if (e == cudaSuccess && d.lanes == 0) {
        e = cudaStreamCreateWithFlags(&d.stream, cudaStreamNonBlocking);
        if (e == cudaSuccess && (d.blas = tf_blas_new(device.name, err)) == nullptr) {
            release_device(place);
            return nullptr;
        }
    }
    void *rng = nullptr;
    if (e == cudaSuccess)
        e = cudaMalloc(&rng, sizeof(struct tf_rng_state));
    if (e != cudaSuccess) {
        cudaGetLastError();
        tf_fail(err, "%s: %s", device.name, cudaGetErrorString(e));
        release_device(place);
        return nullptr;
    }
    struct tf_ctx *c = new tf_ctx();
    c->place = place;
    c->number = numbers[place];
    c->rng = (struct tf_rng_state *)rng;
    c->queue = d.stream;
    c->blas = d.blas;
    c->workspace = tf_blas_workspace(d.blas);
    c->act = act;
    c->sms = device.sms;
    c->arch = device.arch;
    c->shared = device.shared;
    c->pdl = device.pdl;
    c->logits_room = device.logits;
    c->epilogues = epilogues;
    char library[64];
    int version = 0;
    cudaRuntimeGetVersion(&version);
    tf_blas_describe(library, sizeof library);
    snprintf(c->text, sizeof c->text, "%s, CUDA %d.%d, %s, %s", device.name, version / 1000,
             version % 1000 / 10, library, precision);
    d.lanes++;
    return c;
}

void tf_cuda_close(struct tf_ctx *c)
{
    if (c == nullptr)
        return;
    const int place = c->place;
    tf_cuda_graphs_forget(c);
    cudaStreamSynchronize(tf_cuda_stream(c));
    cudaFree(c->scratch);
    cudaFree(c->summed.sums);
    cudaFree(c->rng);
    if (--at[place].lanes == 0)
        tf_cuda_times_show(c);
    delete c;
    release_device(place);
}

int tf_cuda_set_tuning(struct tf_ctx *c, const char *text, size_t n, struct tf_err *err)
{
    return tf_tuning_parse(tf_blas_tuning(c->blas), text, n, err);
}

int tf_cuda_start_tuning(struct tf_ctx *c, struct tf_err *)
{
    tf_blas_tuning(c->blas)->measuring = true;
    return 0;
}

char *tf_cuda_get_tuning(struct tf_ctx *c, struct tf_err *err)
{
    if (tf_cuda_sync(c, err) != 0)
        return nullptr;
    return tf_tuning_text(tf_blas_tuning(c->blas), err);
}

void tf_cuda_set_rng_state(struct tf_ctx *c, const struct tf_rng_state *s)
{
    tf_cuda_send(c, c->rng, s, sizeof *s);
}

struct dropout_args tf_cuda_dropout(const struct tf_ctx *c, struct tf_dropout d)
{
    return {.threshold = (uint64_t)ceil((double)d.p * 0x1p32),
            .scale = (float)(1 / (1 - (double)d.p)),
            .site = d.site,
            .rng = c->rng};
}

/* ---- the tables ---- */

template <typename A> static int probe(struct tf_err *err)
{
    return probe_from(kind<A>::arch, kind<A>::name, err);
}

template <typename A>
static struct tf_ctx *lane_open(const struct tf_ctx_opts *o, struct tf_err *err)
{
    return tf_cuda_open(sizeof(A), kind<A>::name, o->device, err);
}

static const int *devices(int *n)
{
    *n = places;
    return numbers;
}

static const char *describe(struct tf_ctx *c)
{
    return c->text;
}

/* Graphs, early starts, the way between ranks, and calls that do the work of two change no byte. */
template <typename A> static const char *kernels(void)
{
    static char text[256];
    struct tf_err err = {};
    char library[64];
    unsigned epilogues = 0;
    tf_cuda_epilogues(&epilogues, device.arch, kind<A>::name, &err); /* probe() has checked it */
    tf_blas_describe(library, sizeof library);
    std::string all = "cuda, " + std::string(device.name, strnlen(device.name, 60)) + ", " +
                      library;
    if (epilogues != tf_cuda_default_epilogues(device.arch, kind<A>::name))
        all += std::string(", epilogues ") + tf_cuda_epilogues_name(epilogues);
    if (device.logits > 0)
        all += ", logits in " + std::to_string(device.logits);
    for (unsigned part : {TF_CUDA_PRODUCT, TF_CUDA_MMA, TF_CUDA_LIBRARY})
        if (!tf_cuda_uses(part))
            all += std::string(", no ") + parts[std::countr_zero(part)];
    if (tf_cuda_uses(TF_CUDA_WGMMA))
        all += ", wgmma";
    snprintf(text, sizeof text, "%s", all.c_str());
    return text;
}

/* Ranks own whole chunks. A few launches each do not matter for a million elements. */
#ifdef TF_EMULATE /* so that small models have several */
enum { NORM_CHUNK = 1 << 12 };
#else
enum { NORM_CHUNK = 1 << 20 };
#endif

template <typename A> static constexpr struct tf_backend table(unsigned default_for)
{
    typedef tf_cuda_ops<A> ops;
    return {
        .abi = TF_BACKEND_ABI,
        .name = "cuda",
        .precision = kind<A>::name,
        .supports = TF_USE_ANY,
        .default_for = default_for,
        .shards = 1,
        .threads = false,
        .host = false,
        .tables_packed = std::is_same_v<A, float>, /* which are then as precise as others */
        .packs_halves = std::is_same_v<A, half>,
        .norm_chunk = NORM_CHUNK,
        .poll = 4,
        .elem_size = {sizeof(float), sizeof(A), sizeof(float), sizeof(uint32_t), sizeof(double),
                      sizeof(A)},
        .probe = probe<A>,
        .open = lane_open<A>,
        .devices = devices,
        .describe = describe,
        .kernels = kernels<A>,
#define COMMON(op) .op = tf_cuda_##op,
#define OF_A(op) .op = ops::op,
        TF_LANE_OPS(COMMON)
        TF_ACT_OPS(OF_A)
        TF_PACKED_OPS(OF_A)
        TF_VALUE_OPS(COMMON)
        TF_LISTED_OPS(OF_A)
#undef OF_A
#undef COMMON
    };
}

static const struct tf_backend fp32 = table<float>(0), with_bf16 = table<bf16>(TF_USE_TRAINING),
                               with_half = table<half>(TF_USE_SCORING | TF_USE_DECODING);

/* Take these n devices, or with n 0 all, unless lanes are open on others. Without CUDA, or with too
 * many of them, find_devices() fails. */
static bool take_devices(const int *device_numbers, int n, bool wrap)
{
    int there = 0, wanted[TF_CUDA_PLACES] = {};
    if ((wrap || n == 0) && (cudaGetDeviceCount(&there) != cudaSuccess || there == 0))
        there = 1;
    cudaGetLastError();
    const bool all = n == 0;
    n = all ? there < TF_CUDA_PLACES ? there : TF_CUDA_PLACES : n;
    for (int i = 0; i < n; i++)
        wanted[i] = all ? i : wrap ? device_numbers[i] % there : device_numbers[i];
    const bool same = n == places && memcmp(wanted, numbers, (size_t)n * sizeof *wanted) == 0;
    for (int i = 0; i < places && !same; i++)
        if (at[i].lanes > 0)
            return false;
    device.known = device.known && same;
    places = n;
    memcpy(numbers, wanted, sizeof numbers);
    return true;
}

extern "C" __attribute__((visibility("default"))) const struct tf_backend *const *
tf_backend_entry(const int *device_numbers, int n, bool wrap)
{
    static const struct tf_backend *const tables[] = {&fp32, &with_bf16, &with_half, nullptr};
    return take_devices(device_numbers, n, wrap) ? tables : nullptr;
}
