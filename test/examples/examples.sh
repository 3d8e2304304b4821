#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: examples.sh HELLO_GEMM DIGITS DIGITS_CSV NULL_PLUGIN EPOCHS PERCENT
# Runs the examples on the backend that CB_PLUGINS offers and judges them, in TAP. DIGITS has to
# reach PERCENT within EPOCHS. The functions below are the tests, each named as its promise.
set -u
unset CB_BACKEND CB_DISABLE CB_LOG CB_OPTIONS CB_PLUGINS_ADD
hello=$1 digits=$2 csv=$3 null_plugin=$4 epochs=$5 percent=$6
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
head -n 100 "$csv" >"$tmp/few.csv"

# STATUS COMMAND...: runs it, keeps what it says, and is true for that exit status.
run()
{
    want=$1
    shift
    "$@" >"$tmp/out" 2>"$tmp/err"
    [ $? -eq "$want" ]
}

says_nothing_on() { [ ! -s "$tmp/$1" ]; }

on_null() { run 1 env CB_PLUGINS="$null_plugin" CB_BACKEND=null "$1"; }

complains() { says_nothing_on out && grep -q "^$1" "$tmp/err"; }

# LINE: the 100th line of the data replaced by it.
with_line_100() { { head -n 99 "$tmp/few.csv"; printf '%s\n' "$1"; } >"$tmp/bad.csv"; }

hello_gemm_names_its_backend_and_prints_the_product()
{
    run 0 "$hello" && says_nothing_on err &&
        sed 1d "$tmp/out" >"$tmp/product" &&
        printf '   6    3\n   8    4\n' | cmp -s - "$tmp/product" &&
        sed 1q "$tmp/out" | grep -q '^cpu [0-9.]* says$'
}

hello_gemm_without_a_backend_says_why()
{
    run 1 env CB_BACKEND=no_such_backend "$hello" && complains 'hello_gemm: .*no_such_backend'
}

hello_gemm_on_a_backend_without_memory_says_so()
{
    on_null "$hello" && complains 'hello_gemm: alloc: '
}

right=0
digits_learns_to_read_its_own_file()
{
    run 0 "$digits" --epochs "$epochs" && cp "$tmp/out" "$tmp/learned" || return 1
    line=$(grep '^held-out accuracy: ' "$tmp/learned")
    echo "# digits, $epochs epochs: $line"
    right=${line##*(}
    right=${right% of 359)}
    [ $((100 * right)) -ge $((359 * percent)) ]
}

digits_shows_up_to_eight_digits_that_it_got_wrong()
{
    wrong=$((359 - right))
    shown=$(awk '{ n += gsub(/a [0-9], read as [0-9]/, "") } END { print n + 0 }' "$tmp/learned")
    [ "$shown" -eq $((wrong < 8 ? wrong : 8)) ] &&
        ! grep -q 'a \([0-9]\), read as \1' "$tmp/learned"
}

digits_names_its_backend_first() { sed 1q "$tmp/learned" | grep -q '^backend: cpu [0-9.]*$'; }

digits_reads_the_file_that_it_is_given()
{
    run 0 "$digits" --epochs 1 "$tmp/few.csv" && grep -q '^held-out .* of 20)$' "$tmp/out"
}

digits_keeps_quiet_when_nobody_watches()
{
    run 0 "$digits" --epochs 1 "$tmp/few.csv" && says_nothing_on err
}

digits_repeats_itself_with_the_same_seed()
{
    run 0 "$digits" --seed 7 --epochs 1 "$tmp/few.csv" && cp "$tmp/out" "$tmp/first" &&
        run 0 "$digits" --seed 7 --epochs 1 "$tmp/few.csv" && cmp -s "$tmp/first" "$tmp/out"
}

digits_learns_something_else_with_another_seed()
{
    run 0 "$digits" --seed 7 --epochs 1 "$tmp/few.csv" && cp "$tmp/out" "$tmp/first" &&
        run 0 "$digits" --seed 8 --epochs 1 "$tmp/few.csv" && ! cmp -s "$tmp/first" "$tmp/out"
}

digits_reads_crlf_and_a_last_line_without_newline()
{
    run 0 "$digits" --epochs 1 "$tmp/few.csv" && cp "$tmp/out" "$tmp/first" &&
        awk '{ printf "%s%s", (NR > 1 ? "\r\n" : ""), $0 }' "$tmp/few.csv" >"$tmp/crlf.csv" &&
        run 0 "$digits" --epochs 1 "$tmp/crlf.csv" && cmp -s "$tmp/first" "$tmp/out"
}

digits_names_a_malformed_line()
{
    good=$(sed -n 100p "$tmp/few.csv")
    for bad in '' "$good,1" "${good#*,}" "17,${good#*,}" "-1,${good#*,}" "${good%,*},10" \
        "x,${good#*,}" "$good x" "$good,"; do
        with_line_100 "$bad"
        run 1 "$digits" "$tmp/bad.csv" && complains "digits: $tmp/bad.csv:100: " || return 1
    done
}

digits_refuses_a_file_too_short_to_hold_a_digit_out()
{
    head -n 4 "$csv" >"$tmp/short.csv"
    run 1 "$digits" "$tmp/short.csv" && complains "digits: $tmp/short.csv: "
}

digits_says_which_file_cannot_be_read()
{
    run 1 "$digits" "$tmp/none.csv" && complains "digits: $tmp/none.csv: No such file" &&
        run 1 "$digits" "$tmp" && complains "digits: $tmp: Is a directory"
}

digits_refuses_a_command_line_that_makes_no_sense()
{
    for bad in --wrong --seed '--seed x' '--seed -1' '--epochs 0' '--epochs 1001' '--epochs 1x' \
        "$csv $csv"; do
        # shellcheck disable=SC2086 # an option and its value are two words
        run 2 "$digits" $bad && complains 'usage: digits' || return 1
    done
}

digits_without_a_backend_says_why()
{
    run 1 env CB_BACKEND=no_such_backend "$digits" && complains 'digits: .*no_such_backend'
}

digits_on_a_backend_without_memory_says_so()
{
    on_null "$digits" && complains 'digits: alloc: '
}

n=0
for test in $(sed -En 's/^((hello_gemm|digits)_[a-z_]+)\(\).*/\1/p' "$0"); do
    n=$((n + 1))
    if "$test"; then
        echo "ok $n - $test"
    else
        echo "not ok $n - $test"
        sed 's/^/# /' "$tmp/out" "$tmp/err"
    fi
done
echo "1..$n"
