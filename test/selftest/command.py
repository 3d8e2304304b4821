#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: command.py CB SICK_DIR CPU NULL CHAOS SCHEMA: cb selftest, in TAP."""
import os
import pty
import re
import shlex
import shutil
import subprocess
import time
import xml.etree.ElementTree

from kit import ARGS, CB, cb, differs, has, lacks, main, parsed, take

CPU, NULL, CHAOS, SCHEMA = ARGS
COUNTS = ("passed", "failed", "skipped", "unjudged")


def counts(done):
    """Of the first backend of a JSON report."""
    return [parsed(done)["backends"][0][k] for k in COUNTS]


def exits(done, code, what="the exit code"):
    yield from differs(done.returncode, code, f"{what} of {done.args[1:]}\n{done.stdout[-600:]}"
                                              f"{done.stderr[-600:]}\n")


def wrapped(*faults):
    """The words that open chaos around the CPU."""
    return ["chaos", "--option", f"wrap={CPU}", *[f"--option={f}" for f in faults]]


# ---- a run ----

def a_backend_that_is_right_passes():
    take(CPU)
    done = cb("selftest", "cpu", "--op", "[gs]*:*")
    yield from exits(done, 0)
    yield from lacks(done.stdout, "  softmax:f16 ", "  gather:128bit ", " passed; ")
    yield from has(done.stdout, "FAILED", "\033")
    yield from differs(done.stderr, "", "standard error")


def without_an_id_every_backend_that_a_program_might_get_is_judged():
    take("well", "lazy", CPU, NULL)
    done = cb("selftest", "--op", "softmax:f32", "--format", "json")
    yield from exits(done, 0)
    ids = sorted(b["id"] for b in parsed(done)["backends"])
    yield from differs(ids, ["cpu", "well"], "what was judged")


def what_several_ops_choose_adds_up():
    take(CPU)
    words = ["--op=gather", "--op=softmax:f3?", "--op=unary:f32,exp,*"]
    each = [counts(cb("selftest", "cpu", "--format", "json", word)) for word in words]
    for more in ([], ["--in-process"]):
        done = cb("selftest", "cpu", "--format", "json", *words, words[0], *more)
        yield from exits(done, 0)
        yield from differs(counts(done), [sum(c) for c in zip(*each)], f"the sum of {each}")


def jobs_and_processes_find_the_same():
    take(CPU)
    words = ["selftest", "cpu", "--op", "[bs]*", "--format", "json"]
    one = counts(cb(*words))
    yield from differs(one[0] > 3000, True, f"many cases passed: {one}")
    for more in (["--jobs", 3], ["--in-process"]):
        yield from differs(counts(cb(*words, *more)), one, f"the counts with {more}")
    shards = [counts(cb(*words, "--shard", f"{i}/2")) for i in (1, 2)]
    yield from differs([sum(c) for c in zip(*shards)], one, "the counts of both shards")


def a_backend_that_does_nothing_ran_nothing():
    take(NULL)
    done = cb("selftest", "null")
    yield from exits(done, 3)
    yield from lacks(done.stdout, "nothing ran", "33", "skipped: ", "has no memory")
    yield from exits(cb("selftest", "null", "--op", "info"), 0)
    yield from exits(cb("selftest", "null", "--op", "softmax:no*such"), 3)


def without_any_backend_nothing_ran():
    for words in ([], ["--format", "tap"], ["--format", "junit"], ["--format", "json"]):
        yield from exits(cb("selftest", *words), 3)


def a_backend_that_cannot_be_opened_is_exit_code_4_and_the_next_goes_on():
    take("no_device", "well")
    done = cb("selftest", "no_device", "well", "--op", "softmax:f32", "--format", "json")
    yield from exits(done, 4)
    first, second = parsed(done)["backends"]
    yield from lacks(first["reason"], "nothing is plugged in")
    yield from differs((first["exit_code"], second["exit_code"]), (4, 0), "the codes of both")


# ---- usage ----

def a_wrong_use_is_exit_code_2_and_names_the_nearest():
    take(CPU)
    for words, parts in (
            (["cpo"], ["cpo", "cpu"]),
            (["cpu", "--op", "gem"], ["gem", "gemm"]),
            (["cpu", "--op", "softmux:f32*"], ["softmux", "softmax"]),
            (["cpu", "--op", "gem", "--op", "softmax"], ["gem", "gemm"]),
            (["cpu", *[f"--op=softmax:{'?' * 100}"] * 64], ["--op", "4095"]),
            (["cpu", *["--op=softmax"] * 65], ["--op", "64"]),
            (["cpu", "--format", "jnit"], ["jnit", "junit"]),
            (["cpu", "--aganst", "x"], ["--against"]),
            (["cpu", "--against", "cbu"], ["cbu", "cpu"]),
            (["cpu", "--seed", "1x"], ["--seed", "1x"]),
            (["cpu", "--seed", "-1"], ["--seed"]),
            (["cpu", "--jobs", "0"], ["--jobs", "from 1 to 64"]),
            (["cpu", "--timeout", "0"], ["--timeout"]),
            (["cpu", "--shard", "3/2"], ["3/2"]),
            (["cpu", "--after", "gemm:f99"], ["gemm:f99"]),
            (["cpu", "--quick", "--full"], ["exclude"]),
            (["--option", "threads=1"], ["one ID"])):
        done = cb("selftest", *words)
        yield from exits(done, 2)
        yield from lacks(done.stderr, *parts)
        yield from differs(done.stdout, "", "standard output")


# ---- failures ----

def a_failure_tells_all_and_a_line_that_repeats_just_that_case():
    take(CHAOS)
    done = cb("selftest", *wrapped("fault=gemm_k_short"), "--op", "gemm:f32", "--seed", "0x10")
    yield from exits(done, 1)
    found = re.search(r"^FAILED chaos (gemm:f32\S*)\n    c\[(\d+)\] is (\S+), not (\S+): off by "
                      r"(\S+), allowed (\S+)\n    rule: (.*)\n    repeat: (.*)$", done.stdout, re.M)
    yield from differs(bool(found), True, f"a failure in full in {done.stdout[:600]}")
    spec, index, got, want, error, bound, rule, line = found.groups()
    yield from lacks(rule, "(k + 4) u")
    yield from differs(abs(float(got) - float(want)) > float(bound), True, f"{got} beyond {bound}")
    yield from differs(done.stdout.count(f"FAILED chaos {spec}\n"), 2, "how often it is listed")
    yield from lacks(line, f"--op '{spec}' --seed 16")
    words = shlex.split(line)
    yield from differs(words[0], "cb", "the command")
    again = cb(*words[1:], "--format", "json")
    yield from exits(again, 1)
    yield from differs(counts(again), [0, 1, 0, 0], "the counts of the repetition")
    same = [g for g in parsed(again)["backends"][0]["groups"]][0]["failures"][0]
    yield from differs((same["case"], same["index"], same["operand"]), (spec, int(index), "c"),
                       "the failure of the repetition")
    yield from differs((same["got"], same["error"] > same["bound"]), (float(got), True), error)
    for part in shlex.split(same["repeat"]):
        if part not in words:
            yield f"{part} is not in {line}"


def a_line_that_repeats_keeps_mode_configuration_and_options():
    take(CHAOS)
    done = cb("selftest", *wrapped("fault=reduce_mean_undivided"), "--config", "cb.conf", "--full",
              "--op", "reduce:f32,mean,shape=3x4x5*", config="[loader]\n")
    yield from exits(done, 1)
    yield from lacks(done.stdout, f" --config cb.conf --option 'wrap={CPU}' "
                                  "--option 'fault=reduce_mean_undivided' --full --op ")


def every_fault_that_needs_more_than_one_instance_is_found():
    take(CHAOS)
    done = cb("info", "chaos", env={"CB_OPTIONS": f"chaos.wrap={CPU}"})
    faults = re.findall(r"^info.fault.(\w+): (late|state|threads): ", done.stdout, re.M)
    yield from differs(len(faults) >= 10, True, f"many faults: {faults}")
    for fault, subject in faults:
        op = "reduce:f32" if subject == "threads" else subject
        done = cb("selftest", *wrapped(f"fault={fault}"), "--op", op, "--timeout", 30)
        yield from exits(done, 1)
        yield from lacks(done.stdout, f"FAILED chaos {op}")


# ---- what breaks its process ----

def broken(word, plugin, *words):
    """A backend whose softmax breaks, with one behind it that does not."""
    take(plugin, "well")
    done = cb("selftest", plugin, "well", "--op", "[sb]*[xy]:f[36]*", *words)
    yield from exits(done, 5)
    yield from lacks(done.stdout, f"BROKEN {plugin} softmax:f32,", f"BROKEN {plugin} softmax:f64,",
                     word, "a call returns", "  binary:f64 ", "well: ",
                     f"repeat: cb selftest {plugin} --op 'softmax:f32,", "BROKEN\n")


def a_crash_is_a_result_with_the_case_that_did_it():
    yield from broken("crashed: signal 6 (Aborted)", "crashes_softmax")


def a_hang_is_ended_at_its_deadline():
    start = time.monotonic()
    yield from broken("hung: ", "hangs_softmax", "--timeout", 1, "--jobs", 2)
    yield from differs(time.monotonic() - start < 60, True, "that it was in time")


def an_exit_is_a_result():
    yield from broken("ended its process: exit code 3", "exits_softmax")


def a_crash_when_it_is_opened_is_a_result():
    take("crashes_create", "hangs_create")
    for plugin, word in (("crashes_create", "crashed: signal 6"), ("hangs_create", "hung: ")):
        done = cb("selftest", plugin, "--timeout", 1)
        yield from exits(done, 5)
        yield from lacks(done.stdout, word, "when it was opened")


def what_broke_can_be_seen_in_one_process():
    take("exits_softmax")
    yield from exits(cb("selftest", "exits_softmax", "--op", "softmax", "--in-process"), 3)


# ---- formats ----

def awkward(form):
    """The report of a run with passes, failures, skips, cases that are not judged, and a crash."""
    ids = ["crashes_softmax", "wrong_softmax", "well", "no_device"]
    take(*ids)
    return cb("selftest", *ids, "--op", "[slg]*:*[f6s]*", "--format", form)


def json_is_read_by_a_parser_and_whole():
    done = awkward("json")
    yield from exits(done, 5)
    report = parsed(done)
    yield from differs((report["mode"], report["seed"], report["exit_code"]), ("quick", 0, 5),
                       "the head")
    for b in report["backends"]:
        for key in COUNTS:
            yield from differs(sum(g[key] for g in b["groups"]), b[key], f"{key} of {b['id']}")
        for g in b["groups"]:
            told = sum(r["cases"] for r in g["reasons"])
            yield from differs(told, g["skipped"] + g["unjudged"], f"the reasons of {g['name']}")
            kept = [f for f in g["failures"] if f["kind"] == "failed"]
            yield from differs(len(kept), min(20, g["failed"]), f"the failures of {g['name']}")
    codes = [b["exit_code"] for b in report["backends"]]
    yield from differs(codes, [5, 1, 0, 4], "the codes of the backends")


def tap_has_a_plan_reasons_and_repetitions():
    tap = awkward("tap").stdout
    points = re.findall(r"^(?:not )?ok (\d+) - ", tap, re.M)
    yield from differs(tap.splitlines()[-1], f"1..{len(points)}", "the plan")
    yield from lacks(tap, "\nnot ok ", " # SKIP ", " # SKIP not judged: ", "# repeat: cb selftest ")


def tap_is_read_by_prove():
    take("well", "wrong_softmax")
    with open("cb.conf", "w", encoding="ascii"):
        pass
    for words, passes in ((["well", "--op", "softmax:no*such"], False), (["well", "--op", "soft*"], True),
                          (["wrong_softmax", "--op", "softmax"], False)):
        with open("run.sh", "w", encoding="ascii") as script:
            script.write(shlex.join(["exec", CB, "selftest", *words, "--format", "tap"]) + "\n")
        env = {**os.environ, "CB_PLUGINS": os.getcwd(), "CB_CONFIG": os.path.abspath("cb.conf")}
        done = subprocess.run(["prove", "-e", "sh", "run.sh"], capture_output=True, text=True,
                              check=False, env=env)
        yield from differs(done.returncode == 0, passes, f"prove {words}: {done.stdout}")
        yield from has(done.stdout + done.stderr, "Parse errors")


def junit_is_valid_against_its_schema():
    with open("report.xml", "w", encoding="ascii") as file:
        file.write(awkward("junit").stdout)
    lint = subprocess.run(["xmllint", "--noout", "--schema", SCHEMA, "report.xml"],
                          capture_output=True, text=True, check=False)
    yield from differs(lint.returncode, 0, f"xmllint: {lint.stderr}")


def junit_counts_what_it_has():
    suites = list(xml.etree.ElementTree.fromstring(awkward("junit").stdout))
    yield from differs([s.get("name") for s in suites],
                       ["crashes_softmax", "wrong_softmax", "well", "no_device"], "the suites")
    for suite in suites:
        cases = suite.findall("testcase")
        yield from differs(int(suite.get("tests")), len(cases), "the tests")
        names = [c.get("name") for c in cases]
        yield from differs(len(set(names)), len(names), f"the different names of {names}")
        for key, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            yield from differs(int(suite.get(key)), len(suite.findall(f"testcase/{tag}")), key)
    yield from lacks(suites[0].find("testcase/error").get("message"), "crashed: signal 6")
    yield from lacks(suites[1].find("testcase/failure").text, "rule: ", "repeat: cb selftest ")


# ---- what a terminal sees ----

def on_a_terminal(*words, env=None):
    """What the command writes when both outputs are a terminal."""
    pid, fd = pty.fork()
    if not pid:
        os.environ.update({"CB_PLUGINS": os.getcwd(), "CB_CONFIG": "/dev/null", **(env or {})})
        os.execv(CB, [CB, *words])
    seen = b""
    try:
        while chunk := os.read(fd, 65536):
            seen += chunk
    except OSError:
        pass
    os.waitpid(pid, 0)
    os.close(fd)
    return seen.decode()


def colour_and_progress_are_a_terminals_alone():
    take("wrong_softmax")
    words = ["selftest", "wrong_softmax", "--op", "[us]*"]
    os.environ.pop("NO_COLOR", None)
    plain = cb(*words)
    yield from has(plain.stdout + plain.stderr, "\033", "\r")
    seen = on_a_terminal(*words)
    yield from lacks(seen, "\033[31mFAILED ", "\033[32mpassed\033[0m", "\r\033[Kwrong_softmax ")
    yield from has(on_a_terminal(*words, env={"NO_COLOR": "1"}), "\033[3")
    yield from lacks(on_a_terminal(*words, env={"NO_COLOR": ""}), "\033[31m")


def the_help_names_the_ops_and_the_exit_codes():
    done = cb("selftest", "--help")
    yield from exits(done, 0)
    yield from lacks(done.stdout, " conv2d_adjoint ", " lifecycle ", "  3  nothing ran", "  5  ")
    yield from has(done.stdout, "all went well")
    yield from lacks(cb("list", "--help").stdout, "  0  all went well")


# ---- other backends ----

def against_a_backend_the_largest_difference_of_each_op_is_told():
    take(CPU, CHAOS)
    words = ["--op", "unary:f32", "--against", "cpu"]
    done = cb("selftest", *wrapped(), *words)
    yield from exits(done, 0)
    yield from lacks(done.stdout, "farthest from cpu", "  unary:f32 ", "same bits")
    # Its tanh is not wrong everywhere, so of what still passes some element is off.
    done = cb("selftest", *wrapped("fault=unary_tanh_cancels"), *words, "--format", "json")
    group = parsed(done)["backends"][0]["groups"][0]
    yield from lacks(group["difference"]["case"], "unary:f32,tanh")
    yield from differs(0 < group["difference"]["error"] <= 2 * group["difference"]["bound"], True,
                       f"a small difference: {group['difference']}")
    take(NULL)
    done = cb("selftest", "cpu", "--op", "unary:f32", "--against", "null")
    yield from exits(done, 0)
    yield from lacks(done.stdout, "skipped: null: alloc: ")
    yield from has(done.stdout, "same bits")


def support_tells_what_each_backend_serves():
    take(CPU, NULL, "well")
    done = cb("support", "cpu", "null", "well", "--matrix")
    yield from exits(done, 0)
    yield from lacks(done.stdout, "| op | cpu | null | well |\n| --- | --- | --- | --- |\n",
                     "| gemm | f64 f32 bf16 f16 | - | - |\n", "| attention | f32 | - | - |\n",
                     "| softmax | f64 f32 bf16 f16 | - | f64 f32 bf16 f16 |\n",
                     "| scatter | 8bit 16bit 32bit 64bit 128bit | - | - |\n")
    well = parsed(cb("support", "well", "--json"))["backends"][0]
    yield from differs(well["ops"]["gemm"]["f32"],
                       {"answer": "no", "reason": "softmax and binary are all there is",
                        "temporary_bytes": 0}, "the answer for gemm")
    yield from differs(well["ops"]["softmax"]["f32"]["answer"], "yes", "the answer for softmax")
    yield from exits(cb("support", "wel", "--matrix"), 2)
    yield from exits(cb("support", "--matrix", "--json"), 2)
    yield from differs(cb("support", "well").stdout, cb("support", "well", "--matrix").stdout,
                       "what is the default")


def support_says_which_backend_cannot_be_asked():
    take("no_device", "well")
    done = cb("support", "no_device", "well", "--matrix")
    yield from exits(done, 1)
    yield from lacks(done.stdout, "| softmax | ? | f64 f32 bf16 f16 |")
    yield from lacks(done.stderr, "no_device cannot be asked: ", "nothing is plugged in")


for test, program in ((tap_is_read_by_prove, "prove"),
                      (junit_is_valid_against_its_schema, "xmllint")):
    if not shutil.which(program):
        test.skip = f"{program} is not installed"

if __name__ == "__main__":
    main([
        a_backend_that_is_right_passes,
        without_an_id_every_backend_that_a_program_might_get_is_judged,
        what_several_ops_choose_adds_up,
        jobs_and_processes_find_the_same,
        a_backend_that_does_nothing_ran_nothing,
        without_any_backend_nothing_ran,
        a_backend_that_cannot_be_opened_is_exit_code_4_and_the_next_goes_on,
        a_wrong_use_is_exit_code_2_and_names_the_nearest,
        a_failure_tells_all_and_a_line_that_repeats_just_that_case,
        a_line_that_repeats_keeps_mode_configuration_and_options,
        every_fault_that_needs_more_than_one_instance_is_found,
        a_crash_is_a_result_with_the_case_that_did_it,
        a_hang_is_ended_at_its_deadline,
        an_exit_is_a_result,
        a_crash_when_it_is_opened_is_a_result,
        what_broke_can_be_seen_in_one_process,
        json_is_read_by_a_parser_and_whole,
        tap_has_a_plan_reasons_and_repetitions,
        tap_is_read_by_prove,
        junit_is_valid_against_its_schema,
        junit_counts_what_it_has,
        colour_and_progress_are_a_terminals_alone,
        the_help_names_the_ops_and_the_exit_codes,
        against_a_backend_the_largest_difference_of_each_op_is_told,
        support_tells_what_each_backend_serves,
        support_says_which_backend_cannot_be_asked,
    ])
