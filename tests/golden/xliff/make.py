#!/usr/bin/env python3
"""make.py - XLIFF as other programs write it: po2xliff of translate-toolkit 3.14.8 (PyPI), lconvert
of Qt 5.15.8 (Debian's qttools5-dev-tools), and lxml 6.1 with the inline elements of both standards.
"""
import os
import subprocess
import tempfile

from lxml import etree

PO = r'''
msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\n"

#. where it is seen
#: main.c:7
msgctxt "menu"
msgid "open <b>the</b> file & save"
msgstr ""

msgid "done"
msgstr "fertig"

msgid "%d file"
msgid_plural "%d files"
msgstr[0] ""
msgstr[1] ""

msgid "two lines\nof text"
msgstr ""
'''
TS = '''<!DOCTYPE TS>
<TS version="2.1" language="de" sourcelanguage="en"><context><name>Main</name>
<message><location filename="main.cpp" line="3"/><source>open %1 &amp;&amp; save</source>
<comment>a menu</comment><translation type="unfinished"></translation></message>
<message><source>done</source><translation>fertig</translation></message>
<message numerus="yes"><source>%n file(s)</source>
<translation type="unfinished"><numerusform></numerusform><numerusform></numerusform>
</translation></message>
</context></TS>
'''
ONE = "urn:oasis:names:tc:xliff:document:1.2"
TWO = "urn:oasis:names:tc:xliff:document:2.0"
INLINE_1 = [
    'one <g id="1" ctype="bold">two <g id="2">three</g></g> &amp; four',
    'one<x id="1" ctype="lb"/>two <x id="2" ctype="image"/>',
    'one <bx id="1" rid="a" ctype="italic"/>two<ex id="2" rid="a"/> three',
    'one <bpt id="1" rid="1">&lt;a href="x"&gt;</bpt>two<ept id="2" rid="1">&lt;/a&gt;</ept>',
    'one <ph id="1" ctype="fmt">&lt;br/&gt;</ph>two <it id="2" pos="open">&lt;b&gt;</it>three',
    'one <mrk mtype="term">two</mrk> three',
]
INLINE_2 = [
    'one <pc id="1" type="fmt">two <pc id="2">three</pc></pc> &lt; four',
    'one<ph id="1" type="fmt" subType="xlf:lb" equiv="br"/>two',
    'one <sc id="1" type="fmt"/>two<ec startRef="1"/> three',
    'one <mrk id="m1" type="term">two</mrk> three',
    'one <sm id="m2" type="comment" value="x"/>two<em startRef="m2"/> three',
    'one <cp hex="0007"/>two',
]


def write(name, root):
    etree.ElementTree(root).write(name, encoding="UTF-8", xml_declaration=True)


def inline(namespace, sources):
    two = namespace == TWO
    root = etree.Element(f"{{{namespace}}}xliff", nsmap={None: namespace},
                         version="2.0" if two else "1.2")
    if two:
        root.set("srcLang", "en")
        root.set("trgLang", "de")
    file = etree.SubElement(root, f"{{{namespace}}}file", id="f") if two else etree.SubElement(
        root, f"{{{namespace}}}file", {"original": "x", "source-language": "en",
                                       "datatype": "html"})
    at = file if two else etree.SubElement(file, f"{{{namespace}}}body")
    for i, source in enumerate(sources):
        unit = etree.SubElement(at, f"{{{namespace}}}{'unit' if two else 'trans-unit'}", id=str(i))
        unit = etree.SubElement(unit, f"{{{namespace}}}segment") if two else unit
        etree.SubElement(unit, f"{{{namespace}}}source")
    etree.indent(root)
    for old, source in zip(list(root.iter(f"{{{namespace}}}source")), sources):
        new = etree.fromstring(f'<source xmlns="{namespace}">{source}</source>')
        new.tail = old.tail
        old.getparent().replace(old, new)
    return root


here = os.path.dirname(os.path.abspath(__file__))
with tempfile.TemporaryDirectory() as tmp:
    for name, text in ("a.po", PO.lstrip()), ("a.ts", TS):
        with open(f"{tmp}/{name}", "w", encoding="utf-8") as f:
            f.write(text)
    subprocess.run(["po2xliff", "--progress=none", "a.po", f"{here}/toolkit.xlf"], cwd=tmp,
                   check=True)
    subprocess.run(["lconvert", f"{tmp}/a.ts", "-o", f"{here}/qt.xlf"], check=True)
write(f"{here}/inline.xlf", inline(ONE, INLINE_1))
write(f"{here}/inline.xliff", inline(TWO, INLINE_2))
