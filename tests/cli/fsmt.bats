#!/usr/bin/env bats
# tf-convert: directories of FSMT, one that transformers wrote with what it computes (golden/fsmt),
# and others that torch_file.py writes.
load helper

prepare() {
    need jq
    golden fsmt
}

make() {
    rm -rf d
    "$TF_PYTHON" "$TOP/tests/cli/torch_file.py" fsmt d m.npz "$@"
}

# Lines of JSON that are ids, as a stream with the header that -m m.tfm has for them.
stream() {
    tf-tokenize -m m.tfm "$@" </dev/null | tf-cbor json | head -n 1
    jq -c '{type: "tokens", idx: input_line_number, ids: .}' | awk '{ sub(/"idx":[0-9]+/, "\"idx\":" NR - 1); print }'
    echo '{"type":"end"}'
}

@test "a model of transformers: its tokens, log-probabilities and greedy search" {
    t 0 tf-convert "$G/m" -o m.tfm
    expect_contains "$stderr" "m/pytorch_model.bin: FSMT, 1 + 2 layers of width 8, relu; decoded with --search transformers --beam 5 --normalize 1 --max-extra 198 --max-factor 0 --allow-unk"
    expect_contains "$stderr" "tf-tokenize splits words by $G/m/merges.txt"
    tf-info m.tfm | grep -Eq '^lang +en$'
    jq -r .text "$G/expected" | tf-tokenize -m m.tfm -o source
    tf-cbor json source | jq -c 'select(.ids).ids' >ids
    jq -c .ids "$G/expected" | cmp - ids
    jq -c .target "$G/expected" | stream --target | tf-cbor unjson >target
    tf-score -m m.tfm source target -o scores
    tf-cbor json scores | jq 'select(.logp).logp' >got
    jq .logp "$G/expected" | paste - got |
        awk '{ d = $1 - $2 } d > 1e-4 || d < -1e-4 { print; bad = 1 } END { exit bad || NR != 20 }'
    # Greedy search there stops at 12 tokens.
    tf-decode -m m.tfm --beam 1 --max-length 64 source | tf-cbor json |
        jq -c 'select(.ids).ids[:12]' >got
    jq -c .greedy "$G/expected" | cmp - got
    # The same, where config.json lacks what its class has, but for generate(), which the file alone
    # is for.
    cp -r "$G/m" less
    chmod -R u+w less
    jq '{model_type, langs, d_model, src_vocab_size, tgt_vocab_size, encoder_layers, decoder_layers,
         encoder_attention_heads, decoder_attention_heads, encoder_ffn_dim, decoder_ffn_dim}' \
        "$G/m/config.json" >less/config.json
    t 0 tf-convert less -o less.tfm
    expect_contains "$stderr" "decoded with --search transformers --beam 1 --normalize 1 --allow-unk"
    [ "$(tf-info less.tfm | grep ^model)" = "$(tf-info m.tfm | grep ^model)" ]
    jq '.dropout = 0.3 | .attention_dropout = 0.2 | .activation_dropout = 0.125' "$G/m/config.json" \
        >less/config.json
    tf-convert less -o less.tfm
    [ "$(tf-info less.tfm | awk '/dropout/ { print $2 }' | sort | tr '\n' ' ')" = '0.125 0.2 0.3 ' ]
}

@test "every form and variant is the model that was put into it" {
    need "$TF_PYTHON"
    variants=('' tie=none 'tie=none source=40' 'tie=decoder source=40 activation=swish'
        'copies=false form=legacy' 'tie=decoder source=40 copies=false' 'dtype=f16 form=legacy' ff=8 heads=8
        'tie=none form=safetensors' 'tie=decoder source=40 copies=projection form=safetensors'
        'ff=8 heads=8 dtype=f64 form=safetensors')
    for i in "${!variants[@]}"; do echo "fsmt d$i $i.npz ${variants[i]}"; done | each torch_file.py
    for i in "${!variants[@]}"; do
        t 0 tf-convert d$i -o d.tfm
        tf-convert --to npz d.tfm -o d$i.npz
    done
    for i in "${!variants[@]}"; do echo "same d$i.npz $i.npz"; done | each torch_file.py
}

@test "text becomes the ids of its vocabularies, translates, and survives another format" {
    need "$TF_PYTHON"
    make source=40 tie=none
    tf-convert d -o m.tfm
    # w1 is a merge; s1</w> too, and s3</w> is none: two symbols that are no pieces
    echo 's1 s3 s other' | tf-tokenize -m m.tfm --pieces | grep -qx 's1</w> s 3</w> s</w> o t h e r</w>'
    echo 's1 s3' | tf-tokenize -m m.tfm | tf-cbor json | grep -q '"ids":\[5,3,3\]'
    echo 'w1x w1' | tf-tokenize -m m.tfm --target --pieces | grep -qx 'w1 x</w> w 1</w>'
    for ids in '[5,4,6,7]' '[4,5]'; do echo "$ids"; done | stream --target | tf-cbor unjson |
        tf-tokenize -d -m m.tfm >text
    printf '%s\n' 'w1w0 w2w3' 'w0 w1' | cmp - text
    echo 's1 s1' | tf-translate -m m.tfm --max-extra 5 | grep -Eqx '(w[0-9]+ ?)+'
    # Of a merge that is there twice the last counts, as in FSMTTokenizer.
    cp -r d twice
    printf 'w 1\n1 x</w>\nw 1\n' >twice/merges.txt
    tf-convert twice -o x.tfm
    echo w1x | tf-tokenize -m x.tfm --pieces | grep -qx 'w 1x</w>'
    t 0 tf-convert m.tfm --to ctranslate2 -o x
    expect_contains "$stderr" "x/source.spm: SentencePiece, which splits text by it, has no codes of byte-pair encoding"
    tf-convert x -o back.tfm
    cmp <(tf-info back.tfm | grep ^model) <(tf-info m.tfm | grep ^model)
}

@test "examples/fairseq translates with other programs around it" {
    need "$TF_PYTHON"
    make source=40 tie=none
    echo 's1 s2' >text
    tf-convert d -o m.tfm
    tf-translate -m m.tfm --max-extra 5 text | tr w v >want
    export TF_BIN TOKENIZE='tr S s' DETOKENIZE='tr w v' OPTIONS='--max-extra 5'
    TF_BIN=$(dirname "$(command -v tf-convert)")
    tr s S <text >capitals
    "$TOP/examples/fairseq/run" d/ capitals | cmp - want
    "$TOP/examples/fairseq/run" d <capitals | cmp - want
    t 2 "$TOP/examples/fairseq/run"
    expect_error usage
}

# MESSAGE: of tf-convert about x
x_is_refused() {
    t 1 tf-convert x -o x.tfm
    expect_error "$1"
    [ ! -e x.tfm ]
}

# MESSAGE JQ: with config.json changed so
refused() {
    jq "$2" d/config.json >x/config.json
    x_is_refused "$1"
}

@test "settings that we do not compute are refused by name, and so are wrong sizes" {
    need "$TF_PYTHON"
    make source=40 tie=none
    cp -r d x
    refused 'x/pytorch_model.bin: config.json: settings that are not supported: scale_embedding: false, activation_function: gelu_new' \
        '.scale_embedding = false | .activation_function = "gelu_new"'
    refused 'decoder_start_token_id: another than eos_token_id' '.decoder_start_token_id = 0'
    refused 'pad_token_id: 5' '.pad_token_id = 5'
    refused 'decoder_ffn_dim: 1' '.decoder_ffn_dim = 1'
    refused 'model_type: marian' '.model_type = "marian"'
    refused "tensor 'encoder.embed_positions.weight': not a table of positions" 'del(.d_model)' # 1024
    refused 'd_model: ' '.d_model = "wide"'
    refused 'd_model 15: not a multiple of 4 heads' '.d_model = 15'
    refused "tensor 'encoder.embed_positions.weight': not a table of positions" '.d_model = 20'
    refused 'src_vocab_size 41, tgt_vocab_size 56, and 44 and 56 embeddings' '.src_vocab_size = 41'
    refused "should be one matrix, and differ" '.tie_word_embeddings = true'
    refused "tensor 'decoder.layers.1." '.decoder_layers = 1'
    refused "config.json: not a JSON object" '[.]'
    cp d/config.json x/
    jq '.do_lower_case = true' d/tokenizer_config.json >x/tokenizer_config.json
    t 1 tf-convert x -o x.tfm
    expect_error 'x/tokenizer_config.json: settings that are not supported: do_lower_case: true'
    cp d/tokenizer_config.json x/
    t 2 tf-convert x --vocab m.npz -o x.tfm
    expect_error '--vocab: x/pytorch_model.bin has vocabularies of its own'
    t 2 tf-convert x --vocab m.npz --pieces d/vocab-src.json -o x.tfm
    t 1 tf-convert x/pytorch_model.bin -o x.tfm
    expect_error 'a file of PyTorch, neither of fairseq nor in a directory of transformers'
    make source=40 tie=none positions=learned
    t 1 tf-convert d -o x.tfm
    expect_error "d/pytorch_model.bin: tensor 'encoder.embed_positions.weight': other positions than sinusoids"
}

# MESSAGE FILE COMMAND: with x/FILE made by that
broken() {
    rm -rf x
    cp -r d x
    eval "$3" >x/"$2"
    x_is_refused "x/$2: $1"
}

@test "vocabularies and merges that are damaged or contradict the model are refused" {
    need "$TF_PYTHON"
    make source=40 tie=none
    broken '43 pieces, and 44 embeddings' vocab-src.json 'jq "del(.[\"s39</w>\"])" d/vocab-src.json'
    broken '57 pieces, and 56 embeddings' vocab-tgt.json 'jq ".more = 56" d/vocab-tgt.json'
    broken "'s39</w>': the id 99 in a list of 44" vocab-src.json 'jq ".[\"s39</w>\"] = 99" d/vocab-src.json'
    broken "'s38</w>' and 's39</w>' have the id 42" vocab-src.json 'jq ".[\"s39</w>\"] = 42" d/vocab-src.json'
    broken "piece 's38</w>' is there twice" vocab-src.json 'sed "s/s39/s38/" d/vocab-src.json'
    broken 'no piece <unk>' vocab-src.json 'sed "s/<unk>/<unc>/" d/vocab-src.json'
    broken '' vocab-src.json 'head -c 100 d/vocab-src.json'
    broken 'the last line does not end' merges.txt 'printf "w 1\nw 2"'
    broken 'line 2: not two symbols' merges.txt 'printf "w 1\nw2\n"'
    broken 'line 2: not two symbols' merges.txt 'printf "w 1\nw 1 2\n"'
    broken "merge 2: 'xy' is no character, and no line before makes it" merges.txt 'printf "w 1\nxy z\n"'
    broken 'no codes' merges.txt 'echo "#version: 0.2"'
    broken 'codes of another version than 0.1 and 0.2: #version: 7' merges.txt 'printf "#version: 7\nw 1\n"'
    broken 'codes that are not UTF-8' merges.txt 'printf "w \377\n"'
    for f in vocab-tgt.json merges.txt pytorch_model.bin; do
        rm -rf x
        cp -r d x
        rm "x/$f"
        t 1 tf-convert x -o x.tfm
        expect_error "x: no ${f/pytorch_model.bin/model.safetensors or pytorch_model.bin}"
    done
}
