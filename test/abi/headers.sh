#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The headers compile by themselves, in every language and with every compiler that a host or a
# plugin may use, with all warnings as errors. TAP on stdout.
# Usage: headers.sh PLUGIN_API_DIR LOADER_DIR USE_C
api=$1 loader=$2 use=$3
n=0
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# check NAME COMPILER LANGUAGE STANDARD FILE
check()
{
    n=$((n + 1))
    if ! command -v "$2" >/dev/null; then
        echo "# skipped $1: no $2"
        echo "ok $n - $1 # SKIP no $2"
    elif ! echo 'int x;' | "$2" -x "$3" "-std=$4" -fsyntax-only - 2>/dev/null; then
        echo "# skipped $1: this $2 does not know -std=$4"
        echo "ok $n - $1 # SKIP no -std=$4"
    elif "$2" -x "$3" "-std=$4" -Wall -Wextra -Wpedantic -Werror -fsyntax-only \
        "-I$api" "-I$loader" "$5" >"$work/said" 2>&1; then
        echo "ok $n - $1"
    else
        sed 's/^/# /' "$work/said"
        echo "not ok $n - $1"
    fi
}

for header in compute_backend.h compute_backend_plugin.h cb_loader.h; do
    echo "#include \"$header\"" >"$work/$header.c"
done
for compiler in gcc clang; do
    for file in "$work"/*.h.c "$use"; do
        name=$(basename "$file" .c)
        for standard in c11 c17 c2x; do
            check "${name}_compiles_as_${standard}_with_$compiler" \
                $compiler c $standard "$file"
        done
        case $compiler in gcc) cxx=g++ ;; *) cxx=clang++ ;; esac
        check "${name}_compiles_as_c++17_with_$cxx" $cxx c++ c++17 "$file"
    done
done
echo "1..$n"
