#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: table.py [--ours NAME] [--only TEXT] [--into DOCUMENT] CSV...

What peerbench measured, as Markdown: a table for each number of threads with our rate, the best
peer's, how many times as fast ours is, and what is wanted. All ratios are of medians, in brackets
of lower quartiles. Of a case that was measured twice the last one counts. It is printed, or put
into a document in place of what stands there between the two lines of MARKS.
"""
import argparse
import collections
import csv
import math
import re
import sys

OURS = "compute-backend"
MARKS = ("<!-- table.py: begin -->\n", "<!-- table.py: end -->\n")

# What a ratio is taken to.
PEER = "best peer"
STREAM = "stream"     # ~stream on this case: the bytes that it cannot do without
READ = "read"         # the same, of a reduce: nothing but reading
SGEMM = "our sgemm"   # our own f32 product of the same shape

# Operation, type, shape (regular expressions), what the ratio is taken to, and what it should be.
# The first row that fits counts.
SQUARE = r"m(\d+) n\1 k\1 "
WANTED = [
    ("gemm", "f64", r"m(16|33|64) n\1 k\1 ", PEER, 1.0),
    ("gemm", "f64", r"m128 ", PEER, None),
    ("gemm", "f64", SQUARE, PEER, 1.10),
    ("gemm", "f64", "", PEER, 1.25),
    ("gemm", "f32", r"m(256|512|1000|1024|2048) n\1 k\1 ", PEER, 1.0),
    ("gemm", "bf16", r"m256 n256 k256 ", PEER, 1.3),
    ("gemm", "bf16", r"m(1024|2048) n\1 k\1 ", PEER, 1.8),
    ("gemm", "mix-bf16", SQUARE, PEER, 1.5),
    ("gemm", "mix-f16", SQUARE, SGEMM, 0.95),
    ("gemm_batch", "f64", r"m(64|128) n\1", PEER, 1.3),
    ("conv_.*", "f32", r"g32$", PEER, 2.0),
    ("conv_bwd_data", "f32", r"7x7 s2", PEER, 1.8),
    ("conv_fwd", "f32", r" 1x1 ", PEER, 1.05),
    ("conv_.*", "f32", "", PEER, 1.0),
    ("attn", "f32", r" q1 ", READ, 0.85),
    ("attn.*", "f32", "", PEER, 1.4),
    ("softmax", "f32", r"56", STREAM, 0.60),
    ("softmax", "f32", "", PEER, 1.5),
    ("reduce_sum", "f32", "", STREAM, 0.85),
    ("exp|log|tanh|sigmoid", "f32", r"^16384$", PEER, 1.0),
    ("relu|sigmoid|tanh|exp|log|sqrt|abs|neg|add", "f32", r"^16777216$", PEER, 1.3),
]

# No peers: layouts of the library's own are no fair comparison with an op on plain ones, and the
# others are not packaged.
NO_PEERS = {"dnnl-any", "user-blas", "example"}

Case = collections.namedtuple("Case", "threads op dtype shape")
Figure = collections.namedtuple("Figure", "median quartile rate unit verdict")


def load(paths):
    """{case: {peer: figure}}, in the order of the files."""
    cases = {}
    for path in paths:
        with open(path, newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                case = Case(int(row["threads"]), row["op"], row["dtype"], row["shape"])
                cases.setdefault(case, {})[row["peer"]] = Figure(
                    float(row["median_ms"]), float(row["quartile_ms"]), float(row["rate"]),
                    row["unit"], row["verdict"])
    return cases


def best_peer(figures, ours=OURS):
    """(name, figure) of the fastest that computed the same thing, or None."""
    peers = [(name, figure) for name, figure in figures.items()
             if name[0] != "~" and name != ours and name not in NO_PEERS and not figure.verdict]
    return min(peers, key=lambda peer: peer[1].median, default=None)


def wanted(case):
    """What the ratio of a case is taken to, and what it should be; None: nothing was agreed on."""
    for op, dtype, shape, against, ratio in WANTED:
        if re.fullmatch(op, case.op) and dtype == case.dtype and re.search(shape, case.shape):
            return against, ratio
    return PEER, None


def decode_bytes(shape):
    """What attention reads and writes, of a shape as peerbench names it."""
    b, h, q, kv, d = map(int, re.fullmatch(r"b(\d+) h(\d+) q(\d+) kv(\d+) d(\d+)", shape).groups())
    return 4.0 * b * h * d * (2 * q + 2 * kv)


def read_ratio(cases, case, mine):
    """As ratios, to the ~stream of the reduce that reads about as many bytes."""
    reads = [figures["~stream"] for other, figures in cases.items()
             if other.threads == case.threads and other.op == "reduce_sum" and
             "~stream" in figures]
    if not reads:
        return None
    moved = decode_bytes(case.shape) * 1e-6     # with milliseconds, GB/s
    read = min(reads, key=lambda f: abs(math.log(f.rate * f.median / moved)))
    alike = moved / (read.rate * read.median)
    return READ, f"{read.rate:.1f} GB/s", alike * read.median / mine.median, \
        alike * read.quartile / mine.quartile


def ratios(cases, case, ours=OURS):
    """(to what, its rate as text, ratio of medians, ratio of lower quartiles), or None."""
    figures, mine = cases[case], cases[case][ours]
    against, _ = wanted(case)
    if against == SGEMM:
        other = cases.get(case._replace(dtype="f32"), {}).get(ours)
        name = SGEMM
    elif against == STREAM:
        name, other = "~stream", figures.get("~stream")
    elif against == READ:
        return read_ratio(cases, case, mine)
    else:
        name, other = best_peer(figures, ours) or ("", None)
    if not other:
        return None
    return name, f"{other.rate:.1f}", other.median / mine.median, other.quartile / mine.quartile


def line(cases, case, ours):
    """The row of a case."""
    figures = cases[case]
    mine, found, (_, want) = figures[ours], ratios(cases, case, ours), wanted(case)
    machine = figures.get("~peak") or figures.get("~stream")
    part = f"{machine.median / mine.median:.0%}" if machine else ""
    name, rate, ratio = "", "", ""
    if found:
        name, rate = found[:2]
        ratio = f"{found[2]:.2f} ({found[3]:.2f})"
    goal = f"{want:.2f}" if want else ""
    if found and want and found[2] < want:
        goal += ", below"
    if mine.verdict:
        ratio += f" {mine.verdict}"
    return (f"| {case.op} | {case.shape} | {case.dtype} | {mine.rate:.1f} {mine.unit} | {part} | "
            f"{name} | {rate} | {ratio} | {goal} |\n")


def tables(cases, ours, only):
    """All of it."""
    text = ""
    for threads in sorted({case.threads for case in cases}):
        rows = [line(cases, case, ours) for case, figures in cases.items()
                if case.threads == threads and ours in figures and
                only in f"{case.op} {case.shape} {case.dtype}"]
        text += (f"### {threads} thread{'s' if threads > 1 else ''}\n\n"
                 "| op | shape | type | ours | of the machine | compared with | its rate "
                 "| ratio (quartiles) | wanted |\n|---|---|---|---|---|---|---|---|---|\n" +
                 "".join(rows) + "\n")
    return text


def put_into(path, text):
    with open(path, encoding="utf-8") as file:
        before, begin, rest = file.read().partition(MARKS[0])
    _, end, after = rest.partition(MARKS[1])
    if not begin or not end:
        sys.exit(f"{path} has not the lines {MARKS[0].strip()} and {MARKS[1].strip()}")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"{before}{begin}\n{text}{end}{after}")


def main():
    parser = argparse.ArgumentParser(description="peerbench's CSV as Markdown")
    parser.add_argument("--ours", default=OURS, help="the peer whose ratios are printed")
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--into", help="the document that gets the tables")
    parser.add_argument("csv", nargs="+")
    options = parser.parse_args()
    text = tables(load(options.csv), options.ours, options.only)
    if options.into:
        put_into(options.into, text)
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
