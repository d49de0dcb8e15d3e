#!/usr/bin/env bats
# tf-convert: files of PyTorch, which torch_file.py writes: checkpoints of fairseq, models of
# transformers.
load helper

prepare() { need "$TF_PYTHON"; }

make() {
    rm -rf d
    "$TF_PYTHON" "$TOP/tests/cli/torch_file.py" fairseq d m.npz "$@"
}

# trained DIR: a model that fairseq trained on the text of golden/marian has fairseq's log-probabilities.
trained() {
    tf-convert "$1" -o m.tfm
    head -20 "$TOP/tests/golden/marian/en" | tf-tokenize -m m.tfm >src.tfs
    head -20 "$TOP/tests/golden/marian/de" | tf-tokenize --target -m m.tfm >tgt.tfs
    tf-score -q -m m.tfm --text src.tfs tgt.tfs >got
    paste got "$1/scores" | awk '{ d = $1 - $2 } d > 1e-4 || d < -1e-4 { print; bad = 1 }
        END { exit bad || NR != 20 }' || { echo "$1"; return 1; }
}

@test "models that fairseq trained have fairseq's log-probabilities" {
    cp -r "$TOP/tests/golden/fairseq" g
    chmod -R u+w g
    gunzip g/*/model.pt.gz
    for dir in g/*/; do trained "${dir%/}"; done
    # Their directions: from the name of the data, and from the checkpoint.
    for name in default two; do
        tf-convert g/$name -o m.tfm
        [ "$(tf-info m.tfm | awk '/^(lang|target_lang) / { print $2 }')" = $'en\nde' ]
    done
}

@test "a checkpoint that does not say which language is which" {
    cp -r "$TOP/tests/golden/fairseq/before" d
    gunzip d/model.pt.gz
    # With one dictionary that is no matter.
    trained d
    tf-info m.tfm | grep -q ^lang && return 1
    make source=40 tie=none langs=none
    t 1 tf-convert d -o x.tfm
    expect_error "d: no source_lang and target_lang in the model: which of two dictionaries is that of sources? Name them, such as --lang de --target-lang en"
    for options in '--lang en' '--target-lang de' '--lang en --target-lang de'; do
        # shellcheck disable=SC2086
        tf-convert d $options -o m.tfm
        [ "$(tf-info m.tfm | awk '/^(lang|target_lang) / { print $2 }')" = $'en\nde' ]
    done
    # It counts more than the name of the data.
    make source=40 tie=none langs=data.de-en
    tf-convert d --lang en -o m.tfm
    [ "$(tf-info m.tfm | awk '/^(lang|target_lang) / { print $2 }')" = $'en\nde' ]
    make source=40 tie=none langs=none
    t 1 tf-convert d --lang de --target-lang fr -o x.tfm
    expect_error "d: no source_lang and target_lang in the model"
    cp d/dict.de.txt d/dict.fr.txt
    t 1 tf-convert d -o x.tfm
    expect_error "d/model.pt: no source_lang and target_lang"
}

@test "each variant that fairseq trains" {
    need_peer fairseq torch
    "$PEER_PYTHON" "$TOP/tests/golden/fairseq/make.py" all >log 2>&1 || { tail log; return 1; }
    for dir in all/*; do trained "$dir"; done
}

@test "a checkpoint is the model that was put into it, in each form and variant" {
    natively
    variants=('' form=legacy fused=true 'form=legacy fused=true tie=decoder' tie=none
        'pre_norm=true activation=swish' 'dtype=f16 form=legacy' cfg=true
        'source=40 tie=none' 'source=40 tie=decoder form=legacy' extra=code ff=8 'ff=8 fused=true' heads=2
        'heads=1 fused=true dtype=f16')
    for i in "${!variants[@]}"; do echo "fairseq d$i $i.npz ${variants[i]}"; done | each torch_file.py
    for i in "${!variants[@]}"; do
        t 0 tf-convert d$i -o d.tfm
        [ ! -e executed ]
        tf-tokenize --export-vocab -m d.tfm >pieces
        grep -qxF $'▁w5@@\t0' pieces || grep -qxF $'▁s5\t0' pieces
        tf-convert --to npz d.tfm -o d$i.npz
    done
    for i in "${!variants[@]}"; do echo "same d$i.npz $i.npz"; done | each torch_file.py
    expect_contains "$stderr" "d$i/model.pt: fairseq, 2 + 2 layers of width 16, relu; decoded with --search fairseq --beam 5 --normalize 1 --max-extra 200 --max-factor 0 --min-length 1 --allow-unk"
    make dropout=0.3
    tf-convert d -o d.tfm
    tf-info d.tfm | grep -Eq '^  dropout +0.3$'
    tf-info d.tfm | grep -Eq '^lang +en$'
}

@test "text that is split already translates, and prefixes and ids are those of the dictionary" {
    make source=40 tie=none
    tf-convert d -o m.tfm
    echo 's0 s39 other' | tf-tokenize -m m.tfm | tf-cbor json | grep -q '"ids":\[4,43,3\]'
    echo 'w0 w1@@ w51' | tf-tokenize -m m.tfm --target | tf-cbor json | grep -q '"ids":\[4,5,55\]'
    echo 's0 s39' | tf-translate -m m.tfm --max-extra 5 | grep -Eqx '(w[0-9]+(@@)? ?)+'
    # To CTranslate2 and back.
    tf-convert m.tfm --to ctranslate2 -o x
    jq -e '.decoder_start_token == "</s>" and .add_source_eos' x/config.json
    tf-convert x -o back.tfm
    [ "$(fingerprint back.tfm)" = "$(fingerprint m.tfm)" ]
    # To transformers, where what starts, pads and ends is one id.
    make
    tf-convert d -o m.tfm
    tf-convert m.tfm --to hf -o h
    jq -e '.pad_token_id == 2 and .eos_token_id == 2 and .bad_words_ids == null and
        .num_beams == 5 and .early_stopping' h/config.json
    tf-convert h -o back.tfm
    [ "$(fingerprint back.tfm)" = "$(fingerprint m.tfm)" ]
}

# WANT PYTHON: with that done to the bytes b of the file
damaged() {
    "$TF_PYTHON" - "$2" <<'PY'
import sys
b = bytearray(open("d/model.pt", "rb").read())
exec(sys.argv[1])
open("x/model.pt", "wb").write(b)
PY
    t 1 tf-convert x -o x.tfm
    expect_error "$1"
    [ ! -e x.tfm ]
}

@test "one of several checkpoints, which are an ensemble with the same dictionaries" {
    make source=40 tie=none
    cp d/model.pt d/model1.pt
    mv d/model.pt d/model2.pt
    t 1 tf-convert d -o m.tfm
    expect_error "d: 2 files *.pt: name one of them"
    for n in 1 2; do tf-convert d/model$n.pt -o $n.tfm; done
    (cd d && tf-convert model1.pt -o ../here.tfm)
    cmp 1.tfm here.tfm
    [ "$(fingerprint 1.tfm)" = "$(fingerprint 2.tfm)" ]
    echo 's0 s39' | tf-translate -m 1.tfm -m 2.tfm --max-extra 5 | grep -Eqx '(w[0-9]+(@@)? ?)+'
    mkdir alone
    mv d/model1.pt alone
    t 2 tf-convert alone/model1.pt -o m.tfm
    expect_error "alone/model1.pt: a model of fairseq: no dict.*.txt beside it"
}

@test "what is damaged or no model is refused, and nothing of it is run" {
    make form=legacy
    cp -r d x
    for n in 10 20 200 3000; do
        damaged 'x/model.pt: ' "del b[$n:]"
    done
    damaged "the file ends in it" 'del b[-1:]'
    damaged "pickle: more than 8388608 bytes" 'at = b.index(b"ccollections"); b[at:at] = b"X" + (9 << 20).to_bytes(4, "little") + bytes(9 << 20) + b"0"'
    damaged "x: source_lang or target_lang with a /" 'b[b.index(b"X\2\0\0\0en") + 5] = 0x2f'
    damaged "pickle: attributes of an object that has some" 'at = b.index(b"ccollections"); b[at:at] = b"cargparse\nNamespace\n)\x81q\xf0NNsh\xf0b"'
    damaged "pickle: opcode 0x69: not of data" 'b[b.index(b"ccollections"):][:1] = b"i"; i = b.index(b"ccollections"); b[i] = 0x69'
    damaged "pickle: nothing was remembered" 'i = b.index(b"ccollections"); b[i:i + 2] = b"h\xff"'
    make extra=not
    rm -r x
    cp -r d x
    damaged "'encoder.layers.0.fc1.weight': not a tensor" ''
    make activation=tanh
    cp d/model.pt x/
    damaged "settings that are not supported: activation_fn: tanh" ''
    make ff=2
    cp d/model.pt x/
    damaged "settings that are not supported: decoder_ffn_embed_dim: less than an eighth" ''
    make
    cp d/model.pt x/
    damaged "crc" 'i = b.index(b"model/data/3") + 200; b[i] ^= 1'
    cp -r d two
    sed -i '5s/^[^ ]*/▁piece/' two/dict.*.txt
    rm -f two/*.model two/*.spm
    t 1 tf-convert two -o x.tfm
    expect_error "tf-convert: two: '▁piece': a piece of a SentencePiece model, which is needed"
    # Lines as fairseq reads them: tokens with spaces, or there again; no LF at the end.
    cp d/dict.en.txt whole
    tf-convert d -o y.tfm
    sed 's/$/\r/; 7s/^/my /; $s/.$//' whole | head -c -1 >d/dict.en.txt
    cp d/dict.en.txt d/dict.de.txt
    tf-convert d -o z.tfm
    pieces_of() { tf-tokenize --export-vocab -m "$1" | cut -f 1; }
    pieces_of y.tfm | sed '11s/▁/&my /' | diff - <(pieces_of z.tfm)
    { head -n 5 whole; sed -n '2s/$/ #fairseq:overwrite/p' whole; tail -n +7 whole; } >d/dict.en.txt
    cp d/dict.en.txt d/dict.de.txt
    t 0 tf-convert d -o z.tfm
    cut -d ' ' -f 1 whole | sed -n 2p | tf-tokenize -m z.tfm | tf-cbor json | grep -qF '"ids":[9]'
    pieces_of z.tfm | sed -n 6p | diff - <(echo '▁<unused-5>')
    # What fairseq takes for unknown words stays, as Dictionary.unk_index of 0.12.2 does.
    sed '6s/.*/<unk> 1 #fairseq:overwrite/; 7s/.*/<unk> 1 #fairseq:overwrite/; 8s/.*/<\/s> 1/' whole |
        tee d/dict.en.txt >d/dict.de.txt
    t 0 tf-convert d -o z.tfm
    echo none | tf-tokenize -m z.tfm 2>/dev/null | tf-cbor json | grep -qF '"ids":[3]'
    pieces_of z.tfm | sed -n '3p; 4p; 10,12p' | tr -d ▁ | tr '\n' ' ' | grep -qx \
        '</s> <unk> <unused-9> <unused-10> <unused-11> '
    cp whole d/dict.en.txt
    cp whole d/dict.de.txt
    sed -i 5d d/dict.en.txt
    t 1 tf-convert d -o x.tfm
    expect_error "d/dict.en.txt: 55 tokens, and 56 embeddings"
    rm d/dict.en.txt
    t 1 tf-convert d -o x.tfm
    expect_error "d/dict.en.txt: No such file or directory"
    echo 'no count' >d/dict.en.txt
    sed -i 's/ .*//' d/dict.en.txt
    t 1 tf-convert d -o x.tfm
    expect_error "d/dict.en.txt: line 1: not a token and a count"
}

@test "pytorch_model.bin is the same model as model.safetensors" {
    natively
    for i in {1..30}; do echo "line $i of a text with words $((i * 37 % 11)) and $((i * 7))"; done >text
    tf-tokenize --train --vocab-size 60 --character-coverage 1 -o vocab text
    "$TF_PYTHON" "$TOP/tests/cli/marian.py" make m.npz "$(tf-tokenize --export-vocab -m vocab | wc -l)"
    tf-convert m.npz --vocab vocab -o m.tfm
    tf-convert m.tfm --to hf -o h
    for form in zip legacy; do
        rm -rf p
        mkdir p
        cp h/*.spm h/*.json p/
        "$TF_PYTHON" "$TOP/tests/cli/torch_file.py" state h/model.safetensors p/pytorch_model.bin form=$form
        tf-convert p -o p.tfm
        [ "$(fingerprint p.tfm)" = "$(fingerprint m.tfm)" ]
    done
    t 1 tf-convert p/pytorch_model.bin -o x.tfm
    expect_error "a file of PyTorch, neither of fairseq nor in a directory of transformers"
}

@test "NLLB: ids of its tokenizer, tags of languages, the first token of the output" {
    for i in {1..30}; do echo "line $i of a text with words $((i * 37 % 11)) and $((i * 7))"; done >text
    tf-tokenize --train --vocab-size 60 --character-coverage 1 -o own text
    # <unk>, <s>, </s> first, as SentencePiece has them and NLLB needs them
    { printf '%s\n' '<unk>' '<s>' '</s>' && tf-tokenize --export-vocab -m own | cut -f 1 | tail -n +5; } >pieces
    jq -R -s 'split("\n")[:-1]' pieces >list
    "$TF_PYTHON" "$TOP/tests/cli/marian.py" make m.npz "$(wc -l <pieces)"
    tf-convert m.npz --vocab own --pieces list -o s.tfm
    tf-convert --to npz s.tfm -o s.npz
    rm -rf d
    "$TF_PYTHON" "$TOP/tests/cli/torch_file.py" m2m d m.npz pieces
    "$TF_PYTHON" -c 'import numpy as np; open("d/sentencepiece.bpe.model", "wb").write(np.load("s.npz")["vocab"].tobytes())'
    t 0 tf-convert d -o d.tfm
    expect_contains "$stderr" "d/pytorch_model.bin: M2M100, 2 + 2 layers of width 16, relu"
    tf-convert --to npz d.tfm -o d.npz
    "$TF_PYTHON" "$TOP/tests/cli/torch_file.py" same d.npz m.npz
    V=$(wc -l <pieces)
    first() { tf-cbor json | sed -n 's/.*"ids":\[\([0-9]*\).*/\1/p'; }
    [ "$(echo 'fra_Latn line' | tf-tokenize -m d.tfm | first)" = $((V + 2)) ]
    # The tag is not in the text of the output.
    echo 'eng_Latn line 5' | tf-tokenize -m d.tfm >s.tfs
    tf-decode -q --begin zho_Hans --max-extra 2 -m d.tfm s.tfs >o.tfs
    [ "$(first <o.tfs)" = $((V + 3)) ]
    tf-tokenize -d -m d.tfm o.tfs | grep -q Hans && return 1
    echo 'eng_Latn line 5' | tf-translate --begin zho_Hans --max-extra 2 -m d.tfm |
        diff - <(tf-tokenize -d -m d.tfm o.tfs)
    t 2 tf-decode -q --begin xxx_Xxxx -m d.tfm s.tfs
    expect_error "--begin xxx_Xxxx: no piece of d.tfm"
    for piece in '</s>' '<pad>'; do
        t 2 tf-decode -q --begin "$piece" -m d.tfm s.tfs
        expect_error "--begin $piece: never part of a text"
    done
    t 0 tf-convert d --vocab d/sentencepiece.bpe.model -o e.tfm
    cmp d.tfm e.tfm
    t 2 tf-convert d --vocab d/sentencepiece.bpe.model --vocab-target own -o e.tfm
    expect_error "--vocab-target: M2M100 has one list of pieces"
    t 2 tf-decode -q --begin zho_Hans --prefix s.tfs -m d.tfm s.tfs
    # A tag that was added for tuning has the id that its file names.
    jq -n --arg id $((V + 4)) '{added_tokens_decoder: {($id): {content: "new_Latn"}}}' >d/tokenizer_config.json
    tf-convert d -o n.tfm
    [ "$(echo 'new_Latn line' | tf-tokenize -m n.tfm | first)" = $((V + 4)) ]
    [ "$(echo 'fra_Latn line' | tf-tokenize -m n.tfm | first)" = $((V + 2)) ]
    echo '{}' >d/special_tokens_map.json
    t 1 tf-convert d -o x.tfm
    expect_error "no additional_special_tokens, which are the tags of languages"
}
