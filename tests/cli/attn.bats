#!/usr/bin/env bats
# tf-attn: weights equal to a forward pass in numpy, choice of kinds, layers and heads, and
# behaviour in a pipeline.
load helper
load translate

setup_file() {
    make_model
    # Two random layers, so that attention depends on the sublayers before it.
    tf-batch -q --tokens 400 --batches 1 text.tfs text.tfs |
        tf-train -q --preset tiny --layers 2 --d-model 24 --d-k 5 --d-v 7 --d-ff 40 --heads 3 \
            --vocab vocab --steps 1 --seed 9 -o two
    tac lines.txt | tf-tokenize -m vocab >back.tfs
}

attn() {
    tf-attn -m "$MODEL" "$@"
}

# Print "idx kind layer heads rows columns" for each record of the stream on stdin.
shape() {
    tf-cbor json | jq -r 'select(.type == "attention") | "\(.idx) \(.kind) \(.layer) \(.heads | join(",")) \(.rows | length) \(.columns | length)"'
}

@test "all weights equal those of a forward pass in numpy" {
    for m in "$BATS_FILE_TMPDIR/two/ckpt-00000001.tfm" "$MODEL"; do
        tf-attn -m "$m" "$LINES_TFS" "$BATS_FILE_TMPDIR/back.tfs" -o all.tfs
        t 0 "$TF_PYTHON" "$TOP/tests/cli/attention.py" "$m" "$LINES_TFS" \
            "$BATS_FILE_TMPDIR/back.tfs" all.tfs
        expect_contains "$output" "records, off by up to"
    done
}

@test "the same bytes for every number of threads, batch and window" {
    attn "$LINES_TFS" "$LINES_TFS" >want
    for b in 1 7 64; do
        attn --threads 2 --batch $b --window $((b * 3)) "$LINES_TFS" "$LINES_TFS" >got
        cmp want got
    done
    # Another kernel set may round differently, but the weights agree.
    TF_CPU_ISA=generic attn --device cpu "$LINES_TFS" "$LINES_TFS" >generic
    t 0 "$TF_PYTHON" "$TOP/tests/cli/attention.py" "$MODEL" "$LINES_TFS" "$LINES_TFS" generic
}

@test "kinds by name, layers and heads by number from 1" {
    two=$BATS_FILE_TMPDIR/two/ckpt-00000001.tfm
    head -2 "$LINES_TXT" | tf-tokenize -m "$MODEL" >in.tfs
    tf-attn -m "$two" in.tfs in.tfs | shape | cut -d ' ' -f 1-4 >all
    printf '%s\n' {0,1}\ {encoder,decoder,cross}\ {1,2}\ 1,2,3 | cmp all -
    tf-attn -m "$two" -k cross -l 2 -H 1,3 in.tfs in.tfs | shape | cut -d ' ' -f 1-4 >some
    printf '%s\n' {0,1}\ cross\ 2\ 1,3 | cmp some -
    # The weights of one head are a slice of those of all heads.
    tf-attn -m "$two" -k cross -l 2 in.tfs in.tfs | tf-cbor json | jq -c 'select(.type == "attention") | ((.rows | length) * (.columns | length)) as $n | .weights[2 * $n:]' >third
    tf-attn -m "$two" -k cross -l 1-2 -H 3 in.tfs in.tfs | tf-cbor json |
        jq -c 'select(.layer == 2) | .weights' | cmp third -
}

@test "rows and columns are labelled with pieces" {
    echo 'a b' | tf-tokenize -m "$MODEL" >src.tfs
    echo c | tf-tokenize -m "$MODEL" >tgt.tfs
    attn src.tfs tgt.tfs | tf-cbor json | jq -c \
        'select(.type == "attention") | [.kind, .rows, .columns]' >got
    cat >want <<'TXT'
["encoder",["▁a","▁b","</s>"],["▁a","▁b","</s>"]]
["decoder",["▁c","</s>"],["<s>","▁c"]]
["cross",["▁c","</s>"],["▁a","▁b","</s>"]]
TXT
    diff want got
}

@test "sources alone have encoder attention; pairs and batches give the same as two streams" {
    attn "$LINES_TFS" | shape >alone
    attn -k encoder "$LINES_TFS" "$LINES_TFS" | shape | cmp alone -
    [ "$(wc -l <alone)" -eq "$LINES" ]
    tf-batch -q --no-shuffle --min-length 0 --tokens 4000 "$LINES_TFS" "$LINES_TFS" >batches
    attn "$LINES_TFS" "$LINES_TFS" | tf-cbor json | grep '"type":"attention"' | sort >a
    attn <batches | tf-cbor json | grep '"type":"attention"' | sort | cmp a -
    t 2 tf-attn -m "$MODEL" -k cross "$LINES_TFS"
    expect_error "sources without targets have encoder attention only"
}

@test "a model from a pipe, and one without a vocabulary" {
    attn -k encoder "$LINES_TFS" >want
    sh_t 0 'tf-attn -m - -k encoder "$LINES_TFS" <"$MODEL" | cmp - want'
    tf-cbor json "$MODEL" | grep -v '"name":"vocab"' |
        jq -c 'if .type == "header" then del(.header.vocab, .header.model) else . end' |
        tf-cbor unjson >bare.tfm
    tf-cbor json "$LINES_TFS" | jq -c 'if .type == "header" then del(.header.vocab) else . end' |
        tf-cbor unjson >bare.tfs
    tf-attn -m bare.tfm bare.tfs | tf-cbor json | jq -c 'select(.type == "attention") | .rows' >rows
    [[ $(head -1 rows) =~ ^\[\"[0-9]+\" ]]
}

@test "the vocabulary's pieces, without SentencePiece" {
    tf-tokenize --export-vocab -m "$MODEL" | cut -f 1 >names
    ids=$(seq -s , 4 $(($(wc -l <names) - 1)))
    printf '%s\n' '{"type":"header","header":{"v":1,"kind":"tokens"}}' \
        "{\"type\":\"tokens\",\"idx\":0,\"ids\":[$ids]}" '{"type":"end"}' | tf-cbor unjson >all.tfs
    attn all.tfs | tf-cbor json | jq -r 'select(.type == "attention") | .rows[]' >got
    { sed 1,4d names; echo '</s>'; } | diff - got
    # Pieces of another kind of vocabulary are written as numbers.
    tf-cbor json "$MODEL" | sed 's/\("name":"vocab","value":{"$hex":"\)..../\1ffff/' |
        jq -c 'if .type == "header" then del(.header.vocab, .header.model) else . end' |
        tf-cbor unjson >odd.tfm
    tf-cbor json all.tfs | tf-cbor unjson >in.tfs
    tf-attn -m odd.tfm in.tfs | tf-cbor json | jq -r 'select(.type == "attention") | .rows[]' |
        diff <(seq 4 $(($(wc -l <names) - 1)); echo 3) -
}

@test "a pair too large for a record is bad, and the others are written" {
    many=$(seq -s , 4100 | sed 's/[0-9]*/5/g')
    {
        echo '{"type":"header","header":{"v":1,"kind":"tokens"}}'
        printf '{"type":"tokens","idx":%s,"ids":[%s]}\n' 0 5,6 1 "$many" 2 6,5
        echo '{"type":"end"}'
    } | tf-cbor unjson >in.tfs
    t 4 tf-attn -m "$MODEL" --max-length 5000 in.tfs -o out.tfs
    [ "$(tf-cbor json out.tfs | jq -r 'select(.type != "header") | "\(.type) \(.code)"' | xargs)" \
        = "attention null bad 3 attention null end null" ]
}

@test "large batches are split into windows; complete pairs before a failure are written" {
    tf-batch -q --no-shuffle --min-length 0 --tokens 4000 "$LINES_TFS" "$LINES_TFS" >batches
    attn batches >want
    attn -w 1 batches | cmp want -
    head -20 "$LINES_TXT" | tf-tokenize -m "$MODEL" >twenty
    head -5 "$LINES_TXT" | tf-tokenize -m "$MODEL" >five
    for pair in "twenty five" "five twenty"; do
        # shellcheck disable=SC2086
        t 1 tf-score -q --text -m "$MODEL" $pair
        [ "${#lines[@]}" -eq 5 ]
    done
}

@test "usage errors and inputs that do not match" {
    t 2 tf-attn "$LINES_TFS"
    expect_error "-m FILE is required"
    t 2 tf-attn -m a -m b
    expect_error "-m: the attention of one model at a time"
    t 2 tf-attn -m - -
    expect_error "only one file can be stdin"
    t 2 tf-attn -m "$MODEL" -l 2 "$LINES_TFS"
    expect_error "--layer: 2: too large, maximum 1"
    t 2 tf-attn -m "$MODEL" -H 2-1 "$LINES_TFS"
    expect_error "--head: 2-1: the end is before the beginning"
    for bad in '' ',' '1,' x 1-x 0 1-2-2; do
        t 2 tf-attn -m "$MODEL" -H "$bad" "$LINES_TFS"
        expect_error "--head: "
    done
    t 2 tf-attn -m "$MODEL" -k self "$LINES_TFS"
    expect_error "one of all, encoder, decoder, cross"
    head -n 5 "$LINES_TXT" | tf-tokenize -m "$MODEL" >short
    t 1 tf-attn -m "$MODEL" -o out "$LINES_TFS" short
    expect_error "ends before"
    [ ! -e out ]
    t 4 tf-attn -m "$MODEL" --max-length 3 "$LINES_TFS" -o bad.tfs
    expect_contains "$stderr" "records bad"
    [ "$(tf-cbor json bad.tfs | grep -c '"type":"\(bad\|attention\)"')" -eq "$LINES" ]
}

@test "an upstream failure" {
    head -c 300 "$LINES_TFS" >cut.tfs
    sh_t 1 'tf-attn -m "$MODEL" cut.tfs | tf-cbor json >json'
    expect_contains "$stderr" "truncated"
    grep -q '"type":"error"' json
}

@test "sources without an end have as many columns as tokens" {
    need jq
    "$TF_PYTHON" "$TOP/tests/cli/batches.py" n=3 >b.tfs
    for end in '' no-; do
        tf-train -q --preset tiny --layers 1 --d-model 16 --d-ff 32 --heads 2 --device cpu \
            --${end}source-eos --steps 2 -o ${end}end b.tfs
    done
    t 4 tf-attn -m no-end/ckpt-00000002.tfm -o w.tfs b.tfs
    expect_contains "$stderr" "record 3: other: an empty source, which nothing attends to"
    tf-cbor json w.tfs | jq -se 'map(select(.type == "attention")) | length > 20 and all(
        (.columns | length) as $n | (.kind == "decoder" or .columns[-1] != "3")
        and (.weights | length) == 2 * $n * (.rows | length)
        and all(range(0; .weights | length; $n) as $i | .weights[$i:$i + $n] | add;
            . > 0.999 and . < 1.001))'
    # and all models of an ensemble have them
    t 1 tf-decode -q -m end/ckpt-00000002.tfm -m no-end/ckpt-00000002.tfm b.tfs
    expect_error "no-end/ckpt-00000002.tfm: its sources end without eos, those of end/ckpt-00000002.tfm with it"
}
