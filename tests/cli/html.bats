#!/usr/bin/env bats
# tf-translate --html and --copy-unk: the text is translated, the markup stays; what the vocabulary
# lacks is copied. tests/unit/text_html.c has random trees; here other tools turn the words of a
# sentence around, and a model copies lines.
load helper
load translate
load around

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
<p>One two. Four.<sup>1</sup><sup>2</sup></p>
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
<p>TWO. ONE FOUR.<sup>1</sup><sup>2</sup></p>
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
<p>a log<sup>[1]</sup> file b log <a id="x"></a>file, c</p>
<p>a <b>log<sup>1</sup> file</b> c <i>log<u class="x"></u></i> file b</p>
X
    bash -c 'around --placeholders --glossary terms in' >got
    diff - got <<'X'
<p>B <a href="x">registro</a> A</p>
<p><u>B</u> <b><i>registro</i> C</b> A</p>
<p><u>http://a.b/?c</u> AT B <b>registro</b><i></i> A</p>
<p>C registro<a id="x"></a>, B registro<sup>[1]</sup> A</p>
<p>B <i>registro<u class="x"></u></i> C <b>registro<sup>1</sup></b> A</p>
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
