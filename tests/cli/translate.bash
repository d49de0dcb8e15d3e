# make_model, for setup_file: train a model to copy lines of three words (half a second of CPU) and
# write lines to translate.
# shellcheck shell=bash

make_model() {
    cd "$BATS_FILE_TMPDIR" || return 1
    "$TF_PYTHON" - >text <<'PY'
import random
random.seed(3)
for _ in range(400):
    print(" ".join(random.choice("abc") for _ in range(random.randrange(1, 12))))
PY
    tf-tokenize --train --vocab-size 12 --type bpe -o vocab text 2>log || { cat log >&2; return 1; }
    tf-tokenize -m vocab text >text.tfs
    tf-batch -q --tokens 400 --batches 400 text.tfs text.tfs |
        tf-train -q --preset tiny --layers 1 --d-model 32 --d-ff 64 --heads 2 --dropout 0 --warmup \
            100 --device cpu --vocab vocab --steps 400 --save-every 400 -o run || return 1
    sed -n '1,59p' text | sed '7s/.*//' >lines.txt
    tf-tokenize -m vocab lines.txt >lines.tfs
    export MODEL=$BATS_FILE_TMPDIR/run/ckpt-00000400.tfm LINES_TFS=$BATS_FILE_TMPDIR/lines.tfs \
        LINES_TXT=$BATS_FILE_TMPDIR/lines.txt LINES=59
}
