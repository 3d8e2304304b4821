#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing, builds, shows the backends that were found, and trains a small network
# on real handwritten digits through whichever backend is configured. Arguments go to it.
set -eu
cd "$(dirname "$0")/.."
. scripts/packages.sh
need gcc libc6-dev meson ninja-build pkg-config

[ -e build/run/build.ninja ] || meson setup build/run -Dtests=false >build.log 2>&1 ||
    { cat build.log >&2; exit 1; }
ninja -C build/run >build.log 2>&1 || { cat build.log >&2; exit 1; }
rm -f build.log

# The plugins of this tree; the person's own CB_PLUGINS, when there is one, wins.
: "${CB_PLUGINS:=$PWD/build/run/plugins/cpu:$PWD/build/run/plugins/null}"
# They are as trustworthy as this script, also in a checkout that a group may write.
: "${CB_TRUST:=off}"
export CB_PLUGINS CB_TRUST
build/run/loader/cmd/cb list
echo
exec build/run/docs/examples/digits "$@"
