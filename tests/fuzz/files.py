"""Read mutated files of every kind, in processes of their own, until the time is up.

    python tests/fuzz/files.py --minutes 5 [--seed N] [--target NAME ...]
    python tests/fuzz/files.py --inputs 20000 --seed 1
    python tests/fuzz/files.py --again FOLDER

Input i of a seed is the same for any number of workers. An input may end in lists, a model or settings, or in
a RerankError. A crash, another exception, a warning of numpy, more than --seconds of processor time or more
than --memory MB is a finding: it is saved in a folder of its own under --out.

Exit code 0: no finding, 1: findings.
"""

import argparse
import faulthandler
import json
import os
import random
import resource
import secrets
import shutil
import signal
import struct
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from mmap import mmap
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from fuzz.corpus import Seed, corpus  # noqa: E402
from fuzz.exercise import exercise, put  # noqa: E402
from fuzz.mutate import mutated  # noqa: E402
from fuzz.typed import drawn  # noqa: E402

from rerank.core.errors import RerankError  # noqa: E402

OUTCOMES = ("read", "refused", "finding")
_SLOT = struct.Struct("q")
_RECORD = struct.Struct("qb")
_STUCK = 120.0  # seconds without a new input before a worker that uses no processor is ended
_KEPT = 3  # inputs that are saved of each finding

HOW_TO_KEEP = """
To keep a finding as a fixed case of the suite: move its folder to tests/fuzz/cases/NAME and run
  pytest tests/fuzz/test_fuzz_files.py
It must fail before the fix and pass after it.
"""


def input_of(seeds: dict[str, list[Seed]], run: int, index: int) -> tuple[str, Seed, random.Random]:
    """Return the target and content of input number ``index``, and what draws how it is used."""
    draw = random.Random(f"{run} {index}")
    target = draw.choice(sorted(seeds))
    typed = drawn(draw, target, draw.choice(seeds[target])) if draw.random() < 0.25 else None
    return target, typed or mutated(draw, seeds[target]), draw


def fault_of(target: str, seed: Seed, draw: random.Random) -> str | None:
    """Return None if the input is read, "" if it is refused in one line, or else the traceback's end."""
    with tempfile.TemporaryDirectory() as folder:
        put(seed, folder)
        try:
            exercise(target, seed, folder, draw)
        except RerankError as error:
            return "" if "\n" not in str(error) else f"an error of several lines: {error!r}"
        except BaseException as error:
            frames = [
                frame for frame in traceback.extract_tb(error.__traceback__) if "/rerank/" in frame.filename
            ]
            places = " < ".join(f"{Path(f.filename).name}:{f.lineno} {f.name}" for f in reversed(frames[-3:]))
            return f"{type(error).__name__}: {str(error)[:200]} ({places})"
    return None


def work(
    seeds: dict[str, list[Seed]], options: argparse.Namespace, numbers: range, slot: mmap, pipe: int
) -> None:
    """Run the inputs of these numbers; ``slot`` has the current one, the pipe gets the outcomes."""
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    limit = used + options.memory * 1_000_000
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGPROF, signal.SIG_DFL)  # ends a kernel too, which Python's own handlers cannot
    faulthandler.disable()
    os.chdir(options.scratch)
    tempfile.tempdir = options.scratch
    for index in numbers:
        slot[: _SLOT.size] = _SLOT.pack(index)
        target, seed, draw = input_of(seeds, options.seed, index)
        signal.setitimer(signal.ITIMER_PROF, options.seconds)
        fault = fault_of(target, seed, draw)
        signal.setitimer(signal.ITIMER_PROF, 0)
        code = 0 if fault is None else 2 if fault else 1
        text = (fault or "").encode()[:400] if code == 2 else b""
        os.write(pipe, _RECORD.pack(index, code) + bytes([len(text) // 2]) + text[: len(text) // 2 * 2])


class Worker:
    """A forked process that runs every n-th input, and is started again after an input that ends it."""

    def __init__(self, seeds: dict[str, list[Seed]], options: argparse.Namespace, first: int) -> None:
        self.seeds, self.options = seeds, options
        self.slot = mmap(-1, 4096)
        self.next = first
        self.start()

    def start(self) -> None:
        """Fork at the next number."""
        self.pipe, write = os.pipe()
        self.data = b""
        self.seen = time.monotonic()
        sys.stdout.flush()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.close(self.pipe)
                stop = self.options.inputs or 1 << 62
                work(self.seeds, self.options, range(self.next, stop, self.options.jobs), self.slot, write)
                os._exit(0)
            except BaseException:
                traceback.print_exc()
                os._exit(70)
        os.close(write)
        os.set_blocking(self.pipe, False)

    def results(self) -> list[tuple[int, int, str]]:
        """Return number, outcome and fault of the inputs that ended since the last call."""
        try:
            while block := os.read(self.pipe, 1 << 16):
                self.data += block
        except BlockingIOError:
            pass
        found = []
        while len(self.data) > _RECORD.size:
            size = 2 * self.data[_RECORD.size]
            end = _RECORD.size + 1 + size
            if len(self.data) < end:
                break
            index, code = _RECORD.unpack(self.data[: _RECORD.size])
            found.append((index, code, self.data[_RECORD.size + 1 : end].decode("utf-8", "replace")))
            self.data = self.data[end:]
            self.next = index + self.options.jobs
            self.seen = time.monotonic()
        return found

    def ended(self) -> int | None:
        """Return the wait status if the process has ended, after killing it if it is stuck."""
        if time.monotonic() - self.seen > _STUCK:
            os.kill(self.pid, signal.SIGKILL)
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        return status if pid else None

    def stop(self) -> None:
        """End the process."""
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.pipe)


class Report:
    """Counts by target, and findings by what they are."""

    def __init__(self, seeds: dict[str, list[Seed]], options: argparse.Namespace) -> None:
        self.seeds, self.options = seeds, options
        self.counts: dict[str, Counter[str]] = {target: Counter() for target in sorted(seeds)}
        self.findings: Counter[tuple[str, str]] = Counter()
        self.began = time.monotonic()

    def add(self, index: int, code: int, fault: str) -> None:
        """Count an outcome; save the input of a finding."""
        target, seed, _ = input_of(self.seeds, self.options.seed, index)
        self.counts[target][OUTCOMES[code]] += 1
        if code < 2:
            return
        what = fault.partition("(")[2] or fault  # the same place is the same finding
        self.findings[target, what] += 1
        if self.findings[target, what] > _KEPT:
            return
        folder = Path(self.options.out, f"{target.replace(':', '-')}-{self.options.seed}-{index}")
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        put(seed, str(folder))
        case = {"target": target, "options": seed.options, "beside": sorted(seed.beside), "fault": fault}
        case |= {"run": self.options.seed, "index": index}
        (folder / "case.json").write_text(json.dumps(case, indent=1) + "\n", encoding="utf-8")
        print(f"finding: {target}: {fault}\n  {folder}", flush=True)

    def print(self) -> None:
        """Print a table of outcomes, and what to do with findings."""
        seconds = time.monotonic() - self.began
        total: Counter[str] = sum(self.counts.values(), Counter())
        width = max(map(len, self.counts))
        print(f"{'':{width}} {'inputs':>9}" + "".join(f"{name:>9}" for name in OUTCOMES))
        for target, counts in [*self.counts.items(), ("all", total)]:
            print(f"{target:{width}} {counts.total():9}" + "".join(f"{counts[name]:9}" for name in OUTCOMES))
        rate = total.total() / max(seconds, 1e-9)
        print(f"{total.total()} inputs in {seconds:.0f} s, {rate:.0f} per second; seed {self.options.seed}")
        for (target, what), n in sorted(self.findings.items()):
            print(f"{n:6} x {target}: {what}")
        if self.findings:
            print(HOW_TO_KEEP)


def run(seeds: dict[str, list[Seed]], options: argparse.Namespace) -> int:
    """Run inputs in workers; return how many kinds of findings there are."""
    report = Report(seeds, options)
    end = time.monotonic() + 60 * options.minutes
    workers = [Worker(seeds, options, k) for k in range(options.jobs)]
    try:
        while workers and time.monotonic() < end:
            time.sleep(0.02)
            for worker in list(workers):
                status = worker.ended()
                for result in worker.results():
                    report.add(*result)
                if status is None:
                    continue
                os.close(worker.pipe)
                if os.WIFSIGNALED(status):
                    index = _SLOT.unpack(worker.slot[: _SLOT.size])[0]
                    report.add(index, 2, f"ended by {signal.Signals(os.WTERMSIG(status)).name}")
                    worker.next = index + options.jobs
                    worker.start()
                else:
                    workers.remove(worker)
                    if os.WEXITSTATUS(status):
                        raise SystemExit("a worker could not work")
    finally:
        for worker in workers:
            worker.stop()
    report.print()
    return len(report.findings)


def read_case(folder: Path) -> tuple[str, Seed]:
    """Return the target and input of a folder that ``Report.add`` wrote."""
    case = json.loads((folder / "case.json").read_text(encoding="utf-8"))
    path = folder / "input"
    if path.is_dir():
        inner = sorted(file for file in path.rglob("*") if file.is_file())
        files = {file.relative_to(path).as_posix(): file.read_bytes() for file in inner}
    else:
        files = {"": path.read_bytes()}
    beside = {name: (folder / name).read_bytes() for name in case["beside"]}
    return case["target"], Seed(files, case["options"], beside)


def main() -> int:
    """Parse the options and run."""
    parser = argparse.ArgumentParser(description="Read mutated files of every kind.")
    parser.add_argument("--minutes", type=float, default=5.0, help="how long to run")
    parser.add_argument("--share", type=float, default=1.0, help="the part of the minutes to use")
    parser.add_argument(
        "--inputs", type=int, default=0, help="stop after so many inputs (0: when the time is up)"
    )
    parser.add_argument("--seed", type=int, help="seed of the inputs (default: a random one)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="worker processes")
    parser.add_argument("--seconds", type=float, default=10.0, help="processor time that an input may take")
    parser.add_argument("--memory", type=int, default=1000, help="MB that an input may take")
    parser.add_argument("--target", action="append", help="only targets that begin with this; repeatable")
    parser.add_argument("--out", default=".fuzz", help="folder for findings")
    parser.add_argument("--again", metavar="FOLDER", help="run a saved finding instead, in this process")
    options = parser.parse_args()
    if options.again:
        target, seed = read_case(Path(options.again))
        fault = next((found for k in range(20) if (found := fault_of(target, seed, random.Random(k)))), None)
        print(fault or "no fault")
        return 1 if fault else 0
    options.minutes *= options.share
    options.out = os.path.abspath(options.out)
    options.seed = secrets.randbits(32) if options.seed is None else options.seed
    warnings.simplefilter("ignore")
    seeds = corpus()
    if options.target:
        known = sorted(seeds)
        seeds = {name: seeds[name] for name in known if name.startswith(tuple(options.target))}
        if not seeds:
            parser.error(f"--target: no target begins with {options.target}; known: {', '.join(known)}")
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as scratch:
        options.scratch = scratch
        return 1 if run(seeds, options) else 0


if __name__ == "__main__":
    raise SystemExit(main())
