#!/usr/bin/env bats
# The manners that all tools share, asked of each that was built.
bats_require_minimum_version 1.5.0
load helper

tools() {
    for p in "${TF_BIN:-$TOP/build/bin}"/tf-*; do
        [[ $p == *.so ]] || basename "$p"
    done
}

@test "there are tools" {
    [ "$(tools | wc -l)" -ge 1 ]
}

@test "--help: stdout, 0, and a full disk is noticed" {
    for p in $(tools); do
        t 0 "$p" --help
        [ -z "$stderr" ]
        expect_contains "$output" "usage: $p"
        sh_t 1 "$p --help >/dev/full"
        expect_error "$p: write error: No space left on device"
    done
}

@test "--version" {
    for p in $(tools); do
        t 0 "$p" --version
        [[ $output =~ ^$p\ \(tf-tools\)\ [0-9]+\.[0-9]+\.[0-9]+$ ]]
    done
}

@test "an unknown option is a usage error in one line" {
    for p in $(tools); do
        t 2 "$p" --no-such-option
        expect_error "$p: unknown option --no-such-option"
        [ -z "$output" ]
    done
}

@test "help lines fit 100 columns" {
    for p in $(tools); do
        t 0 "$p" --help
        long=$(awk 'length($0) > 100' <<<"$output")
        [ -z "$long" ] || { printf '%s: too wide:\n%s\n' "$p" "$long" >&2; return 1; }
    done
}

@test "completion scripts are good shell" {
    for p in $(tools); do
        "$p" --complete=bash >c.bash
        bash -n c.bash
        grep -q "^complete .* $p$" c.bash
        "$p" --complete=zsh >c.zsh
        [ "$(head -1 c.zsh)" = "#compdef $p" ]
        ! command -v zsh >/dev/null || zsh -n c.zsh
        "$p" --complete=fish >c.fish
        ! command -v fish >/dev/null || fish -n c.fish
    done
}

@test "bash completes options and choices" {
    p=$(tools)
    p=${p%%$'\n'*}
    "$p" --complete=bash >c.bash
    output=$(bash -c 'source ./c.bash; COMP_WORDS=('"$p"' --vers); COMP_CWORD=1; _'"${p//-/_}"'; echo "${COMPREPLY[@]}"')
    expect_output --version
}

@test "a signal that ends a tool takes its unfinished file along, and stays a signal" {
    local sig pid
    for sig in INT TERM HUP; do
        mkfifo "pipe$sig"
        env --default-signal="$sig" tf-cbor head - -o "out$sig" <"pipe$sig" 3>&- &
        pid=$!
        exec 9>"pipe$sig"
        for _ in $(seq 100); do
            [ -n "$(find . -name ".tf-out$sig.*")" ] && break
            sleep 0.02
        done
        [ -n "$(find . -name ".tf-out$sig.*")" ]
        kill -s "$sig" "$pid"
        status=0
        wait "$pid" || status=$?
        exec 9>&-
        [ "$status" -eq $((128 + $(kill -l "$sig"))) ]
        [ -z "$(find . -name ".tf-*")" ]
        [ ! -e "out$sig" ]
    done
}
