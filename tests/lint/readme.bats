#!/usr/bin/env bats
# The examples of tests/README.md compile and pass; lib/README.md names functions that exist; a
# terminal shows the pages.
load ../cli/helper
load files

# The code block of tests/README.md in a language.
block() {
    sed -n "/^\`\`\`$1\$/,/^\`\`\`\$/p" "$TOP/tests/README.md" | sed '1d; $d'
}

@test "the unit test" {
    need gcc
    block c >"$T/base_example.c"
    sed -i "s|\"\.\./harness/|\"$TOP/tests/harness/|" base_example.c
    build=${TF_BUILD:-$TOP/build}
    san=${TF_SAN:+-fsanitize=$TF_SAN}
    # The archive is there when a test in C was built.
    [ -e "$build/libtest.a" ] || skip "no libtest.a"
    # shellcheck disable=SC2086
    t 0 gcc -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror $san -I"$TOP/lib" -o example \
        base_example.c \
        "$build/libtest.a" "$build/libtf.a" -lz -lpthread -ldl -lm
    t 0 ./example
    expect_contains "$output" "1..8"
    [[ $output != *"not ok"* ]]
}

@test "the test of a tool" {
    mkdir -p tests/cli
    block bash >tests/cli/example.bats
    cp "$TOP/tests/cli/helper.bash" tests/cli/
    t 0 env TF_BIN="${TF_BIN:-$TOP/build/bin}" bats tests/cli/example.bats
    expect_contains "$output" "ok 2"
}

# The functions that a README names as "folder/file.c: `one`, `two`" or "`one` (folder/file.c)", and
# whether that file under lib/ defines them: a line that begins in its first column.
named() {
    tr -s '\n ' ' ' <"$1" | grep -oE '[a-z_0-9]+/[a-z_/0-9]+\.c: `[a-z_0-9]+`(, `[a-z_0-9]+`)*|`[a-z_0-9]+` \([a-z_0-9]+/[a-z_/0-9]+\.c\)' |
        sed -E 's|^(`.*`) \((.*)\)|\2: \1|' | while IFS=: read -r file names; do
        for name in ${names//[\`,]/ }; do
            grep -qE "^([A-Za-z].*[^a-z_])?$name(\\))?\\(" "$TOP/lib/$file" || echo "$file has no $name"
        done
    done
}

@test "the functions that lib/README.md names are where it says" {
    [ "$(tr -s '\n ' ' ' <"$TOP/lib/README.md" | grep -oE '[a-z_/0-9]+\.c: `' | wc -l)" -ge 15 ]
    named "$TOP/lib/README.md" | expect_none "named elsewhere"
    # The last one of the first file is only called there.
    printf '%s\n' '- x' '  - ops/ref/xent.c: `logit`,' '    `nowhere`, `log`' '1. `affine` (ops/ref/xent.c)' \
        '   `logit` (ops/ref/xent.c)' >planted.md
    [ "$(named planted.md | xargs)" = "ops/ref/xent.c has no nowhere ops/ref/xent.c has no log ops/ref/xent.c has no affine" ]
}

@test "README.md has at most 100 columns, but for pictures, and its first screen shows two translations" {
    grep -nE '.{101}' "$TOP/README.md" | grep -v '](examples/demo/' | expect_none "lines too long"
    head -24 "$TOP/README.md" | grep -q ' -> O antigo farol'
    head -32 "$TOP/README.md" | grep -q 'exactly right: 1000 of 1000 unseen numbers'
}

# The lines of a page over 100 columns, and those with a cell of a table over 40.
wide() {
    LC_ALL=C.UTF-8 grep -nE '.{101}' "$TOP/$1" || true
    LC_ALL=C.UTF-8 grep -nE '^\|(.*\|)? *[^| ][^|]{39,}[^| ] *\|' "$TOP/$1" | grep -v '|--'
}

@test "a terminal shows lib/README.md and the tables of RESULTS.md" {
    wide lib/README.md | expect_none "too wide"
    wide tests/bench/RESULTS.md | expect_none "too wide"
    TOP=$T
    x=$(printf '%040d' 0)
    printf '%s\n' "${x}é$x${x:20}" "é$x$x${x:21}" "| a | ${x}1 |" "|  $x   |" "|--$x--|" >planted.md
    [ "$(wide planted.md | cut -d: -f1 | xargs)" = '1 3' ]
}
