"""Kill and interrupt every verb that writes, at each call that changes files and at random moments.

    python tests/fuzz/kills.py [--minutes N] [--seed N] [--quick] [VERB ...]

Every verb runs in a child process over outputs that exist already, and over none. At its n-th call that
changes files (open for writing, mkdir, rename, exchange, fsync, unlink, ...) the child is killed (SIGKILL),
interrupted (Ctrl-C), or the call fails as on a full disk; likewise with a limit on the size of files, with
systems that cannot exchange two names, and at random moments until the minutes are over. With strace, the
system calls of ordinary processes are broken off in the same way. After each:

- every output is the old or the new one, whole; after Ctrl-C or an error all are old or all are new;
- inputs are unchanged, and nothing else is left unless the child was killed;
- the exit code is 130 after Ctrl-C, 2 with one line on standard error after an error;
- the same command then succeeds and leaves nothing but its outputs.

Exit code 0: nothing found, 1: a finding, which is printed.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import secrets
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

os.environ |= {"OPENBLAS_NUM_THREADS": "1", "NO_COLOR": "1", "PYTHONDONTWRITEBYTECODE": "1"}
ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from fuzz.children import HITS, Hit, Run, command, ended, import_everything, no_exchange, small_files, start  # noqa: E402

# Each command has two variants: what it writes for the second is there before it runs for the first.
VARIANTS = (("a", "indicators"), ("b", "counts"))
VERBS = {
    "train": "train --data {x}.letor --set epochs=2 --out m",
    "train seeds": "train --data {x}.letor -m AP --set epochs=2 --seeds 3 --out m.{{seed}} --curve c",
    "predict": "predict {x}.model a.letor --out scores",
    "predict gz": "predict {x}.model a.letor --as table --out table.gz",
    "eval": "eval {x}.letor {x}.scores -m AP --samples 2 --per-list p --html p.html",
    "convert": "convert {x}.letor --out out.letor",
    "convert store": "convert {x}.letor --out out.store",
    "append": "append {x}.letor s={x}.scores --out out.store",
    "label": "label {x}.nbest --refs {x}.ref -m sBLEU --out out.store",
    "fuse": "fuse {x}1.run {x}2.run --out fused",
    "split": "split {x}.letor --part one=.5 --part two=.5 --out parts",
    "split folds": "split {x}.letor --folds 2 --suffix .store --out folds",
    "consensus": "features consensus {x}.nbest --by ngram1 --out out.jsonl",
    "parse": "features parse t.parses --values {v} --apply c.parses --format parses --cutoff 1 --out trees",
    "qa": "features qa {x}.qa --trees box --match form --leaves form --out out.jsonl",
    "similarity": "similarity {x}.letor --out alike --figure map.svg",
    "weigh": "weigh-lists {x}.letor a.letor --basis kernel --out weights",
    "report": "report {x}.run --samples 9 --as csv --out o --per-list p",
    "import": "import {x}.tsv --out m",
    "export": "export {x}.model --to tsv --out w",
}
QUICK = {"convert store": 1, "split": 1, "train seeds": 5, "parse": 9}  # every n-th call is hit
SYSTEM_CALLS = "write,rename,renameat2,mkdir,unlink,unlinkat,rmdir,fsync,fchmod,link"
HIDDEN = re.compile(r"\.[0-9a-f]{12}\.(part|old)")

Tree = dict[str, bytes]


def make_inputs() -> None:
    """Write small inputs to the current folder: a and b are different sets of everything."""
    for x, seed in (("a", 1), ("b", 2)):
        draw = random.Random(seed)
        rows = [(i, draw.randint(0, 2), draw.random(), draw.random()) for i in range(6) for _ in range(4)]
        Path(f"{x}.letor").write_text("".join(f"{y} qid:{i} 1:{u} 2:{v}\n" for i, y, u, v in rows))
        Path(f"{x}.scores").write_text("".join(f"{u}\n" for *_, u, _ in rows))
        Path(f"{x}.nbest").write_text(
            "".join(f"{i} ||| w{y} a b c{round(v)} ||| lm= {u} ||| {u}\n" for i, y, u, v in rows)
        )
        Path(f"{x}.qa").write_text(f'{{"question": "Who?", "candidates": ["w{seed}", "c"]}}\n')
        Path(f"{x}.ref").write_text("w1 a b c1\n" * 6)
        for k in (1, 2):
            run = "".join(f"1 Q0 d{r * k} {r} {9 - r} {x}\n" for r in range(1, 5))
            Path(f"{x}{k}.run").write_text(run)
        Path(f"{x}.tsv").write_text(f"1\t{draw.random()}\n2\t1\n")
        command(f"import {x}.tsv --out {x}.model")
        parts = f"train: {x}.letor, test: {'ab'.replace(x, '')}.letor"
        Path(f"{x}.yaml").write_text(f"data: {{{parts}}}\nmetrics: AP\nlearners: {{best-feature: }}\n")
    for x, _ in VARIANTS:
        command(f"run {x}.yaml --out {x}.run")
    tree = "(S1 (S (NP (PRP {})) (VP (VBD ran))))"
    for x, word in (("t", "it"), ("c", "he")):
        whole = tree.format(word)
        Path(f"{x}.parses").write_text(f"{whole}\n-1\t{whole}\n-2\t{whole.replace('VP', 'NP')}\n")


class Check:
    """One verb in a folder of its own: what is there before, and what it may leave."""

    def __init__(self, verb: str, inputs: Tree) -> None:
        self.verb = verb
        self.inputs = inputs
        self.text, self.other = (VERBS[verb].format(x=x, v=v) for x, v in VARIANTS)
        self.tried = 0
        self.trees: dict[str, Tree] = {"nothing": {}}
        for name, text in (("old", self.other), ("new", self.text)):
            self.put({})
            run = command(text)
            if run.code or run.err.count("Traceback"):
                raise SystemExit(f"{text}: {run.err}")
            self.trees[name] = self.tree()
        if self.trees["old"] == self.trees["new"] or not self.trees["new"]:
            raise SystemExit(f"{verb}: its outputs do not differ")

    def put(self, outputs: Tree) -> None:
        """Let the folder hold the inputs and these outputs."""
        for path in Path().iterdir():
            if path.is_dir():
                if not any(name.startswith(f"{path.name}/") for name in self.inputs):
                    shutil.rmtree(path)
            elif path.name not in self.inputs:
                path.unlink()
        for name, data in outputs.items():
            os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
            Path(name).write_bytes(data)

    def tree(self) -> Tree:
        """Every output in the folder; of the seconds that a run took only how many there are."""
        found = tree()
        if {name: found.pop(name, b"") for name in self.inputs} != self.inputs:
            raise Finding("an input has changed")
        for name in found:
            if os.path.basename(name).startswith("timing."):
                found[name] = b"\n" * found[name].count(b"\n")
        return found

    def judge(self, before: str, run: Run, hit: str) -> None:
        """Raise Finding if the folder is not what it may be after a run that was hit."""
        left, old, new = self.tree(), self.trees[before], self.trees["new"]
        parts = [name for name in left if HIDDEN.search(name)]
        if hit != "kill" and parts:
            raise Finding(f"left {parts[0]}")
        for unit in {unit_of(name) for name in (*left, *old, *new) if not HIDDEN.search(name)}:
            now, was, will = (one_unit(files, unit) for files in (left, old, new))
            # Between the two renames of a system without exchange only the hidden old store is there.
            if now not in (was, will) and not (not now and any(unit_of(p) == unit for p in parts)):
                raise Finding(f"{unit} is neither old nor new")
        if hit == "kill":
            return
        expected = {"Ctrl-C": 130}.get(hit, 2)
        if run.code not in (0, expected) or (run.code == 0 and left != new):
            raise Finding(f"exit code {run.code}")
        if left not in (old, new) or (run.code == 2 and left != old):
            raise Finding("some outputs are old and some are new")
        lines = run.err.splitlines()
        if any(not line.startswith("rerank: ") for line in lines) or (run.code == 130 and "error" in run.err):
            raise Finding("more than messages on standard error")

    def again(self) -> None:
        """Raise Finding unless the command now succeeds and leaves its outputs alone."""
        run = command(self.text)
        if run.code:
            raise Finding(f"exit code {run.code} of the next run: {run.err}")
        if self.tree() != self.trees["new"]:
            extra = sorted(set(self.tree()) ^ set(self.trees["new"]))
            raise Finding(f"the next run left {extra or 'other bytes'}")

    def one(self, before: str, hit: str, at: int, setup: Hit | None = None) -> bool:
        """Try one hit; return whether the run came so far."""
        self.put(self.trees[before])
        run = command(self.text, at, HITS.get(hit), setup)
        self.tried += 1
        self.finish(before, run, hit, f"{hit} at call {at}")
        return run.calls >= at

    def finish(self, before: str, run: Run, hit: str, what: str) -> None:
        """Judge a run, and the one after it."""
        try:
            self.judge(before, run, hit)
            self.again()
        except Finding as finding:
            finding.args = (f"{self.text}\n  over {before} outputs, {what}: {finding}\n{run.err}",)
            raise

    def calls(self, before: str, hits: Iterable[str], setup: Hit | None = None, step: int = 1) -> None:
        """Hit each call in turn, or every ``step``-th."""
        for hit in hits:
            at = 1
            while self.one(before, hit, at, setup):
                at += step

    def limits(self) -> None:
        """Let files grow to some sizes only."""
        largest = max(map(len, self.trees["new"].values()))
        for size in sorted({0, 1, 100, largest // 2, largest - 1}):
            self.one("old", f"files of {size} bytes", 0, small_files(size))

    def random_moment(self, draw: random.Random) -> None:
        """Kill or interrupt a run at a random moment."""
        before, hit = draw.choice(("old", "nothing")), draw.choice(("kill", "Ctrl-C"))
        self.put(self.trees[before])
        started = start(self.text, 0, None, no_exchange if draw.random() < 0.3 else None)
        time.sleep(draw.random() * 0.15)
        os.kill(started.pid, signal.SIGKILL if hit == "kill" else signal.SIGINT)
        run = ended(started)
        self.tried += 1
        if (hit, run.code) == ("Ctrl-C", -signal.SIGINT):  # before the child had its handler
            run = run._replace(code=130)
        self.finish(before, run, hit, f"{hit} at a random moment")

    def system_calls(self) -> Iterator[None]:
        """Kill an ordinary process at each of its system calls that change files."""
        for name in SYSTEM_CALLS.split(","):
            at = 1
            while True:
                self.put(self.trees["old"])
                inject = f"inject={name}:signal=KILL:when={at}"
                strace = ["strace", "-f", "-qq", "-o", os.devnull, "-e", f"trace={name}", "-e", inject]
                run = subprocess.run(
                    [*strace, sys.executable, "-m", "rerank", *shlex.split(self.text)],
                    capture_output=True,
                    text=True,
                    check=False,
                    env={**os.environ, "PYTHONPATH": str(ROOT)},
                )
                if run.returncode == 0:
                    break
                self.tried += 1
                self.finish("old", Run(run.returncode, run.stderr, at), "kill", f"kill at {name} {at}")
                at += 1
                yield


class Finding(Exception):  # noqa: N818
    """Something that should not be."""


def unit_of(name: str) -> str:
    """The output that a file belongs to: its store, or itself; hidden names belong to their target."""
    parts = [re.sub(rf"^\.(.*){HIDDEN.pattern}$", r"\1", part) for part in name.split("/")]
    for k, part in enumerate(parts):
        if part.endswith(".store"):
            return "/".join(parts[: k + 1])
    return "/".join(parts)


def one_unit(files: Tree, unit: str) -> Tree:
    return {name: data for name, data in files.items() if unit_of(name) == unit and not HIDDEN.search(name)}


def tree() -> Tree:
    """Every file in the current folder."""
    return {str(path): path.read_bytes() for path in Path().rglob("*") if path.is_file()}


def explore(checks: list[Check], end: float, draw: random.Random) -> None:
    """Try everything on every verb, then random moments until the time is up."""
    for check in checks:
        check.calls("old", HITS)
        check.calls("nothing", HITS)
        check.calls("old", HITS, no_exchange)
        check.limits()
        print(f"{check.verb}: {check.tried} runs broken off", flush=True)
    traced = [check.system_calls() for check in checks] if shutil.which("strace") else []
    while time.monotonic() < end:
        draw.choice(checks).random_moment(draw)
        if traced and draw.random() < 0.05:
            chosen = draw.randrange(len(traced))
            if next(traced[chosen], StopIteration) is StopIteration:
                del traced[chosen]


def main() -> int:
    """Run the checks in a temporary folder."""
    parser = argparse.ArgumentParser(description="Kill and interrupt every verb that writes.")
    parser.add_argument("--minutes", type=float, default=5.0, help="how long to go on at random moments")
    parser.add_argument("--seed", type=int, help="seed of the random moments (default: a random one)")
    parser.add_argument("--quick", action="store_true", help="a short fixed run for continuous integration")
    parser.add_argument("verbs", nargs="*", help=f"among {', '.join(VERBS)} (all)")
    options = parser.parse_args()
    seed = secrets.randbits(32) if options.seed is None else options.seed
    end = time.monotonic() + 60 * options.minutes
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        import_everything()
        make_inputs()
        inputs = tree()
        checks = [Check(verb, inputs) for verb in (QUICK if options.quick else options.verbs or VERBS)]
        try:
            if options.quick:
                for check in checks:
                    check.calls("old", ("kill", "Ctrl-C"), step=QUICK[check.verb])
            else:
                print(f"seed {seed}")
                explore(checks, end, random.Random(seed))
        except Finding as finding:
            print(finding)
            return 1
        finally:
            os.chdir(ROOT)
    print(f"nothing found in {sum(check.tried for check in checks)} runs broken off")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
