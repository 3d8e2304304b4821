#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: lint.sh PROGRAM ARGUMENT...
# PROGRAM writes OpenCL programs into the folder that is its last argument; this judges them as
# OpenCL C 1.2 with all warnings, and makes PTX of one for each source and type, where clang and
# libclc are installed. TAP.
set -u
clang=$(command -v clang-14 || command -v clang)
libclc=/usr/lib/clc/nvptx64--nvidiacl.bc
if [ -z "$clang" ]; then
    echo '1..0 # SKIP clang is not installed'
    exit 0
fi
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
# Its own words are no TAP of this test, unless it skips.
"$@" "$tmp" >"$tmp/log" 2>&1 || { cat "$tmp/log"; exit 1; }
if grep -q '^1\.\.0 # SKIP' "$tmp/log"; then
    cat "$tmp/log"
    exit 0
fi

n=0
verdict() { # STATUS NAME; what was said is in $tmp/said
    n=$((n + 1))
    if [ "$1" -eq 0 ]; then
        echo "ok $n - $2"
    else
        echo "not ok $n - $2"
        sed 's/^/# /' "$tmp/said"
    fi
}

defines_of() { tr ' ' '\n' <"$1" | grep '^-D'; }

lint() # FILE OPTIONS
{
    # shellcheck disable=SC2046 # one option a word
    "$clang" -x cl -cl-std=CL1.2 -target spir64 -Xclang -finclude-default-header \
        -Wall -Wextra -Werror -fsyntax-only $(defines_of "$2") "$1" >"$tmp/said" 2>&1
}

# A function that libclc has not got would be left as an extern.
ptx()
{
    # shellcheck disable=SC2046
    "$clang" -x cl -cl-std=CL1.2 -cl-no-stdinc -I/usr/include -include clc/clc.h \
        -target nvptx64-nvidia-cuda -Xclang -target-cpu -Xclang sm_70 \
        -Xclang -mlink-builtin-bitcode -Xclang "$libclc" -Wno-linker-warnings -w -O1 -S \
        $(defines_of "$2") "$1" -o "$tmp/ptx" >"$tmp/said" 2>&1 &&
        ! grep '^\.extern \.func' "$tmp/ptx" >"$tmp/said"
}

# What PTX is made of only once: options that choose among like kernels.
kind_of() { echo "$1" | sed 's/-D\(OP\|TRANS_[AB]\|COLUMNS\|SCATTER\)=[0-9]*//g'; }

kinds=
for file in "$tmp"/*.cl; do
    options=${file%.cl}.options
    name="$(sed -n 's/^#line 1 "\(.*\)\.cl"$/\1/p' "$file" | tail -n 1) $(defines_of "$options" | tr '\n' ' ')"
    lint "$file" "$options"
    verdict $? "lint of $name"
    kind=$(kind_of "$name" | tr -d ' ')
    case $kinds in *" $kind "*) continue ;; esac
    kinds="$kinds $kind "
    if [ -e "$libclc" ]; then
        ptx "$file" "$options"
        verdict $? "PTX of $name"
    fi
done
[ -e "$libclc" ] || { n=$((n + 1)); echo "ok $n - PTX # SKIP libclc-14-dev is not installed"; }
echo "1..$n"
[ "$n" -gt 16 ]
