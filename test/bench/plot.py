#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: plot.py CSV... -o FOLDER

Draws, for each operation and number of threads of peerbench's CSV, the rates of ours, of the best
peer and of the machine itself, as SVG. Needs matplotlib.
"""
import argparse
import pathlib
import sys

import table

try:
    import matplotlib
    matplotlib.use("svg")
    import matplotlib.pyplot as plt
except ImportError:
    sys.exit("plot.py: matplotlib is not installed (python3-matplotlib)")

MACHINE = ("~peak", "~stream")


def bars(cases, ours):
    """(label, ours, best peer, machine) of each case, as rates; 0 where there is none."""
    for case, figures in cases:
        peer = table.best_peer(figures, ours)
        machine = next((figures[name].rate for name in MACHINE if name in figures), 0)
        yield (f"{case.shape} {case.dtype}", figures[ours].rate, peer[1].rate if peer else 0,
               machine)


def draw(title, cases, ours, path):
    labels, *series = zip(*bars(cases, ours))
    unit = cases[0][1][ours].unit
    figure, axes = plt.subplots(figsize=(9, 1.2 + 0.42 * len(labels)))
    for i, (name, values) in enumerate(zip(("ours", "best peer", "machine"), series)):
        axes.barh([at + 0.28 * (i - 1) for at in range(len(labels))], values, 0.26, label=name)
    axes.set_yticks(range(len(labels)), labels, fontsize=7)
    axes.invert_yaxis()
    axes.set_xlabel(unit)
    axes.set_title(title)
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
    groups = {}
    for case, figures in table.load(options.csv).items():
        if options.ours in figures:
            groups.setdefault((case.op, case.threads), []).append((case, figures))
    folder = pathlib.Path(options.output)
    folder.mkdir(parents=True, exist_ok=True)
    for (op, threads), cases in groups.items():
        draw(f"{op}, threads: {threads}", cases, options.ours, folder / f"{op}_t{threads}.svg")


if __name__ == "__main__":
    main()
