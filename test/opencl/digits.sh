#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: digits.sh DIGITS EPOCHS
# The example learns as well on this backend as on the CPU's: within half a percent, in TAP.
set -u
unset CB_DISABLE CB_OPTIONS
right() { sed -n 's/^held-out accuracy: .*(\([0-9]*\) of 359)$/\1/p'; }

echo '1..1'
cpu=$(CB_BACKEND=cpu "$1" --epochs "$2" | right)
said=$(CB_BACKEND=opencl "$1" --epochs "$2")
opencl=$(printf '%s\n' "$said" | right)
echo "# right of 359, $2 epochs: cpu ${cpu:-none}, opencl ${opencl:-none}"
printf '%s\n' "$said" | grep -q '^backend: opencl ' && [ -n "$cpu" ] && [ -n "$opencl" ] &&
    [ $((200 * (cpu - opencl))) -le 359 ] && printf 'ok' || printf 'not ok'
echo ' 1 - digits_learns_as_well_as_on_the_cpu'
