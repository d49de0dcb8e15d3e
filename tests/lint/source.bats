#!/usr/bin/env bats
# What must hold for every source, whatever it does.
# bats file_tags=first
load ../cli/helper
load files

prepare() { cd "$TOP" || return 1; }

# The rules that search all sources, each a function that prints the lines against it.

foreign_headers() {
    project_sources | grep -v '^lib/cbor/' | xargs grep -nHE '#include *[<"]cbor\.h'
    project_sources | grep -v '^lib/ops/cuda/' |
        xargs grep -nHE '#include *[<"](cuda|cublas|curand)'
    project_sources | grep -v '^lib/comm/mpi/' | xargs grep -nHE '#include *[<"]mpi\.h'
    project_sources | grep -v '^lib/serve/http\.c$' |
        xargs grep -nHE '#include *[<"]microhttpd\.h'
    project_sources | grep -v -E '^lib/text/sp(_train\.cc|_internal\.hh|\.cc)$' |
        xargs grep -nHE '#include *[<"]sentencepiece'
    project_sources | grep -v '^lib/text/icu\.c$' | xargs grep -nHE '#include *[<"]unicode/'
}

forbidden_calls() {
    project_sources | xargs grep -nHE '\b(atoi|atol|atoll|atof|sprintf|vsprintf|strcpy|strcat|gets|tmpnam|mktemp|alloca|setlocale)\('
}

# A plugin has no access to lib/base: it prints bugs and times itself.
talk() {
    project_sources | grep '^lib/' | grep -v -e '^lib/base/' -e \
        '^lib/ops/cuda/\(plugin\|times\).cu$' -e '^lib/comm/mpi/' |
        xargs grep -nHE '\b(v?d?printf|v?fprintf|f?puts|f?putc|putchar|fwrite|perror|exit|_exit|abort)\('
}

# Text for people is escaped in one way (tf_escape).
escapes() {
    project_sources | grep '^lib/' | grep -v '^lib/base/err\.c$' | xargs grep -nHF '\\x'
}

library_work() {
    project_files | grep '^cmd/.*\.c$' | xargs -r grep -nHE \
        '\b(malloc|calloc|realloc|tf_x(malloc|calloc|array)|tf_cbor_[a-z]+)\('
}

# A header of cmd/ has macros: what it defined would be there once for each tool, used or not.
header_statics() {
    project_files | grep '^cmd/.*\.h$' | xargs -r grep -nHE '^static '
}

bad_space() {
    project_sources | xargs grep -nHP '\t|[ \r]$'
}

@test "the rules see what breaks them" {
    [ "$(project_sources | wc -l)" -gt 100 ]
    TOP=$T
    cd "$T"
    mkdir -p lib/base lib/text cmd
    printf '%s\n' '#include <cbor.h>' '#include <cuda.h>' '#include <mpi.h>' \
        '#include <microhttpd.h>' '#include <sentencepiece_processor.h>' \
        '#include <unicode/ubrk.h>' >lib/base/a.c
    printf '%s\n' 'sprintf(x);' 'snprintf(x);' 'fputs(x);' 'vdprintf(x);' 'exit(1);' >lib/text/b.c
    printf '%s\n' '"\\x%02x"' '"\x1b"' >lib/text/c.c
    printf '%s\n' 'p = malloc(1);' 'tf_cbor_uint(1);' 'x = 1; ' >cmd/tf-x.c
    printf '%s\n' '#define X(p) OPT(p)' 'static int x;' >cmd/x.h
    output=$(header_statics)
    expect_output 'cmd/x.h:2:static int x;'
    output=$(foreign_headers)
    expect_output 'lib/base/a.c:1:#include <cbor.h>
lib/base/a.c:2:#include <cuda.h>
lib/base/a.c:3:#include <mpi.h>
lib/base/a.c:4:#include <microhttpd.h>
lib/base/a.c:5:#include <sentencepiece_processor.h>
lib/base/a.c:6:#include <unicode/ubrk.h>'
    output=$(forbidden_calls)
    expect_output 'lib/text/b.c:1:sprintf(x);'
    output=$(talk | cut -d: -f2 | xargs)
    expect_output '3 4 5'
    output=$(escapes)
    expect_output 'lib/text/c.c:1:"\\x%02x"'
    output=$(library_work | cut -d: -f2 | xargs)
    expect_output '1 2'
    output=$(bad_space)
    expect_output 'cmd/tf-x.c:3:x = 1; '
}

@test "cbor.h only in lib/cbor, CUDA in lib/ops/cuda, MPI in lib/comm/mpi, SentencePiece in lib/text/sp*.cc, ICU in icu.c" {
    foreign_headers | expect_none "headers of other places"
}

@test "no call without a bound, no locale" {
    forbidden_calls | expect_none "forbidden calls"
}

@test "only lib/base prints, exits or aborts" {
    talk | expect_none "talk in the library"
}

@test "only lib/base/err.c writes escapes of bytes" {
    escapes | expect_none "escapes of bytes"
}

@test "commands hold no loops over tensors, no allocation, no format bytes" {
    library_work | expect_none "work that belongs into lib"
    header_statics | expect_none "definitions in headers of cmd"
}

# Of the files named on stdin, those whose first line is that of a script, for example of bash|bats.
scripts() {
    xargs awk -v what="$1" 'FNR == 1 { if ($0 ~ "^#!.*(" what ")") print FILENAME; nextfile }'
}

# The files that are code: by their names, or by their first line.
code_files() {
    project_files | grep -vE '^tests/(golden/[^.]*|fuzz/corpus/.*)$|\.(md|txt|[1-7])$' >"$T/all"
    {
        grep -E '\.([ch]|cc|cu|cuh|py|bats|bash|mk)$|Makefile$' "$T/all"
        scripts . <"$T/all"
    } | sort -u
}

# Lines over 100 columns in the files named on stdin. In scripts a long string may stay whole: its
# text does not count.
wide_lines() {
    LC_ALL=C.UTF-8 xargs grep -nHE '^.{101}' | LC_ALL=C.UTF-8 awk '{
        file = $0; sub(/:.*/, "", file); line = $0; sub(/^[^:]*:[^:]*:/, "", line)
        if (file !~ /\.(c|h|cc|cu|cuh)$/) gsub(/\047[^\047]*\047?|"(\\.|[^"\\])*"?/, "", line)
        if (length(line) > 100) print }'
}

@test "lines have at most 100 columns" {
    code_files | wide_lines | expect_none "lines too long"
}

@test "the check of columns sees long lines, but not long strings in scripts" {
    cd "$T"
    x=$(printf '%0100d' 0)
    printf '%s\n' "$x" "int $x;" "f(\"$x\");" >a.c
    printf '%s\n' "echo '$x'" "echo \"a\\\"$x\"" "echo $x" >b.bats
    output=$(printf 'a.c\nb.bats\n' | wide_lines | cut -d: -f1,2)
    expect_output $'a.c:2\na.c:3\nb.bats:3'
}

@test "nothing is marked as unfinished" {
    project_files | grep -E '^(cmd|lib|formats|pipelines|man|examples|README)' |
        xargs grep -nE '\b(TODO|FIXME|XXX)\b|not implemented' | expect_none "unfinished"
}

@test "no path of one machine" {
    project_files | grep -v '^tests/lint/' | xargs grep -InE \
        '(^|[^a-zA-Z0-9_.$}])/(home|root|work|mnt|Users)/[a-z]' | expect_none "machine paths"
}

@test "no source does more than one job" {
    project_sources | xargs wc -l | awk '$2 != "total" && $1 > 900' | expect_none "over 900 lines"
    code_files | grep '^tests/' | xargs wc -l |
        awk '$2 != "total" && $1 > 900' | expect_none "tests over 900 lines"
    project_files | grep '^cmd/.*\.c$' | xargs -r awk '/^static struct tf_opt .*\[\] = \{/ { rows = 1 } !rows { n[FILENAME]++ } /^};/ { rows = 0 }
        END { for (f in n) if (n[f] > 190) print f ": " n[f] }' | expect_none "commands over 190 lines without their options"
}

# Those of releases never change.
@test "golden files have at most 600 KB" {
    size=$(project_files | grep '^tests/golden/' | grep -v '^tests/golden/files/' | xargs cat | wc -c)
    [ "$size" -le $((600 * 1024)) ] || { echo "$size bytes in tests/golden" >&2; return 1; }
}

@test "no tab, no trailing blank, no CR in sources" {
    bad_space | expect_none "white space"
}

@test "every header compiles alone" {
    need gcc
    # Tables written by a script have one includer. What the source of its name includes first
    # compiles alone there.
    project_sources | grep '\.h$' | grep -vE '_data(_private)?\.h$' | while read -r h; do
        own=${h%.h}
        own=${own%_private}
        [ "$(cat "$own".{c,cu,cc} 2>/dev/null | grep -m 1 '^#include')" != "#include \"${h#lib/}\"" ] ||
            continue
        # What the Makefile defines for the files that are compiled several times.
        compile='gcc -std=c11 -x c'
        case $h in
            lib/ops/cuda/* | tests/emulate/*) compile='g++ -std=c++20 -x c++' \
                flags='-DTF_EMULATE -Itests/emulate' ;; # as the emulation compiles them
            lib/ops/ref/*) flags='-DTF_REAL=float -DTF_REF_NAME=f32' ;;
            lib/ops/cpu/*) flags='-DTF_ISA=generic' ;;
            *) flags= ;;
        esac
        # shellcheck disable=SC2086
        printf '#include "%s"\nstruct tf_lint_unit { int unused; };\n' "${h#lib/}" |
            $compile -D_GNU_SOURCE $flags -Ilib -I"$(dirname "$h")" -Wall -Wextra -Wno-unused \
                -Wno-unknown-pragmas -fsyntax-only - 2>&1 | sed "s|^|$h: |"
    done | expect_none "headers"
}

@test "every exported symbol starts with tf_" {
    need nm
    nm -g --defined-only "${TF_BUILD:-build}/libtf.a" >"$T/symbols"
    <"$T/symbols" awk 'NF == 3 && $3 !~ /^(tf_|__odr_asan)/ { print $3 }' | expect_none "libtf.a"
    [ ! -e "${TF_BUILD:-build}/libtf-sp.a" ] ||
        nm -g --defined-only "${TF_BUILD:-build}/libtf-sp.a" 2>/dev/null |
            awk 'NF == 3 && $2 ~ /[TDBR]/ && $3 !~ /^(tf_|__odr_asan|_Z)/ { print $3 }' |
            expect_none "libtf-sp.a"
}

@test "scripts pass shellcheck" {
    need shellcheck
    {
        project_files | scripts 'bash|bats|/bin/sh'
        project_files | grep '\.bash$'
    } | sort -u | xargs -r shellcheck -x -S warning \
        -e SC1090,SC1091,SC2030,SC2031,SC2034,SC2154,SC2164 2>&1 | expect_none "shellcheck"
}

@test "test scripts can be run" {
    project_files | grep '\.bats$' | while read -r f; do
        [ -x "$f" ] || echo "$f: not executable"
        [ "$(head -1 "$f")" = '#!/usr/bin/env bats' ] || echo "$f: first line"
        grep -Eq '^load (\.\./cli/)?helper$' "$f" || echo "$f: load helper"
    done | expect_none "bats files"
}
