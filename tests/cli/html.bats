#!/usr/bin/env bats
# tf-translate --html and --copy-unk: the text is translated, the markup stays; what the vocabulary
# lacks is copied. tests/unit/text_html.c has random
# trees; here other tools turn the words of a sentence around, and a model copies lines.
load helper
load translate

setup_file() {
    make_aligning_model
    mkdir -p "$BATS_FILE_TMPDIR/bin"
    cp "$(command -v tf-translate)" "$BATS_FILE_TMPDIR/bin"
    cat >"$BATS_FILE_TMPDIR/bin/tf-tokenize" <<'SH'
#!/bin/sh
case " $* " in *" -d "*" --alignment hard"*) exec awk -v made="$MADE" '{
    if (made) { print made; next }
    for (i = NF; i > 0; i--) printf "%s%s", toupper($i), (i > 1 ? " " : " ||| ")
    for (i = 0; i < NF; i++) printf "%s%d-%d", (i ? " " : ""), i, NF - 1 - i
    print ""; fflush() }' ;; esac
exec cat
SH
    printf '#!/bin/sh\nexec cat\n' >"$BATS_FILE_TMPDIR/bin/tf-decode"
    # What translates text to capitals, but of tags, references and names in braces.
    cat >"$BATS_FILE_TMPDIR/bin/capitals" <<PY
#!$TF_PYTHON
import re, sys
for line in sys.stdin:
    print(re.sub("<[^>]*>|&[a-z]+;|{[^{}]*}|[^<&{]+",
                 lambda m: m[0] if m[0][0] in "<&{" else m[0].upper(), line), end="")
PY
    chmod +x "$BATS_FILE_TMPDIR"/bin/{tf-tokenize,tf-decode,capitals}
}

around() { "$BATS_FILE_TMPDIR/bin/tf-translate" -m "$MODEL" --lang en --html "$@"; }
export -f around

@test "tags follow the words that they were around" {
    natively
    cat >in <<'X'
<p class="a>b">one <b>two</b> three. Four <i>five <u>six</u></i></p>

a (<a href="?x&y">b</a>), <em>c</em>.<sup>[1]</sup> d
no markup & 1 < 2 &amp; &lt;b&gt; &szlig; &#xDF;x &#8364;
<b>one. Two</b> three<br>four <img src=x> five
<ul> <li>one <b>two</li> <li>three</b> four</li></ul>
X
    bash -c 'around in' >got
    diff - got <<'X'
<p class="a>b">THREE. <b>TWO</b> ONE <i><u>SIX</u> FIVE</i> FOUR</p>

D <em>C</em>.<sup>[1]</sup> (<a href="?x&y">B</a>), A
€ ßX ß &lt;B&gt; &amp; 2 &lt; 1 &amp; MARKUP NO
<b>ONE.</b> <img src=x> FIVE FOUR THREE<br> TWO
<ul> <li>ONE <b>TWO</li> <li>THREE</b> FOUR</li></ul>
X
}

@test "an element around a part of a word follows that word" {
    natively
    cat >in <<'X'
un<u>der</u>line z
<a>one</a><a>two</a> three
a<i>b</i><u>c</u> d e
<a><b>on</b>e</a><i>two</i> three
un<u>der <i>li</i></u>ne x y
<p><b>un<u>d<i>e</i>r</u>line x</b> y</p>
(foot<a>note</a><b>s</b>). H<sub>2</sub>O y
X
    bash -c 'around --no-split in' >got
    echo 'x foot<a>note</a>' >in
    MADE='note de bas x ||| 1-0 1-1 1-2 0-3' around in >>got
    echo 'x un<u>der</u>line' >in
    MADE='unter x ||| 1-0 0-1' around in >>got
    echo 'x <b>gone</b> un<u>der</u>line' >in
    MADE='sub ||| 2-0' around in >>got
    diff - got <<'X'
Z <u>UNDERLINE</u>
THREE <a>ONETWO</a><a></a>
E D <i>ABC</i><u></u>
THREE <a><b></b></a><i>ONETWO</i>
Y X <u><i>LINE</i> UNDER</u>
<p>Y <b>X <u><i>UNDERLINE</i></u></b></p>
Y H<sub>2</sub>O (<a>FOOTNOTES</a><b></b>).
<a>note de bas</a> x
un<u>ter</u> x
<b></b><u>sub</u>
X
}

@test "elements around parts of words are each there once, nested, on no other word" {
    natively
    "$TF_PYTHON" - >in <<'PY'
import random
random.seed(1)
for _ in range(400):
    out, open_tags, ids = "", [], 0
    for word in range(random.randrange(2, 6)):
        out += " " * (word > 0)
        for _ in range(random.randrange(1, 5)):
            while random.random() < 0.3 and len(open_tags) < 4:
                ids += 1
                open_tags.append(random.choice("abiu"))
                out += f'<{open_tags[-1]} id="{ids}">'
            out += "vwxyz"[word] * random.randrange(1, 4)
            while open_tags and random.random() < 0.6:
                out += f"</{open_tags.pop()}>"
    print("<p>" + out + "".join(f"</{t}>" for t in reversed(open_tags)) + "</p>")
PY
    bash -c 'around --no-split in' >got
    "$TF_PYTHON" - in got <<'PY'
import sys
from xml.etree import ElementTree
def elements(e, parent=None):
    for c in e:
        yield c.get("id"), parent, set("".join(c.itertext()).upper()) - {" "}
        yield from elements(c, c.get("id"))
lines = [open(f).read().splitlines() for f in sys.argv[1:]]
assert len(lines[0]) == len(lines[1])
for line in zip(*lines):
    x, y = map(ElementTree.fromstring, line)
    assert "".join(y.itertext()).split() == "".join(x.itertext()).upper().split()[::-1], line
    was, now = list(elements(x)), list(elements(y))
    assert sorted(e[:2] for e in was) == sorted(e[:2] for e in now), line
    own, around = {i: words for i, _, words in was}, {i: words for i, _, words in now}
    for i, parent, words in now:
        # Another word only where its own is outside of the element that it is in.
        assert words <= own[i] or (parent and not around[parent] & own[i]), (i, line)
PY
}

@test "code, scripts, comments and translate=no stay as they are" {
    natively
    cat >in <<'X'
call <code>f(<b>x</b>)</code> now <!-- <p>not</p> --> or <span translate="no">Foo bar</span>.
<script>if (a<b) "</scripts> one two";</script><style>p { }</style><pre>one  two</pre><p translate=no>one two</p>
<textarea><b>one</textarea> <svg><text>one</text></svg> &lcub;one&rcub; <CODE>Two</CODE>
<!doctype html><br/><code>x</code> <!-- unended <b>one
see {name} at http://example.org/?a=1&amp;b=2, 5 %s
<p>one <kbd>a</kbd>+<kbd>b</kbd></p>
<p><kbd>a</kbd> / <i><kbd>b</kbd></i>: {name}&lt;<kbd>c</kbd></p>
X
    bash -c 'around --placeholders in' >got
    diff - got <<'X'
<span translate="no">Foo bar</span>. <!-- <p>not</p> --> OR NOW <code>f(<b>x</b>)</code> CALL
<script>if (a<b) "</scripts> one two";</script><style>p { }</style><pre>one  two</pre><p translate=no>one two</p>
<textarea><b>one</textarea> <svg><text>one</text></svg> <CODE>Two</CODE> &rcub; ONE &lcub;
<!doctype html><br/><code>x</code> <!-- unended <b>one
%s 5 http://example.org/?a=1&amp;b=2, AT {name} SEE
<p><kbd>a</kbd>+<kbd>b</kbd> ONE</p>
<p><kbd>a</kbd> / <i><kbd>b</kbd></i>: {name}&lt;<kbd>c</kbd></p>
X
}

@test "marks of footnotes and exponents are kept, beside their words" {
    natively
    cat >in <<'X'
<p>One<sup id="a"><a href="#b">[1]</a></sup> two,<sup>*</sup> three<sup>&#91;<i>a</i>]</sup>.</p>
<p>A 10<sup>-3</sup>m <sup>13</sup>C 5<sup>th</sup> x<sup title="y">[to do]</sup> z</p>
<p>(X<sup>2</sup>+Y<sup>2</sup>)/2 = R, ON<img>E T<!-- -->WO</p>
<p>a <sup>b<sup>1</sup></sup> c <sup></sup> d <sup>2</p>
X
    bash -c 'around in' >got
    is() {
        echo "<p>$1</p>" >in
        MADE=$2 bash -c 'around in' >>got
    }
    is 'of these<sup>[1]</sup> house†<sup>5</sup> x' 'casas x ||| 2-0 3-1'
    is 'a used<sup>1</sup> to be' 'um era ||| 0-0 3-1'
    diff - got <<'X'
<p>THREE<sup>&#91;<i>a</i>]</sup>. TWO,<sup>*</sup> ONE<sup id="a"><a href="#b">[1]</a></sup></p>
<p>Z <sup title="Y">DO] X[TO</sup> 5<sup>TH</sup> <sup>13</sup>C 10<sup>-3</sup>M A</p>
<p>T<!-- -->WO ON<img>E R, = (X<sup>2</sup>+Y<sup>2</sup>)/2</p>
<p><sup></sup> D C <sup>B<sup>1</sup></sup> A <sup>2</p>
<p><sup>[1]</sup>casas<sup>5</sup> x</p>
<p>um<sup>1</sup> era</p>
X
}

@test "references are read as browsers read them" {
    natively
    cat >in <<'X'
&copy 2020 AT&ampT &notit caf&eacute, &#233 &nbsp;x &AMP; &foo &; &#; &#x;
don&#146;t &#x80;5 &#129; &#xd800; &zcaron; AT&AMP;T &COPY &#00000000000000000000000000000000097;b
<img title="x&lt b&gt;c &copy=1 &copyx y&amp">
X
    bash -c 'around in' >got
    diff - got <<'X'
&amp;#X; &amp;#; &amp;; &amp;FOO &amp; X é CAFé, ¬IT AT&amp;T 2020 ©
AB © AT&amp;T &zcaron; &#xd800; &#129; €5 DON’T
<img title="Y&amp; &amp;COPYX &amp;COPY=1 B&gt;C X&lt;">
X
    echo '<p>می&zwnj;خو a&lrm;b&rlm;c&zwj;d</p>' >in
    bash -c 'around in' >got
    printf '<p>A\342\200\216B\342\200\217C\342\200\215D می\342\200\214خو</p>\n' | diff - got
}

@test "what is around all of a text needs no place, and what has no letter no translation" {
    natively
    cat >in <<'X'
<li><a href=x>one (two</a></li> <label>mail:</label>
<p><i class=icon></i> <b><i>one</i> <u>two,</u></b> <img src=x>  <!-- y --><br></p>
<td>♪ ♪</td> <td>&euro; <b>--</b></td><!--><p>one two</p><!---><p>three four</p><!----!>
X
    bash -c 'around in' >got
    diff - got <<'X'
<li><a href=x>(TWO ONE</a></li> <label>MAIL:</label>
<p><i class=icon></i> <b><u>TWO,</u> <i>ONE</i></b> <img src=x>  <!-- y --><br></p>
<td>♪ ♪</td> <td>&euro; <b>--</b></td><!--><p>TWO ONE</p><!---><p>FOUR THREE</p><!----!>
X
}

@test "names that touch are each where they belong, and letters after code stay with it" {
    natively
    printf '%s\n' '<p>see &lt;<var>file</var>&gt; now</p>' '<p>get {x}<code>b</code> now</p>' \
        '<p>go http://a.b/<code>b</code> (%s<code>c</code>)</p>' '<p>a <code>b</code>{x} {y}</p>' \
        '<p>in {a:<code>b</code>} or %(<code>c</code>)s</p>' '<p>a C++<code>b</code> C++%s</p>' \
        '<p>the <code>int</code>s, a <b><var>n</var></b>th or <kbd>a</kbd>&copy x</p>' \
        '<p><code>Caf</code>f&eacute;s, <code>f</code>函数 &lcub;a <i translate=no>F</i>2x</p>' >in
    printf 'C++\tCPP\n' >terms
    bash -c 'around --placeholders --glossary terms --no-split in' >got
    diff - got <<'X'
<p>NOW &lt;<var>file</var>&gt; SEE</p>
<p>NOW <code>b</code> {x} GET</p>
<p><code>c</code>) (%s <code>b</code> http://a.b/ GO</p>
<p>{y} {x} <code>b</code> A</p>
<p>%(<code>c</code>)S OR {A:<code>b</code>} IN</p>
<p>%s CPP <code>b</code> CPP A</p>
<p>X <kbd>a</kbd>© OR TH <b><var>n</var></b> A <code>int</code>s, THE</p>
<p><i translate=no>F</i>2x A &lcub; <code>f</code>函数 <code>Caf</code>f&eacute;s,</p>
X
}

@test "what the translation lacks, and what had spaces on both sides, touches no word" {
    natively
    # is HTML TRANSLATION WANT
    is() {
        echo "<p>$1</p>" >in
        MADE=$2 t 0 bash -c 'around in'
        expect_output "<p>$3</p>"
    }
    is 'call <code>f</code> now.' 'Ruf jetzt. ||| 0-0 2-1' 'Ruf <code>f</code> jetzt.'
    is 'call now <code>f</code>.' 'Ruf jetzt. ||| 0-0 1-1' 'Ruf jetzt <code>f</code>.'
    is 'call <code>f</code> now' 'Jetzt Ruf ||| 0-1 2-0' '<code>f</code> Jetzt Ruf'
    is 'call now <code>f</code>' 'Ruf jetzt ||| 0-0' 'Ruf jetzt <code>f</code>'
    is 'a &rcub; <b>call <code>f</code></b>' 'Ein Ruf ||| 0-0 2-1' 'Ein &rcub; <b>Ruf <code>f</code></b>'
    is 'call <code>f</code> <kbd>g</kbd>' 'Ruf ||| 0-0' 'Ruf <code>f</code> <kbd>g</kbd>'
    is 'call <code>f</code> now' '叫现在 ||| 0-0' '叫现<code>f</code>在'
    is 'one <img> two<img> <img><b>x</b>' 'Ein zwei x ||| 0-0 1-1 2-2' 'Ein <img> zwei<img> <img><b>x</b>'
    is 'one&nbsp;<img>&#32;two' 'Ein zwei ||| 0-0 1-1' 'Ein <img> zwei'
    is 'one <img> <input> two' 'Zwei ein ||| 0-1 1-0' '<img> <input> Zwei ein'
    is 'one<sup> </sup>two<sup>1 </sup><b>x</b><sup> 2</sup>, y' 'Ein zwei x, y ||| 0-0 1-1 2-2 3-3' 'Ein<sup> </sup> zwei<sup>1 </sup> <b>x</b><sup> 2</sup>, y'
    is 'a <code>x</code>2ไทย <var>y</var>&eacute; b' 'Q z w v ||| 0-0 1-1 2-2 3-3' 'Q <code>x</code>2 z w <var>y</var>&eacute; v'
    is 'one<b> </b>two <i>&nbsp;</i><u> three</u>' 'Ein zwei drei ||| 0-0 1-1 2-2' 'Ein<b></b> zwei <i></i><u>drei</u>'
    is 'one <i class="x"></i> two <b><img></b> <u>x</u>' 'Ein zwei x ||| 0-0 1-1 2-2' 'Ein <i class="x"></i> zwei <b><img></b> <u>x</u>'
}

@test "a term of a glossary is where its name is, with the tags around it" {
    natively
    printf 'log file\tregistro\n' >terms
    echo '<p>The <b>log file</b> is <i alt="Log file">red</i>. Log <u>file</u> &amp; one</p>' >in
    bash -c 'around --glossary terms in' >got
    diff - got <<'X'
<p><i alt="Registro">RED</i>. IS <b>registro</b> THE ONE &amp; <u>registro</u></p>
X
    cat >in <<'X'
<p>a <a href="x">log</a> file b</p>
<p>a <b>c <i>log</i> fi</b>le <u>b</u></p>
<p>a <b>log</b> <i>fi</i>le b at <u>http://a</u>.b/?c</p>
X
    bash -c 'around --placeholders --glossary terms in' >got
    diff - got <<'X'
<p>B <a href="x">registro</a> A</p>
<p><u>B</u> <b><i>registro</i> C</b> A</p>
<p><u>http://a.b/?c</u> AT B <b>registro</b><i></i> A</p>
X
}

@test "characters of Chinese are words, in proportion where nothing links them" {
    natively
    echo '<p>I like the <a><b>red</b> house</a></p>' >in
    MADE='我 喜欢 红色 的 房子 ||| 0-0 1-1 3-2 3-3 4-4' around in >got
    MADE='我喜欢红色的房子。 ||| 4-0' around in >>got
    echo '<p>我喜欢<b>红色的</b>房子</p>' >in
    MADE='I like the red house. ||| 0-0 0-1 0-2 0-3 0-4' around in >>got
    MADE='나는 빨간 집을 좋아한다 ||| 0-0 0-1 0-2 0-3' around in >>got
    diff - got <<'X'
<p>我 喜欢 <a><b>红色 的</b> 房子</a></p>
<p>我喜欢红色的<a><b>房子</b></a>。</p>
<p>I like <b>the red</b> house.</p>
<p>나는 빨간 <b>집을</b> 좋아한다</p>
X
}

@test "attributes that people read are translated" {
    natively
    cat >in <<'X'
<img src="a b" alt="one &quot;two&quot; it's"> x <a href="c d" title='two  one "x"'>y <b class="c d" TITLE=one>z</b></a> <img alt="" title="a b" translate="no">
<input type=submit value="send it" name="a b"><input value="a b" placeholder="my name"><svg><a title="a b"/></svg>
<img title="&lcub;one&rcub; two"><meta content="a page" name=description><meta name=author content="A B"><code title="a b">x</code>
X
    bash -c 'around in' >got
    diff - got <<'X'
<img src="a b" alt="IT'S &quot;TWO&quot; ONE"> <a href="c d" title='"X" ONE TWO'><b class="c d" TITLE="ONE">Z</b> Y</a> X <img alt="" title="a b" translate="no">
<input type=submit value="IT SEND" name="a b"><input value="a b" placeholder="NAME MY"><svg><a title="a b"/></svg>
<img title="TWO &rcub; ONE &lcub;"><meta content="PAGE A" name=description><meta name=author content="A B"><code title="a b">x</code>
X
}

@test "a page is one fragment, a column another" {
    natively
    printf '<!DOCTYPE html>\n<html><head><title>One two</title>\n<script>\nx\n\ny\n</script></head>\n<body>\n<p>\n  One <b>two\n\n  three</b>\n</p>\n</body></html>\n' >in
    printf '<!DOCTYPE html>\n<html><head><title>TWO ONE</title>\n<script>\nx\n\ny\n</script></head>\n<body>\n<p>\n  <b>THREE TWO</b> ONE\n</p>\n</body></html>\n' >want
    sh_t 0 'around --document in'
    diff want - <<<"$output"
    sh_t 0 'around --document -o out - <in'
    cmp want out
    printf '1\tone <b>two</b>\tx\n2\t<br>\t\n' >in
    sh_t 0 'around --field 2 in'
    printf '1\t<b>TWO</b> ONE\tx\n2\t<br>\t\n' | diff - <(echo "$output")
    : >in
    sh_t 0 'around --document in'
    expect_output ''
    printf '<p>\377</p>\nok\n' >in
    t 4 bash -c 'around in'
    expect_output "$(printf '\nOK')"
}

@test "an output of HTML that is interrupted continues" {
    natively
    "$TF_PYTHON" -c 'print("\n".join(f"<p>line <b>{i} is</b>. It is one.</p>" for i in range(40)))' >in
    bash -c 'around -o want in'
    head -c 700 want >out.part
    bash -c 'around --resume -o out in'
    cmp want out
}

@test "a model's translation has every tag once, well-formed, around its own words" {
    natively
    "$TF_PYTHON" - >in <<'PY'
import random
random.seed(5)
ids = 0
def tree(depth):
    global ids
    out = ""
    for _ in range(random.randrange(1, 4)):
        out += " ".join(random.choice("abc") for _ in range(random.randrange(1, 4))) + " "
        if depth < 3 and random.random() < 0.5:
            ids += 1
            name = random.choice(["b", "i", "span", "code"])
            out += f'<{name} id="{ids}">{"a b" if name == "code" else tree(depth + 1)}</{name}> '
    return out
for _ in range(60):
    print(f"<div><p>{tree(0)}</p></div>")
PY
    tf-translate -q -m "$ALIGNING" --html --beam 1 in >got
    tf-translate -q -m "$ALIGNING" --html --beam 1 -t 2 -b 3 in | cmp got -
    "$TF_PYTHON" - in got <<'PY'
import sys
from xml.etree import ElementTree
def parents(e, of="", into=None):
    into = {} if into is None else into
    for c in e:
        assert c.get("id") not in into
        into[c.get("id")] = of
        parents(c, c.get("id"), into)
    return into
lines = [open(f).read().splitlines() for f in sys.argv[1:]]
assert len(lines[0]) == len(lines[1])
for a, b in zip(*lines):
    x, y = (ElementTree.fromstring(s)[0] for s in (a, b))
    assert parents(x) == parents(y), (a, b)
    assert all(c.text == "a b" for c in y.iter("code")), (a, b)
PY
    # What the model makes of the text alone.
    printf '%s\n' '<b>a b</b> c' 'a <i>b c</i>' >in
    sed 's/<[^>]*>//g' in | tf-translate -q -m "$ALIGNING" >want
    tf-translate -q -m "$ALIGNING" --html in | sed 's/<[^>]*>//g' | diff want -
}

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

@test "characters without a piece are copied by --copy-unk" {
    natively
    "$TF_PYTHON" - >in <<'PY'
import random
random.seed(9)
for _ in range(40):
    words = [random.choice("abc") for _ in range(random.randrange(1, 8))]
    for c in random.sample("€😀#", 2):
        at = random.choice([i for i, w in enumerate(words) if w in "abc"] or [len(words)])
        words = words + ["a"] if at == len(words) else words
        words[at:at + 1] = random.choice([[words[at] + c], [c + words[at]], [words[at], c]])
    print(" ".join(words))
PY
    tf-translate -q -m "$ALIGNING" in >plain
    tf-translate -q -m "$ALIGNING" --copy-unk in >got
    tf-translate -q -m "$ALIGNING" --copy-unk -b 3 -t 2 in | cmp got -
    "$TF_PYTHON" - in plain got <<'PY'
import sys
a, plain, got = (open(f, encoding="utf-8").read().splitlines() for f in sys.argv[1:])
unknown = set("€😀#")
for x, y, z in zip(a, plain, got):
    assert unknown & set(x) == unknown & set(z), (x, y, z)
    bare = lambda s: "".join(c for c in s if c not in unknown and c != " ")
    assert bare(y) == bare(z) and not unknown & set(y), (x, y, z)
PY
    # With tags, of which those around what is copied are not empty.
    sed 's|\([abc]*[€😀#][abc]*\)|<b>\1</b>|g' in >tagged
    tf-translate -q -m "$ALIGNING" --copy-unk --html tagged >html
    sed 's/<[^>]*>//g' html | diff <(sed 's/&/\&amp;/g' got) -
    [ "$(grep -o '<b>' html | wc -l)" -eq "$(grep -o '<b>' tagged | wc -l)" ]
    [ "$(grep -o "<b>[^<]*[€😀#]" html | wc -l)" -eq 80 ]
    echo 'a € b {x}' >in
    tf-translate -q -m "$ALIGNING" --copy-unk --placeholders in | grep -F '{x}' | grep -F '€'
    # Words of the text are what any white space separates.
    printf 'a b€ c %%\n' >in
    printf 'a\tb€\xe3\x80\x80c\xc2\xa0%%\n' | tf-translate -q -m "$ALIGNING" --copy-unk >got
    tf-translate -q -m "$ALIGNING" --copy-unk in | cmp - got
    grep -F '€' got
    # What is known between unknown pieces.
    echo 'c ab€cb€€a€ €' | tf-tokenize -m "$ALIGNING" | tf-decode -q -m "$ALIGNING" --alignment |
        tf-tokenize -d -m "$ALIGNING" --alignment hard --alignment-unknown >got
    grep -F ' ?1:2:0 =cb =a ?2:0:0' got
    t 2 tf-tokenize -d -m "$MODEL" --alignment soft --alignment-unknown "$LINES_TFS"
}

@test "options that HTML does not go with" {
    t 2 tf-translate -m "$ALIGNING" --html --json
    t 2 tf-translate -m "$ALIGNING" --html --alignment hard
    t 2 tf-translate -m "$ALIGNING" --alignment-head 1
    expect_error "tf-decode: --alignment-head requires --alignment"
    sh_t 2 'tf-translate -q -m "$MODEL" --html <<<a'
    [[ $stderr == *"states no head for alignments; choose one with --alignment-head LAYER[,HEAD]"* ]]
    sh_t 0 'tf-translate -q -m "$MODEL" --html --alignment-head 1 <<<"<b>a</b>"'
    [[ $output == '<b>'*'</b>' ]]
}
