#!/usr/bin/env bats
# The subjects of commits have the form of CONTRIBUTING.md.
load ../cli/helper
load files

# The rule is checked from the commit after this one; earlier subjects have other forms.
since=d69f02bb1fbd0093a92466f7f7d0987465c34835

# The subjects on stdin that are longer than 60 characters, do not begin with a capitalised word, or
# with a label in its place, or end in a full stop.
bad_subjects() {
    LC_ALL=C.UTF-8 grep -nE -e '^.{61}' -e '\.$' -e '^[^A-Z]' -e '^[A-Z][A-Za-z-]*[^A-Za-z -]'
}

@test "subjects have at most 60 characters, begin with a capitalised word and no label, and end in no stop" {
    git -C "$TOP" merge-base --is-ancestor "$since" HEAD 2>/dev/null ||
        skip "no git history from ${since:0:8} on"
    git -C "$TOP" log --no-merges --format=%s "$since..HEAD" | bad_subjects |
        expect_none "subjects of commits"
}

@test "the check of subjects sees what breaks the rule" {
    x=$(printf '%054d' 0)
    printf '%s\n' "Refuse a model whose vocabulary is shorter" "Refuse$x" "Refuse é$x" "Réfuse it" \
        "Re-read it: twice, in tests/x.bats" "Format" "Tests: refuse it" "GPU: refuse it" \
        "refuse it" "Refuse it." "[lint] Refuse it" "lib/ops: refuse it" "Refuse 60$x" >planted
    [ "$(bad_subjects <planted | cut -d: -f1 | xargs)" = '2 3 4 7 8 9 10 11 12 13' ]
}
