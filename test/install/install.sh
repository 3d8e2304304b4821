#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: install.sh MESON BUILD_DIR SOURCE_DIR BINDIR INCLUDEDIR LIBDIR \
#            LIBEXECDIR DATADIR MANDIR
#    or: install.sh --skip REASON
# Installs the build below a folder of its own and uses it as a stranger would: with a compiler,
# pkg-config and the commands of docs/write_a_plugin.md, in TAP. The tests are the functions that the
# loop at the end names; one that cannot run sets skip to the reason and fails.
set -u
if [ "$1" = --skip ]; then
    printf 'ok 1 - install # SKIP %s\n1..1\n' "$2"
    exit
fi
meson=$1 build=$2 source=$3 bindir=$4 includedir=$5 libdir=$6
libexecdir=$7 datadir=$8 mandir=$9
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
root=$tmp/root kit=$tmp/mine
strict='-std=c11 -Wall -Wextra -Wpedantic -Werror'

if ! DESTDIR='' "$meson" install -C "$build" --no-rebuild --destdir "$root" >"$tmp/log" 2>&1; then
    sed 's/^/# /' "$tmp/log"
    echo 'Bail out! meson install failed'
    exit 1
fi

# What an installation below / would give for nothing.
unset CB_PLUGINS CB_PLUGINS_ADD CB_BACKEND CB_OPTIONS CB_DISABLE
export LD_LIBRARY_PATH="$root$libdir"
export PATH="$root$bindir:$PATH"
export PKG_CONFIG_LIBDIR="$root$libdir/pkgconfig"
export PKG_CONFIG_SYSROOT_DIR="$root"
export PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1 PKG_CONFIG_ALLOW_SYSTEM_LIBS=1

needs()
{
    for program; do
        command -v "$program" >/dev/null || { skip="$program is not installed"; return 1; }
    done
}

prints() { printf '%s\n' "$@" | cmp -s - "$tmp/out"; }

build_hello()
{
    needs gcc pkg-config || return 1
    # shellcheck disable=SC2046,SC2086 # flags are words
    [ -x "$tmp/hello" ] || gcc $strict "$source/docs/examples/hello_gemm.c" -o "$tmp/hello" \
        $(pkg-config --cflags --libs compute-backend)
}

# BACKEND [VARIABLE=VALUE...]: hello_gemm takes that backend and gets the product right.
hello_says()
{
    backend=$1
    shift
    env "$@" "$tmp/hello" >"$tmp/out" && grep -q "^$backend [0-9.]* says\$" "$tmp/out" &&
        sed -i 1d "$tmp/out" && prints '   6    3' '   8    4'
}

# NAME: the block "```sh NAME" of docs/write_a_plugin.md, on stdout. It may be indented.
block()
{
    awk -v fence="\`\`\`sh $1" '{ bare = $0; sub(/^ +/, "", bare) }
        bare == "```" { on = 0 } on; bare == fence { on = 1 }' "$source/docs/write_a_plugin.md"
}

# NAME...: types these blocks in, in a new kit, which the block "```sh kit" makes in ~/mine. What
# they print is in out.
type_in()
{
    rm -rf "$kit"
    (cd "$source" && block kit | HOME=$tmp sh -eu) || return 1
    for name; do
        block "$name" >"$kit/commands"
        [ -s "$kit/commands" ] && (cd "$kit" && HOME=$tmp sh -eu ./commands) >"$tmp/out" || return 1
    done
}

# FILE: the plugin that was built is one, and computes.
is_the_minimal_plugin()
{
    nm -D --defined-only "$1" | awk '{ print $3 }' >"$tmp/out" && prints cb_plugin_entry &&
        build_hello && hello_says minimal CB_PLUGINS="$1"
}

files_are_where_a_packager_expects_them()
{
    (cd "$root" && find . ! -type d) | sed 's/^\.//' | sort >"$tmp/found"
    version=$(sed -n 's/^Version: //p' "$root$libdir/pkgconfig/compute-backend.pc")
    opencl= # where its headers were there
    [ ! -e "$build/plugins/opencl/libcb_opencl.so" ] ||
        opencl=$libdir/compute-backend/libcb_opencl.so
    sort <<END | sed '/^$/d' >"$tmp/wanted"
$bindir/cb
$includedir/compute-backend/cb_selftest.h
$includedir/compute-backend/cb_loader.h
$includedir/compute-backend/compute_backend.h
$includedir/compute-backend/compute_backend_plugin.h
$libdir/compute-backend/libcb_cpu.so
$libdir/compute-backend/libcb_null.so
$opencl
$libdir/libcb_loader.a
$libdir/libcb_loader.so
$libdir/libcb_loader.so.0
$libdir/libcb_loader.so.$version
$libdir/libcb_selftest.a
$libdir/pkgconfig/compute-backend-selftest.pc
$libdir/pkgconfig/compute-backend.pc
$libexecdir/compute-backend/cb-probe
$datadir/bash-completion/completions/cb
$datadir/fish/vendor_completions.d/cb.fish
$datadir/zsh/site-functions/_cb
$mandir/man1/cb.1
$mandir/man5/cb.conf.5
$mandir/man7/compute_backend.7
END
    diff "$tmp/wanted" "$tmp/found" >"$tmp/log"
}

pkg_config_says_where_plugins_go()
{
    needs pkg-config || return 1
    (unset PKG_CONFIG_SYSROOT_DIR; pkg-config --variable=plugindir compute-backend) >"$tmp/out" &&
        prints "$libdir/compute-backend"
}

hello_gemm_builds_with_pkg_config_and_runs()
{
    build_hello && hello_says cpu CB_PLUGINS="$root$libdir/compute-backend"
}

a_host_finds_the_plugins_beside_the_loader_library()
{
    build_hello && hello_says cpu
}

a_host_may_link_the_static_loader()
{
    needs gcc pkg-config ldd || return 1
    # shellcheck disable=SC2046,SC2086 # flags are words
    gcc $strict $(pkg-config --cflags compute-backend) "$source/docs/examples/hello_gemm.c" \
        "$root$libdir/libcb_loader.a" -ldl -o "$tmp/hello_static" &&
        ! ldd "$tmp/hello_static" | grep -q cb_loader &&
        CB_PLUGINS="$root$libdir/compute-backend" "$tmp/hello_static" | grep -q '^cpu '
}

the_command_lists_the_installed_backends()
{
    (unset LD_LIBRARY_PATH; cb list) >"$tmp/out" && grep -q cpu "$tmp/out" &&
        grep -q null "$tmp/out"
}

a_plugin_dropped_into_the_directory_is_taken()
{
    build_hello && type_in gcc &&
        cp "$kit/libcb_minimal.so" "$root$libdir/compute-backend/" || return 1
    hello_says minimal
    taken=$?
    rm "$root$libdir/compute-backend/libcb_minimal.so"
    return $taken
}

the_minimal_plugin_builds_with_gcc_as_documented()
{
    needs gcc pkg-config nm && type_in gcc && is_the_minimal_plugin "$kit/libcb_minimal.so"
}

the_minimal_plugin_builds_with_meson_as_documented()
{
    needs gcc pkg-config nm && type_in meson &&
        is_the_minimal_plugin "$kit/build/libcb_minimal.so"
}

the_minimal_plugin_builds_with_cmake_as_documented()
{
    needs cmake gcc make pkg-config nm && type_in cmake &&
        is_the_minimal_plugin "$kit/build-cmake/libcb_minimal.so"
}

the_minimal_plugin_obeys_the_contract()
{
    needs gcc pkg-config && type_in gcc judge && grep -q ' passed, 0 failed, ' "$tmp/out"
}

the_commands_show_the_minimal_plugin_as_documented()
{
    needs gcc pkg-config nm && type_in gcc look && grep -q '^minimal .*: selected$' "$tmp/out" &&
        tail -n 1 "$tmp/out" | grep -q ' T cb_plugin_entry$'
}

a_build_of_a_vendor_may_use_the_installed_self_test()
{
    needs gcc pkg-config || return 1
    sed 's/"selftest.h"/"cb_selftest.h"/' "$source/docs/write_a_plugin/judge.c" >"$tmp/judge.c"
    # shellcheck disable=SC2046,SC2086 # flags are words
    gcc $strict -D_GNU_SOURCE "$tmp/judge.c" -o "$tmp/judge" \
        $(pkg-config --cflags --libs compute-backend-selftest) -ldl &&
        "$tmp/judge" "$root$libdir/compute-backend/libcb_cpu.so" softmax >"$tmp/out" &&
        grep -q ' passed, 0 failed, ' "$tmp/out"
}

a_plugin_may_be_linked_into_its_host()
{
    needs gcc pkg-config && type_in builtin && grep -q '^minimal ' "$tmp/out"
}

# KIND: the blocks of the documents that docs.py writes as such, into blocks.
blocks()
{
    needs python3 || return 1
    [ -d "$tmp/blocks" ] || { mkdir "$tmp/blocks" &&
        python3 "$source/test/install/docs.py" "$source" --blocks "$tmp/blocks"; } || return 1
    set -- "$tmp/blocks"/*."$1"
    [ $# -ge 3 ] && printf '%s\n' "$@"
}

# In a folder with what the documents speak of: a build tree, a plugin, and a program by two names.
every_command_of_the_documents_runs()
{
    needs cc pkg-config readelf && blocks sh >"$tmp/list" || return 1
    [ -x "$build/docs/examples/digits" ] || { skip='the examples are not built'; return 1; }
    mkdir "$tmp/here" && ln -s "$build" "$tmp/here/build" &&
        ln -s "$root$libdir/compute-backend/libcb_cpu.so" "$tmp/here" &&
        cp "$source/docs/examples/hello_gemm.c" "$tmp/here" &&
        cp "$source/docs/examples/hello_gemm.c" "$tmp/here/host.c" || return 1
    while read -r block; do
        (cd "$tmp/here" && HOME=$tmp sh -eu "$block") </dev/null >"$tmp/out" 2>&1 || {
            echo "$block" >&2
            return 1
        }
    done <"$tmp/list"
}

every_piece_of_c_in_the_documents_compiles()
{
    needs gcc pkg-config && blocks c >"$tmp/list" || return 1
    while read -r block; do
        # shellcheck disable=SC2046,SC2086 # flags are words
        gcc $strict -fsyntax-only $(pkg-config --cflags compute-backend-selftest) "$block" ||
            return 1
    done <"$tmp/list"
}

n=0
for test in \
    files_are_where_a_packager_expects_them \
    pkg_config_says_where_plugins_go \
    hello_gemm_builds_with_pkg_config_and_runs \
    a_host_finds_the_plugins_beside_the_loader_library \
    a_host_may_link_the_static_loader \
    the_command_lists_the_installed_backends \
    a_plugin_dropped_into_the_directory_is_taken \
    the_minimal_plugin_builds_with_gcc_as_documented \
    the_minimal_plugin_builds_with_meson_as_documented \
    the_minimal_plugin_builds_with_cmake_as_documented \
    the_minimal_plugin_obeys_the_contract \
    the_commands_show_the_minimal_plugin_as_documented \
    a_build_of_a_vendor_may_use_the_installed_self_test \
    a_plugin_may_be_linked_into_its_host \
    every_command_of_the_documents_runs \
    every_piece_of_c_in_the_documents_compiles
do
    n=$((n + 1))
    skip=
    : >"$tmp/log"
    : >"$tmp/out"
    if "$test" 2>>"$tmp/log"; then
        echo "ok $n - $test"
    elif [ -n "$skip" ]; then
        echo "ok $n - $test # SKIP $skip"
    else
        echo "not ok $n - $test"
        sed 's/^/# /' "$tmp/log" "$tmp/out"
    fi
done
echo "1..$n"
