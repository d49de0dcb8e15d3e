#!/usr/bin/env bats
# tf-tokenize with the codes of a directory of fairseq: splits words as subword-nmt does
# (golden/bpe), and joins them.
load helper

prepare() {
    need "$TF_PYTHON"
    need jq
    G=$TOP/tests/golden/bpe
}

# CODES [WORDS]: m.tfm of a directory with these codes and the dictionary `words`
make() {
    rm -rf d
    "$TF_PYTHON" "$TOP/tests/cli/torch_file.py" fairseq d m.npz dict=words
    cp "$1" d/bpecodes
    t 0 tf-convert d -o m.tfm
    expect_contains "$stderr" "tf-tokenize splits words by d/bpecodes; its text is tokens between spaces"
}

# Tokens of every third line, so that others have some that are unknown
make_words() { awk 'NR % 3 { next } { for (i = 1; i <= NF; i++) if (!seen[$i]++) print $i }' FS=' +' "$1"; }

@test "every line is split as subword-nmt splits it, with codes of each version and of fastBPE" {
    natively
    for v in 2 1 fast; do
        want=$G/split.${v/fast/2}
        make_words "$want" | grep . >words
        make "$G/codes.$v"
        tf-tokenize -m m.tfm --pieces "$G/text" | cmp - "$want"
        tf-tokenize -m m.tfm "$G/text" -o ids
        tf-cbor json ids | jq -r 'select(.ids).ids | join(" ")' >got
        awk 'NR == FNR { id[$0] = FNR + 3; next }
             { l = ""; n = split($0, w, / +/)
               for (i = 1; i <= n; i++) if (w[i] != "") l = l " " (w[i] in id ? id[w[i]] : 3)
               print substr(l, 2) }' FS='\n' words "$want" | cmp - got
        grep -qw 3 got
        awk 'NR == FNR { id[$0] = 1; next }
             { l = ""; n = split($0, w, / +/)
               for (i = 1; i <= n; i++) if (w[i] != "") l = l (w[i] in id ? w[i] : "⁇") " "
               gsub(/@@ /, "", l); sub(/ $/, "", l); print l }' FS='\n' words "$want" >joined
        tf-tokenize -d -m m.tfm ids | cmp - joined
        # The same in small parts, on one thread
        while IFS= read -r line; do printf '%s\n' "$line"; done <"$G/text" |
            tf-tokenize -m m.tfm --threads 1 | tf-cbor json |
            jq -r 'select(.ids).ids | join(" ")' | cmp - got
    done
}

@test "the same text comes back where every token is known" {
    make_words <(sed 'p; p' "$G/split.2") | grep . >words
    make "$G/codes.2"
    sed 's/\r//g; s/  */ /g; s/^ //; s/ $//; /@@/d' "$G/text" >text
    tf-tokenize -m m.tfm text | tf-tokenize -d -m m.tfm | cmp - text
    head -n 3 text | tf-translate -m m.tfm --max-extra 5 | wc -l | grep -qx 3
}

@test "a directory without codes is one of tokens, and codes may be called code" {
    printf '%s\n' a b ab c >words
    printf '#version: 0.2\na b\n' >codes
    make codes
    echo 'abc ab a' | tf-tokenize -m m.tfm --pieces | grep -qx 'ab@@ c a@@ b a'
    mv d/bpecodes d/code
    tf-convert d -o other.tfm
    cmp m.tfm other.tfm
    rm d/code
    mkdir d/code
    t 0 tf-convert d -o m.tfm
    expect_contains "$stderr" "its text is tokens between spaces, as another program splits it"
    echo 'abc ab a' | tf-tokenize -m m.tfm --pieces | grep -qx '▁abc ▁ab ▁a'
    t 1 tf-tokenize -m other.tfm --sample words
    expect_error "the vocabulary splits words by codes and can't be sampled"
}

@test "words after an unknown one begin where it ends: for terms, and for what is inserted" {
    printf '%s\n' haus rot ein house red >words
    "$TF_PYTHON" "$TOP/tests/cli/torch_file.py" fairseq d m.npz dict=words
    tf-convert d -o m.tfm
    printf '\316\251 ein rot\nhaus \316\251 ein\n' | tf-tokenize -m m.tfm -o source
    printf 'ein\t▁red\n' >terms
    tf-decode -q -m m.tfm --terms terms source | tf-tokenize -d -m m.tfm >text
    [ "$(grep -cw red text)" -eq 2 ]
    echo red | tf-tokenize -m m.tfm -o red
    tf-decode -q -m m.tfm --sample --nbest 50 --temperature 100 --insert red source |
        tf-tokenize -d --nbest -m m.tfm | grep -q '⁇ red ein'
}

@test "--terms: a term is no end of a longer word" {
    printf '%s\n' haus rot@@ ein >words
    printf '%s\n' '#version: 0.2' 'h a' 'ha u' 'hau s</w>' 'e i' 'ei n</w>' >codes
    make codes
    printf 'ein\nein ein\n' | tf-tokenize -m m.tfm -o source
    printf 'ein\thaus\n' >terms
    for limit in 0 5; do
        tf-decode -q -m m.tfm --begin rot@@ --max-factor 0 --max-extra $limit --terms terms source |
            tf-tokenize -d -m m.tfm >text
        [ "$(grep -c '^rot' text)" -eq 2 ]
        [ "$(grep -cw haus text)" -eq 2 ]
    done
    printf 'ein\thaus rot@@\n' >terms
    t 1 tf-decode -q -m m.tfm --terms terms source
    expect_error "terms: line 1: 'haus rot@@' ends within a word, and a phrase ends one"
}

@test "a codes file that is none is refused" {
    printf '%s\n' a b ab c >words
    echo 'a b' >codes
    make codes
    for case in 'a b c|line 1: not two symbols' 'a  b|line 1: not two symbols' \
        'a b 5\nb c|line 2: not two symbols' \
        "abc d|merge 1: 'abc' is no character, and no line before makes it" \
        '#version: 0.3\na b|codes of another version' '|line 1: not two symbols'; do
        printf "${case%|*}\n" >d/bpecodes
        t 1 tf-convert d -o x.tfm
        expect_error "d/bpecodes: ${case#*|}"
    done
    printf 'a b\nab' >d/bpecodes
    t 1 tf-convert d -o x.tfm
    expect_error 'd/bpecodes: the last line does not end'
    printf 'a b\na b\n' >d/bpecodes # once more, as subword-nmt accepts it
    t 0 tf-convert d -o x.tfm
    echo 'ab abc' | tf-tokenize --pieces -m x.tfm | diff - <(echo 'ab ab@@ c')
}

@test "a long word takes time in proportion" {
    natively
    printf '%s\n' a b ab c >words
    { echo '#version: 0.2'; s=a; for _ in {1..16}; do echo "$s $s"; s=$s$s; done; } >codes
    make codes
    head -c 1000000 /dev/zero | tr '\0' a >text
    echo >>text
    t 0 tf-tokenize -m m.tfm --pieces text
    # 2^20 > 10^6 = 15 x 65536 + 16960; the last one is no symbol of the codes
    echo "$output" | tr ' ' '\n' | awk '{ print length($0) - 2 * /@@$/ }' | sort -n | uniq -c |
        awk '{ s += $1 * $2 } END { exit s != 1000000 || $2 != 65536 || $1 != 15 }'
}
