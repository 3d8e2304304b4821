#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: plot.py CSV... -o FOLDER

Draws the ratios that table.py prints, as SVG: a file for each group of operations, in it a line for
each case, with a dot for each number of threads and a tick where the wanted ratio is. Needs
matplotlib.
"""
import argparse
import pathlib
import re
import sys

import table

try:
    import matplotlib
    matplotlib.use("svg")
    import matplotlib.pyplot as plt
except ImportError:
    sys.exit("plot.py: matplotlib is not installed (python3-matplotlib)")

# The file, and which operations are in it, by "OPERATION TYPE". The first that fits counts.
GROUPS = [
    ("gemm", r"gemm f(32|64)"),
    ("gemm_16", r"gemm .*"),
    ("batched_gemm", r"gemm_batch .*"),
    ("conv2d", r"conv_.*"),
    ("attention_softmax_reduce", r"(attn|softmax|reduce).*"),
    ("elementwise_rows", r".*"),
]
TICKS = (0.5, 0.7, 1, 1.5, 2, 3, 5, 10, 20, 50, 100)


def rows(cases, ours):
    """{group: {label: (wanted, {threads: ratio})}}"""
    groups = {}
    for case, figures in cases.items():
        found = table.ratios(cases, case, ours) if ours in figures else None
        if not found:
            continue
        name = next(n for n, fits in GROUPS if re.fullmatch(fits, f"{case.op} {case.dtype}"))
        label = f"{case.op} {case.shape} {case.dtype}"
        line = groups.setdefault(name, {}).setdefault(label, (table.wanted(case)[1], {}))
        line[1][case.threads] = found[2]
    return groups


def draw(name, lines, path):
    height = 0.9 + 0.17 * len(lines)
    figure, axes = plt.subplots(figsize=(8, height))
    threads = sorted({t for _, ratios in lines.values() for t in ratios})
    for t, mark in zip(threads, ("o", "D", "s", "^")):
        points = [(ratios[t], at) for at, (_, ratios) in enumerate(lines.values()) if t in ratios]
        axes.plot(*zip(*points), mark, markersize=4, markerfacecolor="none" if t > 1 else None,
                  label=f"{t} thread{'s' if t > 1 else ''}")
    goals = [(goal, at) for at, (goal, _) in enumerate(lines.values()) if goal]
    if goals:
        axes.plot(*zip(*goals), "|", color="black", markersize=6, label="wanted")
    axes.axvline(1, color="gray", linewidth=0.8)
    axes.set_xscale("log")
    low, high = axes.get_xlim()
    ticks = [tick for tick in TICKS if low <= tick <= high]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.set_yticks(range(len(lines)), lines, fontsize=7)
    axes.set_ylim(len(lines) - 0.5, -0.5)
    axes.grid(axis="both", linewidth=0.3)
    axes.set_title(f"{name.replace('_', ', ')}: speed of ours, as a multiple", fontsize=9)
    axes.legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def main():
    parser = argparse.ArgumentParser(description="peerbench's CSV as plots")
    parser.add_argument("--ours", default=table.OURS)
    parser.add_argument("-o", "--output", default=".", help="the folder for the SVG files")
    parser.add_argument("csv", nargs="+")
    options = parser.parse_args()
    matplotlib.rcParams["svg.fonttype"] = "none"    # text stays text
    matplotlib.rcParams["svg.hashsalt"] = "peerbench"
    folder = pathlib.Path(options.output)
    folder.mkdir(parents=True, exist_ok=True)
    for name, lines in rows(table.load(options.csv), options.ours).items():
        draw(name, lines, folder / f"{name}.svg")


if __name__ == "__main__":
    main()
