"""Columns of CA traces."""

import dataclasses

import numpy as np
import pytest
from msgspec import structs

from rerank.core.errors import DataError
from rerank.data.columns.traces import (
    Traces,
    chain_codes,
    chain_name,
    in_chain,
    key_of,
    numbers,
    residue_name,
    without_chain,
)
from rerank.data.joining import joined
from rerank.data.lists import CandidateLists
from rerank.data.store import read_store, write_store


def traces(*lengths, chain="A", seed=0):
    """Structures of so many residues, numbered from 1."""
    rng = np.random.default_rng(seed)
    offsets = np.r_[0, np.cumsum(lengths)].astype(np.int64)
    keys = np.array([key_of(chain, k + 1) for n in lengths for k in range(n)], dtype=np.uint64)
    return Traces(offsets, keys, rng.normal(0, 9, (len(keys), 3)), np.full(len(keys), ord("A"), np.uint8))


def same(a, b):
    return all(np.array_equal(x, b.arrays()[name]) for name, x in a.arrays().items())


def lists_with(found, natives):
    return dataclasses.replace(
        CandidateLists.from_arrays(np.zeros((len(found), 1)), qid=["p", "p", "q"]),
        traces=found,
        natives=natives,
    )


RESIDUES = [
    ("", -12, ""),
    ("", 3, ""),
    ("A", -1, ""),
    ("A", 12, ""),
    ("A", 12, "B"),
    ("AB", 1, ""),
    ("B", 1, ""),
]


def test_keys_rise_with_chain_number_and_insertion_code():
    keys = [key_of(*one) for one in RESIDUES]
    assert keys == sorted(keys)
    assert [residue_name(key) for key in keys] == ["-12", "3", "A:-1", "A:12", "A:12B", "AB:1", "B:1"]


def test_keys_come_apart_again():
    keys = np.array([key_of(*one) for one in RESIDUES], dtype=np.uint64)
    assert numbers(keys).tolist() == [number for _, number, _ in RESIDUES]
    assert [chain_name(code) for code in chain_codes(keys)] == [chain for chain, _, _ in RESIDUES]
    assert without_chain(keys).tolist() == [key_of("", *rest) for _, *rest in RESIDUES]
    assert in_chain(keys, chain_codes(keys)[5]).tolist() == [key_of("AB", *rest) for _, *rest in RESIDUES]


@pytest.mark.parametrize(
    "wrong", [("ABCDE", 1), ("A B", 1), ("Ä", 1), ("A", 2**23), ("A", 1, "BC"), ("A", 1, " ")]
)
def test_residues_that_have_no_key(wrong):
    with pytest.raises(DataError, match="expected"):
        key_of(*wrong)


def test_structures_are_taken_joined_and_stored(tmp_path):
    found, natives = traces(4, 0, 3), traces(4, 3, seed=1)
    assert same(
        found.take(np.array([2, 0])), Traces.joined([found.take(np.array([2])), found.take(np.array([0]))])
    )
    lists = lists_with(found, natives)
    write_store(lists, tmp_path / "s")
    again = read_store(tmp_path / "s")
    assert same(again.traces, found)
    assert same(again.natives, natives)
    parts = [lists.subset([0]), lists.subset([1])]
    assert [len(part.traces) for part in parts] == [2, 1]
    assert same(joined(parts).traces, found)


def test_unfit_columns_are_refused():
    found = traces(3, 2)
    with pytest.raises(DataError, match="keys must rise"):
        structs.replace(found, keys=found.keys[::-1].copy())
    with pytest.raises(DataError, match="coordinates must be numbers"):
        structs.replace(found, xyz=np.where(np.arange(15).reshape(5, 3) == 7, np.nan, found.xyz))
    with pytest.raises(DataError, match="offsets must rise"):
        structs.replace(found, offsets=np.array([0, 3, 6]))
    with pytest.raises(DataError, match="traces has 2 entries, expected 3"):
        dataclasses.replace(lists_with(traces(1, 1, 1), None), traces=found)


def test_other_structures_drop_the_counts_of_superpositions():
    counts = {"superposition": np.zeros((3, 9)), "WER": np.ones((3, 2))}
    lists = dataclasses.replace(lists_with(traces(4, 0, 3), traces(4, 3)), counts=counts)
    other = traces(3, 3)
    changed = lists.with_structures(natives=other)
    assert list(changed.counts) == ["WER"]
    assert changed.natives is other
    assert changed.traces is lists.traces
    assert changed.with_structures(traces=traces(1, 1, 1)).traces.lengths.tolist() == [1, 1, 1]
