#!/usr/bin/env bats
# The Debian packages: each file that is installed is in one of them, and what `make deb` runs.
# bats file_tags=plain
load ../cli/helper

prepare() { unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES DEB_BUILD_OPTIONS CUDA; }

dry() { make -C "$TOP" -n --no-print-directory DEPS=no "$@"; }

@test "each file of make install is in one package, and each line of debian/ is for some" {
    dry uninstall PREFIX=/usr LIBDIR=/usr/lib/x DESTDIR= | grep -o "remove '/[^']*'" |
        sed "s|^remove '/||; s|'$||" >files
    [ "$(wc -l <files)" -gt 150 ]
    t 0 "$TF_PYTHON" -I -c 'import fnmatch, pathlib, sys
files = open("files").read().split()
lines = [(p.name, line.split()[0]) for p in pathlib.Path(sys.argv[1]).glob("*")
         if p.suffix == ".install" or p.name == "not-installed"
         for line in p.read_text().splitlines()]
def takes(pattern, file): # a file, or a directory with all that it has
    return any(fnmatch.fnmatchcase(x, pattern) and x.count("/") == pattern.count("/")
               for x in [file, *map(str, pathlib.PurePath(file).parents)])
for file in files:
    where = {name for name, pattern in lines if takes(pattern, file)}
    if len(where) != 1:
        print(file, "is in", *where or ["no package"])
for name, pattern in lines:
    if not any(takes(pattern, file) for file in files):
        print(name, pattern, "has no file")' "$TOP/debian"
    expect_output ""
}

@test "what the build needs is what make deps installs for it" {
    dry deps MPI=yes | grep -oE '\b(lib[a-z0-9]+|zlib1g)-dev\b' | sort -u >deps
    [ "$(wc -l <deps)" -ge 6 ]
    sed -n '/^Build-Depends:/,/^$/p' "$TOP/debian/control" |
        grep -oE '\b(lib[a-z0-9]+|zlib1g)-dev\b' | grep -vx libmpich-dev | sort -u | diff deps -
}

@test "make deb builds the committed files, away from the tree" {
    git -C "$TOP" rev-parse 2>/dev/null || skip "not a git checkout"
    mkdir bin
    # shellcheck disable=SC2016
    printf '%s\n' '#!/bin/sh' 'pwd; echo "$* $DEB_BUILD_OPTIONS $MAKEFLAGS"; git rev-parse' \
        'test -x debian/rules && cut -d " " -f 2 VERSION && touch ../tf-tools_1_amd64.deb' \
        >bin/dpkg-buildpackage
    printf '#!/bin/sh\nexit $MISSING\n' >bin/dpkg-checkbuilddeps
    chmod +x bin/*
    build() {
        t "$1" env MISSING="$2" GIT_CEILING_DIRECTORIES="$T" PATH="$T/bin:$PATH" \
            make -s -C "$TOP" B="$T/b" JOBS=3 CUDA=no deb
    }
    build 0 0
    [ "${lines[0]}" = "$T/b/deb/tf-tools" ]
    [ "${lines[1]}" = "-us -uc -b parallel=3 nocheck " ]
    [ "${lines[2]}" = "$(git -C "$TOP" rev-parse HEAD)" ]
    [ "${lines[3]}" = "$T/b/deb/tf-tools_1_amd64.deb" ]
    [ ! -e b/deb/tf-tools ]
    # Of an unpacked tarball no build tree is copied, by any name.
    mkdir -p plain/lib/out plain/build-x plain/out/bin
    cp -r "$TOP"/{Makefile,VERSION,debian} plain
    printf '%s\n' '#!/bin/sh' 'find . -type d | sort; touch ../x.deb' >bin/dpkg-buildpackage
    for B in out "$T/plain/out"; do
        t 0 env GIT_CEILING_DIRECTORIES="$T" PATH="$T/bin:$PATH" make -s -C plain B="$B" CUDA=no deb
        expect_output "$(printf '%s\n' . ./debian ./debian/source ./lib ./lib/out "$B/deb/x.deb")"
    done
    build 2 1
    expect_contains "$stderr" "deb: 'sudo apt-get build-dep ./' installs what is missing"
}
