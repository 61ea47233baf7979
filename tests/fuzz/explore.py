"""Run the property tests in rounds with new random cases until the time is up or one fails.

    python tests/fuzz/explore.py --minutes 5 [TEST ...]

Each round runs the tests that draw their cases: those of hypothesis and those with
``parametrize("seed", range(n))``. A failing case is printed with the way to keep it as a fixed test.
Exit code 0: the time is up, 1: a test failed, 2: the tests could not be run.
"""

import argparse
import importlib.util
import os
import re
import secrets
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

HOW_TO_KEEP = """
To keep a finding as a fixed case of the suite, edit the test's file (paths below):
  a hypothesis test      add above @given(...):  @example(NAME=VALUE, ...) with the values printed after
                         "Failing test case" (leave out fixtures), and import example from hypothesis
  a test with data()     give its check a function of plain values, and call that from a test of its own
  a test[SEED]           add the seed in the brackets:  parametrize("seed", [*range(n), SEED])
Then run the file with pytest: it must fail before the fix and pass after it.
"""


def round_command(tests: list[str], seed: int) -> list[str]:
    """Return the command of one round."""
    parallel = ["-n", "auto"] if importlib.util.find_spec("xdist") else []
    drawn = ["-m", "hypothesis or fuzz", "--hypothesis-profile=fuzz", f"--hypothesis-seed={seed}"]
    return [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "--tb=short",
        "-p",
        "no:cacheprovider",
        *parallel,
        *drawn,
        *tests,
    ]


def run_round(command: list[str], seconds: float) -> tuple[int, str] | None:
    """Return pytest's exit code and output, or None if the time ended first."""
    process = subprocess.Popen(
        command, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
    )
    try:
        out, _ = process.communicate(timeout=seconds)
    except (subprocess.TimeoutExpired, KeyboardInterrupt) as end:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if isinstance(end, KeyboardInterrupt):
            raise
        return None
    return process.returncode, out


def report(out: str, command: list[str]) -> None:
    """Print the failures, what to do with them, and the tests' names."""
    failures = out[out.find("= FAILURES") :].partition("\n")[2] if "= FAILURES" in out else out
    print(failures.partition("= short test summary")[0].rstrip("=").rstrip())
    print(HOW_TO_KEEP)
    for test in dict.fromkeys(re.findall(r"^FAILED (\S+)", out, re.MULTILINE)):
        print(f"failed: {test}")
    print(f"again: {shlex.join(command)}")


def main() -> int:
    parser = argparse.ArgumentParser(description="Explore the property tests with new random cases.")
    parser.add_argument("--minutes", type=float, default=5.0, help="how long to explore")
    parser.add_argument("--share", type=float, default=1.0, help="the part of the minutes to use")
    parser.add_argument("--seed", type=int, help="seed of the first round (default: a random one)")
    parser.add_argument("tests", nargs="*", default=["tests"], help="files or names of tests (all)")
    options = parser.parse_args()
    options.minutes *= options.share
    end = time.monotonic() + 60 * options.minutes
    seed = secrets.randbits(32) if options.seed is None else options.seed
    rounds = 0
    while (left := end - time.monotonic()) > 0:
        command = round_command(options.tests, seed)
        found = run_round(command, left)
        if found is None:
            break
        code, out = found
        if code == 1:
            report(out, command)
            return 1
        if code:
            print(out)
            return 2
        rounds += 1
        print(f"round {rounds}, seed {seed}: {out.rstrip().rpartition(chr(10))[2]}", flush=True)
        seed = secrets.randbits(32)
    print(f"no finding in {options.minutes:g} minutes ({rounds} whole rounds)")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
