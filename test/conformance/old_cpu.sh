#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: old_cpu.sh CPU SANITIZER CB: the self-test on a processor that qemu plays, in TAP. It runs in
# one process, since a child would run on the real processor. P11 of the field reports.
cpu=$1 sanitizer=$2 cb=$3

skip() {
    echo "1..0 # SKIP $1"
    echo "# skipped $cpu: $1"
    exit 0
}

[ "$(uname -m)" = x86_64 ] || skip "this machine is no x86-64"
[ "$sanitizer" = none ] || skip "a sanitizer does not run under qemu"
command -v qemu-x86_64 >/dev/null || skip "there is no qemu-x86_64 (Debian's qemu-user)"
case $cpu in
Nehalem) kernels=reference ;;
Haswell) kernels=avx2 ;;
esac

n=0
check() { # NAME COMMAND...
    n=$((n + 1)) name=$1
    shift
    if "$@"; then echo "ok $n - $name"; else echo "not ok $n - $name"; fi
}

run() { # qemu warns of features that it lacks
    qemu-x86_64 -cpu "$cpu" "$cb" "$@" 2>&1 | grep -v '^qemu-x86_64: warning'
}

takes() {
    run info cpu | grep -qx "info.kernels: $kernels"
}

# A filter of each op, small enough for an emulator, whose own warnings look like a plugin's: no
# `state` among them.
obeys() {
    for filter in 'gemm:f32,nt,*' 'gemm:f64,tn,m=1*' 'gemm:bf16,nn,m=1*' 'batched_gemm:*m=3,*' \
        'gemm_mixed_precision:*m=17,*' 'conv2d_*' 'softmax:f16*' 'reduce:f32' 'unary:f32*' \
        'binary:f64*' 'attention:*batch=1*' gather scatter; do
        found=$(run selftest cpu --in-process --op "$filter")
        case $found in
        *FAILED*) ;;
        *' passed;'*) continue ;;
        esac
        echo "$found" | sed 's/^/# /'
        return 1
    done
}

echo 1..2
check "a ${cpu} takes the $kernels kernels" takes
check "a ${cpu} obeys the contract" obeys
