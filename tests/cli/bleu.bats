#!/usr/bin/env bats
# tf-bleu: the same bytes as sacreBLEU on golden files (tests/golden/bleu/refresh.py asks it), the
# forms of input, and what it refuses.
load helper

prepare() {
    G=$TOP/tests/golden/bleu
    printf 'the cat sat on the mat .\nhello big world\n' >ref
    printf 'the cat sat on a mat .\nhello big world\n' >hyp
}

@test "every golden case" {
    cp "$G"/*.txt .
    while read -r -a args; do
        echo "== ${args[*]}"
        tf-bleu -q "${args[@]}"
    done <"$G/cases" | sed 's/tf-bleu-[0-9.]*[0-9]/VERSION/' >out
    gunzip -c "$G/expected.gz" | diff -a - out >&2
}

@test "hypotheses from stdin, a pipe and a file" {
    t 0 tf-bleu ref -i hyp
    want=$output
    sh_t 0 'tf-bleu ref <hyp'
    expect_output "$want"
    sh_t 0 'cat hyp | tf-bleu ref -i -'
    expect_output "$want"
    sh_t 0 'cat ref | tf-bleu - -i hyp'
    expect_output "$want"
    sh_t 0 'tf-bleu -- ref <hyp'
    expect_output "$want"
}

@test "long names with one dash and with two" {
    t 0 tf-bleu ref -i hyp -tok none -lc -sh -f text -s floor -sv 0.5
    want=$output
    expect_contains "$want" '|c:lc|e:no|tok:none|s:floor[0.50]|'
    t 0 tf-bleu ref --input hyp --tokenize=none --lowercase --short --format text --smooth-method \
        floor --smooth-value 0.5
    expect_output "$want"
    t 0 tf-bleu --tok none --lc --sh -ftext -sfloor --sv 0.5 ref -i hyp
    expect_output "$want"
}

@test "several systems on stdin, between tabs" {
    sh_t 0 'paste hyp ref | tf-bleu ref'
    expect_contains "$output" '"system": "System 2",
        "BLEU": "100.0"'
    printf 'a\tb\nc\n' >ragged
    sh_t 1 'tf-bleu ref <ragged'
    expect_error "stdin: line 2: 1 fields between tabs, expected 2"
    sh_t 1 'paste hyp ref | tf-bleu -sl ref'
    expect_error "stdin: 2 systems between tabs, --sentence-level takes one"
    sh_t 1 'paste hyp ref | tf-bleu --stats ref'
    expect_error "stdin: 2 systems between tabs, --stats takes one"
}

@test "references in columns of one file" {
    paste ref hyp >both
    t 0 tf-bleu -nr 2 both -i hyp -f text
    expect_contains "$output" "BLEU|nrefs:2|"
    expect_contains "$output" " = 100.0 "
    want=$output
    t 0 tf-bleu ref hyp -i hyp -f text
    expect_output "$want"
    t 1 tf-bleu -nr 3 both -i hyp
    expect_error "both: line 1: 2 fields between tabs, expected 3"
    t 2 tf-bleu -nr 2 both ref -i hyp
}

@test "a last line without LF counts, CR and blanks at the end of a line do not" {
    printf 'the cat sat on the mat .  \r\nhello big world\xc2\xa0' >odd
    t 0 tf-bleu -b ref -i odd
    expect_output 100.0
}

@test "packed files, carriage returns, other encodings" {
    want=$(tf-bleu ref -i hyp)
    gzip -k ref hyp
    t 0 tf-bleu ref.gz -i hyp.gz
    expect_output "$want"
    sh_t 0 "sed 's/$/\r/' hyp | tf-bleu ref"
    expect_output "$want"
    sh_t 0 "tr '\n' '\r' <hyp | tf-bleu ref"
    expect_output "$want"
    t 1 tf-bleu ref -i <(tr '\n' '\r' <hyp)
    printf 'caf\xe9 noir\n' >latin
    printf 'caf\xc3\xa9 noir\n' >utf8
    iconv -f utf-8 -t utf-16 utf8 >wide
    t 1 tf-bleu latin -i latin
    t 0 tf-bleu -e latin1 latin -i latin -f text -tok char
    want=$output
    t 0 tf-bleu utf8 -i utf8 -f text -tok char
    expect_output "$want"
    for e in latin-1 Latin_1 iso-8859-1 iso8859_1 ISO-8859-15 cp1252; do
        t 0 tf-bleu -e "$e" latin -i latin -f text -tok char
        expect_output "$want"
    done
    t 0 tf-bleu -e utf-16 wide -i wide -f text -tok char
    expect_output "$want"
    printf 'x mua' >held # the encoding waits for a mark that may follow
    t 0 tf-bleu --print-tokens -tok none -e cp1258 -i held
    expect_output 'x mua'
    t 1 tf-bleu -e ascii latin -i latin
    expect_error "latin: not ascii"
}

# Lines longer than a machine word, of any ratio of lengths. The scores are those of the plain
# recurrence, cell by cell.
@test "TER of long lines" {
    "$TF_PYTHON" - <<'PY'
import random
r = random.Random(5)
h, f = open("long.hyp", "w"), open("long.ref", "w")
for n in (60, 61, 90, 128, 129, 200, 300) * 3:
    v = ["w%d" % i for i in range(r.choice((3, 10, 300)))]
    a = [r.choice(v) for _ in range(n)]
    b = list(a)
    for _ in range(6):
        i, k = r.randrange(len(b)), r.randint(1, 12)
        part = b[i:i + k]
        del b[i:i + k]
        j = r.randint(0, len(b))
        b[j:j] = part + [r.choice(v)]
    b = b[:r.randint(n // 2, 2 * n)]
    print(*a, file=h)
    print(*b, file=f)
PY
    t 0 tf-bleu -b long.ref -w 6 -m ter -i long.hyp
    expect_output 39.962963
    [ "$(tf-bleu -b long.ref -w 6 -sl -m ter -i long.hyp | sha256sum | cut -c1-16)" = \
        604cd077d984f856 ]
}

# Conversion is by pieces: characters lie across their ends, and memory does not grow.
@test "a long text of another encoding: the same score, in little memory" {
    natively
    for i in {1..3000}; do echo "čárka 𝄞 word$i é$((i % 7))"; done >utf8
    sed 's/word1/wort1/' utf8 >ref8
    t 0 tf-bleu ref8 -i utf8
    want=$output
    for e in utf-16 utf-32 utf-7; do
        for f in utf8 ref8; do iconv -f utf-8 -t $e $f >$f.wide; done
        t 0 tf-bleu -e $e ref8.wide -i utf8.wide
        [ "$output" = "$want" ]
        sh_t 0 "(head -c 5001 utf8.wide; sleep 0.1; tail -c +5002 utf8.wide) | tf-bleu -e $e ref8.wide"
        [ "$output" = "$want" ]
    done
    head -c -1 utf8.wide | iconv -f utf-7 -t utf-16 >broken
    truncate -s -1 broken
    t 1 tf-bleu -e utf-16 broken -i broken
    expect_error "broken: not utf-16"
    local limit='' count=4000000
    [ -n "${TF_SAN:-}${TF_EMULATOR:-}" ] || limit='ulimit -v 60000;'
    [ -z "${TF_EMULATOR:-}" ] || count=40000
    awk -v n=$count 'BEGIN { while (n--) print "the cat is on the mat" }' | gzip -1 >large.gz
    sh_t 0 "$limit tf-bleu -b -e latin1 large.gz -i large.gz"
    expect_output 100.0
}

@test "a system against itself has the least p; the order of the lines changes no score" {
    for i in {1..50}; do echo "word$((i * 7 % 13)) b$((i % 5)) c d$((i % 3)) e"; done >many
    sed 's/b1/b2/; s/d2/x/' many >other
    cp many same
    t 0 tf-bleu other -i many same -pbs -pbsn 99 -m bleu chrf ter
    [ "$(grep -c '"p_value": 0.01,' <<<"$output")" = 3 ]
    t 0 tf-bleu other -i many same -par -parn 99 -m bleu chrf ter
    [ "$(grep -c '"p_value": 0.01,' <<<"$output")" = 3 ]
    t 0 tf-bleu other -i many -m bleu chrf ter -w 9 -b
    want=$output
    sh_t 0 'tf-bleu <(tac other) -i <(tac many) -m bleu chrf ter -w 9 -b'
    expect_output "$want"
    t 0 tf-bleu many -i many -m bleu chrf ter -b
    expect_output $'[\n100.0,\n100.0,\n0.0\n]'
}

# The two systems differ in one segment, so that each trial has the actual difference and none
# exceeds it, however sums of thirds round.
@test "TER with three references: a trial with the actual difference never counts" {
    for r in 0 1 2; do
        for i in {1..40}; do
            printf '%*s' $((2 * ((i * (r + 3)) % 10 + 2))) '' | sed 's/  /the /g'
            echo "w$i"
        done >"ref$r"
    done
    sed 's/w.*/x/' ref0 >base
    for n in {1..8}; do
        sed "30s/\$/$(printf ' more%.0s' $(seq "$n"))/" base >"sys$n"
    done
    t 0 tf-bleu ref? -i base sys? -m ter -par -parn 99
    [ "$(grep -c '"p_value": 0.01,' <<<"$output")" = 8 ]
}

@test "seeds" {
    t 0 tf-bleu ref -i hyp -ci -cin 20 -f text
    want=$output
    expect_contains "$want" "|bs:20|seed:12345|"
    SACREBLEU_SEED=12345 t 0 tf-bleu ref -i hyp -ci -cin 20 -f text
    expect_output "$want"
    SACREBLEU_SEED=none t 0 tf-bleu ref -i hyp -ci -cin 20 -f text
    expect_contains "$output" "|seed:none|"
    SACREBLEU_FORMAT=xx t 2 tf-bleu ref -i hyp
    expect_error "tf-bleu: SACREBLEU_FORMAT=xx: json, text or latex"
    SACREBLEU_FORMAT=TEXT t 0 tf-bleu ref -i hyp -ci -cin 20
    expect_output "$want"
}

@test "different line counts name both files" {
    head -1 hyp >short
    t 1 tf-bleu ref -i short
    expect_error "tf-bleu: short has 1 lines, the reference ref has 2"
    [ -z "$output" ]
    t 1 tf-bleu ref short -i hyp
    expect_error "tf-bleu: ref has 2 lines, short has 1"
    sh_t 1 'tf-bleu ref <short'
    expect_error "stdin has 1 lines, the reference ref has 2"
}

@test "files that are not text" {
    printf 'good\nbad \xff here\n' >bad
    t 1 tf-bleu ref -i bad
    expect_error "tf-bleu: bad: line 2: invalid UTF-8 at byte 5"
    printf 'over\xc0\xaflong\nx\n' >bad
    t 1 tf-bleu ref -i bad
    expect_error "line 1: invalid UTF-8 at byte 5"
    gzip <hyp >packed
    t 0 tf-bleu ref -i packed -b
    expect_output "$(tf-bleu ref -i hyp -b)"
    cp hyp plain.gz
    t 1 tf-bleu ref -i plain.gz
    expect_error "plain.gz: gzip: not a gzip file"
    gzip <hyp | head -c 30 >cut.gz
    t 1 tf-bleu ref -i cut.gz
    expect_error "cut.gz: gzip: the file is truncated"
    # Members follow each other, and zeros may pad the file; nothing else may.
    half=$(($(wc -l <hyp) / 2))
    { head -n "$half" hyp | gzip; : | gzip; tail -n +$((half + 1)) hyp | gzip; } >members.gz
    head -c 700 /dev/zero | cat members.gz - >padded.gz
    { cat members.gz; echo x; } >garbage.gz
    want=$(tf-bleu ref -i hyp -b)
    for f in members.gz padded.gz; do
        t 0 tf-bleu ref -i "$f" -b
        expect_output "$want"
    done
    t 1 tf-bleu ref -i garbage.gz
    expect_error "garbage.gz: gzip: garbage after the compressed data"
    : >empty.gz
    t 1 tf-bleu ref -i empty.gz
    expect_error "empty.gz: gzip: not a gzip file"
    head -c -4 members.gz >short.gz
    t 1 tf-bleu ref -i short.gz
    expect_error "short.gz: gzip: the file is truncated"
    : >empty
    t 1 tf-bleu ref -i empty
    expect_error "empty: no lines"
    sh_t 1 'tf-bleu ref </dev/null'
    expect_error "stdin: no lines"
    t 1 tf-bleu no-such-file -i hyp
    expect_error "no-such-file"
    t 1 tf-bleu . -i hyp
    expect_error "directory"
}

@test "usage" {
    t 2 tf-bleu
    expect_error "no reference file"
    t 2 tf-bleu -i hyp ref
    expect_error "give references before -i"
    for o in "-m bleu" --metrics=chrf --met -b -- --; do
        # shellcheck disable=SC2086
        t 2 tf-bleu ref -i $o
        expect_error "-i needs an argument (FILE)"
    done
    t 2 tf-bleu ref -i hyp -m -b
    expect_error "-m needs an argument (NAME)"
    cp hyp ./-x
    t 0 tf-bleu ref -i -x
    t 2 tf-bleu ref -i hyp hyp
    expect_error "given twice"
    t 2 tf-bleu - -i -
    expect_error "only one file can be stdin"
    sh_t 2 'tf-bleu - <hyp'
    expect_error "only one file can be stdin"
    t 2 tf-bleu ref -i hyp -tok mecab
    expect_error "--tokenize mecab: not one of none, char, 13a, intl, zh, spm, flores101, flores200, spBLEU-1K"
    t 2 tf-bleu ref -i hyp -tok ja-mecab
    expect_error "needs MeCab"
    t 2 tf-bleu ref -i hyp -tok flores200
    expect_error "needs --spm-model FILE"
    t 2 tf-bleu ref -i hyp -tok 13a --spm-model x
    t 1 tf-bleu ref -i hyp --spm-model no-such-file
    expect_error "no-such-file"
    t 2 tf-bleu --as paper --tok-input ref -i hyp
    for o in -b "-w 2" "-f text" -m=chrf -ci -sl "-tok none" --stats --from-stats "-s floor" \
        "-pbs" "--chrf-beta 3"; do
        for way in "--as paper" --tok-input; do
            # shellcheck disable=SC2086
            t 2 tf-bleu $way ref ${o/=/ } -i hyp
            expect_error "$way cannot be used together"
        done
    done
    for o in "--lang en" --raw-ref --no-punct-step; do
        for way in "" --tok-input --stats; do
            # shellcheck disable=SC2086
            t 2 tf-bleu $way ref $o -i hyp
            expect_error "${o% *} requires --as paper"
        done
    done
    t 0 tf-bleu --as paper --lang en -lc -q -e utf-8 -nr 1 ref -i hyp
    t 2 tf-bleu --from-stats a -i b
    expect_error "a: --from-stats takes its streams as operands or with -i, not both"
    for o in "a b" "-i a b"; do
        # shellcheck disable=SC2086
        t 2 tf-bleu --from-stats -sl $o
        expect_error "--sentence-level takes one system, not 2"
    done
    for o in "-m chrf" "-tok none" -lc "-s floor" "-nr 2" "-e latin1"; do
        # shellcheck disable=SC2086
        t 2 tf-bleu --from-stats $o a
        expect_error " is only for scoring text"
    done
    t 2 tf-bleu --from-stats --force a
    expect_error "--force is only for scoring text or --stats"
    for kind in '--as paper' --tok-input; do
        # shellcheck disable=SC2086
        t 2 tf-bleu $kind --force ref -i hyp
        expect_error "--force"
    done
    t 2 tf-bleu --stats ref -b -i hyp
    expect_error "--score-only is only for scoring text or --from-stats"
    t 2 tf-bleu --stats --from-stats a
    expect_error "cannot be used together"
    t 2 tf-bleu --print-tokens ref
    t 2 tf-bleu --stats ref -i hyp ref
    t 2 tf-bleu --stats ref -i hyp -ci
    t 2 tf-bleu ref -i hyp -m meteor
    expect_error "one of bleu, chrf, ter"
    t 2 tf-bleu ref -i hyp -e klingon
    expect_error "ref: unknown encoding klingon"
    t 2 tf-bleu -e '' ref -i ref
    expect_error "ref: unknown encoding"
    t 2 tf-bleu -sl ref -i hyp -m bleu chrf
    expect_error "takes one metric"
    t 2 tf-bleu ref -i hyp ref -pbs -par
    expect_error "cannot be used together"
    t 2 tf-bleu -sl ref -i hyp -ci
    t 2 tf-bleu ref -i hyp -pbs
    expect_error "two systems or more"
    sh_t 1 'tf-bleu ref -pbs <hyp'
    expect_error "two systems or more"
    t 2 tf-bleu ref -i hyp ref -ci
    expect_error "takes one system, not 2"
    SACREBLEU_SEED=x t 1 tf-bleu ref -i hyp -ci
    expect_error "SACREBLEU_SEED x: not a number"
    t 2 tf-bleu ref -i hyp -m chrf -cc 0
    expect_error "both 0"
    t 0 tf-bleu ref -i hyp -m chrf -cc 0 -cw 2
    t 0 tf-bleu ref -i hyp -cc 0
    t 2 tf-bleu ref -i hyp -w -1
    expect_error "too small, minimum 0"
    t 2 tf-bleu -sl ref -i hyp ref
    expect_error "takes one system"
}

@test "output that looks tokenized is mentioned, unless --force or -q" {
    for i in {1..100}; do echo "this is line $i ."; done >tok
    t 0 tf-bleu tok -i tok -b
    expect_output 100.0
    expect_error "tf-bleu: warning: tok: 100 lines end in ' .'"
    t 0 tf-bleu tok -i tok -b --force
    [ -z "$stderr" ]
    t 0 tf-bleu tok -i tok -b -q
    [ -z "$stderr" ]
    head -99 tok >fewer
    t 0 tf-bleu fewer -i fewer -b
    [ -z "$stderr" ]
}

@test "system names in tables are escaped" {
    name=$'\e[31ma\xe2\x80\xaeb'
    printf 'one line\n' | tee ref "$name" >plain
    for format in text latex; do
        t 0 tf-bleu ref -i "$name" plain --paired-bs -f $format
        [[ $output != *$'\e'* && $output != *$'\xe2\x80\xae'* ]]
        expect_contains "$output" '\x1b[31ma\xe2\x80\xaeb'
    done
}

@test "system names in JSON are escaped" {
    cp hyp $'h\xc3\xa9"1'
    cp hyp $'h\xf0\x9f\x98\x80'
    t 0 tf-bleu ref -i $'h\xc3\xa9"1' $'h\xf0\x9f\x98\x80'
    expect_contains "$output" '"system": "h\u00e9\"1"'
    expect_contains "$output" '"system": "h\ud83d\ude00"'
    printf '%s\n' "$output" | "$TF_PYTHON" -c \
        'import json,sys; assert len(json.load(sys.stdin)) == 2'
}

@test "columns of a table are as wide as their characters are many, as tabulate has them" {
    cp hyp "日本語の訳"
    cp hyp b
    t 0 tf-bleu ref -i "日本語の訳" b -f text
    expect_contains "$output" "│    日本語の訳 │"
    expect_contains "$output" "│   System │"
    expect_contains "$output" "│        b │"
}

@test "one long line of many tokens" {
    "$TF_PYTHON" -c 'print(" ".join(str(i * 7919 % 50021) for i in range(300000)))' >long
    t 0 tf-bleu -b long -i long
    expect_output 100.0
}

@test "the examples of the page" {
    cp hyp test.out
    cp ref test.de
    sh_t 0 'tf-bleu -b -w 2 test.de <test.out'
    [[ $output =~ ^[0-9]+\.[0-9][0-9]$ ]]
    t 0 tf-bleu -lc ref test.de -i hyp test.out
    sh_t 0 'tf-bleu -sl -b test.de -i test.out | paste - test.out | sort -n | head'
    [ "${#lines[@]}" = 2 ]
}

@test "sums of large counts do not overflow in a test" {
    head=$(tf-bleu -m ter --stats ref -i hyp | tf-cbor json | head -1)
    for edits in 1048576 1048000; do
        { echo "$head"
          seq 0 4095 | awk -v e=$edits \
              '{ printf "{\"type\":\"stats\",\"idx\":%d,\"counts\":[%d,1048576]}\n", $1, e }'
          echo '{"type":"end","count":4096,"crc":null}'; } | tf-cbor unjson >"$edits"
    done
    t 0 tf-bleu --from-stats 1048576 1048000 -par -parn 200 -q
    expect_contains "$output" \
        '"score": 99.945068359375,'$'\n''            "p_value": 0.004975124378109453'
}

@test "TER of a long line with many shifts is sacreBLEU's" {
    seq 0 599 | awk '{ printf "%sw%d", (NR > 1 ? " " : ""), ($1 * $1 + 7 * int($1 / 13)) % 37 } END { print "" }' >long
    awk '{ n = split($0, w); for (i = 1; i <= n; i += 20) { for (j = i + 7; j < i + 20; j++) printf "%s ", w[j]; for (j = i; j < i + 7; j++) printf "%s ", w[j] } print "" }' long >moved
    t 0 tf-bleu -m ter -b -w 4 long -i moved
    expect_output 34.8333
}

@test "statistics: concatenated shards, intervals and tests score as the text does" {
    M=(-m ter chrf bleu -cw 2 -s floor -sv 0.3)
    cp "$G"/*.txt .
    tf-bleu "${M[@]}" --stats ref.txt ref2.txt -i hyp.txt >hyp
    tf-bleu "${M[@]}" --stats ref.txt ref2.txt -i low.txt >low
    for part in "1,5" "6,7" "8,99"; do
        tf-bleu "${M[@]}" --stats <(sed -n "${part}p" ref.txt) <(sed -n "${part}p" ref2.txt) -i \
            <(sed -n "${part}p" hyp.txt)
    done >shards
    for o in "-w 9" "-w 9 -ci -cin 50 -f text" "-b"; do
        read -r -a o <<<"$o"
        want=$(tf-bleu "${M[@]}" "${o[@]}" ref.txt ref2.txt -i hyp.txt)
        t 0 tf-bleu --from-stats "${o[@]}" hyp
        expect_output "$want"
        t 0 tf-bleu --from-stats "${o[@]}" -i shards
        expect_output "$want"
        sh_t 0 'tf-bleu --from-stats "$@" <shards' "${o[@]}"
        expect_output "$want"
    done
    cp hyp.txt hyp2
    for o in "-pbs -pbsn 50" "-par -parn 50" "-f latex"; do
        read -r -a o <<<"$o"
        want=$(tf-bleu "${M[@]}" "${o[@]}" ref.txt ref2.txt -i hyp.txt low.txt | sed 's/\.txt//')
        t 0 tf-bleu --from-stats "${o[@]}" hyp low
        [ "$(tr -d ' ' <<<"$output")" = "$(tr -d ' ' <<<"$want")" ]
    done
    t 0 tf-cbor check hyp
}

@test "statistics that do not fit" {
    tf-bleu --stats ref -i hyp >a
    tf-bleu --stats ref -i hyp -lc >b
    sh_t 1 'cat a b | tf-bleu --from-stats'
    expect_error "stdin: its metrics or their settings differ"
    head -1 ref >one
    tf-bleu --stats one -i one >c
    t 1 tf-bleu --from-stats a c
    expect_error "c has 1 segments, others have more"
    sh_t 1 'head -c 150 a | tf-bleu --from-stats'
    expect_error "truncated"
    t 1 tf-bleu --from-stats ref
    sh_t 1 'tf-bleu --stats ref -i one >d'
    expect_error "one has 1 lines"
    t 1 tf-bleu --from-stats d
    expect_error "upstream failed: one has 1 lines"
}

@test "the paper's BLEU: tokens and score" {
    cat >out <<'TEXT'
„Wir müssen z.B. am 3. Mai, um 5.30 Uhr, Geld-zurück-Garantien prüfen“, sagte Dr. Müller’s Chef…
Das kostet 1,000.50 € & [mehr] | weniger...
a-b-c ab-cd-ef “x”
TEXT
    t 0 tf-bleu --print-tokens --as paper --lang de -i out
    expect_output '„ Wir müssen z.B. am 3. Mai , um 5.30 Uhr , Geld ##AT##-##AT## zurück ##AT##-##AT## Garantien prüfen &quot; , sagte Dr. Müller &apos; s Chef ...
Das kostet 1,000.50 € &amp; &#91; mehr &#93; &#124; weniger ...
a ##AT##-##AT## b-c ab ##AT##-##AT## cd ##AT##-##AT## ef &quot; x &quot;'
    printf "%s\n" "It's Mr. Smith's dogs' 1990's toy, i.e. No. 5 and No. x. Yes." >en
    t 0 tf-bleu --print-tokens --as paper --lang en -i en
    expect_output \
        'It &apos;s Mr. Smith &apos;s dogs &apos; 1990 &apos;s toy , i.e. No. 5 and No. x . Yes .'
    printf "%s\n" "L'homme n'est pas à l'école, M. Dupont." >fr
    t 0 tf-bleu --print-tokens --as paper --lang fr -i fr
    expect_output 'L&apos; homme n&apos; est pas à l&apos; école , M. Dupont .'
    # A line of white space is none to tokenize: what ASCII does not count as such is a word.
    printf '\u00a0\n\u3000 \u2003\n \t\n\001\u00a0a\n' >blank
    t 0 tf-bleu --print-tokens --as paper --lang en -i blank
    expect_output $'\u00a0\n\u3000 \u2003\n\na'
    t 0 tf-bleu --as paper --raw-ref --no-punct-step out -i out
    expect_output \
        "BLEU = 100.00, 100.0/100.0/100.0/100.0 (BP=1.000, ratio=1.000, hyp_len=49, ref_len=49)"
    # With --raw-ref both sides become plain, also the opening marks that Moses leaves.
    t 0 tf-bleu --as paper --raw-ref out -i out
    expect_contains "$output" "BLEU = 100.00"
    cat >typed <<'TEXT'
Die „New York Times“ schrieb: ‚ein Test‘…
Der “Chef” sagt: ‘ja, ’s ist gut’.
TEXT
    cat >plain <<'TEXT'
Die "New York Times" schrieb: 'ein Test'...
Der "Chef" sagt: 'ja, 's ist gut'.
TEXT
    for sides in 'typed plain' 'plain typed' 'typed typed'; do
        t 0 tf-bleu --as paper --raw-ref "${sides% *}" -i "${sides#* }"
        expect_contains "$output" "BLEU = 100.00"
    done
    tf-bleu --print-tokens --as paper --raw-ref -i typed >typed.tok
    t 0 tf-bleu --print-tokens --as paper -i plain
    expect_output "$(cat typed.tok)"
    # A reference that is tokenized already gets no step but the last.
    printf '%s\n' 'Die „ New York Times “ schrieb .' >tokenized
    echo 'Die „New York Times“ schrieb.' >one
    t 0 tf-bleu --as paper tokenized -i one
    expect_contains "$output" "BLEU = 59.46, 87.5/71.4/50.0/40.0 (BP=1.000, ratio=1.000, hyp_len=8, ref_len=8)"
    tf-bleu --print-tokens --as paper -i out >tok0
    head -1 tok0 >tok1
    printf 'x\nx\n' >>tok1
    t 0 tf-bleu --tok-input tok -i tok1
    expect_output \
        "BLEU = 100.00, 100.0/100.0/100.0/100.0 (BP=1.000, ratio=1.000, hyp_len=29, ref_len=29)"
    t 0 tf-bleu --tok-input tok0 -i tok1
    expect_contains "$output" "BLEU = "
    expect_contains "$output" "hyp_len=29, ref_len="
    # Only the first reference stands for others: here m1 is not also m10.
    echo 'q q q q q q q' >m0
    echo 'a b c d e' >m1
    echo 'a b c d x' >m10
    t 0 tf-bleu --tok-input m0 m1 -i m10
    expect_output \
        "BLEU = 66.87, 80.0/75.0/66.7/50.0 (BP=1.000, ratio=1.000, hyp_len=5, ref_len=5)"
    t 0 tf-bleu --tok-input m1 m0 -i m10
    expect_contains "$output" "BLEU = 100.00"
    t 1 tf-bleu --tok-input m1 m -i m10
    expect_error "m: No such file or directory"
    echo >empty
    t 1 tf-bleu --tok-input empty -i empty
    expect_output "BLEU = 0, 0/0/0/0 (BP=0, ratio=0, hyp_len=0, ref_len=0)"
    t 1 tf-bleu --tok-input nowhere -i out
    expect_error "neither this file nor nowhere0"
}

@test "printed tokens: lines end where they do in scoring, on stdin, too" {
    printf 'a\rb.\n' >text
    for way in "--as paper" --tok-input; do
        # shellcheck disable=SC2086
        sh_t 0 "tf-bleu --print-tokens $way <text"
        want=$output
        # shellcheck disable=SC2086
        t 0 tf-bleu --print-tokens $way -i text
        expect_output "$want"
        [ "${#lines[@]}" = 1 ]
        sh_t 0 "tf-bleu $way text <text"
    done
    sh_t 0 'tf-bleu --print-tokens <text'
    expect_output $'a\nb .'
    t 0 tf-bleu --print-tokens -i text
    expect_output 'a b .'
}

@test "tokens of every tokenizer, printed" {
    printf 'Hello, (world) 3-4 \xe6\x88\x91!\n\nb\xc2\xa0c &amp; d\n' >text
    t 0 tf-bleu --print-tokens -i text
    expect_output $'Hello , ( world ) 3 - 4 \u6211 !\n\nb c & d'
    t 0 tf-bleu --print-tokens -tok char -lc -i text
    expect_output $'h e l l o , ( w o r l d ) 3 - 4 \u6211 !\n\nb c & a m p ; d'
    t 0 tf-bleu --print-tokens -tok none -i text
    expect_output $'Hello, (world) 3-4 \u6211!\n\nb c &amp; d'
}

# tf-bleu starts tf-tokenize, which the kernel has to run.
starts_tokenize() {
    [ -z "${TF_EMULATOR:-}" ] || skip "the emulator starts no other program of this architecture"
}

@test "pieces of a SentencePiece model" {
    starts_tokenize
    for i in {1..200}; do echo "the cat number $i sat on mat $((i * 7))"; done >train
    tf-tokenize --train --vocab-size 60 -o sp.model train
    tf-tokenize --pieces -m sp.model hyp >hyp.p
    tf-tokenize --pieces -m sp.model ref >ref.p
    t 0 tf-bleu --print-tokens --spm-model sp.model -i hyp
    expect_output "$(cat hyp.p)"
    t 0 tf-bleu -b -w 6 -tok none ref.p -i hyp.p
    want=$output
    t 0 tf-bleu -b -w 6 -tok spm --spm-model sp.model ref -i hyp
    expect_output "$want"
    # The name of a model is in the signature, with a warning where it is another one, or may be.
    sum=$(sha256sum <sp.model)
    t 0 tf-bleu -f text -tok flores200 --spm-model sp.model ref -i hyp
    expect_contains "$output" "|tok:flores200|"
    expect_error "warning: flores200: the model's SHA-256 is ${sum:0:8}..., sacreBLEU's 14bb8dfb...: scores do not compare"
    for tok in flores101 spBLEU-1K; do
        t 0 tf-bleu -f text -tok $tok --spm-model sp.model ref -i hyp
        expect_contains "$output" "|tok:$tok|"
        expect_error "warning: $tok: not verified to be sacreBLEU's model (its SHA-256 is ${sum:0:8}...)"
    done
    t 0 tf-bleu -q -tok flores200 --spm-model sp.model ref -i hyp
    [ -z "$stderr" ]
    t 0 tf-bleu -m chrf -tok flores200 --spm-model sp.model ref -i hyp
    [ -z "$stderr" ]
    # Statistics carry the SHA-256 of the model.
    known=14bb8dfb35c0ffdea7bc01e56cea38b9e3d5efcdcb9c251d6b40538e1aab555a
    tf-bleu -q --stats -tok flores200 --spm-model sp.model ref -i hyp >other
    t 0 tf-bleu --from-stats other
    expect_error "sacreBLEU's 14bb8dfb"
    tf-cbor json other | sed "s/${sum:0:64}/$known/g" | tf-cbor unjson >same
    t 0 tf-bleu --from-stats same
    [ -z "$stderr" ]
    t 0 tf-bleu -f text --spm-model sp.model ref -i hyp
    expect_contains "$output" "|tok:spm-${sum:0:8}|"
    [ -z "$stderr" ]
    # Two unknown words differ.
    printf 'the cat 中 sat\n漢 cat\n' >hyp
    printf 'the cat 日 sat\n字 cat\n' >ref
    t 0 tf-bleu -b -w 4 --spm-model sp.model ref -i hyp
    expect_output 72.4158
    # The model is read once, so it may be a pipe.
    t 0 tf-bleu -b -w 4 --spm-model <(cat sp.model) ref -i hyp
    expect_output 72.4158
    sh_t 0 'tf-bleu -b -w 4 --spm-model - ref -i hyp <sp.model'
    expect_output 72.4158
    t 2 tf-bleu --spm-model - ref
    expect_error "only one file can be stdin"
    t 1 tf-bleu --spm-model ref ref -i hyp
    expect_error "tf-bleu: ref: text, not a vocabulary: not a SentencePiece model"
}

@test "a tf-tokenize that fails beside the scorer is one message" {
    starts_tokenize
    mkdir bin
    cp "$(command -v tf-bleu)" bin
    printf '#!/bin/sh\nhead -n 1\necho "$@" >args\necho "tf-tokenize: stdin: line 2: too bad" >&2\nexit 1\n' >bin/tf-tokenize
    chmod +x bin/tf-tokenize
    t 1 env TF_SANDBOX=no bin/tf-bleu --spm-model ref ref -i hyp # the script writes a file
    expect_error "tf-bleu: tf-tokenize: stdin: line 2: too bad"
    [ -z "$output" ]
    # A line is as long as tf-bleu takes it.
    expect_contains "$(cat args)" "--max-line 67108864"
    printf '#!/bin/sh\nkill -9 $$\n' >bin/tf-tokenize
    t 1 bin/tf-bleu --spm-model ref ref -i hyp
    expect_error "tf-bleu: tf-tokenize: ended early"
}

@test "statistics of pieces know their model" {
    starts_tokenize
    for n in 60 70; do
        for i in {1..200}; do echo "the cat number $i sat on mat $((i * n))"; done >train
        tf-tokenize --train --vocab-size 60 -o sp$n.model train
        for tok in spm flores200; do
            tf-bleu --stats -tok $tok --spm-model sp$n.model ref -i hyp >$tok.$n
            t 0 tf-bleu --from-stats -f text $tok.$n
            want=$output
            t 0 tf-bleu -f text -tok $tok --spm-model sp$n.model ref -i hyp
            expect_output "$want"
        done
    done
    expect_contains "$(tf-cbor json spm.70 | head -1)" "\"in\":{\"vocab\":\"$(sha256sum \
        <sp70.model | head -c 64)\"}"
    for tok in spm flores200; do
        sh_t 1 "cat $tok.60 $tok.70 | tf-bleu --from-stats"
        expect_error "stdin: its metrics or their settings differ"
        t 1 tf-bleu --from-stats $tok.60 $tok.70
        expect_error "$tok.70: its metrics or their settings differ"
        sh_t 1 "tf-cbor json $tok.60 | sed '1s/,\"vocab\":\"[0-9a-f]*\"//' | tf-cbor unjson | tf-bleu --from-stats"
        expect_error "stdin: metrics: vocab: missing"
    done
}

@test "a line of a million characters" {
    "$TF_PYTHON" -c 'print("".join(chr(97 + i * 7919 % 26) for i in range(1000000)))' >long
    t 0 tf-bleu -b long -i long -m bleu chrf ter -cw 2
    expect_output $'[\n0.0,\n100.0,\n0.0\n]'
}

@test "a line of more than 64 MiB is refused, wherever the reads end" {
    printf 'a\nb\n' >ref
    for n in 67108865 100000000; do
        sh_t 1 "{ echo a; head -c $n /dev/zero | tr '\\0' x; echo; } | tf-bleu ref -i -"
        expect_error "stdin: line 2: longer than 67108864 bytes"
    done
}

@test "-l: the target language chooses the tokenizer, as in sacreBLEU" {
    printf 'das ist gut .\n' >de
    printf '我喜欢绿茶\n' >zh
    t 0 tf-bleu de -i de
    plain=$output
    t 0 tf-bleu -l en-de de -i de
    expect_output "$plain"
    t 0 tf-bleu -l en-zh zh -i zh
    expect_contains "$output" '"tok": "zh"'
    t 0 tf-bleu --language-pair=en-zh -tok 13a zh -i zh
    expect_contains "$output" '"tok": "13a"'
    expect_error "Consider using the 'zh' or 'spm' tokenizer for Chinese."
    t 0 tf-bleu -q --language-pair=en-zh -tok 13a zh -i zh
    [ -z "$stderr" ]
    for pair in en-ja en-ko; do
        t 2 tf-bleu -l $pair zh -i zh
        expect_error "--language-pair $pair: the tokenizer ${pair#en-}-mecab needs MeCab"
        t 2 tf-bleu -l $pair -m chrf bleu -i zh -- zh
        t 2 tf-bleu -l $pair --print-tokens -i zh
        # chrF, TER and tokenized text have no such tokenizer.
        for args in '-m chrf ter -i zh -- zh' '--tok-input zh -i zh' '-tok char zh -i zh' \
            '--tok-input --print-tokens -i zh'; do
            # shellcheck disable=SC2086
            t 0 tf-bleu $args
            want=$output
            # shellcheck disable=SC2086
            t 0 tf-bleu -l $pair $args
            expect_output "$want"
        done
    done
    t 0 tf-bleu -l en-zh -m chrf -tok 13a -i zh -- zh
    [ -z "$stderr" ]
    for pair in en en- -de; do
        t 2 tf-bleu -l $pair de -i de
        expect_error "--language-pair $pair: not of the form SOURCE-TARGET"
    done
    # With --as paper it is the language of the text.
    printf "l'eau d'ici\n" >fr
    t 0 tf-bleu --as paper --lang fr --print-tokens -i fr
    want=$output
    t 0 tf-bleu --as paper -l en-fr --print-tokens -i fr
    expect_output "$want"
    t 0 tf-bleu --as paper -l fr-en --print-tokens -i fr
    [ "$output" != "$want" ]
    t 0 tf-bleu --as paper -l fr-en --lang fr --print-tokens -i fr
    expect_output "$want"
    t 2 tf-bleu --as paper -l en-cs fr -i fr
    expect_error "--language-pair en-cs with --as paper: cs: not one of en, de, fr"
}

@test "-t: test sets are files" {
    echo a >a
    for option in '-t wmt14/full' --test-set=wmt17; do
        # shellcheck disable=SC2086
        t 2 tf-bleu $option -l en-de -i a
        expect_error "test sets are files here"
    done
}

@test "--as paper: abbreviations are those of Moses, or of --prefixes" {
    tokens() {
        printf '%s\n' "$1" >text
        t 0 tf-bleu --as paper --print-tokens -i text "${@:2}"
    }
    tokens 'Rund rd. 5 bzgl. Art. 36. Mai XX. Jh. z.B. Dr. C. X'
    expect_output 'Rund rd . 5 bzgl. Art. 36. Mai XX. Jh. z.B. Dr. C. X'
    tokens 'See No. 5 or No. Mr. Jr. Inc. X Sep. X' --lang en
    expect_output 'See No. 5 or No . Mr. Jr . Inc . X Sep. X'
    tokens 'Le boul. X a. X b. X Mme. X art. 7' --lang fr
    expect_output 'Le boul. X a . X b. X Mme . X art. 7'
    printf '# a comment. X\n\nbar #NUMERIC_ONLY#\nfoo\n' >list
    tokens 'foo. X bar. 5 bar. Y Dr. Z C. X #. X' --prefixes list
    expect_output 'foo. X bar. 5 bar . Y Dr . Z C . X # . X'
    # A tab before the mark, and words listed twice, of which the last line counts.
    printf 'bar\t#NUMERIC_ONLY#\nfoo\nfoo  #NUMERIC_ONLY#\nbaz #NUMERIC_ONLY#\nbaz\n' >list
    tokens 'foo. X foo. 5 bar. 5 bar. Y baz. Z' --prefixes list
    expect_output 'foo . X foo. 5 bar. 5 bar . Y baz. Z'
    t 1 tf-bleu --as paper --print-tokens --prefixes none -i text
    expect_error 'none: No such file or directory'
    t 1 tf-bleu --as paper --prefixes none text -i text
    expect_error 'none: No such file or directory'
    t 2 tf-bleu --prefixes list text -i text
    expect_error '--prefixes requires --as paper'
}

@test "--as paper: compounds are split, except in French" {
    echo 'a-b c' >text
    for lang in de en; do
        t 0 tf-bleu --as paper --print-tokens --lang $lang -i text
        expect_output 'a ##AT##-##AT## b c'
        t 0 tf-bleu --as paper --print-tokens --lang $lang --no-compounds -i text
        expect_output 'a-b c'
    done
    t 0 tf-bleu --as paper --print-tokens --lang fr -i text
    expect_output 'a-b c'
    t 0 tf-bleu --as paper --print-tokens -l en-fr -i text
    expect_output 'a-b c'
    t 0 tf-bleu --as paper --print-tokens --lang fr --compounds -i text
    expect_output 'a ##AT##-##AT## b c'
}

@test "options of other scorers that have no effect here" {
    printf 'a b c d e\nb c d e f\n' >ref
    printf 'a b c d e\nb c d x f\n' >out
    cp ref other
    t 0 tf-bleu ref -i out other --paired-bs --paired-bs-n 20
    plain=$output
    for options in "--paired-jobs 2" --no-color; do
        # shellcheck disable=SC2086
        t 0 tf-bleu ref -i out other --paired-bs --paired-bs-n 20 $options
        expect_output "$plain"
    done
}
