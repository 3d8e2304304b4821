#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: fuzz.sh MINUTES [TARGET...]
# Builds the fuzzers of test/fuzz with clang, ASan and UBSan, and runs each for so many minutes on its
# corpus. What one finds lies in build/fuzz/found: mend it, and keep the file in test/fuzz/corpus.
set -eu
cd "$(dirname "$0")/.."
. scripts/packages.sh
minutes=${1:?usage: fuzz.sh MINUTES [TARGET...]}
shift
need clang libc6-dev libclang-rt-14-dev meson ninja-build pkg-config python3 libcmocka-dev

[ -e build/fuzz/build.ninja ] ||
    CC=clang meson setup build/fuzz -Dwerror=true -Dfuzz=true -Dexamples=false \
        -Db_sanitize=address,undefined -Db_lundef=false
# shellcheck disable=SC2046 # one word per target
[ $# -gt 0 ] || set -- $(ls test/fuzz/corpus)
for name in "$@"; do
    ninja -C build/fuzz "test/fuzz/fuzz_$name"
done

mkdir -p build/fuzz/found
status=0
for name in "$@"; do
    mkdir -p "build/fuzz/grown/$name"
    echo "== $name" >&2
    UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 "build/fuzz/test/fuzz/fuzz_$name" \
        -max_total_time=$((minutes * 60)) -timeout=10 -max_len=8192 -print_final_stats=1 \
        -artifact_prefix="build/fuzz/found/$name-" \
        "build/fuzz/grown/$name" "test/fuzz/corpus/$name" >"build/fuzz/$name.log" 2>&1 || status=1
    grep -E 'ERROR|SUMMARY|runtime error|stat::number_of_executed_units|stat::new_units' \
        "build/fuzz/$name.log" >&2 || true
done
exit $status
