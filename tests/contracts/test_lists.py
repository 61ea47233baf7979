"""What every set of lists can do, in every layout, also when all its arrays are read-only."""

import numpy as np
import pytest
from make import LAYOUTS, freeze, full_lists, same

from rerank.data.scaling import SCALINGS, fit_scaling
from rerank.data.store import read_store, write_store


@pytest.fixture(params=LAYOUTS)
def layout(request):
    return request.param


@pytest.fixture(params=["frozen", "stored"])
def read_only(request, layout, tmp_path):
    if request.param == "frozen":
        return freeze(full_lists(layout))
    write_store(full_lists(layout), tmp_path / "s")
    return read_store(tmp_path / "s")


def test_read_only_arrays_do_all_that_others_do(read_only, layout):
    lists = full_lists(layout)
    w = np.linspace(-1, 1, lists.n_features)
    w.flags.writeable = False
    assert read_only.features.scores(w).tobytes() == lists.features.scores(w).tobytes()
    assert same(read_only.subset([2, 0]), lists.subset([2, 0]))
    assert same(read_only.with_first_best("input"), lists.with_first_best("input"))
    assert same(read_only.with_first_best("f1"), lists.with_first_best("f1"))
    assert read_only.fingerprint() == lists.fingerprint()
    assert read_only.input_order(read_only.labels).tobytes() == lists.input_order(lists.labels).tobytes()
    assert read_only.judged_lists().tolist() == lists.judged_lists().tolist()
    places = np.array([4, 3, -1, 1, 0])
    moved = read_only.features.select(places, 5).to_dense()
    assert np.array_equal(moved, lists.features.select(places, 5).to_dense())


@pytest.mark.parametrize("name", SCALINGS)
def test_read_only_arrays_are_scaled_as_others(name, read_only, layout):
    if name.endswith("rank") and layout not in ("dense", "float32"):
        pytest.skip("ranks need dense features")
    lists = full_lists(layout)
    assert same(fit_scaling(name, read_only).apply(read_only), fit_scaling(name, lists).apply(lists))


def test_what_is_made_from_lists_leaves_them_as_they_were(layout):
    lists = full_lists(layout)
    lists.subset([1, 3])
    lists.with_first_best("f0")
    for name in SCALINGS:
        if not name.endswith("rank") or layout in ("dense", "float32"):
            fit_scaling(name, lists).apply(lists)
    assert same(lists, full_lists(layout))
