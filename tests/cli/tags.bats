#!/usr/bin/env bats
# Tags of languages in models that other programs wrote: tf-info lists them, and what lacks one, or
# has another, is reported.
load helper

prepare() {
    cp -r "$TOP/tests/golden/hf" golden
    gunzip -r golden
    tf-convert golden/nllb -o nllb.tfm
    tf-convert golden/marian -o marian.tfm
}

@test "tf-info lists the tags of a model and of a vocabulary" {
    [ "$(tf-info --json nllb.tfm | jq -c .tags)" = '["eng_Latn","fra_Latn","zho_Hans"]' ]
    [ "$(tf-info --json marian.tfm | jq -c .tags)" = '[">>fra<<",">>zlm_Latn<<"]' ]
    tf-info nllb.tfm | grep -A1 '^tags$' | grep -qx '  eng_Latn fra_Latn zho_Hans'
    seq 100 >text
    symbols=$(printf -- '--symbol >>l%s<< ' {a..o})
    # Two that only look like a tag.
    # shellcheck disable=SC2086
    tf-tokenize --train --vocab-size 40 $symbols --symbol '>>-<<' --symbol '<<x>>' \
        -o v.model text
    [ "$(tf-info --json v.model | jq -r '.tags | join(" ")')" = \
        "$(printf '>>l%s<< ' {a..o} | sed 's/ $//')" ]
    tf-info v.model | grep -A2 '^tags$' | awk 'length > 79 { exit 1 } END { exit NR != 3 }'
    tf-tokenize --train --vocab-size 20 -o plain.model text
    [ "$(tf-info --json plain.model | jq .tags)" = null ]
}

# shellcheck disable=SC2154
@test "lines without a tag of the model are reported once and counted" {
    printf '%s\n' '>>fra<< a' '' 'b' '>>xx<< c' 'd' ' >>zlm_Latn<< e' '>>fra<<f' \
        >text
    t 0 tf-tokenize -m marian.tfm -o s.tfs text
    [ "$stderr" = "tf-tokenize: warning: text: line 3 begins with no language's tag, as the model \
expects; its tags are >>fra<<, >>zlm_Latn<<
tf-tokenize: warning: text: line 4: >>xx<< is no tag of the model; its tags are >>fra<<, \
>>zlm_Latn<<
tf-tokenize: warning: text: 4 of 7 lines begin with no tag of the model" ]
    t 0 tf-tokenize -m marian.tfm --pieces text
    expect_contains "$stderr" "4 of 7 lines"
    sed -n '1p;2p;7p' text >good
    t 0 tf-tokenize -m marian.tfm -o s.tfs good
    [ -z "$stderr" ]
    t 0 tf-tokenize --target -m marian.tfm -o s.tfs text
    [ -z "$stderr" ]
    t 0 tf-tokenize --begin eng_Latn -m nllb.tfm -o s.tfs text
    [ -z "$stderr" ]
}

# Ids by MarianTokenizer of transformers 4.57.3 and 5.24; but for those of the last two lines,
# which there are unknown up to <<.
@test "a tag is one at the start of a text alone, whatever comes after it" {
    rm -r golden
    golden marian_tokenizer
    tf-convert "$G/m" -o m.tfm
    cat >cases <<'END'
>>deu<< the dog|66,1,5,4,2,3,10,1
>>deu<<the dog|66,1,5,4,2,3,10,1
>>deu<< >>deu<< the dog|66,2,1,3,4,37,1,1,5,4,2,3,10,1
>>deu<<>>deu<<the dog|66,2,1,3,4,37,1,15,5,4,2,3,10,1
 >>deu<< the dog|2,1,3,4,37,1,1,5,4,2,3,10,1
the dog >>deu<< the cat|1,5,4,2,3,10,1,2,1,3,4,37,1,1,5,4,20
the>>deu<< dog|1,5,4,1,3,4,37,1,2,3,10,1
>>deu<<|66
>>deu<< |66
>>deu<<  the|66,1,5,4
>>xyz<<the|1,1,5,4
>>deu<|2,1,3,4,37,1
<ent> >>deu<< dog|68,2,1,3,4,37,1,2,3,10,1
<ent>>>deu<< dog|68,66,2,3,10,1
>>deu<<<ent>dog|66,68,2,3,10,1
>> the dog << cat|2,1,1,5,4,2,3,10,1,2,1,20
>><< a|2,1,7
END
    cut -d'|' -f1 cases | tf-tokenize -m m.tfm | tf-cbor json | jq -r 'select(.ids).ids | @csv' >ids
    cut -d'|' -f2 cases | diff - ids
    [ "$(tf-info --json m.tfm | jq -c '[.tags, .added_tokens]')" = \
        '[[">>deu<<"],["<ent>","QX77","<lang de>"]]' ]
    # Also where the model has one tag.
    printf '%s\n' '>>xyz<< the' 'the' '>>deu<< the' >text
    t 0 tf-tokenize -m m.tfm -o s.tfs text
    [ "$stderr" = "tf-tokenize: warning: text: line 1: >>xyz<< is no tag of the model; its tags are >>deu<<
tf-tokenize: warning: text: line 2 begins with no language's tag, as the model expects; its tags are >>deu<<
tf-tokenize: warning: text: 2 of 3 lines begin with no tag of the model" ]
}

@test "a wrong --begin suggests tags, in both tools alike" {
    echo 'eng_Latn a' | tf-tokenize -m nllb.tfm -o s.tfs
    while read -r begin want; do
        t 2 tf-decode -q --begin "$begin" -m nllb.tfm s.tfs
        expect_error "tf-decode: --begin $begin: no piece of nllb.tfm; $want"
        t 2 tf-tokenize --begin "$begin" -m nllb.tfm s.tfs
        expect_error "tf-tokenize: --begin $begin: no piece of the vocabulary; $want"
    done <<'END'
fr did you mean fra_Latn?
FRA_latn did you mean fra_Latn?
__zh__ did you mean zho_Hans?
>>eng<< did you mean eng_Latn?
xx its tags are eng_Latn, fra_Latn, zho_Hans
END
    for piece in '</s>' '<unk>' '<pad>'; do
        for tool in 'tf-decode -q' tf-tokenize; do
            # shellcheck disable=SC2086
            t 2 $tool --begin "$piece" -m nllb.tfm s.tfs
            expect_error "--begin $piece: never part of a text"
        done
    done
}

@test "outputs of a model of many languages without --begin are reported" {
    echo 'eng_Latn a' | tf-tokenize -m nllb.tfm -o s.tfs
    t 0 tf-decode -q -m nllb.tfm -o o.tfs s.tfs
    expect_contains "$stderr" "nllb.tfm: a model of 3 languages without --begin, such as --begin eng_Latn"
    t 0 tf-decode -q --begin fra_Latn -m nllb.tfm -o o.tfs s.tfs
    [ -z "$stderr" ]
    t 0 tf-decode -q --prefix s.tfs -m nllb.tfm -o o.tfs s.tfs
    [ -z "$stderr" ]
    echo '>>fra<< a' | tf-tokenize -m marian.tfm -o s.tfs
    t 0 tf-decode -q -m marian.tfm -o o.tfs s.tfs
    [ -z "$stderr" ]
}
