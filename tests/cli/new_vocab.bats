#!/usr/bin/env bats
# tf-convert --new-vocab: a trained model with another vocabulary.
load helper
load train

prepare() {
    need "$TF_PYTHON"
    awk -f "$TOP/examples/demo/numbers" -v n=200 -v seed=3 >pairs
    cut -f 1 pairs >en
    cut -f 2 pairs >de
    tf-tokenize --train --vocab-size 90 -o old.model en de 2>/dev/null
    tf-tokenize --train --vocab-size 70 --symbol '<new>' -o new.model de 2>/dev/null
    for l in en de; do tf-tokenize -m old.model $l >$l.tfs; done
    tf-batch -q --tokens 300 --epochs 2 en.tfs de.tfs >b.tfs
}

# rows OLD.tfm NEW.tfm: what is in the rows of both, by the texts of their pieces.
rows() {
    local m
    for m in "$@"; do
        tf-convert "$m" -o "$m.safetensors"
        tf-tokenize --export-vocab -m "$m" | cut -f 1 >"$m.pieces"
    done
    "$TF_PYTHON" - "$@" <<'PY'
import sys
import numpy as np
import tensor_file
def read(path):
    pieces = open(path + ".pieces", encoding="utf-8").read().splitlines()
    tensors = tensor_file.read(path + ".safetensors")[1]
    return pieces, {k: x for k, x in tensors.items() if x.dtype == np.float32}
(old, a), (new, b) = read(sys.argv[1]), read(sys.argv[2])
assert a.keys() == b.keys()
tables = kept = fresh = 0
for k, x in a.items():
    if k not in ("embed", "enc.embed", "dec.embed", "dec.project", "dec.project.b"):
        assert np.array_equal(b[k], x), k
        continue
    tables += 1
    assert b[k].shape == (len(new), *x.shape[1:]), (k, b[k].shape)
    squares = 0
    for row, piece in zip(b[k], new):
        if piece in old:
            assert np.array_equal(row, x[old.index(piece)]), (k, piece)
            kept += 1
        elif x.ndim > 1:
            squares += (row.astype(float) ** 2).sum()
            fresh += row.size
        else:
            assert row == 0, (k, piece)
    # Normal, of variance 1 / width.
    if x.ndim > 1 and fresh:
        assert 0.7 < squares / sum(p not in old for p in new) < 1.3, (k, squares)
print(tables, kept // tables, len(new))
PY
}

@test "rows of equal pieces are kept, others are as in a new model, all else is the same" {
    for more in "--tie all" "--tie none --output-bias"; do
        rm -rf run
        # shellcheck disable=SC2086
        train $more -q --steps 5 --vocab old.model -o run b.tfs
        cp run/ckpt-00000005.tfm m.tfm
        t 0 tf-convert --new-vocab new.model m.tfm -o n.tfm
        expect_contains "$stderr" "new.model: 70 pieces, of which "
        rows m.tfm n.tfm >counts
        read -r tables kept size <counts
        [ "$tables $size" = "$([[ $more == *none* ]] && echo 4 || echo 1) 70" ]
        expect_contains "$stderr" ", of which $kept are also among the model's 90"
        [ "$kept" -gt 20 ] && [ "$kept" -lt 70 ]
    done
    # Its own vocabulary changes nothing.
    t 0 tf-convert --new-vocab m.tfm m.tfm -o same.tfm
    [ "$(rows m.tfm same.tfm)" = "4 90 90" ]
    t 0 tf-convert --new-vocab new.model --dtype f16 m.tfm -o half.tfm
    t 0 tf-convert --new-vocab new.model --to safetensors m.tfm -o n.safetensors
    # It is trained further, and translates.
    for l in en de; do tf-tokenize -m n.tfm $l >new.$l.tfs; done
    tf-batch -q --tokens 300 new.en.tfs new.de.tfs | tf-train -q --init n.tfm --steps 2 -o tuned
    head -n 2 en | tf-tokenize -m n.tfm | tf-decode -q -m tuned/ckpt-00000002.tfm --max-extra 2 |
        tf-tokenize -d -m n.tfm >out
    [ "$(wc -l <out)" -eq 2 ]
}

@test "a new vocabulary that can't be" {
    train -q --steps 1 --vocab old.model -o run b.tfs
    cp run/ckpt-00000001.tfm m.tfm
    t 1 tf-convert --new-vocab en m.tfm -o x
    expect_error "en: text, not a vocabulary: not a SentencePiece model"
    tf-convert --to tfm --dtype i8 m.tfm -o i8.tfm
    t 1 tf-convert --new-vocab new.model i8.tfm -o x
    expect_error "--new-vocab: not for a model in 8 bits"
    tf-convert m.tfm -o m.safetensors
    t 2 tf-convert --new-vocab new.model m.safetensors -o x
    expect_error "--new-vocab: the model is to be one of tf-tools"
    t 2 tf-convert --new-vocab new.model --vocab old.model m.tfm -o x
    expect_error "--vocab"
    rm -r run
    train -q --steps 1 -o run b.tfs 2>/dev/null
    t 1 tf-convert --new-vocab new.model run/ckpt-00000001.tfm -o x
    expect_error "--new-vocab: only for a model with one vocabulary, which it carries"
    [ ! -e x ]
}
