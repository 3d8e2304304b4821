#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: pages.py CB SICK_DIR SOURCE_DIR MAN_DIR: manual pages, documents and completion against the command
and the tables of the loader, in both directions: nothing is unexplained, nothing is made up."""
import os
import pathlib
import re
import shutil
import subprocess

from kit import ARGS, CB, ENV, cb, differs, has, lacks, main, parsed, take

SOURCE = pathlib.Path(ARGS[0])
MAN = pathlib.Path(ARGS[1])
SHELLS = ["bash", "zsh", "fish"]


def read(path):
    return (SOURCE / path).read_text(encoding="utf-8")


def commands():
    overview = cb("--help").stdout.split("Commands:\n")[1].split("\n\n")[0]
    return re.findall(r"^  (\w+)", overview, re.M)


def options(*words):
    """The long options that a --help lists."""
    text = cb(*words, "--help").stdout.split("\nOptions:\n")[1].split("\n\n")[0]
    return re.findall(r"^  --([\w-]+)", text, re.M)


def all_options():
    return sorted({o for c in commands() for o in options(c)} | set(options()))


def variables():
    """Of the loader's own tables."""
    text = read("loader/environment.c") + read("loader/log.c")
    return sorted(set(re.findall(r'"(CB_[A-Z_]+)"', text)))


def loader_keys():
    settings = parsed(cb("config", "--json"))["settings"]
    return sorted(s["key"] for s in settings if s["section"] == "loader")


def backend_keys():
    return sorted(re.findall(r'^#define CBL_\w+_KEY\s+"(\w+)"', read("loader/internal.h"), re.M))


def rows(page, heading):
    """The first words of the rows below a heading."""
    text = read(page).split(f"\n## {heading}\n")[1].split("\n## ")[0] if heading else read(page)
    return sorted(re.findall(r"^\| `(\w+)` \|", text, re.M))


def tags(page, macro, part=""):
    """The words that a manual page explains: .It MACRO WORD."""
    text = (MAN / page).read_text(encoding="utf-8")
    if part:
        text = re.split(r"^\.S[hs] ", text.split(part)[1], maxsplit=1, flags=re.M)[0]
    return sorted(set(re.findall(rf"^\.It {macro} (\S+)", text, re.M)))


def cb_1_explains_every_command_and_option_and_no_other():
    yield from differs(tags("cb.1", "Cm"), sorted(commands()), "the commands of cb(1)")
    yield from differs(tags("cb.1", "Fl"), [f"-{o}" for o in all_options()], "the options of cb(1)")


def cb_1_names_the_options_of_each_command():
    text = (MAN / "cb.1").read_text(encoding="utf-8")
    for command in commands():
        part = text.split(f"\n.It Cm {command}")[1].split("\n.It Cm ")[0].split("\n.Sh ")[0]
        named = set(re.findall(r"Fl -([\w-]+)", part)) - {"help"}
        yield from differs(sorted(named), sorted(set(options(command)) - {"help"}),
                           f"the options of {command} in cb(1)")


def every_variable_is_explained_and_no_other():
    pages = {"docs/env.md": rows("docs/env.md", ""),
             "compute_backend(7)": [v for v in tags("compute_backend.7", "Ev") if v[:3] == "CB_"]}
    for page, explained in pages.items():
        yield from differs(explained, variables(), f"the variables of {page}")


def every_key_is_explained_and_no_other():
    page = "docs/configuration.md"
    yield from differs(rows(page, "Keys of the loader"), loader_keys(), f"the [loader] of {page}")
    yield from differs(rows(page, "Keys of a backend"), backend_keys(), f"the [backend] of {page}")
    yield from differs(tags("cb.conf.5", "Ic", ".Ss Section loader"), loader_keys(),
                       "the [loader] of cb.conf(5)")
    yield from differs(tags("cb.conf.5", "Ic", ".Ss Sections backend.ID"),
                       sorted([*backend_keys(), "device"]), "the [backend] of cb.conf(5)")


def the_examples_of_configurations_are_read_without_a_complaint():
    blocks = [b for page in sorted(SOURCE.glob("docs/*.md"))
              for b in re.findall(r"```ini\n(.*?)```", read(page), re.S)]
    blocks += re.findall(r"^\.Bd -literal.*?\n(.*?)^\.Ed", read(MAN / "cb.conf.5"), re.M | re.S)
    for block in blocks:
        done = cb("config", "--json", config=block)
        # Of plugins that are not here: an option for one counts for nothing.
        said = [p for p in parsed(done)["problems"] if "no plugin has the id" not in p]
        yield from differs(said, [], f"what is odd in {block}")
    yield from differs(len(blocks), 4, "the number of examples")


def the_pages_name_the_places_of_this_build():
    for page in sorted(MAN.glob("*.[157]")):
        yield from has(read(page), "DIR", "@")
    yield from differs(re.findall(r"^\.Pa (.*)/compute-backend/cb\.conf$", read(MAN / "cb.conf.5"),
                                  re.M)[0][:1], "/", "the beginning of the system's file")


def mandoc_has_nothing_against_the_pages():
    done = subprocess.run(["mandoc", "-T", "lint", "-W", "style", *sorted(MAN.glob("*.[157]"))],
                          capture_output=True, text=True, check=False)
    for line in (done.stdout + done.stderr).splitlines():
        # Pages of one set refer to each other before they are installed.
        if "referenced manual not found" not in line:
            yield line


def completion_knows_every_command_and_option():
    for shell in SHELLS:
        text = cb("completion", shell).stdout
        yield from lacks(text, *commands())
        yield from lacks(text, *(f"-l {o} " if shell == "fish" else f"--{o}" for o in all_options()
                                 if o != "version" or shell == "bash"))


# Each prints what it offers for the last word of LINE, once it has read the file "rules".
COMPLETE = {
    "bash": """
source rules; COMP_WORDS=($LINE); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _cb
printf '%s\n' "${COMPREPLY[@]}"
""",
    "fish": "source rules; complete -C $LINE | cut -f1",
    # It completes only for who types, so there is a terminal, and what it offers is listened to.
    "zsh": r"""
zmodload zsh/zpty
zpty z TERM=dumb zsh -f -i
zpty -w z 'PROMPT=; unsetopt zle_bracketed_paste prompt_cr prompt_sp
autoload -U compinit; compinit -u -D; source rules; compdef _cb cb; bindkey "^I" complete-word
compadd () {
    local -a offered
    if (( ${@[(I)-[OAD]]} )) { builtin compadd "$@"; return }
    builtin compadd -O offered "$@"
    (( $#offered )) && print -l "<"${^offered}">"
    builtin compadd "$@"
}
print READY'
while zpty -r z line && [[ $line != READY* ]]; do :; done
zpty -w -n z "$LINE"$'\t\C-u'"print DO''NE"$'\n'
while zpty -r z line && [[ $line != DONE* ]]; do
    [[ $line == *'<'* ]] && print -r -- ${${line##*<}%%>*}
    [[ $line == *'not found'* ]] && print -r -- $line
done
zpty -d z
""",
}

FITS = {
    "do": ["doctor"],
    "doctor --r": ["--redact"],
    "--config list li": ["lint", "list"],
    "help ru": ["run"],
    "run gem": ["gemm", "gemm_mixed_precision"],
    "bench gemm sof": ["softmax"],
    "selftest --format j": ["json", "junit"],
    "bench --peer bl": [],
    "completion ba": ["bash"],
    "info we": ["well"],
}


def offers(shell, env, line):
    """What a shell offers for a line, and what it complains of. On a busy machine zsh now and then
    takes the end of the line for typed ahead and offers nothing at all, so it is asked again."""
    quiet = {"bash": ["--norc"], "fish": ["--no-config"], "zsh": ["-f"]}[shell]
    for _ in range(4):
        done = subprocess.run([shell, *quiet, "-c", COMPLETE[shell]], timeout=60, check=False,
                              env={**env, "LINE": "cb " + line}, capture_output=True, text=True)
        if done.stdout.split() or done.stderr or not FITS[line]:
            break
    return sorted(done.stdout.split()), done.stderr


def each_shell_completes_what_fits():
    take("well")
    cb("list")
    env = {**ENV, "PATH": os.path.dirname(CB) + ":" + os.environ["PATH"], "HOME": os.getcwd(),
           "CB_CONFIG": os.path.abspath("cb.conf"), "CB_PLUGINS": os.getcwd()}
    for shell in filter(shutil.which, SHELLS):
        pathlib.Path("rules").write_text(cb("completion", shell).stdout, encoding="utf-8")
        for line, offered in FITS.items():
            yield from differs(offers(shell, env, line), (offered, ""),
                               f"what {shell} offers for cb {line}")


def each_shell_can_read_its_rules():
    for shell in SHELLS:
        if not shutil.which(shell):
            continue
        pathlib.Path("rules").write_text(cb("completion", shell).stdout, encoding="utf-8")
        done = subprocess.run([shell, "-n", "rules"], capture_output=True, text=True, check=False)
        yield from differs((done.returncode, done.stderr), (0, ""), f"the outcome of {shell} -n")
    yield from differs(cb("completion", "bsh").returncode, 2, "the exit code of an unknown shell")


if not shutil.which("mandoc"):
    mandoc_has_nothing_against_the_pages.skip = "mandoc is not installed"

main([
    cb_1_explains_every_command_and_option_and_no_other,
    cb_1_names_the_options_of_each_command,
    every_variable_is_explained_and_no_other,
    every_key_is_explained_and_no_other,
    the_examples_of_configurations_are_read_without_a_complaint,
    the_pages_name_the_places_of_this_build,
    mandoc_has_nothing_against_the_pages,
    completion_knows_every_command_and_option,
    each_shell_completes_what_fits,
    each_shell_can_read_its_rules,
])
