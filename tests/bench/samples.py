"""Where the CPU time of a command goes, by families of operations, from the samples that sample.c
takes."""
import collections
import os
import re
import shutil
import subprocess

# The families and the functions in them, FILE:NAME; the first that fits.
FAMILIES = (
    ("quantising", r"ops/cpu/int8\.c:(quantise|lay_out|pack)"),
    ("laying out", r"ops/cpu/(fp32|bf16)\.c:(pack_part|.*(panels|slices|pair|lay_out))"),
    ("products", r"ops/cpu/(gemm_|linear|fp32|int8|bf16|openblas)|libopenblas"),
    ("attention", r"ops/cpu/(attention\.c|decode\.c:(.*cached_attention|dot|softmax$|.*scatter))"),
    ("loss", r"ops/cpu/xent"),
    ("norms", r"ops/cpu/norm"),
    ("search", r"ops/(cpu/(search|decode)|host_search|search)"),
    ("update", r"ops/cpu/update"),
    ("rest of operations", r"lib/ops/"),
    ("loading, reading, rest", r""),
)


def functions(binary, addresses):
    """For each address, "file:function" of the function that is not inlined; its file relative to
    the sources, or as the debug information has it."""
    asked = sorted(addresses)
    p = subprocess.run(["addr2line", "-a", "-i", "-f", "-e", binary],
                       input="".join(f"{a}\n" for a in asked), capture_output=True, text=True)
    found, lines = {}, None
    for line in p.stdout.split("\n"):
        if line.startswith("0x"):
            lines = found[format(int(line, 16), "x")] = []
        elif line and lines is not None:
            lines.append(line)
    return {a: f"{os.path.normpath(where[-1].rsplit(':', 1)[0])}:{where[-2]}"
            for a, where in found.items() if len(where) > 1}


def family(name):
    return next(f for f, pattern in FAMILIES if re.search(pattern, name))


def of(samples, binary):
    """{family: share of the CPU time}, from a file of samples of a program."""
    with open(samples) as f:
        count = collections.Counter(tuple(line.rstrip("\n").split("\t")) for line in f)
    ours = os.path.basename(binary)
    names = functions(binary, {a for o, a in count if os.path.basename(o) == ours})
    by = collections.Counter()
    for (o, a), n in count.items():
        by[family(names.get(a, "") if os.path.basename(o) == ours else o)] += n
    return {f: n / sum(count.values()) for f, n in by.items()}


def command(line, library):
    """The CPU seconds by family of a command that begins with a tool's name."""
    before = os.times()
    subprocess.run(f"TF_SAMPLES=samples LD_PRELOAD={library} {line}", shell=True, check=True)
    after = os.times()
    seconds = (after.children_user + after.children_system - before.children_user -
               before.children_system)
    return {f: x * seconds for f, x in of("samples", shutil.which(line.split()[0])).items()}
