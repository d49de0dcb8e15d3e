#!/usr/bin/env bats
# tf-convert: models of CTranslate2, which ct2.py writes and reads without our code.
load helper

setup_file() {
    export TEXT=$BATS_FILE_TMPDIR/text VOCAB=$BATS_FILE_TMPDIR/vocab PIECES=$BATS_FILE_TMPDIR/pieces
    for i in {1..30}; do echo "line $i of a text with words $((i * 37 % 11)) and $((i * 7))"; done >"$TEXT"
    tf-tokenize --train --vocab-size 60 --character-coverage 1 -o "$VOCAB" "$TEXT"
    tf-tokenize --export-vocab -m "$VOCAB" | cut -f 1 >"$PIECES"
}

prepare() { need "$TF_PYTHON"; }

# [KEY=VALUE...]: the directory d and m.npz
make() {
    rm -rf d m.npz
    mkdir d
    "$TF_PYTHON" "$TOP/tests/cli/ct2.py" make d m.npz "$PIECES" "$@"
    cp "$VOCAB" d/spm.model
}

# The same for each argument, in directories 0, 1, ...
make_all() {
    local variant i=0
    for variant in "$@"; do
        mkdir -p $i/d
        cp "$VOCAB" $i/d/spm.model
        echo "make $i/d $i/m.npz '$PIECES' $variant"
        i=$((i + 1))
    done >made
    each ct2.py <made
}

@test "a directory is the model that was put into it, in each version and variant" {
    variants=('' heads=2 'heads=8 quant=int8' version=2 version=3 version=4 quant=int8 quant=int16
        quant=f16 'quant=int8 version=2' tie=decoder 'tie=none quant=int8' 'activation=swish bias=false'
        'pre_norm=true positions=paper' 'positions=t2t offset=2' positions=absent
        positions=learned 'ff=8 quant=int8' 'start=zero positions=halves')
    make_all "${variants[@]}"
    for i in "${!variants[@]}"; do
        cd "$T/$i"
        tf-convert m.npz --vocab "$VOCAB" -o m.tfm
        t 0 tf-convert d -o d.tfm
        [ "$(fingerprint d.tfm)" = "$(fingerprint m.tfm)" ] || { echo "${variants[i]}"; return 1; }
    done
    expect_contains "$stderr" "d/model.bin: CTranslate2, 2 + 2 layers of width 16, relu; decoded with --search ctranslate2 --beam 2 --normalize 1 --free-prefix --max-extra 256 --max-factor 0 --min-length 1 --allow-unk"
    expect_contains "$stderr" "--positions halves is what it computes there"
    tf-convert d --positions halves -o h.tfm
    tf-info h.tfm | grep -Eq '^  position_table +halves$'
}

# side: 0 or 1 of each line of expected, as a stream
ids_as_stream() {
    { tf-tokenize -m m.tfm </dev/null | tf-cbor json | head -n 1
        jq -c "{type: \"tokens\", idx: (input_line_number - 1), ids: .[$1]}" "$G/expected"
        echo '{"type":"end"}'; } | tf-cbor unjson
}

@test "the shape of mBART by CTranslate2's own classes: its log-probabilities, and back" {
    golden ct2
    t 0 tf-convert "$G/m" -o m.tfm
    expect_contains "$stderr" "m/model.bin: CTranslate2, 1 + 1 layers of width 8, gelu"
    ids_as_stream 0 >s.tfs
    ids_as_stream 1 >t.tfs
    tf-score -m m.tfm --precision fp32 s.tfs t.tfs | tf-cbor json | jq 'select(.logp).logp' |
        paste <(jq '.[2]' "$G/expected") - >both
    awk '{ d = $1 - $2 } d > 1e-4 || d < -1e-4 { print; bad = 1 } END { exit bad || NR != 10 }' both
    tf-convert m.tfm --to ctranslate2 -o x
    tf-convert x -o back.tfm
    [ "$(fingerprint back.tfm)" = "$(fingerprint m.tfm)" ]
    need_peer ctranslate2
    echo "{\"form\": \"ctranslate2\", \"path\": \"x\", \"pairs\": $(jq -c .[:2] "$G/expected" | jq -sc .)}" |
        jq -s . >list
    t 0 "$PEER_PYTHON" "$TOP/tests/bench/foreign_peer.py" read list
    jq '.[]' <<<"$output" | paste both - |
        awk '{ d = $2 - $3 } d > 1e-4 || d < -1e-4 { print; bad = 1 } END { exit bad || NR != 10 }'
}

@test "other versions of the format are refused by name" {
    make
    cp d/model.bin bin
    for n in 7 255; do
        # shellcheck disable=SC2059
        { printf "\\x$(printf %x "$n")\\0\\0\\0"; tail -c +5 bin; } >d/model.bin
        t 1 tf-convert d -o x.tfm
        expect_error "d/model.bin: version $n of CTranslate2's format; 2 to 6 are read"
    done
    # The first one has no kind of model: 1, the number of variables, and their names. As in the
    # tests of CTranslate2:
    { printf '\1\0\0\0\xc8\0\0\0\x1d\0transformer/encoder/w_embs:0\0'; tail -c 500 bin; } \
        >d/model.bin
    for path in d d/model.bin; do
        t 1 tf-convert "$path" -o x.tfm
        expect_error "d/model.bin: version 1 of CTranslate2's format; 2 to 6 are read"
    done
}

@test "what is written is what CTranslate2 reads, and comes back" {
    natively
    variants=('' quant=f16 tie=decoder 'tie=none activation=swish bias=false'
        'pre_norm=true positions=paper' 'positions=t2t offset=2' positions=learned)
    make_all "${variants[@]}"
    for i in "${!variants[@]}"; do
        cd "$T/$i"
        tf-convert d -o m.tfm
        tf-convert m.tfm --to npz -o n.npz
        t 0 tf-convert m.tfm --to ctranslate2 -o x
        echo "check $i/x $i/n.npz" >>"$T/checks"
        diff <(jq -r '.[]' x/shared_vocabulary.json) "$PIECES"
        tf-convert x -o back.tfm
        [ "$(fingerprint back.tfm)" = "$(fingerprint m.tfm)" ] || { echo "${variants[i]}"; return 1; }
    done
    cd "$T"
    each ct2.py <checks
}

@test "sources with ids of their own, of text that another program has split" {
    local own=50
    printf '%s\n' '<pad>' '<unk>' '<s>' '</s>' $(seq 100 170) >words
    PIECES=words make source=$own tie=none source_eos=false pre_norm=true
    rm d/spm.model
    t 0 tf-convert d -o m.tfm
    expect_contains "$stderr" "its text is tokens between spaces"
    tf-info m.tfm | grep -Eq "^  source_vocab_size +$own$"
    echo '100 103 145 999' >s
    echo '100 170 146' >t
    tf-tokenize -m m.tfm s >s.tfs
    tf-tokenize -m m.tfm --target t >t.tfs
    tf-cbor json s.tfs | grep -q '"ids":\[4,7,49,1\]'
    tf-cbor json t.tfs | grep -q '"ids":\[4,74,50\]'
    tf-score -q --text -m m.tfm s.tfs t.tfs | wc -l | grep -qx 1
    tf-decode -q -m m.tfm s.tfs | tf-tokenize -d -m m.tfm | grep -Eqx '([0-9]+ ?)+'
    # ids of targets are not ids of sources
    t 1 tf-decode -q -m m.tfm t.tfs
    expect_error "vocabulary of 75 ids, but m.tfm has $own"
    rm -rf x
    tf-convert m.tfm --to ctranslate2 -o x
    tf-convert x -o back.tfm
    [ "$(fingerprint back.tfm)" = "$(fingerprint m.tfm)" ]
    t 1 tf-convert m.tfm --to hf -o y
    expect_error "hf has no final_norm, source_vocab_size, source_eos false"
    # Without the targets' vocabulary no other program can be given one.
    tf-convert m.tfm --to npz -o m.npz
    "$TF_PYTHON" -c 'import numpy as np; w = dict(np.load("m.npz")); del w["vocab_target"]
np.savez("less.npz", **w)'
    for to in marian hf ctranslate2; do
        t 1 tf-convert less.npz --to $to -o y
        expect_error "the model carries no vocabulary of its targets"
    done
    # It is trained further, over a resume; without its model, the ids of sources are too many.
    for i in {1..8}; do cat s; done | tf-tokenize -m m.tfm >s.tfs
    for i in {1..8}; do cat t; done | tf-tokenize -m m.tfm --target >t.tfs
    tf-batch -q --no-shuffle --tokens 100 s.tfs t.tfs >valid.tfs
    for steps in 5 10; do
        tf-batch -q --tokens 100 --epochs 0 s.tfs t.tfs |
            tf-train -q --device cpu --init m.tfm --lr 0.003 --schedule constant --steps $steps \
                --valid valid.tfs --valid-every 5 --save-every 5 -o run
    done
    sed -n 's/.*"event":"valid".*"ppl":\([0-9.e+]*\).*/\1/p' run/log.jsonl >perplexities
    awk 'NR > 1 && $1 >= last { exit 1 } { last = $1 } END { exit NR != 3 }' perplexities
    tf-tokenize -m run/ckpt-00000010.tfm s | tf-decode -q -m run/ckpt-00000010.tfm |
        tf-tokenize -d -m run/ckpt-00000010.tfm | grep -q 1
    for i in {100..160}; do echo $i; done >long
    tf-tokenize -m m.tfm --target long >long.tfs
    tf-tokenize -m m.tfm long >short.tfs
    tf-batch -q --tokens 100 --list <(printf '%s\t%s\n' short.tfs long.tfs) >pairs.tfs
    tf-cbor json pairs.tfs | grep -q '"size":75'
    # Special ids are those of targets: sources may have other pieces there.
    sed -i '1s/.*/word0/; 4s/.*/word3/' d/source_vocabulary.txt
    tf-convert d -o own.tfm
    echo 'word0 word3 100' | tf-tokenize -m own.tfm >s.tfs
    tf-cbor json s.tfs | grep -q '"ids":\[0,3,4\]'
    t 0 tf-decode -q -m own.tfm s.tfs
    echo '100 170' | tf-tokenize -m own.tfm --target >t.tfs
    tf-attn -q -m own.tfm -k cross s.tfs t.tfs | tf-cbor json |
        grep -q '"rows":\["▁100","▁170","</s>"\],"columns":\["▁word0","▁word3","▁100"\]'
}

@test "a decoder starts with <pad> in place of <s>, and with no other token that is text" {
    make positions=absent
    jq '.decoder_start_token = "<pad>"' d/config.json >config
    cp config d/config.json
    tf-convert d -o m.tfm
    head -3 "$TEXT" | tf-tokenize -m m.tfm >s.tfs
    tf-score -q --text -m m.tfm s.tfs s.tfs >want
    # The same matrices, in which the first row is called <s>.
    sed '1s/.*/<s>/; 3s/.*/<pad>/' "$PIECES" | jq -R -s 'split("\n")[:-1]' >d/shared_vocabulary.json
    jq '.decoder_start_token = "<s>"' config >d/config.json
    tf-convert d -o named.tfm
    head -3 "$TEXT" | tf-tokenize -m named.tfm >t.tfs
    tf-score -q --text -m named.tfm t.tfs t.tfs | diff want -
    jq '.decoder_start_token = "e"' config >d/config.json
    t 1 tf-convert d -o x.tfm
    expect_error "d/model.bin: decoder_start_token: e: in place of <s> only <pad> and </s> are supported"
}

@test "the segmenter of one side alone is not that of both" {
    make
    tf-convert d -o m.tfm
    mv d/spm.model d/source.spm
    while read -r there missing; do
        t 1 tf-convert d -o x.tfm
        expect_error "d: no $missing: copy it from where the model comes from"
        tf-convert d --vocab "d/$there" -o x.tfm
        [ "$(fingerprint x.tfm)" = "$(fingerprint m.tfm)" ]
        mv "d/$there" "d/$missing"
    done <<'END'
source.spm target.spm
target.spm source.spm
END
    cp d/source.spm d/target.spm
    tf-convert d -o x.tfm
    [ "$(fingerprint x.tfm)" = "$(fingerprint m.tfm)" ]
}

# The model in a folder p, as in a package of Argos.
make_folder() {
    make
    mkdir -p p
    mv d p/model
    rm p/model/spm.model
    echo '{"from_code": "en"}' >p/metadata.json
}

@test "a package: the model in a folder, its segmenter beside it" {
    make_folder
    cp "$VOCAB" p/sentencepiece.model
    tf-convert p -o p.tfm
    tf-convert m.npz --vocab "$VOCAB" -o m.tfm
    [ "$(fingerprint p.tfm)" = "$(fingerprint m.tfm)" ]
    tf-tokenize -m p.tfm "$TEXT" | tf-tokenize -d -m p.tfm | diff - "$TEXT"
    # argostranslate/translate.py of 1.11
    t 0 tf-convert p -o p.tfm
    expect_contains "$stderr" "--search ctranslate2 --beam 4 --normalize 0.2 --free-prefix --max-extra 256 --max-factor 0 --min-length 1 --allow-unk, but without replace_unknowns"
    # The token with which targets begin, which is not in the text
    sed 's/^▁word$/__de__/' "$PIECES" >pieces
    grep -qx __de__ pieces || sed -i '$s/.*/__de__/' pieces
    jq -R . pieces | jq -s . >p/model/shared_vocabulary.json
    echo '{"from_code": "en", "target_prefix": "__de__"}' >p/metadata.json
    t 0 tf-convert p -o p.tfm
    expect_contains "$stderr" "--begin __de__ --free-prefix"
    sed -i 's/__de__/<to:de>/' pieces p/metadata.json
    jq -R . pieces | jq -s . >p/model/shared_vocabulary.json
    t 0 tf-convert p -o p.tfm
    head -n 2 "$TEXT" | tf-translate -q -k 1 --max-extra 5 -m p.tfm >out
    grep -q . out
    run -1 grep to:de out
    echo '{"target_prefix": "nothing"}' >p/metadata.json
    t 1 tf-convert p -o p.tfm
    expect_error "p/model/model.bin: target_prefix nothing of metadata.json: no token of its targets"
    echo '{"target_prefix": 1}' >p/metadata.json
    t 1 tf-convert p -o p.tfm
    expect_error "p/metadata.json: target_prefix: "
}

# NAME PYTHON: NAME.argosmodel of the folder p; the code writes to z, and changes bytes b
package() {
    "$TF_PYTHON" - "$@" 2>/dev/null <<'PY'
import io
import pathlib
import struct
import sys
import zipfile
import zlib
name, *code = sys.argv[1:]
memory = io.BytesIO()
def link(path, to):
    i = zipfile.ZipInfo(path)
    i.external_attr = 0o120777 << 16
    z.writestr(i, to)
with zipfile.ZipFile(memory, "w", zipfile.ZIP_DEFLATED) as z:
    put = z.writestr
    exec(code[0])
    for path in sorted(pathlib.Path("p").rglob("*")):
        if "en_de" + str(path)[1:] not in z.namelist():
            z.write(path, "en_de" + str(path)[1:])
b = bytearray(memory.getvalue())
exec("".join(code[1:]))
open(name + ".argosmodel", "wb").write(b)
PY
}

@test "a package in one file" {
    make_folder
    cp "$VOCAB" p/sentencepiece.model
    tf-convert p -o p.tfm
    # Data of other programs are in it, too, as zip(1) and argostranslate put them.
    package a 'put("en_de/stanza/", ""); put("en_de/stanza/en/x.pt", "x" * 9999)
put("__MACOSX/en_de/._model", "")'
    t 0 tf-convert a.argosmodel -o a.tfm
    [ "${stderr%%: CT*}" = "tf-convert: a.argosmodel" ]
    cmp a.tfm p.tfm
    package a 'z.compression = zipfile.ZIP_STORED'
    tf-convert a.argosmodel -o a.tfm
    cmp a.tfm p.tfm
    # It is unpacked in memory, so that no name is a path.
    package a 'put("../model.bin", "x"); put("en_de/../model.bin", "x"); put("/metadata.json", "{}")
put("en_de/model/../x", "x"); link("en_de/config.json", "/etc/passwd"); link("en_de/x", "/tmp")
put("en_de/x/y", "x")'
    mkdir -p in/in
    cp a.argosmodel in/in
    (cd in/in && tf-convert a.argosmodel -o a.tfm)
    cmp in/in/a.tfm p.tfm
    [ "$(cd in && find . | sort | tr '\n' ' ')" = ". ./in ./in/a.argosmodel ./in/a.tfm " ]
}

@test "a package in one file that is damaged, or no package" {
    make_folder
    cp "$VOCAB" p/sentencepiece.model
    refused() { # ERROR PYTHON...
        package x "${@:2}"
        t 1 tf-convert x.argosmodel -o x.tfm
        expect_error "x.argosmodel$1"
        [ ! -e x.tfm ]
    }
    refused '/model/config.json: ' 'put("en_de/model/config.json", "[")'
    refused '/metadata.json: ' 'link("en_de/metadata.json", "/etc/passwd")'
    refused ': several packages: en_de/metadata.json, too' \
        'put("en_fr/metadata.json", "{}"); put("en_de/metadata.json", "{}")'
    refused ': model/x: twice in the archive' 'put("en_de/model/x", "1"); put("en_de/model/x", "2")'
    refused ': model/model.bin: unpacked far more bytes than the archive has' \
        'put("en_de/model/model.bin", bytes((64 << 20) + 1))'
    refused ': en_de/model/model.bin: damaged: stored in more or fewer bytes than it has' \
        'put("en_de/model/model.bin", bytes(9999))' 'b = b.replace(b"\x0f\x27\0\0", b"\xff\xff\xff\0")'
    refused ': en_de/model/x: damaged: its compressed data' \
        'put("en_de/model/x", bytes(9999))' 'b = b.replace(b"\x0f\x27\0\0", b"\x0e\x27\0\0")'
    refused ': en_de/model/x: damaged: its compressed data' \
        'put("en_de/model/x", bytes(9999))' 'b = b.replace(b"\x0f\x27\0\0", b"\x10\x27\0\0")'
    refused ': en_de/model/x: damaged: its crc32 is wrong' 'put("en_de/model/x", "x" * 99)' '
crc = struct.pack("<I", zlib.crc32(b"x" * 99)); b = b.replace(crc, b"1234")'
    refused ': en_de/model/x: compressed, and not by deflate' \
        'put("en_de/model/x", "x" * 99, zipfile.ZIP_BZIP2)'
    refused ': more than 64 files' '[put(f"en_de/{i}", "") for i in range(65)]'
    refused ': not a package of Argos: no metadata.json in a folder' '' \
        'b = b.replace(b"metadata", b"Metadata")'
    rm -r p/model
    refused '/model: no model of CTranslate2' ''
    for n in 0 30 100 -30 -1; do
        refused ': ' '' "b = b[:$n]"
    done
}

@test "a package whose words codes of subword-nmt split" {
    printf '%s\n' '<blank>' '<unk>' '<s>' '</s>' l@@ o@@ w@@ e@@ lo@@ w r er low >words
    PIECES=words make_folder
    printf '%s\n' '#version: 0.2' 'l o' 'lo w</w>' 'e r</w>' >p/bpe.model
    t 0 tf-convert p -o p.tfm
    expect_contains "$stderr" "tf-tokenize splits words by p/bpe.model"
    echo 'low lower' | tf-tokenize -m p.tfm --pieces | grep -qx 'low lo@@ w@@ er'
    echo 'low lower' | tf-tokenize -m p.tfm | tf-tokenize -d -m p.tfm | grep -qx 'low lower'
}

# WANT PYTHON: with that done to model.bin (b), or to its variables (v)
damaged() {
    PYTHONPATH=$TOP/tests/cli "$TF_PYTHON" -B - "$2" <<'PY'
import struct
import sys
b = bytearray(open("d/model.bin", "rb").read())
def put(name, x, dims, kind):  # another variable, in place of the one of this name if there is one
    import ct2, numpy as np  # which take longest: not for every change
    if name.encode() in b:
        b[b.index(name.encode())] = ord("x")
    x = np.full(dims, x, kind)
    b[26:30] = struct.pack("<I", struct.unpack("<I", b[26:30])[0] + 1)
    b[30:30] = ct2.string(name) + struct.pack(f"<B{x.ndim}I", x.ndim, *x.shape) + struct.pack(
        "<BI", ct2.CODES[kind], x.nbytes) + x.tobytes()
exec(sys.argv[1])
open("x/model.bin", "wb").write(b)
PY
    t 1 tf-convert x -o x.tfm
    expect_error "$1"
    [ ! -e x.tfm ]
}

@test "a list for both sides without <unk>, which CTranslate2 adds" {
    make
    grep -vxF '<unk>' "$PIECES" | jq -R -s 'split("\n")[:-1]' >d/shared_vocabulary.json
    tf-convert d -o d.tfm
    tf-info d.tfm | grep source_vocab_size && return 1
    [ "$(tf-tokenize --export-vocab -m d.tfm | tail -n 1 | cut -f 1)" = '<unk>' ]
}

@test "a damaged or unsupported model is refused, and nothing is written" {
    make quant=int8
    cp -r d x
    damaged 'TransformerDecoderSpe, not a Transformer of encoder and decoder' \
        'b = b[:4] + b"\x16\0TransformerDecoderSpe\0" + b[22:]'
    damaged 'a model of the kind WhisperSpec, not a Transformer of encoder and decoder' \
        'b = b[:4] + b"\x0c\0WhisperSpec\0" + b[22:]'
    damaged 'variables in the' 'b[26:30] = b"\xff\xff\xff\xff"'
    damaged 'alias 3: of no variable' 'b[-10:-5] = b"other"'
    damaged '5 bytes after the end' 'b += bytes(5)'
    damaged "width 16: not a multiple of 5 heads" \
        'i = b.index(b"encoder/num_heads"); b[i + 24] = 5'
    damaged "settings that are not supported: encoder/alibi: 1" \
        'i = b.index(b"encoder/alibi"); b[i + 20] = 1'
    damaged "activation: 4, which is neither relu nor swish nor gelu" \
        'for s in b"encoder", b"decoder":
    i = b.index(s + b"/activation"); b[i + 25] = 4'
    # 0.5 is what it is by default.
    damaged "encoder/layer_0/self_attention/queries_scale: 0" \
        "put('encoder/layer_0/self_attention/queries_scale', 0, [], '<f4')"
    damaged "encoder/layer_0/self_attention/queries_scale: 1" \
        "put('encoder/layer_0/self_attention/queries_scale', 1, [], '<f4')"
    damaged '5 bytes after the end' \
        "put('encoder/layer_0/self_attention/queries_scale', 0.5, [], '<f4'); b += bytes(5)"
    head -c -5 x/model.bin >model.bin
    mv model.bin x/
    tf-convert x -o x.tfm
    rm x.tfm
    # A float is the factor itself, an integer says whether there is one.
    for x in '2.5 [], "<f4"' '0.5 [], "<f4"' '2 [], "|i1"'; do
        damaged "scale_embeddings: ${x%% *}, neither 1 nor the root of 16" \
            "for s in 'encoder', 'decoder': put(s + '/scale_embeddings', ${x%% *}, ${x#* })"
    done
    damaged "decoder/start_from_zero_embedding" \
        'put("decoder/start_from_zero_embedding", 0, [5000], "<f4")'
    damaged "encoder/layer_0/self_attention/linear_0/weight_scale: not the scales of" \
        'i = b.index(b"encoder/layer_0/self_attention/linear_0/weight_scale") + 53
b[i + 1] = 47; b[i + 6] = 188; del b[i + 10:i + 14]'
    for n in 5 22 29 40 100 5000; do
        damaged 'x/model.bin: ' "del b[$n:]"
    done
    mv x/shared_vocabulary.json x/vocabulary.json # as a model without an encoder
    "$TF_PYTHON" -c 'b = open("d/model.bin", "rb").read()
open("x/model.bin", "wb").write(b[:4] + b"\x1c\0TransformerDecoderModelSpec\0" + b[22:])'
    t 1 tf-convert x -o x.tfm
    expect_error 'x/model.bin: a model of the kind TransformerDecoderModelSpec, not a Transformer of encoder and decoder'
    rm x/vocabulary.json
    t 1 tf-convert x -o x.tfm
    cp d/model.bin .
    t 2 tf-convert model.bin -o x.tfm
    expect_error "model.bin: a model of CTranslate2: name its directory"
    head -40 "$PIECES" | jq -R -s 'split("\n")[:-1]' >d/shared_vocabulary.json
    t 1 tf-convert d -o x.tfm
    expect_error "d/model.bin: 40 tokens of the source, and 56 embeddings"
}

@test "a directory appears whole or not at all" {
    make
    tf-convert d -o m.tfm
    for to in hf ctranslate2; do
        t 2 tf-convert m.tfm --to $to
        expect_error "--to $to: a directory: -o names it"
        t 1 tf-convert m.tfm --to $to -o d
        expect_error "d: is there already"
        mkdir small
        # the weights do not fit
        (ulimit -f 8; t 1 tf-convert m.tfm --to $to -o small/x; expect_error "File too large")
        [ -z "$(ls -A small)" ]
        rmdir small
    done
    # A signal while it is written leaves nothing. The directory that has it is synced, too.
    if [ -z "${TF_SAN:-}" ]; then
        need strace
        mkdir there
        t 0 strace -f -qq -y -o calls -e trace=fsync tf-convert m.tfm --to hf -o there/x
        grep -q "fsync([0-9]*<$T/there>) *= 0" calls
        mkdir ended
        for n in 1 2 3; do
            t 143 strace -f -qq -o /dev/null -e trace=fsync -e inject=fsync:signal=TERM:when=$n \
                tf-convert m.tfm --to hf -o ended/x
            [ -z "$(ls -A ended)" ]
        done
    fi
    t 1 tf-convert m.tfm --to marian -o x
    expect_error "marian has no start bos (but tf-train --start zero), norm_eps other than 1e-6"
    t 2 tf-convert m.tfm --to marian --dtype f16 -o x
    expect_error "--dtype f16: Marian's models are f32"
    tf-convert m.npz -o bare.tfm
    t 1 tf-convert bare.tfm --to ctranslate2 -o x
    expect_error "the model carries no vocabulary: --vocab gives it one"
    [ ! -e x ]
}
