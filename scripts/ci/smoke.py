"""Run the main verbs of an installed rerank on small lists of its own making, in one process.

It needs nothing but an installed ``rerank``: it is the test of a wheel, of an image and of each set of
versions that ``lowest_bounds.py`` tries. It prints one digest of all that the verbs printed; the same digest
from two environments means the same numbers.

    python scripts/ci/smoke.py            # with what is installed
    python scripts/ci/smoke.py --core     # as if only the core dependencies were, and with no network
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import io
import os
import re
import socket
import sys
import tempfile
from importlib import metadata
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import Any, Never

# The packages that the core dependencies bring; every other third-party package is absent.
CORE = {
    *(
        "rerank",
        "numpy",
        "scipy",
        "yaml",
        "_yaml",
        "msgspec",
        "typer",
        "rich",
        "shellingham",
        "annotated_doc",
    ),
    *(
        "markdown_it",
        "mdurl",
        "pygments",
        "pydantic",
        "pydantic_core",
        "annotated_types",
        "typing_extensions",
    ),
    *("typing_inspection", "click", "colorama"),
}
CONFIG = """\
data: {train: train.letor, dev: dev.letor, test: test.letor}
metrics: [AP, nDCG@5]
select: {metric: AP}
seed: 1
learners:
  perceptron: {}
  boosting: {rounds: 20}
"""
# (exit code, command); a command is split at blanks, so that no name here may contain one.
COMMANDS = [
    (0, "--version"),
    (0, "train --help"),
    (0, "help formats"),
    (0, "list learners"),
    (0, "list metrics AP"),
    (2, "train --data train.letor --out none -l percepton"),
    (2, "eval test.letor absent.txt"),
    (0, "validate train.letor"),
    (0, "pairs train.letor"),
    *[
        (0, f"train --data train.letor --dev dev.letor -m AP -l {learner} --out {learner}.model")
        for learner in ("perceptron", "boosting", "ranksvm", "rankboost", "listnet")
    ],
    (0, "train --data train.letor -m label@1 -l mert --out mert.model"),
    (0, "train --data train.letor -l propagate --out propagate.model"),
    (0, "predict perceptron.model test.letor --out a.txt"),
    (0, "predict rankboost.model test.letor --out b.txt"),
    (0, "predict propagate.model test.letor --out c.txt"),
    (0, "predict ranksvm.model test.letor --out d.txt"),
    (0, "show boosting.model"),
    (0, "eval test.letor a.txt b.txt c.txt d.txt -m AP -m RR -m nDCG@5 --as json"),
    (0, "eval test.letor a.txt b.txt -m AP --as latex"),
    (0, "compare test.letor a.txt b.txt d.txt -m AP --as csv"),
    (0, "run config.yaml --out experiment"),
    (0, "report experiment"),
    (0, "convert train.letor --out train.store"),
    (0, "convert train.store --out back.jsonl"),
    (0, "split train.letor --folds 3 --out parts"),
    (0, "append test.letor score=a.txt --out more.letor"),
    (0, "fuse a.run b.run --method rrf --out fused.run"),
    (0, "ensemble perceptron.model ranksvm.model --data dev.letor --out both.model"),
    (0, "rate battles.csv"),
    (0, "similarity train.letor --components 2 --out alike"),
    (0, "weigh-lists train.letor test.letor --out weights.txt"),
    (0, "selective test.letor test.letor:2 --baseline test.letor:1 -m AP"),
    (0, "calibrate perceptron.model dev.letor --out calibrated.model"),
    (0, "budget test.letor b.txt --baseline a.txt -m AP"),
    (0, "importance weights ranksvm.model test.letor"),
    (0, "importance permute ranksvm.model test.letor -m AP"),
    (0, "export rankboost.model --to c --out model.h"),
    (0, "export ranksvm.model --to tsv --out weights.tsv"),
]


def letor(seed: int, lists: int) -> str:
    """Lists of seven candidates with four features, of which three tell something about the label."""
    state, lines = seed, []
    for i in range(lists):
        for _ in range(7):
            numbers = []
            for _ in range(5):
                state = (state * 1103515245 + 12345) % 2**31
                numbers.append(state / 2**31)
            label = int(numbers[0] + numbers[1] + 0.3 * numbers[4] > 1.2) + int(numbers[0] > 0.8)
            features = " ".join(f"{j}:{value:.4f}" for j, value in enumerate(numbers[:4], 1))
            lines.append(f"{label} qid:{i + 1} {features}\n")
    return "".join(lines)


def write_inputs(folder: Path) -> None:
    """Write what the commands read."""
    for seed, (name, lists) in enumerate({"train": 24, "dev": 12, "test": 16}.items(), 1):
        (folder / f"{name}.letor").write_text(letor(seed, lists))
    (folder / "config.yaml").write_text(CONFIG)
    for name, step in (("a", 3), ("b", 5)):
        rows = [
            f"q{query} Q0 d{(step * rank) % 7} {rank} {8 - rank} {name}\n"
            for query in range(9)
            for rank in range(1, 7)
        ]
        (folder / f"{name}.run").write_text("".join(rows))
    battles = ["first,second,winner"]
    battles += [f"{a},{b},{a if (i * 7) % 10 < 6 else b}" for i in range(30) for a, b in ("xy", "yz", "xz")]
    (folder / "battles.csv").write_text("\n".join(battles) + "\n")


class CoreOnly(PathFinder):
    """The importer of files, which finds no third-party package but those of the core."""

    absent = frozenset(metadata.packages_distributions()) - CORE

    @classmethod
    def find_spec(cls, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Find a module, but not in a package of an extra."""
        return None if fullname.partition(".")[0] in cls.absent else super().find_spec(fullname, path, target)


def no_network(event: str, arguments: tuple[Any, ...]) -> None:
    """Refuse what leads to a network: names, and sockets of the internet; an audit hook."""
    families = (socket.AF_INET, socket.AF_INET6)
    if event in ("socket.getaddrinfo", "socket.gethostbyname") or (
        event == "socket.__new__" and arguments[1] in families
    ):
        raise AssertionError(f"the network was asked for: {event}")


def run(arguments: list[str]) -> tuple[int, str, str]:
    """Return exit code, standard output and error of one command."""
    from rerank.cli import main

    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", newline="") for _ in range(2))
    sys.argv = ["rerank", *arguments]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main()
    except SystemExit as end:
        found = []
        for stream in (out, err):
            stream.flush()
            found.append(stream.buffer.getvalue().decode())
        return int(end.code or 0), found[0], found[1]


def fail(message: str) -> Never:
    sys.exit(f"smoke: {message}")


def main() -> None:
    """Run all commands in a temporary folder."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--core", action="store_true", help="hide packages of extras, refuse the network")
    parser.add_argument("--verbose", action="store_true", help="print what each command prints")
    given = parser.parse_args()
    os.environ |= {"NO_COLOR": "1", "COLUMNS": "100"}
    if given.core:
        sys.meta_path[:] = [CoreOnly if finder is PathFinder else finder for finder in sys.meta_path]
        sys.addaudithook(no_network)
    digest = hashlib.sha256()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        write_inputs(Path(folder))
        for expected, command in COMMANDS:
            code, out, err = run(command.split())
            if given.verbose:
                print(f"$ rerank {command}\n{out}{err}")
            if code != expected:
                fail(f"rerank {command}: exit code {code}, expected {expected}\n{out}{err}")
            if expected and len(err.splitlines()) != 1:
                fail(f"rerank {command}: expected one line, found:\n{err}")
            if expected == 0 and command != "--version":
                # Releases of scipy differ in the last bits.
                rounded = re.sub(r"\d+\.\d+(e-?\d+)?", lambda found: f"{float(found[0]):.6g}", out)
                digest.update(rounded.encode())
        os.chdir("/")
    print(f"smoke: {len(COMMANDS)} commands, output {digest.hexdigest()[:16]}")


if __name__ == "__main__":
    main()
