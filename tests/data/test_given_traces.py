"""Structures of Python programs as columns."""

import numpy as np
import pytest

from rerank import metrics
from rerank.core.errors import DataError
from rerank.data.array_inputs import traces_of
from rerank.data.columns.traces import key_of, keys_of, numbers
from rerank.data.lists import CandidateLists

NAN = float("nan")
XYZ = np.random.default_rng(0).normal(0, 5, (4, 3))


def test_structures_in_every_form():
    gap = XYZ.copy()
    gap[1] = NAN
    found = traces_of(
        [XYZ, gap, None, XYZ.tolist(), ([-2, 7, 8, 90], XYZ), (tuple(XYZ[0]), tuple(XYZ[1])), []]
    )
    assert found.lengths.tolist() == [4, 3, 0, 4, 4, 2, 0]
    assert numbers(found.keys[found.of(1)]).tolist() == [1, 3, 4]
    assert numbers(found.keys[found.of(4)]).tolist() == [-2, 7, 8, 90]
    assert np.array_equal(found.xyz[found.of(3)], XYZ)
    assert traces_of(found) is found
    assert keys_of(np.array([-5, 0, 12])).tolist() == [key_of("", k) for k in (-5, 0, 12)]
    assert traces_of([]).lengths.tolist() == []


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (XYZ[:, :2], r"structure 2: found shape \(4, 2\), expected positions \(n, 3\)"),
        (XYZ[0], r"found shape \(3,\)"),
        ([[1.0, 2.0, NAN]], "some coordinates missing"),
        ([[1.0, 2.0], [1.0]], "found no numbers"),
        (([1, 2], XYZ), "expected 4 whole residue numbers"),
        (([1, 2, 2, 3], XYZ), "expected rising residue numbers"),
        (([1.0, 2.0, 3.0, 4.0], XYZ), "whole residue numbers"),
        ([[1e9, 0, 0]], "coordinates must be numbers up to"),
    ],
)
def test_what_is_no_structure(entry, message):
    with pytest.raises(DataError, match=message):
        traces_of([XYZ, entry])


def test_lists_of_arrays():
    y = [[1, 0], [0, 1], [1, 1]]
    lists = CandidateLists.from_arrays(
        None, traces=[XYZ, None, XYZ], natives=[XYZ, XYZ[:2]], qid=["b", "a", "b"]
    )
    assert lists.natives.lengths.tolist() == [4, 2]  # lists in the order of their first rows
    assert lists.traces.lengths.tolist() == [4, 4, 0]
    assert CandidateLists.from_arrays(y, traces=[XYZ] * 3).natives is None
    for wrong, message in (
        (y[:2], "traces has 3 entries, expected 2"),
        (None, "natives has 2 entries, expected 1"),
    ):
        with pytest.raises(DataError, match=message):
            CandidateLists.from_arrays(wrong, traces=[XYZ] * 3, natives=[XYZ] * 2)


@pytest.mark.filterwarnings("ignore:.*clashes:rerank.core.errors.DataNote")
def test_metrics_take_arrays():
    assert metrics.gdt_ts([XYZ, XYZ[:2]], [XYZ, XYZ]) == pytest.approx(75)
    assert metrics.tm_score([XYZ], [XYZ]) == pytest.approx(1)
    assert metrics.coverage([XYZ, None], [XYZ, XYZ]) == 0.5
    assert np.isnan(metrics.rmsd([None], [XYZ]))
    assert metrics.tm([([3, 4, 5, 9], XYZ)], [([3, 4, 5, 9], XYZ)]) == pytest.approx(1)
    with pytest.raises(DataError, match="no items"):
        metrics.gdt([], [])
    with pytest.raises(DataError, match="natives: found 1 structures, expected 2"):
        metrics.gdt_ha([XYZ, XYZ], [XYZ])
    with pytest.raises(DataError, match="models: found one structure or none"):
        metrics.gdt_ts(XYZ, XYZ)
