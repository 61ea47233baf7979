"""The tiny sets in data/ are what their scripts make."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
COMMITTED = ROOT / "data" / "spelling-tiny"
SETS = {
    "spelling-tiny": ("make_tiny.py", ["dev.letor", "features.txt", "test.letor", "train.letor"]),
    "runs-tiny": ("make_runs.py", ["bm25.run", "dense.json", "qrels.tsv"]),
    "questions-tiny": ("make_questions.py", ["test.jsonl", "train.jsonl"]),
}


@pytest.mark.parametrize("name", SETS)
def test_the_script_makes_the_committed_bytes(tmp_path: Path, name: str) -> None:
    # A hash seed of its own: an order taken from a set would show.
    environment = {**os.environ, "PYTHONHASHSEED": "123"}
    script, files = SETS[name]
    command = [sys.executable, str(ROOT / "scripts" / script), "--out", str(tmp_path)]
    subprocess.run(command, env=environment, check=True)
    made = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert sorted(made) == files
    assert made == {path.name: path.read_bytes() for path in (ROOT / "data" / name).iterdir()}


def test_the_set_is_tiny_and_not_trivial() -> None:
    assert sum(path.stat().st_size for path in COMMITTED.iterdir()) < 60_000
    for part in ("train", "dev", "test"):
        first_labels = {}
        for line in (COMMITTED / f"{part}.letor").read_text(encoding="ascii").splitlines():
            label, qid = line.split()[:2]
            first_labels.setdefault(qid, label)
        assert set(first_labels.values()) == {"0", "1"}  # the first stage is right, and is wrong
