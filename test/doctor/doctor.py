#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: doctor.py CB SICK_DIR CB_PROBE CPU_PLUGIN NULL_PLUGIN: cb doctor, list --json, config."""
import os
import pathlib
import shutil
import time

from kit import ARGS, CB, cb, differs, has, lacks, main, parsed, take

PROBE, CPU, NULL = ARGS
HELPED = f"[loader]\nprobe_helper = {PROBE}\n"
HASTY = HELPED + "probe_timeout = 0.7\n"


def problems(done):
    return [p["what"] for p in parsed(done)["problems"]]


def backend(done, name):
    return next(b for b in parsed(done)["backends"] if b["id"] == name)


def a_healthy_machine_is_called_healthy():
    take(CPU, NULL)
    done = cb("doctor", config=HELPED)
    yield from differs(done.returncode, 0, "the exit code")
    yield from differs(done.stderr, "", "stderr")
    yield from lacks(done.stdout, "ABI 1.0 draft", "Processor\n", "cpu 0.1.0: selected",
                     "origin:   CB_PLUGINS", "searched: " + os.getcwd(), "0 failed",
                     "device 0: ", "host memory", "a program gets cpu\n    healthy\n",
                     "null: not tried: with priority 0")
    yield from has(done.stdout, "problem")


def its_json_says_the_same():
    take("well", "lazy")
    done = cb("doctor", "--json", config=HELPED)
    page = parsed(done)
    yield from differs(done.returncode, 0, "the exit code")
    yield from differs((page["problem_count"], page["selected"]), (0, "well"), "the verdict")
    yield from differs([c["id"] for c in page["report"]["candidates"]], ["lazy", "well"], "the list")
    well, lazy = backend(done, "well"), backend(done, "lazy")
    yield from differs((well["result"], lazy["result"]), ("passed", "not tried"), "the result")
    yield from differs(len(well["devices"]), 1, "the number of devices")
    if not well["selftest"]["passed"] or not page["processor"]["isa"] or not page["versions"]["cb"]:
        yield f"a fact is missing: {page}"


def a_plugin_that_crashes_costs_only_itself():
    take("well", "crashes_create", "crashes_softmax")
    done = cb("doctor", "--json", config=HELPED)
    said = problems(done)
    yield from differs(done.returncode, 1, "the exit code")
    yield from differs(len(said), 2, f"the number of problems in {said}")
    yield from lacks(said[0], "libcb_crashes_create.so is probed bad", "signal 6")
    yield from lacks(said[1], "crashes_softmax crashed: signal 6 (Aborted) in its self-test",
                     "in the case softmax:")
    yield from differs(backend(done, "well")["result"], "passed", "the result of the good one")


def a_plugin_that_hangs_is_killed_within_the_timeout():
    take("hangs_create", "hangs_softmax")
    start = time.monotonic()
    done = cb("doctor", "--json", config=HASTY)
    if time.monotonic() - start > 30:
        yield f"it took {time.monotonic() - start} seconds"
    said = problems(done)
    yield from differs(done.returncode, 1, "the exit code")
    yield from lacks(said[0], "hangs_create", "probed bad")
    yield from lacks(said[1], "hangs_softmax hung: no progress for 70", "in its self-test")
    for entry in pathlib.Path("/proc").glob("[0-9]*/environ"):
        try:
            if os.getcwd().encode() in entry.read_bytes():
                yield f"a process is left: {entry}"
        except OSError:
            continue


def a_plugin_that_ends_the_process_is_found_out():
    take("exits_softmax")
    said = problems(cb("doctor", "--json", config=HELPED))
    yield from lacks(said[0], "exits_softmax ended its process: exit code 3 in its self-test")


def a_wrong_result_is_a_problem_with_the_case_that_shows_it():
    take("wrong_softmax")
    done = cb("doctor", config=HELPED)
    yield from differs(done.returncode, 1, "the exit code")
    yield from lacks(done.stdout, "wrong_softmax fails ", "the first softmax:",
                     "hide it with CB_DISABLE=wrong_softmax", "        failed: softmax:")


def a_crash_without_probes_does_not_take_the_command_with_it():
    take("crashes_create")
    done = cb("doctor", config="[loader]\nprobe_helper = /nonexistent/cb-probe\n")
    yield from differs(done.returncode, 1, "the exit code")
    yield from lacks(done.stdout, "probe unavailable: /nonexistent/cb-probe", "install cb-probe",
                     "the selection crashed: signal 6 (Aborted)",
                     "crashes_create crashed: signal 6 (Aborted) when it was opened")


def a_machine_without_the_device_is_healthy():
    take("no_device", "well")
    done = cb("doctor", config=HELPED)
    yield from differs(done.returncode, 0, "the exit code")
    yield from lacks(done.stdout, "no device: ", "nothing is plugged in", "a program gets well")
    # The same without a probe, which would have seen it first.
    said = problems(cb("doctor", "--json", config="[loader]\nprobe_helper = /nonexistent\n"))
    yield from differs([s.split(":")[0] for s in said], ["probe unavailable"], "the problems")


def nothing_found_is_a_problem_with_advice():
    done = cb("doctor", config=HELPED)
    yield from differs(done.returncode, 1, "the exit code")
    yield from lacks(done.stdout, "problem 1: a program gets no backend", "to do: install a plugin")


def a_file_that_is_refused_is_a_problem_with_advice():
    take("lazy")
    shutil.copy(os.path.realpath(f"/proc/self/exe"), "libcb_other.so")
    done = cb("doctor", config=HELPED)
    yield from differs(done.returncode, 1, "the exit code")
    yield from lacks(done.stdout, "libcb_other.so is refused", "cb lint " + os.getcwd())


def what_is_odd_in_a_configuration_is_a_problem():
    take("lazy")
    done = cb("doctor", config=HELPED + "nonsense = 1\n")
    yield from differs(done.returncode, 1, "the exit code")
    yield from lacks(done.stdout, "cb.conf:3: unknown key nonsense", "see cb config")


def redact_masks_every_home():
    home = pathlib.Path("zoe").resolve()
    home.mkdir()
    take("lazy")
    shutil.move("libcb_lazy.so", home)
    env = {"HOME": str(home), "CB_PLUGINS": f"{home}:/home/somebody/plugins:{home}x/y:/x{home}"}
    for words in ["doctor"], ["doctor", "--json"]:
        plain = cb(*words, config=HELPED, env=env).stdout
        masked = cb(*words, "--redact", config=HELPED, env=env).stdout
        yield from lacks(plain, str(home) + "/libcb_lazy.so", "/home/somebody/plugins")
        yield from has(masked, str(home) + "/", "somebody")
        yield from lacks(masked, "~/libcb_lazy.so", "~/plugins", f"{home}x/y", f"/x{home}")


def installed_doctor(config=""):
    """What the doctor says when cb and its helper lie as they are installed."""
    for folder, file in ("bin", CB), ("libexec/compute-backend", PROBE):
        pathlib.Path("root", folder).mkdir(parents=True)
        shutil.copy(file, pathlib.Path("root", folder))
    libraries = str(pathlib.Path(CB).parent.parent)
    return cb("doctor", command="root/bin/cb", config=config, env={"LD_LIBRARY_PATH": libraries})


def the_helper_of_this_very_installation_is_used():
    take("lazy", "crashes_create")
    done = installed_doctor()
    yield from lacks(done.stdout, "crashes_create 1.0.0: probed bad",
                     f"# the program\n    probe_helper = {os.getcwd()}/root/libexec/")
    yield from has(done.stdout, "probe unavailable")


def a_helper_that_is_configured_is_used_instead():
    take("lazy")
    done = installed_doctor(config="[loader]\nprobe_helper = /nonexistent\n")
    yield from lacks(done.stdout, "probe unavailable: /nonexistent")


def list_json_has_every_candidate_and_what_became_of_it():
    take("well", "no_device")
    pathlib.Path("libcb_text.so").write_text('a "text"\n', encoding="ascii")
    done = cb("list", "--json")
    page = parsed(done)
    states = {os.path.basename(c["path"]): c["state"] for c in page["candidates"]}
    yield from differs(states, {"libcb_no_device.so": "failed", "libcb_text.so": "skipped",
                                "libcb_well.so": "selected"}, "the states")
    for c in page["candidates"]:
        if not c["reason"] or c["origin"] != "CB_PLUGINS" or c["milliseconds"] < 0:
            yield f"a fact is missing: {c}"


def json_is_valid_whatever_a_file_is_called():
    name = 'libcb_"\\\n\x01\udcff\u20ac.so'
    pathlib.Path(name).write_text("", encoding="ascii")
    for words in ["list", "--json"], ["lint", "--json", name], ["doctor", "--json"]:
        done = cb(*words, config=HELPED)
        yield from lacks(str(parsed(done)), "\ufffd\u20ac.so")


def config_json_has_each_value_with_its_origin():
    done = cb("config", "--json", config="[loader]\nbackend = a, b\n[backend.a]\nthreads = 2\n")
    origins = {(s["section"], s["key"]): (s["value"], s["origin"])
               for s in parsed(done)["settings"]}
    yield from differs(origins["loader", "backend"][0], "a, b", "backend")
    yield from lacks(origins["loader", "backend"][1], "cb.conf:2")
    yield from differs(origins["loader", "probe"], ("never", "default"), "probe")
    yield from differs(origins["backend.a", "threads"][0], "2", "threads")
    yield from lacks(origins["backend.a", "threads"][1], "cb.conf:4")


def config_is_a_configuration_that_says_the_same():
    first = cb("config", config="[loader]\nbackend = a, b\npolicy = any\n[backend.a]\nx = # 1\n")
    second = cb("config", config=first.stdout)

    def plain(text):
        return [line for line in text.splitlines() if not line.startswith("#")]
    yield from differs(plain(second.stdout), plain(first.stdout), "the second round")
    yield from lacks(first.stdout, "policy = any", "x = # 1")


def an_unknown_word_is_met_with_a_suggestion_only_when_one_is_near():
    near = {"--jsno": "--json", "--hlep": "--help", "lsit": "list", "docter": "doctor"}
    for word, meant in near.items():
        done = cb(word)
        yield from differs(done.returncode, 2, f"the exit code of {word}")
        yield from lacks(done.stderr, f"the nearest is {meant}\n")
    for word in "--nonsense", "--quantum", "banana", "-x":
        done = cb(word)
        yield from differs(done.returncode, 2, f"the exit code of {word}")
        yield from has(done.stderr, "nearest")
        yield from lacks(done.stderr, f"'{word}'", "cb --help")


main([
    a_healthy_machine_is_called_healthy,
    its_json_says_the_same,
    a_plugin_that_crashes_costs_only_itself,
    a_plugin_that_hangs_is_killed_within_the_timeout,
    a_plugin_that_ends_the_process_is_found_out,
    a_wrong_result_is_a_problem_with_the_case_that_shows_it,
    a_crash_without_probes_does_not_take_the_command_with_it,
    a_machine_without_the_device_is_healthy,
    nothing_found_is_a_problem_with_advice,
    a_file_that_is_refused_is_a_problem_with_advice,
    what_is_odd_in_a_configuration_is_a_problem,
    redact_masks_every_home,
    the_helper_of_this_very_installation_is_used,
    a_helper_that_is_configured_is_used_instead,
    list_json_has_every_candidate_and_what_became_of_it,
    json_is_valid_whatever_a_file_is_called,
    config_json_has_each_value_with_its_origin,
    config_is_a_configuration_that_says_the_same,
    an_unknown_word_is_met_with_a_suggestion_only_when_one_is_near,
])
