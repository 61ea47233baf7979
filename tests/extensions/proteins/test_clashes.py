"""Clashes of CA traces."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.everything import column_of, judged_lists
from reference.metrics.clashes import count

from rerank.core.errors import DataError, DataNote
from rerank.data.columns.strings import StringColumn
from rerank.data.columns.traces import key_of
from rerank.data.lists import CandidateLists
from rerank.extensions.proteins import metrics as module
from rerank.extensions.proteins.metrics import clash_counts, clash_note
from rerank.metrics.base import parse, prepare_all


def line(*residues):
    """A structure of residues on a line: (chain, number, x) or (chain, number, insertion, x)."""
    return sorted((key_of(*place), np.array([10.0 + x, -7.0, 3.0])) for *place, x in residues)


def clashes(*structures):
    return clash_counts(column_of(list(structures))).tolist()


def test_pairs_closer_than_the_limit_are_counted():
    assert clashes(line(("A", 1, 0.0), ("A", 5, 3.599)), line(("A", 1, 0.0), ("A", 5, 3.6)), []) == [1, 0, 0]
    assert clashes(line(("A", 1, 0.0), ("A", 5, 1.0), ("B", 1, 2.0), ("B", 9, 8.0))) == [3]


def test_neighbours_in_a_chain_have_a_limit_of_their_own():
    for other, expected in ((("A", 2, 2.9), 0), (("A", 1, "A", 2.7), 0), (("A", 2, 2.699), 1)):
        assert clashes(line(("A", 1, 0.0), other)) == [expected]
    for other in (("A", 3, 2.9), ("B", 2, 2.9), ("B", 1, 2.9)):
        assert clashes(line(("A", 1, 0.0), other)) == [1]
    assert clashes(line(("A", 1, 0.0), ("A", 1, "A", 2.9), ("A", 2, 3.0))) == [2]  # 1 and 2 are not adjacent


def test_the_last_residue_of_a_structure_is_no_neighbour_of_the_first_of_the_next():
    assert clashes(line(("A", 1, 0.0)), line(("A", 2, 1.0))) == [0, 0]


@pytest.mark.parametrize("far", [0.0, 9e5, -9e5])
def test_residues_at_one_point_and_far_away(far):
    place = np.array([far, -far, far])
    assert clashes([(key_of("A", 3 * k), place) for k in range(40)]) == [40 * 39 // 2]


def test_counts_end_before_they_take_quadratic_time(monkeypatch):
    monkeypatch.setattr(module, "MOST", 10)
    heap = [(key_of("A", 3 * k), np.zeros(3)) for k in range(6)]
    part = heap[:5]  # 10 pairs
    assert clashes(heap, part, heap[:4], heap) == [10, 10, 6, 10]
    lists = CandidateLists.from_arrays(np.zeros((2, 1)), group=[2])
    remark = clash_note(lists.with_structures(traces=column_of([heap[:4], heap])))
    assert "10 or more in list" in remark


@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(1, 14)), min_size=1, max_size=4), st.integers(0, 999)
)
def test_counts_are_those_of_all_pairs(sizes, seed):
    rng = np.random.default_rng(seed)
    structures = []
    for n, width in sizes:
        keys = sorted({key_of("AB"[int(rng.integers(2))], int(k)) for k in rng.integers(-30, 60, n)})
        structures.append([(key, np.round(rng.uniform(-width, width, 3), 1)) for key in keys])
    expected = [count({key: xyz.tolist() for key, xyz in one}) for one in structures]
    assert clashes(*structures) == expected


def test_a_list_without_structures_is_left_out_and_one_item_without_counts_as_the_worst():
    bad, worse = line(("A", 1, 0.0), ("A", 3, 1.0)), line(("A", 1, 0.0), ("A", 3, 1.0), ("A", 5, 2.0))
    lists = replace(
        CandidateLists.from_arrays(np.zeros((5, 1)), group=[3, 1, 1]),
        traces=column_of([bad, worse, [], [], line(("A", 1, 0.0))]),
    )
    judge = parse("clashes").prepare(lists)
    assert judge.judged.tolist() == [True, False, True]
    assert judge.per_item.tolist() == [[1, 1], [3, 1], [3, 1], [0, 0], [0, 1]]
    assert judge.better == -1


def test_models_with_clashes_are_noted_with_the_worst():
    bad, worse = line(("A", 1, 0.0), ("A", 3, 1.0)), line(("A", 1, 0.0), ("A", 3, 1.0), ("A", 5, 2.0))
    lists = replace(
        CandidateLists.from_arrays(np.zeros((4, 1)), qid=["T1", "T1", "T2", "T2"], source="models"),
        traces=column_of([bad, worse, worse, []]),
        item_ids=StringColumn.from_strings(["m1", "m2", "m1", "m2"]),
    )
    assert clash_note(lists) == (
        "models: clashes (CA-CA < 3.6 Å), which may inflate GDT, in 3 of 4 models; 3 in list 'T1', item 'm2'"
    )
    assert clash_note(replace(lists, traces=column_of([[], [], [], []]))) is None
    assert clash_note(replace(lists, traces=None)) is None
    with pytest.raises(DataError, match="clashes needs structures"):
        parse("clashes").prepare(replace(judged_lists(), traces=None))


def test_values_that_clashes_inflate_come_with_one_note():
    structure = line(("A", 1, 0.0), ("A", 3, 1.0), ("A", 5, 9.0))
    lists = replace(
        CandidateLists.from_arrays(np.zeros((2, 1)), group=[2], source="models"),
        traces=column_of([structure, structure]),
        natives=column_of([structure]),
    )
    with pytest.warns(DataNote) as caught:
        prepare_all(lists, ["GDT-TS", "GDT-HA", "TM", "RMSD"])
    assert [str(one.message) for one in caught] == [clash_note(lists)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        prepare_all(lists, ["RMSD", "coverage", "clashes"])
