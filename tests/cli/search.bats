#!/usr/bin/env bats
# The search that a model carries: what tf-convert stores, what tf-decode and tf-translate take,
# what hands it on.
load helper
load translate

setup_file() {
    make_model
}

prepare() {
    head -40 "$LINES_TXT" >text
    tf-tokenize -m "$MODEL" text >text.tfs
}

search_of() { tf-info --json "$1" | jq -c '.search // {}'; }
ids_of() { tf-cbor json "$1" | jq -c 'select(.type == "tokens").ids'; }
options_of() { tf-cbor json "$1" | jq -c 'select(.type == "header").header.made[-1].opts'; }

@test "settings of a model are the defaults, the command line wins, provenance has them" {
    t 0 tf-convert --to tfm --search beam=2 --search normalize=1 --search search=marian \
        --search allow-unk=yes --search min-length=3 -o m.tfm "$MODEL"
    [ "$(search_of m.tfm)" = \
        '{"beam":2,"search":"marian","allow-unk":true,"normalize":1,"min-length":3}' ]
    # It is no part of the model.
    [ "$(tf-info "$MODEL" | grep '^model')" = "$(tf-info m.tfm | grep '^model')" ]
    given=(--beam 2 --normalize 1 --search marian --allow-unk --min-length 3)
    tf-decode -q -m m.tfm -o stored text.tfs
    tf-decode -q -m "$MODEL" "${given[@]}" -o given text.tfs
    cmp stored given
    tf-decode -q -m m.tfm --search paper text.tfs >paper
    tf-decode -q -m "$MODEL" --search paper text.tfs | cmp - paper
    tf-decode -q -m "$MODEL" text.tfs >plain
    cmp <(ids_of plain) <(ids_of paper)
    cmp -s <(ids_of plain) <(ids_of stored) && return 1
    # One that is given, and another penalty than the model's.
    cmp <(tf-decode -q -m m.tfm --beam 5 text.tfs) \
        <(tf-decode -q -m "$MODEL" "${given[@]:2}" --beam 5 text.tfs)
    cmp <(tf-decode -q -m m.tfm --alpha 0.9 text.tfs) \
        <(tf-decode -q -m "$MODEL" --beam 2 --alpha 0.9 "${given[@]:4}" text.tfs)
    cmp <(tf-decode -q -m m.tfm --early-stopping text.tfs) \
        <(tf-decode -q -m "$MODEL" "${given[@]:0:4}" --early-stopping "${given[@]:6}" text.tfs)
    [ "$(options_of stored | jq -c '[.beam, .search, .normalize, ."min-length"]')" = '[2,"marian",1,3]' ]
    # Where they have no use.
    cmp <(tf-decode -q -m m.tfm --sample text.tfs) \
        <(tf-decode -q -m "$MODEL" --sample --normalize 1 --allow-unk --min-length 3 text.tfs)
    cmp <(tf-translate -q -m m.tfm text) <(tf-tokenize -d -m m.tfm given)
    t 2 tf-decode -q -m m.tfm --nbest 3 text.tfs
    expect_error "--nbest 3: larger than --beam 2 (use -k 3)"
    # The first of several.
    cmp <(tf-decode -q -m m.tfm -m "$MODEL" text.tfs | tf-cbor json | jq -c .ids) \
        <(tf-decode -q -m "$MODEL" -m "$MODEL" "${given[@]}" text.tfs | tf-cbor json | jq -c .ids)
}

@test "a precision that the model names is that of decoding on the CPU" {
    tf-convert --to tfm --search precision=int8 -o m.tfm "$MODEL"
    cmp <(tf-decode -q -m m.tfm text.tfs) <(tf-decode -q -m "$MODEL" --precision int8 text.tfs)
    cmp <(tf-decode -q -m m.tfm --precision fp32 text.tfs) <(tf-decode -q -m "$MODEL" text.tfs)
    cmp <(tf-decode -q -m m.tfm --search paper text.tfs) \
        <(tf-decode -q -m "$MODEL" --search paper text.tfs)
    tf-convert --to tfm --search begin=c -o m.tfm "$MODEL"
    cmp <(tf-decode -q -m m.tfm text.tfs) <(tf-decode -q -m "$MODEL" --begin c text.tfs)
    tf-decode -q -m m.tfm --prefix text.tfs text.tfs >/dev/null
}

@test "transformers and CTranslate2 find the same with a forced tag" {
    natively
    golden search
    t 0 tf-convert "$G/m" -o m.tfm
    expect_contains "$stderr" "decoded with --search transformers --beam 4 --normalize 1 --begin __fr__ --free-prefix --max-extra 59 --max-factor 0 --allow-unk"
    sed 's/^/__en__ /' "$G/text" | tf-tokenize -m m.tfm -o s.tfs
    # what OPTION... FIELD: lines that are equal. The end is not in ours.
    what() {
        paste <(tf-decode -q -m m.tfm "${@:1:$#-1}" s.tfs | tf-cbor json | jq -c 'select(.ids).ids') \
            <(tail -n +2 "$G/expected" | jq -c ".${*: -1}[:-1]") | awk '{ n += $1 == $2 } END { print n }'
    }
    n=$(wc -l <"$G/text")
    for device in cpu ref; do
        [ "$(what --device $device default)" -eq "$n" ]
        [ "$(what --device $device --search fairseq early)" -eq "$n" ]
        [ "$(what --device $device --search ctranslate2 --min-length 1 ct2)" -eq "$n" ]
    done
    [ "$(what early)" -lt "$n" ]
    [ "$(what --search ctranslate2 early)" -lt "$n" ]
    tf-convert "$G/m" --search free-prefix= -o counted.tfm
    [ "$(tf-decode -q -m counted.tfm s.tfs | tf-cbor json | grep -c '"tokens"')" -ge "$n" ]
    cp counted.tfm m.tfm
    [ "$(what default)" -lt "$n" ]
}

@test "Marian: the search of decoder.yml, in a directory and beside a model" {
    V=$(tf-tokenize --export-vocab -m "$MODEL" | wc -l)
    cp "$BATS_FILE_TMPDIR/vocab" v.spm
    "$TF_PYTHON" "$TOP/tests/cli/marian.py" make m.npz "$V"
    tf-convert m.npz --vocab v.spm -o alone.tfm
    [ "$(search_of alone.tfm)" = '{"search":"marian","max-extra":3,"normalize":1,"max-factor":3,"alignment-head":"2,1"}' ]
    # As Marian 1.12.42 writes it after a training.
    printf '%s\n' 'relative-paths: false' 'models:' '  - m.npz' 'vocabs:' '  - v.spm' '  - v.spm' \
        'beam-size: 12' 'normalize: 0' 'word-penalty: 0' 'mini-batch: 32' 'maxi-batch: 100' \
        'maxi-batch-sort: src' >m.npz.decoder.yml
    tf-convert m.npz --vocab v.spm -o beside.tfm
    [ "$(search_of beside.tfm)" = '{"beam":12,"search":"marian","max-extra":3,"normalize":0,"max-factor":3,"alignment-head":"2,1"}' ]
    mkdir d
    cp m.npz v.spm d/
    # As Firefox has it.
    printf '%s\n' 'models:' '  - m.npz' 'vocabs:' '  - v.spm' '  - v.spm' 'beam-size: 1' \
        'normalize: 1.0' 'word-penalty: 0.5' 'gemm-precision: int8shiftAlphaAll' \
        'max-length-factor: 2.5' >d/config.yml
    t 0 tf-convert d -o d.tfm
    expect_contains "$stderr" "decoded with --search marian --beam 1 --normalize 1 --max-extra 1 --max-factor 2.499999 --count-end --precision int8 --alignment-head 2,1, but without word-penalty"
    tf-convert d.tfm --to marian -o back
    grep -x 'max-length-factor: 2.5' back/decoder.yml
    sed -i 's/normalize: 1.0/normalize: x/' d/config.yml
    t 1 tf-convert d -o d.tfm
    expect_error "d/config.yml: normalize: "
}

@test "settings pass through every tool, can be dropped, and are none of a model trained here" {
    [ "$(search_of "$MODEL")" = '{}' ]
    tf-convert --to tfm --search beam=3 --search alpha=0.5 -o m.tfm "$MODEL"
    want='{"beam":3,"alpha":0.5}'
    for to in safetensors npz; do
        tf-convert --to $to m.tfm -o m.$to
        tf-convert m.$to -o back.tfm
        [ "$(search_of back.tfm)" = "$want" ]
    done
    tf-avgckpt m.tfm m.tfm -o mean.tfm
    [ "$(search_of mean.tfm)" = "$want" ]
    tf-tokenize -m m.tfm "$LINES_TXT" >s.tfs
    tf-batch --epochs 0 --tokens 300 s.tfs s.tfs 2>/dev/null |
        tf-train -q --device cpu --init m.tfm --steps 2 --save-every 1 -o tuned
    tf-avgckpt tuned -o tuned.tfm
    [ "$(search_of tuned.tfm)" = "$want" ]
    tf-batch --epochs 0 --tokens 300 s.tfs s.tfs 2>/dev/null |
        tf-train -q --device cpu --init m.tfm --steps 3 --save-every 1 -o tuned
    [ "$(search_of tuned/ckpt-00000003.tfm)" = "$want" ]
    tf-convert --to tfm --search beam= m.tfm -o fewer.tfm
    [ "$(search_of fewer.tfm)" = '{"alpha":0.5}' ]
    tf-convert --to tfm --search none m.tfm -o none.tfm
    [ "$(search_of none.tfm)" = '{}' ]
    tf-info m.tfm | grep -Eq '^  beam +3$'
}

@test "wrong settings are refused by name, and so are those of a later version" {
    for bad in beam=0 beam=x search=model search=paper allow-unk=1 precision=fp64 begin2=a \
        alpha=-1; do
        t 2 tf-convert --to tfm --search $bad -o x.tfm "$MODEL"
        expect_error "--search: ${bad%%=*}: "
    done
    t 2 tf-convert --to tfm --search alpha=1 --search normalize=1 -o x.tfm "$MODEL"
    expect_error "--search: alpha and normalize: two length penalties"
    t 2 tf-convert --to tfm --search beam -o x.tfm "$MODEL"
    expect_error "--search beam: neither KEY=VALUE nor none"
    tf-convert "$MODEL" --to npz --search beam=3 -o m.npz
    for bad in '"bean": 3' '"beam": 0' '"beam": "3"' '"alpha": 1, "normalize": 1' '"begin": ""'; do
        "$TF_PYTHON" - "$bad" <<'END'
import sys
import numpy as np
z = dict(np.load("m.npz"))
config = z["config"].tobytes().decode()
assert '"beam":3' in config, config
z["config"] = np.frombuffer(config.replace('"beam":3', sys.argv[1]).encode(), "u1")
np.savez("x.npz", **z)
END
        t 1 tf-convert x.npz -o x.tfm
        expect_contains "$stderr" "search: "
    done
}

lengths() { tf-cbor json "$1" | jq 'select(.type == "tokens").ids | length'; }

@test "the limit of an output: its input's tokens times a factor, and more" {
    decode() { tf-decode -q -m m.tfm --min-length 900 "$@" text.tfs >out && lengths out; }
    lengths text.tfs >n
    tf-convert --to tfm --search max-factor=0 --search max-extra=7 -o m.tfm "$MODEL"
    most() { awk "{ print (\$1 > 0 ? int($1) : 0) }" n; }
    cmp <(decode) <(most 7)
    cmp <(decode --max-factor 0 --max-extra 12) <(most 12)
    # One that is given is not added to the other of the model.
    cmp <(decode --max-extra 3) <(most '$1 + 3')
    cmp <(decode --max-factor 1.5) <(most '1.5 * $1 + 50')
    cmp <(decode --max-factor 1.4 --count-end --max-extra 0) <(most '1.4 * ($1 + 1)')
    cmp <(decode --search paper) <(most '$1 + 50')
    cmp <(decode --device ref --max-factor 2.5 --max-extra 0) <(most '2.5 * $1')
    t 2 tf-decode -m m.tfm --max-factor -1 text.tfs
    t 2 tf-convert --to tfm --search max-extra=-1 -o x.tfm "$MODEL"
}

@test "what is written for transformers and Marian has the model's search" {
    V=$(tf-tokenize --export-vocab -m "$MODEL" | wc -l)
    cp "$BATS_FILE_TMPDIR/vocab" v.spm
    "$TF_PYTHON" "$TOP/tests/cli/marian.py" make m.npz "$V"
    piece=$(tf-tokenize --export-vocab -m "$MODEL" | sed -n 's/^▁\(..*\)\t.*/\1/p' | head -n 1)
    of_transformers=(--search none --search search=fairseq --search beam=6 --search normalize=0.5
        --search begin="$piece" --search min-length=4 --search no-repeat-ngram=3
        --search repetition-penalty=1.25 --search max-factor=0 --search max-extra=40)
    of_marian=(--search none --search search=marian --search beam=7 --search normalize=0.25
        --search allow-unk=yes --search max-factor=2 --search max-extra=2
        --search "alignment-head=1,1")
    for to in hf marian; do
        given=("${of_transformers[@]}")
        [ $to = hf ] || given=("${of_marian[@]}")
        tf-convert m.npz --vocab v.spm "${given[@]}" -o m.tfm
        tf-convert m.tfm --to $to -o $to
        tf-convert $to -o back.tfm
        [ "$(search_of back.tfm)" = "$(search_of m.tfm)" ] ||
            { search_of back.tfm; search_of m.tfm; return 1; }
        tf-convert m.npz --vocab v.spm --search none -o m.tfm
        tf-convert m.tfm --to $to -o plain-$to
    done
    # A model without one has what those programs and tf-decode have in common.
    jq -e '.num_beams == 4 and .length_penalty == 1 and (.early_stopping | not)' plain-hf/config.json
    grep -qx 'beam-size: 4' plain-marian/decoder.yml
}

@test "generation_config.json: what is not kept is named, numbers out of range too" {
    golden search
    mv "$G/m" d
    cp d/generation_config.json g
    without() { # JQ WHAT
        jq "$1" g >d/generation_config.json
        t 0 tf-convert d -o m.tfm
        [ "${stderr##*, but without }" = "$2" ] || { echo "$1: $stderr"; return 1; }
    }
    without '.bad_words_ids = [[7], [1], [0]]' bad_words_ids
    without '.bad_words_ids = [[7, 8]] | .suppress_tokens = [7, 8]' 'bad_words_ids, suppress_tokens'
    without '.num_beams = 2000 | .repetition_penalty = 5000 | .length_penalty = -1' \
        'num_beams, length_penalty, repetition_penalty'
    without '.encoder_repetition_penalty = 1.5 | .num_beam_groups = 2 | .sequence_bias = [[[1], 2]]' \
        'num_beam_groups, encoder_repetition_penalty, sequence_bias'
    without '.max_length = 100000000 | .min_length = 10000000' 'max_length, min_length'
    without '.eos_token_id = [2, 5] | .decoder_start_token_id = 7' \
        'eos_token_id, decoder_start_token_id'
    jq '.bad_words_ids = [[3], [1]] | .suppress_tokens = null | .num_beam_groups = 1 |
        .encoder_repetition_penalty = 1.0 | .diversity_penalty = 0.0 | .sequence_bias = null |
        .eos_token_id = [2] | .min_length = -9223372036854775808' g >d/generation_config.json
    sed -i 's/-9223372036854776000/-9223372036854775808/' d/generation_config.json
    t 0 tf-convert d -o m.tfm
    run -1 grep -F 'but without' <<<"$stderr"
    [ "$(search_of m.tfm | jq 'has("allow-unk") or has("min-length")')" = false ]
    # The end counts, and where it is forced it is the last.
    limit_is() {
        jq "$1" g >d/generation_config.json && tf-convert d -o m.tfm &&
            search_of m.tfm | jq -e ".\"max-extra\" == $2"
    }
    limit_is '.max_length = 20' 19
    limit_is '.max_length = 20 | .forced_eos_token_id = 2' 18
    limit_is '.max_length = 20 | .max_new_tokens = 9 | .forced_eos_token_id = [2]' 8
    limit_is 'del(.max_length)' null
}

@test "fairseq finds the same with a forced token and without, which count for it" {
    need_peer fairseq torch
    cp -r "$TOP/tests/golden/fairseq/default" d
    chmod -R u+w d
    gunzip d/model.pt.gz
    "$PEER_PYTHON" "$TOP/tests/cli/fairseq_peer.py" make d
    tf-convert d -o m.tfm
    head -n 40 "$TOP/tests/golden/marian/en" | tf-tokenize -m m.tfm -o s.tfs
    ids_of s.tfs >s
    decode() { tf-decode -q -m m.tfm --max-factor 0 --max-extra 30 "$@" s.tfs | ids_of -; }
    for first in '' 5 9; do
        # shellcheck disable=SC2086
        "$PEER_PYTHON" "$TOP/tests/cli/fairseq_peer.py" d 5 30 $first <s >want
        begin=()
        [ -z "$first" ] || begin=(--begin "$(tf-tokenize --export-vocab -m m.tfm |
            sed -n "$((first + 1))s/^▁\(.*\)\t.*/\1/p")")
        cmp want <(decode "${begin[@]}")
        [ -z "$first" ] || run -1 cmp -s want <(decode --free-prefix "${begin[@]}")
    done
    [ "$(sort -u want | wc -l)" -gt 5 ]
}
