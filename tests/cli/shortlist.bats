#!/usr/bin/env bats
# Shortlists: tf-decode chooses among the tokens of a list, as Marian does; both kinds of file.
load helper
load translate

setup_file() {
    make_model
    export GOLDEN=$TOP/tests/golden/marian
}

# info KEY: a number of the model
info() {
    tf-info "$MODEL" | awk -v key="$1" '$1 == key { print $2; exit }'
}

@test "outputs and scores are those of Marian with the same list" {
    need "$TF_PYTHON"
    for name in one both; do
        case $name in
        one) how=tied-embeddings-all=true source=vocab target=vocab ;;
        both) how=tied=none source=en target=de ;;
        esac
        "$TF_PYTHON" "$TOP/tests/cli/marian.py" make m.npz 32 $how
        tf-convert m.npz --vocab "$GOLDEN/$source.spm" --vocab-target "$GOLDEN/$target.spm" -o m.tfm
        head -12 "$GOLDEN/en" | tf-tokenize -m m.tfm |
            tf-decode -m m.tfm --beam 1 --alpha 0 --max-factor 3 --max-extra 3 --token-scores \
                --shortlist "$GOLDEN/$name.lex" --shortlist-first 4 --shortlist-best 3 \
                --shortlist-threshold 0.15 >out
        tf-tokenize -d -m m.tfm --nbest out | cut -f 4 | cmp - <(cut -f 2 "$GOLDEN/$name.short")
        # At its limit Marian's have no end, which is the last of ours.
        "$TF_PYTHON" - "$GOLDEN/$name.short" <<'PY'
import sys
from tools import lines
wants = [float(line.split("\t")[0]) for line in open(sys.argv[1])]
hyps = [r["hyps"][0] for r in lines("out") if "hyps" in r]
assert len(hyps) == len(wants) == 12
for want, h in zip(wants, hyps):
    p = h["token_logp"]
    assert min(abs(sum(p) - want), abs(sum(p[:-1]) - want)) < 1e-3 * abs(want), (want, sum(p))
PY
        rm m.tfm
    done
}

@test "a model carries the list of its directory, and is searched with it" {
    need "$TF_PYTHON"
    local cut='--shortlist-first 4 --shortlist-best 3 --shortlist-threshold 0.15' model
    mkdir dir
    "$TF_PYTHON" "$TOP/tests/cli/marian.py" make dir/model.npz 32 tied-embeddings-all=true
    cp "$GOLDEN/vocab.spm" "$GOLDEN/one.lex" dir
    settings() { # the list, which is also in the directory where the model was trained
        printf 'models: [model.npz]\nvocabs: [vocab.spm, vocab.spm]\nbeam-size: 2\n%s\n' "$1" \
            >dir/decoder.yml
    }
    settings "shortlist: [/there/one.lex, 4, 3, 0.15]"
    tf-convert dir -o with.tfm 2>log
    grep -q 'with its shortlist, dir/one.lex' log
    tf-cbor json with.tfm | sed '/"name":"shortlist"/s/"\$hex":"f517/"$hex":"f518/' |
        tf-cbor unjson >broken.tfm
    t 1 tf-convert --to tfm broken.tfm -o x.tfm
    expect_error "broken.tfm: shortlist: "
    tf-convert --to tfm --shortlist none broken.tfm -o x.tfm
    settings ''
    tf-convert dir -o without.tfm 2>log
    [ "$(grep -c shortlist log)" -eq 0 ]
    head -12 "$GOLDEN/en" | tf-tokenize -m with.tfm >en.tfs
    text() { # whatever the provenance is
        tf-decode "$@" en.tfs | tf-tokenize -d -m with.tfm
    }
    out() {
        tf-decode "$@" en.tfs >out.tfs && tf-tokenize -d -m with.tfm out.tfs
    }
    # shellcheck disable=SC2086
    out -m without.tfm --shortlist dir/one.lex $cut >want
    tf-info out.tfs | grep -q -- '--shortlist-best 3'
    out -m without.tfm >all
    run -1 cmp want all
    out -m with.tfm | cmp - want
    # The numbers of a list in text are no settings of this run.
    [ "$(tf-info out.tfs | grep -c -- --shortlist)" -eq 0 ]
    tf-info --json out.tfs | jq -r '.made[-1].in.shortlist' >used
    tf-info --json with.tfm | jq -r .shortlist | cmp - used
    tf-info with.tfm | grep -q '^shortlist  *[0-9a-f]\{64\}$'
    out -m with.tfm --shortlist model --threads 1 --batch 1 | cmp - want
    out -m with.tfm --shortlist none | cmp - all
    [ "$(tf-info out.tfs | grep -c -- shortlist)" -eq 0 ]
    out -m with.tfm --search paper | cmp - <(text -m without.tfm --search paper)
    out -m with.tfm -m without.tfm |
        cmp - <(text -m without.tfm -m without.tfm --shortlist dir/one.lex $cut)
    out -m without.tfm -m with.tfm | cmp - <(text -m without.tfm -m without.tfm)
    head -3 "$GOLDEN/en" | tf-translate -q -m with.tfm | cmp - <(head -3 want)
    head -3 "$GOLDEN/en" | tf-translate -q -m with.tfm --shortlist none | cmp - <(head -3 all)
    # Added, kept, taken out, left out.
    tf-convert --to tfm without.tfm --shortlist dir/one.lex -o model.tfm
    out -m model.tfm | cmp - <(text -m without.tfm --shortlist dir/one.lex)
    tf-convert --to tfm model.tfm --dtype f16 -o same.tfm
    [ "$(tf-info --json model.tfm | jq .shortlist)" = "$(tf-info --json same.tfm | jq .shortlist)" ]
    tf-convert --to tfm with.tfm --shortlist none -o model.tfm
    out -m model.tfm | cmp - all
    tf-convert with.tfm -o model.safetensors 2>log
    grep -q 'with.tfm: its shortlist is left out: it is no part' log
    # One that is named goes into a model of ours or nowhere.
    t 2 tf-convert without.tfm --shortlist dir/one.lex -o none
    expect_error "tf-convert: --shortlist dir/one.lex: only with --to tfm"
    [ ! -e none ]
    tf-convert with.tfm --new-vocab "$GOLDEN/en.spm" -o model.tfm 2>log
    grep -q 'with.tfm: its shortlist is left out: it is for another' log
    tf-avgckpt with.tfm with.tfm -o mean.tfm
    for model in model mean; do
        [ "$(tf-info --json $model.tfm | jq .shortlist)" = null ]
    done
    t 1 tf-decode -m without.tfm --shortlist model en.tfs
    expect_error "without.tfm: has no shortlist (tf-convert --shortlist adds one)"
    t 2 tf-decode -m with.tfm --shortlist none --shortlist-best 2 en.tfs
    # Firefox names its list in its settings, or has no settings.
    seq 0 31 | awk '{ print $1, ($1 + 1) % 32 }' | binary 3 32 >dir/lex.50.50.xx.s2t.bin
    settings 'shortlist: [lex.50.50.xx.s2t.bin, false]'
    tf-convert dir -o named.tfm
    rm dir/decoder.yml
    tf-convert dir -o alone.tfm
    for model in named alone; do
        tf-info --json $model.tfm | jq -r .shortlist |
            cmp - <(sha256sum <dir/lex.50.50.xx.s2t.bin | cut -d ' ' -f 1)
    done
    cp dir/lex.50.50.xx.s2t.bin dir/lex.50.50.yy.s2t.bin
    t 1 tf-convert dir -o two.tfm
    expect_contains "$stderr" "2 files lex.*.bin: name one of them, with --shortlist"
    t 0 tf-convert dir --shortlist dir/lex.50.50.yy.s2t.bin -o two.tfm
    settings 'shortlist: [none.bin, false]'
    tf-convert dir -o two.tfm 2>log
    grep -q 'but without the shortlist none.bin, which is not in the directory' log
    settings 'shortlist: [lex.50.50.xx.s2t.bin, false]'
    printf '\377' | dd of=dir/lex.50.50.xx.s2t.bin bs=1 seek=400 conv=notrunc status=none
    t 1 tf-convert dir -o two.tfm
    expect_contains "$stderr" "damaged: its checksum is wrong (--shortlist none does without)"
    # A list within a model is checked as one in a file.
    tf-cbor json named.tfm | sed '/shortlist/s/f5173401d5481af1/f5173401d5481af0/' |
        tf-cbor unjson -o bad.tfm
    t 1 tf-decode -m bad.tfm en.tfs
    expect_contains "$stderr" "bad.tfm: shortlist: truncated, or not a binary shortlist (--short"
    t 0 tf-decode -m bad.tfm --shortlist none en.tfs
}

@test "a list of all tokens changes nothing, in any search" {
    printf 'a a 1\n' >list
    for way in '--beam 4' '--beam 1' '--sample --nbest 3' '--no-repeat-ngram 2 --nbest 2' \
        '--diverse 2 --nbest 4' \
        '--precision int8' '--device ref --beam 2'; do
        decode $way "$LINES_TFS" | tf-tokenize -d -m "$MODEL" >want
        decode $way --shortlist list --shortlist-first 9999 "$LINES_TFS" |
            tf-tokenize -d -m "$MODEL" | cmp - want
    done
}

@test "outputs have tokens of their own list only, whatever batch, threads and precision" {
    # The token of a source id is the only one that it may become, but for the first.
    ids=$(info vocab_size)
    tf-cbor json "$LINES_TFS" >lines.json
    seq 0 $((ids - 1)) | awk '{ print $1, ($1 + 1) % '"$ids"' }' | binary 3 "$ids" >list
    for way in '--beam 4 --nbest 4' '--diverse 2 --nbest 4' '--beam 1' '--sample' \
        '--precision int8' '--precision bf16' "-m $MODEL --beam 3"; do
        decode $way --shortlist list "$LINES_TFS" -o out
        decode $way --shortlist list --threads 1 --batch 1 --window 3 "$LINES_TFS" | cmp - out
        decode $way --shortlist list --threads 2 --batch 7 "$LINES_TFS" | cmp - out
        "$TF_PYTHON" - lines.json "$ids" "$(info eos)" <<'PY'
import json, sys
from tools import lines
V, eos = int(sys.argv[2]), int(sys.argv[3])
sources = [json.loads(line) for line in open(sys.argv[1])]
sources = [r["ids"] for r in sources if "ids" in r]
n = 0
for r in lines("out"):
    if "ids" not in r and "hyps" not in r: continue
    own = {0, 1, 2, *sources[r["idx"]], *((i + 1) % V for i in sources[r["idx"]])}
    some = [i for i in range(3, V) if i not in own]
    own.update(some[:-len(own) % 8])
    for h in r.get("hyps", [r]):
        assert set(h["ids"]) <= own | {eos, (eos + 1) % V}, (r["idx"], h["ids"], own)
    n += 1
assert n == len(sources)
PY
    done
    tf-cbor json out | grep -q '"shortlist":'
}

@test "text and binary of the same list give the same" {
    ids=$(info vocab_size)
    printf '▁b ▁a 0.5\n▁c ▁a 0.4\nb a 0.3\n▁a ▁b 1e-1\n' >text
    decode --shortlist text --shortlist-first 5 --shortlist-best 1 "$LINES_TFS" |
        tf-tokenize -d -m "$MODEL" >want
    # The ids of a and b, each a piece.
    pair=$(printf 'a\nb\n' | tf-tokenize -m "$MODEL" | tf-cbor json | sed -n 's/.*"ids":\[\([0-9]*\)\].*/\1/p')
    paste -d ' ' <(echo "$pair") <(tac <<<"$pair") | binary 5 "$ids" >list
    decode --shortlist list "$LINES_TFS" | tf-tokenize -d -m "$MODEL" | cmp - want
    gzip -c text >text.gz
    decode --shortlist text.gz --shortlist-first 5 --shortlist-best 1 "$LINES_TFS" |
        tf-tokenize -d -m "$MODEL" | cmp - want
    tf-translate -q -m "$MODEL" --max-extra 5 --shortlist text --shortlist-first 5 \
        --shortlist-best 1 "$LINES_TXT" | cmp - want
}

@test "a threshold is a bound that probabilities have to be above" {
    local t
    for t in a b c ▁a ▁b ▁c; do printf '%s a 0.1\n%s ▁a 0.1\n' "$t" "$t"; done >list
    echo "a b 0.5" >>list
    for t in 0.09 0.1 0.2; do
        decode -n 1 --shortlist list --shortlist-first 4 --shortlist-threshold $t "$LINES_TFS" |
            tf-cbor json | jq -c .hyps >$t
    done
    cmp 0.1 0.2
    run -1 cmp 0.09 0.2
}

@test "what is forced need not be in the list" {
    printf 'a a 1\n' >list
    short() { decode --shortlist list --shortlist-first 3 "$@" "$LINES_TFS"; }
    awk 'NR == 7 { print ""; next } { print "c c b" }' "$LINES_TXT" >words
    tf-tokenize -m "$MODEL" --pieces --phrases 1 words >phrases
    short --constraints phrases | tf-tokenize -d -m "$MODEL" >text
    [ "$(grep -c 'c c b' text)" -eq $((LINES - 1)) ]
    tf-tokenize -m "$MODEL" words >prefix
    short --prefix prefix --no-repeat-ngram 3 --repetition-penalty 1.1 | tf-tokenize -d -m "$MODEL" >text
    [ "$(grep -c '^c c b' text)" -eq $((LINES - 1)) ]
    echo b >never
    short --forbid never | tf-tokenize -d -m "$MODEL" >text
    [ "$(grep -cw b text)" -eq 0 ]
}

@test "bad lists are named" {
    ids=$(info vocab_size)
    printf 'a b 0.5\na b\n' >list
    d_t 1 --shortlist list "$LINES_TFS"
    expect_error "list: line 2: not a target piece, a source piece and a probability"
    printf 'a b x\n' >list
    d_t 1 --shortlist list "$LINES_TFS"
    expect_error "list: line 1: 'x': not a number"
    printf 'cat Katze 0.5\ndog Hund 0.5\n' >list
    d_t 1 --shortlist list "$LINES_TFS"
    expect_contains "$stderr" "list: 2 of its 2 pairs have a piece that the model's vocabulary lacks"
    printf 'NULL a 0.5\n' >list
    d_t 1 --shortlist list "$LINES_TFS"
    expect_error "list: no pairs of pieces"
    echo "1 2 3" | binary 3 "$ids" >good
    d_t 0 --shortlist good "$LINES_TFS" -o out
    head -c 40 good >list
    d_t 1 --shortlist list "$LINES_TFS"
    expect_error "list: shortlist: truncated, or not a binary shortlist"
    head -c -4 good >list
    d_t 1 --shortlist list "$LINES_TFS"
    expect_contains "$stderr" "bytes, but its head says"
    { head -c 60 good; printf '\001'; tail -c +62 good; } >list
    d_t 1 --shortlist list "$LINES_TFS"
    expect_error "list: shortlist: damaged: its checksum is wrong"
    echo "1 2 9999" | binary 3 "$ids" >list
    d_t 1 --shortlist list "$LINES_TFS"
    expect_error "list: shortlist: target id 9999, but the vocabulary has $ids"
    echo "1 2" | binary 3 9 >list
    d_t 1 --shortlist list "$LINES_TFS"
    expect_error "list: shortlist for a vocabulary of 9 source ids, but the model has $ids"
    d_t 1 --shortlist good --shortlist-first 5 "$LINES_TFS"
    expect_contains "$stderr" "good: a binary shortlist has its own numbers"
    d_t 1 --shortlist missing "$LINES_TFS"
    expect_error "missing: No such file or directory"
    printf 'BZh91AY&SY\xff' >list
    d_t 1 --shortlist list "$LINES_TFS"
    expect_error "list: data compressed by bzip2, not UTF-8 text (use bzip2 -dc)"
    iconv -f UTF-8 -t UTF-16 <<<'a b 0.5' >list
    d_t 1 --shortlist list "$LINES_TFS"
    expect_error "list: UTF-16, not UTF-8 text (use iconv -f UTF-16 -t UTF-8)"
    d_t 2 --shortlist good --insert "$LINES_TFS" "$LINES_TFS"
    d_t 2 --shortlist-first 5 "$LINES_TFS"
}
