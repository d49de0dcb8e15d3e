#!/usr/bin/env bats
# Several GPUs in one command: the bytes of one, also when some of them fail. In the emulation.
# bats file_tags=no-asan,no-emulator
load helper
load translate

setup_file() {
    build=${TF_BUILD:-$TOP/build}
    [ -e "$build/emulate/tf-backend-cuda.so" ] ||
        { skip_all "the CUDA backend was not built"; return 0; }
    export TF_BACKEND_DIR=$build/emulate TF_EMULATE_DEVICES=4 TF_EMULATE_ALIKE=1
    make_model
    head -10 "$LINES_TXT" >some.txt
    tf-tokenize -m vocab some.txt >some.tfs
    tf-decode --device cuda --beam 1 -m "$MODEL" some.tfs >one.tfs
}

prepare() {
    few=$BATS_FILE_TMPDIR/some.tfs one=$BATS_FILE_TMPDIR/one.tfs
    # A sentence a group: every device has some.
    decode=(tf-decode --batch 1 --beam 1 -m "$MODEL" "$few")
}

@test "several GPUs give the bytes of one" {
    for d in cuda:0,1 cuda:3,1 cuda:all; do
        "${decode[@]}" --device $d >x.tfs
        same "$one" x.tfs
    done
    alike() { # COMMAND...
        "$@" --device cuda >a
        "$@" --device cuda:all --batch 2 >b
        same a b
    }
    alike tf-decode -m "$MODEL" -m "$MODEL" --nbest 3 --token-scores "$few"
    listed
    alike tf-decode -m listed.tfm --nbest 3 "$few"
    alike tf-score -m "$MODEL" --token "$few" "$few"
    alike tf-attn -m "$MODEL" "$few" "$few"
    alike tf-translate -m "$MODEL" "$BATS_FILE_TMPDIR/some.txt"
    [ "$(wc -l <b)" -eq 10 ]
    # Each has the weights.
    TF_CUDA_TIMES=1 "${decode[@]}" --device cuda:0,2 2>account >/dev/null
    [ "$(grep -c '^cuda: .* pack$' account)" -eq 2 ]
}

@test "a GPU without memory, for the model or later: the others compute its sentences" {
    export TF_EMULATE_FAULTY
    for TF_EMULATE_FAULTY in 0 1; do
        for n in 0 5 15 30 50; do
            TF_EMULATE_ALLOCATIONS=$n t 0 "${decode[@]}" --device cuda:0,1 -o x.tfs
            same "$one" x.tfs
            [ $n -gt 15 ] || [[ $stderr == \
                *": cuda:$TF_EMULATE_FAULTY is left out from now on: "*"out of memory" ]]
        done
    done
}

@test "a GPU that fails in the middle: the others compute its sentences" {
    warned=0
    export TF_EMULATE_FAULTY TF_EMULATE_FAULT_AFTER TF_EMULATE_FAULT=cached_attention
    for TF_EMULATE_FAULTY in 0 1; do
        for TF_EMULATE_FAULT_AFTER in 0 9 30; do
            "${decode[@]}" --device cuda:0,1 >x.tfs 2>notes
            same "$one" x.tfs
            ! grep -q "^tf-decode: warning: cuda:$TF_EMULATE_FAULTY is left out from now on: the \
device: unspecified launch failure$" notes || warned=$((warned + 1))
            [ "$(wc -l <notes)" -le 1 ]
        done
    done
    [ $warned -ge 1 ]
}

@test "a GPU that fails after some sentences of a group: these enter no other group" {
    head -24 "$LINES_TXT" | tf-tokenize -m "$BATS_FILE_TMPDIR/vocab" >in.tfs
    ways=(-m "$MODEL" --beam 2 --max-extra 1 in.tfs)
    tf-decode --device cuda "${ways[@]}" >want.tfs
    export TF_EMULATE_FAULTY=1 TF_EMULATE_FAULT_AFTER TF_EMULATE_FAULT=search_step
    for TF_EMULATE_FAULT_AFTER in 36 44 48 52 60; do
        t 0 tf-decode --device cuda:0,1 "${ways[@]}" --batch 4 -o x.tfs
        same want.tfs x.tfs
    done
}

@test "when the last GPU fails, that is an error" {
    TF_EMULATE_FAULT=cached_attention t 1 "${decode[@]}" --device cuda:0,1
    expect_contains "$stderr" "tf-decode: the device: unspecified launch failure"
    [ "$(grep -c ' is left out from now on: ' <<<"$stderr")" -eq 1 ]
    # What is wrong with a file is not a fault of GPUs.
    head -c 3000 "$MODEL" >cut.tfm
    t 1 tf-decode --device cuda:all -m cut.tfm "$few"
    expect_error "cut.tfm: "
    [[ $stderr != *"left out"* ]]
}

@test "tf-serve with several GPUs: the CPU's answers, also when one of them fails" {
    need tf-serve curl
    local text=$BATS_FILE_TMPDIR/some.txt
    tf-translate --device cpu -m "$MODEL" "$text" >want
    warned=0
    export TF_EMULATE_FAULTY TF_EMULATE_FAULT_AFTER=3
    for TF_EMULATE_FAULTY in 0 1; do
        for fault in none cached_attention; do
            : >address
            TF_EMULATE_FAULT=$fault tf-serve en-xx="$MODEL" --device cuda:0,1 --batch 1 \
                -l 127.0.0.1:0 >address 2>notes 3>&- &
            server=$!
            listens() { [ -s address ] || ! kill -0 $server 2>/dev/null; }
            wait_for listens
            for _ in 1 2; do
                timeout 120 "$TF_PYTHON" -I "$TOP/tests/cli/serve.py" texts \
                    "$(sed -n 's/^listening on //p' address)" "$text" >answers
                same want answers
            done
            kill -TERM $server
            wait $server
            [ $fault != none ] || [ ! -s notes ]
            [ ! -s notes ] || warned=$((warned + 1))
            run -1 grep -v ": cuda:$TF_EMULATE_FAULTY is left out from now on: " notes
        done
    done
    [ $warned -ge 1 ]
}

teardown() {
    [ -z "${server:-}" ] || kill -KILL $server 2>/dev/null || true
}

@test "GPUs that can't be used together" {
    for d in cuda:0,0 'cuda:0,' cuda:,1 cuda:0,x cuda:all,1 cuda:al; do
        t 2 "${decode[@]}" --device $d
        expect_error "no backend '$d': cpu, ref, ref64, cuda, cuda:N, cuda:N,N..., cuda:all or auto"
    done
    t 1 "${decode[@]}" --device cuda:1,4
    expect_error "there is no device 4; the last one is cuda:3"
    for d in cuda:0,1 cuda:all; do
        t 2 tf-train -q --device $d --preset tiny --steps 1 -o run "$few"
        expect_error "$d: a process trains on one GPU; mpirun starts one for each"
    done
    unset TF_EMULATE_ALIKE
    t 1 "${decode[@]}" --device cuda:0,2
    expect_error "GPUs of two kinds, whose results may differ: cuda:0 is emulation with 4 \
multiprocessors, cuda:2 is emulation 2 with 4"
}
