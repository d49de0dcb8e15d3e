#!/usr/bin/env bats
# The examples of README.md and of the man pages, run as they stand in a small world that has the
# files they name. Only tf-train is changed:
# a wrapper in front of it adds options for a tiny model and a few updates.
# bats file_tags=no-asan
load helper

setup_file() {
    # shellcheck disable=SC2030
    export WORLD=$BATS_FILE_TMPDIR/world
    mkdir -p "$WORLD/bin"
    cd "$WORLD" || return 1
    cat >bin/tf-train <<X
#!/bin/bash
case " \$* " in
*" --plan "*) exec $(command -v tf-train) "\$@" ;;
*" --valid "*) set -- "\$@" --valid-every 2 ;;
esac
# An example that trains begins: the world's own run is another one, and over.
[ ! -e run/world ] || rm -r run
exec $(command -v tf-train) "\$@" --layers 1 --d-model 16 --d-ff 32 --heads 2 --steps 10 \\
    --save-every 2 --device cpu
X
    # The examples ask for a vocabulary of 37,000, which 300 lines do not have.
    cat >bin/tf-tokenize <<X
#!/bin/bash
[ "\$1" = --train ] && exec $(command -v tf-tokenize) "\$@" --vocab-size 100 2>/dev/null
exec $(command -v tf-tokenize) "\$@"
X
    # And for the paper's layers, where these models have one.
    cat >bin/tf-attn <<X
#!/bin/bash
[[ " \$* " == *" --alignment "* ]] || set -- "\$@" --layer 1
exec $(command -v tf-attn) "\$@"
X
    # The examples in Python import numpy, which the first python3 on PATH need not have.
    cat >bin/python3 <<X
#!/bin/bash
exec $TF_PYTHON "\$@"
X
    chmod +x bin/*
    local n=0 f
    for f in train:300 dev:20 test:20; do
        awk -f "$TOP/examples/demo/numbers" -v n=400 -v seed=3 |
            sed -n "$((n + 1)),$((n + ${f#*:}))p" >pairs
        cut -f 1 pairs >"${f%:*}.en"
        cut -f 2 pairs >"${f%:*}.de"
        n=$((n + ${f#*:}))
    done
    cp dev.en news.en
    cp dev.de news.de
    cp test.de ref1.de
    cp test.de ref.de
    cp test.en ref2.de
    cp test.de base.out
    cp test.en big.out
    cp test.de test.out
    cp test.de out1
    cp test.de out2
    cp test.de out.de
    cp test.de mono.de
    cp test.de newstest2014.tok.de
    PATH=$WORLD/bin:$PATH
    tf-tokenize --train -o ende.model train.en train.de
    for f in train test dev; do
        tf-tokenize -m ende.model <$f.en >$f.en.tfs
        tf-tokenize -m ende.model <$f.de >$f.de.tfs
    done
    cp ende.model vocab.spm
    cp "$TOP/examples/files/texts" bin
    printf 'msgid "one"\nmsgstr ""\n' >app.po
    printf '1\n00:00:01,000 --> 00:00:02,000\none\ntwo\n' >film.srt
    echo '<xliff><file><trans-unit><source>one</source></trans-unit></file></xliff>' >app.xlf
    echo '<p>one <b>two</b></p>' >page.html
    "$TF_PYTHON" "$TOP/tests/cli/marian.py" make marian.npz 100
    cp test.en.tfs mono.tfs
    cp test.de.tfs test.out.tfs
    tf-batch -q --no-shuffle dev.en.tfs dev.de.tfs >dev.tfs
    tf-batch -q --tokens 500 --epochs 20 train.en.tfs train.de.tfs >train.tfs
    tf-train -q --vocab ende.model --valid dev.tfs --ema 0.9 -o run train.tfs
    touch run/world
    mkdir base big
    cp run/log.jsonl base
    cp run/log.jsonl big
    tf-avgckpt -n 2 run -o model.tfm
    cp model.tfm other.tfm
    cp model.tfm reverse.tfm
    cp model.tfm backwards.tfm
    cp model.tfm enpt.tfm
    cp model.tfm pten.tfm

    # What the examples about trees find in place of the texts.
    mkdir trees
    for f in 1 2 3; do echo "(TOP (S (NP (DT the) (NN dog$f)) (VP (VBZ runs))))"; done \
        >trees/test.trees
    cp trees/test.trees trees/treebank.mrg
    cp trees/test.trees trees/test.out
    cp trees/test.trees trees/base.out
    cp trees/test.trees trees/big.out
    tf-tree -l -w trees/test.words -o /dev/null trees/test.trees
}

# Run each block of a file of shell blocks (separated by lines "%%") in a fresh copy of the world;
# files of a folder of it replace others. $3: what comes before a block.
run_blocks() {
    local n=0 block
    cp -r "$WORLD/." .
    sed -i 's/--alignment-head 3/--alignment-head 1/' "$1" # the models have one layer
    [ -z "${2:-}" ] || cp "$2"/* .
    mkdir blocks
    awk -v RS='%%\n' 'NF { printf "%s", $0 >sprintf("blocks/%03d", ++n) }' "$1"
    for block in blocks/*; do
        [ -e "$block" ] || break
        n=$((n + 1))
        sh_t 0 "PATH=$PWD/bin:\$PATH; set -e; ${3:-}
$(cat "$block")" ||
            { printf 'in this example:\n%s\n' "$(cat "$block")" >&2; return 1; }
    done
    [ "$n" -ge 1 ] || { echo "no examples found" >&2; return 1; }
}

man_blocks() {
    sed -n '/^\.Sh EXAMPLES/,/^\.Sh [^E]/p' "$TOP/man/$1" |
        awk '/^\.Bd/ { on = 1; next } /^\.Ed/ { on = 0; print "%%"; next } on' \
        | sed 's/\\e/\\/g; s/\\-/-/g' >examples
    run_blocks examples "${@:2}"
}

@test "README.md" {
    awk '/^```sh/ { on = 1; next } /^```/ { if (on) print "%%"; on = 0 } on' "$TOP/README.md" \
        >examples
    run_blocks examples
}

@test "tf(7): the whole experiment" {
    awk '/^\.Bd -literal/ { on = 1; next } /^\.Ed/ { if (on) print "%%"; on = 0 } on' \
        "$TOP/man/tf.7" >examples
    run_blocks examples
}

@test "tf-howto(7): every recipe" {
    awk '/^\.Bd -literal/ { on = 1; next } /^\.Ed/ { if (on) print "%%"; on = 0 } on' \
        "$TOP/man/tf-howto.7" | sed 's/\\e/\\/g' >examples
    sed 's/.*/0-0/' "$WORLD/train.en" >links # an aligner's
    run_blocks examples
    [ "$(awk 'NF == 3 && $3 > 0 && $3 <= 1' lex.s2t | wc -l)" -gt 5 ]
    [ "$(wc -l <best.moses)" -gt 20 ]
    # The texts that the other model scores are the list's, from right to left.
    tf-tokenize -d -m model.tfm pairs.de.tfs >backwards
    cut -f 4 best.tsv | awk '{ for (i = 1; i <= NF; i++) s = $i (i > 1 ? " " s : ""); print s; s = "" }' |
        cmp - backwards
    # Back-translation: each line has three sources, and tf-batch takes them.
    pairs=$(tf-cbor json more.tfs | jq -s 'map(select(.type == "batch").idx | length) | add')
    all=$(($(wc -l <train.en) + 3 * $(wc -l <mono.de)))
    echo "$pairs of $all pairs" >&2 # some samples are empty
    [ "$pairs" -le "$all" ] && [ "$pairs" -gt $((all * 9 / 10)) ]
    [ "$(tf-cbor json short.en.tfs | grep -c '"tokens","idx"')" -eq "$(wc -l <short.tsv)" ]
    # Mixing corpora: the line without joined files has the pairs of those.
    tf-tokenize -m ende.model <news.en >news.en.tfs
    tf-tokenize -m ende.model <news.de >news.de.tfs
    mixing=$(sed -n 's/^\.Ql \(tf-batch -w [0-9]* news.*\)/\1/p' "$TOP/man/tf-howto.7")
    sh_t 0 "$mixing >mixed.tfs"
    sentences_of() { tf-cbor json "$1" | jq -c 'select(.type == "batch").src[]' | sort; }
    sentences_of all.tfs | cmp - <(sentences_of mixed.tfs)
}

# Every example that is a loop into a pipe, with tools of which the first call fails.
@test "a loop in a pipe: where one of its commands fails, the status says so" {
    cp -r "$WORLD/." .
    for f in tf-batch tf-bleu tf-decode; do
        printf '#!/bin/bash\n[ -e failed ] || { : >failed; exit 1; }\nexec %s "$@"\n' \
            "$(type -P $f)" >bin/$f
        chmod +x bin/$f
    done
    mkdir blocks
    awk '/^\.Bd/ { on = 1; n++; next } /^\.Ed/ { on = 0 } on { print >sprintf("blocks/%03d", n) }' \
        "$TOP"/man/*.[17]
    local n=0 block
    for block in blocks/*; do
        grep -qE '(^|[; ])done \|' "$block" || continue
        n=$((n + 1))
        rm -f failed
        sed -i 's/\\e/\\/g' "$block"
        sh_t 1 "PATH=$PWD/bin:\$PATH; $(cat "$block")" || { cat "$block" >&2; return 1; }
        [ -e failed ]
    done
    [ "$n" -eq 4 ]
}

@test "tf-attn(1)" { man_blocks tf-attn.1; }
@test "tf-avgckpt(1)" { man_blocks tf-avgckpt.1; }
@test "tf-batch(1)" { man_blocks tf-batch.1; }
@test "tf-bleu(1)" { man_blocks tf-bleu.1; }
@test "tf-cbor(1)" { man_blocks tf-cbor.1; }
@test "tf-convert(1)" { man_blocks tf-convert.1; }
@test "tf-decode(1)" { man_blocks tf-decode.1; }
@test "tf-evalb(1)" { man_blocks tf-evalb.1 trees; }
@test "tf-info(1)" { man_blocks tf-info.1; }
@test "tf-plot(1)" { man_blocks tf-plot.1; }
@test "tf-rerank(1)" { man_blocks tf-rerank.1; }
@test "tf-score(1)" { man_blocks tf-score.1; }

# The service takes a free port, where curl finds it, and ends with the example.
@test "tf-serve(1)" {
    need tf-serve curl
    # shellcheck disable=SC2016
    man_blocks tf-serve.1 "" '
        tf-serve() { exec tf-serve "$@" --listen 127.0.0.1:0 --pipelines 1 >address; }
        curl() {
            until [ -s address ]; do kill -0 %1; sleep 0.1; done
            command curl --fail -sS "${@/http:\/\/127.0.0.1:8080/$(sed "s/listening on //" address)}"
        }
        trap "kill %1; wait" EXIT'
    jq -e 'has("translatedText")' <<<"$output"
}

@test "tf-split(1)" { man_blocks tf-split.1; }
@test "tf-tokenize(1)" { man_blocks tf-tokenize.1; }
@test "tf-train(1)" { man_blocks tf-train.1; }
@test "tf-translate(1)" { man_blocks tf-translate.1; }

@test "tf-tree(1)" { man_blocks tf-tree.1 trees; }

@test "every page of section 1 is run here" {
    for page in "$TOP"/man/*.1; do
        grep -q "man_blocks $(basename "$page")" "$TOP/tests/cli/documents.bats" ||
            { echo "$page is not" >&2; return 1; }
    done
}
