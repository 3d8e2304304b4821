# SPDX-License-Identifier: Apache-2.0
# Sourced by the other scripts. need PACKAGE... installs what is missing, as root or through sudo;
# where neither is possible it prints the command and ends the script.

need() {
    missing=
    for package in "$@"; do
        dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' ||
            missing="$missing $package"
    done
    [ -n "$missing" ] || return 0

    if [ "$(id -u)" = 0 ]; then
        as_root=
    elif command -v sudo >/dev/null 2>&1; then
        as_root=sudo
    else
        echo "These packages are missing, and this is neither root nor is there sudo. As root, run:" >&2
        echo "    apt-get update && apt-get install -y --no-install-recommends$missing" >&2
        exit 1
    fi
    echo "Installing$missing" >&2
    # shellcheck disable=SC2086 # one word per package
    if ! $as_root apt-get update -qq >&2 ||
        ! $as_root env DEBIAN_FRONTEND=noninteractive \
            apt-get install -y -qq --no-install-recommends $missing >&2; then
        echo "apt-get could not install$missing" >&2
        exit 1
    fi
}
