# The files of the project: those that git knows, or in a tarball all that no build made.
# shellcheck shell=bash

# Here "grep found nothing" is the good answer.
set +o pipefail

project_files() {
    (cd "$TOP" && { git ls-files 2>/dev/null || find . -type f ! -path './build*' ! -path \
        './.git/*' | sed 's|^\./||'; })
}

# Sources below lib and cmd.
project_sources() {
    project_files | grep -E '^(lib|cmd)/.*\.(c|h|cc|cu|cuh)$'
}

# Fail with what was found on stdin, if anything.
expect_none() {
    local found
    found=$(cat)
    [ -z "$found" ] || { printf '%s:\n%s\n' "$1" "$found" >&2; return 1; }
}
