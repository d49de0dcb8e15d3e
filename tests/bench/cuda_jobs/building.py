"""building.py - the programs and the libraries that the jobs need."""
import os
import re
import sys

from .rig import TOP, libraries, run, tool

PROGRAMS = ("ops/table", "ops/agreement", "ops/same_bytes", "ops/updates", "ops/logits",
            "ops/graphs", "ops/beside", "ops/link", "unit/ops_search")


def find_libraries(b):
    """What the system lacks, from PyTorch's wheels."""
    lacks = re.findall(r"(\S+) => not found", run(b, f"ldd {b.build}/bin/tf-backend-cuda.so")[1])
    if "libnccl.so.2" not in run(b, "/sbin/ldconfig -p")[1]:
        lacks.append("libnccl.so.2")
    for name in lacks:
        script = ("import nvidia, glob; [print(p) for d in nvidia.__path__"
                  f" for p in glob.glob(d + '/*/lib/{name}')]")
        for path in run(b, f'python3 -c "{script}"', tail=0)[1].split()[:1]:
            b.say(f"bench: {name} is {path}")
            libraries(os.path.dirname(path))


def cbor_flags(b):
    found, _ = run(b, "echo '#include <cbor.h>' | cc -E - >/dev/null", tail=0)
    if found is not None:
        return ""
    d = b.cbor
    return f" CPPFLAGS=-I{d}/include LDFLAGS='-L{d}/lib -Wl,-rpath,{d}/lib'"


def cublas_flags(b):
    """Nothing where the toolkit has cuBLASLt, else flags for that of PyTorch's wheel."""
    found, _ = run(b, "echo '#include <cublasLt.h>' | ${NVCC:-nvcc} -E -x cu - >/dev/null", tail=0)
    if found is not None:
        return ""
    script = ("import nvidia, glob; [print(p) for d in nvidia.__path__"
              " for p in glob.glob(d + '/*/include/cublasLt.h')]")
    _, paths = run(b, f'python3 -c "{script}"', tail=0)
    for path in paths.split():
        base = os.path.dirname(os.path.dirname(path))
        library = sorted(x for x in os.listdir(base + "/lib") if x.startswith("libcublasLt.so"))[0]
        os.makedirs(b.build + "/cublas", exist_ok=True)
        link = b.build + "/cublas/libcublasLt.so"
        if not os.path.lexists(link):
            os.symlink(f"{base}/lib/{library}", link)
        return (f" NVCCFLAGS='-I{base}/include -L{b.build}/cublas"
                f" -Xlinker -rpath,{base}/lib'")
    return ""


def targets_of(build, emulate):
    names = [f"bin/tf-{t}" for t in ("train", "decode", "batch", "avgckpt", "info", "cbor")]
    # of the processor beside a GPU: cuda_call
    names += [f"tests/{t}.t" for t in (*PROGRAMS, "ops/int8", "ops/bf16")]
    names += (["emulate/tf-backend-cuda.so"] if emulate else
              ["bin/tf-backend-cuda.so", "tests/bench/wgmma"])
    return [f"{build}/{t}" for t in names]


def build(b):
    flags = "CUDA=no" if b.emulate else "CUDA=yes" + cublas_flags(b)
    make = tool("make", b.cbor + "/bin/make")
    jobs = len(os.sched_getaffinity(0))
    seconds, _ = run(b, f"cd {TOP} && {make} -j{jobs} B={b.build} {flags}{cbor_flags(b)} "
                     + " ".join(targets_of(b.build, b.emulate)), timeout=540)
    if seconds is None:
        sys.exit("bench: the build failed")
    b.row("build", f"{seconds:.0f} s")
