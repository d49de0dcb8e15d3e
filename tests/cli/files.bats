#!/usr/bin/env bats
# examples/files: the texts of files of other programs, translated in place; other tools turn the
# words of a sentence around.
load helper
load translate
load around

# texts_around FILE >OUT
texts_around() { "$TOP/examples/files/texts" "$1" "$BATS_FILE_TMPDIR/bin/tf-translate" -m "$MODEL" --lang en --html --placeholders; }

@test "examples/files: the texts of a PO file" {
    natively
    cat >a.po <<'X'
msgid ""
msgstr ""
"Content-Type: text/plain; charset=ASCII\n"

#: a.c:1
msgid "open \"file\" {at:%H:%M} for <name> & me"
msgstr ""

#, c-format
msgid "%d file\n"
msgid_plural "%d files\n"
msgstr[0] ""
msgstr[1] ""

msgid "done"
msgstr "fertig"

msgid ""
"  -a, --all     one two\n"
"  -b            three\tfour\n"
"\n"
"a line that goes\n"
"on\\\n"
msgstr ""

msgid "<a href='x'>one two</a> three"
msgstr ""

msgid "_open it"
msgstr ""

msgid "  %d "
msgstr ""

#, fuzzy
msgid "old"
msgstr "alt"

#~ msgid "charset=ASCII"
#~ msgstr ""
X
    texts_around a.po >got
    diff a.po got >changes || true
    diff - changes <<'X'
3c3
< "Content-Type: text/plain; charset=ASCII\n"
---
> "Content-Type: text/plain; charset=UTF-8\n"
5a6
> #, fuzzy
7c8
< msgstr ""
---
> msgstr "ME & <name> FOR {at:%H:%M} \"FILE\" OPEN"
9c10
< #, c-format
---
> #, fuzzy, c-format
12,13c13,14
< msgstr[0] ""
< msgstr[1] ""
---
> msgstr[0] "FILE %d\n"
> msgstr[1] "FILES %d\n"
17a19
> #, fuzzy
24a27,31
> "  -a, --all     TWO ONE\n"
> "  -b            THREE\tFOUR\n"
> "\n"
> "ON\\ GOES THAT LINE\n"
> "A\n"
25a33
> #, fuzzy
27c35
< msgstr ""
---
> msgstr "THREE <a href='x'>TWO ONE</a>"
28a37
> #, fuzzy
30c39
< msgstr ""
---
> msgstr "IT _OPEN"
X
    # Contexts stay; messages need no empty line between, and what was before comes after the mark.
    printf '%s\n' 'msgctxt "a"' 'msgid "Open"' 'msgstr ""' 'msgctxt "b"' 'msgid "Open"' \
        'msgstr ""' '#: a.c' '#| msgid "Old"' 'msgid "Shut"' 'msgid_plural "All"' 'msgstr[0] ""' \
        'msgstr[1] ""' >ctx.po
    "$TOP/examples/files/texts" ctx.po tr a-z A-Z >got
    diff - got <<'X'
#, fuzzy
msgctxt "a"
msgid "Open"
msgstr "OPEN"
#, fuzzy
msgctxt "b"
msgid "Open"
msgstr "OPEN"
#: a.c
#, fuzzy
#| msgid "Old"
msgid "Shut"
msgid_plural "All"
msgstr[0] "SHUT"
msgstr[1] "ALL"
X
    # Translations that msgcat --indent wrote stay, and the mark of an obsolete message is its own.
    printf '%s\n' '#, fuzzy' '#~ msgid "Old"' '#~ msgstr ""' '#~ "Alt"' '' 'msgid   "Open"' \
        'msgstr  ""' '        "Offen"' '' 'msgid   "Shut"' 'msgstr  ""' >indented.po
    "$TOP/examples/files/texts" indented.po tr a-z A-Z >got
    diff <(sed 's/^msgid   "Shut"/#, fuzzy\n&/; $s/.*/msgstr "SHUT"/' indented.po) got
    printf '%s\n' '#, fuzzy' '#~ msgid "Old"' '#~ msgstr "Alt"' 'msgid "Open"' 'msgstr ""' >old.po
    "$TOP/examples/files/texts" old.po tr a-z A-Z | grep -A1 -x '#, fuzzy' | grep -qx 'msgid "Open"'
    # A shortcut is before a letter of the text, not within markup.
    printf 'msgid "%s"\nmsgstr ""\n\n' '&Save %s' '<b>_Bold</b>' '_Name: {name}, %(next)s' >keys.po
    "$TOP/examples/files/texts" keys.po sed 's/Save/Guardar/; s/Bold/Fett/; s/Name/X/' >got
    [ "$(grep -o 'msgstr.*' got)" = 'msgstr "&Guardar %s"
msgstr "<b>_Fett</b>"
msgstr "_X: {name}, %(next)s"' ]
}

@test "examples/files: the texts of subtitles" {
    natively
    cat >a.srt <<'X'
1
00:00:01,000 --> 00:00:02,000
one two
three four.

2
00:00:03,000 --> 00:00:04,000
- Yes. 3
- No & <i>two</i>

3
00:00:05,000 --> 00:00:06,000
{\an8}<i>one two
three</i>

4
00:00:07,000 --> 00:00:08,000
♪ one two ♪

5
00:00:09,000 --> 00:00:10,000 X1:1
♪ ♪

6
00:00:11,000 --> 00:00:12,000
one two three four five

7
00:00:13,000 --> 00:00:14,000
six seven.
X
    sed '3s/.*/FOUR./; 4s/.*/THREE TWO ONE/; 8s/.*/- YES. 3/; 9s/.*/- <i>TWO<\/i> \& NO/
        13s/.*/{\\an8}<i>THREE TWO/; 14s/.*/ONE<\/i>/; 18s/.*/♪ TWO ONE ♪/
        26s/.*/SEVEN. SIX FIVE FOUR THREE/; 30s/.*/TWO ONE/' a.srt >want
    sed 's/$/\r/; 1s/^/\xef\xbb\xbf/' a.srt >b.srt
    texts_around a.srt | diff want -
    sed 's/$/\r/; 1s/^/\xef\xbb\xbf/' want >crlf
    texts_around b.srt | cmp crlf -
    # Tags take no room in a line, and what only looks like markup of ours is text.
    printf '1\n00:00:01,000 --> 00:00:02,000\n%s\n%s\n' '<font color="#ffffff">Yes, sir,</font>' \
        'I know that br id=7 will come.' >d.srt
    "$TOP/examples/files/texts" d.srt cat | diff d.srt -
    PATH=$TOP/examples/files:$PATH
    printf 'msgid "a"\nmsgstr ""\n' >b.po
    t 4 texts b.po sh -c 'sed s/.*//; exit 4'
    printf '#, fuzzy\nmsgid "a"\nmsgstr ""\n' | diff - <(echo "$output")
    t 1 texts b.po sh -c 'exit 2'
    expect_error "texts: sh failed with status 2"
    t 1 texts a.srt head -n 1
    expect_error "texts: head wrote 1 lines for 6"
    t 1 texts a.srt none
    expect_error "texts: none: No such file or directory"
    t 1 texts none.po cat
    expect_error "texts: none.po: No such file or directory"
    printf 'msgid "\xe9"\n' >c.po
    t 1 texts c.po cat
    expect_error "texts: c.po: not UTF-8 (iconv -f LATIN1 -t UTF-8 converts Latin-1)"
    echo '<xliff>' >d.xlf
    t 1 texts d.xlf cat
    expect_error "texts: d.xlf: no element found: line 2, column 0"
    printf '%05000d' 0 | tr 0 '[' >e.json
    t 1 texts e.json cat
    expect_error "texts: e.json: nested too deep"
    echo '{"greeting": "Hello"}' >e.json
    t 1 texts e.json cat
    expect_error "texts: e.json: no JSON of pandoc (pandoc a.md -o a.json writes it)"
}

@test "examples/files: what is no file of its kind is refused, not copied" {
    local T=$TOP/examples/files/texts name text message
    while IFS='|' read -r name text message; do
        printf "$text" >"$name"
        t 1 "$T" "$name" cat
        expect_error "texts: $name: $message"
    done <<'X'
a.po|msgid "a"\nmsgstr ""\n\nhello\n|line 4 is not of a PO file: hello
b.po|msgid "a\nmsgstr ""\n|line 1 is not of a PO file: msgid "a
c.po|msgid "a"\nmsgstr ""\nmsgid "b"\n|the entry in line 3 is not a msgid with its msgstr
d.po|msgid "a"\nmsgid "b"\nmsgstr ""\n|the entry in line 1 is not a msgid with its msgstr
a.srt|hello\n|line 1 is not of subtitles: a number, then times
b.srt|WEBVTT\n\n00:01.000 --> 00:02.000\na\n|line 1 is not of subtitles: a number, then times
a.xlf|<html/>|no XLIFF, but <html>
a.json|{"pandoc-api-version":[1]}|no JSON of pandoc (pandoc a.md -o a.json writes it)
b.json|{"pandoc-api-version":[1],"meta":{},"blocks":[{"t":"Image"}]}|no JSON of pandoc (pandoc a.md -o a.json writes it)
c.json|[]|no JSON of pandoc (pandoc a.md -o a.json writes it)
X
    # Spaces after an empty translation; subtitles without a number, or text, or a line's end; a
    # file that was converted to UTF-8 says so.
    printf 'msgid "a"\n msgstr "" \n' >e.po
    "$T" e.po tr a-z A-Z | diff - <(printf '#, fuzzy\nmsgid "a"\nmsgstr "A" \n')
    printf '1\n 0:00:01,0 --> 0:00:02,0\n2\n0:00:02,0 --> 0:00:03,0\na\n\n0:00:03,0 --> 0:00:04,0' >c.srt
    "$T" c.srt tr a-z A-Z | cmp - <(tr a-z A-Z <c.srt)
    printf '<?xml version="1.0" encoding="%s"?>\n<xliff/>\n' latin1 >b.xlf
    "$T" b.xlf cat | diff - <(sed s/latin1/UTF-8/ b.xlf)
    # The command, and the output.
    printf 'msgid "<b>a</b>"\nmsgstr ""\n' >f.po
    for name in '<span id=0>' '<.span>' 0; do
        t 1 "$T" f.po sed "s/$name/7/"
        expect_error "texts: f.po: the command wrote tags that are not those of its input: "
    done
    t 1 "$T" f.po printf '\xff\n'
    expect_error "texts: printf wrote what is not UTF-8"
    sh_t 1 '"$1" f.po cat >/dev/full' "$T"
    expect_error "texts: stdout: No space left on device"
}

@test "examples/files: XLIFF, its elements where their words went" {
    natively
    local f
    for f in a.xlf b.xliff; do
        texts_around "$TOP/tests/golden/xliff/$f" >"got.$f"
        diff "$TOP/tests/golden/xliff/want.$f" "got.$f"
    done
    "$TF_PYTHON" -c 'import sys; from xml.etree import ElementTree as e; [e.parse(f) for f in sys.argv[1:]]' got.a.xlf got.b.xliff
    # What is no element: a section of characters, a comment. The target is after the sentences.
    # As other programs write it: a target is its source with capitals, and the rest is as it was.
    for f in toolkit.xlf qt.xlf inline.xlf inline.xliff; do
        "$TOP/examples/files/texts" "$TOP/tests/golden/xliff/$f" \
            "$BATS_FILE_TMPDIR/bin/capitals" >"got.$f"
    done
    "$TF_PYTHON" - "$TOP/tests/golden/xliff" toolkit.xlf qt.xlf inline.xlf inline.xliff <<'PY'
import re, sys
from xml.etree import ElementTree as e

def capitals(s): # but of tags that are text
    return re.sub("<[^>]*>|[^<]+", lambda m: m[0] if m[0][0] == "<" else m[0].upper(), s)

def parts(x, change, top=True):
    name = x.tag.split("}")[1]
    text = (x.text or "") if name in ("bpt", "ept", "it", "ph") else change(x.text or "")
    rest = [(parts(c, change, False), change(c.tail or "")) for c in x]
    return ("" if top else name, {} if top else x.attrib, text, rest)

new = 0
for f in sys.argv[2:]:
    old, got = e.parse(f"{sys.argv[1]}/{f}").getroot(), e.parse(f"got.{f}").getroot()
    units = [[u for u in root.iter() if u.tag.split("}")[1] in ("trans-unit", "segment")]
             for root in (old, got)]
    for a, b in zip(*units):
        source, was, now = a.find("{*}source"), a.find("{*}target"), b.find("{*}target")
        if was is not None and was.text:
            assert parts(was, str) == parts(now, str)
        else:
            assert parts(now, str) == parts(source, capitals), (f, e.tostring(now))
            new += 1
        for unit, target in (a, was), (b, now):
            if target is not None:
                unit.remove(target)
        assert parts(a.find("{*}source"), str) == parts(b.find("{*}source"), str)
    assert len(units[0]) == len(units[1]) > 0
    assert [(x.tag, x.attrib) for x in old.iter()] == [(x.tag, x.attrib) for x in got.iter()], f
assert new == 19, new
PY
    echo '<xliff><trans-unit><source>a<!-- <g> --> <![CDATA[<b>&]]></source><seg-source>a</seg-source></trans-unit></xliff>' >c.xlf
    "$TOP/examples/files/texts" c.xlf cat >got
    sed 's:</seg-source>:&<target>a \&lt;b\&gt;\&amp;</target>:' c.xlf | diff - got
}

@test "examples/files: messages of ICU, of whose branches each is a text" {
    natively
    PATH=$TOP/examples/files:$BATS_FILE_TMPDIR/bin:$PATH
    printf 'msgid "%s"\nmsgstr ""\n\n' '{n, plural, one {# file} other {# files, {name}}}' \
        "It's {name}: {a, select, male {he {n, plural, =0 {none} other {#}} x} other{'{it}'}}." \
        '{n, plural, one {a' 'a } {n, number} b' >icu.po
    texts icu.po capitals >got
    diff - <(grep -o 'msgstr .*' got) <<'X'
msgstr "{n, plural, one {# FILE} other {# FILES, {name}}}"
msgstr "IT'S {name}: {a, select, male {HE {n, plural, =0 {NONE} other {#}} X} other{'{it}'}}."
msgstr "{N, PLURAL, ONE {A"
msgstr "A } {n, number} B"
X
    # As Symfony writes XLIFF 2.0, with empty targets, as Angular does, with elements in a branch,
    # and as translate-toolkit does, with notes within the segment.
    cat >icu.xlf <<'X'
<xliff xmlns="urn:oasis:names:tc:xliff:document:2.0" version="2.0" srcLang="en" trgLang="pt-BR">
  <file id="messages.pt_BR">
    <unit id="a"><segment>
        <source>{n, plural, other {&lt;b&gt;#&lt;/b&gt; x}}</source>
        <target/>
    </segment></unit>
    <unit id="b" name="a {b}"><segment>
        <source>{V, plural, =0 {no} other { <ph id="0" disp="{{n}}"/> items}} </source>
        <target order="1"></target>
    </segment></unit>
    <unit id="c"><segment xml:space="preserve"><source> a <ph id="0"/>
</source><notes><note>x {</note></notes></segment></unit>
  </file>
</xliff>
X
    texts icu.xlf capitals >got.xlf
    diff icu.xlf got.xlf >changes || true
    grep '^>' changes | sed 's/^> //' | diff - <(cat <<'X'
        <target>{n, plural, other {&lt;b&gt;#&lt;/b&gt; X}}</target>
        <target order="1">{V, plural, =0 {NO} other { <ph id="0" disp="{{n}}"/> ITEMS}} </target>
</source><target> A <ph id="0"/>
</target><notes><note>x {</note></notes></segment></unit>
X
    )
}

@test "examples/files: twice the text is twice the work, whatever its tags" {
    natively
    cat >steps.py <<'PY'
import json, runpy, sys

def steps(name, text):
    """Lines of the script that are run, and elements that its lists take."""
    n = 0
    def trace(frame, event, _):
        nonlocal n
        if frame.f_code.co_filename != script:
            return None
        n += event == "line"
        return trace
    with open(name, "w") as f:
        f.write(text)
    sys.argv, sys.stdout = [script, name, "cat"], open("out", "w")
    sys.settrace(trace)
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as e:
        assert e.code == 0, e
    finally:
        sys.settrace(None)
        sys.stdout.close()
        sys.stdout = sys.__stdout__
    return n

def pandoc(inlines, n):
    para = {"t": "Para", "c": [{"t": "Str", "c": "a"}] + [
        x if isinstance(x, dict) else {"t": "RawInline", "c": ["html", x]} for x in inlines(n)]}
    return "a.json", json.dumps({"pandoc-api-version": [1, 22], "meta": {}, "blocks": [para]})

def xliff(n):
    unit = "<pc id='1'>a</pc>" * n
    return "a.xlf", f"<xliff><unit><segment><source>{unit}</source></segment></unit></xliff>"

def srt(n):
    one = "%d\n00:00:01,000 --> 00:00:02,000\none two\nthree\n\n"
    return "a.srt", "".join(one % k for k in range(n))

script = sys.argv[1]
for make in (lambda n: pandoc(lambda n: ["<b>"] * n, n),
             lambda n: pandoc(lambda n: ["</b>"] * n, n),
             lambda n: pandoc(lambda n: ["<b>", "<i>"] * n + ["</b>", "</i>"] * n, n),
             lambda n: pandoc(lambda n: [f"<b{k}>" for k in range(n)], n),
             lambda n: pandoc(lambda n: ["<b>"] * n + ["</b>"] * n, n), xliff, srt):
    a, b = steps(*make(300)), steps(*make(600))
    print(a, b)
    assert b < 2.2 * a, (a, b)
PY
    "$TF_PYTHON" steps.py "$TOP/examples/files/texts"
}

@test "Markdown, DOCX and ODT by way of pandoc" {
    natively
    need pandoc
    cat >a.md <<'X'
---
title: One two
lang: en
---

# One *two*

Three **four** `five()`, a note.[^1]

One <kbd>a</kbd>+<kbd>b</kbd> <u>two<br>three</u> four[^2].

-   [a b](c.html "one two")
-   ![alt text](c.png) x

![one two](d.png "a b")

![three](e.png)

``` sh
one two
```

| one two | `x` |
|---------|-----|
| three   | 4 € |

[^1]: Six *seven*.

[^2]: Eight.
X
    pandoc a.md -o a.json
    texts_around a.json >b.json
    pandoc -s b.json -t markdown-header_attributes-auto_identifiers >got
    diff - got <<'X'
---
lang: en
title: TWO ONE
---

# *TWO* ONE

NOTE. A `five()`, **FOUR** THREE[^1]

FOUR[^2]. `<u>`{=html}THREE TWO`<br>`{=html}`</u>`{=html}
`<kbd>`{=html}a`</kbd>`{=html}+`<kbd>`{=html}b`</kbd>`{=html} ONE

-   [B A](c.html "TWO ONE")
-   ![TEXT ALT](c.png) X

![TWO ONE](d.png "B A")

![THREE](e.png)

``` sh
one two
```

  TWO ONE   `x`
  --------- -----
  THREE     € 4

[^1]: *SEVEN*. SIX

[^2]: EIGHT.
X
    for kind in docx odt; do
        pandoc a.md -o a.$kind
        pandoc a.$kind -o a.json
        texts_around a.json >b.json
        pandoc b.json -o b.$kind
        pandoc -t plain b.$kind >plain
        grep -q 'TWO ONE' plain
        grep -q 'SEVEN' plain
    done
    pandoc -t html a.md | bash -c 'around --document' | pandoc -f html -t plain | grep -q 'TWO ONE'
}
