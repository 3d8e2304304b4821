#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: docs.py SOURCE_DIR [--blocks FOLDER]

Judges the documents against the tree that they describe, in TAP, or writes their blocks into FOLDER,
as files for a shell or a compiler. What follows the language of a fenced block says what it is:

    c FILE [whole]     quotes FILE: each run of lines between lines of "..." stands there just so
    c in (PARAMETERS)  the body of a function with these; what begins with # or static stands above
    sh                 is run by install.sh, in a folder that has what the documents speak of
    sh NAME            is typed in by the test of install.sh that has the name
    sh unrun: REASON   is not run

Each function below is a test, named as its promise; it yields what breaks it.
"""
import pathlib
import re
import sys
import textwrap

ROOT = pathlib.Path(sys.argv[1]).resolve()
DOCS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])
WALK = ROOT / "docs/run_an_op.md"
FENCE = re.compile(r"^ *```(\S*) *([^\n]*)\n(.*?)^ *```$", re.M | re.S)


def read(path):
    return path.read_text(encoding="utf-8")


def prose(doc):
    """A document without its fenced blocks."""
    return FENCE.sub("", read(doc))


def quotations(doc):
    """(file, whole, text) of each block that quotes a file."""
    for _, info, text in FENCE.findall(read(doc)):
        if re.match(r"[\w/]+\.\w+( whole)?$", info):
            yield info.split()[0], "whole" in info, text


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


def every_block_is_run_or_compiled_or_says_why_not():
    typed = re.findall(r"type_in((?: \w+)+)", read(ROOT / "test/install/install.sh"))
    names = {"kit", *" ".join(typed).split()}
    for doc in DOCS:
        quoted = [text for _, _, text in quotations(doc)]
        for language, info, text in FENCE.findall(read(doc)):
            if not (text in quoted or language in ("", "text", "console") or
                    (language, info) in (("sh", ""), ("ini", "")) or
                    language == "sh" and (info in names or re.match(r"unrun: \w+", info)) or
                    language == "c" and re.match(r"in \(.*\)$", info) or
                    language == "python" and doc == WALK):
                yield f"{doc.name}: nobody looks at the block ```{language} {info}"


def write_blocks(folder):
    """NUMBER-DOCUMENT.sh and .c. The walk-through, whose blocks belong together, is files.py's."""
    for doc in DOCS:
        for number, (language, info, text) in enumerate(FENCE.findall(read(doc)), 1):
            path = folder / f"{number:02}-{doc.stem}.{language}"
            if (language, info) == ("sh", "") and doc != WALK:
                path.write_text(textwrap.dedent(text), encoding="utf-8")
            elif language == "c" and info.startswith("in ("):
                path.write_text(compilable(info[3:], text), encoding="utf-8")


def compilable(parameters, text):
    above, body = [], []
    for part in text.split("\n\n"):
        (above if re.match("#|static ", part) else body).append(part)
    return "\n\n".join(["#include <cb_loader.h>", "#include <compute_backend_plugin.h>",
                        "#include <stdio.h>", *above,
                        f"int body{parameters};", f"int body{parameters}", "{", *body,
                        "return 0;", "}", ""])


if sys.argv[2:]:
    write_blocks(pathlib.Path(sys.argv[3]))
    sys.exit()

TESTS = [
    every_quotation_is_in_its_file,
    the_readme_shows_hello_gemm_whole,
    every_link_leads_somewhere,
    every_file_that_is_named_is_there,
    the_readme_lists_every_op,
    every_state_is_explained,
    every_block_is_run_or_compiled_or_says_why_not,
]

print(f"1..{len(TESTS)}")
for number, test in enumerate(TESTS, 1):
    faults = list(test())
    print(f"{'not ok' if faults else 'ok'} {number} - {test.__name__}")
    for fault in faults:
        print("#", fault)
