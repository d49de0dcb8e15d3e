#!/usr/bin/env bats
# The words of the project: none of the phrases in words.txt.
load ../cli/helper
load files

# Lines with a phrase of words.txt, in the files named on stdin.
banned() {
    sed -n 's/^\([^#*][^\t]*\)\t.*/\1/p' "$TOP/tests/lint/words.txt" >"$T/words"
    sed -n 's/^\*\([^\t]*\)\t.*/\1/p' "$TOP/tests/lint/words.txt" >"$T/parts"
    tee "$T/names" | xargs grep -HInwiF -f "$T/words" >"$T/found" || :
    xargs grep -HIniF -f "$T/parts" <"$T/names" >>"$T/found" || :
    sort -u -t: -k1,1 -k2,2n "$T/found"
}

# Without text that the project does not write itself, pages with CSS, whose words are not ours, and
# the list.
own_text() {
    project_files | grep -v -E \
        '^tests/(golden|fuzz/corpus)/|^formats/vectors/|_data\.h$|\.html$|^tests/lint/words\.'
}

@test "no phrase of words.txt" {
    own_text | (cd "$TOP" && banned) | expect_none "see tests/lint/words.txt"
}

@test "the check of words sees whole words and identifiers" {
    printf 'It goes on.\nforgoes one\nspared\n/* BEHIND */\n' >a.c
    printf 'int tf_unjson(void);\nborderline\n' >b.h
    output=$(printf 'a.c\nb.h\n' | banned)
    expect_output 'a.c:1:It goes on.
a.c:4:/* BEHIND */
b.h:1:int tf_unjson(void);'
    output=$(echo a.c | banned) # no match of the second kind
    expect_output 'a.c:1:It goes on.
a.c:4:/* BEHIND */'
}
