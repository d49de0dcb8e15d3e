#!/usr/bin/env bats
# tf-tokenize: training, vocabularies from every place, decoding, sampling, and what it refuses.
# bats file_tags=first
load helper

setup_file() {
    export V=$BATS_FILE_TMPDIR/v.model X=$BATS_FILE_TMPDIR/text
    sentences 200 | sed 's/ $//' >"$X"
    tf-tokenize --train --vocab-size 150 -o "$V" "$X" 2>/dev/null
}

@test "training: 200 lines are enough, and special ids are pad 0, unk 1, bos 2, eos 3" {
    natively
    for type in unigram bpe; do
        t 0 tf-tokenize --train --type $type --vocab-size 150 -o m "$X"
        t 0 tf-tokenize --export-vocab -m m
        [ "${#lines[@]}" -eq 150 ]
        [ "$(cut -f1 <<<"$output" | head -4 | tr '\n' ' ')" = "<pad> <unk> <s> </s> " ]
        sh_t 0 "tf-tokenize -m m <'$X' | tf-tokenize -d -m m | cmp - '$X'"
    done
}

@test "training: the bytes follow from the text and the options, not from names or places" {
    natively
    mkdir -p elsewhere
    cp "$X" elsewhere/other.name
    for type in unigram bpe; do
        t 0 tf-tokenize --train --type $type --vocab-size 140 --max-sentences 150 -o a "$X"
        t 0 env -C elsewhere tf-tokenize --train --type $type --vocab-size 140 --max-sentences 150 \
            -o ../b other.name
        cmp a b
        sh_t 0 "head -n 90 '$X' >one; tail -n +91 '$X' >two; tf-tokenize --train --type $type --vocab-size 140 --max-sentences 150 one - <two >c"
        cmp a c
    done
    t 0 tf-tokenize --train --type unigram --vocab-size 140 --max-sentences 120 --seed 2 -o a "$X"
    t 0 tf-tokenize --train --type unigram --vocab-size 140 --max-sentences 120 --seed 3 -o b "$X"
    run -1 cmp -s a b
}

@test "a misspelt option: the one that is meant" {
    t 2 tf-tokenize --trian -o x text
    expect_error "tf-tokenize: unknown option --trian (did you mean --train?)"
}

@test "training: fewer pieces than requested are a note, not an error" {
    t 0 tf-tokenize --train --vocab-size 100k -o m "$X"
    expect_contains "$stderr" "pieces, fewer than --vocab-size 100000"
    t 0 tf-tokenize --train --type bpe --vocab-size 100k -o m "$X"
    expect_contains "$stderr" "pieces, fewer than --vocab-size 100000"
    t 0 tf-tokenize -q --train --type bpe --vocab-size 100k -o quiet "$X"
    expect_contains "[$stderr]" "[]"
    cmp m quiet
    t 2 tf-tokenize -q --list-unknown -m m "$X"
    expect_error "--quiet and --list-unknown cannot be used together"
    t 1 tf-tokenize -q -m none "$X"
    expect_error "tf-tokenize: none: No such file or directory"
    t 1 tf-tokenize --train --vocab-size 5 -o none "$X"
    expect_error "training: --vocab-size 5: the characters and special pieces alone are "
    expect_contains "$stderr" "--character-coverage"
    [ ! -e none ]
    t 1 tf-tokenize --train -o none /dev/null
    expect_error "no sentence to train on"
    { cat "$X"; printf 'bad \xff\nnul \0\n'; head -c 5000 /dev/zero | tr '\0' x; } >mixed
    t 0 tf-tokenize --train --vocab-size 150 -o m mixed
    expect_error "lines left out: 1 with invalid UTF-8, 1 with NUL, 1 over 4192 bytes"
    cmp m "$V"
    sed 's/$/\r/' "$X" >dos
    for more in "" "--max-sentences 150"; do
        # shellcheck disable=SC2086
        tf-tokenize --train --normalization identity --vocab-size 150 $more -o want "$X"
        # shellcheck disable=SC2086
        t 0 tf-tokenize --train --normalization identity --vocab-size 150 $more --crlf -o m dos
        cmp m want
    done
    { cat dos; head -c 20000000 /dev/zero | tr '\0' x; printf '\r\n'; } >wide
    t 0 tf-tokenize --train --vocab-size 150 --crlf -o m wide
    expect_contains "$stderr" "1 over 4192 bytes"
}

@test "--field: a side of a file with tabs" {
    paste -d '\t' "$X" <(seq "$(wc -l <"$X")") <(rev "$X") >all
    rev "$X" >reversed
    # what it does is what cut does.
    t 0 tf-tokenize --train --vocab-size 150 --field 1 -o m all
    cmp m "$V"
    t 0 tf-tokenize --train --vocab-size 150 --field 3,1 -o m <(sed 's/$/\r/' all) --crlf
    paste -d '\n' "$X" reversed | tf-tokenize --train --vocab-size 150 -o want
    cmp m want
    # Each field may be as long as a line; the CR is no part of either.
    word() { head -c "$1" /dev/zero | tr '\0' "$2"; }
    { cat "$X"; word 4192 a; echo; word 4192 b; echo; } >long
    tf-tokenize --train --type bpe --vocab-size 150 -o want long
    { sed 's/$/\t/' "$X"; word 4192 a; printf '\t'; word 4192 b; echo; } >long
    t 0 tf-tokenize --train --type bpe --vocab-size 150 --field 1,2 -o m long
    cmp m want
    t 0 tf-tokenize --train --type bpe --vocab-size 150 --crlf -o m \
        <(sed 's/\t$//; s/\t/\n/; s/$/\r/' long | sed 's/\t/\n/')
    cmp m want
    for k in 1 2 3; do
        sh_t 0 "tf-tokenize -m '$V' --field $k all | tf-cbor json | grep type...tokens >a; cut -f $k all | tf-tokenize -m '$V' | tf-cbor json | grep type...tokens >b"
        cmp a b
        sh_t 0 "cmp <(tf-tokenize --pieces -m '$V' --field $k all) <(cut -f $k all | tf-tokenize --pieces -m '$V')"
    done
    sh_t 0 "tf-tokenize -m '$V' --field 2 all | tf-cbor json | head -n 1"
    expect_contains "$output" '"field":"2"'
    # Too few fields, an empty one, and the end of a line without LF or with CR.
    printf 'ab\tc\nab\n\t\tx\nab\tcd\r\n\te' >some
    t 4 tf-tokenize --pieces --crlf -m "$V" --field 2 some
    [ "$(wc -l <<<"$output")" -eq 5 ]
    expect_bad "the first is line 2: no field 2, only 1"
    [ "$output" = "$(printf 'c\n\n\ncd\ne\n' | tf-tokenize --pieces -m "$V")" ]
    t 4 tf-tokenize --pieces -m "$V" --field 3 some
    expect_bad "4 of 5 lines bad"
    for wrong in 1,2 all; do
        t 2 tf-tokenize -m "$V" --field $wrong some
        expect_error "--field $wrong: several are only for --train"
    done
    t 2 tf-tokenize -m "$V" --field 0 some
    expect_error "--field"
    t 2 tf-tokenize -d -m "$V" --field 1
    expect_error "--field is only for encoding, --train or --pieces"
}

@test "--list-unknown: the characters without a piece, beside the same stream" {
    printf 'a\u20ac\n\u4f60\u20ac\n' >some
    tf-tokenize -m "$V" -o want some
    t 0 tf-tokenize --list-unknown -m "$V" -o got some
    expect_error "tf-tokenize: not in the vocabulary, so that the output may lack or change them (tf-translate --copy-unk keeps them): € 你"
    cmp want got
    t 0 tf-tokenize --list-unknown -m "$V" -o got "$X"
    [ -z "$stderr" ]
    t 2 tf-tokenize -d --list-unknown -m "$V" got
    expect_error "--list-unknown is only for encoding"
}

@test "training: a text of which nothing is left has no sentence to train on" {
    for text in '   \n\t' '\u200b\n\u2028' '\ufffd' '\u2581 \u2581' '\u3000\n\u00a0' '<s> <unk>' \
        'a\u2585'; do
        printf '%b\n' "$text" >in
        for more in '--type unigram' '--type bpe' '--keep-spaces' '--byte-fallback'; do
            # shellcheck disable=SC2086
            t 1 tf-tokenize --train --vocab-size 300 $more -o m in
            expect_error "no sentence to train on"
        done
    done
    printf ' \na\n' >in
    t 0 tf-tokenize --train -o m in
    for ((seed = 1; seed < 9; seed++)); do
        run --separate-stderr tf-tokenize --train --max-sentences 1 --seed $seed -o m in
        [ "$status" -eq 0 ] || [ "$status" -eq 1 ]
    done
    t 1 tf-tokenize --train --max-sentence-length 10 -o m <(printf ' \nlong enough\n')
    [ "${stderr_lines[0]}" = \
        'tf-tokenize: lines left out: 0 with invalid UTF-8, 0 with NUL, 1 over 10 bytes' ]
    [ "${stderr_lines[1]}" = 'tf-tokenize: no sentence to train on' ]
}

@test "training: digits apart, bytes for the unknown, spaces kept" {
    natively
    t 0 tf-tokenize --train --split-digits --vocab-size 150 -o m "$X"
    t 0 tf-tokenize --export-vocab -m m
    [ -z "$(cut -f1 <<<"$output" | grep '[0-9][0-9]')" ]
    t 0 tf-tokenize --train --byte-fallback --vocab-size 400 -o m "$X"
    sh_t 0 "printf 'ka \xe4\xb8\xad\n' | tf-tokenize -m m | tf-tokenize -d -m m"
    expect_output 'ka 中'
    sh_t 0 "printf 'ka \xe4\xb8\xad\n' | tf-tokenize -m '$V' | tf-tokenize -d -m '$V'"
    expect_contains "$output" '⁇'
    t 0 tf-tokenize --train --normalization identity --keep-spaces --vocab-size 100 -o m "$X"
    printf '  ka   to \n' >in
    sh_t 0 "tf-tokenize -m m <in | tf-tokenize -d -m m | cmp - in"
}

@test "training: symbols are single pieces, whatever they contain" {
    symbols=('<2de>' 'Ａ,"b"' 'ﬁ' 'never-seen')
    for type in unigram bpe; do
        t 0 tf-tokenize --train --type $type --vocab-size 150 "${symbols[@]/#/--symbol=}" -o m "$X"
        t 0 tf-tokenize --export-vocab -m m
        [ "$(sed -n 5,8p <<<"$output" | cut -f1)" = "$(printf '%s\n' "${symbols[@]}")" ]
        printf '%s ka%s to\n' "${symbols[@]}" >in
        sh_t 0 'tf-tokenize --pieces -m m <in'
        [ "$(grep -oxFf <(printf '%s\n' "${symbols[@]}") <<<"${output// /$'\n'}" | wc -l)" -eq 4 ]
        sh_t 0 'tf-tokenize -m m <in | tf-tokenize -d -m m | cmp - in'
    done
    # Nothing else changes.
    t 0 tf-tokenize --train --type bpe --vocab-size 150 -o plain "$X"
    t 0 tf-tokenize --train --type bpe --vocab-size 151 --symbol never-seen -o more "$X"
    cmp <(tf-tokenize --export-vocab -m plain) \
        <(tf-tokenize --export-vocab -m more | grep -v never-seen)
    while IFS='|' read -r symbol why; do
        t 2 tf-tokenize --train --symbol "$(printf %b "$symbol")" -o none "$X"
        expect_error "$why"
    done <<'END'
|symbol '': no text
a b|symbol 'a b': a space or control character
a\tb|: a space or control character
▁a|symbol '▁a': a space or control character
\xff|: not UTF-8
<s>|symbol '<s>': is a special piece
END
    t 2 tf-tokenize --train --byte-fallback --symbol '<0x4F>' -o none "$X"
    expect_error "symbol '<0x4F>': is the piece of a byte"
    t 2 tf-tokenize --train --symbol a --symbol b --symbol a -o none "$X"
    expect_error "symbol 'a': given twice"
    t 2 tf-tokenize --train --symbol "$(printf '%02049d' 0)" -o none "$X"
    expect_error "longer than 2048 bytes"
    [ ! -e none ]
    # A text of nothing else has no sentence to train on.
    sh_t 1 "yes '<2de>' 2>/dev/null | head -n 50 | tf-tokenize --train --symbol '<2de>' -o none"
    expect_error "no sentence to train on"
}

@test "decoded text never holds a line feed" {
    t 0 tf-tokenize --train --byte-fallback --vocab-size 400 -o m "$X"
    id=$(tf-tokenize --export-vocab -m m | grep -n '^<0x0A>' | cut -d: -f1)
    hash=$(sha256sum m | cut -d' ' -f1)
    printf '{"type":"header","header":{"v":1,"kind":"tokens","vocab":"%s"}}\n{"type":"tokens","idx":0,"ids":[%d,%d]}\n{"type":"end","count":1}\n' "$hash" $((id - 1)) $((id - 1)) >s.jsonl
    sh_t 0 'tf-cbor unjson s.jsonl | tf-tokenize -d -m m | wc -l'
    expect_output 1
}

@test "the header names the vocabulary, its size and special ids, and how the stream was made" {
    sh_t 0 "tf-tokenize --crlf -m '$V' <'$X' | tf-cbor json | head -1"
    expect_contains "$output" "\"vocab\":\"$(sha256sum "$V" | cut -d' ' -f1)\""
    expect_contains "$output" '"size":150'
    expect_contains "$output" '"special":{"bos":2,"eos":3,"pad":0,"unk":1}'
    expect_contains "$output" '"crlf":true'
    [[ $output != *threads* && $output != *"$V"* ]]
}

@test "a vocabulary from a pipe and from a device file" {
    tf-tokenize -m "$V" -o want.tfs "$X"
    sh_t 0 "tf-tokenize -m - '$X' <'$V' | cmp - want.tfs"
    sh_t 0 "tf-tokenize -m <(cat '$V') <'$X' | cmp - want.tfs"
}

@test "lists of hypotheses: the best one, or all with idx, rank and score" {
    tf-tokenize -m "$V" "$X" | tf-cbor json >s.jsonl
    "$TF_PYTHON" - <<'END' >n.jsonl
import json
lines = [json.loads(l) for l in open("s.jsonl")]
head = lines[0]
head["header"] = {"v": 1, "kind": "nbest", "vocab": head["header"]["vocab"]}
print(json.dumps(head))
ids = [l["ids"] for l in lines if l["type"] == "tokens"]
print(json.dumps({"type": "nbest", "idx": 0, "hyps": [{"ids": ids[0], "score": -0.5, "logp": -1}, {"ids": ids[1], "score": -0.75, "logp": -2}]}))
print(json.dumps({"type": "bad", "idx": 1, "code": 2, "text": "too long"}))
print(json.dumps({"type": "nbest", "idx": 2, "hyps": [{"ids": ids[2], "score": -1.25, "logp": -1}]}))
print('{"type": "end", "count": 3}')
END
    t 0 tf-cbor unjson -o n.tfs n.jsonl
    sh_t 4 "tf-tokenize -d -m '$V' n.tfs"
    expect_output "$(sed -n 1p "$X")"$'\n\n'"$(sed -n 3p "$X")"
    sh_t 4 "tf-tokenize -d --nbest -m '$V' n.tfs"
    expect_output "$(printf \
        '0\t1\t-0.500000\t%s\n0\t2\t-0.750000\t%s\n1\t0\t\t\n2\t1\t-1.250000\t%s\n' "$(sed -n 1p \
        "$X")" "$(sed -n 2p "$X")" "$(sed -n 3p "$X")")"
    sh_t 4 "tf-tokenize -d --nbest --json -m '$V' n.tfs"
    [ "$(jq -c '. as $l | [., .alternatives[]?] | .[] | [$l.line, .status, .score, .reason]' <<<"$output")" \
        = '[1,"ok",-0.5,null]
[1,"ok",-0.75,null]
[2,"line too long",null,"line too long: too long"]
[3,"ok",-1.25,null]' ]
    tf-tokenize -m "$V" "$X" >s.tfs
    [ "$(tf-tokenize -d --json -m "$V" s.tfs | jq -r .text)" = "$(tf-tokenize -d -m "$V" s.tfs)" ]
    t 1 tf-tokenize -d --nbest -m "$V" s.tfs
    expect_error "holds no n-best lists, but tokens"
    # Hypotheses outside the vocabulary: bad ones of one bad record.
    sed -n '1p; $s/3/1/p' n.jsonl >far.jsonl
    sed -i '1a {"type": "nbest", "idx": 0, "hyps": [{"ids": [150], "score": -1, "logp": -1}, {"ids": [4, 999], "score": -2, "logp": -2}]}' far.jsonl
    sh_t 4 "tf-cbor unjson far.jsonl | tf-tokenize -d --nbest -m '$V'"
    expect_output $'0\t0\t\t\n0\t0\t\t'
    sh_t 4 "tf-cbor unjson far.jsonl | tf-tokenize -d --nbest --json -m '$V'"
    expect_output '{"line":1,"status":"unknown id","reason":"id 150: the vocabulary has 150","alternatives":[{"status":"unknown id","reason":"id 999: the vocabulary has 150"}]}'
    expect_bad "1 of 1 records bad; the first is record 0: id 150: the vocabulary has 150"
    # A tab in a text ends no column.
    printf 'ab ba\nab ba a b\n' | tf-tokenize --train --type bpe --byte-fallback --normalization \
        identity --vocab-size 269 -o bytes
    printf 'a\tb\n' | tf-tokenize -m bytes -o tab.tfs
    [ "$(tf-tokenize -d -m bytes tab.tfs)" = $'a\tb' ]
    tf-cbor json tab.tfs | jq -c 'if .ids then {type: "nbest", idx: 0, hyps: [{ids, score: -1,
        logp: -1}]} elif .header then {type, header: {v: 1, kind: "nbest"}} else {type} end' |
        tf-cbor unjson | tf-tokenize -d --nbest -m bytes >columns
    [ "$(<columns)" = $'0\t1\t-1.000000\ta b' ]
    [ "$(tf-rerank columns)" = 'a b' ]
}

@test "lists of hypotheses in the form of Moses" {
    printf 'a | b ||| c\n' | tf-tokenize -m "$V" | tf-cbor json >s.jsonl
    ids=$(jq -c 'select(.type == "tokens") | .ids' s.jsonl)
    text=$(tf-cbor unjson s.jsonl | tf-tokenize -d -m "$V")
    {
        sed -n 1p s.jsonl | sed 's/"kind":"tokens"/"kind":"nbest"/'
        echo "{\"type\":\"nbest\",\"idx\":0,\"hyps\":[{\"ids\":$ids,\"score\":-0.5,\"logp\":-1},{\"ids\":[],\"score\":-2,\"logp\":-2.5}]}"
        echo '{"type":"bad","idx":1,"code":2,"text":"too long"}'
        echo '{"type":"end","count":2}'
    } | tf-cbor unjson -o n.tfs
    sh_t 4 "tf-tokenize -d --nbest --moses -m '$V' n.tfs"
    expect_output "0 ||| ${text//|/&#124;} ||| F0= -1.000000 ||| -0.500000"$'\n'"0 |||  ||| F0= -2.500000 ||| -2.000000"$'\n'"1 |||  ||| F0= -inf ||| -inf"
    t 2 tf-tokenize -d --moses -m "$V" n.tfs
    expect_error "--moses"
}

@test "a long list of hypotheses before an upstream failure comes out whole" {
    "$TF_PYTHON" - <<'END' >n.jsonl
import json
print(json.dumps({"type": "header", "header": {"v": 1, "kind": "nbest"}}))
print(json.dumps({"type": "nbest", "idx": 0, "hyps": [{"ids": [5 + i % 9], "score": -1, "logp": -1} for i in range(20000)]}))
print('{"type": "check"}')
END
    { cat n.jsonl; printf '{"type": "end"}\n'; } | tf-cbor unjson >whole.tfs
    { cat n.jsonl; printf '{"type": "error", "code": 1, "text": "%0100d"}\n' 7; } |
        tf-cbor unjson >n.tfs || [ $? -eq 1 ] # as after every error record
    tf-tokenize -d --nbest -m "$V" whole.tfs >want
    sh_t 1 "tf-tokenize -d --nbest -m '$V' n.tfs >got"
    expect_error "n.tfs: upstream failed: 0000"
    cmp want got
}

@test "--bad=fail: everything before the first bad one is written" {
    head -n 150 "$X" >good
    { cat good; printf 'bad \xff\n'; cat good; } >mixed
    sh_t 1 "tf-tokenize --bad fail --pieces -m '$V' mixed | wc -l"
    expect_output 150
    tf-tokenize --bad ok -m "$V" -o mixed.tfs mixed
    t 1 tf-tokenize -d --bad fail -m "$V" mixed.tfs
    expect_output "$(cat good)"
    expect_error "mixed.tfs: record 150: invalid UTF-8 at byte 5"
}

@test "an id outside the vocabulary is a bad record" {
    hash=$(sha256sum "$V" | cut -d' ' -f1)
    printf '{"type":"header","header":{"v":1,"kind":"tokens","vocab":"%s"}}\n{"type":"tokens","idx":0,"ids":[9,150]}\n{"type":"tokens","idx":1,"ids":[]}\n{"type":"end","count":2}\n' "$hash" >s.jsonl
    sh_t 4 "tf-cbor unjson s.jsonl | tf-tokenize -d -m '$V'"
    expect_contains "$stderr" "id 150: the vocabulary has 150"
}

@test "pieces as text" {
    sh_t 0 "tf-tokenize --pieces -m '$V' <'$X' | sed 's/ //g; s/▁/ /g; s/^ //' | cmp - '$X'"
    # What is unknown reads as the text does, so that two unknown words are not the same one.
    printf 'ka 中 to\n漢字 ka\n' >in
    sh_t 0 "tf-tokenize --pieces -m '$V' in | sed 's/ //g; s/▁/ /g; s/^ //' | cmp - in"
    t 0 tf-tokenize --pieces --sample -m "$V" in
    expect_contains "$output" '<unk>'
}

@test "samples: from the seed and the line alone, and they read back as the text" {
    natively
    tf-tokenize --train --type bpe --vocab-size 150 -o b.model "$X"
    for what in "$V" "$V --nbest-size 8" b.model; do
        m=${what%% *}
        sh_t 0 "tf-tokenize --sample --alpha 0.3 --threads 1 -m $what <'$X' >a"
        sh_t 0 "tf-tokenize --sample --alpha 0.3 --threads 3 -m $what <'$X' | cmp - a"
        sh_t 0 "while read -r l; do echo \"\$l\"; done <'$X' | tf-tokenize --sample --alpha 0.3 -m $what >c && cmp c a"
        sh_t 0 "tf-tokenize --sample --alpha 0.3 --seed 2 -m $what <'$X' >b"
        run -1 cmp -s a b
        sh_t 0 "tf-tokenize -d -m '$m' <a | cmp - '$X'"
        sh_t 0 "tf-tokenize -d -m '$m' <b | cmp - '$X'"
    done
    # What only unigram vocabularies take.
    t 2 tf-tokenize --sample --alpha 1.5 -m b.model -o none "$X"
    expect_error "--alpha 1.5: with BPE the fraction of merges that is skipped, at most 1"
    t 2 tf-tokenize --sample --nbest-size 8 -m b.model -o none "$X"
    expect_error "--nbest-size: needs a unigram vocabulary, not BPE"
    [ ! -e none ]
}

@test "samples: a symbol stays whole" {
    natively
    printf '%s\n' '<2de> ein Haus < 2 de >' 'e<2de><2de2>n' 'ein < Haus 2 > de' >text
    cat "$X" text text >corpus
    for type in unigram bpe; do
        tf-tokenize --train --type $type --vocab-size 150 --symbol '<2de>' --symbol '<2de2>' \
            -o m corpus
        for i in {1..100}; do cat text; done >in
        alpha=0 # all ways are equally likely; of BPE: half of the merges are left out
        [ "$type" = unigram ] || alpha=0.5
        sh_t 0 "tf-tokenize --pieces --sample --alpha $alpha -m m in"
        [ "$(grep -c '^▁ <2de> ' <<<"$output")" -eq 100 ]
        [ "$(grep -c ' <2de> <2de2> n$' <<<"$output")" -eq 100 ]
        # The rest of the line, and one without a symbol, are split at random.
        [ "$(sed -n 1~3p <<<"$output" | sort -u | wc -l)" -gt 5 ]
        [ "$(sed -n 3~3p <<<"$output" | sort -u | wc -l)" -gt 5 ]
    done
}

@test "gzip: what follows zeros after the last member is garbage, from a file and from a slow pipe" {
    { gzip <<<a; head -c 10 /dev/zero; gzip <<<b; } >z.gz
    t 1 tf-tokenize -m "$V" z.gz -o out
    expect_contains "$stderr" "gzip: garbage after the compressed data"
    sh_t 1 '{ head -c 25 z.gz; sleep 0.3; tail -c +26 z.gz; } | tf-tokenize -m "$V" -o out'
    expect_contains "$stderr" "gzip: garbage after the compressed data"
}

@test "samples: memory is in proportion to the line, also of pieces within pieces" {
    [ -z "${TF_SAN:-}${TF_EMULATOR:-}" ] || skip "no limit of the address space"
    # Each of 20000 positions is the end of 1000 pieces.
    "$TF_PYTHON" "$TOP/tests/cli/nested_vocabulary.py" 1000 >nested
    { head -c 20000 /dev/zero | tr '\0' a; echo; } >in
    sh_t 0 'ulimit -v 200000; tf-tokenize --threads 1 --sample --alpha 0.5 -m nested -o out in'
    tf-tokenize -d -m nested out | cmp - in
}

# Append user-defined symbols to the vocabulary $1: messages of {piece, score 0, type 4}.
add_user_defined() {
    local to=$1 s
    for s in "${@:2}"; do
        # shellcheck disable=SC2059
        printf "\\x0a\\x$(printf %02x \
            $((${#s} + 9)))\\x0a\\x$(printf %02x ${#s})%s\\x15\\0\\0\\0\\0\\x18\\x04" "$s" >>"$to"
    done
}

@test "samples: user-defined symbols" {
    tf-tokenize --train --type bpe --vocab-size 150 -o b.model "$X"
    add_user_defined b.model '<sep>' '#A#' '#A#B'
    printf 'kato <sep> to #A#B mi\nka<sep>#A##A#Bto\n<sep>\n' >in
    sh_t 0 'tf-tokenize --pieces --sample --alpha 0 -m b.model in | diff <(tf-tokenize --pieces -m b.model in) -'
    sh_t 0 'tf-tokenize --pieces --sample --alpha 1 -m b.model in | head -1'
    expect_output '▁ k a t o ▁ <sep> ▁ t o ▁ #A#B ▁ m i'
    # Unigram: one is taken with the same score whatever its length, so one is likelier than two.
    cp "$V" u.model
    add_user_defined u.model '<a><b>' '<a>' '<b>'
    for ((n = 0; n < 30; n++)); do printf 'ka <a><b>\n'; done >in
    sh_t 0 'tf-tokenize --pieces --sample --alpha 100 -m u.model in | uniq'
    expect_output '▁ka ▁ <a><b>'
}

@test "streams of another vocabulary, truncated and damaged ones" {
    tf-tokenize --train --type bpe --vocab-size 150 -o b.model "$X"
    tf-tokenize -m "$V" -o s.tfs "$X"
    t 1 tf-tokenize -d -m b.model s.tfs
    expect_contains "$stderr" "$(sha256sum "$V" | cut -c1-12)"
    expect_contains "$stderr" "$(sha256sum b.model | cut -c1-12)"
    size=$(stat -c %s s.tfs)
    for n in 0 5 20 $((size / 2)) $((size - 1)); do
        head -c "$n" s.tfs >cut.tfs
        t 1 tf-tokenize -d -m "$V" cut.tfs
        expect_contains "$stderr" "truncated"
    done
    { head -c $((size / 2)) s.tfs; printf 'X'; tail -c +$((size / 2 + 2)) s.tfs; } >hurt.tfs
    t 1 tf-tokenize -d -m "$V" hurt.tfs
    # The vocabulary in a model that is damaged elsewhere.
    need "$TF_PYTHON"
    "$TF_PYTHON" "$TOP/tests/cli/batches.py" v=150 "vocab=$V" n=2 >b.tfs
    tf-train --preset tiny --layers 1 --d-model 16 --d-ff 32 --heads 2 --steps 1 --vocab "$V" \
        --device cpu -o run b.tfs 2>/dev/null
    m=run/ckpt-00000001.tfm
    sh_t 0 "tf-tokenize -m $m '$X' | cmp - s.tfs"
    sh_t 0 "cat $m | tf-tokenize -m - '$X' | cmp - s.tfs"
    size=$(stat -c %s $m)
    head -c $((size - 1)) $m >cut.tfm
    { head -c $((size / 2)) $m; printf 'XYZ'; tail -c +$((size / 2 + 4)) $m; } >hurt.tfm
    for f in cut hurt; do
        t 1 tf-tokenize -m $f.tfm "$X"
        expect_error "tf-tokenize: $f.tfm: "
    done
    # A producer that is killed: what it had sent is printed, and the end is not taken for an end.
    mkfifo in p
    tf-tokenize -m "$V" <in >p 3>&- &
    producer=$!
    tf-tokenize -d -m "$V" <p >out 2>err 3>&- &
    consumer=$!
    exec 8>in
    head -n 50 "$X" >fifty
    cat fifty >&8
    wait_for cmp -s fifty out
    kill -9 $producer
    status=0
    wait $consumer || status=$?
    exec 8>&-
    [ "$status" -eq 1 ]
    grep "truncated after record 50" err
}

@test "what does not go together" {
    t 2 tf-tokenize <"$X"
    expect_error "-m FILE is required"
    t 2 tf-tokenize --train -d "$X"
    expect_error "--decode and --train cannot be used together"
    t 2 tf-tokenize --train -m "$V" "$X"
    expect_error "--train and --model cannot be used together"
    t 2 tf-tokenize -m "$V" a b
    expect_error "unexpected operand 'b'"
    t 2 tf-tokenize -m - -
    expect_error "only one file can be stdin"
    t 2 tf-tokenize -d --sample -m "$V"
    expect_error "--sample"
    t 2 tf-tokenize --nbest -m "$V"
    expect_error "--nbest is only for --decode"
    for more in --vocab-size=77 --type=bpe --split-digits --max-sentences=5; do
        for do in "" -d --pieces --export-vocab; do
            # shellcheck disable=SC2086
            t 2 tf-tokenize -m "$V" $do "$more"
            expect_error "${more%=*} is only for --train"
        done
    done
    t 2 tf-tokenize -m "$V" --nbest-size 8 "$X"
    expect_error "--nbest-size requires --sample"
    t 2 tf-tokenize --train --alpha 0.2 -o m "$X"
    expect_error "--alpha requires --sample"
    t 2 tf-tokenize -d --crlf -m "$V"
    expect_error "--crlf is only for encoding, --train or --pieces"
    t 2 tf-tokenize --train --max-line 100 -o m "$X"
    expect_error "--max-line is only for encoding or --pieces"
    for mode in -d --export-vocab; do
        t 2 tf-tokenize $mode --seed 2 -m "$V"
        expect_error "--seed is only for encoding, --train or --pieces"
    done
    t 2 tf-tokenize --train --vocab-size 4194305 -o n "$X"
    expect_error "--vocab-size 4194305: too large, maximum 4194304"
    t 2 tf-tokenize -m "$V" --threads 0
    expect_error "too small, minimum 1"
    t 2 tf-tokenize -m "$V" --threads 1025
    expect_error "--threads 1025: too large, maximum 1024"
    cp "$X" same
    t 2 tf-tokenize -m "$V" -o same same
    expect_error "same: is both input and output"
    cmp same "$X"
    sh_t 2 "tf-tokenize -m '$V' -o same <same" # stdin, where no file is named
    expect_error "same: is both input and output"
    cmp same "$X"
    cp "$V" m
    t 2 tf-tokenize -m m -o m "$X"
    expect_error "m: is both input and output"
    cmp m "$V"
    tf-tokenize -m "$V" "$X" >s.tfs
    cp s.tfs d.tfs
    t 2 tf-tokenize -d -m "$V" -o d.tfs d.tfs
    expect_error "d.tfs: is both input and output"
    cmp d.tfs s.tfs
    t 1 tf-tokenize -m /dev/null
    expect_error "/dev/null: not a vocabulary: empty"
    t 1 tf-tokenize -m "$X"
    expect_error "not a SentencePiece model"
    t 1 tf-tokenize -m missing
    expect_error "missing: No such file or directory"
    t 1 tf-tokenize -m "$V" missing
    expect_error "missing: No such file or directory"
    t 1 tf-tokenize -d -m "$V" "$X"
    expect_error "not a stream"
}

@test "--mixed-scripts: pieces of letters and signs" {
    for _ in {1..50}; do echo '(NP dog) (VP barks)'; done >trees
    for o in '' --mixed-scripts; do
        # shellcheck disable=SC2086
        t 0 tf-tokenize --train --type bpe --vocab-size 30 $o -o m trees
        tf-tokenize --export-vocab -m m >"vocab$o"
    done
    run -1 grep '(NP' vocab
    grep -q '(NP' vocab--mixed-scripts
}

@test "--verbose shows the log of the trainer" {
    natively
    t 0 tf-tokenize --train --vocab-size 150 -o m "$X"
    [[ $stderr != *trainer_interface.cc* ]]
    t 0 tf-tokenize --train --verbose --vocab-size 150 -o n "$X"
    expect_contains "$stderr" "trainer_interface.cc"
    cmp m n
}

@test "training without enough memory says so, and what takes less" {
    [ -z "${TF_SAN:-}" ] || skip "the sanitizer needs the address space"
    [ -z "${TF_EMULATOR:-}" ] || skip "the emulator needs the address space"
    awk 'BEGIN { srand(1); for (i = 0; i < 20000; i++) {
        for (j = 0; j < 12; j++) printf "%x ", rand() * 65536 * 4096; print "" } }' >text
    # Less than the stacks of the 16 threads and the text need: with more it may train, if slowly.
    for most in 60000 100000 150000; do
        sh_t 1 'ulimit -s 8192 -v $1; tf-tokenize --train -o model text' "$most"
        [[ $stderr =~ "memory"[^\;]*"; --max-sentences trains on a sample" ]]
        [ ! -e model ]
    done
}

@test "the most tokens of a line, as ids and as pieces" {
    printf 'a\nb\n' | tf-tokenize --train --vocab-size 7 -o two.model 2>/dev/null
    "$TF_PYTHON" -c 'print("ab " * 350000)' >long
    for form in '' --pieces; do
        t 4 tf-tokenize $form -m two.model -o out long
        expect_contains "$stderr" "tokens, maximum 1048576"
    done
}
