#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: check.sh [MINUTES]
# The long checks that scripts/test.sh leaves out, before a release: every test under TSan; the tests
# of the backend, of the loader and of the conformance suite under valgrind; the whole self-test of
# each set of kernels, and of OpenCL where it has a device; and each fuzzer for so many minutes (10).
set -eu
cd "$(dirname "$0")/.."
. scripts/packages.sh
minutes=${1:-10}
need gcc g++ libc6-dev meson ninja-build pkg-config python3 libcmocka-dev valgrind opencl-headers \
    ocl-icd-opencl-dev pocl-opencl-icd

mkdir -p build
[ -e build/plain/build.ninja ] || meson setup build/plain -Dwerror=true
[ -e build/tsan/build.ninja ] ||
    meson setup build/tsan -Dwerror=true -Db_sanitize=thread -Db_lundef=false
ninja -C build/plain
ninja -C build/tsan

status=0
TSAN_OPTIONS=halt_on_error=1 meson test -C build/tsan --no-rebuild --print-errorlogs -t 10 ||
    status=1

# valgrind computes long double in 53 bits and has no AVX-512, so of the tests that judge numbers
# only the conformance suite, which needs neither, runs under it.
meson test -C build/plain --no-rebuild --print-errorlogs -t 40 \
    --wrapper 'valgrind --quiet --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite' \
    'common addr_table' 'common handles' 'cpu lifecycle' 'cpu map' 'cpu memory' 'cpu no_memory' \
    'cpu options' 'cpu profile' 'cpu queue' 'cpu streams' 'cpu stress' 'field threads' \
    'conformance reference' 'conformance avx2' ini config choose table life memory \
    'chaos late' || status=1

export CB_TRUST=off CB_PLUGINS=build/plain/plugins/opencl:build/plain/plugins/cpu
cb=build/plain/loader/cmd/cb
for kernels in reference avx2 avx512 amx; do
    $cb selftest --full cpu --option kernels=$kernels || status=1
done
if $cb info opencl >/dev/null 2>&1; then
    $cb selftest --full opencl --timeout 180 || status=1
else
    echo 'no OpenCL device: the self-test of opencl is left out' >&2
fi

sh scripts/fuzz.sh "$minutes" || status=1
exit $status
