"""Sharded stores of files, of blocks of any size: the lists that reading the whole file gives."""

from __future__ import annotations

import json
import random
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rerank
from rerank.core.errors import ConfigError, DataError, DataNote, FormatError, RerankError
from rerank.core.files import read as files
from rerank.data.lists import CandidateLists
from rerank.data.shards import write
from rerank.data.store import arrays_of
from rerank.formats import regrouping, sharding, streaming
from rerank.formats.sharding import bytes_of, convert_to_shards
from rerank.formats.streaming import store, text
from rerank.formats.table import read as table


def letor(n_lists: int, seed: int, apart: bool = False, ids: bool = True) -> bytes:
    rng = random.Random(seed)
    lines = []
    for q in range(n_lists):
        for i in range(rng.randint(1, 5)):
            width = 3 + 3 * q // n_lists  # later lists have more features
            values = " ".join(f"{j}:{rng.randint(-9, 9) / 8}" for j in range(1, width + 1))
            lines.append(f"{rng.randint(0, 2)} qid:q{q} {values}{f' # d{i}' if ids and q % 3 else ''}")
    if apart:
        rng.shuffle(lines)
    return "\n".join(lines).encode()


def csv(n_lists: int, seed: int, apart: bool = False) -> bytes:
    rng = random.Random(seed)
    rows = [f'q{q},{rng.random()},"a ""text"" {q}\n{i}",{i}' for q in range(n_lists) for i in range(3)]
    if apart:
        rng.shuffle(rows)
    return "\n".join(["qid,x,text,label", *rows, ""]).encode()


@pytest.fixture(params=[1, 300, 1 << 20])
def block(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Read in blocks of one list, of some, and of all; temporary stores and ranges are as small."""
    size: int = request.param
    monkeypatch.setattr(streaming, "LARGE", 0)
    monkeypatch.setattr(sharding, "_LEAST", 1)
    monkeypatch.setattr(regrouping, "_SPILLED", 20 * size)
    monkeypatch.setattr(text, "BLOCK", size)
    monkeypatch.setattr(text, "FIRST", size)
    monkeypatch.setattr(store, "VALUES", size)
    monkeypatch.setattr(files, "BLOCK", size)
    monkeypatch.setattr(table, "_ROWS", max(size // 16, 1))
    return size


def contents(lists: CandidateLists, *, rows: bool = True) -> Any:
    """The arrays of lists by name."""
    arrays = {name: array.tolist() for name, array in arrays_of(lists) if rows or name != "rows"}
    return arrays, lists.names(), lists.features.layout


def converted(paths: list[Path], out: Path, shards: str, **options: Any) -> tuple[CandidateLists, list[str]]:
    with warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always")
        convert_to_shards(paths, out, shards, **options)
    return rerank.load(out), [str(one.message) for one in notes if "not contiguous" in str(one.message)]


@pytest.mark.parametrize("shards", ["400B", "5KB", "1MB"])
@pytest.mark.parametrize("name", ["a.letor", "a.csv", "a.store"])
@pytest.mark.filterwarnings("ignore::rerank.DataNote")
def test_the_lists_of_the_file(tmp_path: Path, block: int, name: str, shards: str) -> None:
    path = tmp_path / name
    if name == "a.store":
        (tmp_path / "b.letor").write_bytes(letor(40, 1))
        rerank.save(rerank.load(tmp_path / "b.letor"), str(path))
    else:
        path.write_bytes(letor(40, 1) if name == "a.letor" else csv(40, 1))
    found, notes = converted([path], tmp_path / "out", shards)
    assert contents(found) == contents(rerank.load(path))
    assert not notes
    again, _ = converted([tmp_path / "out"], tmp_path / "again", shards)
    assert contents(again) == contents(found)


def jsonl(n_lists: int, late: str) -> bytes:
    """A list a line; those of the second half have more."""
    lines = []
    for q in range(n_lists):
        one: dict[str, Any] = {"text": f"t{q}", "features": {"a": q, "b": 1.5}}
        if late and q > n_lists // 2:
            one |= {"label": q % 2} if late == "label" else {"features": {"a": 1, "b": 2, late: 3}}
        lines.append(json.dumps({"id": f"q{q}", "candidates": [one] * (1 + q % 3)}))
    return "\n".join(lines).encode()


@pytest.mark.parametrize("late", ["", "c", "label"])
@pytest.mark.filterwarnings("ignore::rerank.DataNote")
def test_columns_that_come_late(tmp_path: Path, block: int, late: str) -> None:
    """Features may come late; if whole columns do, the file is read as a whole."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(jsonl(40, late))
    found, _ = converted([path], tmp_path / "out", "600B")
    read = rerank.load(path)
    arrays, expected = (dict(arrays_of(replace(lists, first_best=None))) for lists in (found, read))
    assert list(arrays) == list(expected)
    assert all(np.array_equal(arrays[name], expected[name], equal_nan=True) for name in arrays)
    assert found.names() == read.names()


@pytest.mark.parametrize("name", ["a.letor", "a.csv"])
@pytest.mark.filterwarnings("ignore::rerank.DataNote")
def test_lists_that_are_apart(tmp_path: Path, block: int, name: str) -> None:
    """They are brought together as when the whole is read; only the lines' order is not kept."""
    path = tmp_path / name
    path.write_bytes(letor(40, 2, apart=True) if name == "a.letor" else csv(40, 2, apart=True))
    found, notes = converted([path], tmp_path / "out", "600B")
    assert contents(found) == contents(rerank.load(path), rows=False)
    assert len(notes) == 1
    with pytest.raises(FormatError, match=r"again \(its first line is|qid:.* again|the lines of a list"):
        converted([path], tmp_path / "other", "600B", reading=rerank.formats.base.Reading(strict=True))
    assert not (tmp_path / "other").exists()
    assert not [entry for entry in tmp_path.iterdir() if "scratch" in entry.name]


@pytest.mark.filterwarnings("ignore::rerank.DataNote")
def test_several_files(tmp_path: Path, block: int) -> None:
    one, two = tmp_path / "one.letor", tmp_path / "two.letor"
    one.write_bytes(letor(20, 3, ids=False))
    two.write_bytes(letor(20, 3, ids=False).replace(b"qid:", b"qid:other"))
    found, _ = converted([one, two], tmp_path / "out", "700B")
    assert list(found.list_ids or ()) == [f"{k}q{i}" for k in ("", "other") for i in range(20)]
    both = np.concatenate([rerank.load(path).labels for path in (one, two)])  # type: ignore[arg-type]
    assert np.array_equal(found.labels, both)  # type: ignore[arg-type]
    with pytest.raises(DataError, match=r"list id 'q\d+' is at list \d+.* and again as list \d+ of"):
        converted([one, one], tmp_path / "twice", "700B")
    assert not (tmp_path / "twice").exists()


@pytest.mark.filterwarnings("ignore::rerank.DataNote")
def test_an_interrupted_conversion_goes_on(
    tmp_path: Path, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.letor"
    path.write_bytes(letor(60, 4))
    whole = contents(rerank.load(path))
    flush, done = write._Writer._flush, []

    def killed(writer: Any) -> None:
        if len(done) == 3:
            raise KeyboardInterrupt
        done.append(1)
        flush(writer)

    with monkeypatch.context() as patch:
        patch.setattr(write._Writer, "_flush", killed)
        with pytest.raises(KeyboardInterrupt):
            convert_to_shards([path], tmp_path / "out", "600B")
    assert not (tmp_path / "out").exists()
    with pytest.warns(DataNote, match="continues after 3 shards"):
        convert_to_shards([path], tmp_path / "out", "600B")
    assert contents(rerank.load(tmp_path / "out")) == whole


def test_pipes(tmp_path: Path, block: int, rerank: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import io
    import sys

    def run(content: bytes, code: int) -> Any:
        stdin = io.TextIOWrapper(io.BufferedReader(io.BytesIO(content)))  # type: ignore[arg-type]
        monkeypatch.setattr(sys, "stdin", stdin)
        out = tmp_path / f"out{code}"
        return rerank("convert", "-", "--format", "svmlight", "--shards", "1KB", "--out", out, code=code)

    content = letor(40, 5).replace(b"qid:q0 ", b"qid:first ") if block > 300 else letor(40, 5, ids=False)
    assert "40 lists" in run(content, 0).err
    (tmp_path / "a.letor").write_bytes(content)
    from rerank.formats import load

    found = load(tmp_path / "out0")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataNote)
        assert contents(found) == contents(load(tmp_path / "a.letor"))
    assert "again (its first line is" in run(content + b"\n1 qid:q7 1:2", 2).err
    assert not (tmp_path / "out2").exists()


def test_sizes() -> None:
    assert [bytes_of(size) for size in ("256MB", "1.5G", "2000000", "3000kB", "1 GB")] == [
        *(256_000_000, 1_500_000_000, 2_000_000, 3_000_000, 1_000_000_000)
    ]
    for size in ("", "many", "1KB", "-1MB", "0"):
        with pytest.raises(ConfigError, match="expected a size of 1MB or more"):
            bytes_of(size)


def test_options(rerank: Any, work: Path) -> None:
    common = ("convert", "train.letor", "--out", "out.shards")
    assert "--to: not used with --shards" in rerank(*common, "--shards", "1MB", "--to", "store", code=2).err
    assert "expected one; --shards SIZE takes several" in rerank(*common, "dev.letor", code=2).err
    assert "train.letor is one of the input files" in rerank(*common[:3], "train.letor", code=2).err
    assert "lists" in rerank(*common, "dev.letor", "--shards", "1MB").err
    with pytest.raises(RerankError):
        convert_to_shards(["none.letor"], "other.shards")


def test_a_sharded_store_is_replaced(tmp_path: Path) -> None:
    source, out = tmp_path / "source.letor", tmp_path / "made.shards"
    for seed in (1, 2):
        source.write_bytes(letor(4, seed, ids=False))
        assert contents(converted([source], out, "1MB")[0]) == contents(rerank.load(source))
    (out / "notes.txt").write_text("not of the store")
    with pytest.raises(rerank.RerankError, match=r"notes\.txt"):
        convert_to_shards([source], out, "1MB")
