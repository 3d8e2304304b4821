#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts single tests in what `meson test` left in build directories.

A TAP program counts once for each of its lines; one that crashed, timed out or broke off counts
its failure. Ends with `N skipped` and `N passed, N failed`; exits 1 when one failed or none ran.
"""
import json
import pathlib
import re
import sys

LINE = re.compile(r'^(not )?ok\b\s*\d*\s*-?\s*(.*)$')


def count(run, say):
    """(passed, failed, skipped) of one test program."""
    passed = failed = skipped = 0
    name = run['name']
    output = run.get('stdout', '')
    for line in output.splitlines():
        match = LINE.match(line)
        if line.startswith('# skipped '):
            say(f'skipped: {name}: {line[len("# skipped "):]}')
        if not match:
            continue
        if '# SKIP' in line.upper():
            skipped += 1
        elif match.group(1):
            failed += 1
            say(f'FAILED: {name}: {match.group(2)}')
        else:
            passed += 1
    if passed + failed + skipped == 0 and run['result'] in ('OK', 'SKIP'):
        if run['result'] == 'SKIP':
            say(f'skipped: {name}: {output.strip() or "no reason given"}')
            return 0, 0, 1
        return 1, 0, 0
    if run['result'] not in ('OK', 'SKIP') and not failed:
        failed = 1
        say(f'FAILED: {name}: {run["result"].lower()}, exit status {run["returncode"]}')
    return passed, failed, skipped


def main(directories):
    total = [0, 0, 0]
    for directory in directories:
        log = pathlib.Path(directory, 'meson-logs', 'testlog.json')
        here = [0, 0, 0]
        if not log.exists():
            print(f'FAILED: {directory}: no test ran')
            here[1] = 1
        else:
            for line in log.read_text(errors='replace').splitlines():
                run = json.loads(line)
                one = count(run, lambda text: print(f'{directory}: {text}'))
                here = [a + b for a, b in zip(here, one)]
        print(f'{directory}: {here[0]} passed, {here[1]} failed, {here[2]} skipped')
        total = [a + b for a, b in zip(total, here)]
    print(f'{total[2]} skipped')
    print(f'{total[0]} passed, {total[1]} failed')
    return 1 if total[1] or not total[0] else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
