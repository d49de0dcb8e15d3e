#!/usr/bin/env bats
# tf-split: a text to one sentence a line and back.
load helper

# A text of several languages, wrapped lines, lists, tables, and white space everywhere.
prepare() {
    printf '%s\n' '# A heading' 'Dr. Smith of the U.K. said so (on p. 3).  He met J. Ramone, e.g. at' \
        'the "Cafe Paris!" in St. Anton. Was it good? Yes!' '' \
        '  - first item. It has two sentences,' '    and it is wrapped at the end of the line,' \
        '  - second item' '| a. B | c |' '' $'\tindented \r' '' \
        '你好。今天天气很好！' 'Am 17. November kam er. Das war z. B. gut.' \
        'No end' >text
    printf 'No final line feed.  ' >>text
}

@test "sentences end where they do" {
    while IFS='|' read -r lang text; do
        tf-split --lang "$lang" <<<"${text//|/ }" >got
        tr '|' '\n' <<<"$text" | sed 's/^ *//; s/ *$//' | diff - got
    done <<'X'
en|Dr. Smith met J. Ramone. |He left at 5 p.m. on Monday. |Good.
en|Is it at www.a.org/?id=Big? |Yes! |"No!" he said. |(It is.) |We go
en|The U.S. Army came (see Fig. 3). |Gen. Lee left...
de|Am 17. November kam er. |Das war z. B. gut. |Es war. |Er kam.
de|Sie kostet ca. 20 Euro. |Und die 81. Minute?
fr|Il a dit « C'est ça. » |Puis M. Dupont partit.
pt|Foi impossível. |O Sr. Silva e a Dra. Costa chegaram no séc. XX. |Os automóveis.
zz|One two. |Three
X
    printf '你好。今天天气很好！再见' | tf-split --lang zh >got
    printf '你好。\n今天天气很好！\n再见\n' | cmp - got
}

@test "the text comes back to the byte" {
    for o in '' --wrapped '--wrapped --max-chars 9' '--max-chars 1' '--field 1' '--lang en'; do
        for text in text "$TOP/README.md" "$TOP/LICENSE" "$TOP/man/tf.7" "$TOP/lib/text/layout.c"; do
            # shellcheck disable=SC2086
            sh_t 0 "tf-split $o -l layout '$text' | cat | tf-split -d -l layout | cmp '$text' -"
            tf-split -l other $o -o sentences "$text"
            tf-split -d -l other sentences | cmp "$text" -
            cmp layout other
        done
    done
    for text in '' '\n' ' \n\n' 'a' '. \n' '\r\n a.\r\n'; do
        # shellcheck disable=SC2059
        printf "$text" >some
        sh_t 0 'tf-split -l layout some | tf-split -d -l layout | cmp some -'
    done
}

@test "what a layout says" {
    printf 'A b.  C d.\n\nLong line of a paragraph\nof two lines. Here it is.\n' >two
    tf-split --wrapped -l layout two >sentences
    printf '%s\n' 'A b.' 'C d.' 'Long line of a paragraph of two lines.' 'Here it is.' | diff - sentences
    diff - layout <<'X'
{"format":"tf-layout","version":1}
{"before":""}
{"before":"  ","after":"\n"}
{"before":"\n","bytes":38,"breaks":[[24,"\n"]]}
{"before":" ","after":"\n"}
{"end":""}
X
    "$TF_PYTHON" - <<'PY' | cmp two -
import json
layout = [json.loads(line) for line in open("layout")][1:]
for place, s in zip(layout, open("sentences").read().splitlines()):
    for at, text in place.get("breaks", [])[::-1]:
        s = s[:at] + text + s[at + 1:]
    print(end=(place["before"] or "") + s + place.get("after", ""))
print(end=layout[-1]["end"])
PY
}

@test "translations of other lengths and scripts" {
    printf '%s\n' 'This line is long enough to be wrapped' 'at its end. So is the next one of these' \
        'lines.' |
        tf-split --wrapped -l layout >/dev/null
    printf 'Eins zwei drei vier fünf\nSechs\n' | tf-split -d -l layout >got
    printf 'Eins zwei drei vier\nfünf Sechs\n\n' | diff - got
    printf '你好。今天天气很好！' | tf-split -l layout --lang zh >/dev/null
    printf 'Hello.\nGood weather!\n' | tf-split -d -l layout >got
    printf 'Hello. Good weather!' | cmp - got
}

@test "a sentence that is too long is cut at a clause, and nothing is lost" {
    printf 'one two three, four five; six seven eight nine, ten eleven twelve\n' |
        tf-split --max-chars 30 >got
    printf '%s\n' 'one two three, four five;' 'six seven eight nine,' 'ten eleven twelve' | diff - got
    printf 'aaaaaaaaaa bbb' | tf-split --max-chars 4 >got
    printf '%s\n' aaaa aaaa aa bbb | diff - got
}

@test "a column" {
    printf 'x\tA b. C d.\t z\ny\n\nq\t\tw\n' >tsv
    t 4 tf-split --field 2 -l layout tsv
    expect_output $'A b.\nC d.'
    expect_bad "tf-split: tsv: 1 of 4 lines bad; the first is line 2: no field 2, only 1"
    printf 'E.\nF g.\n' | tf-split -d -l layout >got
    printf 'x\tE. F g.\t z\ny\n\nq\t\tw\n' | cmp - got
    t 2 tf-split --field 2 --wrapped tsv
    expect_error "--field"
}

@test "bad lines, layouts that do not fit, and mistakes" {
    printf 'a. B\nc \xff d\ne\n' >in
    t 4 tf-split -l layout in
    expect_bad "tf-split: in: 1 of 3 lines bad; the first is line 2: invalid UTF-8 at byte 3"
    tf-split -d -l layout <<<"$output" >got
    printf 'a. B\n\ne\n' | cmp - got
    t 1 tf-split --bad fail in
    expect_error "in: line 2: invalid UTF-8"
    t 0 tf-split --replace-invalid in
    expect_contains "$output" "c � d"
    sh_t 1 "printf 'a.\nB\n' | tf-split -d -l layout"
    expect_error "stdin: fewer sentences (2) than layout has"
    sh_t 1 "printf 'a.\nB\ne\nf\n' | tf-split -d -l layout"
    expect_error "stdin: more sentences than the 3 of layout"
    sed -i '$d' layout
    sh_t 1 "printf 'a.\nB\ne\n' | tf-split -d -l layout"
    expect_error "layout: the layout ends early"
    while read -r line; do
        printf '%s\n' '{"format":"tf-layout","version":1}' "$line" >bad
        sh_t 1 "echo a | tf-split -d -l bad"
        expect_error "tf-split: bad: line 2: "
    done <<'X'
nothing
{}
{"before":1}
{"before":"","bytes":3,"breaks":[[3,"\n"]]}
{"before":"","bytes":3,"breaks":[[1,"\n"],[1,"\n"]]}
{"before":"","bytes":3,"breaks":[[-1,"\n"]]}
{"before":"","bytes":3,"breaks":[1,"\n"]}
{"before":""
X
    sh_t 1 "echo a | tf-split -d -l in"
    expect_error "in: line 1: not a layout of tf-split"
    t 2 tf-split -d in
    expect_error "--join: --layout FILE is required"
    t 2 tf-split --lang 'e n' in
    expect_error "--lang 'e n': a label has"
    t 1 tf-split -l /dev/full text
    expect_error "/dev/full: write: No space left on device"
}

@test "typed lines are split and joined at once" {
    "$TF_PYTHON" - <<'PY'
import subprocess
split = subprocess.Popen(["tf-split", "-l", "layout"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
join = subprocess.Popen(["tf-split", "-d", "-l", "layout"], stdin=split.stdout, stdout=subprocess.PIPE)
for line in b"A b. C d.\n", b"\n", b" e\n":
    split.stdin.write(line)
    split.stdin.flush()
    if line == b"A b. C d.\n":
        assert join.stdout.read(10) == b"A b. C d.\n"
split.stdin.close()
assert join.stdout.read() == b"\n e\n"
assert join.wait() == 0
PY
}
