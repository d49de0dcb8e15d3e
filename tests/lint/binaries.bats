#!/usr/bin/env bats
# How the programs are linked: what the Makefile requests as `harden` is in them.
load ../cli/helper

prepare() {
    need readelf
    BIN=${TF_BIN:-$TOP/build/bin}
    BUILD=${TF_BUILD:-$TOP/build}
}

# What a program or library lacks, one word a line: weaknesses FILE
weaknesses() {
    readelf -hlWd "$1" >elf || return 1
    grep -q '^ *Type: *DYN' elf || echo pie
    grep -q '^ *GNU_RELRO' elf || echo relro
    grep -qE '\(BIND_NOW\)|\(FLAGS(_1)?\).*NOW' elf || echo now
    grep -qE '^ *GNU_STACK .* RW  ' elf || echo noexecstack
    # RWE, and a segment that the dynamic linker would make writable for relocations of code.
    ! grep -qE '^ *LOAD .* RWE ' elf || echo writable-code
    ! grep -q '(TEXTREL)' elf || echo writable-code
}

# What a program lacks besides: canaries, checked functions of the C library.
unchecked() {
    readelf -W --dyn-syms "$1" >symbols || return 1
    grep -q '__stack_chk_fail' symbols || echo canaries
    grep -q '__memcpy_chk\|__snprintf_chk' symbols || echo fortify
}

# Options of gcc that leave no mark in every program. Kernels need no zeroed variables, see `kernel`
# in the Makefile.
hardening=(-fstack-clash-protection -ftrivial-auto-var-init=zero)

# The sources of a program that gcc compiled without one of them, and that option, as the debug
# information records it: unhardened FILE
unhardened() {
    readelf -W --debug-dump=info --dwarf-depth=1 "$1" 2>/dev/null |
        sed -nE 's/.* (DW_AT_(producer|name)) *: (\([^)]*\)[ :]*)*/\1 /p' >units
    local key text options='' option
    while read -r key text; do
        [ "$key" = DW_AT_name ] || { options=" $text "; continue; }
        # The later one counts.
        [[ $options != *=uninitialized* || $text = lib/ops/cpu/* ]] ||
            options=${options/ -ftrivial-auto-var-init=zero / }
        for option in "${hardening[@]}"; do
            [[ $options == *" $option "* ]] || echo "$text $option"
        done
    done <units
    grep -q '^DW_AT_producer GNU C' units || echo "no-options"
}

@test "every program is position-independent, read-only after relocation, with no code on its stack" {
    found=0
    for f in "$BIN"/tf-*; do
        [ -z "$(weaknesses "$f")" ] || { echo "$f: $(weaknesses "$f" | tr '\n' ' ')" >&2; return 1; }
        found=$((found + 1))
    done
    [ "$found" -ge 14 ]
}

@test "every program checks its stack and the C library's buffers" {
    for f in "$BIN"/tf-*; do
        case $f in *.so) continue ;; esac
        [ -z "$(unchecked "$f")" ] || { echo "$f: $(unchecked "$f" | tr '\n' ' ')" >&2; return 1; }
    done
}

@test "every source is compiled with probed stacks and zeroed variables" {
    need gcc
    local known=()
    for option in "${hardening[@]}"; do
        gcc -Werror "$option" -x c -c -o /dev/null /dev/null 2>/dev/null && known+=("$option")
    done
    hardening=("${known[@]}")
    for f in "$BIN"/tf-*; do
        case $f in *.so) continue ;; esac
        missing=$(unhardened "$f")
        [ "$missing" != no-options ] || skip "the programs do not record the options of gcc"
        [ -z "$missing" ] || { echo "$f: $missing" >&2; return 1; }
    done
}

@test "C++ checks the bounds of its containers" {
    need g++
    echo '#include <vector>
    int f(std::vector<int> &v, unsigned i) { return v[i]; }' >checked.cc
    g++ -O2 -D_GLIBCXX_ASSERTIONS -c checked.cc
    nm checked.o >symbols
    grep -q __glibcxx_assert_fail symbols || skip "this library has no function for it"
    for f in "$TOP"/lib/text/*.cc; do
        f=$(basename "$f" .cc).o
        nm "$BUILD/lib/text/$f" >symbols
        grep -q __glibcxx_assert_fail symbols || { echo "$f" >&2; return 1; }
    done
}

# The start files of a distribution may lack the mark, and then so do the programs.
@test "every object of the library marks its targets of indirect jumps" {
    [ "$(uname -m)" = x86_64 ] || skip "x86 only"
    find "$BUILD/lib" -name '*.o' ! -path '*/ops/cuda/*' >objects
    [ "$(wc -l <objects)" -gt 100 ]
    while read -r f; do
        case $(readelf -nW "$f" 2>/dev/null) in
            *IBT*SHSTK*) ;;
            *) echo "$f" >&2; return 1 ;;
        esac
    done <objects
}

@test "the check sees what is missing" {
    need gcc
    echo 'int main(void) { return 0; }' >weak.c
    t 0 gcc -no-pie -Wl,-z,norelro,-z,lazy,-z,execstack -o weak weak.c
    [ "$(weaknesses weak | xargs)" = "pie relro now noexecstack" ]
    [ "$(unchecked weak | xargs)" = "canaries fortify" ]
    [ "$(unhardened weak)" = no-options ]
    gcc -g -fno-stack-clash-protection "${hardening[1]}" -o weak weak.c
    [ "$(unhardened weak)" = "weak.c ${hardening[0]}" ]
    gcc -g "${hardening[@]}" -ftrivial-auto-var-init=uninitialized -o weak weak.c
    [ "$(unhardened weak)" = "weak.c ${hardening[1]}" ]
    gcc -g "${hardening[@]}" -o weak weak.c
    [ -z "$(unhardened weak)" ]
}
