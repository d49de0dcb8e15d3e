#!/usr/bin/env bats
# The line contract of tf-tokenize: one line in is one record out, one record in is one line out,
# whatever the line holds; in order, at once, and by any number of threads.
# bats file_tags=no-asan
load helper

setup_file() {
    export V=$BATS_FILE_TMPDIR/v.model
    sentences 300 >"$BATS_FILE_TMPDIR/text"
    tf-tokenize --train --vocab-size 200 --character-coverage 1 -o "$V" "$BATS_FILE_TMPDIR/text" \
        2>/dev/null
    tf-tokenize --train --vocab-size 100 --normalization identity --keep-spaces -o "$V.exact" \
        "$BATS_FILE_TMPDIR/text" 2>/dev/null
}

# Records of each type in stream $1: "tokens N" and "bad N", sums checked.
census() {
    tf-cbor check "$1" && tf-cbor json "$1" | cut -c 1-50 | awk -F '[":,]+' '
        $3 == "tokens" || $3 == "bad" { if ($4 != "idx" || $5 != n++) wrong = 1; count[$3]++ }
        END { print "tokens " count["tokens"] + 0 " bad " count["bad"] + 0; exit wrong }'
}

@test "a million empty lines" {
    yes '' | head -n 1000000 >in || true
    t 0 tf-tokenize -m "$V" -o out.tfs in
    t 0 tf-tokenize -d -m "$V" -o back out.tfs
    cmp in back
}

@test "a line of 100 MB is one bad record; memory stays small" {
    { printf 'ka to\n'; head -c 104857600 /dev/zero | tr '\0' x; printf '\nmi ren\n'; } >in
    # The address space is bounded, which a sanitizer's runtime and an emulator would not survive.
    [ -n "${TF_SAN:-}${TF_EMULATOR:-}" ] || limit='ulimit -v 400000;'
    sh_t 4 "${limit:-} tf-tokenize --threads 2 -m '$V' <in >out.tfs"
    expect_bad "1 of 3 lines bad; the first is line 2: line of 104857600 bytes, maximum 16777216"
    expect_output ""
    run census out.tfs
    expect_contains "$output" "tokens 2 bad 1"
    sh_t 4 "tf-tokenize -d -m '$V' <out.tfs"
    expect_output $'ka to\n\nmi ren'
}

@test "--max-line is exact, with and without a line feed" {
    printf '%s\n%s\n%s' 1234567 12345678 1234567 >in
    sh_t 4 "tf-tokenize --max-line 7 -m '$V' <in | tf-cbor json | grep -c type...tokens"
    expect_output 2
    printf '12345678' >in
    sh_t 4 "tf-tokenize --max-line 7 -m '$V' <in | tf-cbor json | grep -c type...bad"
    expect_output 1
}

@test "more than 2^20 ids are a bad record" {
    "$TF_PYTHON" -c 'print("7 " * 1100000); print("ka")' >in
    sh_t 4 "tf-tokenize -m '$V' <in >out.tfs"
    expect_contains "$stderr" "tokens, maximum 1048576"
    sh_t 4 "tf-tokenize -d -m '$V' <out.tfs"
    expect_output $'\nka'
}

@test "all pairs of bytes: each is one record, and invalid UTF-8 is bad" {
    "$TF_PYTHON" - >in <<'PY'
import sys
good = 0
for x in range(65536):
    b = bytes([x >> 8, x & 255])
    sys.stdout.buffer.write(b + b"\n")
    for part in b.split(b"\n")[:-1] + [b.split(b"\n")[-1]]:
        try:
            part.decode("utf-8"); good += 1
        except UnicodeDecodeError:
            pass
n = 65536 + sum(bytes([x >> 8, x & 255]).count(b"\n") for x in range(65536))
open("want", "w").write("tokens %d bad %d\n" % (good, n - good))
PY
    sh_t 4 "tf-tokenize -m '$V' <in >out.tfs"
    run census out.tfs
    expect_contains "$output" "$(cat want)"
    sh_t 0 "tf-tokenize --replace-invalid -m '$V' <in >out.tfs"
    run census out.tfs
    expect_contains "$output" " bad 0"
    t 0 tf-tokenize -d -m "$V" -o back out.tfs
    [ "$(wc -l <back)" -eq "$(wc -l <in)" ]
}

@test "only LF ends a line: CR, NUL, U+0085, U+2028, tabs, form feed" {
    printf 'ka\rto\nmi\0ren\nka\xc2\x85to\nka\xe2\x80\xa8to\nka\tto\nka\fto\n\xef\xbb\xbfka\n' >in
    sh_t 0 "tf-tokenize -m '$V' <in >out.tfs"
    run census out.tfs
    expect_contains "$output" "tokens 7 bad 0"
    t 0 tf-tokenize -d -m "$V" -o back out.tfs
    [ "$(wc -l <back)" -eq 7 ]
}

@test "the last line needs no line feed; no input is no line" {
    printf 'ka\nto' >in
    sh_t 0 "tf-tokenize -m '$V' <in | tf-tokenize -d -m '$V'"
    expect_output $'ka\nto'
    sh_t 0 "tf-tokenize -m '$V' </dev/null | tf-tokenize -d -m '$V'"
    expect_output ""
    printf '\n' >in
    sh_t 0 "tf-tokenize -m '$V' <in | tf-cbor json | grep -c type...tokens"
    expect_output 1
}

@test "--crlf drops one CR before the LF and nothing else" {
    printf 'ka\r\nto\r\r\nmi\rren\n' >in
    printf 'ka\nto\r\nmi\rren\n' >want
    sh_t 0 "tf-tokenize --crlf -m '$V.exact' <in | tf-cbor json | grep type...tokens >a; tf-tokenize -m '$V.exact' <want | tf-cbor json | grep type...tokens >b"
    cmp a b
    sh_t 0 "tf-tokenize -m '$V.exact' <in | tf-cbor json | grep type...tokens >c"
    run -1 cmp -s a c
}

@test "text comes back" {
    t 0 tf-tokenize -m "$V" -o out.tfs "$BATS_FILE_TMPDIR/text"
    t 0 tf-tokenize -d -m "$V" -o back out.tfs
    sed 's/ *$//' "$BATS_FILE_TMPDIR/text" | cmp - back
}

@test "threads, chunks of the pipe and locale change no byte" {
    for i in 1 2 3 4 5 6 7 8 9 10; do cat "$BATS_FILE_TMPDIR/text"; printf 'bad \xff\n\n'; done >in
    sh_t 4 "tf-tokenize --threads 1 -m '$V' <in >want.tfs"
    sh_t 4 "tf-tokenize --threads 100 -m '$V' <in | cmp - want.tfs"
    sh_t 4 "tf-tokenize --threads 3 -m '$V' <in >got.tfs"
    cmp want.tfs got.tfs
    "$TF_PYTHON" - <<'PY' | tf-tokenize -m "$V" >got.tfs 2>/dev/null || [ $? -eq 4 ]
import sys, time
data, step, at = open("in", "rb").read(), 1, 0
while at < len(data):
    sys.stdout.buffer.write(data[at:at + step]); sys.stdout.buffer.flush()
    at += step
    step = step * 3 % 7919 + 1
PY
    cmp want.tfs got.tfs
    sh_t 4 "LC_ALL=tr_TR.UTF-8 LANG=de_DE tf-tokenize -m '$V' <in >got.tfs"
    cmp want.tfs got.tfs
    sh_t 4 "tf-tokenize -d --threads 1 -m '$V' <want.tfs >a; tf-tokenize -d --threads 4 -m '$V' <want.tfs >b"
    cmp a b
}

@test "line k is answered before line k + 1 is sent" {
    "$TF_PYTHON" - "$V" <<'END'
import sys
from tools import talk
say = []
for k in range(200):
    line = b"ka%d to\n" % (k % 7) if k % 3 else b"\n"
    # Half a line more is under way while the answer is waited for.
    say += [(line + b"mi", None), (b" ren\n", b"mi ren\n")]
assert not talk([["tf-tokenize", "-m", sys.argv[1]], ["tf-tokenize", "-d", "-m", sys.argv[1]]], say)
END
}

@test "--bad says what bad lines are worth" {
    printf 'ka\nb\xff\nto\n' >in
    sh_t 4 "tf-tokenize -m '$V' <in >out.tfs"
    sh_t 0 "tf-tokenize --bad=ok -m '$V' <in | cmp - out.tfs"
    expect_output ""
    sh_t 1 "tf-tokenize --bad=fail -m '$V' <in >fail.tfs"
    expect_error "stdin: line 2: invalid UTF-8 at byte 2"
    sh_t 1 "tf-tokenize -d -m '$V' <fail.tfs"
    expect_contains "$stderr" "upstream failed: stdin: line 2"
    sh_t 4 "tf-tokenize -d -m '$V' <out.tfs"
    expect_output $'ka\n\nto'
    expect_error "1 of 3 records bad; the first is record 1: invalid UTF-8 at byte 2"
    sh_t 0 "tf-tokenize -d --bad=ok -m '$V' <out.tfs"
    sh_t 1 "tf-tokenize -d --bad=fail -m '$V' <out.tfs"
    expect_error "stdin: record 1: invalid UTF-8 at byte 2"
}

@test "bad lines are reported when they occur, the first ten of them, and once in a pipeline" {
    mkfifo pipe
    tf-tokenize -m "$V" <pipe >out.tfs 2>err &
    pid=$!
    exec 7>pipe
    printf 'ka\nt\xffo\n' >&7
    # Before the end of the input.
    wait_for test -s err
    [ "$(cat err)" = "tf-tokenize: warning: stdin: line 2: invalid UTF-8 at byte 2" ]
    for _ in $(seq 20); do printf '\xff\n'; done >&7
    exec 7>&-
    rc=0
    wait "$pid" || rc=$?
    [ "$rc" -eq 4 ]
    [ "$(grep -c ': warning: stdin: line ' err)" -eq 10 ]
    [ "$(tail -n 2 err)" = "tf-tokenize: warning: 11 more like 'stdin: line 2: invalid UTF-8 at byte 2'
tf-tokenize: stdin: 21 of 22 lines bad; the first is line 2: invalid UTF-8 at byte 2 (text \
in Latin-1? iconv -f latin1 -t utf-8)" ]
    # The next tool only counts them.
    t 4 tf-tokenize -d -m "$V" out.tfs
    expect_error "out.tfs: 21 of 22 records bad; the first is record 1: invalid UTF-8 at byte 2"
    t 0 tf-tokenize -d --bad ok -m "$V" out.tfs
    [ -z "$stderr" ]
}
