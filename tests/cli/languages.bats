#!/usr/bin/env bats
# Labels of languages: tf-tokenize writes them, tf-batch combines them, models have them, and every
# tool compares them. What has no label is accepted.
load helper

setup_file() {
    cd "$BATS_FILE_TMPDIR" || return 1
    printf '%s\n' 'a b c' 'b c a' 'c c' 'a a b' 'b' 'c a' | tee en | tac >de
    tf-tokenize --train --vocab-size 12 --type bpe -o v en de 2>log || { cat log >&2; return 1; }
    for l in en de; do
        tf-tokenize -m v --lang $l $l >$l.tfs
        tf-tokenize -m v $l >$l.plain.tfs
    done
    tf-batch -q --tokens 40 --epochs 60 en.tfs de.tfs >b.tfs
    tf-batch -q --tokens 40 --epochs 60 de.tfs en.tfs >swapped.tfs
    tf-batch -q --tokens 40 --epochs 60 en.plain.tfs de.plain.tfs >plain.tfs
    tf-train "${small[@]}" --steps 6 --save-every 3 --vocab v -o run b.tfs &&
        tf-avgckpt -n 2 run -o m.tfm
}

small=(-q --preset tiny --layers 1 --d-model 16 --d-ff 32 --heads 2 --device cpu)

prepare() {
    ln -s "$BATS_FILE_TMPDIR"/* .
}

# The labels in the header of FILE.
labels() {
    tf-cbor json "$1" | head -1 | jq -c '[.header.lang, .header.target_lang]'
}

@test "labels go from tf-tokenize through tf-batch and tf-train to the model and its outputs" {
    [ "$(labels en.tfs)" = '["en",null]' ]
    [ "$(labels b.tfs)" = '["en","de"]' ]
    [ "$(labels run/ckpt-00000006.tfm)" = '["en","de"]' ]
    [ "$(labels m.tfm)" = '["en","de"]' ]
    [ "$(tf-decode -m m.tfm en.tfs | labels -)" = '["de",null]' ]
    [ "$(tf-decode -m m.tfm --nbest 2 en.tfs | labels -)" = '["de",null]' ]
    [ "$(tf-score -m m.tfm en.tfs de.tfs 2>/dev/null | labels -)" = '["en","de"]' ]
    t 0 tf-info m.tfm
    expect_contains "$output" "lang                 en"
    expect_contains "$output" "target_lang          de"
    grep -q '"event":"start".*"data":{.*"lang":"en","target_lang":"de"' run/log.jsonl
    # In other formats and back.
    tf-cbor json m.tfm | tf-cbor unjson | cmp - m.tfm
    tf-convert m.tfm | tf-convert -o back.tfm
    [ "$(labels back.tfm)" = '["en","de"]' ]
}

@test "without labels nothing is written, and nothing compared" {
    [ "$(labels plain.tfs)" = '[null,null]' ]
    t 0 tf-decode -m m.tfm -o out.tfs en.plain.tfs
    [ "$(labels out.tfs)" = '["de",null]' ]
    tf-train "${small[@]}" --steps 3 --save-every 3 --vocab v -o plain plain.tfs
    tf-decode -m plain/ckpt-00000003.tfm -o out.tfs en.tfs
    [ "$(labels out.tfs)" = '[null,null]' ]
    # The bytes are those of a stream without the key and the option in its provenance.
    tf-cbor json en.tfs | jq -c 'if .header then del(.header.lang, .header.made[0].opts.lang) else . end' |
        tf-cbor unjson | cmp - en.plain.tfs
}

@test "swapped sides are refused by name, and --force-lang accepts them" {
    for tool in "tf-decode -m m.tfm de.tfs" "tf-score -m m.tfm de.tfs en.tfs" \
        "tf-attn -m m.tfm -l 1 de.tfs en.tfs"; do
        # shellcheck disable=SC2086
        t 1 $tool -o out
        expect_error "de.tfs: the source is 'de', the model translates 'en' to 'de' (--force-lang accepts it)"
        # shellcheck disable=SC2086
        t 0 $tool -o out --force-lang
    done
    t 1 tf-score -m m.tfm swapped.tfs
    expect_error "swapped.tfs: the source is 'de'"
    t 1 tf-score -m m.tfm en.plain.tfs en.tfs
    expect_error "en.tfs: the target is 'en', the model translates 'en' to 'de'"
    t 1 tf-decode -m m.tfm --prefix en.tfs en.tfs -o out
    expect_error "en.tfs: the target is 'en'"
    # Sets of tokens have no language.
    t 0 tf-decode -m m.tfm --insert de.tfs en.tfs -o out
}

@test "the models of an ensemble translate alike" {
    tf-train "${small[@]}" --steps 3 --save-every 3 --vocab v -o other swapped.tfs
    t 1 tf-decode -m m.tfm -m other/ckpt-00000003.tfm en.tfs -o out
    expect_error "other/ckpt-00000003.tfm: the source is 'de', the model translates 'en' to 'de'"
    t 0 tf-decode --force-lang -m m.tfm -m other/ckpt-00000003.tfm en.tfs -o out
}

@test "tf-batch: the parts of a side agree" {
    cat en.tfs en.plain.tfs >more.en.tfs
    cat de.plain.tfs de.tfs >more.de.tfs
    tf-batch -q --tokens 40 more.en.tfs more.de.tfs >more.tfs
    [ "$(labels more.tfs)" = '["en","de"]' ]
    cat de.tfs de.tfs >two.de.tfs
    cat en.tfs de.tfs >mixed.tfs
    t 1 tf-batch -q --tokens 40 mixed.tfs two.de.tfs -o out
    expect_error "mixed.tfs: the source is 'de', but 'en' in an earlier header"
    t 1 tf-batch -q --tokens 40 two.de.tfs mixed.tfs -o out
    expect_error "mixed.tfs: the target is 'de', but 'en' in an earlier header"
    # A stream of pairs has both.
    tf-batch -q --tokens 50 "$TOP/formats/vectors/pairs.cbor" >pairs
    [ "$(labels pairs)" = '["en","de"]' ]
    # The same language on both sides is a choice.
    t 0 tf-batch -q --tokens 40 en.tfs en.tfs -o out
    [ "$(labels out)" = '["en","en"]' ]
}

@test "tf-train: the parts of its stream, validation data, resumed runs and --init are compared" {
    cat b.tfs swapped.tfs >both.tfs
    t 1 tf-train "${small[@]}" --steps 1000 -o both both.tfs
    expect_contains "$stderr" "part 1: the source is 'de', but 'en' in an earlier header"
    t 1 tf-train "${small[@]}" --steps 3 --valid swapped.tfs -o new b.tfs
    expect_contains "$stderr" "swapped.tfs: the source is 'de', but 'en' in an earlier header"
    t 0 tf-train "${small[@]}" --steps 3 --valid plain.tfs -o new b.tfs

    cp -r run/ mine
    t 1 tf-train "${small[@]}" --steps 9 --save-every 3 --vocab v -o mine swapped.tfs
    expect_contains "$stderr" "languages 'en' to 'de' in the checkpoint, 'de' to 'en' in the stream"
    t 0 tf-train "${small[@]}" --steps 9 --save-every 3 --vocab v --force -o mine swapped.tfs
    [ "$(labels mine/ckpt-00000009.tfm)" = '["de","en"]' ]

    t 1 tf-train -q --device cpu --init m.tfm --steps 3 -o tuned swapped.tfs
    expect_contains "$stderr" "m.tfm: the stream: the source is 'de', the model translates 'en' to 'de' (--force accepts it)"
    t 0 tf-train -q --device cpu --init m.tfm --steps 3 --save-every 3 -o tuned plain.tfs
    [ "$(labels tuned/ckpt-00000003.tfm)" = '["en","de"]' ]
    t 0 tf-train -q --device cpu --init m.tfm --steps 3 --save-every 3 --force -o other.tuned \
        swapped.tfs
    [ "$(labels other.tuned/ckpt-00000003.tfm)" = '["de","en"]' ]
}

@test "a resumed run whose stream lost its labels keeps those of the checkpoint" {
    cp -r run/ mine
    sh_t 0 "tf-cbor json b.tfs | jq -c 'if .header then del(.header.lang, .header.target_lang) else . end' |
        tf-cbor unjson | tf-train ${small[*]} --steps 9 --save-every 3 --vocab v --force -o mine"
    [ "$(labels mine/ckpt-00000009.tfm)" = '["en","de"]' ]
}

@test "what is no label" {
    for label in '' 'e n' 'ä' "$(printf %036d 0)"; do
        t 2 tf-tokenize -m v --lang "$label" en
        expect_error "a label has 1 to 35 letters"
    done
    t 0 tf-tokenize -m v --lang zh-Hans_x -o out.tfs en
    t 2 tf-tokenize -d -m v --lang en en.tfs
    sh_t 1 "echo '{\"type\":\"header\",\"header\":{\"v\":1,\"kind\":\"tokens\",\"lang\":\"\\u001b[1m\"}}' |
        tf-cbor unjson"
    expect_error "no language label"
}
