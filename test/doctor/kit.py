# SPDX-License-Identifier: Apache-2.0
"""What the tests of cb doctor, lint, list and config share: the command in a folder of its own, with
an environment in which nothing of this machine's counts, and TAP."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

CB = os.path.abspath(sys.argv[1])
SICK = pathlib.Path(sys.argv[2]).resolve()  # where the plugins of meson.build are
ARGS = [os.path.abspath(a) for a in sys.argv[3:]]
ENV = {k: v for k, v in os.environ.items() if not k.startswith(("CB_", "XDG_"))}


def cb(*words, config="", env=None, command=CB):
    """The command, with a configuration and with plugins from the test's folder alone."""
    pathlib.Path("cb.conf").write_text(config, encoding="utf-8")
    here = {"CB_PLUGINS": os.getcwd(), "CB_CONFIG": os.path.abspath("cb.conf")}
    return subprocess.run([command, *map(str, words)], env={**ENV, **here, **(env or {})},
                          capture_output=True, text=True, check=False, timeout=250,
                          errors="surrogateescape")


def take(*plugins):
    """Copies plugins into the test's folder: a path, or the id of a plugin of this folder's build."""
    for plugin in plugins:
        path = pathlib.Path(plugin)
        shutil.copy(path if path.is_absolute() else SICK / f"libcb_{plugin}.so", ".")


def parsed(done):
    """The object that was printed; its first member is the schema."""
    value = json.loads(done.stdout)
    assert list(value)[0] == "schema" and value["schema"] == 1, "no schema: " + done.stdout[:80]
    return value


def lacks(text, *parts):
    """The parts that are not in the text, as faults."""
    for part in parts:
        if part not in text:
            yield f"no {part!r} in: {text}"


def has(text, *parts):
    """The parts that are in the text and must not be, as faults."""
    for part in parts:
        if part in text:
            yield f"there is {part!r} in: {text}"


def differs(got, want, what):
    if got != want:
        yield f"{what} is {got!r}, not {want!r}"


def main(tests):
    """Each test is named as its promise, and yields what breaks it."""
    print(f"1..{len(tests)}", flush=True)
    for number, test in enumerate(tests, 1):
        skip = getattr(test, "skip", None)
        faults = []
        with tempfile.TemporaryDirectory(prefix="cb-doctor-") as folder:
            os.chmod(folder, 0o755)
            os.chdir(folder)
            if not skip:
                try:
                    faults = list(test())
                except (AssertionError, ValueError, KeyError, IndexError) as e:
                    faults = [f"{type(e).__name__}: {e}"]
            os.chdir("/")
        print(f"{'not ok' if faults else 'ok'} {number} - {test.__name__}"
              + (f" # SKIP {skip}" if skip else ""))
        for fault in faults:
            print("#", "\n# ".join(str(fault).encode("ascii", "backslashreplace").decode()
                                   .splitlines()))
        sys.stdout.flush()
