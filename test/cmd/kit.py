# SPDX-License-Identifier: Apache-2.0
"""What the tests of `cb run` share: arrays, the command in a folder of its own, and TAP."""
import os
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    print("1..0 # SKIP python3-numpy is not installed")
    sys.exit()

CB = os.path.abspath(sys.argv[1])
ENV = {k: v for k, v in os.environ.items()
       if k not in ("CB_PLUGINS_ADD", "CB_BACKEND", "CB_OPTIONS", "CB_DISABLE", "CB_LOG")}
# cb, and a python3 that has NumPy, as the commands of a document call them.
ENV["PATH"] = os.pathsep.join(map(os.path.dirname, (CB, sys.executable))) + ":" + ENV["PATH"]
RANDOM = np.random.default_rng(20)


def cb(*words, env=None, stdin=None):
    """`cb run` in the working directory, which is empty when a test begins."""
    return subprocess.run([CB, "run", *map(str, words)], capture_output=True,
                          env={**ENV, **(env or {})}, input=stdin, check=False)


def made(shape, dtype="f4", order="C"):
    """Normal numbers."""
    return np.asarray(RANDOM.standard_normal(shape), dtype=dtype, order=order)


def saved(*arrays):
    """Their file names."""
    names = [f"{chr(ord('a') + i)}.npy" for i in range(len(arrays))]
    for name, array in zip(names, arrays):
        np.save(name, array)
    return names


def computed(op, *arrays, keys=(), env=None):
    """The result, or the reason why there is none."""
    out = pathlib.Path("result.npy")
    out.unlink(missing_ok=True)
    done = cb(op, *keys, *saved(*arrays), "-o", out, env=env)
    if done.returncode or done.stdout or done.stderr:
        return f"exit code {done.returncode}: {(done.stdout + done.stderr).decode()}"
    return np.load(out)


def main(tests):
    """Each test is named as its promise, and yields what breaks it."""
    print(f"1..{len(tests)}")
    for number, test in enumerate(tests, 1):
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                faults = list(test())
            except Exception as fault:  # what a test did not expect is a fault like another
                faults = [repr(fault)]
            os.chdir("/")
        print(f"{'not ok' if faults else 'ok'} {number} - {test.__name__}")
        for fault in faults[:20]:
            print("#", fault.replace("\n", " "))
        sys.stdout.flush()
