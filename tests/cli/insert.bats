#!/usr/bin/env bats
# tf-decode --insert: what may stand between the words of the input.
load helper
load translate

setup_file() {
    make_model
}

@test "--insert: outputs are their inputs with tokens of a stream between" {
    printf 'c\nc c\n' | tf-tokenize -m "$MODEL" -o set
    grep -v c "$LINES_TXT" >ab || printf 'a b\nb b a\na\n' >ab
    printf 'a b b a b\nb\n\nb a \316\251 a\n' >>ab
    tf-tokenize -m "$MODEL" ab >ab.tfs
    # The unknown word, which no output has, is left out.
    sed 's/ *\xce\xa9//' ab >known
    for k in 1 4; do
        decode --beam $k --insert set ab.tfs -o out
        tf-tokenize -d -m "$MODEL" out | sed 's/c//g; s/  */ /g; s/^ //; s/ $//' | cmp - known
        decode --beam $k --insert set --threads 1 --batch 1 ab.tfs | cmp - out
    done
    decode --sample --nbest 3 --insert set ab.tfs | tf-tokenize -d --nbest -m "$MODEL" | cut -f 4 |
        sed 's/c//g; s/  */ /g; s/^ //; s/ $//' | uniq >drawn
    cmp drawn <(uniq known)
    # No room for more than the input.
    tf-tokenize -m "$MODEL" known | tf-decode -m "$MODEL" --max-extra 0 --insert set |
        tf-tokenize -d -m "$MODEL" | cmp - known
    # A lower limit makes room for it all the same.
    tf-tokenize -m "$MODEL" known | decode --max-factor 0 --max-extra 1 --insert set |
        tf-tokenize -d -m "$MODEL" | cmp - known
    printf 'a a\n' | tf-tokenize -m "$MODEL" >two
    printf 'b\n' | tf-tokenize -m "$MODEL" >b
    for n in 1 3; do
        decode --sample --nbest 50 --temperature 100 --insert b --max-insert $n two |
            tf-tokenize -d --nbest -m "$MODEL" | cut -f 4 >drawn
        [ "$(grep -o '\( *b\)*' drawn | tr -d ' ' | awk '{ n = length > n ? length : n } END { print n }')" = $n ]
    done
    d_t 2 --max-insert 3 two
    d_t 0 --insert set ab.tfs -o out
    tf-cbor json out | grep -q '"insert":'
    d_t 2 --insert set --prefix ab.tfs ab.tfs
    printf '\n' | tf-tokenize -m "$MODEL" -o none
    d_t 1 --insert none ab.tfs
    expect_error "none: no tokens to insert"
    printf '\xff\n' | tf-tokenize --bad ok -m "$MODEL" -o bad
    d_t 1 --insert bad ab.tfs
    expect_contains "$stderr" "bad: record 0 is bad"
    # Words that are left out make room.
    printf 'a \316\251 \316\251 a\n' | tf-tokenize -m "$MODEL" >gaps
    tf-decode -m "$MODEL" --max-extra 0 --sample --nbest 50 --temperature 100 --insert b gaps |
        tf-tokenize -d --nbest -m "$MODEL" | grep -q b
    # A vocabulary of the same ids and other pieces.
    tr abc xyz <"$BATS_FILE_TMPDIR/text" >xyz
    tf-tokenize --train --vocab-size 12 --type bpe -o other xyz
    tf-tokenize -m other xyz >xyz.tfs
    d_t 1 --insert xyz.tfs ab.tfs
    expect_contains "$stderr" "vocabular"
    d_t 0 --force-vocab --insert xyz.tfs ab.tfs -o out
}

@test "--insert: every output ends, where a record begins as another that has no room" {
    printf '%s\n' a 'a b c' b | tf-tokenize -m "$MODEL" >records
    printf '%s\n' 'b b' c | tf-tokenize -m "$MODEL" >two
    for room in 1 2 3 4; do
        tf-decode -m "$MODEL" --max-factor 1 --max-extra $room --sample --nbest 300 \
            --temperature 100 --insert records two | tf-tokenize -d --nbest -m "$MODEL" >drawn
        local some='((a|a b c|b) )*'
        [ "$(cut -f 1,4 drawn | grep -cEx "0	${some}b ${some}b( a| a b c| b)*")" -eq 300 ]
        [ "$(cut -f 1,4 drawn | grep -cEx "1	${some}c( a| a b c| b)*")" -eq 300 ]
    done
}

@test "--insert: whole words, between words of the input, though tokens are letters" {
    printf 'ab ba abba\nb\nba a ab\n' >in
    printf '(x\n(xb\n)b\n' >brackets
    tf-tokenize --train --type bpe --vocab-size 10 --mixed-scripts -o vocab in brackets
    # Without the unknown letter.
    tf-tokenize -m vocab -o brackets.tfs <(cat brackets; printf ')x\316\251\n')
    echo ')x' >>brackets
    tf-tokenize -m vocab -o in.tfs in
    tf-batch -q --tokens 400 --batches 1 in.tfs in.tfs |
        tf-train -q --vocab vocab --preset tiny --layers 1 --d-model 16 --d-ff 16 --heads 2 \
            --device cpu --steps 1 --save-every 1 -o run
    for way in '--beam 1 --nbest 1' '--beam 4 --nbest 4' \
        '--sample --nbest 50 --temperature 100 --max-insert 2'; do
        tf-decode -m run/ckpt-00000001.tfm --max-extra 20 $way --insert brackets.tfs in.tfs |
            tf-tokenize -d --nbest -m vocab | cut -f 4 >text
        tr ' ' '\n' <text | grep '[()]' | sort -u >used || :
        [ -z "$(grep -vxFf brackets used)" ]
        sed 's/ *[()][^ ]*//g; s/^ //' text | uniq | cmp - in
    done
    cmp used <(sort brackets)
    [ "$(sed 's/[^ ]*[()][^ ]*/I/g' text | grep -o 'I\( I\)*' | sort | tail -n 1)" = 'I I' ]
}
