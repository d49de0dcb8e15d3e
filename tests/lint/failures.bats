#!/usr/bin/env bats
# tests/cli/helper.bash: a test that fails names its line, whichever way it fails.
load ../cli/helper

@test "the line of a test that fails" {
    # shellcheck disable=SC2016
    {
        echo 'bats_require_minimum_version 1.5.0'
        echo "load '$TOP/tests/cli/helper'"
        echo 'deep() { true && [ 1 = 2 ]; }' # line 3
        echo 'ends() { exit 4; }'
        n=4
        for way in false '[[ 1 = 2 ]]' '((0))' 't 0 false' deep 'x=$(deep)' 'true | false' \
            'for i in 1 2; do [ $i = 1 ]; done' 'true && return 3' 'set -u; echo $none' \
            'diff <(echo a) <(echo b)' 'exit 4' 'ends'; do
            printf '@test "%d" {\n    true\n    %s\n    true\n}\n' $((n + 3)) "$way"
            n=$((n + 5))
        done
    } >ways.bats
    # Without the directory of bats' own parts, which is first there.
    env -i PATH="${PATH//"$BATS_LIBEXEC:"/}" TMPDIR="$T" bats --tap ways.bats >out 2>&1 && return 1
    # "not ok 1 7", and beside it "  at ways.bats:7", or bash's "ways.bats: line 6: none: unbound".
    sed -n 's/^not ok [0-9]* //p' out | sort >want
    sed -n 's/.*  at .*ways.bats:\([0-9]*\)$/\1/p; s/.*ways.bats: line \([0-9]*\): .*/\1/p' out |
        sort >got
    [ "$(wc -l <want)" -eq 13 ]
    [ "$(comm -12 want got | wc -l)" -eq 13 ] || { cat out >&2; return 1; }
}

@test "a file whose setup_file has nothing to test with is skipped" {
    # shellcheck disable=SC2016
    printf '%s\n' "load '$TOP/tests/cli/helper'" 'prepare() { false; }' \
        'setup_file() { cuda_or_emulation || return 0; false; }' '@test "a" { false; }' \
        '@test "b" { false; }' >none.bats
    mkdir build
    env -i PATH="${TF_BIN:-$TOP/build/bin}:${PATH//"$BATS_LIBEXEC:"/}" TMPDIR="$T" TF_BUILD="$T/build" \
        TF_BACKEND_DIR="$T/build" bats --tap none.bats >out 2>&1 || { cat out >&2; return 1; }
    [ "$(grep -c '^ok .* # skip the CUDA backend was not built$' out)" -eq 2 ]
}
