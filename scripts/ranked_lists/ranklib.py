"""RankLib, run from its jar on text files, with one thread and the round chosen on the dev lists."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ranked_lists.arrays import Arrays
from rerank import RerankError
from rerank.core.types import Floats

METRIC = "NDCG@10"
_JAVA = ("java", "-XX:+UseSerialGC", "-Xmx3g")


def fit(
    jar: str, ranker: int, train: Arrays, dev: Arrays, settings: Mapping[str, Any]
) -> Callable[[Arrays], Floats]:
    """Return the scorer of a model.

    Parameters
    ----------
    jar : RankLib's jar.
    ranker : its number of the learner, 2 = RankBoost, 6 = LambdaMART.
    train, dev : training lists, and those that choose the round.
    settings : options of the learner, by name.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_letor(folder / "train", train, "t")
        write_letor(folder / "dev", dev, "d")
        options = [text for key, value in settings.items() for text in (f"-{key}", str(value))]
        files = ["-train", str(folder / "train"), "-validate", str(folder / "dev")]
        fixed = ["-ranker", str(ranker), "-metric2t", METRIC, "-save", str(folder / "model")]
        _run(jar, [*files, *fixed, *options])
        model = (folder / "model").read_text()
    return lambda part: _scores(jar, model, part)


def write_letor(path: Path, part: Arrays, prefix: str) -> None:
    """Write lists as text; RankLib confuses lists of two files with one id, so ids have a prefix."""
    lines = []
    for qid, label, row in zip(part.qid.tolist(), part.y.tolist(), part.X.tolist(), strict=True):
        features = " ".join(f"{j}:{value!r}" for j, value in enumerate(row, 1))
        lines.append(f"{label:g} qid:{prefix}{qid} {features}\n")
    path.write_text("".join(lines))


def _scores(jar: str, model: str, part: Arrays) -> Floats:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "model").write_text(model)
        write_letor(folder / "lists", part, "x")
        files = ["-load", str(folder / "model"), "-rank", str(folder / "lists")]
        _run(jar, [*files, "-score", str(folder / "scores")])
        rows = (folder / "scores").read_text().splitlines()
    return np.array([float(row.split("\t")[2]) for row in rows])


def _run(jar: str, arguments: list[str]) -> None:
    command = [*_JAVA, "-jar", jar, *arguments, "-thread", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if "Error" in line or "Exception" in line]
        raise RerankError(f"RankLib: {(lines or ['no message'])[0]}")
