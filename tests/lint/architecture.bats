#!/usr/bin/env bats
# The architecture of lib/: layers, no cycles, every name once. See tests/lint/architecture.
load ../cli/helper
load files

prepare() { cd "$TOP" || return 1; }

architecture() {
    "$TF_PYTHON" "$TOP/tests/lint/architecture" "$@"
}

# Files of the test's own directory: plant PATH TEXT
plant() {
    mkdir -p "$(dirname "$T/$1")"
    printf '%b' "$2" >"$T/$1"
}

@test "a layer or room includes itself and those before it, and no files include each other" {
    architecture includes >"$T/found"
    expect_none "includes" <"$T/found"
}

@test "the check of includes sees a later layer or room, another backend and cycles" {
    plant lib/base/err.h ''
    plant lib/base/a.c '#include "base/err.h"\n#include "cbor/cbor.h"\n'
    plant lib/cbor/cbor.h ''
    plant lib/ops/ref/x.h ''
    plant lib/ops/cpu/y.h ''
    plant lib/ops/cpu/b.c '#include "ops/cpu/y.h"\n#include "ops/ref/x.h"\n#include "y.h"\n'
    plant lib/text/c.h '#include "text/d.h"\n'
    plant lib/text/d.h ''
    plant lib/text/d.c '#include "c.h"\n#include "d.h"\n'
    plant lib/odd.h ''
    plant lib/train/ranks/e.h ''
    plant lib/train/ranks/h.c '#include "train/ranks/e.h"\n#include "train/step/f.h"\n'
    plant lib/train/step/f.h ''
    plant lib/train/step/f.c '#include "train/step/f.h"\n#include "train/ranks/e.h"\n'
    plant lib/train/g.c ''
    plant cmd/tf-x.c '#include "text/c.h"\n'
    cd "$T"
    output=$(architecture includes)
    expect_output 'lib/base/a.c:2: #include "cbor/cbor.h"
lib/odd.h: not in a layer
lib/ops/cpu/b.c:2: #include "ops/ref/x.h"
lib/train/g.c: not in a room
lib/train/step/f.c:2: #include "train/ranks/e.h"
cycle: lib/text/c lib/text/d'
}

@test "no files call each other in a circle" {
    architecture calls >"$T/found"
    expect_none "circles" <"$T/found"
}

@test "the check of calls sees a circle, also with a part of a file" {
    plant lib/base/a.c 'int tf_a(int x)\n{\n    return tf_b(x);\n}\n'
    plant lib/base/a_more.c 'int tf_b(int x)\n{\n    return tf_c(x);\n}\n'
    plant lib/base/c.c 'int tf_c(int x)\n{\n    /* tf_a(x) */\n    return x;\n}\n'
    cd "$T"
    output=$(architecture calls)
    expect_output ''
    plant lib/base/c.c 'int tf_c(int x)\n{\n    return tf_a(x);\n}\n'
    output=$(architecture calls)
    expect_output 'circle of calls: lib/base/a lib/base/a_more lib/base/c'
}

@test "a header that only its own folder uses is NAME_private.h, and no other is" {
    architecture headers >"$T/found"
    expect_none "headers" <"$T/found"
}

@test "the check of headers sees a private one elsewhere, and one that should be private" {
    plant lib/base/a_private.h ''
    plant lib/base/a.c '#include "base/a_private.h"\n#include "b.h"\n'
    plant lib/base/b.h ''
    plant lib/base/c.h ''
    plant lib/base/d_private.h \
        'struct tf_d {\n    int x;\n};\nstruct tf_e {\n    int x;\n};\nint tf_f(struct tf_d *d);\n'
    plant lib/base/e.h '#include "d_private.h"\nstruct tf_e;\n'
    plant lib/text/c.c '#include "base/c.h"\n#include "base/a_private.h"\n#include "base/e.h"\n'
    plant lib/text/d.c '#include "base/e.h"\nint g(struct tf_e *e, struct tf_d d)\n{\n    return tf_f(&d);\n}\n'
    cd "$T"
    output=$(architecture headers)
    expect_output 'lib/text/c.c:2: #include "base/a_private.h"
lib/text/d.c: struct tf_d is in lib/base/d_private.h
lib/text/d.c: tf_f is in lib/base/d_private.h
lib/base/b.h: only its own folder uses it'
}

@test "a function is in the source of the header that declares it" {
    architecture declared >"$T/found"
    expect_none "declarations" <"$T/found"
}

@test "the check of declarations sees a function of another source" {
    plant lib/base/a.h '#define X(n) \\\n    int tf_y(int n);\n/* int tf_z(void); */\nint tf_a(int x);\n'
    printf '%s\n' 'int tf_b(int x,' '         int (*f)(int)) TF_MUST_CHECK;' \
        'static inline int tf_in(int x)' '{' '    return tf_b(x, 0);' '}' 'int tf_part(void);' \
        'typedef int tf_c(int x);' >>"$T/lib/base/a.h"
    plant lib/base/a.c 'int tf_a(int x)\n{\n    return x;\n}\n'
    plant lib/base/a_more.c 'int tf_part(void)\n{\n    return 1;\n}\n'
    plant lib/base/b.c 'int tf_b(int x,\n         int (*f)(int))\n{\n    return x;\n}\nint tf_z(void)\n{\n    return 1;\n}\n'
    plant lib/base/b.h 'int tf_a(int x);\n'
    cd "$T"
    output=$(architecture declared)
    expect_output 'lib/base/a.h: tf_b is in lib/base/b
lib/base/b.h: tf_a is in lib/base/a'
}

# The same tag may have one definition in each backend, and one in each branch of an #if.
@test "no struct, union or enum tag is defined twice, no short name of a function three times" {
    architecture names >"$T/found"
    expect_none "tags" <"$T/found"
}

@test "the check of tags sees a second definition" {
    plant lib/data/a.h \
        '/* struct tf_x { */\nenum tf_drop {\n    TF_A\n};\nstruct tf_once { int a; };\n'
    plant lib/data/b.h \
        'struct tf_drop { int x; };\nstruct tf_once *f(void);\nstruct tf_ctx { int x; };\n'
    plant lib/ops/c.c 'struct tf_ctx { int y; };\nstruct tf_y {\n};\nstruct tf_y {\n};\n'
    cd "$T"
    output=$(architecture names)
    expect_output 'tf_drop: enum in lib/data/a.h, struct in lib/data/b.h'
    for d in data ops text; do
        plant lib/$d/put.c 'static int put(int x)\n{\n    return x;\n}\nstatic void put_it(void)\n{\n}\n'
        plant lib/$d/own.c 'static void own_'$d'(void)\n{\n}\n'
    done
    output=$(architecture names)
    expect_output 'tf_drop: enum in lib/data/a.h, struct in lib/data/b.h
put: lib/data/put.c, lib/ops/put.c, lib/text/put.c'
}

# Names that more than one object file of the archives FILE... defines.
symbols_twice() {
    nm -g --defined-only "$@" >"$T/symbols" 2>"$T/nm.err" || return 1
    <"$T/symbols" awk 'NF == 3 && $2 ~ /[TDBRC]/ { print $3 }' | sort |
        uniq -d
}

@test "no exported symbol is defined twice" {
    need nm
    symbols_twice "${TF_BUILD:-build}"/libtf*.a >"$T/found"
    grep -v '^__odr_asan' "$T/found" | expect_none "symbols"
}

@test "the check of symbols sees a second definition" {
    need nm gcc ar
    cd "$T"
    echo 'int tf_x, tf_y;' | gcc -x c -c -o a.o -
    echo 'int tf_x(void) { return 0; }' | gcc -x c -c -o b.o -
    ar rcs a.a a.o b.o
    output=$(symbols_twice a.a)
    expect_output tf_x
}

@test "the table of modules adds up" {
    plant lib/base/a.c 'int f(int a)\n{\n    return a;\n}\n'
    plant lib/base/b.c '\n'
    cd "$T"
    output=$(architecture table)
    expect_contains "$output" 'lib/base                      2       5             4'
    expect_contains "$output" 'lib in all                    2       5             4'
    expect_contains "$output" '     4  f                               lib/base/a.c'
}
