#!/usr/bin/env bats
# The formats seen from outside: by an independent CBOR library, by a CDDL validator, by file(1),
# through cat and pipes.
# bats file_tags=no-asan
load helper

vectors=("$BATS_TEST_DIRNAME"/../../formats/vectors/*.cbor)

by_python() {
    "$TF_PYTHON" -B "$TOP/tests/cli/formats.py" "$@"
}

@test "python's cbor2 reads every vector and agrees with our JSON" {
    need "$TF_PYTHON"
    for v in "${vectors[@]}"; do
        case $v in *error.cbor) t 1 tf-cbor json "$v" ;; *) t 0 tf-cbor json "$v" ;; esac
        printf '%s\n' "$output" >"${v##*/}.json"
    done
    by_python agree "${vectors[@]}"
}

@test "the vectors are deterministic encodings by cbor2's measure" {
    need "$TF_PYTHON"
    by_python deterministic "${vectors[@]}"
}

@test "python writes streams that we take: plain ids, no CRCs, floats of any width" {
    need "$TF_PYTHON"
    by_python tokens >own.tfs
    t 0 tf-cbor check own.tfs
    sh_t 0 'tf-cbor json own.tfs | grep -c tokens.,.idx'
    expect_output 3
    sh_t 0 'tf-cbor seal own.tfs | tf-cbor diag | grep -c null'  || true
    [ "$output" = 0 ]
    tf-cbor seal own.tfs | tf-cbor check
    by_python nbest >nbest.tfs
    sh_t 0 'tf-cbor json nbest.tfs | sed -n 2p'
    expect_output '{"type":"nbest","idx":0,"hyps":[{"ids":[7],"score":-0.5,"logp":-1},{"ids":[],"score":-3,"logp":-1.1,"token_logp":[-1.1]}]}'
    by_python attention >attention.tfs
    sh_t 0 'tf-cbor json attention.tfs | sed -n 2p'
    expect_output '{"type":"attention","idx":0,"kind":"cross","layer":2,"heads":[1,300],"rows":["a","ü"],"columns":[""],"weights":[1,0.5,0.1,0]}'
}

@test "python computes our CRCs" {
    need "$TF_PYTHON"
    by_python crcs "$TOP/formats/vectors/"{tokens,pairs,parts,batch,checkpoint}.cbor
}

# The Python that has zcbor: TF_CDDL_PYTHON, if not TF_PYTHON.
need_zcbor() {
    local p
    for p in "$TF_PYTHON" ${TF_CDDL_PYTHON:+"$TF_CDDL_PYTHON"}; do
        ! "$p" -c 'import zcbor' 2>/dev/null || { TF_PYTHON=$p; return; }
    done
    lacks zcbor "no python with the CDDL validator zcbor (TF_CDDL_PYTHON names one): formats/*.cddl is not validated"
}

@test "a CDDL validator takes every vector, and refuses what is cut or has no label" {
    need_zcbor
    by_python cddl "$TOP/formats/tf.cddl" "${vectors[@]}"
}

@test "a CDDL validator takes the JSON Lines of every vector, and refuses others" {
    need_zcbor
    by_python cddl_lines "$TOP/formats/jsonl.cddl" "${vectors[@]/%.cbor/.jsonl}"
}

@test "the example in jsonl.md is a stream, and its lines are those of tf-cbor" {
    sed -n 's/^    {/{/p' "$TOP/formats/jsonl.md" >lines
    t 0 tf-cbor unjson -o x.tfs lines
    t 0 tf-cbor check x.tfs
    tf-cbor json x.tfs | diff lines -
}

@test "file(1) names every golden file, and what our tools write" {
    need file
    names() { file -m "$TOP/formats/magic" -b "$@"; }
    local v want
    for v in "${vectors[@]}"; do
        case $(basename "$v" .cbor) in
            tokens | tokens-wide | bad | parts | error | ancillary | alignment) want="token stream" ;;
            pairs) want="stream of pairs" ;;
            batch | links) want="batch stream" ;;
            nbest) want="stream of n-best lists" ;;
            scores) want="stream of scores" ;;
            stats) want="stream of statistics" ;;
            attention) want="attention stream" ;;
            model) want=model ;;
            checkpoint) want=checkpoint ;;
            *) want="(add a line to this test)" ;;
        esac
        [ "$(names "$v")" = "tf-tools $want" ] || { echo "$v: $(names "$v")" >&2; return 1; }
        [ "$(names --mime-type "$v")" = application/cbor-seq ]
    done
    tf-batch -q -o x.batches "$TOP/formats/vectors/"{tokens,tokens}.cbor
    [ "$(names x.batches)" = "tf-tools batch stream" ]
    [ "$(names "$TOP/formats/vectors/tokens.jsonl")" != "tf-tools token stream" ]
}

@test "the documents state the limits that the headers define" {
    while IFS='|' read -r what most; do
        [ "$(grep -c "^| $what.* | $most |$" "$TOP/formats/limits.md")" -eq 1 ] ||
            { echo "limits.md does not say: $what, $most" >&2; return 1; }
    done <<'X'
nesting of arrays, maps and tags|8
bytes of a record other than a tensor|64 MiB
bytes between two checks|1 MiB, plus one record
ids in one record, per side|2^20
hypotheses in an n-best record|65536
rows, and columns, of an attention record|65536
values in a header or a state|65536
bytes of a vocabulary|48 MiB
tensors in a file|65536
states in a file|256
bytes of the name of a tensor or state|128
dims of a tensor|8; their product times the element size 2^62
bytes of a tensor|the rest of the file; from a pipe 4 GiB, or `--max-tensor`
bytes of a pad|255
X
    cat >limits.c <<'C'
#include "cbor/scan.h"
#include "stream/model.h"
_Static_assert(TF_MAX_RECORD == 64 << 20 && TF_MAX_IDS == 1 << 20 && TF_MAX_HYPS == 65536 &&
    TF_MAX_TEXTS == 65536 && TF_MAX_VALUES == 65536 && TF_MAX_VOCAB == 48 << 20 &&
    TF_MAX_TENSORS == 65536 && TF_MAX_STATES == 256 && TF_MAX_NAME == 128 && TF_MAX_PAD == 255 &&
    TF_CBOR_DEPTH == 8 && TF_MAX_RANK == 8 &&
    TF_MAX_CHECK == 1 << 20 && TF_MAX_TENSOR == 4294967296ull && TF_MAX_DIMS == 1ull << 62, "formats/limits.md");
C
    need gcc
    gcc -std=c11 -D_GNU_SOURCE -I"$TOP/lib" -fsyntax-only limits.c
}

@test "model.md has every key of a configuration" {
    tf-train --plan --vocab-size 100 |
        sed -n '/^model$/,/^training$/s/^  \([a-z_]*\) .*/\1/p' >keys
    grep -qx source_vocab_size keys
    while read -r key; do
        grep -q "^| .*\`$key\`.* |" "$TOP/formats/model.md" ||
            { echo "model.md lacks $key" >&2; return 1; }
    done <keys
}

@test "tf.cddl and model.md have every setting of a search" {
    sed -n 's/^    {\.key = "\([a-z-]*\)".*/\1/p' "$TOP/lib/stream/search_settings.c" >keys
    sed -n 's/^#define TF_ALIGNMENT_HEAD "\(.*\)"/\1/p' "$TOP/lib/stream/search_settings.h" >>keys
    [ "$(wc -l <keys)" -eq "$(grep -c '^    {\.key = ' "$TOP/lib/stream/search_settings.c")" ]
    sed -n '/^search = {/,/^}/s/^    ? "\([a-z-]*\)":.*/\1/p' "$TOP/formats/tf.cddl" |
        diff <(sort keys) <(sort)
    while read -r key; do
        # shellcheck disable=SC2016 # backticks of Markdown
        sed -n '/^`search` in the header/,/^$/p' "$TOP/formats/model.md" | grep -qF "\`$key\`" ||
            { echo "model.md lacks $key" >&2; return 1; }
    done <keys
}

@test "the stream of ten lines in stream.md is one" {
    need "$TF_PYTHON"
    awk '/in ten lines of Python/ { on = 1 } on && /^    / { print substr($0, 5) }' \
        "$TOP/formats/stream.md" >ten.py
    printf 'a bb\n\nd\n' | "$TF_PYTHON" ten.py >ten.tfs
    tf-cbor check ten.tfs
    sh_t 0 'tf-cbor json ten.tfs | grep -o "ids.*"'
    expect_output $'ids":[101,36,102,102]}\nids":[]}\nids":[104]}'
    tf-batch -q -o ten.batches ten.tfs ten.tfs
    t 0 tf-train --preset tiny --layers 1 --d-model 16 --d-ff 32 --heads 2 --device cpu --steps 1 \
        -o run ten.batches
}

@test "the reader of models in tf-model(5) reads one" {
    need "$TF_PYTHON"
    awk '/^import cbor2, numpy/ { on = 1 } /^\.Ed/ { on = 0 } on' "$TOP/man/tf-model.5" >reader.py
    echo 'print(tensors["p/enc.0.w"].tolist(), tensors["p/scale"].shape, len(tensors))' >>reader.py
    cp "$TOP/formats/vectors/checkpoint.cbor" model.tfm
    t 0 "$TF_PYTHON" reader.py
    expect_output '[[0.5, -1.0, 2.25], [0.0, 0.0010000000474974513, 3.0]] () 5'
}

@test "the writer of streams in tf-stream(5) writes one" {
    need "$TF_PYTHON"
    awk '/^import cbor2, sys/ { on = 1 } /^\.Ed/ { on = 0 } on' "$TOP/man/tf-stream.5" |
        sed 's/\\e/\\/g' >writer.py
    printf 'a bb\n' | "$TF_PYTHON" writer.py >own.tfs
    sh_t 0 'tf-cbor json own.tfs | grep -o "ids.*"'
    expect_output 'ids":[101,36,102,102]}'
}

# What every released format's files contained when they were written: the row T of tests/faults.
@test "old files are read as ever" {
    for d in "$TOP"/tests/golden/files/*/; do
        "$TOP/tests/golden/files/run" "$d" >got
        diff -a "$d/expected" got >&2
    done
}
