#!/usr/bin/env bats
# tf-evalb: the report by hand-counted examples, parameters, sentences in error, JSON; and against a
# slow rewrite of EVALB's loops (tests/cli/evalb.py) on damaged trees.
load helper

prepare() {
    cat >gold <<'END'
(TOP (S (NP (DT the) (NN cat)) (VP (VBZ sits) (PP (IN on) (NP (DT a) (NN mat)))) (. .)))
(TOP (S (NP-SBJ (NN x)) (ADVP (RB so)) (VP (VBZ is))))
(TOP (S (NP (NN y))))
(TOP (S (NP (NN z))))
END
    cat >'test' <<'END'
(TOP (S (NP (DT the) (NN cat) (VBZ sits)) (PP (IN on) (NP (DT a) (NN mat))) (. .)))
(TOP (S (NP (NN x)) (PRT (RB so)) (VP (VBD is))))
(TOP (S (NP (NN w))))
(())
END
}

@test "the report is that of EVALB" {
    t 4 tf-evalb --exact gold test
    expect_output '  Sent.                        Matched  Bracket   Cross        Correct Tag
 ID  Len.  Stat. Recal  Prec.  Bracket gold test Bracket Words  Tags Accracy
============================================================================
   1    7    0   60.00  75.00     3      5    4      1      6     6   100.00
   2    3    0  100.00 100.00     4      4    4      0      3     2    66.67
   3    1    1    0.00   0.00     0      0    0      0      0     0     0.00
   4    1    2    0.00   0.00     0      0    0      0      0     0     0.00
============================================================================
                 77.78  87.50      7     9     8      1      9     8    88.89
=== Summary ===

-- All --
Number of sentence        =      4
Number of Error sentence  =      1
Number of Skip  sentence  =      1
Number of Valid sentence  =      2
Bracketing Recall         =  77.78
Bracketing Precision      =  87.50
Bracketing FMeasure       =  82.35
Complete match            =  50.00
Average crossing          =   0.50
No crossing               =  50.00
2 or less crossing        = 100.00
Tagging accuracy          =  88.89

-- len<=40 --
Number of sentence        =      4
Number of Error sentence  =      1
Number of Skip  sentence  =      1
Number of Valid sentence  =      2
Bracketing Recall         =  77.78
Bracketing Precision      =  87.50
Bracketing FMeasure       =  82.35
Complete match            =  50.00
Average crossing          =   0.50
No crossing               =  50.00
2 or less crossing        = 100.00
Tagging accuracy          =  88.89'
    expect_contains "$stderr" "tf-evalb: warning: line 3: word 1 is y in gold, w in test"
    expect_contains "$stderr" "tf-evalb: 1 of 4 sentences in error, the first is line 3"
}

@test "failures as misses" {
    sh_t 0 'tf-evalb --bad=ok gold test | tail -6'
    expect_output '-- All, failures as misses --
Sentences                 =      4
Not scored                =      2
Recall with failures      =  53.85
Precision with failures   =  70.00
F1 with failures          =  60.87'
    tf-evalb --bad=ok gold test 2>/dev/null >full
    tf-evalb --bad=ok --exact gold test 2>/dev/null >exact
    cmp exact <(head -n "$(wc -l <exact)" full)
    [ "$(wc -l <full)" -eq "$(($(wc -l <exact) + 7))" ]
}

@test "JSON has the same numbers" {
    sh_t 0 'tf-evalb --bad=ok --json gold test >out.json'
    "$TF_PYTHON" - >f1 <<'PY'
import json
j = json.load(open("out.json"))
assert len(j["rows"]) == 4 and [r["status"] for r in j["rows"]] == ["ok", "ok", "error", "skipped"]
assert abs(j["all"]["f1"] - 1400 / 17) < 1e-9 and j["all"]["valid"] == 2 and j["cutoff"]["length"] == 40
assert j["failures_as_misses"]["gold"] == 13 and j["failures_as_misses"]["test"] == 10
print("%.2f" % j["failures_as_misses"]["f1"])
PY
    [ "$(cat f1)" = 60.87 ]
    printf '(TOP (S (NN x)))\n' >a
    printf '(TOP (NP (NN x)))\n' >b
    t 0 tf-evalb --json a b
    expect_contains "$output" '"f1":null'
    t 0 tf-evalb a b
    expect_contains "$output" 'Bracketing FMeasure       =    nan'
    printf 'CUTOFF_LEN -3\n' >prm
    t 0 tf-evalb --json -p prm a b
    expect_contains "$output" '"cutoff":{"length":-3,'
}

@test "parameters: built in, files, options" {
    printf '(TOP (S (ADVP (RB x)) (: ?)))\n' >a
    printf '(TOP (S (PRT (RB x)) (? ?)))\n' >b
    t 4 tf-evalb a b
    expect_contains "$stderr" "1 words in gold, 2 in test"
    t 0 tf-evalb -p new a b
    expect_contains "$output" \
        '   1    2    0  100.00 100.00     2      2    2      0      1     1   100.00'
    t 0 tf-evalb -p none a b
    expect_contains "$output" \
        '   1    2    0   66.67  66.67     2      3    3      0      2     1    50.00'
    printf '# mine\nLABELED 0\nCUTOFF_LEN 1\nEQ_LABEL : ?\nDELETE_LABEL S\n' >mine
    t 0 tf-evalb -p mine a b
    expect_contains "$output" \
        '   1    2    0  100.00 100.00     2      2    2      0      2     2   100.00'
    expect_contains "$output" $'-- len<=1 --\nNumber of sentence        =      0'
    t 0 tf-evalb -p mine -c 2 a b
    expect_contains "$output" $'-- len<=2 --\nNumber of sentence        =      1'
    cp mine COLLINS.prm
    t 0 tf-evalb -p COLLINS.prm a b
    expect_contains "$output" 'len<=1'
    rm COLLINS.prm
    t 4 tf-evalb -p COLLINS.prm a b
    printf 'NO_SUCH 1\n' >odd
    t 0 tf-evalb -p odd a a
    expect_error "tf-evalb: warning: odd: line 1: unknown keyword NO_SUCH"
    printf 'MAX_ERROR x\n' >odd
    t 1 tf-evalb -p odd a a
    expect_error "odd: line 1: MAX_ERROR: 'x'"
    printf 'DELETE_LABEL\n' >odd
    t 1 tf-evalb -p odd a a
    expect_error "odd: line 1: DELETE_LABEL has no value"
}

@test "too many errors end the run" {
    for i in {1..14}; do echo '(S (NN x))'; done >a
    sed 's/x/y/' a >b
    t 1 tf-evalb a b
    [ "${#lines[@]}" = 14 ]
    expect_contains "$stderr" "line 12: error number 12, and MAX_ERROR is 10: stopped, no summary"
    t 4 tf-evalb -e 13 a b
    expect_contains "$output" 'Number of Error sentence  =     14'
    t 1 tf-evalb --json a b
    [ -z "$output" ]
    t 1 tf-evalb --bad=fail a b
    expect_contains "$stderr" "stopped at line 1"
}

@test "different line counts" {
    head -2 test >short
    t 1 tf-evalb gold short
    expect_error "gold has 2 more lines than short"
    expect_contains "$output" 'Number of sentence        =      2'
    expect_contains "$output" $'Sentences                 =      4\nNot scored                =      2\nRecall with failures      =  53.85'
    head -2 gold >g2
    t 1 tf-evalb g2 test
    expect_error "test has more lines than g2, which has 2"
    expect_contains "$output" 'Tagging accuracy          =  88.89'
    # A missing line is no error that -e counts: the report is complete.
    for i in {1..12}; do echo '(S (NN x))'; done >a
    sed '1,11s/x/y/; $d' a >b
    t 1 tf-evalb a b
    expect_contains "$stderr" "a has 1 more line than b"
    expect_contains "$output" 'Number of Error sentence  =     11'
    t 1 tf-evalb b a
    expect_contains "$stderr" "a has more lines than b, which has 11"
    expect_contains "$output" 'Number of Error sentence  =     11'
}

@test "damaged lines are errors, not endless loops" {
    printf '%s\n' '(S (NN x) word)' '(S (NN x' '(S (NN x))))' '(S (NN x ))' 'word' '' >b
    for i in {1..6}; do echo '(S (NN x))'; done >a
    t 4 tf-evalb -e 100 a b
    expect_contains "$output" 'Number of Error sentence  =      2'
    expect_contains "$output" 'Number of Skip  sentence  =      4'
}

@test "a damaged line without words is skipped in the report, but in error" {
    printf '%s\n' '(TOP (S (A b) (C d)))' '(TOP (S (A b) (C d)))' >a
    printf '%s\n' '' '(TOP (S' >b
    t 4 tf-evalb a b
    expect_contains "$output" '   2    2    2 '
    expect_contains "$output" 'Number of Error sentence  =      0'
    expect_contains "$output" 'Number of Skip  sentence  =      2'
    expect_contains "$stderr" 'tf-evalb: 1 of 2 sentences in error, the first is line 2'
    t 1 tf-evalb --bad fail a b
    expect_contains "$stderr" 'tf-evalb: stopped at line 2'
    t 0 tf-evalb --bad ok a b
    expect_contains "$output" 'F1 with failures          =   0.00'
    t 0 tf-evalb --bad ok --json a b
    expect_contains "$output" '"failures_as_misses":{"sentences":2,"not_scored":2,"matched":0,"gold":2,"test":0,"recall":0,"precision":0,"f1":0}'
}

@test "the same as a simple implementation on damaged trees" {
    "$TF_PYTHON" "$TOP/tests/cli/evalb.py" make 1 200 gold test
    for args in '-p COLLINS' '-p new' '-p none -c 10'; do
        echo "== $args"
        # shellcheck disable=SC2086
        tf-evalb --exact --bad=ok -e 100000 $args gold test 2>/dev/null >got
        # shellcheck disable=SC2086
        "$TF_PYTHON" "$TOP/tests/cli/evalb.py" score $args gold test >want
        cmp want got
    done
}

@test "no limits: 100,000 words, 100,000 levels, labels and words of 100,000 bytes" {
    "$TF_PYTHON" - >big <<'PY'
n = 100000
print("(S " + " ".join("(NP (NN w%d))" % i for i in range(n)) + ")")
print("(X " * n + "(NN w)" + ")" * n)
print("(S (" + "L" * n + " (NN " + "w" * n + ")))")
PY
    sh_t 0 'ulimit -s 1024; tf-evalb big big'
    expect_contains "$output" '   1  100000    0  100.00 100.00   100001    100001  100001      0   100000  100000   100.00'
    expect_contains "$output" 'Complete match            = 100.00'
}

@test "no limits: 200,000 quotes that one sentence deleted and the other kept" {
    natively
    "$TF_PYTHON" - <<'PY'
n = 200000
deleted, kept = "(`` %c)" % 39, "(NN %c)" % 39
for a, b in (deleted * n, kept * n), ((deleted + kept) * (n // 2), (kept + deleted) * (n // 2)):
    open("quotes", "a").write("(S " + a + ")\n")
    open("kept", "a").write("(S " + b + ")\n")
PY
    t 0 tf-evalb -p new quotes kept
    expect_contains "$output" '   1  200000    0  100.00 100.00     1      1    1      0   200000     0     0.00'
    expect_contains "$output" '   2  200000    0  100.00 100.00     1      1    1      0   100000  100000   100.00'
}

@test "DEBUG in a parameter file has no effect, and a warning says so" {
    t 0 tf-evalb -p none gold gold
    plain=$output
    echo 'DEBUG 0' >params
    t 0 tf-evalb -p params gold gold
    [ "$output" = "$plain" ] && [ -z "$stderr" ]
    echo 'DEBUG 2' >params
    t 0 tf-evalb -p params gold gold
    [ "$output" = "$plain" ]
    expect_error "tf-evalb: warning: params: line 1: DEBUG has no effect"
    echo 'DEBUG x' >params
    t 1 tf-evalb -p params gold gold
}

@test "a label equals at most 1000 others" {
    "$TF_PYTHON" - <<'PY'
for i in 999, 1000, 1001:
    with open("equal%d" % i, "w") as f:
        for j in range(i):
            print("EQ_LABEL S X%d\nEQ_LABEL X%d S" % (j, j), file=f)
PY
    t 0 tf-evalb -p equal999 gold gold
    t 0 tf-evalb -p equal1000 gold gold
    t 1 tf-evalb -p equal1001 gold gold
    expect_error "tf-evalb: equal1001: EQ_LABEL: more than 1000 labels equal S"
}

@test "usage" {
    t 2 tf-evalb gold
    t 2 tf-evalb - -
    t 2 tf-evalb -p - - gold
    expect_error "tf-evalb: only one file can be stdin"
    t 2 tf-evalb --exact --json gold test
    expect_error "--exact and --json cannot be used together"
    t 2 tf-evalb -d gold test
    t 2 tf-evalb -D gold test
    t 2 tf-evalb -c -1 gold test
    t 1 tf-evalb gold no-such-file
    t 1 tf-evalb -p no-such-file gold gold
    sh_t 0 'tf-evalb - gold <gold'
    sh_t 0 'tf-evalb /dev/null /dev/null'
}

@test "the examples of the man page" {
    cp gold test.trees
    cp test test.out
    sh_t 0 'for f in *.out; do tf-evalb --bad=ok -e 1000000 test.trees "$f" | grep -e FMeasure -e F1; done'
    [ "${#lines[@]}" = 3 ]
    sh_t 4 'tf-evalb --exact -p COLLINS.prm test.trees test.out >test.evalb'
}
