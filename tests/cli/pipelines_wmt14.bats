#!/usr/bin/env bats
# The pipelines of WMT 2014: from archives and SGML to text.
# bats file_tags=plain
load helper
load pipelines

@test "wmt14-ende.mk small, on a text of one's own" {
    numbers 800 1 >mine.en
    numbers 800 2 >mine.de
    # Lines that are not UTF-8, two to train on and one to translate: counted, then it continues.
    sed -i -e $'301s/^/\xff/' -e $'302s/^/\xff/' -e $'110s/^/\xff/' mine.en
    t 0 make -f "$TOP/pipelines/wmt14-ende.mk" small SMALL=mine WORK=w
    expect_contains "$stderr" "tf-tokenize: w-small/train.en: 2 of 600 lines bad"
    expect_contains "$stderr" "tf-decode: stdin: 1 of 100 records bad"
    check_results w-small
    [ "$(tf-cbor count w-small/train.en.tfs | sed -n 's/^tokens.//p')" = 598 ]
    # BLEU as in the paper, of plain references.
    cp w-small/test.de w-small/test.out
    t 0 make -s -f "$TOP/pipelines/wmt14-ende.mk" paper-score WORK=w-small RESULTS=w-small \
        -o w-small/test.out -o w-small/test.de
    expect_contains "$output" "100.0/0.0/0.0/0.0 (BP=1.000, ratio=1.000, hyp_len=100, ref_len=100)"
    t 2 make -f "$TOP/pipelines/wmt14-ende.mk" small SMALL=mine WORK=v BAD=fail
    expect_contains "$stderr" "v-small/train.en.tfs] Error 4"
    [ ! -e v-small/train.en.tfs ]
    t 2 make -f "$TOP/pipelines/wmt14-ende.mk" small WORK=w
    expect_contains "$stderr" "small SMALL=PREFIX: PREFIX.en and PREFIX.de are required"
    # Other text is not taken for this.
    for l in en de; do tail -n +101 mine.$l >other.$l; done
    t 2 make -f "$TOP/pipelines/wmt14-ende.mk" small SMALL=other WORK=w
    expect_contains "$stderr" "w-small/run was trained with different settings (mine, not other)"
}

# archives DIR: what wmt14-enfr.mk downloads, a pair or two in each.
archives() {
    local f
    mkdir -p "$1" x/training x/un x/dev x/test-full
    for f in training/europarl-v7 commoncrawl un/undoc.2000 training/news-commentary-v9; do
        printf '%s\n' "of $f" '' >"x/$f.fr-en.en"
        printf '%s\r\n' "de	$f" 'alone' >"x/$f.fr-en.fr"
    done
    for f in en fr; do
        echo "giga $f" | gzip >"x/giga-fren.release2.fixed.$f.gz"
        echo "dev $f" >"x/dev/newstest2013.$f"
    done
    echo '<seg id="1">test en</seg>' >x/test-full/newstest2014-fren-src.en.sgm
    echo '<seg id="1">test fr</seg>' >x/test-full/newstest2014-fren-ref.fr.sgm
    tar -C x -czf "$1/training-parallel-europarl-v7.tgz" training/europarl-v7.fr-en.{en,fr}
    tar -C x -czf "$1/training-parallel-commoncrawl.tgz" commoncrawl.fr-en.{en,fr}
    tar -C x -czf "$1/training-parallel-un.tgz" un
    tar -C x -czf "$1/training-parallel-nc-v9.tgz" training/news-commentary-v9.fr-en.{en,fr}
    tar -C x -cf "$1/training-giga-fren.tar" giga-fren.release2.fixed.{en,fr}.gz
    tar -C x -czf "$1/dev.tgz" dev
    tar -C x -czf "$1/test-full.tgz" test-full
}

@test "wmt14-enfr.mk: archives to text; a side that is missing or short is named" {
    archives data
    args=(-f "$TOP/pipelines/wmt14-enfr.mk" DATA=data WORK=w CURL=false w/train.fr w/dev.en \
        w/dev.fr w/test.en w/test.fr)
    t 0 make -j2 "${args[@]}"
    is() { diff <(printf '%s\n' "${@:2}") "$1"; }
    is w/train.en 'of training/europarl-v7' 'of commoncrawl' 'of un/undoc.2000' \
        'of training/news-commentary-v9' 'giga en'
    is w/train.fr 'de training/europarl-v7' 'de commoncrawl' 'de un/undoc.2000' \
        'de training/news-commentary-v9' 'giga fr'
    is w/dev.fr 'dev fr'
    is w/test.en 'test en'
    t 0 make "${args[@]}"
    [[ $output != *tar* ]]
    # Killed between the files of an archive: once more, and nothing else.
    rm data/giga-fren.release2.fixed.fr
    t 0 make "${args[@]}"
    [ "$(grep -c ' tar -C ' <<<"$output")" -eq 1 ]
    run ! compgen -G 'data/*.part'
    for side in en fr; do
        rm w/train.*
        cp data/commoncrawl.fr-en.$side saved
        sed -i 1d data/commoncrawl.fr-en.$side
        t 2 make "${args[@]}"
        expect_contains "$stderr" "commoncrawl.fr-en: en and fr have different numbers of lines"
        [ ! -e w/train.en ]
        mv saved data/commoncrawl.fr-en.$side
    done
    t 0 make "${args[@]}"
    rm data/commoncrawl.fr-en.*
    tar -C x -czf data/training-parallel-commoncrawl.tgz commoncrawl.fr-en.en
    t 2 make "${args[@]}"
    expect_contains "$stderr" "commoncrawl.fr-en.fr"
    expect_contains "$stderr" "Not found in archive"
    rm data/training-parallel-commoncrawl.tgz
    t 2 make "${args[@]}"
    expect_contains "$stderr" "data/training-parallel-commoncrawl.tgz"
}

@test "wmt14: files that are unpacked need no archive; CORPORA chooses the corpora" {
    archives archives
    mkdir data
    tar -C data -xzf archives/dev.tgz
    tar -C data -xzf archives/test-full.tgz
    tar -C data -xzf archives/training-parallel-nc-v9.tgz
    args=(-f "$TOP/pipelines/wmt14-enfr.mk" DATA=data WORK=w CURL=false)
    t 0 make "${args[@]}" w/paired CORPORA=news
    expect_contains "$output" "train: 1 pairs"
    [ "$(ls data)" = $'dev\ntest-full\ntraining' ]
    [ "$(cat w/train.en)" = 'of training/news-commentary-v9' ]
    # A second corpus is another text: only its archive is read.
    cp archives/training-parallel-europarl-v7.tgz archives/training-giga-fren.tar data
    t 0 make "${args[@]}" w/paired CORPORA='giga news'
    [ "$(cat w/train.en)" = $'giga en\nof training/news-commentary-v9' ]
    [ "$(grep -c ' tar -C ' <<<"$output")" -eq 1 ]
    [[ $output != *dev.en* && $output != *sgml-pairs* ]]
    # By default all corpora: the first that is missing is fetched.
    t 2 make "${args[@]}" w/paired
    expect_contains "$stderr" "training-parallel-commoncrawl.tgz] Error 1"
    for wrong in news2000 'news un2' ''; do
        t 2 make "${args[@]}" w/paired CORPORA="$wrong"
        expect_error "CORPORA=$wrong: one or more of europarl commoncrawl un news giga are required"
    done
    t 2 make -f "$TOP/pipelines/wmt14-ende.mk" DATA=data WORK=v CURL=false v/paired CORPORA=giga
    expect_error "CORPORA=giga: one or more of europarl commoncrawl news are required"
}

# segments ID TEXT ...: a document of these segments
segments() {
    echo '<srcset setid="s" srclang="any">'
    echo '<doc sysid="ref" docid="d" genre="news" origlang="de">'
    echo '<p>'
    printf '<seg id="%s">%s</seg>\n' "$@"
    printf '%s\n' '</p>' '</doc>' '</srcset>'
}

@test "sgml-pairs: every segment is a line, however it is written" {
    cat >src.sgm <<'X'
<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE mteval SYSTEM "mteval.dtd">
<!-- <seg id="0">not one</seg> -->
<SRCSET setid="s" srclang="any"><DOC docid="a" genre='1 > 0'>
<hl><seg id="1">one</seg></hl> <seg id="2">two</seg>
<seg n="x>y" id='3' >AT&amp;T &lt;b&gt; &quot;&#8222;&#x201C;&apos; R&D &copy2 &nix;</seg>
<SEG
  id=4>
four
  of	them
</SEG>
<seg id="5"></seg>
</DOC><doc docid="b"><seg id="1">a < b, é \1</seg></doc></SRCSET>
X
    sed 's/é/\xe9/' src.sgm >ref.sgm
    t 0 "$TOP/pipelines/sgml-pairs" src.sgm ref.sgm src ref
    expect_error "ref.sgm: 1 invalid UTF-8 sequences became U+FFFD"
    printf '%s\n' one two $'AT&T <b> "„“\' R&D &copy2 &nix;' 'four of them' '' 'a < b, é \1' >want
    diff want src
    diff <(sed $'s/é/\ufffd/' want) ref
}

@test "sgml-pairs: what does not pair or is no test set is named, and nothing is written" {
    pairs() {
        t 1 "$TOP/pipelines/sgml-pairs" src.sgm ref.sgm src ref
        expect_error "$1"
        [ ! -e src ] && [ ! -e ref ]
    }
    segments 1 one 2 two 3 three >src.sgm
    segments 1 one 3 three >ref.sgm
    pairs "segment 2: src.sgm: document 'd', id '2'; ref.sgm: document 'd', id '3'"
    segments 1 one 2 two >ref.sgm
    pairs "src.sgm has 3 segments, ref.sgm 2"
    segments 1 one 2 two 3 three | sed 's/docid="d"/docid="e"/' >ref.sgm
    pairs "segment 1: src.sgm: document 'd', id '1'; ref.sgm: document 'e', id '1'"
    segments 1 one 2 two 3 three | sed 's/two<.seg>/two/' >ref.sgm
    pairs 'ref.sgm: line 6: <seg id="3"> out of place'
    segments 1 one 2 two 3 three | sed 's/id="2/id="2" "/' >ref.sgm
    pairs 'ref.sgm: line 5: tag that cannot be read'
    echo '<seg id="1">one' >ref.sgm
    pairs 'ref.sgm: the file ends in a segment'
    echo 'one' >ref.sgm
    pairs 'ref.sgm: no segment'
    rm ref.sgm
    pairs 'ref.sgm: No such file or directory'
}

@test "wmt14: no segment of the test set is lost, and sides that differ stop before the training" {
    archives data
    tar -C x -xzf data/test-full.tgz
    segments 1 one 2 $'two\nlines' 3 $'a\xff' 4 four >x/test-full/newstest2014-fren-src.en.sgm
    segments 1 un 2 deux 3 trois 4 quatre >x/test-full/newstest2014-fren-ref.fr.sgm
    tar -C x -czf data/test-full.tgz test-full
    args=(-f "$TOP/pipelines/wmt14-enfr.mk" DATA=data WORK=w CURL=false)
    t 0 make "${args[@]}" w/paired
    expect_contains "$output" "test: 4 pairs"
    diff <(printf '%s\n' one 'two lines' $'a\ufffd' four) w/test.en
    diff <(printf '%s\n' un deux trois quatre) w/test.fr
    segments 1 un 2 deux 4 quatre >x/test-full/newstest2014-fren-ref.fr.sgm
    tar -C x -czf data/test-full.tgz test-full
    t 2 make "${args[@]}" w/vocab.model
    expect_contains "$stderr" "segment 3: data/test-full/newstest2014-fren-src.en.sgm: document 'd'"
    [ ! -e w/vocab.model ]
    # The development set is plain text.
    segments 1 un 2 deux 3 trois 4 quatre >x/test-full/newstest2014-fren-ref.fr.sgm
    echo 'one more' >>x/dev/newstest2013.en
    tar -C x -czf data/test-full.tgz test-full
    tar -C x -czf data/dev.tgz dev
    t 2 make "${args[@]}" w/vocab.model
    expect_contains "$stderr" "dev: 2 lines of en, 1 of fr"
    [ ! -e w/vocab.model ]
}

@test "wmt14: the texts of a trial are not those of the archives" {
    archives data
    printf '%s\n' {1..300} | tee mine.en >mine.fr
    args=(-f "$TOP/pipelines/wmt14-enfr.mk" DATA=data WORK=w CURL=false w/train.en)
    t 0 make "${args[@]}"
    t 0 make "${args[@]}" SMALL=mine
    [ "$(wc -l <w/train.en)" -eq 100 ]
    t 0 make "${args[@]}"
    [ "$(wc -l <w/train.en)" -eq 5 ]
}

@test "wmt14: a whole .part is an archive, another one is fetched on" {
    archives data
    mv data/dev.tgz data/dev.tgz.part
    t 0 make -f "$TOP/pipelines/wmt14-enfr.mk" download DATA=data CURL=false
    tar -tf data/dev.tgz >/dev/null
    head -c 100 data/dev.tgz >data/dev.tgz.part
    rm data/dev.tgz
    t 2 make -f "$TOP/pipelines/wmt14-enfr.mk" download DATA=data CURL=false
    [ ! -e data/dev.tgz ]
}

@test "wmt14: of makes with one DATA one fetches and unpacks each archive" {
    # One archive after the other, whatever -j the make has that runs the tests.
    unset MAKEFLAGS GNUMAKEFLAGS MAKELEVEL
    archives archives
    mkdir bin
    cat >bin/fetch <<'X'
#!/bin/sh
echo "$1" >>made
for i in $(seq 600); do [ -e go ] || sleep 0.1; done
cp "archives/${2##*/}" "$1"
X
    printf '#!/bin/sh\ncase $1 in -C) echo $2 >>made; esac\nexec %s "$@"\n' "$(type -P tar)" >bin/tar
    chmod +x bin/*
    PATH=$PWD/bin:$PATH
    args=(-f "$TOP/pipelines/wmt14-enfr.mk" DATA=data CURL=fetch CORPORA=news)
    waits() { grep -sqx "waiting for the make that is at work on data/$1" second; }
    for killed in '' yes; do
        make "${args[@]}" WORK=v v/paired &
        local first=$!
        wait_for [ -e made ]
        make "${args[@]}" WORK=w w/paired 2>second &
        local second=$!
        wait_for waits training-parallel-nc-v9.tgz
        # What a killed make has left still fetches.
        [ -z "$killed" ] || kill -9 $first
        touch go
        [ "$killed" ] || wait $first
        wait $second
        [ -z "$(sort made | uniq -d)" ]
        [ "$(wc -l <made)" = 6 ]
        t 0 make "${args[@]}" WORK=v v/paired
        [ "$(cat v/train.en)" = 'of training/news-commentary-v9' ]
        [ "$(ls data)" = $'dev\ndev.tgz\ntest-full\ntest-full.tgz\ntraining\ntraining-parallel-nc-v9.tgz' ]
        rm -r data v w made go second
    done
    # One that is interrupted while it waits removes nothing.
    mkdir data
    exec 8>>data/dev.tgz.lock
    flock 8
    make "${args[@]}" WORK=w data/dev.tgz 2>second 8>&- &
    wait_for waits dev.tgz
    cp archives/dev.tgz data
    kill $!
    run ! wait $!
    cmp archives/dev.tgz data/dev.tgz
}
