#!/usr/bin/env bats
# Every command has its page, every page is clean, and both know the same options.
load ../cli/helper
load files

# The options that a page describes, one a line: from lines such as `.It Fl b , Fl Fl beam Ar N`.
page_options() {
    awk '/^\.It / {
        for (i = 2; i <= NF; i++) {
            if ($i != "Fl") continue
            name = $(++i)
            long = name == "Fl"
            if (long) name = $(++i)
            long += sub(/^\\?-/, "", name)
            print (length(name) == 1 && !long ? "-" : "--") name
        } }' "$1" | grep -vxE -- '-h|--help|--version' | sort -u
}

tool_options() {
    "$1" --list-options | tr ' ' '\n' | grep -vxE -- '-h|--help|--version' | sort -u
}

@test "the reader of pages finds every form" {
    cat >page.1 <<'PAGE'
.It Fl b , Fl Fl beam Ar N
.It Fl Fl shuffle , Fl Fl no-shuffle
.It Fl x , Fl Fl x Ar KEY
.It Fl -old-style Ns = Ns Ar x
.It Fl tok Ar NAME
.It 0
.It Fl h , Fl Fl help
The Fl q in the text is not one.
PAGE
    output=$(page_options page.1)
    expect_output "$(printf '%s\n' -b --beam --no-shuffle --old-style --shuffle --tok -x --x | \
        sort)"
}

@test "every command has a page" {
    for c in "$TOP"/cmd/tf-*.c; do
        p=$(basename "$c" .c)
        [ -e "$TOP/man/$p.1" ] || echo "man/$p.1"
    done | expect_none "missing pages"
}

@test "every page has a command" {
    for p in "$TOP"/man/tf-*.1; do
        [ ! -e "$p" ] || [ -e "$TOP/cmd/$(basename "$p" .1).c" ] || echo "$p"
    done | expect_none "pages without a command"
}

@test "pages are clean mdoc" {
    need mandoc
    for p in "$TOP"/man/*.[157]; do
        [ ! -e "$p" ] || mandoc -T lint -W warning "$p" || echo "$p"
        # What man(1) of Debian formats with, and other rules of what is a macro within a line.
        ! command -v groff >/dev/null || groff -mdoc -ww -Tutf8 -z "$p" 2>&1
    done | expect_none "mandoc"
}

# Ql takes all that follows in its line, and an argument that begins with " loses its marks.
bad_quotes() { grep -HnE '^\.(.* )?Ql .* (Ql|No) |^\.(.* )?Ql .* "[^"]*"[^" ]' "$@"; }

@test "quotations end before other words and keep their marks" {
    printf '.Pq Ql a , No or Ql b\n.Ql {"a": "b"}\n.Ql " + " ,\n.Ql a="b" ;\n.Ql {"a": 1} ,\n' >page.1
    [ "$(bad_quotes page.1 | cut -d : -f 2 | xargs)" = "1 2" ]
    bad_quotes "$TOP"/man/*.[157] | expect_none "quotations"
}

@test "pages have their sections" {
    for p in "$TOP"/man/tf-*.1; do
        [ -e "$p" ] || continue
        for s in NAME SYNOPSIS DESCRIPTION 'EXIT STATUS' EXAMPLES 'SEE ALSO'; do
            grep -qx "\.Sh $s" "$p" || echo "$(basename "$p"): no $s"
        done
    done | expect_none "sections"
}

@test "pages and tools have the same options" {
    for c in "$TOP"/cmd/tf-*.c; do
        p=$(basename "$c" .c)
        [ ! -e "$TOP/man/$p.1" ] || diff <(page_options "$TOP/man/$p.1") <(tool_options "$p") |
            sed -n "s/^</$p: only in the page:/p; s/^>/$p: only in the tool:/p"
    done | expect_none "options"
}

@test "tf(7) describes targets that make has, and the variables of install" {
    sed -n 's/^\.It Ic make \([a-z]*\)$/\1/p' "$TOP/man/tf.7" | sort >described
    [ "$(wc -l <described)" -ge 9 ]
    make -s -C "$TOP" help | cut -d ' ' -f 1 | sort | comm -23 described - >none
    [ ! -s none ]
    sed -n 's/^\([A-Z]*DIR\) ?=.*/\1/p' "$TOP/Makefile" | while read -r v; do
        grep -q "^\.Ev .*$v" "$TOP/man/tf.7" || { echo "tf.7: no $v" >&2; return 1; }
    done
}
