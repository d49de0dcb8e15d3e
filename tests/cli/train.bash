# Small runs of tf-train, for the tests train*.bats.
# shellcheck shell=bash

prepare() {
    need "$TF_PYTHON"
    batches n=40 >b.tfs
}

# A model of 1+1 layers and width 16: a run of 40 updates takes a few hundredths of a second.
small=(--preset tiny --layers 1 --d-model 16 --d-ff 32 --heads 2 --dropout 0.1 --attention-dropout \
    0.1 --warmup 20 --device cpu)

train() {
    tf-train "${small[@]}" "$@"
}

# For `t` and `sh_t`, which start commands of their own.
tr_t() {
    local want=$1
    shift
    t "$want" tf-train "${small[@]}" "$@"
}

sum() {
    sha256sum <"$1" | cut -d' ' -f1
}

# As messages show a hash.
short() {
    sum "$1" | cut -c1-12
}

# Wait until the log of a run has a line about this update.
wait_step() {
    wait_for grep -qs "\"event\":\"step\",\"step\":$2," "$1/log.jsonl"
}

# The step of a checkpoint.
at_step() {
    tf-info "$1" >info
    grep -qx "step  *$2" info
}

# A run with these options on a pipe that stays open after the first 9 batches, in the background:
# $pid.
begin() {
    mkfifo pipe
    batches n=9 end=0 >nine.tfs
    # The process that started the tests may ignore a signal (nohup does), as a shell does with INT
    # for what it sends to the background.
    env --default-signal=TERM,HUP,INT tf-train "${small[@]}" --log-every 1 --save-every 100 -o run \
        "$@" - <pipe 2>err &
    pid=$!
    exec 7>pipe
    cat nine.tfs >&7
    wait_step run 9
}

ends() {
    rc=0
    wait "$pid" || rc=$?
    exec 7>&-
    [ $rc -eq "$1" ] || { echo "status $rc, expected $1: $(cat err)" >&2; return 1; }
}
