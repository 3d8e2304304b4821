#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: old.sh HEADER OLD_HEADER CB HOST OLD_HOST PLUGIN OLD_PLUGIN
# Each host with each plugin and today's loader, where HOST and PLUGIN were built with HEADER, the
# others with OLD_HEADER. With one CB_ABI_DRAFT they compute; with two the refusal names both. TAP on
# stdout; the functions before the loop are the tests.
set -u
unset CB_BACKEND CB_DISABLE CB_LOG CB_OPTIONS CB_PLUGINS CB_PLUGINS_ADD
cb=$3 host=$4 old_host=$5 plugin=$6 old_plugin=$7
out=$(mktemp) || exit 1
trap 'rm -f "$out"' EXIT
export CB_CONFIG=/dev/null CB_TRUST=off

draft() { sed -n 's/^#define CB_ABI_DRAFT //p' "$1"; }
today=$(draft "$1") then=$(draft "$2")

# HOST PLUGIN ID: the host's program gets its product from that plugin.
computes()
{
    CB_PLUGINS=$2 "$1" >"$out" 2>&1 && grep -q "^$3 [0-9.]* says\$" "$out" &&
        sed 1d "$out" | tr -s ' \n' ' ' | grep -qx ' 6 3 8 4 '
}

names_both_drafts() { grep -q "draft $today\b" "$out" && grep -q "draft $then\b" "$out"; }

an_old_host_works_with_todays_plugin_or_is_told_both_drafts()
{
    if [ "$today" = "$then" ]; then
        computes "$old_host" "$plugin" cpu
    else
        ! CB_PLUGINS=$plugin "$old_host" >"$out" 2>&1 && names_both_drafts
    fi
}

an_old_plugin_works_with_todays_host_or_its_refusal_names_both_drafts()
{
    if [ "$today" = "$then" ]; then
        computes "$host" "$old_plugin" frozen
    else
        ! CB_PLUGINS=$old_plugin "$host" >"$out" 2>&1 && names_both_drafts &&
            ! CB_PLUGINS=$old_plugin "$cb" list --why >"$out" 2>&1 &&
            grep -q '^frozen .*refused' "$out" && names_both_drafts
    fi
}

an_old_plugin_works_with_an_old_host_through_todays_loader_or_is_told()
{
    if [ "$today" = "$then" ]; then
        computes "$old_host" "$old_plugin" frozen
    else
        ! CB_PLUGINS=$old_plugin "$old_host" >"$out" 2>&1 && names_both_drafts
    fi
}

n=0
for test in $(sed -En 's/^(an_[a-z_]+)\(\)$/\1/p' "$0"); do
    n=$((n + 1))
    : >"$out"
    if "$test"; then
        echo "ok $n - $test"
    else
        echo "not ok $n - $test"
        sed 's/^/# /' "$out"
    fi
done
echo "1..$n"
