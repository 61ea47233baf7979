"""Kill ``rerank run`` at random moments, resume it, and compare with an undisturbed run.

    python tests/fuzz/resumes.py [--times 20] [--seed N] [--jobs 2]

The command and its workers are ordinary processes. It is killed (SIGKILL) after a random part of the time
that an undisturbed run takes, several times over the same folder; then it runs to its end. Every file of the
folder but those of timings must have the bytes of the undisturbed run, and no other file may be there.

Exit code 0: nothing found, 1: a finding, which is printed.
"""

import argparse
import os
import random
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "NO_COLOR": "1"}
CONFIG = """\
data: {train: all.letor}
folds: 4
select: {metric: AP}
metrics: [AP, nDCG]
seeds: 2
train_fractions: [50, 100]
learners:
  random:
  ridge: {grid: {penalty: [0.1, 1, 10]}}
  perceptron: {epochs: 20}
  mert: {metric: label}
"""


def make_inputs(draw: random.Random) -> None:
    """Write run.yaml and its lists to the current folder."""
    rows = [
        f"{draw.randint(0, 2)} qid:{i} 1:{draw.random()} 2:{draw.random()} 3:{draw.random()}\n"
        for i in range(60)
        for _ in range(12)
    ]
    Path("all.letor").write_text("".join(rows))
    Path("run.yaml").write_text(CONFIG)


def started(out: str, jobs: int) -> subprocess.Popen[str]:
    """Begin a run."""
    command = [sys.executable, "-m", "rerank", "run", "run.yaml", "--out", out, "--jobs", str(jobs)]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)


def finished(out: str, jobs: int) -> str:
    """Run to the end; return what it reports."""
    process = started(out, jobs)
    said = process.communicate()[1]
    if process.returncode:
        raise SystemExit(f"exit code {process.returncode}: {said}")
    return said


def tree(out: str) -> dict[str, bytes]:
    """Every file but those of timings."""
    files = (path for path in Path(out).rglob("*") if path.is_file() and path.parent.name != "timings")
    return {str(path.relative_to(out)): path.read_bytes() for path in files}


def main() -> int:
    """Kill and resume in a temporary folder."""
    parser = argparse.ArgumentParser(description="Kill and resume rerank run.")
    parser.add_argument("--times", type=int, default=20, help="how many kills")
    parser.add_argument("--jobs", type=int, default=2, help="workers of each run")
    parser.add_argument("--seed", type=int, help="of the moments (default: a random one)")
    asked = parser.parse_args()
    seed = secrets.randbits(32) if asked.seed is None else asked.seed
    print(f"seed {seed}", flush=True)
    draw = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        make_inputs(draw)
        begun = time.monotonic()
        finished("whole", asked.jobs)
        seconds, whole, left = time.monotonic() - begun, tree("whole"), asked.times
        while left:
            shutil.rmtree("out", ignore_errors=True)
            for _ in range(min(left, draw.randint(1, 4))):
                process = started("out", asked.jobs)
                time.sleep(draw.random() * seconds)
                process.send_signal(signal.SIGKILL)
                process.communicate()
                left -= 1
            said = finished("out", asked.jobs)
            print(f"{left} kills left; {said.strip().splitlines()[-1]}", flush=True)
            found = tree("out")
            differing = sorted(name for name in {*found, *whole} if found.get(name) != whole.get(name))
            if differing:
                print(f"{len(differing)} files differ, such as {differing[0]}")
                return 1
        os.chdir(ROOT)
    print(f"nothing found in {asked.times} kills over {seconds:.1f} s each")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
