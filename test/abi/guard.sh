#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: guard.sh PLUGIN_API_DIR LOADER_DIR FROZEN_DIR
# abidiff holds today's headers against those of FROZEN_DIR, a release: both are compiled into the
# surface.c that lies there. TAP on stdout; the last functions before the loop are the tests.
set -u
api=$1 loader=$2 frozen=$3
n=0
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cp "$frozen/compute_backend.h" "$frozen/cb_loader.h" "$work" || exit 1

for program in gcc abidiff; do
    command -v $program >/dev/null || {
        printf 'ok 1 - guard # SKIP %s is not installed\n1..1\n' "$program"
        exit
    }
done

# LIBRARY INCLUDE...: what a release and whoever meets it have to agree on, with its types.
compile()
{
    library=$1
    shift
    gcc -std=gnu11 -g -shared -fPIC "$@" "$frozen/surface.c" -o "$work/$library"
}

version() { sed -n 's/^#define CB_ABI_\(MINOR\|DRAFT\) //p' "$1" | tr '\n' ' '; }

# same, grown (fields and slots at the end), loader_grown (of cb_loader.h alone), or broken.
verdict()
{
    abidiff --leaf-changes-only "$work/old.so" "$work/new.so" >"$work/report" && {
        echo same
        return
    }
    if ! grep -q 'data member insertion' "$work/report" ||
        grep -Eq "there are data member changes|deletion|^  \[" "$work/report"; then
        echo broken
    elif grep -q "^'.* at compute_backend.h:" "$work/report"; then
        echo grown
    else
        echo loader_grown
    fi
}

# HEADER: new.so was built with it. Within a draft nothing of the ABI changes; a minor version grows;
# drafts refuse each other, and may differ in anything.
keeps_the_promise()
{
    # shellcheck disable=SC2046 # two words
    set -- $(version "$frozen/compute_backend.h") $(version "$1") "$(verdict)"
    case $5 in
    same | loader_grown) ;;
    grown) [ "$2" -ne "$4" ] || { [ "$4" -eq 0 ] && [ "$3" -gt "$1" ]; } ;;
    *) [ "$2" -ne "$4" ] ;;
    esac
}

# HEADER SED_SCRIPT: new.so from the release's own headers, edited. The assertions, which would
# find many a change first, are taken out.
edit()
{
    sed 's/_Static_assert(condition, text)/_Static_assert(1, text)/' \
        "$frozen/compute_backend.h" >"$work/compute_backend.h"
    cp "$frozen/cb_loader.h" "$work"
    cp "$work/$1" "$work/before"
    sed -i "$2" "$work/$1"
    ! cmp -s "$work/before" "$work/$1" && compile new.so -I"$work"
}

# HEADER SED_SCRIPT: it is seen as a break, and is one unless the draft is another.
breaks()
{
    edit "$1" "$2" && [ "$(verdict)" = broken ] &&
        ! keeps_the_promise "$work/compute_backend.h" &&
        sed -i 's/^\(#define CB_ABI_DRAFT\) .*/\1 4711/' "$work/compute_backend.h" &&
        keeps_the_promise "$work/compute_backend.h"
}

todays_headers_keep_what_the_release_promised()
{
    compile new.so -I"$api" -I"$loader" && keeps_the_promise "$api/compute_backend.h"
}

a_field_in_the_middle_is_a_break()
{
    breaks compute_backend.h 's/^    uint32_t op;    .* CB_REDUCE_.*/    uint64_t more;\n&/'
}

a_slot_in_the_middle_is_a_break()
{
    breaks compute_backend.h 's/^    cb_status (\*gather)/    cb_status (*more)(void *self);\n&/'
}

a_field_of_another_type_and_the_same_size_is_a_break()
{
    breaks compute_backend.h 's/uint32_t warp_size/int32_t warp_size/'
}

a_slot_with_another_argument_is_a_break()
{
    breaks compute_backend.h 's/(\*init)(void \*self, uint32_t/(*init)(void *self, uint64_t/'
}

a_field_that_is_gone_is_a_break()
{
    breaks compute_backend.h 's/^    uint64_t stride_a, stride_b, /    uint64_t stride_a, /'
}

a_function_of_the_loader_with_another_argument_is_a_break()
{
    breaks cb_loader.h 's/\(cb_loader_route(cb_loader \*loader,\) uint32_t/\1 uint64_t/'
}

a_field_at_the_end_is_growth_and_needs_a_version()
{
    edit compute_backend.h 's/^} cb_reduce_args;/    uint64_t more;\n&/' &&
        [ "$(verdict)" = grown ] && ! keeps_the_promise "$work/compute_backend.h" &&
        sed -i 's/^\(#define CB_ABI_DRAFT\) .*/\1 4711/' "$work/compute_backend.h" &&
        keeps_the_promise "$work/compute_backend.h"
}

a_struct_of_the_loader_may_grow()
{
    edit cb_loader.h 's/^} cb_request;/    uint64_t more;\n&/' &&
        [ "$(verdict)" = loader_grown ] && keeps_the_promise "$work/compute_backend.h"
}

compile old.so -I"$frozen" || exit 1
for test in $(sed -En 's/^((a|todays)_[a-z_]+)\(\)$/\1/p' "$0"); do
    n=$((n + 1))
    : >"$work/report"
    if "$test" 2>"$work/said"; then
        echo "ok $n - $test"
    else
        echo "not ok $n - $test"
        sed 's/^/# /' "$work/said" "$work/report"
    fi
done
echo "1..$n"
