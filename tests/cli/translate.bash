# For setup_file: a model that copies lines of three words, and lines to translate.
# shellcheck shell=bash

# In the current directory. Half a second of CPU; with AddressSanitizer eight.
train_model() {
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
}

# Trained again only if a tool or this file is newer than the last one of this build.
make_model() {
    local made=${TF_BUILD:-$TOP/build}/tests/copying from
    mkdir -p "${made%/*}" && (
        flock 9 && mkdir -p "$made" && cd "$made" || return 1
        for from in "$TOP/tests/cli/translate.bash" "$(command -v tf-tokenize)" \
            "$(command -v tf-batch)" "$(command -v tf-train)"; do
            [ lines.tfs -nt "$from" ] || { rm -rf -- * && train_model || return 1; break; }
        done
    ) 9>"$made.lock" && cp -r "$made/." "$BATS_FILE_TMPDIR" && cd "$BATS_FILE_TMPDIR" || return 1
    export MODEL=$BATS_FILE_TMPDIR/run/ckpt-00000400.tfm LINES_TFS=$BATS_FILE_TMPDIR/lines.tfs \
        LINES_TXT=$BATS_FILE_TMPDIR/lines.txt LINES=59
}

# binary FIRST SOURCES <LINES: a list in Bergamot's form, of lines of a source id and its target ids
binary() {
    "$TF_PYTHON" -c '
import struct, sys
first, sources = int(sys.argv[1]), int(sys.argv[2])
lists = {int(w[0]): [int(x) for x in w[1:]] for w in (line.split() for line in sys.stdin)}
off, ids = [0], []
for i in range(sources):
    ids += lists.get(i, [])
    off.append(len(ids))
body = struct.pack(f"<4Q{len(off)}Q{len(ids)}I", first, 3, len(off), len(ids), *off, *ids)
s = 0
for (v,) in struct.iter_unpack("<Q", body[:len(body) // 8 * 8]):
    s ^= (v + 0x9e3779b9 + (s << 6) + (s >> 2)) & (1 << 64) - 1
    s &= (1 << 64) - 1
sys.stdout.buffer.write(struct.pack("<2Q", 0xF11A48D5013417F5, s) + body)' "$@"
}

# listed.tfm: $MODEL with a list that has one token for each, the next one.
listed() {
    local ids
    ids=$(tf-info "$MODEL" | awk '$1 == "vocab_size" { print $2; exit }')
    seq 0 $((ids - 1)) | awk '{ print $1, ($1 + 1) % '"$ids"' }' | binary 3 "$ids" >list
    tf-convert --to tfm "$MODEL" --shortlist list -o listed.tfm
}

# For setup_file: ALIGNING, the same model with a head for alignments.
make_aligning_model() {
    make_model || return 1
    tf-convert "$MODEL" --to tfm --search alignment-head=1,2 -o aligning.tfm || return 1
    export ALIGNING=$BATS_FILE_TMPDIR/aligning.tfm
}

# sharp_model FILE FACTOR: $MODEL with its logits multiplied.
sharp_model() {
    tf-convert --to npz "$MODEL" -o sharp.npz || return 1
    "$TF_PYTHON" - "$2" <<'PY' || return 1
import sys
import numpy as np
z = dict(np.load("sharp.npz"))
for name in "dec.0.ff.norm.g", "dec.0.ff.norm.b":
    z[name] = z[name] * np.float32(sys.argv[1])
np.savez("sharp.npz", **z)
PY
    tf-convert sharp.npz -o "$1"
}

# overflowing_model FILE: a model of one update in which the source embedding of the letter c is so
# large that what is computed from it is not finite.
overflowing_model() {
    tf-batch -q --tokens 400 --batches 1 "$BATS_FILE_TMPDIR/text.tfs" \
        "$BATS_FILE_TMPDIR/text.tfs" | tf-train -q --preset tiny --layers 1 --d-model 32 --d-ff 64 \
        --heads 2 --tie none --device cpu --vocab "$BATS_FILE_TMPDIR/vocab" --steps 1 -o apart &&
        tf-convert --to npz apart/ckpt-00000001.tfm -o overflow.npz || return 1
    tf-tokenize -m "$BATS_FILE_TMPDIR/vocab" <<<c | tf-cbor json |
        jq -r 'select(.type == "tokens") | .ids[-1]' >c.id
    "$TF_PYTHON" - <<'PY' || return 1
import numpy as np
z = dict(np.load("overflow.npz"))
name = [n for n in z if n.endswith("enc.embed")][0]
z[name] = z[name].copy()
z[name][int(open("c.id").read())] = 3e38
np.savez("overflow.npz", **z)
PY
    tf-convert overflow.npz -o "$1"
}

# The model's outputs: decode ARGUMENTS.
decode() {
    tf-decode -m "$MODEL" --max-extra 5 "$@"
}

# The same for an expected status: d_t STATUS ARGUMENTS.
d_t() {
    local want=$1
    shift
    t "$want" tf-decode -m "$MODEL" --max-extra 5 "$@"
}
