"""Memory and CPU time of N-best lists by their number: convert, train mert, predict, eval.

Lists of 16 hypotheses with 14 features and about 25 words are drawn from a seed and written as Moses' N-best
lists into a pipe, so that no file of text is needed: ``rerank label - --refs REFS --metric sBLEU`` makes a
store, with the statistics of BLEU. The other commands read the store. Each command is a process of its own.

Peak resident size is ru_maxrss, which includes the pages of the store that are mapped; the base is that of
``rerank --version``. CPU time is user and system time of the whole process.

    python scripts/bench/nbest_memory.py                             # 240,000 and 2,400,000 hypotheses
    python scripts/bench/nbest_memory.py --sizes 24000000 --dtype float32 --folder /big/disk
    python scripts/bench/nbest_memory.py --learners mert mira pro perceptron loglinear
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
from common import arguments, draw_words

from rerank.core.system import PEAK_UNIT
from rerank.data.columns.offsets import offsets_of
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense
from rerank.formats.base import save

N_BEST = 16
N_FEATURES = 14
N_WORDS = 25
PART = 15_000  # lists that are drawn at a time
RERANK = [sys.executable, "-m", "rerank"]


def texts_of(numbers: np.ndarray) -> StringColumn:
    """Rows of numbers of words as texts."""
    spelled = vocabulary().take(np.ascontiguousarray(numbers.ravel()))
    return StringColumn(spelled.data, spelled.offsets[:: numbers.shape[1]].copy())


@cache
def vocabulary() -> StringColumn:
    """Words, each followed by a blank."""
    return StringColumn.from_strings(f"{word} " for word in draw_words(np.random.default_rng(7)))


def references_of(part: int, n_lists: int) -> np.ndarray:
    """The references of a part of the lists as numbers of words."""
    return np.random.default_rng((7, part)).integers(0, len(vocabulary()), (n_lists, N_WORDS))


def draw(part: int, n_lists: int) -> CandidateLists:
    """A part of the lists; the features know how much of a text is wrong."""
    rng = np.random.default_rng((8, part))
    words, references = vocabulary(), references_of(part, n_lists)
    n = n_lists * N_BEST
    wrong = rng.uniform(0.1, 0.7, n)
    own = rng.integers(0, len(words), (n, N_WORDS))
    own = np.where(rng.random((n, N_WORDS)) < wrong[:, None], own, np.repeat(references, N_BEST, axis=0))
    noise = rng.normal(size=(n, N_FEATURES))
    X = np.round(noise - wrong[:, None] * np.linspace(2, 0, N_FEATURES), 4)
    first = part * PART
    return CandidateLists(
        offsets_of(np.full(n_lists, N_BEST)),
        Dense(X),
        base_scores=np.round(X[:, 0], 4),
        list_ids=StringColumn.from_strings(str(first + i) for i in range(n_lists)),
        feature_names=[f"Feature{j}" for j in range(N_FEATURES)],
        texts=texts_of(own),
    )


def write_lists(n_lists: int) -> None:
    """Write Moses' N-best lists to standard output."""
    for part, start in enumerate(range(0, n_lists, PART)):
        save(draw(part, min(PART, n_lists - start)), "-", "moses")


def write_references(n_lists: int) -> None:
    """Write their references to standard output."""
    for part, start in enumerate(range(0, n_lists, PART)):
        references = texts_of(references_of(part, min(PART, n_lists - start)))
        sys.stdout.buffer.writelines(references.bytes_at(i).rstrip() + b"\n" for i in range(len(references)))


def measured(command: Sequence[str], stdin: int | None = None) -> tuple[float, int]:
    """CPU seconds and peak resident bytes of a command; what it prints goes to standard error."""
    process = subprocess.Popen(command, stdin=stdin, stdout=sys.stderr)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)}: exit code {process.returncode}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * PEAK_UNIT


def run(n_lists: int, folder: Path, learners: Sequence[str], dtype: str, base: int) -> None:
    """Measure all commands on one set."""
    references, store, n = folder / "refs", folder / "lists.store", n_lists * N_BEST

    def row(name: str, seconds: float, peak: int) -> None:
        print(
            f"{n:>11,}  {name:24} {seconds:10,.1f} {peak / 1e9:8.2f} {(peak - base) / n:10,.0f}", flush=True
        )

    # A child counts the peak of the process that starts it as its own, so this one draws nothing itself.
    make = [sys.executable, __file__, "--make", str(n_lists), "--what"]
    with open(references, "wb") as file:
        subprocess.run([*make, "references"], stdout=file, check=True)
    made = subprocess.Popen([*make, "lists"], stdout=subprocess.PIPE)
    assert made.stdout is not None
    label = [*RERANK, "label", "-", "-f", "moses", "-R", str(references), "-m", "sBLEU", "-o", str(store)]
    label += ["--layout", "dense", "--dtype", dtype]
    row("label (Moses to store)", *measured(label, made.stdout.fileno()))
    made.stdout.close()
    if made.wait():
        raise SystemExit("the lists could not be made")
    some = {"mert": ["--set", "restarts=1", "--set", "perturbations=0"], "pro": ["--set", "iterations=3"]}
    for name in learners:
        model, scores = folder / f"{name}.model", folder / f"{name}.scores"
        train = [*RERANK, "train", "-d", str(store), "-l", name, "-m", "BLEU", "-o", str(model)]
        row(f"train {name}", *measured([*train, *some.get(name, [])]))
    row("predict", *measured([*RERANK, "predict", str(model), str(store), "-o", str(scores)]))
    row("eval", *measured([*RERANK, "eval", str(store), str(scores), "-m", "BLEU"]))


def main() -> None:
    parser = arguments(__doc__, "16,000 hypotheses, to see that it works")
    parser.add_argument("--sizes", type=int, nargs="+", default=[240_000, 2_400_000], metavar="N")
    parser.add_argument("--learners", nargs="+", default=["mert"], metavar="NAME")
    parser.add_argument("--dtype", choices=["float64", "float32"], default="float64", help="of the features")
    parser.add_argument("--folder", type=Path, help="where files go, such as 7 GB of 24,000,000 hypotheses")
    parser.add_argument("--make", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--what", choices=["lists", "references"], default="lists", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.make is not None:
        (write_lists if chosen.what == "lists" else write_references)(chosen.make)
        return
    _, base = measured([*RERANK, "--version"])
    print(" hypotheses  command                   CPU s     peak GB  bytes a hypothesis")
    for n in [16_000] if chosen.quick else chosen.sizes:
        with tempfile.TemporaryDirectory(dir=chosen.folder) as folder:
            run(n // N_BEST, Path(folder), chosen.learners, chosen.dtype, base)


if __name__ == "__main__":
    main()
