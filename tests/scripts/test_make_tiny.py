"""The tiny sets in data/ are what their scripts make."""

import itertools
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
COMMITTED = ROOT / "data" / "spelling-tiny"
PROTEINS = ("bundle", "domains", "hairpin", "meander", "mixed")
MODELS = ("dense", "fair", "fine", "hinge", "mirror", "partial", "rough", "shift", "wrong")
SETS = {
    "spelling-tiny": ("make_tiny.py", ["dev.letor", "features.txt", "test.letor", "train.letor"]),
    "runs-tiny": ("make_runs.py", ["bm25.run", "dense.json", "qrels.tsv"]),
    "documents-tiny": (
        "make_documents.py",
        ["dev.letor", "features.txt", "test.letor", "train.letor"],
    ),
    "translations-tiny": ("make_translations.py", ["dev.nbest", "dev.ref", "test.nbest", "test.ref"]),
    "parses-tiny": ("make_parses.py", ["test.nbest", "train.nbest"]),
    "questions-tiny": ("make_questions.py", ["test.jsonl", "train.jsonl"]),
    "structures-tiny": (
        "make_structures.py",
        [
            *(f"models/{target}/{model}.pdb" for target in PROTEINS for model in MODELS),
            *(f"natives/{target}.pdb" for target in PROTEINS),
            "scores.csv",
        ],
    ),
}


def contents(folder: Path) -> dict[str, bytes]:
    """Return the bytes of every file by its path in the folder."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*.*")}


def trace(path: str) -> dict[int, tuple[str, tuple[float, ...]]]:
    """Return the amino acid and the position of each residue by its number."""
    lines = (ROOT / "data" / "structures-tiny" / path).read_text("ascii").splitlines()
    return {
        int(line[22:26]): (line[17:20], tuple(float(line[at : at + 8]) for at in (30, 38, 46)))
        for line in lines
        if line.startswith("ATOM")
    }


@pytest.mark.parametrize("name", SETS)
def test_the_script_makes_the_committed_bytes(tmp_path: Path, name: str) -> None:
    # A hash seed of its own: an order taken from a set would show.
    environment = {**os.environ, "PYTHONHASHSEED": "123"}
    script, files = SETS[name]
    command = [sys.executable, str(ROOT / "scripts" / script), "--out", str(tmp_path)]
    subprocess.run(command, env=environment, check=True)
    made = contents(tmp_path)
    assert sorted(made) == files
    assert made == contents(ROOT / "data" / name)


def test_the_set_is_tiny_and_not_trivial() -> None:
    assert sum(path.stat().st_size for path in COMMITTED.iterdir()) < 60_000
    for part in ("train", "dev", "test"):
        first_labels = {}
        for line in (COMMITTED / f"{part}.letor").read_text(encoding="ascii").splitlines():
            label, qid = line.split()[:2]
            first_labels.setdefault(qid, label)
        assert set(first_labels.values()) == {"0", "1"}  # the first stage is right, and is wrong


def test_the_structures_are_what_their_names_promise() -> None:
    assert sum(map(len, contents(ROOT / "data" / "structures-tiny").values())) < 150_000
    letters: set[str] = set()
    for target in PROTEINS:
        native = trace(f"natives/{target}.pdb")
        letters.update(residue for residue, _ in native.values())
        assert 30 <= len(native) <= 60
        # A gap in the numbers is a gap in the chain; all else is 3.8 Å, and nothing clashes.
        for (a, (_, x)), (b, (_, y)) in itertools.combinations(native.items(), 2):
            assert abs(math.dist(x, y) - 3.8) < 0.002 if b == a + 1 else math.dist(x, y) > 4.19
        for name in MODELS:
            model = trace(f"models/{target}/{name}.pdb")
            assert all(model[n][0] == native[n][0] for n in model if n in native)
            apart = [
                math.dist(x, y)
                for (a, (_, x)), (b, (_, y)) in itertools.combinations(model.items(), 2)
                if b > a + 1
            ]
            assert (min(apart) < 3.6) == (name == "dense")
            assert bool(native.keys() - model.keys()) == (name in ("partial", "shift"))
    assert len(letters) == 20
