#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: docs.py SOURCE_DIR

Judges the documents against the tree that they describe, in TAP. A fenced block whose info string
goes on after the language, as in "```c plugins/cpu/entry.c", quotes that file: each run of lines
between lines of "..." stands there just so. "whole" after the name: it is the file. Each function
below is a test, named as its promise; it yields what breaks it.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1]).resolve()
DOCS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])
FENCE = re.compile(r"^ *```(\S*) *([^\n]*)\n(.*?)^ *```$", re.M | re.S)


def read(path):
    return path.read_text(encoding="utf-8")


def prose(doc):
    """A document without its fenced blocks."""
    return FENCE.sub("", read(doc))


def quotations(doc):
    """(file, whole, text) of each block that quotes a file."""
    for _, info, text in FENCE.findall(read(doc)):
        words = info.split()
        if words and "." in words[0]:
            yield words[0], "whole" in words, text


def anchors(doc):
    """The ids that the headings of a document get."""
    for heading in re.findall(r"^#+ (.*)$", prose(doc), re.M):
        yield re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def every_quotation_is_in_its_file():
    for doc in DOCS:
        for name, whole, text in quotations(doc):
            path = ROOT / name
            if not path.is_file():
                yield f"{doc.name} quotes {name}, which is not there"
            elif whole and text != read(path):
                yield f"{doc.name}: the block is not {name} as it is"
            for piece in re.split(r"^ *\.\.\.\n", text, flags=re.M):
                if path.is_file() and not whole and "\n" + piece not in "\n" + read(path):
                    yield f"{doc.name}: not in {name}: {piece.strip()[:60]!r}..."


def the_readme_shows_hello_gemm_whole():
    wanted = "docs/examples/hello_gemm.c"
    if not any(name == wanted and whole for name, whole, _ in quotations(ROOT / "README.md")):
        yield f"README.md does not quote {wanted} whole"


def every_link_leads_somewhere():
    for doc in DOCS:
        for link in re.findall(r"\]\(([^)\s]+)\)", prose(doc)):
            if re.match(r"[a-z]+:", link):
                continue
            name, _, anchor = link.partition("#")
            target = doc.parent / name if name else doc
            if not target.exists():
                yield f"{doc.name}: {link} is not there"
            elif anchor and anchor not in anchors(target):
                yield f"{doc.name}: {link} has no such heading"


def every_file_that_is_named_is_there():
    tree = [p.relative_to(ROOT).as_posix() for top in ("docs", "loader", "plugin_api", "plugins",
            "scripts", "test") for p in (ROOT / top).rglob("*") if p.is_file()]
    for doc in DOCS:
        for name in re.findall(r"`([\w.\-]+/[\w./\-]+\.(?:c|h|md|sh|py|map|build))`", prose(doc)):
            if not any(("/" + path).endswith("/" + name) for path in tree):
                yield f"{doc.name}: no file {name}"


def the_readme_lists_every_op():
    header = read(ROOT / "plugin_api/compute_backend.h")
    for op in re.findall(r'case CB_OP_\w+: return "(\w+)";', header):
        if not re.search(rf"^\|.*`{op}`", prose(ROOT / "README.md"), re.M):
            yield f"README.md has no row for {op}"


def every_state_is_explained():
    page = prose(ROOT / "docs/use_the_loader.md")
    words = {s.lower() for s in re.findall(r"CB_STATE_(\w+) =", read(ROOT / "loader/cb_loader.h"))}
    for word in sorted(words):
        if not re.search(rf"^\|.*`{word}`", page, re.M):
            yield f"use_the_loader.md has no row for {word}"


TESTS = [
    every_quotation_is_in_its_file,
    the_readme_shows_hello_gemm_whole,
    every_link_leads_somewhere,
    every_file_that_is_named_is_there,
    the_readme_lists_every_op,
    every_state_is_explained,
]

print(f"1..{len(TESTS)}")
for number, test in enumerate(TESTS, 1):
    faults = list(test())
    print(f"{'not ok' if faults else 'ok'} {number} - {test.__name__}")
    for fault in faults:
        print("#", fault)
