#!/usr/bin/env bats
# tf-info: what it reports about files and the machine.
load helper

prepare() {
    need "$TF_PYTHON"
    printf 'pieces' >vocab
    "$TF_PYTHON" "$TOP/tests/cli/batches.py" n=10 vocab=vocab >b.tfs
    tf-train --preset tiny --layers 1 --d-model 16 --d-ff 32 --heads 2 --dropout 0.2 --device cpu \
        --steps 7 --vocab vocab -o run b.tfs
    ckpt=run/ckpt-00000007.tfm
}

@test "a checkpoint as text" {
    t 0 tf-info $ckpt
    expect_contains "$output" $'\nkind                 checkpoint'
    expect_contains "$output" $'\nstep                 7'
    expect_contains "$output" $'\nvocab_bytes          6'
    expect_contains "$output" "$(sha256sum <vocab | cut -c1-64)"
    expect_contains "$output" $'\n  d_model            16'
    expect_contains "$output" $'\n  dropout            0.2'
    [[ $output =~ p/embed\ +f32\ +64\ x\ 16\ +1024 ]]
    [[ $output =~ "m/* "[0-9]+" first moments" ]]
    expect_contains "$output" "tf-train --"
    expect_contains "$output" " --dropout 0.2"
    # Counts are those of the plan.
    plan=$(tf-train --plan --preset tiny --layers 1 --d-model 16 --d-ff 32 --heads 2 --vocab-size \
        64 | awk '$1 == "total" { print $2; exit }')
    [[ $output =~ parameters\ +$plan$'\n' ]]
    sum=$(awk '$1 ~ /^p\// { n += $(NF - 1) } END { print n }' <<<"$output")
    [ "$sum" = "$plan" ]
}

@test "JSON, from files and pipes, several at a time" {
    sh_t 0 "cat $ckpt | tf-info --json $ckpt - b.tfs"
    [ "${#lines[@]}" -eq 3 ]
    printf '%s\n' "${lines[@]}" >lines
    "$TF_PYTHON" - <<'PY'
import json
a, b, c = map(json.loads, open("lines"))
assert a.pop("file") == "run/ckpt-00000007.tfm" and b.pop("file") == "stdin"
assert a == b
assert a["config"]["d_ff"] == 32 and a["config"]["dropout"] == 0.2 and a["step"] == 7
assert a["parameters"] == sum(t["elements"] for t in a["tensors"] if t["name"].startswith("p/"))
assert c["kind"] == "batch" and c["config"] == {"tokens": 25} and c["vocab"] == a["vocab"]
PY
}

@test "a vocabulary, by the hash that streams and models have" {
    seq 300 >text
    tf-tokenize --train --vocab-size 40 -o ende.model text
    t 0 tf-info ende.model
    hash=$(sha256sum <ende.model | cut -d ' ' -f 1)
    expect_output "$(printf '%-20s %s\n' file ende.model kind vocabulary vocab "$hash" \
        vocab_bytes "$(stat -c %s ende.model)")"
    tf-tokenize -m ende.model -o text.tfs text
    sh_t 0 'cat ende.model | tf-info --json - text.tfs | jq -r .vocab | uniq'
    expect_output "$hash"
    expect_contains "$(tf-info text.tfs)" "$hash"
}

@test "a file that cannot be read does not hide the others" {
    echo text >text
    sh_t 1 "tf-info none $ckpt text b.tfs 2>errors"
    [ "$(grep -c '^file ' <<<"$output")" -eq 2 ]
    [ -n "${lines[0]}" ]
    [ "$(grep -c '^tf-info: ' errors)" -eq 2 ]
    grep -q '^tf-info: none: No such file' errors
    grep -q '^tf-info: text: ' errors
    t 0 tf-info $ckpt b.tfs
    sh_t 1 "tf-info $ckpt none b.tfs 2>/dev/null | cmp - <(tf-info $ckpt b.tfs)"
    sh_t 1 "tf-info --json none b.tfs | jq -r .kind"
    expect_output batch
    sh_t 1 "tf-info none b.tfs >/dev/full"
    expect_contains "$stderr" "No space left"
}

@test "the pipeline is shell that can be read again" {
    "$TF_PYTHON" - <<'PY' >odd.tfs
import sys, cbor2
put = lambda x: sys.stdout.buffer.write(cbor2.dumps(x))
put(cbor2.CBORTag(55800, cbor2.CBORTag(1413894996, b"BOR")))
put([0, {"v": 1, "kind": "tokens", "made": [{"prog": "my tool", "version": "1", "opts": {"x": "a'b $c", "flag": True, "off": False, "n": 3, "list": ["p", "q r"]}},
                                            {"prog": "tf-next", "in": {"source": b"\x01" * 32}, "precision": "int8", "prefix": True}]}])
put([15, 0, None])
PY
    t 0 tf-info odd.tfs
    sed -n '/^made by$/,$p' <<<"$output" | tail -n +2 >made.sh
    bash -n made.sh
    printf '%s\n' "'my tool' --n 3 --x 'a'\\''b \$c' --no-off --flag --list p --list 'q r' \\" \
        "  | tf-next --precision int8" >want
    diff <(sed -n 1,2p made.sh | sed 's/^  //;2s/^/  /') want
    expect_contains "$output" "0101010101010101010101010101010101010101010101010101010101010101"
    [[ $output =~ "  #   prefix "\ +true ]]
    t 0 tf-train --preset tiny --layers 1 --d-model 16 --d-ff 32 --heads 2 --as t2t \
        --no-attention-bias --no-eps-hat --device cpu --steps 1 -o t2t b.tfs
    t 0 tf-info t2t/ckpt-00000001.tfm
    expect_contains "$output" " --no-eps-hat "
    expect_contains "$output" " --no-attention-bias"
}

@test "values that are not finite are reported, and the model is described" {
    V=$BATS_TEST_DIRNAME/../../formats/vectors
    tf-cbor json "$V/model.cbor" | sed 's/2\.25/"nan"/; /header/s/"model":"[0-9a-f]*",//' |
        tf-cbor unjson >nan.tfm
    t 0 tf-info nan.tfm
    expect_contains "$output" $'\nkind                 model'
    expect_error "tf-info: warning: nan.tfm: tensor p/enc.0.w: contains values that are not finite"
}

@test "keys of strangers: printed safely, apart from our own, and no way to crash" {
    need "$TF_PYTHON"
    "$TF_PYTHON" - <<'PY'
import cbor2
label = cbor2.CBORTag(55800, cbor2.CBORTag(1413894996, b"BOR"))
def write(path, *records):
    with open(path, "wb") as f:
        for x in (label,) + records:
            cbor2.dump(x, f)
for i, x in enumerate([[1], "hello", {"a": 1}, None, [[{"name": 1}]]]):
    write(f"odd{i}.tfs", [0, {"v": 1, "kind": "tokens", "tensors": x, "parameters": 7, "file": "elsewhere"}], [15, 0, None])
write("keys.tfs", [0, {"v": 1, "kind": "tokens", "x\x1b[2J\u009b": 1, "map\x07": {"k\x1b": 2},
                       "made": [{"prog": "p", "opts": {"a; touch PWNED #": 1, "b\n": True}, "in": {"role\n  rm -rf": b"\1" * 32}}, 3, "x"]}], [15, 0, None])
write("liar.tfm", [0, {"v": 1, "kind": "checkpoint", "config": {"d": 1}}], [7, "kind", "model", None], [7, "model", b"\xee" * 32, None],
      [7, "made", [{"prog": "rm"}], None], [7, "tensors", "none", None], [7, "step", 5, None], [15, 5, None])
write("both.tfm", [0, {"v": 1, "kind": "model", "step": 7, "langs": ["en", "de"]}], [7, "step", 5, None], [15, 1, None])
PY
    for f in odd*.tfs; do
        t 0 tf-info $f
        [ "${lines[0]}" = "file                 $f" ]
        expect_contains "$output" $'\nheader\n'
        sh_t 0 "tf-info --json $f"
        [[ $output == *'"header":{'* && $output == *'"parameters":7'* ]]
    done
    t 0 tf-info keys.tfs
    [ -z "$(LC_ALL=C tr -dc '\001-\011\013-\037\177\233' <<<"$output")" ]
    expect_contains "$output" '\x1b[2J\xc2\x9b'
    sed -n '/^made by$/,$p' <<<"$output" | tail -n +2 >made.sh
    bash -n made.sh
    expect_contains "$(<made.sh)" "  p '--b\\x0a' '--a; touch PWNED #' 1 "
    [ -z "$(grep -v '^  #' made.sh | grep 'rm -rf')" ]
    t 0 tf-info liar.tfm
    expect_contains "$output" $'\nkind                 checkpoint'
    expect_contains "$output" $'\nstep                 5'
    expect_contains "$output" $'\nstate\n  kind               model\n'
    [[ $output =~ $'\nmodel  '\ *([0-9a-f]{64}) && $output != *"made by"* ]]
    [ "${BASH_REMATCH[1]}" != "$(printf 'ee%.0s' {1..32})" ] # it is computed
    t 0 tf-info both.tfm
    expect_contains "$output" $'\nlangs                2 items\n'
    expect_contains "$output" $'\nstep                 5\n'
    expect_contains "$output" $'\nheader\n  step               7\n'
}

@test "this machine" {
    t 0 tf-info --devices
    expect_contains "$output" "version              $(tf-info --version | sed 's/.* //')"
    [[ $output =~ threads\ +[0-9]+ ]]
    [[ $output =~ libcbor\ +[0-9]+\.[0-9]+\.[0-9]+ ]]
    [[ $output =~ "  cpu  "[[:space:]]+[^[:space:]] ]]
    [[ $output =~ "  cuda "[[:space:]]+[^[:space:]] ]]
    t 0 tf-info --devices --json
    "$TF_PYTHON" -c 'import json, sys; x = json.loads(sys.argv[1]); assert set(x["backends"]) == {"cpu", "cuda", "ref", "ref64"} and x["threads"] >= 1' "$output"
}

@test "a plugin is not searched where a path or another user says so" {
    mkdir -p tests/unit bin named
    echo 'not a plugin' | tee bin/tf-backend-cuda.so >named/tf-backend-cuda.so
    cp "$TF_BUILD/bin/tf-info" tests/unit/
    local -a emulator=(${TF_EMULATOR:+"$TF_EMULATOR" -L "$TF_BUILD/sysroot"})
    t 0 "${emulator[@]}" tests/unit/tf-info --devices
    [[ $output != *"$T"* ]]
    # Without NVIDIA's driver the plugin is not even loaded: it would report a driver that is too old.
    cp "$TF_BUILD/bin/tf-info" bin/
    t 0 "${emulator[@]}" bin/tf-info --devices
    if [ -z "${TF_EMULATOR:-}" ] &&
        "$TF_PYTHON" -c 'import ctypes; ctypes.CDLL("libcuda.so.1")' 2>/dev/null; then
        expect_contains "$output" "$T/bin/tf-backend-cuda.so"
    else
        expect_contains "$output" "not usable: cuda: no NVIDIA driver (libcuda.so.1)"
    fi
    export TF_BACKEND_DIR=$T/named
    t 0 "${emulator[@]}" tests/unit/tf-info --devices
    expect_contains "$output" "$T/named/tf-backend-cuda.so"
    [ "$(id -u)" -eq 0 ] || skip "needs root to make a program that runs as another user"
    [ -z "${TF_EMULATOR:-}" ] || skip "QEMU is no setuid program"
    [ -z "${TF_SAN:-}" ] || skip "the leak check cannot look into a program of another user"
    chown 65534 tests/unit/tf-info
    chmod 4755 tests/unit/tf-info
    chmod 755 "$T"
    t 0 tests/unit/tf-info --devices
    [[ $output != *"$T"* ]]
}

@test "what is no such file" {
    t 1 tf-info nowhere
    expect_error "tf-info: nowhere: No such file or directory"
    echo text >x
    t 1 tf-info x
    expect_error "x: text, not a stream of tf-tools"
    : >x
    t 1 tf-info x
    expect_error "x: truncated: no stream"
    head -c 9000 $ckpt >x
    t 1 tf-info x
    expect_error "x: truncated"
    t 2 tf-info
    expect_error "no file given"
    t 2 tf-info --devices x
    t 2 tf-info - -
}
