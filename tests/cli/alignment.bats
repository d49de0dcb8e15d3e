#!/usr/bin/env bats
# Alignments: tf-decode --alignment and tf-attn --alignment, and their text by tf-tokenize -d.
load helper
load translate

setup_file() {
    make_aligning_model
}

MARIAN=$TOP/tests/golden/marian

# most_apart A B: the largest difference between two files of numbers.
most_apart() {
    paste <(tr ' ,' '\n\n' <"$1") <(tr ' ,' '\n\n' <"$2") | awk '{ d = $1 - $2; if (d < 0) d = -d; if (d > most) most = d } END { print most + 0 }'
}

@test "a model of Marian has the links and weights that Marian prints" {
    for name in before ssru two; do
        vocabs=("$MARIAN"/vocab.spm "$MARIAN"/vocab.spm)
        [ $name != two ] || vocabs=("$MARIAN"/en.spm "$MARIAN"/de.spm)
        tf-convert "$MARIAN/$name.npz.gz" --vocab "${vocabs[0]}" --vocab-target "${vocabs[1]}" -o m.tfm
        tf-info m.tfm | grep -q 'alignment-head *2,1'
        head -20 "$MARIAN/en" | tf-tokenize -m m.tfm >src.tfs
        head -20 "$MARIAN/de" | tf-tokenize --target -m m.tfm >tgt.tfs
        tf-attn -q -m m.tfm --alignment src.tfs tgt.tfs -o got.tfs
        pieces=(tf-tokenize -d -m m.tfm --alignment-pieces got.tfs --alignment)
        "${pieces[@]}" hard --alignment-output links | diff <(head -20 "$MARIAN/de") -
        diff links "$MARIAN/$name.links"
        "${pieces[@]}" soft --alignment-output all >/dev/null
        head -1 all >first
        most_apart first "$MARIAN/$name.weights" | awk '{ exit $1 > 1e-5 }'
        # Of two vocabularies each side has its own words.
        tf-tokenize -d -m m.tfm --alignment 0 got.tfs | head -1 | sed 's/.* |* //' | tr ' ' '\n' |
            awk -F- -v s="$(head -1 "$MARIAN/en" | wc -w)" -v t="$(head -1 "$MARIAN/de" | wc -w)" \
                '{ n++; if ($1 >= s || $2 >= t) exit 1 } END { exit n != s * t }'
    done
}

decode() { tf-decode -q -m "$ALIGNING" --alignment "$@" "$LINES_TFS"; }
records() { tf-cbor json "$1" | jq -c 'select(.type != "header" and .type != "end" and .type != "check")'; }

@test "the same outputs, with the alignments of tf-attn, for each batch and precision" {
    for precision in fp32 int8; do
        decode --precision $precision -o want
        tf-decode -q -m "$ALIGNING" --precision $precision "$LINES_TFS" -o plain
        cmp <(records plain) <(records want | jq -c 'del(.source, .alignment)')
        for b in 1 7; do
            decode --precision $precision -b $b -w $((3 * b)) -t $((1 + b % 2)) | cmp - want
        done
    done
    decode --precision fp32 -o want
    tf-decode -q -m "$ALIGNING" --precision fp32 "$LINES_TFS" -o plain
    tf-attn -q -m "$ALIGNING" --alignment "$LINES_TFS" plain -o given
    cmp <(records want) <(records given)
    tf-cbor check want
    tf-cbor json want | tf-cbor unjson -o back
    cmp want back
}

@test "one head is a slice of tf-attn's weights, and a layer the mean" {
    tf-decode -q -m "$ALIGNING" "$LINES_TFS" -o out
    tf-attn -q -m "$ALIGNING" -k cross -l 1 -H 2 "$LINES_TFS" out | tf-cbor json | jq -c 'select(.type == "attention" and (.columns | length) > 1) | .weights' >one
    tf-attn -q -m "$ALIGNING" --alignment "$LINES_TFS" out | tf-cbor json | jq -c 'select(.source != null and .source != []) | .alignment' | cmp - one
    tf-attn -q -m "$ALIGNING" -k cross "$LINES_TFS" out | tf-cbor json | jq -c 'select(.type == "attention" and (.columns | length) > 1) | (.weights | length / 2) as $n | [range($n) as $i | (.weights[$i] + .weights[$i + $n]) / 2]' >mean
    tf-attn -q -m "$ALIGNING" --alignment --alignment-head 1 "$LINES_TFS" out | tf-cbor json | jq -c 'select(.source != null and .source != []) | .alignment' >got
    [ "$(most_apart <(tr -d '[]' <got) <(tr -d '[]' <mean))" != 0 ] || cmp got mean
    most_apart <(tr -d '[]' <got) <(tr -d '[]' <mean) | awk '{ exit $1 > 1e-6 }'
}

@test "every hypothesis of an n-best list has its alignment" {
    decode -n 3 -o nbest
    tf-cbor check nbest
    decode -o best
    cmp <(records nbest | jq -c '[.source, .hyps[0].alignment]') <(records best | jq -c '[.source, .alignment]')
    tf-tokenize -d -m "$ALIGNING" --alignment hard best >text
    tf-tokenize -d -m "$ALIGNING" --alignment hard --nbest nbest >all
    cmp <(awk -F'\t' '$2 == 1 { print $4 " ||| " $5 }' all) text
    tf-tokenize -d -m "$ALIGNING" --alignment hard --nbest --moses nbest |
        awk -F' [|][|][|] ' '{ print $2 " ||| " $3; if (NF != 5) exit 1 }' |
        cmp - <(awk -F'\t' '{ print $4 " ||| " $5 }' all)
    tf-tokenize -d -m "$ALIGNING" --alignment hard --json best |
        jq -r '"\(.text) ||| \(.alignment)"' | cmp - text
    # Line 7 is empty: it has no links.
    [ "$(sed -n 7p text)" = ' ||| ' ]
}

# stream LINE...: a token stream of these records in JSON, with the vocabulary of golden/marian.
# Its pieces: 2 is a space, 3 e, 4 d, 7 t, 8 o, 10 h, 14 "a" after a space, 11 l, 1 unknown.
stream() {
    { printf '%s\n' '{"type":"header","header":{"v":1,"kind":"tokens","size":32}}' "${@//$'\n'/}" '{"type":"end"}'; } | tf-cbor unjson
}
text() { tf-tokenize -d -m "$MARIAN/vocab.spm" --alignment "$@" in.tfs; }

@test "words from pieces: sums over those of a source, means over those of a target" {
    # Source "the a", target "do e": pieces space t h e | " a" and end; space d o | space e and end.
    stream '{"type":"tokens","idx":0,"ids":[2,4,8,2,3],"source":[2,7,10,3,14],"alignment":[
        0.5,0.25,0,0,0.25,0,  0,0,0.25,0.25,0.5,0,  0,0,0,0.25,0.5,0.25,
        0,0,0,0,0.25,0.75,  0,0.25,0,0,0.25,0.5,  0,0,0,0,0,1]}' >in.tfs
    [ "$(text soft)" = 'do e ||| 0.5,0.416667 0.125,0.25' ]
    # The end has most of the second word's weight, so that it has no link.
    [ "$(text hard)" = 'do e ||| 0-0' ]
    [ "$(text 0.25)" = 'do e ||| 0-0 1-0' ]
    [ "$(text 0.2)" = 'do e ||| 0-0 1-0 1-1' ]
    [ "$(text hard --alignment-pieces)" = 'do e ||| 0-0 4-1 4-2 5-3 5-4 5-5' ]
    text hard --alignment-output links >out
    [ "$(cat out links)" = $'do e\n0-0' ]
}

@test "an unknown piece is part of a source's word, and a word of a target" {
    # "t<unk>e" is one word of the source; in the target it is printed with spaces.
    stream '{"type":"tokens","idx":0,"ids":[2,7,1,3],"source":[2,7,1,3],"alignment":[
        1,0,0,0,0, 0,1,0,0,0, 0,0,1,0,0, 0,0,0,1,0, 0,0,0,0,1]}' >in.tfs
    [ "$(text hard)" = 't ⁇ e ||| 0-0 0-1 0-2' ]
}

@test "what has no alignment is an error, and what does not fit is bad" {
    stream '{"type":"tokens","idx":0,"ids":[2,7]}' >in.tfs
    t 1 tf-tokenize -d -m "$MARIAN/vocab.spm" --alignment hard in.tfs
    expect_error "record 0 has no alignment (tf-decode --alignment adds it)"
    stream '{"type":"tokens","idx":0,"ids":[2,7],"source":[2],"alignment":[1,1]}' \
        '{"type":"tokens","idx":1,"ids":[],"source":[99],"alignment":[1]}' \
        '{"type":"bad","idx":2,"code":15,"text":"x"}' \
        '{"type":"tokens","idx":3,"ids":[],"source":[],"alignment":[]}' \
        '{"type":"tokens","idx":4,"ids":[2],"source":[2],"alignment":["nan",1]}' >in.tfs
    t 4 tf-tokenize -d -m "$MARIAN/vocab.spm" in.tfs --alignment hard --alignment-output links
    expect_contains "$stderr" "record 0: an alignment of 2 weights for 2 tokens of 1"
    expect_contains "$stderr" "record 1: source: id 99: the vocabulary has 32"
    expect_contains "$stderr" "record 4: an alignment with the weight nan"
    [ "$(wc -l <links)" = 5 ]
    t 2 tf-tokenize -d -m "$MARIAN/vocab.spm" --alignment most in.tfs
    expect_error "--alignment most: neither hard, soft nor a number from 0 to 1"
    t 2 tf-decode -q -m "$MODEL" --alignment "$LINES_TFS"
    expect_error "states no head for alignments; choose one with --alignment-head LAYER[,HEAD]"
    t 2 tf-decode -q -m "$MODEL" --alignment --alignment-head 1,3 "$LINES_TFS"
    expect_error "--alignment-head 1,3: the decoder has 1 layers of 2 heads"
    t 2 tf-decode -q -m "$MODEL" --alignment --alignment-head x "$LINES_TFS"
    expect_error "--alignment-head 'x': neither LAYER nor LAYER,HEAD, counted from 1"
    t 2 tf-decode -q -m "$MODEL" --alignment --alignment-head '' "$LINES_TFS"
    expect_error "--alignment-head '': neither LAYER nor LAYER,HEAD"
    t 2 tf-attn -q -m "$ALIGNING" --alignment "$LINES_TFS"
    expect_error "sources without targets have no alignment"
    t 2 tf-convert "$MODEL" --to tfm --search alignment-head=2,x -o m.tfm
    expect_error "alignment-head: '2,x': neither LAYER nor LAYER,HEAD"
}

@test "tf-translate prints alignments, and with --search paper, too" {
    head -9 "$LINES_TXT" >in.txt
    t 0 tf-translate -q -m "$ALIGNING" --alignment hard --alignment-output links -o out in.txt
    tf-decode -q -m "$ALIGNING" --alignment <(tf-tokenize -m "$ALIGNING" in.txt) |
        tf-tokenize -d -m "$ALIGNING" --alignment hard >want
    paste -d@ out links | sed 's/@/ ||| /' | cmp - want
    t 0 tf-translate -q -m "$ALIGNING" --search paper --alignment soft in.txt
    [ "$(wc -l <<<"$output")" = 9 ]
    t 0 tf-translate -q -m "$MODEL" --alignment-head 1,2 --alignment hard in.txt
    diff <(cat want) - <<<"$output"
}

@test "--alignment-output: neither output is cut without an error when the reader of one leaves" {
    head -9 "$LINES_TXT" >in.txt
    tf-decode -q -m "$ALIGNING" --alignment <(tf-tokenize -m "$ALIGNING" in.txt) -o aligned
    mkfifo left
    true <left &
    exec 9>left
    wait $!
    local decode=(tf-tokenize -d -m "$ALIGNING" --alignment hard)
    t 1 "${decode[@]}" --alignment-output /dev/fd/9 -o out aligned
    expect_error "tf-tokenize: /dev/fd/9: write: Broken pipe"
    sh_t 1 '"$@" >&9' "${decode[@]}" --alignment-output links aligned
    expect_error "tf-tokenize: stdout: write: Broken pipe"
    [ ! -e links ]
    t 1 tf-translate -q -m "$ALIGNING" --alignment hard --alignment-output /dev/fd/9 -o out in.txt
    expect_error "tf-tokenize: /dev/fd/9: write: Broken pipe"
    sh_t 1 '"$@" >&9' tf-translate -q -m "$ALIGNING" --alignment hard --alignment-output links \
        in.txt
    expect_error "tf-translate: stdout: write: Broken pipe"
    [ ! -e out ]
}

# Of a small model that copies.
TRAIN=(tf-train -q --preset tiny --layers 2 --d-model 32 --d-ff 64 --heads 2 --dropout 0
    --warmup 100 --device cpu)
train() { "${TRAIN[@]}" --vocab "$BATS_FILE_TMPDIR/vocab" "$@"; }
# Each token of a copy is linked to itself.
links_of_copies() {
    tf-cbor json "$BATS_FILE_TMPDIR/text.tfs" | jq -r 'select(.type == "tokens") |
        [range(.ids | length) | "\(.)-\(.)"] | join(" ")'
}

@test "links travel with their pairs through shuffled batches" {
    cd "$BATS_FILE_TMPDIR"
    links_of_copies >links
    tf-batch -q --tokens 300 --epochs 2 --links links text.tfs text.tfs -o linked
    tf-cbor check linked
    tf-cbor json linked | jq 'select(.type == "batch") | [.src, .links] | transpose |
        all(. as [$s, $l] | $l == [range($s | length) | ., .])' | sort -u | grep -qx true
    # Windows of a pipe forget the links of the pairs that are written.
    cat text.tfs | tf-batch -q --tokens 300 --window 50 --links links - text.tfs 2>/dev/null |
        tf-cbor json | jq 'select(.type == "batch") | [.src, .links] | transpose |
        all(. as [$s, $l] | $l == [range($s | length) | ., .])' | sort -u | grep -qx true
    tf-cbor json linked | tf-cbor unjson -o back
    cmp linked back
    corpus() { tf-cbor json "$1" | jq -r 'select(.type == "batch") | .corpus' | sort -u; }
    tf-batch -q --tokens 300 text.tfs text.tfs -o plain
    [ "$(corpus linked)" != "$(corpus plain)" ]
    fails() {
        t 1 tf-batch -q --links "$1" text.tfs text.tfs -o none
        expect_error "$2"
    }
    head -399 links >short
    fails short "short ends after 399 lines, text.tfs continues"
    echo >>links
    fails links "text.tfs ends after 400 records, links continues"
    sed '3s/.*/0:0/' links >wrong
    fails wrong "wrong: line 3: '0:0': not SOURCE-TARGET, two numbers to 65535"
    sed '4s/.*/0-99/' links >wrong
    fails wrong "wrong: line 4: link 0-99 of"
}

@test "guided alignment trains the head that the model then states" {
    cd "$BATS_FILE_TMPDIR"
    links_of_copies >links
    tf-batch -q --tokens 400 --batches 200 --links links text.tfs text.tfs -o linked
    train --steps 200 --save-every 190 --guided-alignment 1 -o guided linked
    tf-info guided/ckpt-00000200.tfm | grep -q 'alignment-head *2,1'
    tf-avgckpt -n 1 guided -o guided.tfm
    tf-info guided.tfm | grep -q 'alignment-head *2,1'
    head -20 text | tf-tokenize -m vocab >in.tfs
    right() { # share of links that are of a token to itself
        tf-attn -q -m "$1" --alignment "${@:2}" in.tfs in.tfs |
            tf-tokenize -d -m vocab --alignment hard --alignment-pieces | sed 's/.*||| //' |
            tr ' ' '\n' | awk -F- '{ n++; if ($1 == $2) r++ } END { print 100 * r / n }'
    }
    right guided.tfm | awk '{ exit $1 < 90 }'
    # A head that nothing guides is not so.
    right guided.tfm --alignment-head 1,2 | awk '{ exit $1 > 60 }'
    # Another start at step 190 has the same bytes, and so have two threads.
    cp -r guided again
    rm again/ckpt-00000200.tfm
    train --steps 200 --save-every 190 --guided-alignment 1 --threads 2 -o again linked
    cmp guided/ckpt-00000200.tfm again/ckpt-00000200.tfm
    # Without it links change nothing.
    tf-batch -q --tokens 400 --batches 5 text.tfs text.tfs -o plain
    train --steps 5 -o a linked
    train --steps 5 -o b plain
    diff <(tf-cbor json a/ckpt-00000005.tfm | grep '"name":"p/') \
        <(tf-cbor json b/ckpt-00000005.tfm | grep '"name":"p/')
    t 1 "${TRAIN[@]}" --vocab vocab --steps 5 --guided-alignment 1 -o c plain
    expect_error "no links for --guided-alignment (tf-batch --links)"
    t 2 "${TRAIN[@]}" --vocab vocab --steps 5 --guided-alignment 1 --guided-layer 3 -o d linked
    expect_error "--guided-layer 3: the decoder has 2 layers"
    t 1 "${TRAIN[@]}" --vocab vocab --steps 9 --guided-alignment 1 -o a linked
    expect_contains "$stderr" "guided"
}
