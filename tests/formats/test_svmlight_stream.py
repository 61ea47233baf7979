"""Reading SVMlight files in pieces gives what the reader of whole texts gives: values, notes and errors."""

from __future__ import annotations

import gzip
import random
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from formats.test_svmlight_read import PIECES, large_file, random_file
from fuzz.mutated import mutated_files
from hypothesis import given, settings
from hypothesis import strategies as st

from rerank.core.errors import RerankError
from rerank.data.lists import CandidateLists
from rerank.data.reading import ReadOptions
from rerank.data.store import arrays_of
from rerank.formats import load
from rerank.formats import svmlight as format
from rerank.formats.streaming import pieces as stream


def outcome(path: Path, large: int, piece: int, **options: Any) -> tuple[object, ...]:
    """All that reading gives: arrays by name with their types, or the error; and the notes."""
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always")
        patch.setattr(format, "LARGE", large)
        patch.setattr(stream, "PIECE", piece)
        try:
            lists = load(path, format="svmlight", **options)
        except RerankError as error:
            return str(error), [str(one.message) for one in notes]
    return contents(lists), [str(one.message) for one in notes]


def contents(lists: CandidateLists) -> object:
    arrays = {name: (a.dtype.str, a.shape, a.tobytes()) for name, a in arrays_of(lists)}
    return arrays, lists.has_missing, lists.features.layout, lists.names(), lists.source


def is_read(path: Path, piece: int = 300, threads: int = 1, **options: Any) -> bool:
    """Whether the file is read in pieces, not handed over."""
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        patch.setattr(stream, "PIECE", piece)
        return stream.read_pieces(str(path), ReadOptions(threads=threads, **options), None) is not None


def check(path: Path, piece: int, **options: Any) -> None:
    whole = outcome(path, 1 << 40, piece, threads=1, **options)
    for threads in (1, 3):
        assert outcome(path, 0, piece, threads=threads, **options) == whole


@pytest.mark.parametrize("seed", range(60))
def test_files_of_every_form(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    path = tmp_path / "any.txt"
    path.write_bytes(random_file(rng))
    layout, missing = rng.choice(["auto", "dense"]), rng.choice([None, "nan", "zero"])
    check(path, rng.choice([100, 400, 3000]), layout=layout, missing=missing)


@given(content=mutated_files(random_file, PIECES), piece=st.sampled_from([60, 500, 2000]))
@settings(max_examples=50, deadline=None)
def test_mutated_files(tmp_path_factory: pytest.TempPathFactory, content: bytes, piece: int) -> None:
    path = tmp_path_factory.getbasetemp() / "mutated.txt"
    path.write_bytes(content)
    check(path, piece, layout="auto" if b"999999" in content else "dense")


def plain_lines(n_lines: int, in_list: int = 7) -> list[bytes]:
    lines = large_file(random.Random(n_lines), n_lines, 0.95)
    return [line.replace(line.split()[1], b"qid:%d" % (i // in_list)) for i, line in enumerate(lines)]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("packed", [False, True])
def test_plain_files_are_read_in_pieces(tmp_path: Path, dtype: str, packed: bool) -> None:
    content = b"\xef\xbb\xbf# a comment\n" + b"\n".join(plain_lines(800))
    path = tmp_path / ("set.txt.gz" if packed else "set.txt")
    path.write_bytes(gzip.compress(content) if packed else content)
    check(path, 5000, dtype=dtype)
    assert is_read(path, 5000, dtype=dtype)
    assert is_read(path, 5000, threads=3, dtype=dtype)


def test_rows_that_were_not_expected_find_room(tmp_path: Path) -> None:
    """The lines of the first piece are long, so that it lets expect few rows."""
    long = [line + b" " * 3000 for line in plain_lines(5, 5)]
    short = [b"1 qid:s%d 1:%d 40:2.5" % (i // 3, i) for i in range(4000)]
    path = tmp_path / "set.txt"
    path.write_bytes(b"\n".join(long + short) + b"\n")
    for threads in (1, 3):
        assert is_read(path, 8000, threads=threads, layout="dense")
    check(path, 8000, layout="dense")


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda lines: [*lines[400:], *lines[:3]], id="lists apart"),
        pytest.param(lambda lines: [*lines, b"0 qid:z 1:1 41:2"], id="one column more"),
        pytest.param(lambda lines: [*lines[:-1], lines[-1].replace(b"qid:", b"qud:")], id="a fault"),
        pytest.param(lambda lines: [*lines, *[b"0 qid:z 1:1"] * 3000], id="sparse after all"),
        pytest.param(lambda lines: [*lines, b"0 qid:z" + b" " * 9000 + b"1:1"], id="a long line"),
        pytest.param(lambda lines: [b"#" * 9000, *lines], id="no item in the first piece"),
        pytest.param(lambda lines: [*lines, b"1 qid:z 1:1e39"], id="beyond float32"),
    ],
)
def test_what_is_not_plain_is_handed_over(tmp_path: Path, change: Any) -> None:
    path = tmp_path / "set.txt"
    path.write_bytes(b"\n".join(change(plain_lines(401))))
    dtype = "float32" if b"1e39" in path.read_bytes() else "float64"
    assert not is_read(path, 5000, dtype=dtype)
    check(path, 5000, dtype=dtype)


def test_a_damaged_archive_is_the_same_error(tmp_path: Path) -> None:
    path = tmp_path / "set.txt.gz"
    packed = gzip.compress(b"\n".join(plain_lines(400)))
    path.write_bytes(packed[: len(packed) // 2])
    check(path, 5000)


def test_a_file_that_shrinks_or_grows_while_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "set.txt"
    lines = plain_lines(400)
    content = b"\n".join(lines) + b"\n"
    path.write_bytes(content)
    for change in (b"", content + b"no line of an item\n"):
        with path.open("rb", buffering=0) as file:
            fill = stream._of_file(file, len(content))
            first = bytearray(1000)
            assert fill(memoryview(first)) == 1000
            path.write_bytes(change)
            rest = bytearray(2 * len(content))
            n = fill(memoryview(rest))
            assert bytes(first) + bytes(rest[:n]) == content[: max(len(change[: len(content)]), 1000)]
        path.write_bytes(content)


def test_ids_and_missing_values_over_pieces(tmp_path: Path) -> None:
    lines = [
        b"%d qid:%d %d:1.5 3:null%s" % (i % 2, i // 9, 1 + i % 2, b"" if i % 5 else b" # d%d" % i)
        for i in range(300)
    ]
    path = tmp_path / "set.txt"
    path.write_bytes(b"\n".join(lines))
    assert is_read(path, 500, missing="nan")
    check(path, 500, missing="nan")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(format, "LARGE", 0)
        patch.setattr(stream, "PIECE", 500)
        with pytest.warns(match="240 of 300 items have no comment"):
            lists = load(path, missing="nan", threads=2)
    assert lists.has_missing
    assert np.isnan(lists.features.to_dense()[:, 2]).all()
