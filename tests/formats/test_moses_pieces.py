"""Moses N-best files in pieces of a few lines: the same lists, notes and errors as in one piece."""

import random
import warnings

import numpy as np
import pytest
from make import same

from rerank.core.errors import RerankError
from rerank.core.files import read as files
from rerank.formats import buffers, builders
from rerank.formats.base import ReadOptions
from rerank.formats.builders import Rows
from rerank.formats.moses.read import read_lists

OPTIONS = [
    ReadOptions(),
    ReadOptions(layout="sparse"),
    ReadOptions(missing="nan"),
    ReadOptions(strict=True),
    ReadOptions(dtype="float32"),
    ReadOptions(layout="dense", dtype="float32"),
]
KINDS = ["plain", "fewer", "new names", "word scores", "no names", "one column twice", "sparse", "apart"]


def written(kind, seed, path):
    """A file of one kind, with a fault in some of them."""
    draw = random.Random(seed)
    names = [f"F{i}" for i in range(draw.randint(1, 4))]
    lines = []
    for i in range(draw.randint(1, 8)):
        for _ in range(draw.randint(1, 6)):
            chosen = list(names)
            if kind in ("fewer", "new names"):
                chosen = draw.sample(chosen, draw.randint(0, len(chosen)))
            if kind == "new names" and draw.random() < 0.3:
                chosen.append(f"G{draw.randint(0, 60)}")
            if kind == "word scores" and draw.random() < 0.2:
                chosen.append("WordScores")
            if kind == "one column twice" and draw.random() < 0.1:
                chosen.append("F1_0")
            if kind == "sparse":
                chosen = draw.sample([f"s{k}" for k in range(60)], draw.randint(0, 4))
            parts = []
            for name in chosen:
                values = [draw.choice(["1", "-2.5", "1e-3", "0"]) for _ in range(1 + (name == "F1"))]
                if draw.random() < 0.004:
                    values[0] = draw.choice(["1e999", "1e39", "nan", "x", "1_0"])
                parts.append(f"{name}= " * (kind != "no names") + " ".join(values))
            if kind == "no names" and draw.random() < 0.05:
                parts = draw.choice([[], ["A= 1"], parts[:-1]])
            which = draw.randint(0, 8) if kind == "apart" and draw.random() < 0.1 else i
            text = " ".join(draw.choice(["a", "bé", "||", "c"]) for _ in range(draw.randint(0, 5)))
            line = f"{which} ||| {text} ||| {' '.join(parts)} ||| {draw.choice(['-1.5', '2'])}"
            lines.append(draw.choice(["", line + " ||| x"]) if draw.random() < 0.003 else line)
    text = draw.choice(["\n", "\r\n"]).join(lines) + draw.choice(["", "\n"])
    path.write_bytes(draw.choice([b"", b"\xef\xbb\xbf"]) + text.encode())
    return str(path)


def outcome(paths, options):
    """The lists, or the error, and the notes."""
    with warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always")
        try:
            found = read_lists(paths, options)
        except RerankError as error:
            found = type(error), str(error)
    return found, [str(note.message) for note in notes]


@pytest.mark.parametrize("kind", KINDS)
def test_pieces_change_nothing(kind, tmp_path, monkeypatch):
    kept = 0
    for seed in range(8):
        path = written(kind, f"{kind} {seed}", tmp_path / "lists.moses")
        for options in OPTIONS:
            paths = [path, path] if seed % 4 == 3 else [path]
            with monkeypatch.context() as large:
                large.setattr(buffers, "_PIECE", 1 << 20)
                expected, notes = outcome(paths, options)
            with monkeypatch.context() as small:
                small.setattr(buffers, "_PIECE", (40, 300)[seed % 2])
                small.setattr(files, "BLOCK", 30)
                small.setattr(builders, "_FIRST", 16)
                found, noted = outcome(paths, options)
            assert noted == notes
            if isinstance(expected, tuple):
                assert found == expected
                continue
            kept += 1
            assert same(found, expected)
            assert type(found.features) is type(expected.features)
            for ours, theirs in zip(
                found.features.arrays().values(), expected.features.arrays().values(), strict=True
            ):
                assert ours.dtype == theirs.dtype
                assert np.array_equal(ours, theirs, equal_nan=ours.dtype.kind == "f")
    assert kept


def test_rows_that_are_in_use_when_the_array_grows_are_copied():
    rows = Rows("rows", np.float64, 3)
    held = []
    for k, n in enumerate((1, 5000, 0, 70_000, 2)):
        held.append(rows.more(n))
        held[-1][:] = k
    values = rows.array()
    assert values.shape == (75_003, 3)
    assert np.array_equal(values[:, 0], np.repeat([0.0, 1.0, 3.0, 4.0], (1, 5000, 70_000, 2)))


def test_a_line_longer_than_a_piece(tmp_path, monkeypatch):
    monkeypatch.setattr(buffers, "_PIECE", 8)
    monkeypatch.setattr(files, "BLOCK", 4)
    text = "word " * 1000
    (tmp_path / "long.moses").write_text(f"0 ||| {text}||| A= 1 ||| 2\n0 ||| b ||| A= 2 ||| 3")
    lists = read_lists([str(tmp_path / "long.moses")], ReadOptions())
    assert list(lists.texts) == [text.rstrip(), "b"]
    assert lists.features.values.tolist() == [[1.0], [2.0]]
