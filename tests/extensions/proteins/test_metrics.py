"""Metrics of structures: what is matched, what is not judged, and counts that a set keeps."""

from dataclasses import replace

import numpy as np
import pytest
from msgspec import structs
from reference.everything import column_of, judged_lists

from rerank.core.errors import DataError, DataNote
from rerank.core.workers import parallel
from rerank.data.columns.traces import Traces, key_of
from rerank.data.lists import CandidateLists
from rerank.extensions.proteins import residue_pairs
from rerank.extensions.proteins.residue_pairs import superpositions
from rerank.metrics.base import keep_statistics, parse, prepare_all
from rerank.metrics.labelling import label

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*clashes:rerank.core.errors.DataNote"),  # see test_clashes.py
    pytest.mark.filterwarnings("ignore:.*structure that shares a residue:rerank.core.errors.DataNote"),
]
NAMES = ("GDT-TS", "GDT-HA", "TM", "RMSD", "coverage")
HELIX = np.array([[2.3 * np.cos(1.745 * k), 2.3 * np.sin(1.745 * k), 1.5 * k] for k in range(12)])


def lists_of(models, natives, sizes):
    """Lists of ``sizes`` of models, dictionaries of position by residue number."""

    def column(structures):
        return column_of([[(key_of("A", k), one[k]) for k in sorted(one)] for one in structures])

    lists = CandidateLists.from_arrays(np.zeros((len(models), 1)), group=list(sizes))
    return lists.with_structures(traces=column(models), natives=column(natives))


def numbered(xyz, first=1):
    return {first + k: row for k, row in enumerate(xyz)}


def values(lists, name):
    return parse(name).prepare(lists).own_values().tolist()


def test_residues_are_matched_by_key_and_shares_are_of_the_native():
    native = numbered(HELIX)
    half = {k: native[k] for k in range(1, 7)}
    shifted = numbered(HELIX, first=3)
    more = native | {40: np.array([99.0, 0, 0])}
    lists = lists_of([native, half, shifted, more, {}], [native], [5])
    assert values(lists, "coverage") == pytest.approx([1, 0.5, 10 / 12, 1, 0])
    assert values(lists, "GDT-TS")[:2] == pytest.approx([100, 50])
    assert values(lists, "TM")[3:] == pytest.approx([1, 0])
    assert values(lists, "RMSD") == pytest.approx([0, 0, 0, 0, np.nan], abs=1e-6, nan_ok=True)
    # A helix shifted along itself fits itself; a native of half the length is found whole.
    swapped = lists_of([native], [half], [1])
    assert [values(swapped, name)[0] for name in NAMES] == pytest.approx([100, 100, 1, 0, 1], abs=1e-6)


def test_lists_without_native_are_unjudged_and_models_without_structure_are_worst():
    native = numbered(HELIX)
    bent = numbered(HELIX + np.linspace(0, 9, 12)[:, None] ** 1.2)
    lists = lists_of([native, bent, {}, native], [native, {}], [3, 1])
    for name in NAMES:
        judge = parse(name).prepare(lists)
        assert judge.judged.tolist() == [True, False]
        items = judge.better * judge.item_values()
        assert items[2] == np.nanmin(items)
        labels = label(lists, name).labels
        assert np.isnan(labels).tolist() == [False, False, False, True]
    assert np.isnan(values(lists, "RMSD")[2])
    none = lists_of([native], [{}], [1])
    with pytest.raises(DataError, match="GDT-TS judges none of 1 list"):
        label(none, "GDT-TS")


def test_natives_of_one_or_two_residues():
    one, two = numbered(HELIX[:1]), numbered(HELIX[:2])
    lists = lists_of([one, two, {}, one, two], [one, two], [3, 2])
    assert values(lists, "GDT-TS") == pytest.approx([100, 100, 0, 50, 100])
    judge = parse("RMSD").prepare(lists)
    assert not judge.judged.any()  # any two of so few residues fit


def test_no_value_depends_on_what_else_is_asked_for():
    lists = judged_lists(5, sizes=(3, 4, 6))
    together = {judge.name: judge.per_item for judge in prepare_all(lists, NAMES)}
    for name in NAMES:
        assert np.array_equal(parse(name).prepare(lists).per_item, together[name])


@pytest.mark.filterwarnings("ignore::rerank.core.errors.DataNote")
def test_workers_change_nothing(monkeypatch):
    lists = judged_lists(5, sizes=(30, 2, 40))
    once = parse("TM").prepare(lists).per_item
    monkeypatch.setattr(residue_pairs, "_RESIDUES", 20)
    with parallel.using(2):
        assert np.array_equal(parse("TM").prepare(lists).per_item, once)


def test_counts_stay_with_a_set(monkeypatch):
    lists = judged_lists(5, sizes=(3, 4, 6))
    kept = label(lists, "GDT-TS")
    again = keep_statistics(lists, ["WER", "oracle2.TM"]).counts["superposition"]
    assert np.array_equal(again, kept.counts["superposition"], equal_nan=True)
    assert keep_statistics(lists, ["WER", "RMSD"]) is lists
    bare = replace(kept, traces=None, natives=None)
    fresh = {name: parse(name).prepare(lists).per_item for name in NAMES}

    def without_search(*args, gdt, tm, thorough):
        assert not gdt
        assert not tm
        return superpositions(*args, gdt=False, tm=False)

    monkeypatch.setattr(residue_pairs, "superpositions", without_search)
    for name in NAMES:
        assert np.array_equal(parse(name).prepare(kept).per_item, fresh[name])
        judge = parse(name).prepare(bare)
        assert np.array_equal(judge.per_item, fresh[name])
        assert "counts:saved" in judge.signature


def test_counts_that_are_not_those_of_the_structures_are_refused():
    lists = judged_lists(5, sizes=(3, 4, 6))
    kept = label(lists, "GDT-TS")
    other = replace(kept, natives=structs.replace(lists.natives, xyz=lists.natives.xyz[::-1].copy()))
    with pytest.raises(DataError, match=r"item 'd.+': the saved counts are of another structure"):
        parse("GDT-TS").prepare(other)
    counts = kept.counts["superposition"].copy()
    counts[0, 3] = counts[0, 0] + 1
    with pytest.raises(DataError, match="of no structures"):
        parse("GDT-TS").prepare(replace(kept, counts={"superposition": counts}))
    part = replace(lists, counts=dict(parse("RMSD").prepare(lists).counts))
    assert np.array_equal(parse("TM").prepare(part).per_item, parse("TM").prepare(lists).per_item)
    with pytest.raises(DataError, match="without a search"):
        parse("TM").prepare(replace(part, traces=None))


def test_models_that_lack_most_of_the_native_are_reported():
    native = numbered(HELIX)
    part = {k: native[k] for k in range(1, 5)}
    lists = lists_of([native, part, {}], [native], [3])
    with pytest.warns(
        DataNote,
        match=r"1 model of 2 with less than half .* item 2 with 4 of 12; they are partial, or .* by sequence",
    ):
        assert values(lists, "coverage") == pytest.approx([1, 1 / 3, 0])


def test_lists_without_a_structure_of_the_native_are_unjudged_and_single_items_count_0():
    native, other = numbered(HELIX), numbered(HELIX, first=101)
    lists = lists_of([{}, {}, {}, other, other, {}, native], [native] * 3, [2, 2, 3])
    for name in NAMES:
        with pytest.warns(DataNote) as caught:
            labels = label(lists, name).labels
        assert labels[:6] == pytest.approx([np.nan] * 4 + [0, 0], abs=1e-6, nan_ok=True)
        notes = [str(one.message) for one in caught if one.category is DataNote]
        assert len(notes) == 2
        assert "2 lists not judged ('1', '2'): no item has a structure that shares a residue" in notes[0]
        assert "2 items without a structure that shares a residue with the native" in notes[1]
        assert "coverage 0, RMSD as the worst of the list (the first is list '3', item 1)" in notes[1]
    lists = lists_of([{}, other], [native], [2])
    with pytest.warns(DataNote), pytest.raises(DataError, match="judges none"):
        label(lists, "GDT-TS")


def test_pairs_are_those_of_sets_of_keys():
    rng = np.random.default_rng(0)
    kinds = [sorted(rng.choice(2**40, rng.integers(0, 9), replace=False).tolist()) for _ in range(9)]
    pool = sorted({key for one in kinds for key in one})
    models = [sorted(rng.choice(pool, rng.integers(0, 12), replace=False).tolist()) for _ in range(30)]

    def column(keys):
        flat = np.array([key for one in keys for key in one], dtype=np.uint64)
        offsets = np.r_[0, np.cumsum([len(one) for one in keys])].astype(np.int64)
        xyz = np.repeat(np.arange(float(len(flat)))[:, None], 3, axis=1)
        return Traces(offsets, flat, xyz, np.full(len(flat), 65, dtype=np.uint8))

    some, natives = column(models), column(kinds)
    of_model = rng.integers(0, 9, 30)
    first, second = np.triu_indices(30, 1)
    for pairs, chosen, others, rows in (
        (residue_pairs.with_natives(some, natives, of_model), np.arange(30), natives, of_model),
        (residue_pairs.among(some, first, second), first, some, second),
    ):
        for p, (i, j) in enumerate(zip(chosen, rows, strict=True)):
            shared = np.intersect1d(some.keys[some.of(i)], others.keys[others.of(j)])
            here = slice(pairs.offsets[p], pairs.offsets[p + 1])
            assert some.keys[pairs.a[here, 0].astype(int)].tolist() == shared.tolist()
            assert others.keys[pairs.b[here, 0].astype(int)].tolist() == shared.tolist()
