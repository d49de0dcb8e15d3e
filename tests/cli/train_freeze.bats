#!/usr/bin/env bats
# tf-train --freeze: what does not change, and what the rest does without it; --settings.
load helper
load train

# look FILE...: compares tensors of models in safetensors, which it has as numbers of 32 bits.
look() {
    local f
    for f in "${@:2}"; do tf-convert "$f" -o "${f%.tfm}.safetensors"; done
    "$TF_PYTHON" - "$@" <<'PY'
import sys
from tensor_file import read
def bytes_of(path):
    return {k: x.tobytes() for k, x in read(path[:-4] + ".safetensors")[1].items()}
frozen = lambda k: any(p in k for p in sys.argv[1].split(","))
start, run = bytes_of(sys.argv[2]), bytes_of(sys.argv[3])
assert len(start) > 10 and any(map(frozen, start)) and not all(map(frozen, start)), list(start)
for k in start:
    assert (start[k] == run[k]) == frozen(k), k
if len(sys.argv) > 4: # after one update, the others are those of a run without --freeze
    other = bytes_of(sys.argv[4])
    assert all(run[k] == other[k] for k in start if not frozen(k))
PY
}

@test "--freeze: parameters are bit for bit those before, the others as without it" {
    args=(--tie none --warmup 0 --seed 3 --init m.tfm)
    train --tie none --steps 1 -o init b.tfs
    tf-avgckpt -n 1 init -o m.tfm
    train "${args[@]}" --steps 1 --log-every 1 -o all b.tfs
    train "${args[@]}" --steps 1 --log-every 1 --freeze 'enc.*,*.norm.?' -o part b.tfs
    cp all/ckpt-00000001.tfm all.tfm
    cp part/ckpt-00000001.tfm part.tfm
    look enc.,.norm. m.tfm part.tfm all.tfm
    # With decay and an average they stay, too, for any threads, stopped and resumed.
    args+=(--steps 9 --save-every 4 --weight-decay 0.1 --ema 0.5 --clip 0.1 --accumulate 2 \
        --freeze 'enc.*,*.norm.?')
    train "${args[@]}" --threads 1 -o whole b.tfs
    train "${args[@]}" --threads 3 -o three b.tfs
    batches n=11 >cut.tfs
    train "${args[@]}" -o cut cut.tfs
    train "${args[@]}" -o cut b.tfs
    same whole/ckpt-00000009.tfm three/ckpt-00000009.tfm
    same whole/ckpt-00000009.tfm cut/ckpt-00000009.tfm
    cp whole/ckpt-00000009.tfm whole.tfm
    look enc.,.norm. m.tfm whole.tfm
    tf-avgckpt --ema whole -o ema.tfm
    look enc.,.norm. m.tfm ema.tfm
    tr_t 1 "${args[@]:0:${#args[@]}-2}" --steps 11 -o whole b.tfs
    expect_error "freeze: 'enc.*,*.norm.?' in the checkpoint, nothing in this run"
}

@test "--freeze: the norms of a part and of the others make that of all" {
    norm() {
        train --steps 1 --log-every 1 "${@:2}" -o "$1" b.tfs
        sed -n 's/.*"event":"step".*"grad_norm":\([^,]*\).*/\1/p' "$1/log.jsonl"
    }
    all=$(norm all)
    # The encoder with its table has no backward pass then; the other way it has.
    a=$(norm a --freeze 'enc.*,embed')
    b=$(norm b --freeze 'dec.*')
    awk -v a="$a" -v b="$b" -v all="$all" 'BEGIN {
        share = (a * a + b * b) / (all * all)
        exit !(a > 0 && b > 0 && share < 1.0001 && share > 0.9999) }'
}

@test "--freeze: what can't be" {
    tr_t 2 --freeze 'enc.embed' --steps 1 -o x b.tfs
    expect_error "--freeze 'enc.embed': no parameter has such a name; the first are embed, "
    tr_t 2 --freeze '*' --steps 1 -o x b.tfs
    expect_error "--freeze '*': nothing is left to train"
    tr_t 2 --freeze "$(printf 'x%.0s' $(seq 300))" --steps 1 -o x b.tfs
    expect_error "--freeze: at most 255 bytes"
}

@test "--freeze on ranks: the bytes of one process" {
    load ranks
    find_mpis
    args=("${small[@]}" -q --steps 4 --vocab-size 9000 --freeze 'embed,dec.0.ff.*' --clip 0.1)
    tf-train "${args[@]}" -o one b.tfs
    mpi_run 4 tf-train "${args[@]}" --threads 1 -o four b.tfs
    same one/ckpt-00000004.tfm four/ckpt-00000004.tfm
}

@test "--settings: a file of options, and those of the command line before it" {
    cat >settings <<'X'
# A small run.
steps = 6
save_every: 3
  log-every 1
pre-norm true
weights-only false

lr_scale=2
X
    train --steps 6 --save-every 3 --log-every 1 --pre-norm --lr-scale 2 -o words b.tfs
    train --settings settings -o run b.tfs
    same words/ckpt-00000006.tfm run/ckpt-00000006.tfm
    sed '1s/^/\xef\xbb\xbfsteps 6\r\n/' settings >marked # as Windows writes it
    train --settings marked -o marks b.tfs
    same words/ckpt-00000006.tfm marks/ckpt-00000006.tfm
    # The log has the options themselves, and the command line decides, wherever it says so.
    words='"--steps=6","--save-every=3","--log-every=1","--pre-norm","--lr-scale=2"'
    grep -q "\"command\":\[\"tf-train\",$words," run/log.jsonl
    train --steps 4 --settings=settings --no-pre-norm -o four b.tfs
    train --steps 4 --save-every 3 --log-every 1 --lr-scale 2 --no-pre-norm -o other b.tfs
    same four/ckpt-00000004.tfm other/ckpt-00000004.tfm
    cat >options <<'X'
valid = b.tfs
valid-command = echo "BLEU = 12" | sed "s/1/3/"; echo $((TF_STEP + 1))
X
    train --settings settings --settings options -o valid b.tfs
    grep -q '"metric":7' valid/log.jsonl
    for line in 'stps 3' 'steps=0' 'save-every' "steps $(printf '\001')" \
        'schedule nix' 'pre_norm no'; do
        printf '# first\n%s\n' "$line" >bad
        tr_t 2 --settings bad -o x b.tfs
        case $line in
        stps*) expect_error "tf-train: --settings: bad: line 2: no option 'stps'" ;;
        steps=0) expect_error "--settings: bad: line 2: --steps 0: too small" ;;
        save-every) expect_error "--settings: bad: line 2: --save-every '': not a number" ;;
        schedule*) expect_error "--settings: bad: line 2: --schedule nix: not one of" ;;
        pre*) expect_error "bad: line 2: --pre-norm 'no': true or false, or no value" ;;
        esac
    done
    # A line without a value takes none from the next, nor does the last from the command line.
    printf 'valid-command =\nsave-every = 3\n' >bad
    train --settings bad --valid b.tfs --steps 3 -o empty b.tfs
    grep -q '"command":\["tf-train","--valid-command=","--save-every=3",' empty/log.jsonl
    echo init >bad
    tr_t 2 --settings bad --steps 3 -o x b.tfs
    expect_error "--settings: bad: line 1: --init '': empty file name"
    echo settings=settings >bad
    tr_t 2 --settings bad -o x b.tfs
    expect_error "--settings: bad: line 1: --settings: only on the command line"
    printf 'steps 3\0\n' >bad
    tr_t 2 --settings bad -o x b.tfs
    expect_error "--settings: bad: line 1: has a NUL byte"
    tr_t 1 --settings none -o x b.tfs
    expect_error "none: No such file or directory"
    tr_t 2 --settings - -o x b.tfs
    expect_error "--settings: -: options come from a file, not from stdin"
    tr_t 2 --settings
    expect_error "--settings needs an argument"
    # The value of another option is none.
    tr_t 2 --freeze --settings=none -o y b.tfs
    expect_error "--freeze '--settings=none': no parameter has such a name"
    [ ! -e x ]
    train --steps 5 --sett settings -o five b.tfs # as a part of any name
    [ -e five/ckpt-00000003.tfm ]
}
