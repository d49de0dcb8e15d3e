#!/usr/bin/env bats
# Tools that a preloaded library has taken over: when a tool writes its result, the library tries
# what an intruder would. The sandbox stops it, and the result is still written.
load helper

# Training is on the CPU: where a plugin may be loaded, there is no sandbox.
prepare() {
    [ -z "${TF_SAN:-}" ] || skip "no sandbox in a build with sanitizers"
    [ -z "${TF_EMULATOR:-}" ] || skip "the library would be loaded into the emulator"
    need gcc
    unset TF_SANDBOX
    mkdir in secret out
    echo "the key" >secret/key
    cat >intruder.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void say(const char *what, int worked)
{
    dprintf(2, "%s: %s\n", what, worked ? "done" : "stopped");
}

static int opens(const char *path, int flags)
{
    return syscall(SYS_openat, AT_FDCWD, path, flags, 0600) >= 0;
}

static int runs(void)
{
    int status = 1;
    pid_t pid = fork();
    if (pid == 0) {
        execl("/bin/true", "true", (char *)NULL);
        _exit(1);
    }
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

ssize_t write(int fd, const void *p, size_t n)
{
    static int tried;
    if (fd != 2 && !tried++) {
        say("read", opens(getenv("SECRET"), O_RDONLY));
        say("change", opens(getenv("SECRET"), O_WRONLY));
        say("create", opens(getenv("NEW"), O_WRONLY | O_CREAT));
        say("run", runs());
        say("connect", socket(AF_INET, SOCK_STREAM, 0) >= 0);
        say("signal", kill(getppid(), 0) == 0);
        say("open", opens("in/gold", O_RDONLY));
        unlink(getenv("NEW"));
    }
    return syscall(SYS_write, fd, p, n);
}
END
    gcc -shared -fPIC -o intruder.so intruder.c -ldl
    for i in 1 2 3 4 5 6 7 8 9; do echo "the dog $i barks at nine cats"; done >in/text
    echo '(S (NP (NN dog)) (VP (VB barks)))' >in/gold
    export SECRET=$T/secret/key NEW=$T/secret/new
    # What this kernel has: the version of Landlock, seccomp.
    kernel=
    landlock='import ctypes; print(ctypes.CDLL(None).syscall(444, None, 0, 1))'
    [ "$("$TF_PYTHON" -c "$landlock")" -lt 1 ] || kernel=files
    case $(uname -m) in
        x86_64 | aarch64) ! grep -q '^Seccomp:' /proc/self/status || kernel="$kernel calls" ;;
    esac
}

# What the intruder reports must be stopped, if this kernel can stop it.
# shellcheck disable=SC2154
all_stopped() {
    local want what
    for what in read change create run connect signal; do
        case $what in
            read | change | create) want=files ;;
            *) want=calls ;;
        esac
        case $kernel in
            *"$want"*) expect_contains "$stderr" "$what: stopped" ;;
            *) echo "# $what: not checked, this kernel lacks what stops it" >&3 ;;
        esac
    done
}

@test "without the sandbox an intruder does all of it" {
    t 0 env TF_SANDBOX=no LD_PRELOAD="$T/intruder.so" tf-evalb in/gold in/gold
    for what in read change create run connect signal open; do
        expect_contains "$stderr" "$what: done"
    done
}

@test "an intruder in a tool that reads two files and writes to stdout" {
    tf-evalb in/gold in/gold >want
    t 0 env LD_PRELOAD="$T/intruder.so" tf-evalb in/gold in/gold
    all_stopped
    expect_contains "$stderr" "open: done"
    expect_output "$(cat want)"
    [ "$(cat secret/key)" = "the key" ]
}

@test "an intruder in a tool that writes a file" {
    tf-tree -o want in/gold
    t 0 env LD_PRELOAD="$T/intruder.so" tf-tree -o out/words in/gold
    all_stopped
    cmp want out/words
}

@test "a CUDA plugin without a GPU costs no sandbox" {
    tf-tokenize --train --vocab-size 40 -o v.model in/text
    tf-tokenize -m v.model in/text >s.tfs
    tf-batch --tokens 200 --batches 2 -o b.tfs s.tfs s.tfs
    tf-train --preset base --d-model 8 --d-ff 8 --heads 1 --layers 1 --device cpu --steps 1 -q \
        -o run b.tfs
    mkdir plugin
    gcc -shared -fPIC -o plugin/tf-backend-cuda.so -x c - <<<'void *other;'
    for option in '' '--device auto'; do
        # shellcheck disable=SC2086
        TF_BACKEND_DIR=$T/plugin t 0 env LD_PRELOAD="$T/intruder.so" \
            tf-decode --progress $option -m run/ckpt-00000001.tfm --max-extra 1 -o out/decoded s.tfs
        all_stopped
        expect_contains "$stderr" "on the CPU: $T/plugin/tf-backend-cuda.so: not a backend plugin"
    done
}

@test "an intruder in SentencePiece cannot even open the input again" {
    tf-tokenize --train --vocab-size 40 -o v.model in/text
    tf-tokenize -m v.model -o want in/gold
    t 0 env LD_PRELOAD="$T/intruder.so" tf-tokenize -m v.model -o out/tokens in/gold
    all_stopped
    [[ $kernel != *calls* ]] || expect_contains "$stderr" "open: stopped"
    cmp want out/tokens
}

@test "an intruder in a tool that starts another" {
    tf-tokenize --train --vocab-size 40 -o v.model in/text
    tf-bleu -tok spm --spm-model v.model in/text -i in/text >want
    t 0 env LD_PRELOAD="$T/intruder.so" tf-bleu -tok spm --spm-model v.model in/text -i in/text
    [[ $kernel != *files* ]] || expect_contains "$stderr" "read: stopped"
    expect_output "$(cat want)"
}

@test "links to files on another disk: checkpoints, references, validation data that are replaced" {
    tf-tokenize --train --vocab-size 40 -o v.model in/text
    tf-tokenize -m v.model in/text >s.tfs
    tf-batch --tokens 200 --batches 8 -o b.tfs s.tfs s.tfs
    mkdir disk refs data valid
    tf-batch --tokens 200 s.tfs s.tfs >data/valid.tfs
    ln -s ../data/valid.tfs valid/link
    small=(--device cpu --preset tiny --d-model 16 --d-ff 16 --heads 2 --layers 1 --vocab v.model
        --threads 1 --save-every 2 --valid valid/link --valid-every 1 -o out/run)
    tf-train "${small[@]}" --steps 6 b.tfs
    cp -r out/run whole
    tf-avgckpt -n 2 whole >want.tfm
    for f in ckpt-00000004.tfm ckpt-00000006.tfm best.tfm; do
        mv out/run/$f disk
        ln -s ../../disk/$f out/run
    done
    t 0 tf-avgckpt -n 2 out/run -o model.tfm
    cmp want.tfm model.tfm
    mkfifo pipe
    tf-train "${small[@]}" --log-every 1 --steps 8 - <pipe 2>err &
    head -c -150 b.tfs >part # without the end of the last batch
    exec 9>pipe
    cat part >&9
    wait_for grep -q '"event":"step","step":7,' out/run/log.jsonl
    cp data/valid.tfs again && mv again data/valid.tfs # another file with the same bytes
    tail -c 150 b.tfs >&9
    exec 9>&-
    wait $! || { cat err >&2; return 1; }
    grep -q "resuming from out/run/ckpt-00000006.tfm" err
    tf-train "${small[@]}" --steps 8 -o whole b.tfs
    cmp whole/ckpt-00000008.tfm out/run/ckpt-00000008.tfm
    cp in/text disk/one
    head -n 9 in/text | tac >disk/two
    ln -s ../disk/one refs/r0
    ln -s ../disk/two refs/r1
    t 0 tf-bleu --tok-input refs/r -i in/text
    expect_contains "$output" "BLEU = 100.00"
    tf-bleu --tok-input disk/one disk/two -i in/text >want
    expect_output "$(cat want)"
}

@test "a directory for a run that exists already: the one that has it is synced" {
    need strace
    tf-tokenize --train --vocab-size 40 -o v.model in/text
    tf-tokenize -m v.model in/text >s.tfs
    tf-batch --tokens 200 s.tfs s.tfs >b.tfs
    mkdir out/run # as a start leaves it that was killed at once
    t 0 strace -f -qq -y -o calls -e trace=fsync tf-train --device cpu --preset tiny \
        --d-model 16 --d-ff 16 --heads 2 --layers 1 --vocab v.model --threads 1 --steps 1 \
        -o out/run b.tfs
    grep -q "fsync([0-9]*<$T/out>) *= 0" calls
}

@test "a run that is trained, resumed, validated, averaged and used under the sandbox" {
    tf-tokenize --train --vocab-size 40 -o v.model in/text
    tf-tokenize -m v.model in/text >s.tfs
    tf-batch --tokens 200 --epochs 0 s.tfs s.tfs | head -c 20000 >b.tfs || true
    tf-batch --tokens 200 s.tfs s.tfs >valid.tfs
    small=(--device cpu --preset tiny --d-model 16 --d-ff 16 --heads 2 --layers 1 --vocab v.model
        --threads 2 --save-every 2 --valid valid.tfs --valid-every 1 -o out/run)
    t 0 tf-train "${small[@]}" --steps 2 b.tfs
    cp valid.tfs again.tfs && mv again.tfs valid.tfs # another file with the same bytes
    t 0 tf-train "${small[@]}" --steps 4 b.tfs
    t 0 tf-avgckpt -n 2 out/run -o model.tfm
    sh_t 0 'tf-tokenize -m model.tfm <in/text | tf-decode -m model.tfm | tf-tokenize -d -m model.tfm'
    [ "${#lines[@]}" -le 9 ]
    t 0 tf-plot curve out/run/log.jsonl -o curve.svg
}
