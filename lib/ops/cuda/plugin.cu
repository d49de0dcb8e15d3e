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
 *     nccl     NCCL: ranks exchange what is in device memory through the host's (link.cu) */
#include "blas.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    va_list ap;
    va_start(ap, format);
    fputs("cuda: ", stderr);
    vfprintf(stderr, format, ap);
    fputc('\n', stderr);
    va_end(ap);
}

/* ---- parts that may be left out ---- */

static unsigned left_out; /* TF_CUDA_... */

bool tf_cuda_uses(unsigned part)
{
    return (left_out & part) == 0;
}

static int read_left_out(struct tf_err *err)
{
    static const char *const words[] = {"graphs", "product", "mma", "library", "pdl",
                                        "nccl"}; /* by bit */
    const char *list = getenv("TF_CUDA_WITHOUT");
    left_out = 0;
    for (const char *p = list; p != nullptr && *p != 0;) {
        size_t n = strcspn(p, ","), i = 0;
        while (i < sizeof words / sizeof *words &&
               (strlen(words[i]) != n || strncmp(p, words[i], n) != 0))
            i++;
        if (i == sizeof words / sizeof *words)
            return tf_fail(err, "TF_CUDA_WITHOUT: '%.*s': not one of graphs, product, mma, library,"
                           " pdl, nccl", n > 40 ? 40 : (int)n, p);
        left_out |= 1u << i;
        p += n + (p[n] == ',');
    }
    return 0;
}

/* ---- the device ---- */

bool tf_cuda_started_early;

static struct {
    bool known;
    int number; /* CUDA's, from 0 */
    int arch, sms;
    bool pdl; /* the code for this device has wait_for_previous() */
    char name[96];
    cudaStream_t stream;
    struct tf_blas *blas;
    /* that are open: the stream and the library's handle are made for the first and go with the
     * last */
    int lanes;
} device;

static __global__ void nothing()
{
}

/* How many multiprocessors choices of kernels go by: TF_CUDA_SMS, so that small tests have the
 * kernels of large problems, or as many as there are. */
static int sms_of(const cudaDeviceProp *p, struct tf_err *err)
{
    const char *wanted = getenv("TF_CUDA_SMS");
    char *end;
    if (wanted == nullptr)
        return p->multiProcessorCount;
    long n = strtol(wanted, &end, 10);
    if (*end != 0 || n < 1 || n > 1024)
        return tf_fail(err, "TF_CUDA_SMS: '%.40s': a number from 1 to 1024", wanted);
    return (int)n;
}

static int find_device(struct tf_err *err)
{
    if (device.known)
        return 0;
    if (read_left_out(err) != 0)
        return -1;
    int n = 0;
    cudaError_t e = cudaGetDeviceCount(&n);
    if (e == cudaSuccess && n == 0)
        e = cudaErrorNoDevice;
    if (e == cudaSuccess && device.number >= n)
        return tf_fail(err, "there is no device %d; the last one is cuda:%d", device.number, n - 1);
    cudaDeviceProp p;
    if (e == cudaSuccess)
        e = cudaSetDevice(device.number);
    if (e == cudaSuccess)
        e = cudaGetDeviceProperties(&p, device.number);
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
                       p.name, p.major, p.minor, cudaGetErrorString(e), p.major, p.minor);
    }
    device.arch = 10 * p.major + p.minor;
    device.pdl = device.arch >= 90 && a.ptxVersion >= 90 && tf_cuda_uses(TF_CUDA_PDL);
    if ((device.sms = sms_of(&p, err)) < 0)
        return -1;
    snprintf(device.name, sizeof device.name, "%.95s", p.name);
    device.known = true;
    return 0;
}

static int probe_from(int arch, const char *precision, struct tf_err *err)
{
    if (find_device(err) != 0)
        return -1;
    if (device.arch < arch)
        return tf_fail(err, "%s has compute capability %d.%d; %s needs %d.%d", device.name,
                       device.arch / 10, device.arch % 10, precision, arch / 10, arch % 10);
    return 0;
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

struct tf_ctx *tf_cuda_open(size_t act, const char *precision, struct tf_err *err)
{
    unsigned epilogues;
    if (find_device(err) != 0 || tf_cuda_epilogues(&epilogues, device.arch, precision, err) != 0)
        return nullptr;
    cudaError_t e = cudaSetDevice(device.number); /* of this thread */
    if (e == cudaSuccess && device.lanes == 0) {
        e = cudaStreamCreateWithFlags(&device.stream, cudaStreamNonBlocking);
        if (e == cudaSuccess && (device.blas = tf_blas_new(device.name, err)) == nullptr) {
            cudaStreamDestroy(device.stream);
            return nullptr;
        }
    }
    struct tf_ctx *c = (struct tf_ctx *)calloc(1, sizeof *c);
    if (e == cudaSuccess)
        e = cudaMalloc((void **)&c->rng, sizeof *c->rng);
    if (e != cudaSuccess) {
        cudaGetLastError();
        free(c);
        tf_fail(err, "%s: %s", device.name, cudaGetErrorString(e));
        return nullptr;
    }
    c->queue = device.stream;
    c->blas = device.blas;
    c->act = act;
    c->sms = device.sms;
    c->arch = device.arch;
    c->pdl = device.pdl;
    c->epilogues = epilogues;
    char library[64];
    int version = 0;
    cudaRuntimeGetVersion(&version);
    tf_blas_describe(c->blas, library, sizeof library);
    snprintf(c->text, sizeof c->text, "%s, CUDA %d.%d, %s, %s", device.name, version / 1000,
             version % 1000 / 10, library, precision);
    device.lanes++;
    return c;
}

void tf_cuda_close(struct tf_ctx *c)
{
    if (c == nullptr)
        return;
    tf_cuda_graphs_forget(c);
    cudaStreamSynchronize(tf_cuda_stream(c));
    cudaFree(c->scratch);
    cudaFree(c->rng);
    free(c);
    if (--device.lanes == 0) {
        tf_cuda_times_show(device.stream);
        tf_blas_free(device.blas);
        cudaStreamDestroy(device.stream);
    }
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
    return tf_tuning_text(tf_blas_tuning(c->blas));
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
static struct tf_ctx *lane_open(const struct tf_ctx_opts *, struct tf_err *err)
{
    return tf_cuda_open(sizeof(A), kind<A>::name, err);
}

static const char *describe(struct tf_ctx *c)
{
    return c->text;
}

static const char *kernels(void)
{
    return "cuda";
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
        .norm_chunk = NORM_CHUNK,
        .poll = 4,
        .elem_size = {sizeof(float), sizeof(A), sizeof(float), sizeof(uint32_t), sizeof(double)},
        .probe = probe<A>,
        .open = lane_open<A>,
        .describe = describe,
        .kernels = kernels,
#define COMMON(op) .op = tf_cuda_##op,
#define OF_A(op) .op = ops::op,
        TF_LANE_OPS(COMMON)
        TF_ACT_OPS(OF_A)
        TF_PACKED_OPS(OF_A)
        TF_VALUE_OPS(COMMON)
#undef OF_A
#undef COMMON
    };
}

static const struct tf_backend fp32 = table<float>(0), with_bf16 = table<bf16>(TF_USE_TRAINING),
                               with_half = table<half>(TF_USE_SCORING | TF_USE_DECODING);

extern "C" __attribute__((visibility("default"))) const struct tf_backend *const *
tf_backend_entry(int number, bool wrap)
{
    int n = 0;
    if (wrap && cudaGetDeviceCount(&n) == cudaSuccess && n > 0)
        number %= n;
    cudaGetLastError(); /* find_device() reports it */
    if (number != device.number && device.lanes > 0)
        return nullptr; /* one device a process */
    device.known = device.known && number == device.number;
    device.number = number;
    static const struct tf_backend *const tables[] = {&fp32, &with_bf16, &with_half, nullptr};
    return tables;
}
