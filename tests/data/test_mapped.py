"""Passes over mapped files give their pages back; nothing else loses any."""

import resource
import sys
from pathlib import Path

import numpy as np
import pytest

from rerank.data import npy
from rerank.data.lists import CandidateLists
from rerank.data.scaling import SCALINGS, fit_scaling
from rerank.data.store import read_store, write_store


@pytest.fixture(params=["float64", "float32"])
def lists(request: pytest.FixtureRequest) -> CandidateLists:
    rng = np.random.default_rng(3)
    X = (rng.standard_normal((4000, 9)) * 10.0 ** np.arange(9)).astype(request.param)
    sizes = np.diff(np.r_[0, np.sort(rng.choice(np.arange(1, 4000), 200, replace=False)), 4000])
    return CandidateLists.from_arrays(X, rng.integers(0, 3, 4000), group=sizes)


@pytest.fixture
def stored(lists: CandidateLists, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CandidateLists:
    """The same lists from a store, in blocks of some rows."""
    write_store(lists, tmp_path / "set.store")
    monkeypatch.setattr(npy, "BLOCK", 9 * 8 * 300)
    return read_store(tmp_path / "set.store")


@pytest.mark.parametrize("name", sorted(SCALINGS))
def test_a_store_is_scaled_to_the_same_bits_and_stays(
    lists: CandidateLists, stored: CandidateLists, name: str
) -> None:
    before = stored.features.to_dense().tobytes()
    ranges = list(npy.row_blocks(stored.features.to_dense(), stored.offsets))
    assert len(ranges) > 5
    fitted, of_store = fit_scaling(name, lists), fit_scaling(name, stored)
    assert all(np.array_equal(fitted.values[key], of_store.values[key]) for key in fitted.values)
    new = of_store.apply(stored).features.to_dense()
    assert new.dtype == lists.features.dtype
    assert new.tobytes() == fitted.apply(lists).features.to_dense().tobytes()
    assert stored.features.to_dense().tobytes() == before == lists.features.to_dense().tobytes()
    assert stored.fingerprint() == lists.fingerprint()
    w = np.arange(9.0)
    assert stored.features.scores(w).tobytes() == lists.features.scores(w).tobytes()


@pytest.mark.parametrize("n", [0, 1, 299, 301, 4000, 9000])
def test_rows_are_taken_in_their_order(stored: CandidateLists, n: int) -> None:
    values, rows = stored.features.to_dense(), np.random.default_rng(n).integers(0, 4000, n)
    for some in (rows, np.sort(rows)):
        assert stored.features.take(some).to_dense().tobytes() == np.array(values)[some].tobytes()


def test_ranges_cover_all_rows_and_cut_no_list(stored: CandidateLists) -> None:
    values = stored.features.to_dense()
    for offsets in (None, stored.offsets):
        ranges = list(npy.row_blocks(values, offsets))
        assert [one.stop for one in ranges[:-1]] == [one.start for one in ranges[1:]]
        assert (ranges[0].start, ranges[-1].stop) == (0, len(values))
    assert np.isin([one.stop for one in ranges], stored.offsets).all()


def test_memory_that_is_no_mapped_file_is_one_range_and_keeps_its_values(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.ones((5000, 40)))
    written = np.load(tmp_path / "a.npy", mmap_mode="c")
    written[:] = 7.0
    shared = np.load(tmp_path / "a.npy", mmap_mode="r+")
    shared[:10] = 3.0
    frozen = np.ones((5000, 40))
    for values in (written, shared, frozen):
        values.flags.writeable = False
        copy = values.copy()
        assert list(npy.row_blocks(values)) == [slice(0, 5000)]
        npy.release(values)
        assert np.array_equal(values, copy)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="pages are counted by the system")
def test_pages_are_given_back(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.ones((1 << 20, 16)))
    values = np.load(tmp_path / "a.npy", mmap_mode="r")

    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()

    values.sum()
    before = resident()
    npy.release(values)
    assert before - resident() > 0.9 * values.nbytes
    assert values.sum() == values.size
