"""Sharded stores: written in one pass, checked, resumed, and read as one set or shard by shard."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from make import LAYOUTS, full_lists, same

import rerank
from rerank.core.errors import DataError, DataNote, FormatError, RerankError
from rerank.core.memory import VARIABLE
from rerank.data import npy
from rerank.data.lists import CandidateLists
from rerank.data.shards.manifest import is_sharded, read_manifest
from rerank.data.shards.read import check_shards, read_shards, shard_blocks
from rerank.data.shards.write import check_shards_place, key_of, write_shards
from rerank.data.store import write_store
from rerank.data.store_reader import MANIFEST

ONE_LIST, SOME, ALL = 1, 2000, 10**9  # bytes of a shard


def tree(path: Path) -> dict[str, bytes]:
    return {str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*") if file.is_file()}


def blocks_of(lists: CandidateLists, n: int) -> Iterator[CandidateLists]:
    """The lists in blocks of n."""
    for first in range(0, lists.n_lists, n):
        yield lists.subset(np.arange(first, min(first + n, lists.n_lists)))


def plain(n_lists: int = 9, width: int = 3, seed: int = 0, first: int = 0) -> CandidateLists:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 5, n_lists)
    ids = np.repeat([f"q{i + first}" for i in range(n_lists)], sizes)
    X = np.round(rng.standard_normal((sizes.sum(), width)), 3)
    names = [f"f{j}" for j in range(width)]
    return CandidateLists.from_arrays(X, rng.integers(0, 3, sizes.sum()), qid=ids, feature_names=names)


@pytest.mark.parametrize("size", [ONE_LIST, SOME, ALL])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_column_comes_back(layout: str, size: int, tmp_path: Path) -> None:
    lists = full_lists(layout)
    manifest = write_shards([lists], tmp_path / "s", size)
    assert len(manifest.shards) in {ONE_LIST: (4,), SOME: (2, 3), ALL: (1,)}[size]
    back = read_shards(tmp_path / "s")
    assert same(back, lists)
    assert type(back.features) is type(lists.features)
    assert (back.fingerprint(), back.has_missing) == (lists.fingerprint(), lists.has_missing)
    assert back.source == str(tmp_path / "s")
    assert os.listdir(tmp_path) == ["s"]
    check_shards(tmp_path / "s")
    parts = list(shard_blocks(tmp_path / "s"))
    assert [part.n_lists for part in parts] == [shard.lists for shard in manifest.shards]
    assert np.array_equal(np.concatenate([part.labels for part in parts]), lists.labels, equal_nan=True)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_shards_do_not_depend_on_the_blocks(layout: str, tmp_path: Path) -> None:
    lists = replace(full_lists(layout, lengths=(3, 1, 4, 2, 5, 2, 3)), rows=None)
    write_shards([lists], tmp_path / "whole", 1500)
    for n in (1, 2, 3):
        write_shards(blocks_of(lists, n), tmp_path / f"by{n}", 1500)
        assert tree(tmp_path / f"by{n}") == tree(tmp_path / "whole")


@pytest.mark.parametrize(("absent", "expected"), [(0.0, 0.0), (np.nan, np.nan)])
def test_later_blocks_may_know_more_features(absent: float, expected: float, tmp_path: Path) -> None:
    few, more = plain(), plain(4, 5, 1, first=20)
    for size in (ONE_LIST, ALL):
        manifest = write_shards(
            [few, more, few.subset([0]).regrouped(["z"] * int(few.lengths[0]))],
            tmp_path / "s",
            size,
            absent=absent,
        )
        back = read_shards(tmp_path / "s")
        n = few.n_items
        assert back.names() == more.names()
        assert np.array_equal(back.features.to_dense()[:n, :3], few.features.to_dense())
        assert np.array_equal(back.features.to_dense()[n : n + more.n_items], more.features.to_dense())
        assert np.array_equal(back.features.to_dense()[:n, 3:], np.full((n, 2), expected), equal_nan=True)
        assert back.has_missing == bool(np.isnan(absent))
        parts = [part.features.to_dense() for part in shard_blocks(tmp_path / "s")]
        assert np.array_equal(np.concatenate(parts), back.features.to_dense(), equal_nan=True)
        assert manifest.width == 5


def test_blocks_that_do_not_fit_together_are_refused(tmp_path: Path) -> None:
    one, other = plain(), plain(2, first=30)
    cases = [
        (replace(other, labels=None), "no labels, unlike in the lists before"),
        (replace(other, first_best=np.ones(other.n_items)), "found first_best, unlike"),
        (replace(other, feature_names=["f0", "x", "f2"]), "other names of features"),
        (replace(other, feature_names=None), "other names of features"),
    ]
    for block, message in cases:
        for size in (ONE_LIST, ALL):
            with pytest.raises(DataError, match=message):
                write_shards([one, block], tmp_path / "s", size)
    with pytest.raises(DataError, match="no lists to write"):
        write_shards([], tmp_path / "s")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("size", [ONE_LIST, SOME, ALL])
def test_an_id_that_occurs_twice_names_both_places(size: int, tmp_path: Path) -> None:
    again = replace(plain(3, first=5), source="b.txt")  # q5, q6 and q7 are there
    with pytest.raises(DataError) as error:
        write_shards([plain(), again], tmp_path / "s", size)
    place = "list 6 (shard 00005.store)" if size == ONE_LIST else "list 6"
    assert (
        str(error.value) == f"list id 'q5' is at {place} and again as list 10 of b.txt; expected each id once"
    )
    inner = replace(plain(4), list_ids=type(again.list_ids).from_strings(["a", "b", "c", "b"]))
    with pytest.raises(DataError, match="list id 'b' is at list 2"):
        write_shards([inner], tmp_path / "s", size)


def test_rows_that_are_not_in_the_order_of_lists_are_kept(tmp_path: Path) -> None:
    ids = ["a", "b", "a", "c", "b", "a"]
    lists = CandidateLists.from_arrays(np.arange(6.0)[:, None], np.arange(6.0) % 2, qid=ids)
    write_shards([lists, lists.regrouped([*"xyxyxz"])], tmp_path / "s", ONE_LIST)
    back = read_shards(tmp_path / "s")
    assert back.rows is not None
    scores = back.input_order(back.features.column(0))
    assert scores.tolist() == [*range(6), *range(6)]
    (tmp_path / "s" / "rows.bin").write_bytes(back.rows[::-1].tobytes())
    with pytest.raises(FormatError, match=r"rows\.bin"):
        read_shards(tmp_path / "s")


class KilledError(Exception):
    pass


def until(lists: CandidateLists, n: int, stop: int) -> Iterator[CandidateLists]:
    for k, block in enumerate(blocks_of(lists, n)):
        if k == stop:
            raise KilledError
        yield block


def test_an_interrupted_conversion_goes_on(tmp_path: Path) -> None:
    lists, size = plain(40), 300
    whole = write_shards([lists], tmp_path / "whole", size)
    with pytest.raises(KilledError):
        write_shards(until(lists, 3, 9), tmp_path / "s", size, key="a")
    assert not (tmp_path / "s").exists()
    hidden = tmp_path / ".s.shards"
    before = {name: os.stat(hidden / name).st_ino for name in os.listdir(hidden) if name.endswith(".store")}
    assert len(before) > 3
    with pytest.warns(DataNote, match=f"continues after {len(before)} shards of"):
        made = write_shards(blocks_of(lists, 5), tmp_path / "s", size, key="a")
    assert made == whole
    assert tree(tmp_path / "s") == tree(tmp_path / "whole")
    assert all(os.stat(tmp_path / "s" / name).st_ino == number for name, number in before.items())
    assert not hidden.exists()


@pytest.mark.parametrize("changed", ["key", "size", "no key", "shard"])
def test_what_was_left_of_other_lists_is_not_used(changed: str, tmp_path: Path) -> None:
    lists, others = plain(20), plain(20, seed=5)
    with pytest.raises(KilledError):
        write_shards(until(lists, 3, 5), tmp_path / "s", 300, key="a")
    if changed == "shard":
        shutil.rmtree(tmp_path / ".s.shards" / "00000.store")
        others = lists
    key = {"key": "b", "no key": None}.get(changed, "a")
    size = 400 if changed == "size" else 300
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        write_shards([others], tmp_path / "s", size, key=key)
    assert same(read_shards(tmp_path / "s"), others)


def test_an_interrupted_conversion_still_knows_its_ids(tmp_path: Path) -> None:
    lists = plain(20)
    with pytest.raises(KilledError):
        write_shards(until(lists, 3, 5), tmp_path / "s", 300, key="a")
    again = [lists, plain(1, first=1)]
    with pytest.warns(DataNote), pytest.raises(DataError, match=r"'q1' is at list 2 \(shard 0000"):
        write_shards(again, tmp_path / "s", 300, key="a")
    with pytest.warns(DataNote), pytest.raises(DataError, match="fewer lists than when"):
        write_shards([lists.subset([0])], tmp_path / "s", 300, key="a")


KILLED = """
import os, signal, sys
from rerank.data.shards.write import write_shards
sys.path.insert(0, sys.argv[2])
from test_shards import plain, blocks_of
def blocks():
    for k, block in enumerate(blocks_of(plain(40), 3)):
        if k == 9:
            os.kill(os.getpid(), signal.SIGKILL)
        yield block
write_shards(blocks(), sys.argv[1], 300, key="a")
"""


def test_a_killed_process_leaves_the_old_set_and_its_shards(tmp_path: Path) -> None:
    write_shards([plain(2, seed=8)], tmp_path / "s")
    folders = os.pathsep.join([str(Path(__file__).parent), str(Path(__file__).parents[1])])
    command = [sys.executable, "-c", KILLED, str(tmp_path / "s"), str(Path(__file__).parent)]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": folders}, check=False)
    assert done.returncode == -signal.SIGKILL
    assert same(read_shards(tmp_path / "s"), plain(2, seed=8))
    with pytest.warns(DataNote, match="continues after"):
        write_shards([plain(40)], tmp_path / "s", 300, key="a")
    assert same(read_shards(tmp_path / "s"), plain(40))
    assert os.listdir(tmp_path) == ["s"]


def test_keys_tell_inputs_apart(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("1")
    first = key_of([str(file)], "x")
    assert first == key_of([str(file)], "x") != key_of([str(file)], "y")
    file.write_text("12")
    assert key_of([str(file)], "x") != first
    assert key_of(["-"], "x") is None


def test_only_its_own_files_are_replaced(tmp_path: Path) -> None:
    write_shards([plain()], tmp_path / "s")
    write_shards([plain(3)], tmp_path / "s")
    assert read_shards(tmp_path / "s").n_lists == 3
    (tmp_path / "s" / "mine.txt").write_text("x")
    with pytest.raises(FormatError, match=r"'mine\.txt' inside the sharded store"):
        write_shards([plain()], tmp_path / "s")
    (tmp_path / "folder").mkdir()
    with pytest.raises(FormatError, match="a directory that is not a store"):
        check_shards_place(tmp_path / "folder")
    write_store(plain(), tmp_path / "t.store")
    assert not is_sharded(tmp_path / "t.store")
    with pytest.raises(FormatError, match="not a store"):
        write_store(plain(), tmp_path / "s")


def test_two_processes_do_not_write_one_place(tmp_path: Path) -> None:
    def blocks() -> Iterator[CandidateLists]:
        yield plain()
        with pytest.raises(RerankError, match="another process is writing it"):
            write_shards([plain()], tmp_path / "s")

    write_shards(blocks(), tmp_path / "s")


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-1] ^= 0x10
    path.write_bytes(data)


FAULTS = {
    "no shard": (lambda s: shutil.rmtree(s / "00001.store"), "00001.store: found no store"),
    "no file": (lambda s: (s / "00001.store" / "labels.npy").unlink(), "00001.store: found other files"),
    "cut": (
        lambda s: (s / "00001.store" / "labels.npy").write_bytes(b"x" * 50),
        "00001.store: found other files, or files of other sizes",
    ),
    "meta": (lambda s: flip(s / "00001.store" / "meta.json"), "00001.store: found other files"),
    "other shard": (
        lambda s: (
            shutil.rmtree(s / "00001.store"),
            shutil.copytree(s / "00000.store", s / "00001.store"),
        ),
        "00001.store: found other files",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_faulty_shard_is_named(fault: str, tmp_path: Path) -> None:
    write_shards([plain()], tmp_path / "s", 150)
    spoil, message = FAULTS[fault]
    spoil(tmp_path / "s")
    for read in (read_shards, check_shards, lambda path: next(shard_blocks(path)), rerank.load):
        with pytest.raises(FormatError) as error:
            read(tmp_path / "s")
        assert message in str(error.value)
        assert "\n" not in str(error.value)
        assert "expected shard 2 of" in str(error.value)


def test_a_flipped_bit_is_found_by_validate(tmp_path: Path) -> None:
    write_shards([plain()], tmp_path / "s", 150)
    rerank.validate(tmp_path / "s")
    flip(tmp_path / "s" / "00002.store" / "labels.npy")
    with pytest.raises(FormatError, match=r"00002\.store: found other contents, expected shard 3"):
        rerank.validate(tmp_path / "s")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"version": 1', '"version": 2', "found version 2, expected version 1"),
        ("00000.store", "../x.store", "manifest"),
        ("00001.store", "00000.store", "manifest"),
        ('"lists": ', '"lists": -', "manifest"),
        ('"lists": ', '"lists": "1', "manifest"),
        ("rerank-shards", "other", "manifest"),
        ("{", "", "manifest"),
    ],
)
def test_a_crafted_manifest_is_one_line(old: str, new: str, message: str, tmp_path: Path) -> None:
    write_shards([plain()], tmp_path / "s", 150)
    file = tmp_path / "s" / MANIFEST
    file.write_text(file.read_text().replace(old, new, 1))
    with pytest.raises(FormatError, match=message) as error:
        read_shards(tmp_path / "s")
    assert MANIFEST in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_set_larger_than_memory_is_in_a_file_without_a_name(
    layout: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lists = replace(full_lists(layout, lengths=(30, 40, 50)), rows=None)
    write_shards([lists], tmp_path / "s", ONE_LIST)
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    monkeypatch.setattr(npy, "SMALL", 0)
    monkeypatch.setattr(npy, "available", lambda: 100)
    monkeypatch.setattr(npy, "BLOCK", 1000)
    back = read_shards(tmp_path / "s")
    assert same(back, lists)
    array = next(values for name, values in back.features.arrays().items() if name in ("features", "indices"))
    base = array
    while isinstance(base, np.ndarray):
        base = base.base
    assert isinstance(getattr(base, "obj", base), npy.Pages)
    npy.release(array)
    assert same(back, lists)
    assert os.listdir(tmp_path / "temporary") == []
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=10))
    with pytest.raises(
        RerankError, match=r"needs .* in .*temporary for .*; 10 bytes are free; TMPDIR=FOLDER"
    ):
        read_shards(tmp_path / "s")


def test_columns_that_do_not_fit_into_memory_are_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    n = 3_000_000
    lists = CandidateLists.from_arrays(np.zeros((n, 1), np.float32), np.arange(n) % 2, group=[n // 2] * 2)
    write_shards([replace(lists, base_scores=np.zeros(n), first_best=np.zeros(n))], tmp_path / "s", ONE_LIST)
    monkeypatch.setenv(VARIABLE, "1M")
    with pytest.raises(RerankError, match=r"the columns of .* besides its features"):
        read_shards(tmp_path / "s")


VERBS = {
    "validate": ("validate", "DATA"),
    "eval": ("eval", "DATA", "scores", "-m", "NDCG"),
    "predict": ("predict", "m.json", "DATA"),
    "convert": ("convert", "DATA", "--out", "OUT.letor"),
    "split": ("split", "DATA", "--part", "a=0.5", "--part", "b=0.5", "--out", "OUT"),
    "pairs": ("pairs", "DATA"),
    "train": ("train", "--data", "DATA", "--learner", "ridge", "--out", "OUT.model"),
}


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_takes_it(verb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lists = plain(12)
    np.savetxt("scores", np.arange(lists.n_items) % 5)
    rerank.train(lists, learner="perceptron").save("m.json")
    assert len(write_shards([lists], "shards", 200).shards) > 3
    write_store(lists, "one.store")
    found = []
    for data in ("one.store", "shards"):
        words = [word.replace("DATA", data).replace("OUT", "out") for word in VERBS[verb]]
        done = subprocess.run(
            [sys.executable, "-m", "rerank", *words], capture_output=True, text=True, check=True
        )
        files = {}
        for path in sorted(tmp_path.glob("out*")):
            files |= tree(path) if path.is_dir() else {path.name: path.read_bytes()}
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        found.append((done.stdout, done.stderr.replace(data, "DATA"), files))
    assert found[0] == found[1]


def test_the_manifest_says_what_the_shards_are(tmp_path: Path) -> None:
    lists = plain()
    made = write_shards([lists], tmp_path / "s", 150)
    read = read_manifest(tmp_path / "s")
    assert read == made
    assert (read.n_lists, read.n_items, read.width) == (lists.n_lists, lists.n_items, 3)
    assert read.columns == ("labels", "list_ids")


def test_a_small_disk_is_no_error_if_memory_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(npy, "SMALL", 0)
    monkeypatch.setattr(npy, "available", lambda: 1000)
    kinds = []
    for free in (10_000, 10):
        monkeypatch.setattr("shutil.disk_usage", lambda _, free=free: SimpleNamespace(free=free))
        kinds.append(npy.mapping(npy.large_array((100,), np.dtype("f8"), "numbers")) is not None)
    assert kinds == [True, False]
    with pytest.raises(RerankError, match=r"needs 1\.6 kB in .* for numbers; 10 bytes are free"):
        npy.large_array((200,), np.dtype("f8"), "numbers")


def test_hashes_of_ids() -> None:
    """Equal ids have equal hashes, wherever they are in a column; others differ, also by order and length."""
    from rerank.data.columns.strings import StringColumn, first_again, hashes_of
    from rerank.data.shards.hashing import KnownIds

    ids = ["", "a", "b", "ab", "ba", "aa", "\0", "\0\0", "a" * 300, "é"]
    found = hashes_of(StringColumn.from_strings(ids))
    assert len(set(found.tolist())) == len(ids)
    part = StringColumn.from_strings(["x", *ids]).take(np.arange(1, len(ids) + 1))
    assert np.array_equal(hashes_of(part), found)
    assert first_again(found) is None
    assert first_again(np.append(found, found[[3, 1]])) == (len(ids), 3)
    known = KnownIds()
    for i in range(5):
        known.add(found[[i]], np.array([10 * i]))
    places, numbers = known.find(found)
    assert dict(zip(places.tolist(), numbers.tolist(), strict=True)) == {i: 10 * i for i in range(5)}
