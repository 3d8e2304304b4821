#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: lint.py CB SICK_DIR MOCK_DIR PLUGIN...: cb lint, on files that are never run."""
import os
import pathlib
import struct

from kit import ARGS, SICK, cb, differs, has, lacks, main, parsed, take

MOCKS, OWN = pathlib.Path(ARGS[0]), ARGS[1:]


def sick(name):
    return SICK / f"libcb_{name}.so"


def mock(name):
    return MOCKS / f"libcb_{name}.so"


def found(path):
    """(exit code, {(level, rule): text}) of one file."""
    done = cb("lint", "--json", path)
    findings = parsed(done)["files"][0]["findings"]
    return done.returncode, {(f["level"], f["rule"]): f["text"] for f in findings}


def judged(path, level, rule, *words):
    """The file has one finding, of that level and rule and with those words."""
    code, findings = found(path)
    yield from differs(code, int(level == "error"), f"the exit code of {path}")
    yield from differs(list(findings), [(level, rule)], f"the rules that {path} breaks")
    yield from lacks(findings.get((level, rule), ""), *words)


def plugins_of_ours_have_nothing_against_them():
    for path in OWN:
        yield from differs(found(path), (0, {}), f"what is said of {path}")


def facts_and_libraries_are_listed():
    done = cb("lint", sick("well"))
    yield from differs((done.returncode, done.stderr), (0, ""), "the outcome")
    yield from lacks(done.stdout, "libcb_well.so: 0 errors, 0 warnings\n", "well 1.0.0, class cpu",
                     "priority 10", "needs libc.so.6: /")
    first = parsed(cb("lint", "--json", sick("well")))["files"][0]
    yield from differs(first["exports"], ["cb_plugin_entry"], "the exports")
    yield from lacks(str([n["name"] for n in first["needed"]]), "libc.so.6")


def flags_that_are_missing_are_warnings():
    code, findings = found(sick("bare"))
    yield from differs(code, 0, "the exit code")
    yield from differs(sorted(rule for level, rule in findings if level == "warning"),
                       ["exports", "now", "symbolic"], "the rules")
    yield from lacks(findings["warning", "exports"], "helper")
    yield from has(findings["warning", "exports"], "cb_plugin_entry")


def code_that_must_be_changed_when_loaded_is_an_error():
    yield from judged(sick("text_relocation"), "error", "text_relocations")


def an_executable_stack_is_an_error():
    yield from judged(sick("stack"), "error", "stack", "executable stack")


def a_stack_that_is_not_spoken_of_counts_as_executable():
    def forget(phdr):
        if phdr[0] == 0x6474e551:  # PT_GNU_STACK
            phdr[0] = 0            # PT_NULL
    yield from judged(patched_headers(forget), "error", "stack", "PT_GNU_STACK")


def a_segment_that_is_code_and_writable_is_an_error():
    def open_up(phdr):
        if phdr[0] == 1 and phdr[1] & 1:  # PT_LOAD, PF_X
            phdr[1] |= 2                  # PF_W
    yield from judged(patched_headers(open_up), "error", "segments")


def a_run_path_may_only_lead_below_the_plugin():
    yield from judged(sick("rpath"), "error", "run_path", "/opt/elsewhere", "RUNPATH")
    yield from differs(found(sick("origin")), (0, {}), "what is said of $ORIGIN/mine")


def a_library_that_is_not_found_is_named():
    code, findings = found(mock("missing_dependency"))
    yield from differs(code, 1, "the exit code")
    yield from lacks(findings["error", "needed"], "libnot-there.so")


def a_library_beside_the_plugin_is_found_through_origin():
    pathlib.Path("mine").mkdir()
    take("origin")
    data = pathlib.Path("libcb_origin.so").read_bytes()
    pathlib.Path("libcb_origin.so").write_bytes(data.replace(b"libc.so.6\0", b"libX.so.6\0"))
    yield from judged(path := os.path.abspath("libcb_origin.so"), "error", "needed", "libX.so.6")
    pathlib.Path("mine/libX.so.6").write_bytes(data)
    yield from differs(found(path), (0, {}), "what is said once it is there")


def a_plugin_that_uses_the_loader_is_refused():
    _, findings = found(sick("uses_loader"))
    yield from lacks(str(findings), "'error', 'loader'", "libcb_loader.so")


def a_missing_entry_is_an_error():
    code, findings = found(mock("no_entry"))
    yield from differs(code, 1, "the exit code")
    yield from lacks(findings["error", "entry"], "cb_plugin_entry")


def a_manifest_that_is_missing_twice_or_of_another_abi_is_an_error():
    for name, words in ("no_note", "without a manifest"), ("two_notes", "two manifests"), \
            ("wrong_major", "ABI 2.0"), ("wrong_draft", "draft 99"):
        code, findings = found(mock(name))
        yield from differs(code, 1, f"the exit code of {name}")
        yield from lacks(findings["error", "manifest"], words)


def a_manifest_of_another_machine_is_an_error():
    machine = os.uname().machine.encode()
    path = patched(b"isa=" + machine, b"isa=" + b"z" * len(machine))
    code, findings = found(path)
    yield from differs((code, list(findings)), (1, [("error", "isa"), ("warning", "processor")]),
                       "the outcome")
    yield from lacks(findings["error", "isa"], "z" * len(machine))


def an_instruction_set_that_is_not_here_is_warned_of():
    code, findings = found(mock("needs_quantum"))
    yield from differs(code, 0, "the exit code")
    yield from lacks(findings["warning", "processor"], "it needs quantum")


def a_file_that_a_scan_would_not_find_is_warned_of():
    os.symlink(sick("well"), "libcb_other.so")
    yield from judged(os.path.abspath("libcb_other.so"), "warning", "name", "libcb_well.so")


def an_odd_class_is_warned_of():
    yield from judged(sick("odd_class"), "warning", "class", "toaster")


def what_is_no_plugin_says_so_and_nothing_more():
    pathlib.Path("text").write_text("[Desktop Entry]\n", encoding="ascii")
    pathlib.Path("empty").touch()
    os.mkfifo("fifo")
    pathlib.Path("short").write_bytes(sick("well").read_bytes()[:40])
    for name, words in ("text", "not an ELF file"), ("empty", "the file is empty"), \
            ("fifo", "not a regular file"), (".", "not a regular file"), ("short", "truncated"), \
            ("nothing", "No such file"):
        yield from judged(os.path.abspath(name), "error", "file", words)


def each_file_is_judged_and_one_error_is_enough_for_exit_code_1():
    done = cb("lint", sick("well"), sick("stack"), sick("odd_class"))
    yield from differs(done.returncode, 1, "the exit code")
    yield from lacks(done.stdout, "libcb_well.so: 0 errors", "libcb_stack.so: 1 error,",
                     "libcb_odd_class.so: 0 errors, 1 warning\n")


def any_cut_and_any_flipped_byte_is_survived():
    whole = sick("bare").read_bytes()
    head = 64 + 56 * 16
    for at in [*range(0, head, 13), *range(head, len(whole), len(whole) // 60)]:
        bent = bytearray(whole)
        bent[at] ^= 0xff
        for data in whole[:at], bent:
            pathlib.Path("libcb_bare.so").write_bytes(data)
            done = cb("lint", "libcb_bare.so")
            if done.returncode not in (0, 1) or done.stderr:
                yield f"byte {at}: exit code {done.returncode}: {done.stderr}"


def patched(old, new):
    """A good plugin with some bytes replaced."""
    data = sick("well").read_bytes()
    assert old in data
    path = pathlib.Path("libcb_well.so").resolve()
    path.write_bytes(data.replace(old, new))
    return path


def patched_headers(change):
    """A good plugin with its program headers, lists of their fields, as change leaves them."""
    data = bytearray(sick("well").read_bytes())
    form = ("<" if data[5] == 1 else ">") + "IIQQQQQQ"
    (offset,) = struct.unpack_from(form[0] + "Q", data, 32)
    (count,) = struct.unpack_from(form[0] + "H", data, 56)
    for i in range(count):
        phdr = list(struct.unpack_from(form, data, offset + 56 * i))
        change(phdr)
        struct.pack_into(form, data, offset + 56 * i, *phdr)
    path = pathlib.Path("libcb_well.so").resolve()
    path.write_bytes(data)
    return path


if not mock("needs_quantum").exists():
    an_instruction_set_that_is_not_here_is_warned_of.skip = "this is no x86_64"

main([
    plugins_of_ours_have_nothing_against_them,
    facts_and_libraries_are_listed,
    flags_that_are_missing_are_warnings,
    code_that_must_be_changed_when_loaded_is_an_error,
    an_executable_stack_is_an_error,
    a_stack_that_is_not_spoken_of_counts_as_executable,
    a_segment_that_is_code_and_writable_is_an_error,
    a_run_path_may_only_lead_below_the_plugin,
    a_library_that_is_not_found_is_named,
    a_library_beside_the_plugin_is_found_through_origin,
    a_plugin_that_uses_the_loader_is_refused,
    a_missing_entry_is_an_error,
    a_manifest_that_is_missing_twice_or_of_another_abi_is_an_error,
    a_manifest_of_another_machine_is_an_error,
    an_instruction_set_that_is_not_here_is_warned_of,
    a_file_that_a_scan_would_not_find_is_warned_of,
    an_odd_class_is_warned_of,
    what_is_no_plugin_says_so_and_nothing_more,
    each_file_is_judged_and_one_error_is_enough_for_exit_code_1,
    any_cut_and_any_flipped_byte_is_survived,
])
