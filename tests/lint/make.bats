#!/usr/bin/env bats
# The Makefile's own promises: install and uninstall, what `deps` installs, silence on a bare
# machine, failing when it must.
# bats file_tags=first
load ../cli/helper

prepare() {
    # Variables of this make would pass to the makes that it runs.
    unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES CUDA DEPS DESTDIR PREFIX BINDIR LIBDIR MANDIR \
        DATADIR TESTS
    # As the tree was built that own_build copies: its kernels would take a minute.
    [ -e "${TF_BIN:-$TOP/build/bin}/tf-backend-cuda.so" ] || export CUDA=no
    mkdir "$T/bin"
}

top_make() {
    local want=$1
    shift
    run --separate-stderr timeout 600 make --no-print-directory -C "$TOP" SAN="${TF_SAN:-}" "$@" \
        </dev/null
    expect_status "$want"
}

# A build tree of the test's own with everything built, for what would build again in one that other
# tests use.
own_build() {
    mkdir build
    (cd "${TF_BUILD:-$TOP/build}" && cp -a bin cmd commit flags lib libtf.a libtf-sp.a "$T/build/")
    top_make 0 B="$T/build" "$T/build/flags" # of this make's own variables
}

# A command that writes its name and arguments to the log, then runs the rest.
fake() {
    printf '#!/bin/sh\necho "%s $*" >>"%s/log"\n%s\n' "$1" "$T" "${2:-}" >"$T/bin/$1"
    chmod +x "$T/bin/$1"
}

@test "in a path with a blank the tests say at once that they need one without" {
    mkdir 'a b'
    cp "$TOP/Makefile" "$TOP/VERSION" 'a b'
    for goal in check lint run-tests check-asan; do
        run --separate-stderr make -C 'a b' $goal
        expect_status 2
        expect_error "$T/a b: tests need a path without blanks; the build and the tools do not"
    done
    t 0 make -C 'a b' help
}

@test "install puts everything below DESTDIR, uninstall takes all of it away" {
    own_build
    top_make 0 install B="$T/build" DESTDIR="$T/dest" PREFIX=/opt/tf
    for p in "${TF_BIN:-$TOP/build/bin}"/tf-*; do
        p=$(basename "$p")
        case $p in
            *.so) [ -e "dest/opt/tf/lib/tf/$p" ] ;;
            *) [ -x "dest/opt/tf/bin/$p" ]
               [ -s "dest/opt/tf/share/bash-completion/completions/$p" ]
               [ -s "dest/opt/tf/share/zsh/site-functions/_$p" ]
               [ -s "dest/opt/tf/share/fish/vendor_completions.d/$p.fish" ] ;;
        esac
    done
    for p in "$TOP"/man/*.[157]; do
        [ ! -e "$p" ] || [ -s "dest/opt/tf/share/man/man${p##*.}/$(basename "$p")" ]
    done
    [ -s dest/opt/tf/share/doc/tf-tools/formats/README.md ]
    [ -s dest/opt/tf/share/doc/tf-tools/LICENSE ]
    cmp "$TOP/README.md" dest/opt/tf/share/doc/tf-tools/README.md
    for f in examples/demo/run examples/swap/tfs.py formats/tf.cddl pipelines/text.mk; do
        cmp "$TOP/$f" "dest/opt/tf/share/doc/tf-tools/$f"
    done
    [ -x dest/opt/tf/share/doc/tf-tools/examples/demo/run ]
    for _ in once again; do
        top_make 0 uninstall DESTDIR="$T/dest" PREFIX=/opt/tf
        [ "$(find dest)$stderr" = $'dest\ndest/opt' ]
    done
}

# A tree with one tool that does nothing, in x: what is built is the same, in a second.
small_tree() {
    mkdir -p x/cmd x/lib/ops/cpu x/tests
    cp "$TOP"/{Makefile,VERSION,*.md,LICENSE} x/
    cp "$TOP/lib/README.md" x/lib/
    cp "$TOP/tests/README.md" x/tests/
    touch x/lib/ops/cpu/sets.def
    echo 'int main(void) { return 0; }' >x/cmd/tf-x.c
}

small_make() {
    t 0 make -C x --no-print-directory CUDA=no MPI=no "$@"
}

@test "install after make writes nothing into the build tree, which may be another user's" {
    small_tree
    small_make all
    before=$(find x/build -mindepth 1 -printf '%p %T@\n' | sort)
    small_make install DESTDIR="$T/dest"
    [ "$(find x/build -mindepth 1 -printf '%p %T@\n' | sort)" = "$before" ]
    [ -e dest/usr/local/share/fish/vendor_completions.d/tf-x.fish ]
}

@test "what a pipeline or an example made in the sources is not installed" {
    mkdir x
    # Without what a developer's own pipelines made.
    (cd "$TOP" && find Makefile VERSION examples formats pipelines -type d -name run -prune -o \
        -type f ! -name '*.tfs' -print0 | xargs -0 cp --parents -t "$OLDPWD/x")
    mkdir -p x/pipelines/run/text-en-de
    touch x/pipelines/run/text-en-de/train.en x/examples/swap/b.tfs
    t 0 make -C x --no-print-directory -n CUDA=no MPI=no B=b install
    expect_contains "$output" " examples/demo/run '/usr/local/share/doc/tf-tools/examples/demo/run'"
    expect_contains "$output" " pipelines/text.mk "
    [[ $output != *train.en* && $output != *tfs\ * ]]
}

@test "LDLIBS: an object that changes links the programs again, another list builds all again" {
    small_tree
    more() {
        echo "int more = $1;" | cc -x c -c -o more.o -
        small_make tools LDLIBS="$T/more.o"
    }
    small_make tools
    more 1
    expect_contains "$output" "CC   cmd/tf-x.o"
    small_make tools LDLIBS="$T/more.o"
    expect_output ''
    more 2
    expect_output "  LD   bin/tf-x"
}

@test "the emulation of CUDA is built for the tests that load it" {
    top_make 0 -n run-tests B="$T/b" CUDA=no TESTS='tests/cli/batch.bats tests/lint/make.bats'
    [[ $output != *emulate/tf-backend-cuda.so* ]]
    top_make 0 -n run-tests B="$T/b" CUDA=no TESTS=tests/cli/cuda.bats
    expect_contains "$output" "emulate/tf-backend-cuda.so"
    top_make 0 -n run-tests B="$T/b" CUDA=no
    expect_contains "$output" "emulate/tf-backend-cuda.so"
}

@test "install with other variables than the build's: refused, nothing is built again" {
    own_build
    top_make 2 install B="$T/build" DESTDIR="$T/dest" CFLAGS=-O1
    expect_contains "$stderr" "install: $T/build was built with other variables"
    [ ! -e dest ]
}

@test "an nvcc that is too old for C++20: no CUDA backend, and a line that says so" {
    own_build
    fake nvcc 'echo "Cuda compilation tools, release 11.8, V11.8.89"'
    top_make 2 all B="$T/build" CUDA=yes NVCC="$T/bin/nvcc"
    expect_contains "$stderr" "CUDA=yes, but nvcc 11 is too old"
    top_make 0 -n all B="$T/build" CUDA=auto NVCC="$T/bin/nvcc"
    expect_contains "$output" "CUDA no (nvcc 11 is too old)"
    [[ $output != *NVCC* ]]
}

@test "uninstall leaves what others installed, and the directories that every system has" {
    mkdir -p d/usr/local/bin d/usr/local/share/man/man1
    touch d/usr/local/share/man/man1/other.1
    small_tree
    find d >before
    small_make install DESTDIR="$T/d"
    [ -x d/usr/local/bin/tf-x ]
    mkdir -p d/usr/local/share/doc/other "$T/d/usr/local/share/fish/empty"
    small_make uninstall DESTDIR="$T/d"
    { cat before; printf 'd/usr/local/share/%s\n' doc doc/other fish fish/empty; } | sort |
        diff - <(find d | sort)
}

@test "a prefix with a space and a quote" {
    small_tree
    small_make install PREFIX="$T/it's here"
    t 0 "$T/it's here/bin/tf-x"
    small_make uninstall PREFIX="$T/it's here"
    [ ! -e "$T/it's here" ]
}

# A clone of this checkout with all uncommitted changes committed.
clone() {
    git -C "$TOP" rev-parse 2>/dev/null || skip "not a git checkout: make dist is not tested"
    export GIT_CONFIG_GLOBAL=$T/gitconfig
    git config --global user.name t
    git config --global user.email t@example.org
    git config --global safe.directory '*'
    git clone -q "$TOP" clone
    (cd "$TOP" && git ls-files -z --cached --others --exclude-standard) |
        (cd "$TOP" && xargs -0 ls -d 2>/dev/null) |
        (cd "$TOP" && tar -cf - -T -) | tar -C clone -xf -
    git -C clone add -A
    git -C clone commit -q --allow-empty -m all
}

# The version that a tree builds into its tools.
built_version() {
    make -s -C "$1" CUDA=no B=b b/lib/base/version.o >/dev/null
    strings "$1/b/lib/base/version.o" | grep '^[0-9]*\.[0-9]*\.[0-9]*' | sort | tail -n 1
}

@test "dist packs what is committed; the tarball knows its commit, in whatever git repository" {
    need strings
    clone
    release=$(cut -d ' ' -f 1 "$TOP/VERSION")
    commit=$(git -C clone rev-parse HEAD | cut -c 1-12)
    t 0 make -s -C clone SAN= B=build dist
    expect_output "build/tf-tools-$release+$commit.tar.gz"
    cp "clone/$output" first.tar.gz
    git clone -q clone in/another/place
    t 0 make -s -C in/another/place SAN= B=build dist
    cmp "in/another/place/$output" first.tar.gz
    [ "$(built_version clone)" = "$release+$commit" ]
    echo change >>clone/README.md
    [ "$(built_version clone)" = "$release+$commit.dirty" ]
    sed -i 's/^[^ ]*/98.7.6/' clone/VERSION
    [ "$(built_version clone)" = "98.7.6+$commit.dirty" ]
    git -C clone checkout -q VERSION
    t 0 make -s -C clone SAN= B=build dist
    expect_error "dist: without the uncommitted changes"
    cmp "clone/$output" first.tar.gz
    git init -q .
    git commit -q --allow-empty -m other
    tar -xf first.tar.gz
    dir=tf-tools-$release+$commit
    diff <(git -C clone ls-files | sort) <(cd "$dir" && find . -type f | cut -c 3- | sort)
    [ "$(built_version "$dir")" = "$release+$commit" ]
    t 2 make -s -C "$dir" SAN= B=build dist
    expect_contains "$stderr" "dist: this is not a git checkout"
    # Files without git and without a commit: the release alone.
    cp "$TOP/VERSION" "$dir/"
    if [[ $(cat "$dir/VERSION") == *Format* ]]; then
        [ "$(built_version "$dir")" = "$release" ]
    fi
    git -C clone tag "v$release"
    t 0 make -s -C clone SAN= B=build dist
    expect_output "build/tf-tools-$release.tar.gz"
}

@test "VERSION, CHANGELOG.md and debian/changelog name the same release" {
    release=$(cut -d ' ' -f 1 "$TOP/VERSION")
    [[ $(grep -m 1 '^## ' "$TOP/CHANGELOG.md") == "## $release - "* ]]
    [[ $(head -n 1 "$TOP/debian/changelog") == "tf-tools ($release) "* ]]
}

@test "a directory with a quote in its name is one to build in" {
    mkdir "it's"
    cp -r "$TOP/Makefile" "$TOP/lib" "it's/"
    t 0 make -C "it's" --no-print-directory CUDA=no B=b b/lib/base/utf8.o
    expect_output "  CC   lib/base/utf8.o"
    sh_t 0 'make -C "$1" --no-print-directory CUDA=no B=b DEPS=no -n demo | bash -n' "it's"
}

@test "an installed tool finds the installed plugin, whatever LIBDIR the build had" {
    own_build
    top_make 0 install B="$T/build" PREFIX="$T/opt" LIBDIR="$T/elsewhere/lib64" CUDA=no
    mkdir -p "$T/elsewhere/lib64/tf" "$T/opt/lib/tf"
    echo 'not a plugin' >"$T/elsewhere/lib64/tf/tf-backend-cuda.so"
    # Without NVIDIA's driver no plugin is looked for.
    mkdir driver
    "${CC:-cc}" -shared -o driver/libcuda.so.1 -x c /dev/null
    export LD_LIBRARY_PATH=$PWD/driver
    t 0 "$T/opt/bin/tf-info" --devices
    expect_contains "$output" "$T/elsewhere/lib64/tf/tf-backend-cuda.so: "
    mv "$T/elsewhere/lib64/tf/tf-backend-cuda.so" "$T/opt/lib/tf/"
    t 0 "$T/opt/bin/tf-info" --devices
    expect_contains "$output" "/opt/bin/../lib/tf/tf-backend-cuda.so: "
}

@test "deps installs what is missing, and only that" {
    fake dpkg-query 'case $4 in gcc | mandoc) exit 1 ;; *) echo "install ok installed" ;; esac'
    fake apt-get
    fake sudo '"$@"'
    PATH="$T/bin:$PATH" top_make 0 deps
    grep -q '^apt-get update' log
    grep -q '^apt-get install .* gcc mandoc$' log
    [ "$(grep -c '^apt-get' log)" = 2 ]
}

@test "deps leaves a complete machine alone" {
    fake dpkg-query 'echo "install ok installed"'
    fake apt-get
    PATH="$T/bin:$PATH" top_make 0 deps
    run -1 grep apt-get log
}

@test "demo builds by all processors, or by as many as -j says" {
    small_tree
    small_make -n DEPS=no JOBS=3 demo
    expect_contains "$output" " -j3 all"
    small_make -n DEPS=no JOBS=3 -j2 demo
    [[ $output != *" -j3 all"* && $stderr != *jobserver* ]]
}

@test "only check and demo call deps, and DEPS=no stops them" {
    fake dpkg-query 'exit 1'
    for target in all install bench lint help; do
        PATH="$T/bin:$PATH" top_make 0 -n "$target"
        [[ $output != *dpkg-query* ]]
    done
    PATH="$T/bin:$PATH" top_make 0 -n maybe-deps
    [[ $output == *dpkg-query* ]]
    PATH="$T/bin:$PATH" top_make 0 -n maybe-deps DEPS=no
    [[ $output != *dpkg-query* ]]
}

@test "a machine without compiler and pkg-config: help is quiet" {
    for c in sh bash sed expand uname mkdir cmp printf echo make; do
        ln -s "$(type -P "$c")" bin/
    done
    run --separate-stderr env -i PATH="$T/bin" make -C "$TOP" --no-print-directory help
    expect_status 0
    [ -z "$stderr" ]
    expect_contains "$output" "install"
}

@test "a missing library is one line that names make deps" {
    local missing header
    for missing in libcbor:cbor.h ICU:unicode/ubrk.h zlib:zlib.h \
        SentencePiece:sentencepiece_processor.h; do
        header=${missing#*:}
        printf '#!/bin/sh\ncase "$*" in *-E*) ! grep -q "%s" ;; esac\n' "$header" >bin/cc
        chmod +x bin/cc
        top_make 2 CUDA=no B="$T/b" CC="$T/bin/cc" CXX="$T/bin/cc" "$T/b/flags"
        [ "${stderr_lines[0]}" = "tf-tools: ${missing%:*} not found: run \`make deps\`" ]
        [ ! -e b/flags ]
    done
    top_make 2 CUDA=no B="$T/b" CXX=no-such-compiler "$T/b/flags"
    [ "${stderr_lines[0]}" = "tf-tools: C++ compiler not found: run \`make deps\`" ]
}

@test "CUDA=yes without nvcc is an error, other words too" {
    run --separate-stderr make -C "$TOP" -n help CUDA=yes NVCC=no-such-nvcc
    expect_status 2
    expect_contains "$stderr" "CUDA=yes"
    run --separate-stderr make -C "$TOP" -n help CUDA=maybe
    expect_status 2
    top_make 0 -n help CUDA=no
}

@test "GNU's names of directories, which are not ours, are refused" {
    top_make 2 install prefix=/opt
    expect_error "prefix=/opt: the name is in capital letters here"
    # Those of a make that calls this one.
    top_make 0 -n help prefix=/opt PREFIX=/opt CUDA=no
}

@test "check fails when there are no tests, and when one fails" {
    top_make 2 -o all run-tests TESTS=
    expect_contains "$stderr" "no tests"
    printf '#!/bin/sh\necho "not ok 1 - no"; echo 1..1\n' >bad.t
    chmod +x bad.t
    top_make 2 -o all run-tests TESTS="$T/bad.t" # without a build in the tree of other tests
    expect_contains "$output" "Result: FAIL"
}

@test "SentencePiece is linked into tf-tokenize only, ICU where text is split, zlib where gzip is" {
    need readelf
    for p in "${TF_BIN:-$TOP/build/bin}"/tf-*; do
        [[ $p == *.so ]] && continue
        libs=$(readelf -d "$p" | grep NEEDED)
        [[ $libs != *blas* ]]
        [ "$(basename "$p")" = tf-tokenize ] || [[ $libs != *sentencepiece* && $libs != *stdc++* ]]
        case ${p##*/} in
        tf-serve | tf-split | tf-translate) ;;
        *) [[ $libs != *icu* ]] ;;
        esac
        case ${p##*/} in # they read text, a glossary or a vocabulary
        tf-batch | tf-bleu | tf-cbor | tf-convert | tf-decode | tf-evalb | tf-info | tf-plot | \
            tf-rerank | tf-serve | tf-split | tf-tokenize | tf-train | tf-translate | tf-tree) ;;
        *) [[ $libs != *libz.* ]] ;;
        esac
    done
}

@test "no program holds the name of the directory that it was built in" {
    for p in "${TF_BIN:-$TOP/build/bin}"/tf-*; do
        ! grep -qF "$TOP/" "$p" || { echo "$p does" >&2; return 1; }
    done
}

@test "the kernels are those of the compiler's target" {
    fake cc 'echo aarch64-linux-gnu'
    top_make 0 -n CUDA=no B="$T/b" CC="$T/bin/cc" "$T/b/lib/ops/cpu/int8.neondot.o"
    expect_contains "$output" " -DTF_SETS_ARM "
    top_make 2 -n CUDA=no B="$T/b" CC="$T/bin/cc" "$T/b/lib/ops/cpu/fp32.avx2.o"
    fake cc 'echo riscv64-linux-gnu'
    top_make 0 -n CUDA=no B="$T/b" CC="$T/bin/cc" "$T/b/lib/ops/cpu/fp32.generic.o"
    [[ $output != *TF_SETS* ]]
    top_make 2 -n CUDA=no B="$T/b" CC="$T/bin/cc" "$T/b/lib/ops/cpu/fp32.neon.o"
}

@test "ARCH: a cross build whose libraries deps unpacks in the build tree" {
    fake dpkg-query 'case $4 in *aarch64*) exit 1 ;; *) echo "install ok installed" ;; esac'
    fake apt-get 'for a; do case $a in Dir::Cache=*) : >"${a#*=}/archives/a.deb" ;; esac; done'
    fake dpkg-deb 'mkdir -p "$3/usr/lib/aarch64-linux-gnu"'
    fake sudo '"$@"'
    PATH="$T/bin:$PATH" top_make 0 deps ARCH=arm64 B="$T/b"
    grep -q '^apt-get .*APT::Architecture=arm64 .* install .* --download-only .*libcbor-dev' log
    grep -q '^apt-get install .* g++-aarch64-linux-gnu gcc-aarch64-linux-gnu$' log
    [ -L b/sysroot/usr/lib/aarch64-linux-gnu/libopenblas.so.0 ]
    [ "$(ls b)" = sysroot ]
    fake dpkg-query 'echo "install ok installed"'
    : >log
    PATH="$T/bin:$PATH" top_make 0 deps ARCH=arm64 B="$T/b"
    run -1 grep apt-get log

    top_make 0 -n ARCH=arm64 B="$T/b" "$T/b/lib/base/err.o"
    expect_contains "$output" "aarch64-linux-gnu-gcc "
    expect_contains "$output" " --sysroot=$T/b/sysroot "
    top_make 2 -n ARCH=vax help
    expect_contains "$stderr" "ARCH=vax: only arm64 is known"
    ARCH=vax top_make 0 -n help # other projects use the variable, too
}
