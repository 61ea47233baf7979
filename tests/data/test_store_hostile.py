"""Stores from strangers: crafted offsets and sizes; stores that change while they are read."""

import json
import os

import numpy as np
import pytest
from data.test_store import claim, edit_meta
from make import full_lists, same

from rerank.core.errors import DataError, FormatError
from rerank.data import store_reader
from rerank.data.columns.offsets import Ragged, are_bounds
from rerank.data.matrix import Mixed, Sparse
from rerank.data.scaling import Scaling
from rerank.data.store import read_store, write_store

HUGE = 2**63 - 1


def crafted(offsets):
    """Offsets with the right ends whose differences wrap around to numbers of 0 or more."""
    out = np.array(offsets, dtype=np.int64)
    out[1], out[2] = HUGE, -2
    assert np.all(np.diff(out[1:3]) > 0)
    return out


@pytest.mark.parametrize("empty", [True, False])
def test_bounds_are_compared_without_wrap_around(empty):
    assert are_bounds(np.array([0, 1, 4]), 4, empty=empty)
    assert are_bounds(np.array([0, 0, 4]), 4)
    assert not are_bounds(np.array([0, 0, 4]), 4, empty=False)
    for wrong in ([0, HUGE, -2, 4], [0, 3, 2, 4], [1, 4], [0, 5], [-1, 4], []):
        assert not are_bounds(np.array(wrong, dtype=np.int64), 4, empty=empty)


@pytest.mark.parametrize(
    ("layout", "name"),
    [
        ("dense", "offsets"),
        ("dense", "texts.offsets"),
        ("dense", "list_ids.offsets"),
        ("dense", "feature_names.offsets"),
        ("dense", "references.1.offsets"),
        ("dense", "trees.offsets"),
        ("dense", "gold.offsets"),
        ("dense", "trees.vocabulary.offsets"),
        ("dense", "unretrieved.offsets"),
        ("sparse", "indptr"),
        ("indicators", "indptr"),
        ("mixed", "indptr"),
    ],
)
def test_crafted_offsets_are_refused(layout, name, tmp_path):
    path = tmp_path / "s"
    lists = full_lists(layout)
    object.__setattr__(lists, "unretrieved", Ragged(np.ones(5), np.array([0, 1, 1, 3, 5])))
    write_store(lists, path)
    claim(path, name, crafted(np.load(path / f"{name}.npy")))
    with pytest.raises(FormatError) as caught:
        read_store(path)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


def test_places_of_dense_columns_are_compared_without_wrap_around():
    rows = Sparse(np.zeros(3, np.int64), np.zeros(0, np.int32), None, 9)
    places = np.array([0, 2**31 - 1, -(2**31) + 1, 8], dtype=np.int32)
    with pytest.raises(DataError, match="places must rise"):
        Mixed(np.zeros((2, 4)), places, rows).check(True)


def test_bounds_of_ranks_are_compared_without_wrap_around():
    bounds = crafted([0, 1, 2, 3])
    arrays = {"bounds": bounds, "knots": np.zeros(3), "levels": np.zeros(3)}
    with pytest.raises(DataError, match="do not fit 3 features"):
        Scaling.restore({"name": "rank", "n_features": 3, "shifts": True}, arrays)


@pytest.mark.parametrize("n", [2**31, 2**40, 2**63, 2**64, 10**400, -1, 1.5, True, "9" * 10**6, [[]]])
@pytest.mark.parametrize("key", ["n_features", "n_items", "n_lists", "references"])
def test_a_size_that_cannot_be_is_refused(key, n, tmp_path):
    path = tmp_path / "s"
    write_store(full_lists("sparse"), path)
    edit_meta(path, **{key: n})
    with pytest.raises(FormatError) as caught:
        read_store(path)
    assert len(str(caught.value)) < 300 + len(str(path))


@pytest.mark.parametrize("counts", [["WER", "WER"], ["\ud800", "WER"], [["WER"], "BLEU"]])
def test_names_of_statistics_are_different_text(counts, tmp_path):
    path = tmp_path / "s"
    write_store(full_lists(), path)
    edit_meta(path, counts=counts)
    with pytest.raises(FormatError, match=r"meta.json: found counts .*, expected a list of names"):
        read_store(path)


def test_data_that_is_not_aligned_is_refused(tmp_path):
    path = tmp_path / "s"
    write_store(full_lists(), path)
    data = (path / "labels.npy").read_bytes()
    longer = data[:8] + (int.from_bytes(data[8:10], "little") + 1).to_bytes(2, "little")
    (path / "labels.npy").write_bytes(longer + data[10:].replace(b"\n", b" \n", 1))
    with pytest.raises(FormatError, match=r"labels.npy: found no header of a numeric array"):
        read_store(path)


def test_a_meta_without_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(store_reader, "_LONGEST_META", 1 << 12)
    path = tmp_path / "s"
    write_store(full_lists(), path)
    edit_meta(path, more="x" * (1 << 12))
    with pytest.raises(FormatError, match=r"meta.json: found more than 4096 bytes"):
        read_store(path)


def test_pipes_and_folders_in_place_of_files_are_refused(tmp_path):
    path = tmp_path / "s"
    write_store(full_lists(), path)
    (path / "labels.npy").unlink()
    os.mkfifo(path / "labels.npy")
    with pytest.raises(FormatError, match=r"labels.npy: found a folder, pipe or device, expected a file"):
        read_store(path)
    (path / "meta.json").unlink()
    (path / "meta.json").mkdir()
    with pytest.raises(FormatError, match=r"meta.json: found a folder, pipe or device"):
        read_store(path)


def test_memory_is_checked_before_numbers_are_copied(tmp_path, monkeypatch):
    path = tmp_path / "s"
    write_store(full_lists("sparse"), path)
    asked = []
    monkeypatch.setattr(store_reader, "require", lambda n, what, help="": asked.append((n, what)))
    lists = read_store(path)
    assert (8 * (lists.n_items + 1), f"the numbers of {path / 'indptr.npy'}") in asked


class Opened(store_reader.Folder):
    """A folder that calls ``action`` before file number ``when`` is opened."""

    when = 0
    n = 0

    def open(self, name):
        Opened.n += 1
        if Opened.n == Opened.when:
            self.action()
        return super().open(name)


@pytest.mark.parametrize("layout", ["dense", "mixed"])
def test_a_store_that_is_replaced_while_it_is_read_is_the_old_or_the_new_one(layout, tmp_path, monkeypatch):
    path = tmp_path / "s"
    sets = full_lists(layout), full_lists(layout, seed=1)
    Opened.action = lambda _: write_store(sets[1], path)
    monkeypatch.setattr(store_reader, "Folder", Opened)
    found = []
    for when in (1, 2, 9, 30, 99):
        Opened.when = -1
        write_store(sets[0], path)
        Opened.n, Opened.when = 0, when
        lists = read_store(path)
        found.append(0 if same(lists, sets[0]) else 1)
        assert same(lists, sets[found[-1]]), when
    assert set(found) == {0, 1}


def test_a_store_that_is_replaced_without_end_is_given_up(tmp_path, monkeypatch):
    path = tmp_path / "s"
    write_store(full_lists(), path)
    (path / "labels.npy").unlink()
    monkeypatch.setattr(store_reader.Folder, "is_replaced", lambda _: True)
    with pytest.raises(FormatError, match=r"labels.npy: found no such file"):
        read_store(path)


@pytest.mark.parametrize("layout", ["sparse", "mixed"])
def test_a_change_of_the_file_leads_no_kernel_astray(layout, tmp_path):
    path = tmp_path / "s"
    write_store(full_lists(layout), path)
    lists = read_store(path)

    def used():
        scores = lists.features.scores(np.ones(lists.n_features)).tolist()
        return scores, list(lists.texts), list(lists.trees.to_strings())

    before = used()
    for name in json.loads((path / "meta.json").read_text())["arrays"]:
        file = path / f"{name}.npy"
        mapped = np.load(file, mmap_mode="r")
        if mapped.dtype.kind == "i":
            with open(file, "r+b") as out:  # in place, as rsync --inplace would
                out.seek(-mapped.nbytes, os.SEEK_END)
                out.write(b"\x7f" * mapped.nbytes)
    assert used() == before
    with pytest.raises(FormatError):
        read_store(path)
