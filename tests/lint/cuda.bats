#!/usr/bin/env bats
# The machine code of the CUDA kernels: variables in registers, and loops that fit the cache.
load ../cli/helper

# Of the plugin, for tests of machine code.
machine_code() {
    plugin=${TF_BUILD:-$TOP/build}/bin/tf-backend-cuda.so
    [ -e "$plugin" ] || skip "the CUDA backend was not built"
    PATH=$PATH:${CUDA_HOME:-/usr/local/cuda}/bin
    need cuobjdump
}

# nvcc 13.0 to 13.5 at least leave out the statement after one that `if constexpr` discards, be it
# its own or that of its else, if that is a for, while or switch without braces around it whose body
# has some, in a lambda of a template. Only the front end for the device does, so that neither the
# emulation nor the host's compiler shows it.
@test "every if constexpr has braces, and so has its else" {
    run -0 grep -rn 'if constexpr' "$TOP/lib/ops/cuda"
    [ "${#lines[@]}" -gt 5 ]
    printf '%s\n' "${lines[@]}" | sed '/{$/d' >bare
    cat "$TOP"/lib/ops/cuda/* | tr '\n' ' ' |
        grep -oE '\} *else +(for|while|switch) .{50}' >>bare || true
    [ ! -s bare ] || { cat bare >&2; return 1; }
}

# What it must leave in is a declaration here, so that the next line does not compile without.
@test "nvcc leaves out the statement after a discarded loop (skipped while it does)" {
    PATH=$PATH:${CUDA_HOME:-/usr/local/cuda}/bin
    need nvcc
    cat >canary.cu <<'CU'
template <int N> __global__ void canary(int *p)
{
    auto f = [&] {
        if constexpr (N > 1)
            for (int i = 0; i < N; i++) {
                p[i] = i;
            }
        int kept = p[0];
        return kept;
    };
    p[1] = f();
}
template __global__ void canary<1>(int *);
CU
    nvcc -std=c++20 -Xcicc -O0 -ptx -o canary.ptx canary.cu >&2 2>errors || {
        grep -q 'identifier "kept" is undefined' errors || { cat errors >&2; return 1; }
        skip "nvcc $(nvcc --version | sed -n 's/.* V//p') has the fault"
    }
}

@test "nvcc's front end left no line out of an instance of a template, but in if constexpr" {
    build=${TF_BUILD:-$TOP/build}
    [ -e "$build/bin/tf-backend-cuda.so" ] || skip "the CUDA backend was not built"
    cd "$TOP"
    for f in lib/ops/cuda/*.cu; do
        tests/lint/instances "$f" "$build/${f%.cu}.gpu" || bad=yes
    done >&2
    [ -z "${bad:-}" ]
}

# The exceptions: norms backward in fp32 or of rows over 4,096 elements, and draws of samples.
@test "kernels spill at most 64 bytes" {
    machine_code
    cuobjdump --dump-resource-usage "$plugin" | awk '
        /Function / { name = $2 }
        match($0, /STACK:[0-9]+/) {
            n++
            if (substr($0, RSTART + 6, RLENGTH - 6) + 0 > 64 && name !~ /backwardI(f|.*Li1024E)/ &&
                name !~ /draw_kernel/) { print name; bad++ }
        }
        END { if (n < 100 || bad) { print n + 0 " kernels, " bad + 0 " spill"; exit 1 } }'
}

@test "no kernel has more than 80 KB of code" {
    machine_code
    cuobjdump -xelf all "$plugin" >/dev/null
    readelf -SW ./*.cubin 2>/dev/null | awk '
        match($0, /\.text\.[^ ]+ +PROGBITS +[0-9a-f]+ [0-9a-f]+ [0-9a-f]+/) {
            n = split(substr($0, RSTART, RLENGTH), f, " +")
            kernels++
            size = f[5]; sub(/^0+/, "", size)
            if (length(size) > 5 || (length(size) == 5 && size > "14000")) {
                print size, f[1]; bad++
            }
        }
        END {
            if (kernels < 100 || bad) { print kernels + 0 " kernels, " bad + 0 " too large"; exit 1 }
        }'
}

# Registers that leave a multiprocessor the blocks with which the speed was measured.
@test "the kernels that take most time have no more registers than when they were measured" {
    machine_code
    cuobjdump --dump-resource-usage "$plugin" | awk '
        BEGIN {
            most["forward_mmaI13__nv_bfloat16Li64ELi32ELb1E"] = 88
            most["forward_mmaI13__nv_bfloat16Li64ELi64ELb1E"] = 104
            most["backward_mmaI13__nv_bfloat16Li64ELb1E"] = 128
            most["7forwardI13__nv_bfloat16Li32ELb1E"] = 56
            most["8backwardI13__nv_bfloat16Li32ELb1E"] = 128
            most["grow_kernel"] = 64
            most["many_kernelI6__halfLi4E"] = 128
            most["cached_attention_kernelI6__halfLi8ELi8ELi1ELb0E"] = 64
            most["cached_attention_kernelI6__halfLi8ELi8ELi4ELb0E"] = 128
        }
        /Function / { name = $2 }
        match($0, /REG:[0-9]+/) {
            n = substr($0, RSTART + 4, RLENGTH - 4) + 0
            for (k in most)
                if (index(name, k)) {
                    seen[k] = 1
                    if (n > most[k]) { print k ": " n " registers, " most[k] " at most"; bad++ }
                }
        }
        END {
            for (k in most)
                if (!(k in seen)) { print k ": no such kernel"; bad++ }
            exit bad > 0
        }'
}
