#!/usr/bin/env bats
# tf-translate: text in, text out, as the pipe of three tools does; one message when one of them
# fails.
# bats file_tags=first
load helper
load translate

setup_file() {
    make_model
}

@test "the same text as the pipe of three tools, from a file and from stdin" {
    natively
    tf-tokenize -m "$MODEL" "$LINES_TXT" | tf-decode -q -m "$MODEL" --beam 2 --max-extra 5 |
        tf-tokenize -d -m "$MODEL" >want
    t 0 tf-translate -m "$MODEL" -k 2 --max-extra 5 -o got "$LINES_TXT"
    [ -z "$stderr" ]
    cmp want got
    tf-translate -m "$MODEL" --beam 2 --max-extra 5 --threads 2 -b 3 -w 7 <"$LINES_TXT" | cmp want -
    tf-translate -m "$MODEL" --early-stopping --max-extra 5 "$LINES_TXT" >early
    tf-tokenize -m "$MODEL" "$LINES_TXT" | tf-decode -q -m "$MODEL" --early-stopping --max-extra 5 |
        tf-tokenize -d -m "$MODEL" | cmp - early
    tf-translate -m "$MODEL" --sample --seed 3 --temperature 2 --top-k 4 --top-p 0.9 "$LINES_TXT" >a
    tf-tokenize -m "$MODEL" "$LINES_TXT" |
        tf-decode -q -m "$MODEL" --sample --seed 3 --temperature 2 --top-k 4 --top-p 0.9 |
        tf-tokenize -d -m "$MODEL" | cmp - a
    run -1 cmp -s a want
    [ "$(wc -l <a)" -eq 59 ]
}

@test "line for line: an empty one, one that is not UTF-8, one that is too long" {
    printf 'a b\r\n\r\nb \xff a\r\nc c c c c c c c c\r\nb\r\n' >in
    t 4 tf-translate -m "$MODEL" --crlf --max-length 6 -o out in
    [ "$(sed -n 1p out) $(sed -n 5p out) $(awk 'NF == 0' out | wc -l) $(wc -l <out)" = 'a b b 3 5' ]
    expect_contains "$stderr" "tf-translate: in: 1 of 5 lines bad; the first is line 3: invalid UTF-8"
    t 0 tf-translate -m "$MODEL" --crlf --max-length 6 --bad ok -o out in
    [ -z "$stderr" ]
    # What the first tool found is no news of the second.
    { echo a; head -c 1048600 /dev/zero | tr '\0' a; printf '\nb\n'; } >long
    t 4 tf-translate -m "$MODEL" -o out long
    expect_contains "$stderr" "tf-tokenize: long: 1 of 3 sentences bad; the first is in line 2: 10486"
    [[ $stderr != *tf-decode* ]]
    t 4 tf-translate -m "$MODEL" --crlf --max-length 6 --replace-invalid -o more in
    [ -n "$(sed -n 3p more)" ]
    t 1 tf-translate -m "$MODEL" --bad fail -o none in
    expect_error "tf-translate: in: line 3: invalid UTF-8"
    [ ! -e none ]
}

@test "one message, and its status, whichever tool fails" {
    t 1 tf-translate -m none.tfm "$LINES_TXT"
    expect_error "tf-translate: none.tfm: No such file or directory"
    t 1 tf-translate -m "$LINES_TXT" "$LINES_TXT"
    expect_error "tf-translate: $LINES_TXT: text, not a model of tf-tools"
    tf-convert "$MODEL" --to npz -o n.npz
    "$TF_PYTHON" -c 'import numpy as np; z = dict(np.load("n.npz")); del z["vocab"]; np.savez("n.npz", **z)'
    tf-convert n.npz -o bare.tfm
    t 1 tf-translate -m bare.tfm "$LINES_TXT"
    expect_error "tf-translate: bare.tfm: contains no vocabulary"
    # tf-tokenize reads no more than the vocabulary; tf-decode checks the rest.
    head -c -100 "$MODEL" >cut.tfm
    t 1 tf-translate -m cut.tfm "$LINES_TXT"
    expect_error "cut.tfm: "
    [ -z "$output" ] && [ "$(wc -l <<<"$stderr")" -eq 1 ]
    t 2 tf-translate "$LINES_TXT"
    expect_error "tf-translate: -m FILE is required"
    t 2 tf-translate "$MODEL" "$LINES_TXT"
    expect_error "tf-translate: -m FILE is required"
    t 2 tf-translate -m "$MODEL" "$LINES_TXT" more
    expect_error "tf-translate: unexpected operand 'more'"
    # --nbest prints what --json does, and excludes what that excludes.
    for option in --resume --document --field=1 --copy-unk --html --placeholders --glossary=g; do
        t 2 tf-translate -m "$MODEL" --json $option "$LINES_TXT"
        t 2 tf-translate -m "$MODEL" --nbest 3 $option "$LINES_TXT"
        expect_error "tf-translate: --nbest and ${option%=*} cannot be used together"
    done
    mkdir run
    t 1 tf-translate -m run "$LINES_TXT"
    expect_error "run: is a directory (use a .tfm file in it or tf-avgckpt run, of another program's model tf-convert run)"
    mkdir './-a run'
    t 1 tf-translate -m '-a run' "$LINES_TXT"
    expect_error "or tf-avgckpt ./'-a run', of another program's model tf-convert ./'-a run')"
    t 2 tf-translate -m "$MODEL" --beam 0 "$LINES_TXT"
    expect_error "tf-translate: --beam 0: too small, minimum 1"
    sh_t 2 'tf-translate -m <(cat "$MODEL") "$LINES_TXT"'
    expect_error "not a regular file: three tools read the model"
    t 2 tf-translate -m - "$LINES_TXT"
    expect_error "tf-translate: -: not a regular file: three tools read the model"
    sh_t 2 'tf-translate -m /dev/stdin "$LINES_TXT" <"$MODEL"'
    expect_error "tf-translate: /dev/stdin: not a regular file: three tools read the model"
    t 1 tf-translate -m "$MODEL" none.txt
    expect_error "tf-translate: none.txt: No such file or directory"
    t 2 tf-translate -m "$MODEL" --device none "$LINES_TXT"
    expect_error "tf-decode: "
    t 1 tf-translate -m "$MODEL" -o /dev/full "$LINES_TXT"
    expect_error "tf-translate: /dev/full: write: No space left on device"
    for _ in {1..20}; do cat "$LINES_TXT"; done >long
    sh_t 0 'tf-translate -m "$MODEL" -w 20 long | head -1'
    [ -z "$stderr" ]
}

@test "the tools are those beside it, and then those in PATH" {
    mkdir -p bin path
    cp "$(command -v tf-translate)" bin/
    cat >path/tf-decode <<'SH'
#!/bin/sh
exec tf-cbor head -n 1000
SH
    chmod +x path/tf-decode
    export PATH=$PWD/path:$PATH
    bin/tf-translate -m "$MODEL" "$LINES_TXT" | diff "$LINES_TXT" -
    cp path/tf-decode bin/
    sed -i 's/1000/3/' bin/tf-decode
    t 1 bin/tf-translate -m "$MODEL" "$LINES_TXT"
    expect_error "tf-translate: the tools wrote fewer lines than they had read"
    diff <(head -3 "$LINES_TXT") - <<<"$output"
    rm path/tf-decode
    printf '#!/nonexistent\n' >bin/tf-decode
    t 1 bin/tf-translate -m "$MODEL" "$LINES_TXT"
    expect_error "tf-translate: tf-decode: No such file or directory"
}

# Not a copy of the shell that has yet to become one of them.
three_tools() { [ "$(pgrep -cP "$main" '^tf-(tokenize|decode)$')" -eq 3 ]; }

# start_open FILE: tf-translate of a pipe that stays open, to FILE; its tools are its children.
start_open() {
    mkfifo open
    tf-translate -m "$MODEL" -o "$1" open 2>messages 3>&- &
    main=$!
    exec 9>open
    echo 'a b' >&9
    wait_for three_tools
}

@test "a tool that is killed is named, and no output appears" {
    start_open out
    kill -KILL "$(pgrep -P $main -f 'tf-decode')"
    status=0
    wait $main || status=$?
    exec 9>&-
    [ "$status" -eq 1 ]
    [ "$(cat messages)" = "tf-translate: tf-decode: ended by signal 9" ]
    [ ! -e out ]
    [ -z "$(find . -name '.tf-*')" ]
}

@test "messages of the tools name the line of the text, which may have several sentences" {
    printf 'a b. a b? C a.\nA a b a b a b\n\nb a. c c c c c c c c c\n' >in
    t 4 tf-translate -m "$MODEL" --lang en --max-length 8 in
    expect_contains "$stderr" "tf-decode: warning: in: line 4: too many tokens: source of "
    expect_contains "$stderr" "tf-decode: in: 1 of 5 sentences bad; the first is in line 4: too many"
    t 1 tf-translate -m "$MODEL" --lang en --max-length 8 --bad fail in
    expect_contains "$stderr" "tf-tokenize: in: line 4: too many tokens: source of "
    # Of a paragraph of many lines, that in which the sentence begins.
    printf 'a\n\na b c a b c a b c\nb. B a b c a b a\nb c a b c a b.\n\nb\n' >page
    t 4 tf-translate -m "$MODEL" --lang en --max-length 8 --document page
    for line in 3 4; do
        expect_contains "$stderr" "tf-decode: warning: page: line $line: too many tokens: source of "
    done
    sh_t 0 'tf-translate -m "$MODEL" --no-split --max-length 8 --truncate <in'
    expect_contains "$stderr" "tf-decode: warning: stdin: line 4: source of "
    # Without that memory: as before.
    printf 'c c c c c c c c c\n' | tf-tokenize -m "$MODEL" >c.tfs
    TF_PLACES="$$ 99" t 4 tf-decode -m "$MODEL" --max-length 8 c.tfs
    expect_contains "$stderr" "tf-decode: warning: c.tfs: record 0: too many tokens: source of "
}

@test "--json: each line has its status, and a text or a reason" {
    printf 'a b\n\nb \xff a\nc c c c c c c c c\n' >in
    t 0 tf-translate --json -m "$MODEL" --max-length 6 --bad ok in
    [ "$(wc -l <<<"$output")" -eq 4 ]
    jq -r .text <<<"$output" >texts
    tf-translate -m "$MODEL" --max-length 6 --bad ok in | sed '3,4s/^$/null/' | diff - texts
    [ "$(jq -c '[.line, .status, .score == null, .reason]' <<<"$output")" = '[1,"ok",false,null]
[2,"ok",false,null]
[3,"invalid UTF-8",true,"invalid UTF-8 at byte 3"]
[4,"too many tokens",true,"too many tokens: source of 9 tokens, --max-length allows 6"]' ]
    t 4 tf-translate --json -m "$MODEL" --max-length 6 in
}

@test "--json -n: the texts and scores of the n-best list" {
    t 0 tf-translate --json -n 3 -m "$MODEL" -k 4 "$LINES_TXT"
    jq -r '. as $l | [., .alternatives[]?] | .[] | [$l.line - 1, .score, .text] | @tsv' \
        <<<"$output" >got
    tf-tokenize -m "$MODEL" "$LINES_TXT" | tf-decode -q -n 3 -k 4 -m "$MODEL" |
        tf-tokenize -d --nbest -m "$MODEL" | awk -F '\t' -v OFS='\t' -v OFMT=%.9g '{ print $1, $3 + 0, $4 }' |
        diff got -
    # Also without --json.
    tf-translate -n 3 -m "$MODEL" -k 4 "$LINES_TXT" | diff - <(printf '%s\n' "$output")
}

@test "characters that the vocabulary lacks are listed once" {
    printf 'a b @ c\n\nb € @ {x}\na \xf0\x9f\x98\x80\n' >in
    t 0 tf-translate -m "$MODEL" in
    expect_error "tf-tokenize: not in the vocabulary, so that the output may lack or change them (tf-translate --copy-unk keeps them): @ x { } € 😀"
    t 0 tf-translate -q -m "$MODEL" in
    [ -z "$stderr" ]
    "$TF_PYTHON" -c 'print("a", "".join(map(chr, range(0x4e00, 0x4e32))))' >in
    t 0 tf-translate -m "$MODEL" in
    [[ $stderr == *"丧 and 10 more" ]]
}

@test "its tools die with it" {
    start_open out
    local tools
    tools=$(pgrep -P $main)
    kill -KILL $main
    wait $main || true
    # shellcheck disable=SC2086
    all_gone() { local p; for p in $tools; do ! kill -0 "$p" 2>/dev/null || return 1; done; }
    wait_for all_gone
    exec 9>&-
    [ ! -e out ]
}

@test "typed lines are answered one by one, on a terminal and on a pipe" {
    "$TF_PYTHON" - "$MODEL" <<'PY'
import os, pty, subprocess, sys
command = ["tf-translate", "-m", sys.argv[1], "--max-extra", "5"]
p = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
for line in b"a b\n", b"\n", b"b c a\n":
    p.stdin.write(line)
    p.stdin.flush()
    assert p.stdout.readline().count(b"\n") == 1
p.stdin.close()
assert p.wait() == 0
pid, fd = pty.fork()
if pid == 0:
    os.execvp("timeout", ["timeout", "--foreground", "60"] + command)
shown = b""
for i, line in enumerate([b"a b\n", b"b c a\n"]):
    os.write(fd, line)
    while shown.count(b"\n") < 2 * i + 2: # the echo and the answer
        shown += os.read(fd, 4096)
assert b"\r\x1b" not in shown and b"records" not in shown, shown
os.write(fd, b"\x03") # Ctrl-C
status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
assert status in (-2, 130), status
PY
}

@test "no tool complains about the failure of the one before it" {
    for _ in 1 2 3; do
        sh_t 1 'yes "a text that is no UTF-8" | head -n 3000 | iconv -t utf-16 |
            tf-translate -m "$MODEL"'
        [ "$stderr" = "tf-translate: stdin: UTF-16, not UTF-8 text (use iconv -f UTF-16 -t UTF-8)" ]
        [ -z "$output" ]
    done
    # Nor while the other has yet to say why: the last tool waits in its sandbox.
    mkdir bin
    cp "$(command -v tf-translate)" bin
    cat >bin/tf-decode <<'SH'
#!/bin/sh
printf '\376\377' | tf-tokenize -m "$MODEL" 2>/dev/null
sleep 0.5
echo "tf-decode: late" >&2
exit 1
SH
    chmod +x bin/tf-decode
    t 1 bin/tf-translate -m "$MODEL" "$LINES_TXT"
    [ "$stderr" = "tf-decode: late" ]
    # Elsewhere the variable says nothing.
    sh_t 1 'printf "\376\377" | tf-tokenize -m "$MODEL" 2>/dev/null |
        TF_PIPELINE=1 tf-decode -m "$MODEL"'
    expect_contains "$stderr" "upstream failed"
}

@test "options of other programs are answered with what stands for them here" {
    t 2 tf-translate -i text -m "$MODEL"
    expect_error "tf-translate: -i: the text is an operand: tf-translate -m MODEL text"
    t 2 tf-translate --to de -m "$MODEL"
    expect_error "tf-translate: --to: the model decides on the language"
}

@test "--terms: translations have the targets of the terms in their sentences" {
    printf 'a b\n\nb a\nc\na b b\n' >lines
    printf 'B\tnothing\nb a\tc c c\tb b b b\nc\tb b b\n' | sed 1d >terms
    tf-translate -q -m "$MODEL" --max-extra 5 --terms terms lines >out
    [ "$(wc -l <out)" -eq 5 ]
    sed -n 3p out | grep -q 'c c c\|b b b b'
    sed -n 4p out | grep -q 'b b b'
    tf-translate -q -m "$MODEL" --max-extra 5 lines >plain
    cmp <(sed -n '1,2p;5p' out) <(sed -n '1,2p;5p' plain)
    # As the tools one by one.
    tf-tokenize -m "$MODEL" --pieces --target --phrases 2 terms >pieces
    tf-tokenize -m "$MODEL" lines | tf-decode -m "$MODEL" --max-extra 5 --terms pieces |
        tf-tokenize -d -m "$MODEL" | cmp - out
    cp terms ./-terms
    tf-translate -q -m "$MODEL" --max-extra 5 --terms -terms lines | cmp - out
    # The file that the user gave is named.
    printf 'a\tb\nb\tx\n' >bad
    t 1 tf-translate -q -m "$MODEL" --terms bad lines
    expect_contains "$stderr" "bad: line 2: 'x' is no piece of the vocabulary"
    t 1 tf-translate -q -m "$MODEL" --terms missing lines
    expect_contains "$stderr" "missing: "
    t 2 tf-translate -q -m "$MODEL" --terms terms --sample lines
    # The tools have no stdin and stdout of the user's.
    for option in terms forbid shortlist 'alignment hard -o out --alignment-output'; do
        for name in - /dev/stdin /dev/fd/1; do
            sh_t 2 'tf-translate -q -m "$MODEL" --'"$option $name"' lines <terms'
            expect_error "tf-translate: --${option##*--} $name: not a file; stdin and stdout of the tools"
        done
    done
    tf-translate -q -m "$MODEL" --glossary - lines <terms >out 2>log
    [ "$(wc -l <out)" -eq 5 ]
}
