#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: bench.py CB CPU_PLUGIN NULL_PLUGIN CHAOS_PLUGIN BLAS

What `cb bench` measures, prints and refuses, in TAP. No test depends on how fast anything is.
"""
import csv
import io
import json
import os
import pty
import subprocess
import sys

from kit import CB, ENV, main

CPU, NULL, CHAOS, BLAS = map(os.path.abspath, sys.argv[2:6])
QUICK = ("--reps", "3", "--min-time", "0.1")
ALL = {"CB_PLUGINS": ":".join(map(os.path.dirname, (CPU, NULL, CHAOS)))}

# An op with a shape that a naive loop computes at once, and a fault of chaos that it must find.
OPS = {
    "gemm m=5 n=6 k=7 trans_a=1": "gemm_k_short",
    "gemm m=7 n=3 k=9 trans_b=1": "gemm_trans_b_ignored",
    "gemm_mixed_precision m=8 n=8 k=9": "mixed_does_not_round",
    "batched_gemm batch=3 m=4 n=5 k=6 trans_b=1": "batched_stride_halved",
    "conv2d_forward input=2,6,9,8 filter=4,3,3,2 stride=2,1 padding=1 groups=2":
        "conv_group_ignored",
    "conv2d_forward input=1,2,9,9 filter=3,2,3,3 dilation=2": "conv_dilation_ignored",
    "conv2d_backward_data input=1,2,9,8 filter=4,2,3,2 stride=2,1 padding=1":
        "conv_data_stride_swapped",
    "conv2d_backward_filter input=2,6,9,8 filter=4,3,3,2 padding=1,0 groups=2":
        "conv_filter_group_ignored",
    "attention batch=2 heads=4 kv_heads=2 seq_q=5 seq_kv=9 head_dim=8 causal=1":
        "attention_causal_late",
    "attention heads=4 kv_heads=2 seq_q=3 seq_kv=4 head_dim=8": "attention_heads_mixed",
    "softmax shape=3,40,5 axis=1": "softmax_skips_last",
    "reduce op=mean shape=3,40,5 axis=1": "reduce_mean_undivided",
    "unary op=exp n=100": "unary_skips_last",
    "binary op=div n=1000": "binary_div_by_reciprocal",
    "gather rows=10 cols=3 indices=20": "gather_shifted",
    "scatter rows=10 cols=3 indices=20": "scatter_first_wins",
    "copy op=htod n=100": "copy_short",
    "copy op=dtoh n=100": "copy_short",
    "copy op=dtod n=100": "copy_short",
}


def run(*words, env=None):
    return subprocess.run([CB, "bench", *QUICK, *words], capture_output=True, text=True,
                          env={**ENV, **(env or {})}, check=False)


def rows(done):
    return list(csv.DictReader(io.StringIO(done.stdout)))


def every_op_and_type_is_measured_and_right():
    for words in OPS:
        done = run(*words.split(), "--csv")
        if done.returncode or done.stderr or not rows(done):
            yield f"{words}: {done.returncode} {done.stderr}"
        for row in rows(done):
            if row["state"] != "measured" or not 0 <= float(row["error"]) <= 1:
                yield f"{words}: {row}"


def reductions_and_maps_are_right_in_every_type():
    for words in (*(f"reduce op={op} shape=7,9,5 axis=0" for op in ("sum", "max", "min", "mean")),
                  *(f"unary op={op} n=500" for op in ("relu", "sigmoid", "tanh", "exp", "log",
                                                      "sqrt", "abs", "neg")),
                  *(f"binary op={op} n=500" for op in ("add", "sub", "mul", "div", "max", "min")),
                  "softmax shape=9,7", "gather rows=5 cols=2 indices=9",
                  *(f"copy op={way} n=500" for way in ("htod", "dtoh", "dtod"))):
        found = rows(run(*words.split(), "dtype=f64,f32,bf16,f16", "--csv"))
        if [row["dtype"] for row in found] != ["f64", "f32", "bf16", "f16"]:
            yield f"{words}: {found}"
        yield from (f"{words}: {row}" for row in found if row["state"] != "measured")


def a_wrong_result_is_told_and_is_the_exit_code():
    for words, fault in OPS.items():
        done = run(*words.split(), "--csv", "--threads", "1", "--backend",
                   f"cpu,chaos:wrap={CPU},fault={fault}", env=ALL)
        states = {row["state"] for row in rows(done)[1::2]}
        if done.returncode != 1 or "wrong" not in states:
            yield f"{fault}: exit code {done.returncode}, {states} {done.stderr}"
    done = run("gemm", "m=5", "n=6", "k=7", "--backend", f"chaos:wrap={CPU},fault=gemm_k_short",
               env=ALL)
    if "which is WRONG" not in done.stdout:
        yield done.stdout


def a_call_that_fails_is_told_and_is_the_exit_code():
    done = run("unary", "n=10", "--csv", "--backend", f"chaos:wrap={CPU},fail=unary,cpu", env=ALL)
    if done.returncode != 1 or [row["state"] for row in rows(done)] != ["failed", "measured"]:
        yield f"{done.returncode}: {done.stdout}"
    if "unary" not in rows(done)[0]["reason"] or rows(done)[1]["ratio"] != "0.0000":
        yield done.stdout


def what_a_backend_lacks_is_told_and_no_failure():
    done = run("gemm", "m=4", "n=4", "k=4", "dtype=f32", "--csv", "--backend", "cpu,null", env=ALL)
    states = [row["state"] for row in rows(done)]
    if done.returncode or states != ["measured", "unsupported"]:
        yield f"{done.returncode}: {done.stdout}"
    if "gemm" not in rows(done)[1]["reason"]:
        yield rows(done)[1]["reason"]


def columns_stand_as_given_each_with_its_own_options():
    spec = "cpu:kernels=reference,threads=1,cpu,cpu:threads=1"
    done = run("gemm", "m=4", "n=4", "k=4", "dtype=f32", "--csv", "--backend", spec)
    names = [row["column"] for row in rows(done)]
    if done.returncode or names != ["cpu:kernels=reference,threads=1", "cpu", "cpu:threads=1"]:
        yield f"{done.returncode}: {done.stdout} {done.stderr}"
    done = run("unary", "--backend", "cpu,cpu:frob=1")
    if done.returncode != 1 or "frob" not in done.stderr:
        yield f"{done.returncode}: {done.stderr}"


def threads_are_an_option_of_every_backend():
    done = run("unary", "--threads", "2000", "--backend", "cpu")
    if done.returncode != 1 or "threads" not in done.stderr:
        yield f"{done.returncode}: {done.stderr}"
    for backend in ((), ("--backend", "cpu")):
        done = run("unary", "n=10", "--threads", "1", *backend)
        if done.returncode:
            yield done.stderr


def figures_fit_together():
    for row in rows(run("gemm", "m=30", "n=20", "k=10", "--csv", "--backend", "cpu,cpu")):
        median, quartile = float(row["median_ms"]), float(row["quartile_ms"])
        if not 0 < quartile <= median or row["repetitions"] != "3":
            yield str(row)
        if abs(2e-6 * 30 * 20 * 10 / median - float(row["rate"])) > 0.02 * float(row["rate"]):
            yield str(row)
    row, = rows(run("copy", "op=dtod", "n=250000", "--csv"))
    if abs(1 / float(row["median_ms"]) - float(row["rate"])) > 0.02 * float(row["rate"]):
        yield str(row)
    first, second = rows(run("gemm", "m=2", "n=64", "k=64", "dtype=f64", "--csv", "--peer",
                             f"blas:{BLAS}"))
    ratio = float(first["median_ms"]) / float(second["median_ms"])
    if float(first["ratio"]) != 1 or abs(ratio - float(second["ratio"])) > 0.02 * ratio:
        yield f"{first} {second}"


def a_repetition_lasts_as_long_as_is_asked_for():
    row, = rows(run("unary", "n=100", "--csv", "--min-time", "5"))
    if not 1 < int(row["calls"]) * float(row["median_ms"]) < 100:
        yield str(row)


def json_says_what_csv_says():
    words = ("gemm", "m=9", "n=9", "k=9", "--backend", "cpu,null")
    done = run(*words, "--json", env=ALL)
    found = json.loads(done.stdout)
    if found["schema"] != 1 or [c["name"] for c in found["columns"]] != ["cpu", "null"]:
        yield done.stdout
    flat = [(case["op"], case["dtype"], case["shape"], case["unit"] if "rate" in col else "",
             col["name"], col["state"]) for case in found["cases"] for col in case["columns"]]
    wanted = [tuple(row[k] for k in ("op", "dtype", "shape", "unit", "column", "state"))
              for row in rows(run(*words, "--csv", env=ALL))]
    if flat != wanted:
        yield f"{flat}\n{wanted}"
    for case in found["cases"]:
        if not 0 < case["columns"][0]["quartile_ns"] <= case["columns"][0]["median_ns"]:
            yield str(case)


def a_library_of_blas_is_compared_with():
    name = f"blas:{BLAS}"
    for words in ("gemm m=5 n=6 k=7 trans_a=1 trans_b=1", "batched_gemm batch=4 m=5 n=6 k=7"):
        done = run(*words.split(), "dtype=f64,f32", "--csv", "--peer", name)
        found = [(row["column"], row["state"]) for row in rows(done)]
        if done.returncode or found != [("cpu", "measured"), (name, "measured")] * 2:
            yield f"{words}: {done.returncode} {done.stdout} {done.stderr}"
    done = run("unary", "n=10", "--csv", "--peer", name)
    if done.returncode or rows(done)[1]["state"] != "unsupported":
        yield done.stdout


def the_standard_list_of_every_op_is_valid():
    done = run("--csv", "--backend", "null", env=ALL)
    found = rows(done)
    if done.returncode or done.stderr or len({row["op"] for row in found}) != 14:
        yield f"{done.returncode}: {done.stderr}"
    yield from (str(row) for row in found if "null" not in row["reason"])
    cases = {(row["op"], row["dtype"], row["shape"]) for row in found}
    if len(cases) != len(found) or len({shape for _, _, shape in cases}) < 40:
        yield f"{len(found)} rows of {len(cases)} cases"


def types_narrow_the_standard_list():
    done = run("dtype=f64", "--csv", "--backend", "null", env=ALL)
    ops, types = ({row[key] for row in rows(done)} for key in ("op", "dtype"))
    if done.returncode or types != {"f64"} or "gemm" not in ops or "softmax" in ops:
        yield f"{ops} {types} {done.stderr}"


def misuse_is_exit_code_2_and_one_line():
    for words, hint in (
            ("gem", "gemm"), ("coppy", "copy"), ("copy op=dtot", "op=NAME"),
            ("gemm gemm", "twice"), ("gemm mm=3", "m"), ("m=3", "one op"),
            ("gemm softmax m=3", "one op"), ("gemm m=x", "m=N"), ("gemm m=", "m=N"),
            ("gemm m=1,2", "m=N"), ("gemm trans_a=2", "0|1"), ("unary op=foo", "op=NAME"),
            ("gemm dtype=f31", "f32"), ("gemm dtype=", "dtype"),
            ("gemm input=1,2,3,4", "input"), ("softmax shape=3,4 axis=2", "axis"),
            ("softmax shape=3,4 axis=-3", "axis"), ("gemm m=0", "nothing"),
            ("gemm m=9223372036854775807 n=3 k=3", "too large"),
            ("conv2d_forward input=1,3,8,8 filter=4,3,9,9", "larger"),
            ("conv2d_forward input=1,3,8,8 filter=4,2,3,3", "groups"),
            ("conv2d_forward stride=0", "no such"), ("attention heads=3 kv_heads=2", "kv_heads"),
            ("attention causal=1 seq_q=3 seq_kv=2", "no key"),
            ("gemm_mixed_precision dtype=f32", "f16 or bf16"), ("unary --reps 0", "--reps"),
            ("unary --reps 1e3", "--reps"), ("unary --min-time x", "--min-time"),
            ("unary --threads x", "--threads"), ("unary --backend cpuu", "cpu"),
            ("unary --backend cpu,frob", "frob"), ("unary --peer", "--peer"),
            ("unary --option threads=1", "--option")):
        done = run(*words.split())
        if done.returncode != 2 or done.stderr.count("\n") != 1 or hint not in done.stderr:
            yield f"{words}: {done.returncode} {done.stderr}"


def a_peer_that_is_none_is_told():
    for peer, hint in (("blas:/not/there.so", "/not/there.so"), (f"blas:{CPU}", "dgemm_"),
                       ("openblas", "blas:PATH")):
        done = run("unary", "n=10", "--peer", peer)
        if done.returncode != 1 or hint not in done.stderr:
            yield f"{peer}: {done.returncode} {done.stderr}"


def progress_is_shown_on_a_terminal_only():
    words = [CB, "bench", *QUICK, "unary", "n=10"]
    leader, follower = pty.openpty()
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=follower, env=ENV, check=False)
    os.close(follower)
    shown = b""
    try:
        while chunk := os.read(leader, 4096):
            shown += chunk
    except OSError:  # the other end is closed
        pass
    os.close(leader)
    if done.returncode or b"repetition 3 of 3" not in shown or not shown.endswith(b"\033[K"):
        yield repr(shown)
    if run("unary", "n=10").stderr:
        yield "progress on a pipe"


def the_help_names_every_op_with_its_keys():
    done = run("--help")
    for words in OPS:
        op, *keys = words.split()
        if f"  {op} " not in done.stdout:
            yield op
        yield from (key for key in keys if f"{key.split('=')[0]}=" not in done.stdout)


main([every_op_and_type_is_measured_and_right, reductions_and_maps_are_right_in_every_type,
      a_wrong_result_is_told_and_is_the_exit_code, a_call_that_fails_is_told_and_is_the_exit_code,
      what_a_backend_lacks_is_told_and_no_failure,
      columns_stand_as_given_each_with_its_own_options, threads_are_an_option_of_every_backend,
      figures_fit_together, a_repetition_lasts_as_long_as_is_asked_for, json_says_what_csv_says,
      a_library_of_blas_is_compared_with, the_standard_list_of_every_op_is_valid,
      types_narrow_the_standard_list, misuse_is_exit_code_2_and_one_line,
      a_peer_that_is_none_is_told, progress_is_shown_on_a_terminal_only,
      the_help_names_every_op_with_its_keys])
