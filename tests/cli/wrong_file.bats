#!/usr/bin/env bats
# A file of the wrong format: every reader names what it is and what to do, with status 1; gzip is
# read wherever text is.
load helper

prepare() {
    seq 1 3 200 | sed 's/.*/(TOP (NN &))/' >text
    tf-tokenize --train --vocab-size 30 -o vocab text 2>/dev/null
    tf-tokenize -m vocab <text >tokens
    printf '\x02\0\0\0\0\0\0\0{}' >none.safetensors
}

# The tools that read text; FILE stands for the file.
readers() {
    cat <<'X'
tf-tokenize -m vocab FILE
tf-tokenize -m vocab --pieces FILE
tf-tokenize --train --vocab-size 30 -o trained FILE
tf-bleu text -i FILE
tf-bleu FILE -i text
tf-bleu --print-tokens -i FILE
tf-rerank FILE
tf-tree FILE
tf-tree -l FILE
tf-tree -r -w text FILE
tf-tree -r -w FILE text
tf-evalb FILE text
tf-evalb text FILE
tf-plot curve FILE
tf-plot heat FILE
tf-cbor unjson FILE
tf-evalb -p FILE text text
tf-bleu --as paper --prefixes FILE text -i text
tf-split -d -l FILE text
tf-batch -q --links FILE tokens tokens
tf-batch -q --weights FILE tokens tokens
tf-batch -q --list FILE
tf-train --device cpu -o none --settings FILE none
tf-convert --config FILE none.safetensors
X
}

# all_refuse FILE MESSAGE: every reader, from a path and from a pipe that delivers slowly. A
# vocabulary begins with a line feed: of a slow pipe, that is an empty line of text.
all_refuse() {
    local line
    while read -r line; do
        sh_t 1 "${line/FILE/$1}"
        [[ ${stderr_lines[-1]} == *": $1: $2" ]] || { echo "$line: $stderr"; return 1; }
        [ "${#stderr_lines[@]}" -eq 1 ] || [[ $line == *--train* ]]
    done < <(readers)
    [ "$1" != vocab ] || return 0
    sh_t 1 "{ head -c 1 $1; sleep 0.1; tail -c +2 $1; } | tf-tokenize -m vocab"
    expect_error "tf-tokenize: stdin: $2"
}

@test "compressed text" {
    natively
    { printf '\x28\xb5\x2f\xfd\x24\x0a\x0a\x51'; cat text; } >a.zst
    all_refuse a.zst "data compressed by zstd, not UTF-8 text (use zstd -dc)"
    { printf '\xfd7zXZ\0\0\x04'; cat text; } >a.xz
    all_refuse a.xz "data compressed by xz, not UTF-8 text (use xz -dc)"
    { printf 'BZh91AY&SY\xff'; cat text; } >a.bz2
    all_refuse a.bz2 "data compressed by bzip2, not UTF-8 text (use bzip2 -dc)"
    { printf 'PK\x03\x04\x14'; cat text; } >a.zip
    all_refuse a.zip "a zip or npz archive, not UTF-8 text (use unzip -p)"
}

@test "text in other encodings, with a mark and without" {
    natively
    local e
    iconv -f UTF-8 -t UTF-16 text >marked
    all_refuse marked "UTF-16, not UTF-8 text (use iconv -f UTF-16 -t UTF-8)"
    for e in UTF-16LE UTF-16BE UTF-32LE UTF-32BE; do
        iconv -f UTF-8 -t $e text >wide
        all_refuse wide "${e%?E}, not UTF-8 text (use iconv -f $e -t UTF-8)"
    done
    gzip <marked >marked.gz
    sh_t 1 "tf-tokenize -m vocab <marked.gz"
    expect_error "stdin: UTF-16, not UTF-8 text"
    t 0 tf-bleu -b -e utf-16 marked -i marked.gz
    expect_output 100.0
}

@test "streams, models and vocabularies" {
    all_refuse tokens "a stream of kind tokens, not UTF-8 text (use tf-tokenize -d)"
    all_refuse vocab "a SentencePiece model, not UTF-8 text (use tf-tokenize --export-vocab)"
    tf-batch -q tokens tokens >batches
    all_refuse batches "a stream of kind batch, not UTF-8 text (use tf-cbor json)"
    tf-train -q --preset tiny --layers 1 --d-model 16 --d-ff 16 --heads 2 --device cpu \
        --vocab vocab --steps 1 -o run batches
    all_refuse run/ckpt-00000001.tfm "a checkpoint of tf-train, not UTF-8 text (use tf-info)"
    tf-convert run/ckpt-00000001.tfm -o m.safetensors
    all_refuse m.safetensors "a safetensors file, not UTF-8 text"
}

@test "what is given as a stream, a model or a vocabulary" {
    gzip <tokens >tokens.gz
    echo '{"a": 1}' >json
    tf-cbor json tokens >tokens.jsonl
    tf-batch -q tokens tokens >batches
    mkdir run
    while IFS='|' read -r line want; do
        sh_t 1 "$line"
        expect_error "$want"
    done <<'X'
tf-batch text text|text: text, not a stream of tf-tools (use tf-tokenize)
tf-train --device cpu -o x text|not a stream of tf-tools (use tf-tokenize, then tf-batch)
tf-train --device cpu -o x tokens|tokens: kind is tokens, expected batch (use tf-batch)
tf-train --device cpu -o x <tokens|stdin: kind is tokens, expected batch (use tf-batch)
tf-batch batches batches|batches: kind is batch, expected tokens (use tf-tokenize)
tf-batch tokens|tokens: kind is tokens, expected pairs (use two token streams)
tf-tokenize -d -m vocab text|text: text, not a stream of tf-tools (use tf-tokenize)
tf-tokenize -d -m vocab tokens.gz|data compressed by gzip, not a stream of tf-tools (use zcat)
tf-tokenize -d -m vocab tokens.jsonl|JSON, not a stream of tf-tools (use tf-cbor unjson)
tf-plot attention json|json: JSON, not a stream of tf-tools
tf-bleu --from-stats text|text: text, not a stream of tf-tools (use tf-bleu --stats)
tf-cbor check vocab|vocab: a SentencePiece model, not a stream of tf-tools
tf-cbor check text|text: text, not a stream of tf-tools
tf-decode -m text tokens|text: text, not a model of tf-tools
tf-decode -m vocab tokens|vocab: a SentencePiece model, not a model of tf-tools
tf-decode -m tokens tokens|tokens: kind is tokens, expected model or checkpoint
tf-tokenize -m text text|text, not a vocabulary: not a SentencePiece model or a model
tf-tokenize -m tokens text|tokens: kind is tokens, expected model or checkpoint
tf-tokenize -m run text|run: is a directory (use a .tfm file in it or tf-avgckpt run, of
tf-decode -m run tokens|run: is a directory (use a .tfm file in it or tf-avgckpt run, of
tf-info run|run: is a directory (use a .tfm file in it or tf-avgckpt run, of
tf-info - <run|tf-info: stdin: is a directory
tf-batch run run|run: is a directory
X
}

@test "gzip is read wherever text is, by content, from files and pipes" {
    gzip <text >text.gz
    cp text.gz packed
    tf-tree <text >trees
    for f in text.gz packed; do
        cmp <(tf-tokenize -m vocab $f) tokens
        cmp <(tf-tree $f) trees
        t 0 tf-bleu -b text -i $f
        expect_output 100.0
        tf-tokenize --train --vocab-size 30 -o trained $f 2>/dev/null
        cmp trained vocab
    done
    sh_t 0 'tf-tokenize -m vocab <packed | cmp - tokens'
    sh_t 0 'cat packed | tf-tokenize -m vocab | tf-cbor check'
    sh_t 0 'tf-bleu -b text <packed'
    expect_output 100.0
    printf '{"step":1,"ppl":3}\n{"step":2,"ppl":2}\n' >log
    cmp <(tf-plot -y ppl curve <(gzip <log)) <(tf-plot -y ppl curve <(cat log))
    sh_t 0 'tf-cbor json tokens | gzip | tf-cbor unjson >back && cmp back tokens'
    tf-split -l layout text >sentences
    sh_t 0 'gzip <sentences | tf-split -d -l <(gzip <layout) | cmp - text'
    echo none >settings
    t 2 tf-train --settings <(gzip <settings) -o none
    expect_error "line 1: no option 'none'"
    head -n 3 text | gzip >short
    sh_t 0 '{ head -c 5 short; sleep 0.1; tail -c +6 short; } | tf-tokenize -m vocab --pieces |
        cmp - <(head -n 3 text | tf-tokenize -m vocab --pieces)'
    sh_t 0 '{ head -c 1 short; sleep 0.1; tail -c +2 short; } | tf-bleu -b <(head -n 3 text)'
    expect_output 100.0
    # gzip within gzip is not text
    sh_t 1 'gzip <text.gz | tf-tokenize -m vocab'
    expect_error "stdin: data compressed by gzip, not UTF-8 text (use zcat)"
}

@test "a byte-order mark is no part of the first line, except of tf-bleu's and tf-tokenize's" {
    natively
    echo '{"step":1,"ppl":3}' >log
    printf '1,2\n3,4\n' >table
    printf 'foo\nbar\n' >prefixes
    printf 'DELETE_LABEL NN\nDELETE_LABEL TOP\n' >params
    tf-tree -l -w words text >sequences
    tf-cbor json tokens >json
    printf '0\t1\t-1\ta\n1\t1\t-2\tb\n' >lists
    tf-split -l layout text >sentences
    while read -r file command; do
        printf '\357\273\277' | cat - $file >marked
        gzip <marked >packed
        sh_t 0 "${command//FILE/$file}"
        want=$output
        for marked in marked packed '<(head -c 1 marked; sleep 0.1; tail -c +2 marked)'; do
            sh_t 0 "${command//FILE/$marked}"
            [ "$output" = "$want" ] || { echo "$command, $marked: $stderr $output"; return 1; }
        done
    done <<'X'
text tf-tree FILE
text tf-tree -l FILE
sequences tf-tree -r -w words FILE
words tf-tree -r -w FILE sequences
text tf-evalb FILE text
text tf-evalb text FILE
params tf-evalb -p FILE text text
log cat FILE | tf-plot -y ppl curve -
table tf-plot heat --values FILE
prefixes echo 'foo. X bar. X' >in; tf-bleu --as paper --print-tokens -i in --prefixes FILE
json tf-cbor unjson FILE >back && tf-cbor json back
lists tf-rerank FILE
layout tf-split -d -l FILE sentences
X
    echo '(TOP (NN 7))' >plain
    printf '\357\273\277' | cat - plain >marked
    t 0 tf-bleu -m chrf -b marked -i marked
    expect_output 100.0
    t 0 tf-bleu -m chrf -b marked -i plain
    [ "$output" != 100.0 ]
    cmp <(tf-tokenize -m vocab marked | tf-cbor json) <(tf-tokenize -m vocab plain | tf-cbor json)
    tf-tokenize --train --vocab-size 100 --normalization identity -o exact text 2>/dev/null
    run -1 cmp <(tf-tokenize -m exact marked | tf-cbor json) \
        <(tf-tokenize -m exact plain | tf-cbor json)
}

@test "lines of text with odd bytes at the start are text" {
    printf '\0\n\x1f\n\xef\xbb\xbfa\n{ "a\n' >odd
    t 0 tf-tokenize -m vocab -o stream odd
    tf-cbor count stream | grep -q $'^tokens\t4$'
    for start in '\x1f' 'B' 'BZh' 'P' '\0' 'PK' '\x1f\n' '{' '\n\n' 'a\0' '\n\x0e\n'; do
        printf "$start" >odd
        sh_t 0 "tf-tokenize -m vocab --pieces odd | wc -l"
        expect_output "$(awk 'END { print NR }' odd)"
    done
}

@test "a line is answered before the next is typed" {
    for line in 'a' '' '1' 'BZh9' 'P'; do
        coproc filter { exec tf-tokenize -m vocab --pieces; }
        printf '%s\n' "$line" >&"${filter[1]}"
        read -r -t 30 answer <&"${filter[0]}"
        pid=$filter_PID
        eval "exec ${filter[1]}>&-"
        wait "$pid"
    done
}

@test "a text whose first 16 lines are all bad is the wrong file" {
    for i in $(seq 16); do printf '\xff%d\n' "$i"; done >bad
    { head -n 15 bad; echo good; cat bad; } >mixed
    t 1 tf-tokenize -m vocab -o out bad
    expect_contains "$stderr" \
        "bad: its first 16 lines are all bad; line 1: invalid UTF-8 at byte 1 (--bad ok"
    [ ! -e out ]
    t 1 tf-tokenize -m vocab --pieces bad
    t 0 tf-tokenize -m vocab --bad ok -o out bad
    t 4 tf-tokenize -m vocab -o out mixed
    sh_t 4 'head -n 15 bad | tf-tokenize -m vocab >out'
    seq -f 'no tree ) %g' 20 >notrees
    t 1 tf-tree -l notrees
    expect_contains "$stderr" "notrees: its first 16 lines are all bad"
}
