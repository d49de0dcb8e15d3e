#!/usr/bin/env bats
# tf-train: --init, and the vocabulary that a run stores.
load helper
load train

@test "provenance after --init: the dialect is the model's, and there is no preset" {
    train --as t2t --steps 1 -o first b.tfs
    tf-train -q --device cpu --init first/ckpt-00000001.tfm --steps 2 --seed 2 -o run b.tfs
    tf-cbor json run/ckpt-00000002.tfm | sed -n 1p >header.json
    "$TF_PYTHON" - <<'PY'
import json
stages = json.loads(open("header.json").read())["header"]["made"]
opts = [s["opts"] for s in stages if s["prog"] == "tf-train"]
assert opts[-1]["as"] == "t2t" and "preset" not in opts[-1], opts[-1]
PY
}

@test "no vocabulary to store: a new run warns, once" {
    echo a >va
    batches vocab=va n=40 >named.tfs
    warning="tf-train: warning: no --vocab: the model will carry no vocabulary"
    tr_t 0 --steps 2 -q -o none named.tfs
    expect_error "$warning"
    tr_t 0 --steps 4 -q -o none named.tfs
    run -1 grep -q -e --vocab <<<"$stderr"
    tr_t 0 --steps 2 -q --vocab va -o carried named.tfs
    [ -z "$stderr" ]
    t 0 tf-train --device cpu --steps 2 -q --init carried/ckpt-00000002.tfm -o init named.tfs
    [ -z "$stderr" ]
    t 0 tf-train --device cpu --steps 2 -q --init none/ckpt-00000004.tfm -o init2 named.tfs
    expect_error "$warning"
}

@test "--init with a model in 8 bits is refused with the remedy" {
    train --steps 1 -o one b.tfs
    tf-convert --to tfm --dtype i8 one/ckpt-00000001.tfm -o i8.tfm
    t 1 tf-train -q --device cpu --init i8.tfm --steps 1 -o run b.tfs
    expect_error "i8.tfm: parameters in 8 bits: training needs those that they were made from (tf-convert --to tfm --dtype f32 makes f32 of these)"
    tf-convert --to tfm --dtype f32 i8.tfm -o f32.tfm
    t 0 tf-train -q --device cpu --init f32.tfm --steps 1 -o run b.tfs
}

@test "sources with ids of their own need a model that has them" {
    own() { tf-cbor json b.tfs | sed '1s/"size":64/&,"source_size":'"$1/" | tf-cbor unjson -o "$2"; }
    own 64 own.tfs
    tr_t 1 --steps 1 -o run own.tfs
    expect_error "the sources of the batches have ids of their own, the model has one vocabulary"
    tr_t 1 --steps 1 --valid own.tfs -o run b.tfs
    expect_error "own.tfs: the sources of the batches have ids of their own"
    sh_t 1 'tf-cbor json own.tfs | sed "1s/64/63/" | tf-cbor unjson >wider.tfs'
    expect_error "source_size: 64: too large, maximum 63"
    # A new one, with a matrix for each side.
    own 63 fewer.tfs
    train --steps 2 --tie none -o two own.tfs
    train --steps 2 --tie none -o two own.tfs
    tf-info two/ckpt-00000002.tfm | grep -Eq '^  source_vocab_size +64$'
    tr_t 1 --steps 3 --tie none -o two fewer.tfs
    expect_error "source_vocab_size: 64 in the checkpoint, 63 in this run"
    # Its targets may have fewer ids.
    tf-cbor json own.tfs | sed '1s/64/90/g' | tf-cbor unjson -o more.tfs
    train --steps 1 --tie none --vocab-size 64 -o more more.tfs
    tf-info more/ckpt-00000001.tfm | grep -Eq '^  source_vocab_size +90$'
    tf-info more/ckpt-00000001.tfm | grep -Eq '^  vocab_size +64$'
    train --steps 2 --tie none --vocab-size 64 -o more more.tfs
    tr_t 2 --steps 1 --tie none --vocab-size 63 -o run b.tfs
    expect_error "--vocab-size 63: the stream's vocabulary has 64"
    tr_t 1 --steps 2 --tie all -o two own.tfs
    expect_error "tie: 'none' in the checkpoint, 'all' in this run"
    # One that has 63 for sources.
    train --steps 1 --tie none -o run b.tfs
    tf-convert --to npz run/ckpt-00000001.tfm -o m.npz
    "$TF_PYTHON" - <<'PY'
import json
import numpy as np
z = dict(np.load("m.npz"))
c = {**json.loads(z["config"].tobytes()), "source_vocab_size": 63}
z["config"] = np.frombuffer(json.dumps(c).encode(), "u1")
z["enc.embed"] = z["enc.embed"][:63]
np.savez("m.npz", **z)
PY
    tf-convert m.npz -o m.tfm
    tr_t 1 --steps 1 --tie none --init m.tfm -o tuned own.tfs
    expect_error "the sources of the batches have 64 ids, those of the model 63"
}

@test "--init begins with the weights of a model" {
    train --steps 10 -o one b.tfs
    train --steps 1 --init one/ckpt-00000010.tfm --schedule constant --lr 0 --warmup 0 -o two b.tfs
    "$TF_PYTHON" - <<'PY'
import json, subprocess
def tensors(path):
    info = json.loads(subprocess.check_output(["tf-info", "--json", path]))
    return info, {t["name"]: t["crc32c"] for t in info["tensors"] if t["name"].startswith("p/")}
a, ta = tensors("one/ckpt-00000010.tfm")
b, tb = tensors("two/ckpt-00000001.tfm")
assert ta == tb
assert b["made"][-1]["in"]["init"] == a["model"]
PY
    batches n=10 bos=-1 >nobos.tfs # special ids are those of the stream, which --plan has not
    train --steps 1 -o nobos nobos.tfs
    tr_t 0 --plan --init nobos/ckpt-00000001.tfm
    tr_t 1 --init one/ckpt-00000010.tfm --d-ff 64 -o three b.tfs
    expect_error "one/ckpt-00000010.tfm: d_ff: 32 in the model, 64 in this run (the weights have other shapes)"
    # A run that is under way has weights of its own.
    train --steps 2 --init one/ckpt-00000010.tfm -o whole b.tfs
    train --steps 1 --init one/ckpt-00000010.tfm -o run b.tfs
    train --steps 3 -o other b.tfs
    for more in "" --force; do
        # shellcheck disable=SC2086
        tr_t 1 --steps 2 $more --init other/ckpt-00000003.tfm -o run b.tfs
        expect_error "run/ckpt-00000001.tfm: started from another model than other/ckpt-00000003.tfm (repeat the command with that model)"
    done
    cp -r run run2
    train --steps 2 -o run b.tfs
    train --steps 2 --init one/ckpt-00000010.tfm -o run2 b.tfs
    same whole/ckpt-00000002.tfm run/ckpt-00000002.tfm
    same whole/ckpt-00000002.tfm run2/ckpt-00000002.tfm
    tr_t 0 --steps 11 --init two/ckpt-00000001.tfm -o one b.tfs
    expect_contains "$stderr" \
        "tf-train: two/ckpt-00000001.tfm: ignored: the run resumes with its own weights"
}

# init OPTIONS: one step from the model `one`, with nothing but these options.
init() {
    tf-train -q --device cpu --init one/ckpt-00000004.tfm "$@"
}

@test "--init: architecture and vocabulary are the model's, with no other option" {
    printf a >va
    batches vocab=va >v.tfs
    train --as t2t --positions learned --max-positions 20 --norm-eps 1e-5 --steps 4 --vocab va \
        -o one v.tfs
    init --steps 2 -o two v.tfs
    "$TF_PYTHON" - <<'PY'
import json, subprocess
def info(path):
    return json.loads(subprocess.check_output(["tf-info", "--json", path]))
a, b = info("one/ckpt-00000004.tfm"), info("two/ckpt-00000002.tfm")
for key in "config", "special", "vocab", "vocab_bytes", "vocab_size":
    assert a[key] == b[key], key
assert b["vocab_bytes"] == 1
assert b["settings"]["schedule"] == "constant" and b["settings"]["warmup"] == 100
assert abs(b["settings"]["lr"] - (16 * 100000) ** -0.5) < 1e-12
with open("two/log.jsonl") as log:
    assert json.loads(log.readline())["save_every"] == 100
PY
    # A preset gives the recipe, and may repeat the model.
    t 0 tf-train -q "${small[@]}" --as t2t --positions learned --max-positions 20 --norm-eps 1e-5 \
        --init one/ckpt-00000004.tfm --steps 1 -o preset v.tfs
    t 0 tf-train --init one/ckpt-00000004.tfm --plan
    expect_contains "$output" "learned positions"
    # What only training uses is free.
    init --dropout 0.3 --attention-dropout 0.2 --relu-dropout 0.1 --label-smoothing 0 \
        --smoothing V --seed 2 --schedule inverse-sqrt --lr 0.001 --warmup 3 --steps 1 -o free v.tfs
    # A stream that names no vocabulary has that of the model, here from a pipe.
    batches size=0 >unnamed.tfs
    init --init <(cat one/ckpt-00000004.tfm) --steps 1 -o unnamed unnamed.tfs
    [ "$(tf-info --json unnamed/ckpt-00000001.tfm | "$TF_PYTHON" -c \
        'import json, sys; print(json.load(sys.stdin)["vocab"])')" = "$(sum va)" ]
    # Resumed, it makes the bytes of an uninterrupted run.
    init --steps 1 -o part v.tfs
    t 1 tf-train -q --device cpu --steps 2 -o part v.tfs
    expect_error "tf-train: part/ckpt-00000001.tfm: "
    expect_contains "$stderr" " (it started from a model: repeat its --init; "
    init --steps 2 -o part v.tfs
    same two/ckpt-00000002.tfm part/ckpt-00000002.tfm
}

@test "--init: a contradicting option is refused by field, and --force suggested where it helps" {
    train --steps 4 -o one b.tfs
    local row option field force="--force continues with the new value" \
        shapes="the weights have other shapes"
    while IFS=: read -r option field model run row; do
        # shellcheck disable=SC2086
        t 1 tf-train --device cpu --init one/ckpt-00000004.tfm $option --steps 1 -o two b.tfs
        expect_error "tf-train: one/ckpt-00000004.tfm: "
        expect_contains "$stderr" "$field: $model in the model, $run in this run"
        expect_contains "$stderr" " (${!row})"
    done <<'END'
--heads 4:heads:2:4:force
--d-k 4 --d-v 4:d_k:8:4:shapes
--start zero:start:'bos':'zero':force
--norm-eps 0.1:norm_eps:1e-06:0.1:force
--attention-window 1:attention_window:0:1:force
--as t2t:dialect:'paper':'t2t':force
--pre-norm:pre_norm:false:true:shapes
--attention-bias:attention_bias:false:true:shapes
--decoder-norms before:decoder_norms:'same':'before':force
--embedding-norm:embedding_norm:false:true:shapes
--unscaled-embeddings:unscaled_embeddings:false:true:force
--d-ff 64:d_ff:32:64:shapes
--layers 2:encoder_layers:1:2:shapes
--vocab-size 100:vocab_size:64:100:shapes
--tie none:tie:'all':'none':shapes
--positions learned:positions:'sin':'learned':shapes
--preset base:encoder_layers:1:6:shapes
--start zero --d-ff 64:d_ff:32:64:shapes
END
    t 1 tf-train --init one/ckpt-00000004.tfm --heads 4 --plan
    expect_error "heads: 2 in the model, 4 in this run"
    batches bos=5 >other.tfs
    t 1 tf-train --device cpu --init one/ckpt-00000004.tfm --steps 1 -o two other.tfs
    expect_error "bos: 2 in the model, 5 in this run (--force"
    [ ! -e two/ckpt-00000001.tfm ]
    t 0 tf-train --device cpu --init one/ckpt-00000004.tfm --heads 4 --start zero --force \
        --steps 1 -o two b.tfs
    expect_contains "$stderr" "heads: 2 in the model, 4 in this run; continuing with the new value"
    expect_contains "$stderr" "start: 'bos' in the model, 'zero' in this run; continuing"
    t 1 tf-train --device cpu --init one/ckpt-00000004.tfm --d-ff 64 --force -o three b.tfs
    expect_error "d_ff: 32 in the model, 64 in this run (the weights have other shapes)"
}

@test "--init: a missing model, another vocabulary and a larger one are refused" {
    printf a >va
    printf b >vb
    batches vocab=va >v.tfs
    train --steps 1 --vocab va -o one v.tfs
    m=one/ckpt-00000001.tfm
    t 1 tf-train --device cpu --init none.tfm --steps 1 -o two v.tfs
    expect_error "tf-train: none.tfm: No such file or directory"
    batches vocab=vb >w.tfs
    t 1 tf-train --device cpu --init $m --steps 1 -o two w.tfs
    expect_error "tf-train: $m: vocabulary $(short va) differs from the stream: $(short vb)"
    batches size=65 >larger.tfs
    t 1 tf-train --device cpu --init $m --steps 1 -o two larger.tfs
    expect_error "tf-train: $m: vocabulary of 64, the stream's has 65"
    t 1 tf-train --device cpu --init $m --steps 1 -o two none.tfs
    expect_error "tf-train: none.tfs: No such file or directory"
    [ ! -e two ] || [ -z "$(ls two/*.tfm 2>/dev/null)" ]
    # Parts of one stream, and the validation data, have its vocabulary.
    cat v.tfs w.tfs >parts.tfs
    tr_t 1 --steps 100 --vocab va -o parts parts.tfs
    expect_contains "$stderr" "parts.tfs: part 1: vocabulary "
    tr_t 1 --steps 4 --vocab va --valid w.tfs --valid-every 1 -o valid v.tfs
    expect_contains "$stderr" "w.tfs: vocabulary "
}

@test "no vocabulary is lost: --vocab takes a model, and models without one gain it" {
    seq 300 >text
    tf-tokenize --train --vocab-size 20 -o vocab text 2>/dev/null
    tf-tokenize --train --vocab-size 18 -o fewer text 2>/dev/null
    batches vocab=vocab >v.tfs
    batches >n.tfs
    carried() { tf-info --json "$1" | grep -q "\"vocab_bytes\":$(stat -c %s vocab),"; }
    train --steps 2 --vocab vocab -o one v.tfs
    # a model as --vocab, also through a pipe
    train --steps 2 --vocab one/ckpt-00000002.tfm -o two v.tfs
    same one/ckpt-00000002.tfm two/ckpt-00000002.tfm
    train --steps 2 --vocab <(cat one/ckpt-00000002.tfm) -o three v.tfs
    same one/ckpt-00000002.tfm three/ckpt-00000002.tfm
    # with its segmenter of targets
    tf-convert --to npz one/ckpt-00000002.tfm -o one.npz
    "$TF_PYTHON" -c 'import numpy as np; w = dict(np.load("one.npz"))
np.savez("both.npz", vocab_target=np.frombuffer(open("fewer", "rb").read(), "u1"), **w)'
    tf-convert both.npz -o both.tfm
    train --steps 2 --vocab <(cat both.tfm) -o both v.tfs
    cmp <(tf-tokenize --pieces --target -m both/ckpt-00000002.tfm text) \
        <(tf-tokenize --pieces -m fewer text)
    # a model that only names its vocabulary, or has none, with --vocab
    train --steps 2 -o named v.tfs
    train --steps 2 -o none n.tfs
    t 1 tf-train --device cpu --vocab named/ckpt-00000002.tfm -o x v.tfs
    expect_error "named/ckpt-00000002.tfm: carries no vocabulary"
    for m in named none; do
        tf-train -q --device cpu --init $m/ckpt-00000002.tfm --vocab vocab --steps 1 \
            -o from-$m n.tfs
        carried from-$m/ckpt-00000001.tfm
    done
    t 1 tf-train --device cpu --init named/ckpt-00000002.tfm --vocab fewer -o y n.tfs
    expect_error "fewer: vocabulary $(short fewer) differs from that of"
    seq 3000 99 99999 | tr 0-9 a-j >letters
    tf-tokenize --train --vocab-size 90 -o more letters 2>/dev/null
    t 1 tf-train --device cpu --init none/ckpt-00000002.tfm --vocab more -o y n.tfs
    expect_error "more: a vocabulary of 90 pieces for a model of 64"
    # an average has it if one of the models does
    tf-avgckpt named/ckpt-00000002.tfm one/ckpt-00000002.tfm -o mean.tfm
    carried mean.tfm
    tf-convert one/ckpt-00000002.tfm -o m.safetensors
    tf-convert m.safetensors -o back.tfm
    carried back.tfm
    tf-tokenize -m back.tfm <<<"1 2 3" >out.tfs
}

@test "a run without --init has the stream's <s>, also where that ends sentences" {
    batches bos=3 >eos.tfs
    train -q --steps 4 -o run eos.tfs
    tr_t 1 --steps 8 -o run b.tfs
    expect_error "bos: 3 in the checkpoint, 2 in this run"
    # With --init the id is the model's.
    train -q --init run/ckpt-00000004.tfm --steps 4 -o tuned b.tfs
    tr_t 0 -q --init run/ckpt-00000004.tfm --steps 8 -o tuned b.tfs
}

# shellcheck disable=SC2154
@test "a run whose best model is that of --init reports it by what it is" {
    natively
    batches n=300 >long.tfs
    batches n=5 seed=9 >v.tfs
    train -q --steps 300 --lr 0.01 --schedule constant -o one long.tfs
    from=(--init one/ckpt-00000300.tfm --valid v.tfs)
    tr_t 0 "${from[@]}" --valid-every 3 --steps 12 --valid-command 'echo -$TF_STEP' -o run b.tfs
    [[ $stderr != *overfits* ]]
    expect_contains "$stderr" "no validation was better than that before the first update"
    tr_t 0 "${from[@]}" --schedule constant --lr 0.3 --warmup 0 --valid-every 100 --steps 200 -o lost \
        long.tfs
    warning=$(grep 'has collapsed' <<<"$stderr")
    expect_contains "$warning" "; lost/best.tfm is the model that the run began with; "
}

@test "a model without a fingerprint in its header, as one that was edited: its readers compute it" {
    train --steps 2 --save-every 1 -o one b.tfs
    tf-avgckpt -q one -o whole.tfm
    tf-cbor json whole.tfm | sed -E '1s/"model":"[0-9a-f]{64}",//' | tf-cbor unjson -o bare.tfm
    run -1 cmp -s whole.tfm bare.tfm
    print=$(tf-info --json whole.tfm | jq -r .model)
    [ "$(tf-info --json bare.tfm | jq -r .model)" = "$print" ]
    tf-score -q -m bare.tfm b.tfs >scores.tfs
    [ "$(tf-info --json scores.tfs | jq -r '.model, .made[-1].in.model')" = "$print"$'\n'"$print" ]
    tf-avgckpt -q bare.tfm whole.tfm >mean.tfm
    [ "$(tf-info --json mean.tfm | jq -r '.made[-1].in["1"]')" = "$print" ]
    train --steps 1 --init bare.tfm -o run b.tfs
    tr_t 1 --steps 2 --init one/ckpt-00000001.tfm -o run b.tfs
    expect_error "run/ckpt-00000001.tfm: started from another model than one/ckpt-00000001.tfm"
    train --steps 2 --init whole.tfm -o run b.tfs
}
