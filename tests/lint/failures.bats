#!/usr/bin/env bats
# tests/cli/helper.bash: a test that fails names its line, whichever way it fails.
load ../cli/helper

@test "the line of a test that fails" {
    # shellcheck disable=SC2016
    {
        echo 'bats_require_minimum_version 1.5.0'
        echo "load '$TOP/tests/cli/helper'"
        echo 'deep() { true && [ 1 = 2 ]; }' # line 3
        n=3
        for way in false '[[ 1 = 2 ]]' '((0))' 't 0 false' deep 'x=$(deep)' 'true | false' \
            'for i in 1 2; do [ $i = 1 ]; done' 'true && return 3' 'set -u; echo $none' \
            'diff <(echo a) <(echo b)'; do
            printf '@test "%d" {\n    true\n    %s\n    true\n}\n' $((n + 3)) "$way"
            n=$((n + 5))
        done
    } >ways.bats
    # Without the directory of bats' own parts, which is first there.
    env -i PATH="${PATH//"$BATS_LIBEXEC:"/}" TMPDIR="$T" bats --tap ways.bats >out 2>&1 && return 1
    # "not ok 1 6", and beside it "  at ways.bats:6", or bash's "ways.bats: line 6: none: unbound".
    sed -n 's/^not ok [0-9]* //p' out | sort >want
    sed -n 's/.*  at .*ways.bats:\([0-9]*\)$/\1/p; s/.*ways.bats: line \([0-9]*\): .*/\1/p' out |
        sort >got
    [ "$(wc -l <want)" -eq 11 ]
    [ "$(comm -12 want got | wc -l)" -eq 11 ] || { cat out >&2; return 1; }
}
