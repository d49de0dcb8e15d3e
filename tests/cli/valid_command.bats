#!/usr/bin/env bats
# tf-train --valid-command: the user's own measure chooses best.tfm, whatever becomes of the command.
load helper
load train

prepare() {
    need "$TF_PYTHON"
    batches n=40 >b.tfs
    batches n=5 seed=9 >v.tfs
}

every=(--steps 12 --save-every 3 --valid v.tfs --valid-every 3)

# A run in the background, DIRECTORY COMMAND: $pid.
begin_run() {
    env --default-signal=TERM,HUP,INT tf-train "${small[@]}" -q "${every[@]}" --valid-command "$2" \
        -o "$1" b.tfs 2>err &
    pid=$!
}

# Has process $1 ended? Nobody may have waited for it.
ended() {
    ! grep -qs '^State:.[RSD]' "/proc/$1/status"
}

# KEY of the lines "valid", one a line.
valid() {
    jq -c "select(.event == \"valid\") | .$1" "$2/log.jsonl"
}

@test "the last number of the output chooses best.tfm and stops early; its output is not ours" {
    cat >measure <<'SH'
tf-info --json "$TF_MODEL" | jq -r .kind >>kinds
echo "$TF_STEP" >>steps
echo "some words 1e3 then BLEU = $((10 - (TF_STEP - 6) * (TF_STEP - 6) / 3)).5, chrF2"
SH
    tr_t 0 "${every[@]}" --steps 40 --patience 2 --valid-command 'sh ./measure' -o run b.tfs
    expect_output ""
    expect_contains "$stderr" "step 6: validation perplexity"
    expect_contains "$stderr" ", command 10.5; the best so far"
    expect_contains "$stderr" "best: command 10.5 at step 6"
    [ "$(cat steps)" = $'3\n6\n9\n12' ]
    [ "$(sort -u kinds)" = model ]
    [ "$(valid metric run)" = $'7.5\n10.5\n7.5\n-2.5' ]
    [ "$(valid best run)" = $'true\ntrue\nfalse\nfalse' ]
    [ "$(jq -r 'select(.event == "end").reason' run/log.jsonl)" = patience ]
    at_step run/best.tfm 6
    [ ! -e run/valid.tfm ]
    # It changes nothing else: the weights are those of a run without it.
    train -q "${every[@]}" -o plain b.tfs
    same_tensors run/ckpt-00000012.tfm plain/ckpt-00000012.tfm
}

# Of checkpoints whose settings differ.
same_tensors() {
    tf-cbor json "$1" | grep '"type":"tensor"' >first.tensors
    tf-cbor json "$2" | grep '"type":"tensor"' | cmp - first.tensors
}

@test "the command sees the model that the run has" {
    train -q "${every[@]}" --steps 3 --valid-command 'cp $TF_MODEL seen.tfm; echo 1' -o run b.tfs
    tf-cbor json run/ckpt-00000003.tfm | grep '"name":"p/' >want
    tf-cbor json seen.tfm | grep '"name":"p/' | cmp - want
}

@test "what the command prints before its last line is in the log" {
    outputs() { jq -r 'select(.event == "valid") | .output' run/log.jsonl; }
    train -q "${every[@]}" --steps 3 --valid-command 'printf "ein Satz\n\"zwei\" €\n\n27.5\n"' \
        -o run b.tfs
    [ "$(outputs)" = $'ein Satz\n"zwei" €' ]
    [ "$(valid metric run)" = 27.5 ]
    rm -r run
    train -q "${every[@]}" --steps 3 --valid-command 'echo 5' -o run b.tfs
    [ "$(outputs)" = null ]
    rm -r run
    # As much as fits, no half a character, nothing after what is no UTF-8.
    train -q "${every[@]}" --steps 3 --valid-command 'yes "€€€" | head -n 2000; echo 6' -o run b.tfs
    [ "$(outputs | sort -u)" = "€€€" ]
    [ "$(outputs | wc -c)" -gt 2900 ]
    [ "$(valid metric run)" = 6 ]
    rm -r run
    train -q "${every[@]}" --steps 3 --valid-command 'printf "a\nb\\377\nc\n7\n"' -o run b.tfs
    [ "$(outputs)" = $'a\nb' ]
}

@test "the best by perplexity: the number is only logged" {
    train -q "${every[@]}" --best-by ppl --valid-command 'echo $((-TF_STEP))' -o run b.tfs
    train -q "${every[@]}" -o plain b.tfs
    [ "$(valid best run)" = "$(valid best plain)" ]
    [ "$(valid metric run)" = $'-3\n-6\n-9\n-12' ]
    same run/ckpt-00000012.tfm plain/ckpt-00000012.tfm
    tr_t 2 "${every[@]}" --best-by command -o x b.tfs
    expect_error "--best-by command requires --valid-command"
    tr_t 2 --steps 3 --valid-command true -o x b.tfs
    expect_error "--valid-command requires --valid"
}

@test "at the end, a run that was best long before says so, and names the advice" {
    tr_t 0 "${every[@]}" --valid-command 'echo -$TF_STEP' -o run b.tfs
    expect_contains "$stderr" "no validation has been better since step 3 of 12: the model overfits (advice: tf-howto(7), Sizes)"
    grep -q '^\.Sh SIZES' "$TOP/man/tf-howto.7"
    tr_t 0 "${every[@]}" --valid-command 'echo $TF_STEP' -o other b.tfs
    [[ $stderr != *overfits* ]]
    tr_t 0 "${every[@]}" --valid-command 'echo $((-(TF_STEP - 9) * (TF_STEP - 9)))' -o late b.tfs
    [[ $stderr != *overfits* ]]
    # Of numbers that hardly differ, one is the best.
    tr_t 0 "${every[@]}" --valid-command 'echo $((1000 - TF_STEP))' -o flat b.tfs
    [[ $stderr != *overfits* ]]
}

# As tf-bleu prints with many systems or long signatures; and what is no measure.
@test "JSON of 100 KB is read whole, and TER is refused" {
    tr_t 0 "${every[@]}" --valid-command 'case $TF_STEP in
        3) printf "{\n \"score\": 30.5,\n \"refs\": \"%0100000d\"\n}\n" 0;;
        6) echo TER: 50;; *) echo 5;; esac' -o run b.tfs
    expect_contains "$stderr" "warning: step 6: --valid-command printed TER, of which less is better"
    [ "$(valid metric run)" = $'30.5\nnull\n5\n5' ]
    at_step run/best.tfm 3
}

@test "a command that fails, is killed or prints no number is reported, and the run continues" {
    tr_t 0 "${every[@]}" --patience 2 --valid-command 'case $TF_STEP in
        3) echo 1; exit 7;; 6) kill -9 $$;; 9) echo none chrF2 nan;; *) echo 5;; esac' -o run b.tfs
    expect_contains "$stderr" "warning: step 3: --valid-command failed with status 7"
    expect_contains "$stderr" "warning: step 6: --valid-command was ended by signal 9"
    expect_contains "$stderr" "warning: step 9: --valid-command printed no number"
    [ "$(valid metric run)" = $'null\nnull\nnull\n5' ]
    [ "$(valid best run)" = $'false\nfalse\nfalse\ntrue' ]
    at_step run/best.tfm 12
    tr_t 0 "${every[@]}" --valid-command '[ $TF_STEP = 6 ] && kill -9 $PPID; echo 1' -o alone b.tfs
    expect_contains "$stderr" "step 6: --valid-command: the process that runs the command has ended"
    [ "$(valid metric alone)" = $'1\nnull\nnull\nnull' ]
    tr_t 0 "${every[@]}" --steps 3 --valid-command '/no/such/program' -o other b.tfs
    expect_contains "$stderr" "failed with status 127"
}

@test "stdin is empty, and the stream of batches is not the command's" {
    sh_t 0 "cat b.tfs | tf-train ${small[*]} -q ${every[*]} --valid-command 'cat; echo 3; ls /proc/self/fd | wc -w >fds' -o run"
    [ "$(valid metric run)" = $'3\n3\n3\n3' ]
    [ "$(cat fds)" -le 4 ] # 0, 1, 2 and the directory that ls reads
    # Not the log on stdout either.
    sh_t 0 "tf-train ${small[*]} -q ${every[*]} --log - --valid-command 'echo 3' -o two b.tfs"
    cmp two/log.jsonl <(printf '%s\n' "$output")
}

@test "resumed: the same choice, also when a signal came while the command ran" {
    cat >measure <<'SH'
[ "$TF_STEP" != 6 ] || [ ! -e slow ] || { echo $$ >running; sleep 60; }
echo $((TF_STEP == 6 ? 9 : TF_STEP == 3 ? 8 : 1))
SH
    train -q "${every[@]}" --valid-command 'sh ./measure' -o whole b.tfs
    touch slow
    for sig in TERM INT; do
        rm -f running
        begin_run "$sig" 'sh ./measure'
        wait_for test -e running
        kill -$sig $pid
        wait $pid || true
        # The command has ended with the run.
        wait_for ended "$(cat running)"
        [ ! -e "$sig/valid.tfm" ]
        grep -q "stopped at step 6" err
    done
    rm slow
    for sig in TERM INT; do
        train -q "${every[@]}" --valid-command 'sh ./measure' -o "$sig" b.tfs
        same "$sig/best.tfm" whole/best.tfm
        same "$sig/ckpt-00000012.tfm" whole/ckpt-00000012.tfm
        [ "$(valid best "$sig")" = "$(valid best whole)" ]
    done
    # Without the command another measure would choose.
    tr_t 1 "${every[@]}" --steps 15 -o whole b.tfs
    expect_contains "$stderr" "best_by: 'command' in the checkpoint, 'ppl' in this run"
}

@test "a killed run takes its command with it" {
    begin_run run 'trap "touch ended; exit" TERM; touch running; sleep 60 & wait'
    wait_for test -e running
    kill -9 $pid
    wait $pid || true
    wait_for test -e ended
}

@test "what the command started gets time to end, too" {
    begin_run run '(trap "sleep 0.5; touch ended; exit" TERM; touch running; sleep 60 & wait) | cat'
    wait_for test -e running
    kill $pid
    wait $pid || true
    [ -e ended ]
    grep -q "stopped at step 3" err
}

@test "a run that is stopped does not wait for its command before it saves" {
    begin_run run 'trap "until [ -e run/resume.tfm ]; do sleep 0.1; done; touch ended; exit" TERM
        touch running; sleep 60 & wait'
    wait_for test -e running
    kill $pid
    wait $pid || true
    grep -q "stopped at step 3" err
    [ -e ended ]
}

@test "the run itself stays in its sandbox, the command is outside" {
    [ -e /proc/self/status ] || skip "no /proc"
    echo secret >elsewhere
    tr_t 0 "${every[@]}" --steps 3 -q --valid-command 'grep Seccomp: /proc/$PPID/status /proc/$(cat run/lock)/status >filters; cat elsewhere >read; echo 1' -o run b.tfs
    [ "$(cat read)" = secret ]
    # Of the process that runs the command none, of tf-train one where the kernel has them.
    [ "$(awk 'NR == 1 {print $2}' filters)" = 0 ]
    [ -n "${TF_SANDBOX:-}${TF_SAN:-}" ] || [ "$(awk 'NR == 2 {print $2}' filters)" = 2 ]
}
