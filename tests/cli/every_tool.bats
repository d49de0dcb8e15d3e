#!/usr/bin/env bats
# Conventions that all tools share.
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
    natively
    for p in $(tools); do
        t 0 "$p" --help
        [ -z "$stderr" ]
        expect_contains "$output" "usage: $p"
        for question in --help --list-options --complete={bash,zsh,fish}; do
            sh_t 1 "$p $question >/dev/full"
            expect_error "$p: write error: No space left on device"
        done
    done
}

@test "--version" {
    for p in $(tools); do
        t 0 "$p" --version
        [[ $output =~ ^$p\ \(tf-tools\)\ [0-9]+\.[0-9]+\.[0-9]+(\+[0-9a-f]{12}(\.dirty)?)?$ ]]
    done
}

@test "an unknown option is a usage error in one line" {
    for p in $(tools); do
        t 2 "$p" --no-such-option
        expect_error "$p: unknown option --no-such-option"
        [ -z "$output" ]
    done
}

@test "an empty name of a file is a usage error that names the option" {
    local p option
    for p in $(tools); do
        while read -r option; do
            t 2 "$p" "$option" ''
            expect_error "$p: $option '': empty file name"
        done < <("$p" --help | grep -oE -- '--[a-z-]+ (FILE|DIR)\b' | sed 's/ .*//')
    done
    t 2 tf-bleu x -i x ''
    expect_error "-i '': empty file name"
    t 2 tf-avgckpt ''
    expect_error "tf-avgckpt: '': empty file name"
}

@test "names that other programs have for an option lead to ours" {
    while read -r tool theirs ours; do
        t 2 "$tool" --$theirs 4
        expect_error "$tool: unknown option --$theirs (did you mean $ours?)"
        t 2 "$tool" --$theirs=4
        expect_error "unknown option --$theirs (did you mean $ours?)"
    done <<'X'
tf-decode beam-size --beam
tf-decode lenpen --alpha
tf-decode length-penalty --alpha
tf-decode max-len-b --max-extra
tf-decode batch-size --batch
tf-score batch-size --batch
tf-batch batch-size --tokens or --max-sentences
tf-batch max-tokens --tokens
tf-batch max-epoch --epochs
tf-batch upsample-primary --corpus-weight
tf-train learning-rate --lr or --lr-scale
tf-train max-update --steps
tf-train max-steps --steps
tf-train warmup-updates --warmup
tf-train warmup-steps --warmup
tf-train update-freq --accumulate
tf-train clip-norm --clip
tf-train save-dir --output
tf-train save-interval-updates --save-every
tf-decode num-workers --threads
tf-decode cpu-threads --threads
tf-tokenize model-type --type
tf-tokenize vocab --model or --vocab-size
tf-decode vocab --model
tf-decode num-beams --beam
tf-decode beam_size --beam
tf-train learning_rate --lr or --lr-scale
tf-train max-updates --steps
X
    # What another tool decides.
    t 2 tf-train --batch-size 64
    expect_error "tf-train: unknown option --batch-size (tf-batch makes the batches: --tokens)"
    t 2 tf-train --max-tokens 64
    expect_error "tf-train: unknown option --max-tokens (tf-batch makes the batches: --tokens)"
    t 2 tf-train --max-epoch=3
    expect_error "tf-train: unknown option --max-epoch (did you mean --epochs?)"
    # An option of that name is meant, and a prefix of one too.
    t 2 tf-train --vocab
    expect_contains "$stderr" "--vocab"
    [[ $stderr != *unknown* ]]
    t 2 tf-tokenize --train --vocab-s 3
    expect_error "--vocab-size 3: too small"
    t 2 tf-info --beam-size 4 x
    expect_error "tf-info: unknown option --beam-size (try --help)"
}

@test "every option is given in a test" {
    natively
    cat "$TOP"/tests/cli/*.ba* "$TOP"/tests/golden/bleu/cases >given
    for p in $(tools); do
        "$p" --list-options | sed "s/^/$p /"
    done >options
    # A line has the names of one option; --x may be given as -x, and a short one counts beside the
    # tool.
    "$TF_PYTHON" - <<'PY' >never
import re
given = open("given").read()
words = set(re.findall(r"(?<![a-z-])-[a-z0-9-]+(?![a-z-])", given))
for line in open("options"):
    tool, *names = line.split()
    long = [n for n in names if n.startswith("--")]
    short = [n for n in names if not n.startswith("--")]
    if not any(n in words or n[1:] in words for n in long) and not any(
            re.search(f"{tool} .*{n}", given) for n in short):
        print(line, end="")
PY
    cat never
    [ ! -s never ]
}

@test "help lines fit 100 columns" {
    for p in $(tools); do
        t 0 "$p" --help
        long=$(awk 'length($0) > 100' <<<"$output")
        [ -z "$long" ] || { printf '%s: too wide:\n%s\n' "$p" "$long" >&2; return 1; }
    done
}

@test "bash reads its completion scripts" {
    for p in $(tools); do
        "$p" --complete=bash >c.bash
        bash -n c.bash
        grep -q "^complete .* $p$" c.bash
    done
}

@test "zsh reads its completion scripts" {
    for p in $(tools); do
        "$p" --complete=zsh >"$p.zsh"
        [ "$(head -1 "$p.zsh")" = "#compdef $p" ]
    done
    need zsh
    for p in $(tools); do zsh -n "$p.zsh"; done
}

@test "fish reads its completion scripts" {
    for p in $(tools); do
        "$p" --complete=fish >"$p.fish"
        grep -q "^complete -c $p " "$p.fish"
    done
    need fish
    for p in $(tools); do fish -n "$p.fish"; done
}

# What bash offers for the words of a line, split where readline splits them.
offers() {
    local words=() word
    for word in "$@"; do words+=("'$word'"); done
    "$1" --complete=bash >c.bash
    bash -c "source ./c.bash; COMP_WORDS=(${words[*]}); COMP_CWORD=$(($# - 1)); _${1//-/_}; echo \"\${COMPREPLY[*]}\""
}

@test "bash completes options and choices" {
    p=$(tools)
    p=${p%%$'\n'*}
    [ "$(offers "$p" --vers)" = --version ]
    [ "$(offers tf-train --device c)" = "cpu cuda" ]
    [ "$(offers tf-train --device = c)" = "cpu cuda" ]
    [ "$(offers tf-train --device =)" = "auto cpu cuda ref" ]
    [ "$(offers tf-train --preset ti)" = tiny ]
    [ "$(offers tf-bleu -tok i)" = intl ]
    # What to do comes first, and once.
    touch check.tfs
    [ "$(offers tf-cbor c)" = "check count" ]
    [ "$(offers tf-cbor --full c)" = "check count" ]
    [ "$(offers tf-cbor check ch)" = check.tfs ]
}

@test "help keeps its marks in zsh and fish" {
    expect_contains "$(tf-train --complete=zsh)" \
        "[row of the paper'\''s tables\: base, big, A-h1 ... E, parse-wsj, or tiny]:preset:("
    expect_contains "$(tf-plot --complete=zsh)" ":KEY[,KEY]...:'"
    expect_contains "$(tf-train --complete=fish)" "key width per head; d-model / heads"
    expect_contains "$(tf-train --complete=fish)" "factor on the paper\'s learning rate"
    expect_contains "$(tf-batch --complete=zsh)" \
        "ORDINAL]:EPOCH\:RECORD:'"
    expect_contains "$(tf-batch --complete=zsh)" "maximum pairs per batch; 0\: no limit"
}

@test "an option row whose variable has the wrong type does not compile" {
    need gcc
    local row
    compiles() {
        cat >row.c <<C
#include "base/opt.h"
static const char *const words[] = {"a", NULL};
enum color { RED };
bool flag; int number; int64_t whole; double real; const char *text; struct tf_strs list;
enum color color;
struct tf_opt opts[] = {$1, OPT_END};
const char *const *used(void) { return words; }
C
        gcc -std=c11 -D_GNU_SOURCE -I"$TOP/lib" -fsyntax-only row.c 2>/dev/null
    }
    for row in 'OPT_FLAG(0, "x", &flag)' 'OPT_INT(0, "x", &whole)' 'OPT_REAL(0, "x", &real)' \
        'OPT_STR(0, "x", &text)' \
        'OPT_LIST(0, "x", &list)' 'OPT_CHOICE(0, "x", &number, words)' \
            'OPT_CHOICE(0, "x", &color, words)'; do
        compiles "$row" || { echo "$row: does not compile" >&2; return 1; }
    done
    for row in 'OPT_FLAG(0, "x", &number)' 'OPT_INT(0, "x", &number)' 'OPT_INT(0, "x", &real)' \
        'OPT_REAL(0, "x", &whole)' \
        'OPT_STR(0, "x", &list)' 'OPT_LIST(0, "x", &text)' 'OPT_CHOICE(0, "x", &whole, words)' \
            'OPT_CHOICE(0, "x", &flag, words)'; do
        ! compiles "$row" || { echo "$row: compiles" >&2; return 1; }
    done
}

@test "a tool ended by a signal removes its unfinished file and dies of the signal" {
    local sig pid
    ulimit -c 0 # QUIT and XCPU dump core
    for sig in INT TERM HUP QUIT ALRM VTALRM PROF XCPU USR1 USR2; do
        mkfifo "pipe$sig"
        env --default-signal="$sig" tf-cbor head - -o "out$sig" <"pipe$sig" 3>&- &
        pid=$!
        exec 9>"pipe$sig"
        wait_for compgen -G ".tf-out$sig.*" >/dev/null
        kill -s "$sig" "$pid"
        status=0
        wait "$pid" || status=$?
        exec 9>&-
        [ "$status" -eq $((128 + $(kill -l "$sig"))) ]
        [ -z "$(find . -name ".tf-*")" ]
        [ ! -e "out$sig" ]
    done
}

# A right-to-left override and an escape sequence, as bytes.
rlo=$'\xe2\x80\xae' esc=$'\e[31m'

@test "a name that could rewrite the terminal is printed with escapes" {
    natively
    for tool in $(tools); do
        for args in "./${esc}a${rlo}b" "--${esc}a${rlo}b" "-o ${esc}a${rlo}b/x" "-m ${esc}a${rlo}b"; do
            # shellcheck disable=SC2086
            run --separate-stderr timeout 20 "$tool" $args </dev/null
            case $output$stderr in
                *"$esc"* | *"$rlo"*) echo "$tool $args: $output$stderr" | cat -v >&2; return 1 ;;
            esac
        done
    done
    t 1 tf-cbor check "./${esc}a${rlo}b"
    expect_error 'tf-cbor: ./\x1b[31ma\xe2\x80\xaeb: No such file or directory'
}

# Names of files that exist, in what a terminal may show: not in streams and models.
@test "a name that could rewrite the terminal is escaped in JSON, logs, figures and reports" {
    local small=(--preset tiny --layers 1 --d-model 16 --d-ff 32 --heads 2 --warmup 0 --device cpu
        --threads 1) name="${esc}${rlo}"$'\xd8\x9c\xc2\x85\xe2\x81\xa6'
    seq 100 | sed 's/$/ abc def/' >"$name.txt"
    cp "$name.txt" "$name.hyp"
    echo '(S (NP (NN dog)) (VP (VB barks)))' >"$name.tree"
    tf-tokenize --train --vocab-size 40 -o "$name.model" "$name.txt" 2>log
    tf-tokenize -m "$name.model" -o "$name.tfs" "$name.txt" 2>>log
    tf-batch --tokens 60 --batches 20 -o "$name.b" "$name.tfs" "$name.tfs" 2>>log
    tf-train "${small[@]}" --vocab "$name.model" --valid "$name.b" --valid-every 1 --steps 2 \
        --log - -o "$name.run" "$name.b" >log.jsonl 2>>log
    expect_contains "$(head -n 1 log.jsonl)" \
        '"--vocab","\u001b[31m\u202e\u061c\u0085\u2066.model"'
    cmp log.jsonl "$name.run/log.jsonl"
    tf-avgckpt -n 1 -o "$name.tfm" "$name.run" 2>>log
    tf-info "$name.tfm" "$name.tfs" "$name.b" >info
    tf-info --json "$name.tfm" "$name.tfs" "$name.b" >info.json
    expect_contains "$(<info.json)" '"\u001b[31m\u202e\u061c\u0085\u2066.tfm"'
    tf-plot curve log.jsonl "$name.run/log.jsonl" >curve.svg 2>>log
    tf-plot curve --title "$name" log.jsonl >title.svg 2>>log
    expect_contains "$(<title.svg)" '[31m&#x202e;&#x61c;&#x85;&#x2066;'
    tf-bleu "$name.txt" -i "$name.txt" "$name.hyp" >bleu.json 2>>log
    tf-bleu -f text "$name.txt" -i "$name.txt" "$name.hyp" >bleu 2>>log
    tf-bleu -f latex "$name.txt" -i "$name.txt" "$name.hyp" >bleu.tex 2>>log
    tf-evalb --json "$name.tree" "$name.tree" >evalb.json 2>>log
    for f in log log.jsonl info info.json curve.svg title.svg bleu.json bleu bleu.tex evalb.json; do
        [ -s "$f" ]
        if LC_ALL=C grep -P '\x1b|\xe2\x80\xae|\xd8\x9c|\xc2\x85|\xe2\x81\xa6' "$f" >raw; then
            echo "$f: $(cat -v raw)" >&2
            return 1
        fi
    done
}

@test "a stack that is too small: a message, or a larger one, and no SIGSEGV" {
    [ -z "${TF_SAN:-}" ] || skip "the sanitizers need more"
    [ -z "${TF_EMULATOR:-}" ] || skip "the limit would be that of the emulator"
    as=()
    if [ "$(id -u)" -eq 0 ]; then
        need setpriv
        chmod 755 "$T"
        as=(setpriv --reuid=65534 --regid=65534 --clear-groups)
    fi
    for tool in $(tools); do
        sh_t 1 'ulimit -s 32; exec "$@"' "${as[@]}" "$tool" --version
        expect_error "$tool: stack limited to 32 kB, at least 1024 kB needed (ulimit -s 1024)"
        sh_t 0 'ulimit -S -s 32; exec "$@"' "${as[@]}" "$tool" --version
    done
}
