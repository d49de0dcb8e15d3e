#!/usr/bin/env bats
# tf-translate: lines of several sentences, documents, columns; outputs that appear as they are
# made, stop and continue. Most tests have other tools in place of a model: capitals are the
# translation.
load helper
load translate

setup_file() {
    make_model
    mkdir -p "$BATS_FILE_TMPDIR/bin"
    cp "$(command -v tf-translate)" "$BATS_FILE_TMPDIR/bin"
    # Of a line of several sentences only the first is translated; a name alone gets more words, and
    # a sign between two names gets spaces. The word tab becomes one.
    cat >"$BATS_FILE_TMPDIR/bin/tf-tokenize" <<'SH'
#!/bin/sh
case " $* " in *" -d "*) exec sed -u '/^none/s/.*//; s/\([.!?]\) .*/\1/; s/^X1$/& too/; s/ tab /\t/; s/\(X[0-9]*\)\([+/]\)X/\1 \2 X/; y/abcdefghijklmnopqrstuvwxyzäöü/ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÜ/' ;; esac
exec cat
SH
    cat >"$BATS_FILE_TMPDIR/bin/tf-decode" <<'SH'
#!/bin/sh
[ -z "$STARTED" ] || : >"$STARTED"
[ -z "$SLOW" ] || exec sed -u 'e sleep 0.05'
exec cat
SH
    chmod +x "$BATS_FILE_TMPDIR"/bin/tf-{tokenize,decode}
    "$TF_PYTHON" -c 'print("\n".join(f"line {i} is. It is one of {i % 7}! yes?" for i in range(300)))' \
        >"$BATS_FILE_TMPDIR/many"
    tr a-z A-Z <"$BATS_FILE_TMPDIR/many" >"$BATS_FILE_TMPDIR/MANY"
}

prepare() {
    MANY=$BATS_FILE_TMPDIR/many WANT=$BATS_FILE_TMPDIR/MANY
}

capitals() { "$BATS_FILE_TMPDIR/bin/tf-translate" -m "$MODEL" "$@"; }
export -f capitals

@test "a line of several sentences loses none, where the language is known" {
    natively
    printf '%s\n' 'one. Two!  Three?' '' 'Dr. Who is one' ' four.  ' >in
    sh_t 0 'capitals --lang en in'
    [ -z "$stderr" ]
    printf '%s\n' 'ONE. TWO!  THREE?' '' 'DR.' ' FOUR.' | diff - <(echo "$output")
    # By the model's label, unless the user has another.
    tf-cbor json "$MODEL" | sed '1s/"kind"/"lang":"de","target_lang":"en",&/' | tf-cbor unjson >de.tfm
    echo 'am 3. Mai. Ja.' >in
    for option in '' '--lang en' --no-split; do
        # shellcheck disable=SC2086
        "$BATS_FILE_TMPDIR/bin/tf-translate" -m de.tfm $option in
    done >got
    printf '%s\n' 'AM 3. JA.' 'AM 3. MAI. JA.' 'AM 3.' | diff - got
    # Text in the wrong direction is not translated without a word.
    t 0 "$BATS_FILE_TMPDIR/bin/tf-translate" -m de.tfm --lang en in
    expect_error "tf-translate: warning: --lang en: the model translates from 'de'"
    sed 's/"lang":"de"/"lang":"mul"/' <(tf-cbor json de.tfm) | tf-cbor unjson >mul.tfm
    for run in 'de.tfm --lang de-AT' 'de.tfm --lang deu' 'mul.tfm --lang deu'; do
        # shellcheck disable=SC2086
        t 0 "$BATS_FILE_TMPDIR/bin/tf-translate" -m $run in
        [ -z "$stderr" ]
    done
}

@test "the tag of a language is that of each sentence of its line" {
    natively
    for tag in '>>fra<<' '<2de>' '__fr__' fra_Latn fr_XX; do
        echo "$tag one. Two! Three?" >in
        bash -c 'capitals --lang en in' >got
        printf '%s\n' "$tag ONE. $tag TWO! $tag THREE?" | tr a-z A-Z | diff - got
    done
    echo 'one_two one. Two.' >in
    [ "$(bash -c 'capitals --lang en in')" = 'ONE_TWO ONE. TWO.' ]
    # A word of this form that is longer than labels is text.
    # As a model has it: nothing need be between the tag and the text.
    echo '>>fra<<one. Two!' >in
    [ "$(bash -c 'capitals --lang en in')" = '>>FRA<<ONE. >>FRA<< TWO!' ]
    tag=">>$(printf '%036d' 0)<<"
    echo "$tag one. Two!" >in
    [ "$(bash -c 'capitals --lang en in')" = "$tag ONE. TWO!" ]
}

@test "where it is unknown, one note has the line and what helps" {
    natively
    t 0 bash -c 'capitals "$0"' "$MANY"
    [ "$(wc -l <<<"$output")" -eq 300 ]
    expect_error "tf-translate: $MANY: line 1 has several sentences, which a model of single ones may lose: --lang LABEL"
    for quiet in -q --no-split '--lang en' --document; do
        # shellcheck disable=SC2086
        t 0 bash -c 'capitals "$@"' sh $quiet "$MANY"
        [ -z "$stderr" ]
    done
    printf 'one\ntwo.\n' >in
    t 0 bash -c 'capitals in'
    [ -z "$stderr" ]
}

@test "placeholders stay as they are, and one that is lost comes back" {
    natively
    cat >in <<'X'
Send %s to <me.you@example.org>, or see (https://a.example.org/x?y=1.2&z=%20).
{name}, ${home} and %{title}: {{user}} has %1$d of %(all)s files, 5%% and %.2f%s
x1 is X2 but %s is not; 50% of it, a@b, {} and $5 are text: www.example.org.
open %1, %L2 (%n of %3): 5%1y is 50%, %123 or %L
{when:%H:%M}, {n:>5}, Use --key-file, -k or [-v|--all] with -5 or - and -- but no well-known --
X1 X2 @maria #42, (#a_b) a&#39;b x#1; in C:\Users\you\key.txt, or \n, a/b @ # {a: "b"}
to a@b.org<mailto:a@b.org> one<a@b.org>, two <a@b.org>three <a@b.org><c@d.org>
X
    bash -c 'capitals --placeholders --no-split in' >got
    diff - got <<'X'
SEND %s TO <me.you@example.org>, OR SEE (https://a.example.org/x?y=1.2&z=%20).
{name}, ${home} AND %{title}: {{user}} HAS %1$d OF %(all)s FILES, 5%% AND %.2f%s
X1 IS X2 BUT %s IS NOT; 50% OF IT, A@B, {} AND $5 ARE TEXT: www.example.org.
OPEN %1, %L2 (%n OF %3): 5%1Y IS 50%, %123 OR %L
{when:%H:%M}, {n:>5}, USE --key-file, -k OR [-v|--all] WITH -5 OR - AND -- BUT NO WELL-KNOWN --
X1 X2 @maria #42, (#a_b) A&#39;B X#1; IN C:\Users\you\key.txt, OR \n, A/B @ # {A: "B"}
TO a@b.org<mailto:a@b.org> ONE<a@b.org>, TWO <a@b.org>THREE <a@b.org><c@d.org>
X
    # Signs between two keep their spaces, and what has nothing else needs no model.
    printf '%s\n' 'press {a}+{b} or %s / %d' '{name}' '“{a}”/{b}: %s!' 'Key' >in
    printf 'key\tchave\n' >terms
    bash -c 'capitals --placeholders --glossary terms --copy-unk --no-split in' >got
    diff - got <<'X'
PRESS {a}+{b} OR %s / %d
{name}
“{a}”/{b}: %s!
Chave
X
    # Its second sentence is lost, as models of single sentences do.
    echo 'One. %s and {x}' >in
    t 0 bash -c 'capitals --placeholders --no-split in'
    expect_output 'ONE. %s {x}'
    expect_error "in: line 1: a placeholder was lost and is at the end of its sentence"
    # So is all of one whose translation is empty.
    printf '%s\n' 'none %s and {x}' 'key' >in
    for options in '--placeholders --glossary terms' --copy-unk --html; do
        # shellcheck disable=SC2086
        t 0 bash -c "capitals --placeholders --no-split $options in"
        [[ ${output,,} = '%s {x}'$'\n'@(key|chave) ]]
        [[ $options = --html ]] || expect_error 'in: line 1: a placeholder was lost'
    done
    t 2 tf-translate -m "$MODEL" --placeholders --json in
}

@test "an empty translation has what was hidden, a line that cannot be translated has not" {
    natively
    mkdir bin
    cp "$(command -v tf-translate)" bin
    ln -s "$(command -v tf-tokenize)" bin
    # Of three lines the first is empty, and the second bad.
    cat >bin/tf-decode <<SH
#!/bin/sh
$(command -v tf-decode) "\$@" | tf-cbor json | jq -c '
    if .type != "tokens" then . elif .idx == 1 then {type: "bad", idx, code: 15, text: "x"}
    elif .idx > 0 then . else .ids = [] |
        if .alignment then .alignment = .alignment[-1 - (.source | length):] else . end end' | tf-cbor unjson
SH
    chmod +x bin/tf-decode
    tf-convert "$MODEL" --to tfm --search alignment-head=1,2 -o aligning.tfm
    printf '%d a ü %%s\n' 1 2 3 >in
    for run in '--placeholders|%s' '--copy-unk|1 ü %s' '--html --placeholders|%s' \
        '--html --copy-unk|1 ü %s' '|'; do
        # shellcheck disable=SC2086
        bin/tf-translate -q -m aligning.tfm ${run%|*} in >got
        [ "$(head -n 1 got)" = "${run#*|}" ]
        [ "$(sed -n 2p got)" = '' ]
        [ "$(wc -l <got)" -eq 3 ]
    done
}

@test "a glossary: the targets of terms come back for the names in their places" {
    natively
    # shellcheck disable=SC1112 # the quotation mark is of the text
    printf '\xef\xbb\xbflog file\tregistro dos\tx\r\nkey\tchave\nfile\téficheiro\nIT\tTI\nHaus\tcasa\ntel\tiPhone x\nnet\tred LAN\nitaly\tl’Italia\nC++\tcê\n.FM\tfm\n%%\tpor cento\n\n' >terms
    cat >in <<'X'
The log file, a Key, the KEYS, keys of a key, and it in IT by file.txt, key@example.org
File a log  file: x1 key
key
Das Haus
Haus
Tel, A Tel
Net
Italy
A C++17 of ASP.FM, 5% of .FM and C++, C++.FM key%s key%
X
    bash -c 'capitals --glossary terms --placeholders --no-split in' >got
    diff - got <<'X'
THE registro dos, A Chave, THE KEYS, KEYS OF A chave, AND IT IN TI BY éficheiro.TXT, key@example.org
Éficheiro A LOG  éficheiro: X1 chave
chave
DAS casa
Casa
iPhone x, A iPhone x
Red LAN
L’Italia
A C++17 OF ASP.FM, 5% OF fm AND cê, cêfm chave%s chavepor cento
X
    echo '<p>A <b>key</b> of the <i>log</i> file</p>' | bash -c 'capitals --glossary terms --lang en' >got
    diff - got <<<'<P>A <B>chave</B> OF THE <I>LOG</I> éficheiro</P>'
    printf 'a\tb\nc\n' >bad
    t 1 tf-translate -m "$MODEL" --glossary bad in
    expect_error "bad: line 2: no source term, a tab and its target"
    printf 'a\tb\na\tc\n' >bad
    t 1 tf-translate -m "$MODEL" --glossary bad in
    expect_error "bad: line 2: a line before has this source term, too"
    : >bad
    t 1 tf-translate -m "$MODEL" --glossary bad in
    expect_error "bad: no terms"
    t 2 tf-translate -m "$MODEL" --glossary terms --terms terms in
}

@test "a document keeps its lines, empty lines, indentation and spaces" {
    natively
    printf '%s\n' '# a heading' '' 'this sentence continues in the' 'next line. And this one is  too' \
        'long for one.  Is it?' '' '  - a point' '  - another. Yes' $'\ttab \r' '' >in
    printf 'no end. ' >>in
    sh_t 0 'capitals --document --lang en -o out in'
    tr a-z A-Z <in | diff - out
    sh_t 0 'capitals --document <in >out'
    tr a-z A-Z <in | diff - out
}

@test "a column is translated, the others stay" {
    natively
    printf '1\tone. Two.\tx. y\n2\n3\t\tz\n' >in
    t 4 bash -c 'capitals --field 2 --lang en -o out in'
    expect_bad "tf-translate: in: 1 of 3 lines bad; the first is line 2: no field 2, only 1"
    printf '1\tONE. TWO.\tx. y\n2\n3\t\tz\n' | diff - out
    printf '1\ta tab b tab c\tx\n' >in
    t 0 bash -c 'capitals --field 2 --lang en -o out in'
    printf '1\tA B TAB C\tx\n' | diff - out
    printf 'a b\tc\nb\tc c\n' >in
    tf-translate -m "$MODEL" --field 1 in >got
    paste <(cut -f 1 in | tf-translate -m "$MODEL") <(cut -f 2 in) | diff - got
    t 2 tf-translate -m "$MODEL" --field 1 --document in
}

@test "an output that is interrupted continues to the same bytes" {
    natively
    for cut in 0 1 5 20 3000 100000; do
        head -c $cut "$WANT" >out.part
        bash -c 'capitals --lang en --resume -o out "$0"' "$MANY"
        cmp "$WANT" out
        [ ! -e out.part ]
        head -c $cut "$WANT" >out # as by a redirection
        bash -c 'capitals --lang en --resume -o out "$0"' "$MANY"
        cmp "$WANT" out
    done
    rm out
    bash -c 'capitals --lang en --resume -o out "$0"' "$MANY"
    cmp "$WANT" out
    # In a document, from an empty line on.
    { head -n 50 "$MANY" | fold -s -w 40; echo; head -n 60 "$MANY"; echo; echo end; } >in
    tr a-z A-Z <in >want
    for lines in 0 1 80 130 135 170; do
        head -n $lines want | head -c -3 >out.part
        bash -c 'capitals --document --lang en --resume -o out in'
        cmp want out
    done
}

@test "what does not continue the same text is refused" {
    natively
    { head -n 7 "$WANT"; echo other; } >out.part
    cp out.part before
    t 1 bash -c 'capitals --lang en --resume -o out "$0"' "$MANY"
    expect_error "tf-translate: out.part: line 8 is not what would be written now: --resume needs"
    cmp before out.part
    mv out.part out # of another text: it keeps its name
    t 1 bash -c 'capitals --lang en --resume -o out "$0"' "$MANY"
    expect_error "line 8 is not what would be written now"
    cmp before out
    # So does what cannot be continued; with rights to do so, /dev/null would be gone.
    mkdir dir
    ln -s /dev/null null
    echo other >./-
    t 1 tf-translate -m "$MODEL" --resume -o dir "$MANY"
    expect_error "dir: is a directory"
    t 2 tf-translate -m "$MODEL" --resume -o null "$MANY"
    t 2 tf-translate -m "$MODEL" --resume -o - "$MANY"
    [ -d dir ] && [ -L null ] && [ "$(<./-)" = other ]
    rm out
    # A symbolic link stays one.
    head -n 9 "$WANT" >real
    ln -s real link
    bash -c 'capitals --lang en --resume -o link "$0"' "$MANY"
    cmp "$WANT" real
    [ -L link ] && [ ! -e real.part ] && [ ! -e link.part ]
    head -n 20 "$WANT" >out.part
    head -n 10 "$MANY" >in
    t 1 bash -c 'capitals --lang en --resume -o out in'
    expect_error "tf-translate: out.part: "
    t 2 tf-translate -m "$MODEL" --resume in
    expect_error "--resume: -o FILE, a regular file, is required"
    t 2 tf-translate -m "$MODEL" --resume --sample -o out in
    exec 8>out.part
    flock 8
    t 75 tf-translate -m "$MODEL" -o out in
    expect_error "out.part: in use by another process"
    exec 8>&-
}

@test "SIGTERM and SIGINT finish the lines in flight, and the run continues" {
    natively
    head -n 200 "$MANY" >in
    for signal in TERM INT; do
        rm -f out out.part
        mkfifo fifo
        SLOW=1 env --default-signal=INT "$BATS_FILE_TMPDIR/bin/tf-translate" -m "$MODEL" --lang en \
            -o out fifo 2>messages 3>&- &
        main=$!
        exec 9>fifo
        head -n 20 in >&9
        wait_for test -s out.part
        kill -$signal $main
        status=0
        wait $main || status=$?
        exec 9>&-
        rm fifo
        [ "$status" -eq "$([ $signal = TERM ] && echo 75 || echo 130)" ]
        [ "$(grep -v '^tf-translate: everything up to line 20 will be finished; a second signal ends at once$' messages)" = "tf-translate: stopped after line 20; with --resume the same command continues" ]
        head -n 20 in | tr a-z A-Z | cmp - out.part
        [ ! -e out ]
        bash -c 'capitals --lang en --resume -o out in'
        tr a-z A-Z <in | cmp - out
    done
    # One for all processes ends the tools, too. What was written stays.
    rm out
    mkfifo fifo
    set -m
    SLOW=1 "$BATS_FILE_TMPDIR/bin/tf-translate" -m "$MODEL" --lang en -o out fifo \
        2>messages 3>&- &
    main=$!
    set +m
    exec 9>fifo
    head -n 20 in >&9
    wait_for test -s out.part
    kill -- -$main
    status=0
    wait $main || status=$?
    exec 9>&-
    [ "$status" -eq 75 ]
    grep -qx "tf-translate: stopped by SIGTERM; with --resume the same command continues" messages
    bash -c 'capitals --lang en --resume -o out in'
    tr a-z A-Z <in | cmp - out
}

@test "a signal's note names the last line that will be finished" {
    natively
    mkdir bin
    cp "$BATS_FILE_TMPDIR"/bin/* bin
    printf '#!/bin/sh\nread -r first\necho "$first"\nuntil [ -e go ]; do sleep 0.02; done\nexec cat\n' \
        >bin/tf-decode
    "$TF_PYTHON" -c 'print("one", *["It is. " * 1199 + "Yes."] * 3, sep="\n")' >in
    bin/tf-translate -m "$MODEL" --lang en -o out in 2>messages 3>&- &
    main=$!
    wait_for test -s out.part
    kill $main
    touch go
    status=0
    wait $main || status=$?
    [ "$status" -eq 75 ]
    diff - messages <<'X'
tf-translate: everything up to line 2 will be finished; a second signal ends at once
tf-translate: stopped after line 2; with --resume the same command continues
X
    head -n 2 in | tr a-z A-Z | cmp - out.part
}

@test "a run that stops says that it continues only if it does" {
    natively
    local options said status main
    mkfifo fifo
    head -n 20 "$MANY" >in
    # Nothing written; a file that is not yet known for its beginning; an output without --resume.
    for options in '' --resume '--json --no-split'; do
        rm -f out.part started
        [[ $options != --resume ]] || echo other >out
        # shellcheck disable=SC2086
        STARTED=started "$BATS_FILE_TMPDIR/bin/tf-translate" -m "$MODEL" --lang en $options -o out \
            fifo 2>messages 3>&- &
        main=$!
        exec 9>fifo
        wait_for test -e started
        if [[ $options = --json* ]]; then
            cat in >&9
            wait_for test -s out.part
        fi
        kill $main
        status=0
        wait $main || status=$?
        exec 9>&-
        [ "$status" -eq 75 ]
        said=$(<messages)
        case $options in
            '') [ ! -e out.part ] && [ "$said" = "tf-translate: stopped after line 0" ] ;;
            --resume) [ "$(<out)" = other ] && [ ! -e out.part ] &&
                [ "$said" = "tf-translate: stopped after line 0; with --resume the same command continues" ] ;;
            *) [[ $said = *"tf-translate: stopped after line 20" ]] ;;
        esac
    done
}

@test "progress has a total, a percentage and the time that is left" {
    natively
    t 0 bash -c 'capitals --lang en --progress -o out "$0"' "$MANY"
    local n='[0-9]+'
    [[ $stderr =~ ^tf-translate:\ $n\ of\ 300\ lines,\ $n\ %,\ $n\ a\ second,\ 0:0$n:$n\ left$ ]]
    sh_t 0 'cat "$1" | capitals --lang en --progress -o out' "$MANY"
    [[ $stderr =~ ^tf-translate:\ [0-9]+\ lines,\ [0-9]+\ a\ second$ ]]
}

@test "output appears as it is made" {
    natively
    "$TF_PYTHON" - "$BATS_FILE_TMPDIR/bin/tf-translate" "$MODEL" "$MANY" <<'PY'
import os, subprocess, sys, time
os.environ["SLOW"] = "1"
p = subprocess.Popen([*sys.argv[1:2], "-q", "-m", *sys.argv[2:]], stdout=subprocess.PIPE)
assert p.stdout.readline() == b"LINE 0 IS.\n"
assert p.poll() is None
p.stdout.close()
assert p.wait() == 0
PY
}
