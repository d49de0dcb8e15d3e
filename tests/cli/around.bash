# For tests of text with markup: tools in $BATS_FILE_TMPDIR/bin that turn the words of a sentence
# around, in capitals, in place of those that translate. `load translate` comes first.
# shellcheck shell=bash

setup_file() {
    make_aligning_model
    mkdir -p "$BATS_FILE_TMPDIR/bin"
    cp "$(command -v tf-translate)" "$BATS_FILE_TMPDIR/bin"
    cat >"$BATS_FILE_TMPDIR/bin/tf-tokenize" <<'SH'
#!/bin/sh
case " $* " in *" -d "*" --alignment hard"*) exec awk -v made="$MADE" '{
    if (made) { print made; next }
    for (i = NF; i > 0; i--) printf "%s%s", toupper($i), (i > 1 ? " " : " ||| ")
    for (i = 0; i < NF; i++) printf "%s%d-%d", (i ? " " : ""), i, NF - 1 - i
    print ""; fflush() }' ;; esac
exec cat
SH
    printf '#!/bin/sh\nexec cat\n' >"$BATS_FILE_TMPDIR/bin/tf-decode"
    # What translates text to capitals, but of tags, references and names in braces.
    cat >"$BATS_FILE_TMPDIR/bin/capitals" <<PY
#!$TF_PYTHON
import re, sys
for line in sys.stdin:
    print(re.sub("<[^>]*>|&[a-z]+;|{[^{}]*}|[^<&{]+",
                 lambda m: m[0] if m[0][0] in "<&{" else m[0].upper(), line), end="")
PY
    chmod +x "$BATS_FILE_TMPDIR"/bin/{tf-tokenize,tf-decode,capitals}
}

around() { "$BATS_FILE_TMPDIR/bin/tf-translate" -m "$MODEL" --lang en --html "$@"; }
export -f around
