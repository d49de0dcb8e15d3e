#!/usr/bin/env bats
# Ids that no sentence has, as tokenizers of other programs put them around it: eos, padding, bos.
load helper
load translate

setup_file() {
    make_model
}

prepare() { need jq; }

# FILTER <tokens >tokens: a filter of jq is done to the ids of each sentence.
edit() {
    tf-cbor json | jq -c "if .ids then .ids |= ($1) elif .type == \"end\" then {type} else . end" |
        tf-cbor unjson
}

@test "eos and padding make a sentence bad for every reader, and none changes it" {
    tf-cbor head -n 4 "$LINES_TFS" >four.tfs
    for row in '. + [3]|with id 3, which is the end of a sentence' \
        '[3] + .|with id 3, which is the end of a sentence' \
        '. + [0, 0]|with id 0, which is padding' '. + [11]|id 11, the vocabulary has 11'; do
        what=${row#*|}
        if [[ $row == *11* ]]; then
            tf-cbor json four.tfs | jq -c "del(.header.size) | if .ids then .ids |= . + [11]
                elif .type == \"end\" then {type} else . end" | tf-cbor unjson >bad.tfs
        else
            edit "${row%|*}" <four.tfs >bad.tfs
            t 1 tf-cbor check bad.tfs
            expect_error "bad.tfs: 4 of 4 records bad; the first is record 0: sentence $what"
        fi
        t 4 tf-decode -q -m "$MODEL" bad.tfs -o out.tfs
        expect_contains "$stderr" "source $what"
        tf-cbor count out.tfs | grep -qx "bad	4"
        t 1 tf-decode -q --bad fail -m "$MODEL" bad.tfs
        t 0 tf-decode -q --bad ok -m "$MODEL" bad.tfs -o out.tfs
        t 4 tf-score -q -m "$MODEL" bad.tfs four.tfs -o out.tfs
        expect_contains "$stderr" "source $what"
        t 4 tf-score -q -m "$MODEL" four.tfs bad.tfs -o out.tfs
        expect_contains "$stderr" "target $what"
        t 4 tf-attn -q -m "$MODEL" -k cross four.tfs bad.tfs -o out.tfs
        expect_contains "$stderr" "target $what"
        t 4 tf-decode -q -m "$MODEL" --prefix bad.tfs four.tfs -o out.tfs
        expect_contains "$stderr" "prefix $what"
        t 4 tf-tokenize -d -m "$MODEL" bad.tfs
        [ "$output" = "$(printf '\n\n\n\n')" ]
    done
}

@test "tf-batch drops and counts them, by what is wrong" {
    tf-tokenize -m "$MODEL" <"$LINES_TXT" >good.tfs
    n=$(wc -l <"$LINES_TXT")
    tf-cbor json good.tfs | jq -c 'if .ids and .idx % 2 == 1 then .ids += [3]
        elif .type == "end" then {type} else . end' |
        tf-cbor unjson >half.tfs
    for pair in 'half.tfs good.tfs' 'good.tfs half.tfs'; do
        # shellcheck disable=SC2086
        t 0 tf-batch --tokens 400 --min-length 0 $pair -o b.tfs
        expect_contains "$stderr" "half.tfs: record 1: "
        expect_contains "$stderr" "with id 3, which is the end of a sentence, which only a model adds: dropped"
        expect_contains "$stderr" "$((n / 2)) with special ids"
        tf-cbor check b.tfs
    done
    edit '. + [3]' <good.tfs >all.tfs
    t 1 tf-batch -q --tokens 400 all.tfs good.tfs
    expect_contains "$stderr" "with special ids"
}

@test "tf-train refuses batches with them, of training and of validation" {
    tf-tokenize -m "$MODEL" <"$LINES_TXT" >good.tfs
    tf-batch -q --tokens 400 good.tfs good.tfs >b.tfs
    train() {
        t "$1" tf-train -q --device cpu --init "$MODEL" --steps 1 --no-save -o run --valid-every 1 \
            --valid "$2" "$3"
    }
    for row in 'src 3 source the end of a sentence' 'tgt 3 target the end of a sentence' \
        'src 0 source padding' 'tgt 0 target padding'; do
        read -r side id name what <<<"$row"
        tf-cbor json b.tfs | jq -c "if .${side} then .${side}[1][1] = $id
            elif .type == \"end\" then {type} else . end" | tf-cbor unjson >bad.tfs
        t 1 tf-cbor check bad.tfs
        expect_error "records bad; the first is batch 0: $name with id $id, which is $what"
        train 1 b.tfs bad.tfs
        expect_contains "$stderr" "bad.tfs: batch 0: $name with id $id, which is $what"
        train 1 bad.tfs b.tfs
        expect_contains "$stderr" "bad.tfs: batch 0: $name with id $id, which is $what"
    done
    train 0 b.tfs b.tfs
}

@test "bos is used, with a warning, once" {
    tf-tokenize -m "$MODEL" <"$LINES_TXT" >good.tfs
    edit '[2] + .' <good.tfs >bos.tfs
    about="with id 2, which is bos; a model adds on its own what begins a sentence"
    once() {
        t 0 "$@"
        [ "$(grep -c "$about" <<<"$stderr")" -eq 1 ]
    }
    once tf-cbor check bos.tfs
    once tf-batch -q --tokens 400 bos.tfs good.tfs -o b.tfs
    once tf-train -q --device cpu --init "$MODEL" --steps 2 --no-save -o run b.tfs
    once tf-decode -q -m "$MODEL" bos.tfs -o out.tfs
    once tf-score -q -m "$MODEL" good.tfs bos.tfs -o out.tfs
    # also where the header names no special ids
    tf-cbor json bos.tfs | jq -c 'del(.header.special) | if .type == "end" then {type} else . end' |
        tf-cbor unjson >bare.tfs
    once tf-decode -q -m "$MODEL" bare.tfs -o out.tfs
    t 0 tf-tokenize -d -m "$MODEL" bos.tfs
    [ -z "$stderr" ]
    # <s> of a model whose decoder starts with another id
    golden tune
    tf-convert "$G/nllb" -o m.tfm 2>/dev/null
    echo 'eng_Latn the red cat' | tf-tokenize -m m.tfm | edit '[0] + .' |
        tf-cbor json | jq -c 'del(.header.special) | if .type == "end" then {type} else . end' |
        tf-cbor unjson >bos.tfs
    about="with id 0, which is bos"
    once tf-decode -q -m m.tfm bos.tfs -o out.tfs
}
