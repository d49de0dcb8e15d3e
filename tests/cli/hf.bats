#!/usr/bin/env bats
# tf-convert: directories that transformers and CTranslate2 wrote, with what transformers computes
# (golden/hf), and what is written for them.
bats_require_minimum_version 1.5.0
load helper

prepare() {
    need jq
    G=$TOP/tests/golden/hf
}

fingerprint() { tf-info "$1" | grep '^model'; }

# DIR: the cases of that directory
cases() { jq -c --arg m "$1" 'select(.model == $m)' "$G/expected"; }

# Ids of m.tfm, a line of JSON each, as a stream
stream() {
    tf-tokenize -m m.tfm "$@" </dev/null | tf-cbor json | head -n 1
    awk '{ print "{\"type\":\"tokens\",\"idx\":" NR - 1 ",\"ids\":" $0 "}" }'
    echo '{"type":"end"}'
}

# CASES LEAST: m.tfm scores as many cases as that or more, each as transformers does
agrees() {
    jq -c .ids "$1" | stream | tf-cbor unjson >source.tfs
    jq -c .target "$1" | stream --target | tf-cbor unjson >target.tfs
    tf-score -q -m m.tfm source.tfs target.tfs | tf-cbor json | jq -c 'select(.logp)' >scores
    jq .logp "$1" | paste - <(jq '.logp' scores) >both
    awk -v least="$2" '{ d = $1 - $2 } d > 1e-4 || d < -1e-4 { print; bad = 1 }
        END { exit bad || NR < least }' both
}

# JQ: the directory d, with its config.json changed so
changed() {
    jq "$1" d/config.json >config && cp config d/config.json
}

@test "MarianMT with tags: ids, log-probabilities; the tags keep their names in other formats" {
    cases marian | jq -c 'select(.less == [])' >want
    t 0 tf-convert --positions halves "$G/marian" -o m.tfm
    jq -r .text want | tf-tokenize -m m.tfm | tf-cbor json | jq -c 'select(.ids).ids' >ids
    jq -c .ids want | cmp - ids
    agrees want 4
    for to in hf ctranslate2; do
        tf-convert m.tfm --to $to -o $to
        tf-convert $to -o back.tfm
        [ "$(fingerprint back.tfm)" = "$(fingerprint m.tfm)" ]
        jq -r .text want | tf-tokenize -m back.tfm | tf-cbor json | jq -c 'select(.ids).ids' | cmp - ids
    done
    cmp <(jq -S . hf/vocab.json) <(jq -S . "$G/marian/vocab.json")
    jq -e '.[2:4] == [">>fra<<", ">>zlm_Latn<<"]' ctranslate2/shared_vocabulary.json
    # Here a tag may be the text of a target, too, as in transformers.
    echo '[2,5]' | stream --target | tf-cbor unjson | tf-tokenize -d -m m.tfm | grep -qx '>>fra<<.*'
}

@test "transformers has the same ids for what is written, tags too" {
    need_peer transformers torch
    tf-convert "$G/marian" -o m.tfm
    tf-convert m.tfm --to hf -o hf
    cases marian | jq -r .text >text
    "$PEER_PYTHON" -c 'import sys, transformers
t = transformers.MarianTokenizer.from_pretrained("hf")
for line in sys.stdin: print(str(t(line.rstrip("\n"))["input_ids"][:-1]).replace(" ", ""))' <text >got
    tf-tokenize -m m.tfm text | tf-cbor json | jq -c 'select(.ids).ids' | cmp - got
    cases marian | jq -c .ids | cmp - got
}

@test "NLLB by CTranslate2's converter: the tag is not part of the text" {
    tf-convert "$G/ct2" -o m.tfm
    tf-translate -q -k 1 --max-extra 8 -m m.tfm --begin fra_Latn <<<'eng_Latn walhaus 7' >text
    grep -q . text
    run -1 grep fra_Latn text
    tf-convert m.tfm --to ctranslate2 -o x
    cmp <(jq -c . "$G/ct2/shared_vocabulary.json") <(jq -c . x/shared_vocabulary.json)
    tf-convert x -o back.tfm
    [ "$(fingerprint back.tfm)" = "$(fingerprint m.tfm)" ]
    # Nor where another program splits words.
    cp -r x words
    rm words/*.spm
    jq 'map(gsub("▁"; "_"))' x/shared_vocabulary.json >words/shared_vocabulary.json
    tf-convert words -o w.tfm
    tf-translate -q -k 1 --max-extra 8 -m w.tfm --begin fra_Latn <<<'eng_Latn wal haus' >text
    grep -q . text
    run -1 grep fra_Latn text
}

@test "keys that config.json lacks are those of transformers' classes" {
    cases marian | jq -c 'select(.less != [])' >want
    cp -r "$G/marian" d
    changed "del(.[$(jq -c '.less[]' want | sort -u | paste -sd,)])"
    tf-convert --positions halves d -o m.tfm
    agrees want 4
    cp -r "$G/marian/config.json" d/
    changed 'del(.activation_function, .scale_embedding)'
    t 1 tf-convert d -o x.tfm
    expect_error "settings that are not supported: scale_embedding: false (which transformers takes, as the key is absent), activation_function: gelu (which transformers takes, as the key is absent)"
    # Other names that the classes have for a key; a width that is not that of the file
    cp -r "$G/marian/config.json" d/
    changed '.num_attention_heads = .encoder_attention_heads | .hidden_size = .d_model |
             .num_hidden_layers = .encoder_layers |
             del(.encoder_attention_heads, .d_model, .encoder_layers)'
    tf-convert --positions halves d -o m.tfm
    agrees want 4
    changed 'del(.hidden_size)'
    t 1 tf-convert d -o x.tfm
    expect_error "tensor 'model.shared.weight'"
}

@test "each key alone that config.json lacks: as transformers, or refused" {
    need_peer transformers torch
    local n=0
    cp -r "$G/marian" d
    tf-convert --positions halves d -o m.tfm
    cases marian | jq -c 'select(.less == []) | [.ids, .target]' >pairs
    t 0 "$PEER_PYTHON" "$TOP/tests/cli/hf_peer.py" less d pairs
    printf '%s\n' "$output" >theirs
    for key in $(jq -r 'del(.model_type) | keys[]' "$G/marian/config.json"); do
        cp "$G/marian/config.json" d/
        changed "del(.$key)"
        tf-convert --positions halves d -o m.tfm 2>/dev/null || continue
        jq -c --arg k "$key" 'select(.key == $k).logp[]' theirs >logp
        cases marian | jq -c 'select(.less == [])' | paste logp - |
            awk '{ n = $1; sub(/[^\t]*\t/, ""); sub(/}$/, ",\"logp\":" n "}"); print }' >want
        agrees want 4 || { echo "$key"; return 1; }
        n=$((n + 1))
    done
    [ $n -ge 15 ]
}
