#!/usr/bin/env bats
# tf-tree: trees to sequences and back, cleaning, layouts, bad trees, repairs.
load helper

prepare() {
    cat >trees <<'END'
(TOP (S (NP (NNP John)) (VP (VBZ has) (NP (DT a) (NN dog))) (. .)))
(TOP (NP (NP (JJ Genetic) (NN Analysis)) (PP (IN of) (NP (-LRB- -LRB-) (NN x y) (-RRB- -RRB-)))))
(TOP (X (X (X ä))) (NP (NN z)))
END
}

@test "words and sequences, in columns and in files" {
    t 0 tf-tree -l trees
    expect_output $'John has a dog .\tS NP NNP /NP VP VBZ NP DT NN /NP /VP . /S
Genetic Analysis of -LRB- x y -RRB-\tNP NP JJ NN /NP PP IN NP -LRB- NN + -RRB- /NP /PP /NP
ä z\tX X X /X /X NP NN /NP'
    t 0 tf-tree --linearize -b paren -w w -o s trees
    [ -z "$output$stderr" ]
    [ "$(head -1 w)" = 'John has a dog .' ]
    [ "$(head -1 s)" = '(S (NP NNP )NP (VP VBZ (NP DT NN )NP )VP . )S' ]
    t 0 tf-tree --restore --brackets=paren --words=w s
    [ -z "$stderr" ]
    printf '%s\n' "$output" | cmp - trees
    sh_t 0 'tf-tree -l -w - -o s2 <trees | cmp - w'
    sh_t 0 'tf-tree -r -b paren -w - s <w | cmp - trees'
}

@test "round trip through a pipe, in both forms" {
    for b in slash paren; do
        sh_t 0 "tf-tree -l -b $b trees | tf-tree -r -b $b | cmp - trees"
        [ -z "$output$stderr" ]
    done
}

@test "sequences with the words in place of the tags" {
    t 0 tf-tree -l -b words -w w -o s trees
    [ "$(head -1 s)" = '(S (NP John )NP (VP has (NP a dog )NP )VP . )S' ]
    t 0 tf-tree -r -b words -p -w w s
    expect_output '(TOP (S (NP (XX John)) (VP (XX has) (NP (XX a) (XX dog))) (. .)))
(TOP (NP (NP (XX Genetic) (XX Analysis)) (PP (XX of) (NP (XX -LRB-) (XX x) (XX y) (XX -RRB-)))))
(TOP (X (X (XX ä))) (NP (XX z)))'
    [ -z "$stderr" ]
    sh_t 0 'tf-tree -r -b words -w w s | tf-tree -l -b words -w w2 | cmp - s && cmp w w2'
    printf 'John had a big dog .\n' >w3
    sh_t 0 'head -1 s | tf-tree -r -b words -w w3'
    expect_output '(TOP (S (NP (XX John)) (VP (XX had) (NP (XX a) (XX big) (XX dog))) (XX .)))'
    expect_contains "$stderr" "1 sequences restored; repaired: brackets of 0, tags or words of 1"
}

@test "round trip on real treebanks" {
    [ -n "${DATA:-}" ] || skip "DATA is not set"
    for f in "$DATA"/craft-treebank/*.trees.gz "$DATA"/gum-silver/*.trees.gz; do
        for b in slash paren; do
            zcat "$f" | tf-tree -l -b $b | tf-tree -r -b $b | cmp - <(zcat "$f")
        done
    done
    for f in "$DATA"/craft-treebank/*.orig.gz; do
        zcat "$f" | tf-tree -c | cmp - <(zcat "${f/.orig/.trees}")
    done
}

@test "cleaning" {
    printf '%s\n' '( (S (NP-SBJ-1 (NN x)) (VP (VBZ is) (NP=2 (-NONE- *-1)) (NP (NP (-LRB- -LRB-))))) )' '(ROOT (S (-NONE- *)))' '(S (NN a-b))' >dirty
    t 0 tf-tree --clean dirty
    expect_output '(TOP (S (NP (NN x)) (VP (VBZ is) (NP (NP (-LRB- -LRB-))))))
(TOP)
(TOP (S (NN a-b)))'
    t 0 tf-tree -c --root VROOT dirty
    expect_contains "$output" '(VROOT (S (NN a-b)))'
    t 0 tf-tree -c -l dirty
    expect_contains "$output" $'x is -LRB-\tS NP NN /NP VP VBZ NP NP -LRB- /NP /NP /VP /S'
    t 0 tf-tree --root '' -c dirty
    expect_contains "$output" '( (S (NN a-b)))'
}

@test "cleaning removes no words" {
    printf '%s\n' '(S (NP-SBJ (PRP (Dia))) (VP (VB (kata))))' \
        '(S (NP (NN Dia)) (VP (VB (kata)) (-NONE- *)))' '(S (NN x) (HYPH ))' '(S (NN x))' >odd
    t 4 tf-tree -c odd
    expect_output $'\n\n\n(TOP (S (NN x)))'
    expect_bad "odd: 3 of 4 trees bad; the first is line 1: a constituent without words: (Dia)"
    expect_contains "$stderr" "odd: line 2: a constituent without words: (kata)"
    expect_contains "$stderr" "odd: line 3: a constituent without words: (HYPH)"
    t 4 tf-tree -c -l -w w -o s odd
    printf '\n\n\nx\n' | cmp - w
    t 1 tf-tree -c --bad fail odd
    expect_error "odd: line 1: a constituent without words: (Dia)"
    # What -r writes for an empty line.
    sh_t 0 'echo "(TOP)" | tf-tree -c'
    expect_output '(TOP)'
}

@test "pretty-printed trees" {
    printf '\n( (S\n    (NP (NN x))\n    (VP (VBZ is)))\n)\n\n(S (NN y))\n' >mrg
    t 0 tf-tree --layout pretty mrg
    expect_output $'( (S (NP (NN x)) (VP (VBZ is))))\n(S (NN y))'
    sh_t 0 'tail -n +2 mrg | tf-tree'
    expect_output $'( (S (NP (NN x)) (VP (VBZ is))))\n(S (NN y))'
    t 0 tf-tree mrg
    expect_output $'( (S (NP (NN x)) (VP (VBZ is))))\n(S (NN y))'
    # A bad tree's empty line stays where trees are on one line each.
    sh_t 4 'printf "\n(S (NN y))\n" | tf-tree'
    expect_output $'\n(S (NN y))'
    t 4 tf-tree --layout lines mrg
    [ "$(tf-tree --layout lines --bad ok mrg | wc -l)" = "$(wc -l <mrg)" ]
}

@test "bad trees keep their line" {
    printf '%s\n' '(A (B c))' '(A (B c)' '' '(A (B c)) x' 'word' '(A (B c)))' '(D e)' >bad
    t 4 tf-tree bad
    expect_output $'(A (B c))\n\n\n\n\n\n(D e)'
    expect_bad "bad: 5 of 7 trees bad; the first is line 2: 1 bracket is not closed"
    t 4 tf-tree -l -w w -o s bad
    [ "$(wc -l <w)" = 7 ]
    [ "$(wc -l <s)" = 7 ]
    # Both files are replaced, or neither.
    cp w before
    echo '(A (B c))' >good
    t 1 tf-tree -l -w w -o /dev/full good
    cmp w before
    t 0 tf-tree --bad=ok bad
    [ -z "$stderr" ]
    t 1 tf-tree --bad=fail bad
    expect_output '(A (B c))'
    expect_error "bad: line 2: 1 bracket is not closed"
    printf '(NP (NP x) (NN y))\n(A)\n' >odd
    t 4 tf-tree -l odd
    [ -z "$output" ]
    expect_bad "NP is both tag and constituent; use paren brackets"
    t 4 tf-tree -l -b paren odd
    expect_output $'x y\t(NP NP NN )NP'
    expect_bad "line 2: a constituent without words: A"
}

@test "repair: whatever comes, a tree over the words" {
    printf 'a b c\tS NP NN /NP VP VB\na b c\tNN\n\tS /S\n( b\tNN NN /VP\nno tab\n' >out
    t 4 tf-tree -r out
    expect_output '(TOP (S (NP (NN a)) (VP (VB b)) (XX c)))
(TOP (NN a) (XX b) (XX c))
(TOP)
(TOP (NN -LRB-) (NN b))'
    [ "${stderr_lines[0]}" = "tf-tree: warning: out: line 5: no tab between words and sequence" ]
    [ "${#stderr_lines[@]}" = 3 ]
    expect_contains "$stderr" "4 sequences restored; repaired: brackets of 3, tags or words of 2"
    expect_contains "$stderr" "out: 1 of 5 lines bad; the first is line 5: no tab"
    t 4 tf-tree -r --tag NN --root S1 out
    expect_contains "$output" '(S1 (NN a) (NN b) (NN c))'
}

@test "punctuation goes by the words when asked" {
    printf '%s\t%s\n' "a , b - \"well\" ? \" 's \" — ." 'S NN . , : HYPH , NN POS `` NN . /S' >columns
    t 0 tf-tree -r columns
    expect_output "(TOP (S (NN a) (. ,) (, b) (: -) (HYPH \"well\") (, ?) (NN \") (POS 's) (\`\` \") (NN —) (. .)))"
    t 0 tf-tree -r -p columns
    expect_output "(TOP (S (NN a) (, ,) (XX b) (: -) (HYPH \"well\") (. ?) ('' \") (POS 's) (\`\` \") (: —) (. .)))"
    sh_t 0 'printf "%s\t%s\n" ". word ;" "S : . NNS /S" | tf-tree -r --punctuation --tag NN'
    expect_output "(TOP (S (. .) (NN word) (: ;)))"
    t 2 tf-tree -p /dev/null
    expect_error "--punctuation is only for --restore"
}

@test "different line counts" {
    printf 'a\nb\n' >w
    printf 'NN\n' >s
    t 1 tf-tree -r -w w s
    expect_error "tf-tree: w has more lines than s, which has 1"
    t 1 tf-tree -r -w s w
    expect_error "tf-tree: w has more lines than s, which has 1"
    expect_output '(TOP (a NN))'
}

@test "a line is answered before the next is sent" {
    "$TF_PYTHON" - <<'END'
from tools import talk
assert not talk([["tf-tree", "-l"]], [(b"(S (NN w%d))\n" % k, b"w%d\tS NN /S\n" % k) for k in range(50)])
END
}

@test "a tree is answered while half of the next is under way, on its line or over several" {
    "$TF_PYTHON" - <<'END'
import os
from tools import talk
def tree(options, say, **how):
    assert not talk([["tf-tree", *options]], say, **how)
halves = [(b"(S (NN a))\n(S (N", b"(S (NN a))\n"), (b"N b))\n(S\n", b"(S (NN b))\n"), (b" (NN c))\n\n", b"(S (NN c))\n")]
tree([], halves)
tree(["-l"], [(b"(S (NN a))\n(S (N", b"a\tS NN /S\n"), (b"N b))\n", b"b\tS NN /S\n")])
tree(["-r"], [(b"a\tS NN /S\nb", b"(TOP (S (NN a)))\n"), (b"\tS NN /S\n", b"(TOP (S (NN b)))\n")])
# The words lie there; their sequences come one by one, and the other way round.
r, w = os.pipe()
os.write(w, b"a\nb\n"); os.close(w)
tree(["-r", "-w", "/dev/fd/%d" % r], [(b"S NN /S\nS N", b"(TOP (S (NN a)))\n"), (b"N /S\n", b"(TOP (S (NN b)))\n")], pass_fds=[r])
os.close(r)
open("tags", "w").write("S NN /S\n" * 2)
tree(["-r", "-w", "/dev/stdin", "tags"], [(b"a\nb", b"(TOP (S (NN a)))\n"), (b"\n", b"(TOP (S (NN b)))\n")])
END
}

@test "deep trees and long lines" {
    "$TF_PYTHON" - >deep <<'PY'
n = 200000
print("(X " * n + "(NN w)" + ")" * n)
print("(S " + " ".join("(NN word%d)" % i for i in range(n)) + ")")
PY
    [ "$(wc -c <deep)" -gt 1000000 ]
    sh_t 0 '(ulimit -s 1024; tf-tree -l deep | tf-tree -r | tf-tree -c | tf-tree >back)'
    [ "$(head -1 back)" = "(TOP $(head -1 deep | sed 's/(X *$//'))" ] || [ "$(head -1 back | wc -c)" -eq "$(($(head -1 deep | wc -c) + 6))" ]
    [ "$(tail -1 back)" = "(TOP $(tail -1 deep))" ]
    sh_t 4 'tf-tree --max-line 1000 deep >out'
    printf '\n\n' | cmp - out
    expect_bad "line 1: line of "
}

@test "usage" {
    t 2 tf-tree -l -r
    t 2 tf-tree -r -c
    t 2 tf-tree -w words trees
    t 2 tf-tree -l -w - trees
    t 2 tf-tree -r -w -
    t 2 tf-tree -l -w trees trees
    expect_error "trees: is both input and output"
    # A tool that reads what it appends would never end.
    sh_t 2 'ulimit -f 1000; tf-tree trees >>trees'
    expect_error "trees: is both input and output"
    sh_t 2 'ulimit -f 1000; tf-tree <trees >>trees'
    expect_error "stdin: is both input and output"
    sh_t 0 'tf-tree -o other trees >>trees'
    t 2 tf-tree -o trees trees
    t 2 tf-tree -l -w x -o x trees
    t 2 tf-tree --root '(' trees
    t 2 tf-tree --tag '' -r trees
    expect_error "--tag: a tag cannot be empty"
    t 2 tf-tree --tag '(' -r trees
    expect_error "--tag: a label cannot contain brackets or white space"
    # What a mode does not use is refused.
    for args in '-r --layout lines' '--brackets paren' '--tag NN' '-l --tag NN' '-l -p' '-r -c'; do
        # shellcheck disable=SC2086
        t 2 tf-tree $args trees
        expect_error " is only for "
    done
    t 1 tf-tree no-such-file
    t 1 tf-tree -r -w no-such-file trees
    sh_t 1 'tf-tree trees >/dev/full'
    expect_error "No space left on device"
}

@test "the examples of the page" {
    printf '( (S (NP-SBJ (NN x))\n    (VP (VBZ is))) )\n' >treebank.mrg
    t 0 tf-tree -l -c -w train.words -o train.tags treebank.mrg
    [ "$(cat train.words)" = 'x is' ]
    [ "$(cat train.tags)" = 'S NP NN /NP VP VBZ /VP /S' ]
    cp trees test.trees
    sh_t 0 'tf-tree -l test.trees | tf-tree -r | cmp - test.trees'
    sh_t 0 'cat train.tags | tf-tree -r -w train.words >test.out'
    t 0 tf-evalb test.out test.out
}
