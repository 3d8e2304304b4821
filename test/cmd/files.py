#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: files.py CB NULL_PLUGIN DOCUMENT HEADER

What `cb run` reads, writes and says, in TAP. DOCUMENT is a walk-through whose blocks are run as
they stand; HEADER names the ops.
"""
import os
import re
import resource
import subprocess
import sys
from pathlib import Path

from kit import CB, ENV, cb, made, main, np, saved

NULL_PLUGIN, DOCUMENT, HEADER = map(os.path.abspath, sys.argv[2:])


def own(code):
    return np.dtype(code).newbyteorder("=").str


def foreign(code):
    return np.dtype(code).newbyteorder("S").str


FOREIGN = "big" if sys.byteorder == "little" else "little"


# ---- files ----

def versions_1_and_2_are_read():
    x = made((3, 5), "f8", "F")
    for version in ((1, 0), (2, 0)):
        with open("v.npy", "wb") as file:
            np.lib.format.write_array(file, x, version=version)
        done = cb("unary", "op=neg", "v.npy", "-o", "out.npy")
        if done.returncode or not np.array_equal(np.load("out.npy"), -x):
            yield f"{version}: {done.stderr.decode()}"


def a_header_is_written_as_numpy_writes_it():
    for x in (made((3, 5)), made(()), made((2,), "f8"), made((0, 4), "f2")):
        done = cb("unary", "op=neg", *saved(x), "-o", "out.npy")
        np.save("want.npy", -x)
        if done.returncode or Path("out.npy").read_bytes() != Path("want.npy").read_bytes():
            yield f"{x.dtype}{x.shape}: {done.stderr.decode()}"


def ranks_beyond_those_of_numpy_are_read_and_written():
    for rank in (33, 64):
        shape = "2, " + "1, " * (rank - 1)
        head = f"{{'descr': '{own('f4')}', 'fortran_order': True, 'shape': ({shape})}}".encode()
        body = np.asarray([1, -2], "f4").tobytes()
        Path("deep.npy").write_bytes(
            b"\x93NUMPY\1\0" + len(head).to_bytes(2, "little") + head + body)
        done = cb("unary", "op=relu", "deep.npy", "-o", "out.npy")
        if done.returncode or not Path("out.npy").read_bytes().endswith(
                np.asarray([1, 0], "f4").tobytes()):
            yield f"{rank}: {done.stderr.decode()}"
    done = cb("gather", "deep.npy", *saved(np.zeros((1, 1), "i8")), "-o", "out.npy")
    if done.returncode != 1 or b"rank would be 65" not in done.stderr:
        yield done.stderr.decode()


def a_minus_is_standard_input_and_output():
    x = made((2, 3))
    np.save("x.npy", x)
    done = cb("unary", "op=neg", "-", "-o", "-", stdin=Path("x.npy").read_bytes())
    np.save("want.npy", -x)
    if done.returncode or done.stdout != Path("want.npy").read_bytes() or done.stderr:
        yield done.stderr.decode()


def output_may_replace_an_input():
    x = made((2, 3))
    name, = saved(x)
    os.chmod(name, 0o640)
    Path("link.npy").symlink_to(name)
    done = cb("unary", "op=neg", "link.npy", "-o", "link.npy")
    if done.returncode or not np.array_equal(np.load(name), -x):
        yield done.stderr.decode()
    if not Path("link.npy").is_symlink() or Path(name).stat().st_mode & 0o777 != 0o640:
        yield "the link or the permissions are gone"
    if len(list(Path().iterdir())) != 2:
        yield f"left behind: {sorted(p.name for p in Path().iterdir())}"


def a_pipe_is_written_to_and_not_replaced():
    os.mkfifo("pipe")
    with subprocess.Popen(["timeout", "60", "cat", "pipe"], stdout=subprocess.PIPE) as cat:
        done = cb("unary", "op=neg", *saved(made((2, 3))), "-o", "pipe")
        got = cat.communicate()[0]
    if done.returncode or not Path("pipe").is_fifo() or len(got) != 128 + 24:
        yield f"{len(got)} bytes: {done.stderr.decode()}"


def time_is_said_on_stderr_only():
    done = cb("unary", "op=neg", *saved(made((2, 3))), "-o", "out.npy", "--time")
    if done.returncode or done.stdout or not re.fullmatch(
            rb"unary: \d+\.\d{3} ms, \d+\.\d{3} ms in all\n", done.stderr):
        yield repr(done)


# ---- what goes wrong ----

def bytes_of(array):
    np.save("bytes.npy", array)
    return Path("bytes.npy").read_bytes()


def make_files():
    """The files that the words below speak of."""
    for name, array in {
            "a": made((3, 4)), "b": made((4, 5)), "c": made((3, 5)), "d": made((4, 5), "f8"),
            "v": made((4,)), "s": made(()), "big": made((2, 2)).astype(foreign("f4")),
            "int4": np.zeros((2,), "i4"), "whole": np.zeros((2,), "i8"),
            "minus": np.asarray([0, -1]),
            "beyond": np.asarray([0, 3]), "x": made((1, 2, 6, 6)), "w": made((3, 2, 3, 3)),
            "huge": made((3, 2, 9, 9)), "dy": made((1, 3, 4, 4)), "q": made((1, 4, 3, 8)),
            "k": made((1, 3, 5, 8)), "a64": made((3, 4), "f8"), "a8": made((8, 4, 4)),
            "b3": made((3, 4, 4)), "none": made((1, 0, 5, 8))}.items():
        np.save(f"{name}.npy", array)
    whole = bytes_of(made((3, 4)))
    Path("cut.npy").write_bytes(whole[:-1])
    Path("long.npy").write_bytes(whole + b"!")
    Path("text.npy").write_bytes(b"1,2,3\n")
    Path("empty.npy").write_bytes(b"")
    Path("dir.npy").mkdir()


WRONG = (  # words, exit code, what the message must say
    # how it is used
    ("", 2, ["usage: cb run"]),
    ("gem a.npy b.npy -o out.npy", 2, ["'gem'", "nearest is gemm"]),
    ("conv2d x.npy w.npy -o out.npy", 2, ["'conv2d'", "nearest is conv2d_"]),
    ("gemm aplha=1 a.npy b.npy -o out.npy", 2, ["'aplha'", "nearest is alpha"]),
    ("softmax alpha=1 a.npy -o out.npy", 2, ["softmax", "'alpha'", "nearest is axis"]),
    ("gather axis=1 a.npy whole.npy -o out.npy", 2, ["gather", "'axis'", "nor any other"]),
    ("gemm alpha=x a.npy b.npy -o out.npy", 2, ["'alpha=x'", "alpha=NUMBER"]),
    ("gemm alpha= a.npy b.npy -o out.npy", 2, ["'alpha='", "alpha=NUMBER"]),
    ("gemm alpha=1 alpha=2 a.npy b.npy -o out.npy", 2, ["alpha", "twice"]),
    ("gemm trans_a=2 a.npy b.npy -o out.npy", 2, ["'trans_a=2'", "0|1"]),
    ("gemm_mixed_precision precision=f8 a.npy b.npy -o out.npy", 2, ["f16|bf16"]),
    ("conv2d_forward stride=2 x.npy w.npy -o out.npy", 2, ["'stride=2'", "ROWS,COLUMNS"]),
    ("conv2d_forward stride=2,2,2 x.npy w.npy -o out.npy", 2, ["ROWS,COLUMNS"]),
    ("conv2d_forward stride=2,-1 x.npy w.npy -o out.npy", 2, ["ROWS,COLUMNS"]),
    ("conv2d_forward padding=1,1,1 x.npy w.npy -o out.npy", 2, ["ROWS,COLUMNS|T,L,B,R"]),
    ("conv2d_forward groups=18446744073709551616 x.npy w.npy -o out.npy", 2, ["groups=N"]),
    ("softmax axis=1.5 a.npy -o out.npy", 2, ["'axis=1.5'", "axis=N"]),
    ("reduce axis=0 a.npy -o out.npy", 2, ["reduce needs op="]),
    ("reduce op=sum a.npy -o out.npy", 2, ["reduce needs axis="]),
    ("unary op=cosine a.npy -o out.npy", 2, ["relu|sigmoid|tanh|exp|log|sqrt|abs|neg"]),
    ("gemm a.npy -o out.npy", 2, ["gemm takes the files A B [C]", "1 were given"]),
    ("gemm a.npy b.npy c.npy c.npy -o out.npy", 2, ["4 were given"]),
    ("gemm a.npy b.npy", 2, ["-o FILE"]),
    ("gemm a.npy b.npy -o", 2, ["-o"]),
    ("gemm a.npy b.npy -o out.npy --tiem", 2, ["--tiem", "nearest is --time"]),
    ("gemm a.npy b.npy -o out.npy --why", 2, ["takes no --why"]),
    ("gemm a.npy b.npy -o out.npy --option threads=1", 2, ["--option needs --backend"]),
    ("gemm a.npy b.npy -o out.npy --backend cpi", 2, ["'cpi'", "nearest is cpu"]),
    ("gemm a.npy b.npy -o out.npy --backend cpu --option thraeds=1", 1, ["thraeds"]),
    # files
    ("gemm a.npy gone.npy -o out.npy", 1, ["gone.npy", "No such file"]),
    ("gemm a.npy dir.npy -o out.npy", 1, ["dir.npy", "directory"]),
    ("gemm a.npy empty.npy -o out.npy", 1, ["empty.npy", "no .npy file"]),
    ("gemm a.npy text.npy -o out.npy", 1, ["text.npy", "no .npy file"]),
    ("gemm cut.npy b.npy -o out.npy", 1, ["cut.npy", "cut short", "47 bytes of 48"]),
    ("gemm long.npy b.npy -o out.npy", 1, ["long.npy", "1 bytes follow"]),
    ("gemm big.npy big.npy -o out.npy", 1, ["big.npy", foreign("f4"), f"is {FOREIGN}-endian"]),
    ("unary op=abs int4.npy -o out.npy", 1, ["int4.npy", "i4' is not read"]),
    ("gemm a.npy b.npy -o gone/out.npy", 1, ["gone/out.npy", "cannot write", "No such file"]),
    ("gemm a.npy b.npy -o dir.npy", 1, ["dir.npy", "cannot write", "directory"]),
    ("gemm a.npy b.npy -o a.npy/out.npy", 1, ["a.npy/out.npy", "cannot write"]),
    # arrays
    ("unary op=abs whole.npy -o out.npy", 1, ["whole.npy", "i64", "floating point"]),
    ("gemm a.npy d.npy -o out.npy", 1, ["d.npy", "f64, not f32"]),
    ("gemm a.npy a.npy -o out.npy", 1, ["a.npy", "axis 0 has 3", "axis 1", "has 4"]),
    ("gemm v.npy b.npy -o out.npy", 1, ["v.npy", "rank is 1, not 2"]),
    ("gemm a.npy b.npy b.npy -o out.npy", 1, ["b.npy", "axis 0 has 4", "a.npy has 3"]),
    ("gemm a.npy b.npy a64.npy -o out.npy", 1, ["a64.npy", "f64, not f32"]),
    ("gemm beta=2 a.npy b.npy -o out.npy", 1, ["beta needs a third file"]),
    ("gemm_mixed_precision a64.npy d.npy -o out.npy", 1, ["a64.npy", "f64, not f32"]),
    ("batched_gemm a8.npy b3.npy -o out.npy", 1, ["b3.npy", "axis 0 has 3", "a8.npy has 8"]),
    ("binary op=add a.npy b.npy -o out.npy", 1, ["b.npy", "axis 0 has 4", "a.npy has 3"]),
    ("binary op=add a.npy v.npy -o out.npy", 1, ["v.npy", "rank is 1, not 2"]),
    ("softmax axis=2 a.npy -o out.npy", 1, ["a.npy", "axis 2 is not one of its 2"]),
    ("softmax axis=-3 a.npy -o out.npy", 1, ["a.npy", "axis -3"]),
    ("softmax s.npy -o out.npy", 1, ["s.npy", "axis -1 is not one of its 0"]),
    ("gather s.npy whole.npy -o out.npy", 1, ["s.npy", "no axis"]),
    ("gather a.npy b.npy -o out.npy", 1, ["b.npy", "f32, not 64-bit integers"]),
    ("gather a.npy minus.npy -o out.npy", 1, ["minus.npy", "index -1 at place 1 is negative"]),
    ("gather a.npy beyond.npy -o out.npy", 1, ["gather", "3", "a.npy, beyond.npy"]),
    ("scatter a.npy whole.npy b.npy -o out.npy", 1, ["b.npy", "axis 0 has 4", "whole.npy has 2"]),
    ("scatter a.npy whole.npy v.npy -o out.npy", 1, ["v.npy", "rank is 1, not 2"]),
    ("scatter a.npy whole.npy d.npy -o out.npy", 1, ["d.npy", "f64, not f32"]),
    ("conv2d_forward a.npy w.npy -o out.npy", 1, ["a.npy", "rank is 2, not 4"]),
    ("conv2d_forward x.npy huge.npy -o out.npy", 1, ["huge.npy", "axis 2 does not fit"]),
    ("conv2d_forward stride=0,1 x.npy w.npy -o out.npy", 1, ["axis 2 does not fit"]),
    ("conv2d_forward padding=18446744073709551615,0 x.npy w.npy -o out.npy", 1, ["does not fit"]),
    ("conv2d_forward groups=2 x.npy w.npy -o out.npy", 1, ["groups 2", "x.npy, w.npy"]),
    ("conv2d_backward_data stride=2,2 w.npy dy.npy -o out.npy", 1,
     ["input_shape=N,C,H,W is needed"]),
    ("conv2d_backward_filter stride=2,2 x.npy dy.npy -o out.npy", 1,
     ["filter_shape=K,C/GROUPS,R,S is needed"]),
    ("conv2d_backward_filter x.npy huge.npy -o out.npy", 1, ["huge.npy", "does not fit"]),
    ("conv2d_backward_data padding=9,9 w.npy dy.npy -o out.npy", 1, ["dy.npy", "does not fit"]),
    ("conv2d_backward_data input_shape=1,2,9,9 w.npy dy.npy -o out.npy", 1,
     ["conv2d_backward_data", "w.npy, dy.npy"]),
    ("attention q.npy k.npy k.npy -o out.npy", 1, ["q.npy, k.npy", "heads"]),
    ("attention q.npy k.npy q.npy -o out.npy", 1, ["q.npy", "axis 1 has 4", "k.npy has 3"]),
    ("attention q.npy none.npy none.npy -o out.npy", 1, ["none.npy", "no heads"]),
)


def what_is_wrong_is_said_with_file_and_reason_and_writes_nothing():
    make_files()
    before = {p.name: p.stat().st_mtime_ns for p in Path().iterdir()}
    for words, code, needles in WRONG:
        done = cb(*words.split())
        said = done.stderr.decode()
        if done.returncode != code or done.stdout or said.count("\n") != 1:
            yield f"{words}: exit code {done.returncode}: {said}"
        if not said.startswith("cb: "):
            yield f"{words}: {said}"
        for needle in needles:
            if needle not in said:
                yield f"{words}: {needle!r} is not in {said!r}"
        after = {p.name: p.stat().st_mtime_ns for p in Path().iterdir()}
        if after != before:
            yield f"{words}: files changed: {after.keys() ^ before.keys()}"
            before = after


def an_error_leaves_the_output_as_it_was():
    make_files()
    Path("out.npy").write_bytes(b"precious")
    for words in ("gemm a.npy a.npy -o out.npy", "gather a.npy beyond.npy -o out.npy",
                  "gemm a.npy gone.npy -o out.npy"):
        cb(*words.split())
        if Path("out.npy").read_bytes() != b"precious":
            yield words


def a_write_that_fails_leaves_the_output_and_nothing_beside_it():
    name, = saved(made((2, 3)))
    Path("out.npy").write_bytes(b"precious")
    done = subprocess.run(
        [CB, "run", "unary", "op=neg", name, "-o", "out.npy"], stderr=subprocess.PIPE, env=ENV,
        check=False, restore_signals=False,  # SIGXFSZ stays ignored, so that write() fails
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (16, 16)))
    if done.returncode != 1 or b"out.npy: cannot write: File too large" not in done.stderr:
        yield repr(done)
    if Path("out.npy").read_bytes() != b"precious" or len(list(Path().iterdir())) != 2:
        yield f"there are: {sorted(p.name for p in Path().iterdir())}"


def a_full_disk_is_said():
    with open("/dev/full", "wb") as full:
        done = subprocess.run([CB, "run", "unary", "op=neg", *saved(made((2, 3))), "-o", "-"],
                              stdout=full, stderr=subprocess.PIPE, env=ENV, check=False)
    if done.returncode != 1 or not re.fullmatch(
            rb"cb: standard output: cannot write: No space.*\n", done.stderr):
        yield repr(done)


def another_backend_is_used_when_named():
    make_files()
    both = {"CB_PLUGINS": os.environ["CB_PLUGINS"] + ":" + NULL_PLUGIN}
    done = cb(*"gemm a.npy b.npy -o out.npy --backend null".split(), env=both)
    if done.returncode != 1 or b"UNSUPPORTED" not in done.stderr or Path("out.npy").exists():
        yield repr(done)
    done = cb(*"gemm a.npy b.npy -o out.npy --backend cpu --option threads=1".split(), env=both)
    if done.returncode or not Path("out.npy").exists():
        yield repr(done)
    done = cb(*"gemm a.npy b.npy -o out2.npy".split(), env={"CB_PLUGINS": os.getcwd()})
    if done.returncode != 1 or not done.stderr or Path("out2.npy").exists():
        yield repr(done)


def help_names_every_op_and_key():
    said = cb("--help").stdout.decode()
    for op in re.findall(r'case CB_OP_\w+: return "(\w+)";', Path(HEADER).read_text()):
        if not re.search(rf"^  {op} [A-Z]", said, re.M):
            yield f"no line for {op}"
    for key in set(re.findall(r"\[([a-z_]+)\]", said)):
        if not re.search(rf"^  {key}=", said, re.M):
            yield f"no line for {key}="


def the_document_is_true():
    """Blocks of sh and python are run in their order; one of text is what the last of them said."""
    said, count = "", 0
    for language, block in re.findall(r"^```(\w+)\n(.*?)^```$", Path(DOCUMENT).read_text(),
                                      re.M | re.S):
        count += 1
        if language == "text":
            if said != block:
                yield f"said {said!r}, not {block!r}"
            continue
        command = [sys.executable, "-c"] if language == "python" else ["sh", "-c"]
        done = subprocess.run([*command, block], env=ENV, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        said = done.stdout
        if done.returncode:
            yield f"exit code {done.returncode}: {block}: {said}"
    if count < 6:
        yield f"{count} blocks"


main([
    versions_1_and_2_are_read,
    a_header_is_written_as_numpy_writes_it,
    ranks_beyond_those_of_numpy_are_read_and_written,
    a_minus_is_standard_input_and_output,
    output_may_replace_an_input,
    a_pipe_is_written_to_and_not_replaced,
    time_is_said_on_stderr_only,
    what_is_wrong_is_said_with_file_and_reason_and_writes_nothing,
    an_error_leaves_the_output_as_it_was,
    a_write_that_fails_leaves_the_output_and_nothing_beside_it,
    a_full_disk_is_said,
    another_backend_is_used_when_named,
    help_names_every_op_and_key,
    the_document_is_true,
])
