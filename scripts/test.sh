#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing, builds with gcc and clang, and runs every test, plain and under ASan and
# UBSan, and of clang's build those that its code generator could fail. The last lines are `N skipped`
# (the reasons stand above) and `N passed, N failed`.
set -eu
cd "$(dirname "$0")/.."
. scripts/packages.sh
need gcc g++ libc6-dev clang libclang-rt-14-dev meson ninja-build pkg-config python3 \
    libcmocka-dev libblas-test binutils util-linux cmake make python3-numpy mandoc locales \
    libxml2-utils abigail-tools zsh fish qemu-user opencl-headers ocl-icd-opencl-dev \
    pocl-opencl-icd oclgrind libclc-14 libclc-14-dev

build() { # NAME COMPILER OPTION...
    name=$1 compiler=$2
    shift 2
    echo "== $name" >&2
    [ -e "build/$name/build.ninja" ] ||
        CC=$compiler meson setup "build/$name" -Dwerror=true "$@" >"build-$name.log" 2>&1 ||
        { cat "build-$name.log" >&2; exit 1; }
    ninja -C "build/$name" >"build-$name.log" 2>&1 || { cat "build-$name.log" >&2; exit 1; }
    rm -f "build-$name.log"
}

mkdir -p build
build plain gcc
build clang clang
build asan gcc -Db_sanitize=address,undefined -Db_lundef=false

# What UBSan finds ends the program, as what ASan finds does.
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1

# A test that fails is counted below, so it does not end the script.
run() { # NAME TEST...
    name=$1
    shift
    echo "== tests, $name" >&2
    meson test -C "build/$name" --no-rebuild --print-errorlogs -t 4 "$@" >&2 || true
}
run plain
run asan --no-suite docs # they do not run what is built
run clang kernels_amx kernels_attention kernels_conv2d kernels_map kernels_softmax 'conformance reference' \
    'conformance avx2' 'conformance avx512' 'conformance amx' golden onnx 'cpu queue' 'cpu streams' 'cpu team'
exec python3 scripts/count_tests.py build/plain build/clang build/asan
