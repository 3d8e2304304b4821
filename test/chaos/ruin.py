#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: ruin.py CB DIR CB_PROBE CPU CHAOS: what chaos takes along, and what a host is told, in TAP."""
from kit import ARGS, cb, differs, lacks, main, take

PROBE, CPU, CHAOS = ARGS
WAYS = {"crash": "signal 11", "hang": "hung", "exit": "code 3"}


def listed(options="", **env):
    """What became of chaos, and why, after a probe."""
    take(CHAOS, CPU)
    config = f"[loader]\nprobe = always\nprobe_timeout = 1\nprobe_helper = {PROBE}\n"
    done = cb("list", "--why", config=config,
              env={"CB_BACKEND": "chaos", "CB_OPTIONS": options, **env})
    return "\nchaos 0.1.0: " + ("\n" + done.stdout).split("\nchaos 0.1.0: ")[1].split("path:")[0]


def judged(*options, op="unary:f32"):
    take(CHAOS, CPU)
    return cb("selftest", "chaos", "--op", op, "--timeout", 2,
              *(word for o in options for word in ("--option", o)))


def an_entry_that_ends_the_process_is_found_out_by_a_probe():
    for way, said in WAYS.items():
        yield from lacks(listed(CHAOS_ENTRY=way), "probed bad", said)


def so_is_a_create_and_a_device_count():
    for place in "create", "device_count":
        for way, said in WAYS.items():
            yield from lacks(listed(f"chaos.{way}={place}"), "probed bad", said)


def a_table_that_is_short_or_lacks_a_slot_is_refused():
    yield from lacks(listed(CHAOS_ENTRY="short_table"), "refused", "128 bytes")
    yield from lacks(listed(CHAOS_ENTRY="without_supports"), "refused", "supports is NULL")


def a_table_without_gemm_answers_unsupported():
    yield from lacks(listed(CHAOS_ENTRY="without_gemm"), ": selected")
    take(CHAOS, CPU)
    done = cb("selftest", "chaos", "--op", "gemm:f32,nn,m=5,n=5,*", env={"CHAOS_ENTRY": "without_gemm"})
    yield from lacks(done.stdout, "gemm: UNSUPPORTED, not OK")


def an_op_that_ends_the_process_costs_only_its_case():
    for way, said in {"crash": "signal 11", "hang": "hung", "exit": "exit code 3"}.items():
        done = judged(f"{way}=unary", op="[us][no]*:f32,*")
        yield from differs(done.returncode, 5, f"the exit code with {way}")
        yield from lacks(done.stdout, "unary:f32", said, "softmax:f32")


def init_and_alloc_end_it_too():
    for place in "init", "alloc":
        yield from differs(judged(f"exit={place}").returncode, 5, f"the exit code with {place}")


def a_device_may_be_missing_or_be_there_twice():
    yield from lacks(listed("chaos.devices=none"), "failed", "no device: ", "the option devices")
    yield from differs(judged("devices=twice").returncode, 0, "the exit code with twice")
    done = cb("info", "chaos", env={"CB_OPTIONS": "chaos.devices=twice"})
    yield from lacks(done.stdout, "device.0.id: cpu", "device.1.id: cpu")


def memory_may_run_out():
    done = judged("largest=64")
    yield from lacks(done.stdout, "OUT_OF_MEMORY", "the option largest")


def a_wrong_value_is_refused():
    for option in "crash=nowhere", "hang=", "devices=thrice", "largest=many":
        done = judged(option)
        yield from lacks(done.stdout + done.stderr, "option " + option.split("=")[0])


main([
    an_entry_that_ends_the_process_is_found_out_by_a_probe,
    so_is_a_create_and_a_device_count,
    a_table_that_is_short_or_lacks_a_slot_is_refused,
    a_table_without_gemm_answers_unsupported,
    an_op_that_ends_the_process_costs_only_its_case,
    init_and_alloc_end_it_too,
    a_device_may_be_missing_or_be_there_twice,
    memory_may_run_out,
    a_wrong_value_is_refused,
])
