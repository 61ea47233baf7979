"""Ranges of residues."""

import numpy as np
import pytest

from rerank.core.errors import DataError
from rerank.data.columns.traces import key_of, residue_name
from rerank.extensions.proteins.matching import extent, parse_ranges, within

STRUCTURE = [("A", -3, ""), ("A", -2, ""), ("A", 12, ""), ("A", 12, "B"), ("A", 13, ""), ("B", 1, "")]


def keys_of(residues):
    return np.array([key_of(*one) for one in residues], dtype=np.uint64)


def inside(text, residues=STRUCTURE):
    keys = keys_of(residues)
    return [residue_name(key) for key in keys[within(keys, parse_ranges(text))]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A:-3-12", ["A:-3", "A:-2", "A:12", "A:12B"]),
        ("A:-3--2 , B", ["A:-3", "A:-2", "B:1"]),
        ("A:12B-99", ["A:12B", "A:13"]),
        ("A:12", ["A:12", "A:12B"]),
        ("A:1-12A", ["A:12"]),
        ("B:,A:13", ["A:13", "B:1"]),
    ],
)
def test_residues_in_ranges(text, expected):
    assert inside(text) == expected


def test_ranges_without_a_chain_are_of_the_only_chain():
    assert inside("12-13", STRUCTURE[:5]) == ["A:12", "A:12B", "A:13"]
    assert inside("12", [("", 12, ""), ("", 14, "")]) == ["12"]
    with pytest.raises(DataError, match="residues 12-13: found chains A, B, expected one, as in A:12-13"):
        inside("12-13")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "residues: found '', expected ranges such as 12-90, A:12-90,A:110-150 or A"),
        ("1-5,", "residues: found ''"),
        ("12-", "residues: found '12-'"),
        ("ABCDE", "residues: found 'ABCDE'"),
        ("a b", "residues: found 'a b'"),
        ("./A", "residues: found './A'"),
        ("ABCDE:1-2", "found 'ABCDE:1-2', expected a chain of up to 4 characters"),
        ("12-90-95", "found '12-90-95'"),
        ("90-12", "'90-12' is reversed"),
        ("A:12B-12A", "'A:12B-12A' is reversed"),
        ("1-5,5-9", "1-5 and 5-9 overlap"),
        ("A:1-5,A", "A:1-5 and A overlap"),
        ("A:1-5,7", "found ranges with a chain and without"),
        ("9999999", "residue number 9999999, expected"),
        ("C", "found no chain 'C', expected ranges of A:-3-13, B:1-1"),
        ("C:1-2", "found no chain 'C'"),
        ("A:14-20", "found no A:14-20, expected ranges of A:-3-13"),
        ("A:-3,B:2", "found no B:2, expected"),
    ],
)
def test_ranges_that_are_none_or_contain_nothing(text, message):
    with pytest.raises(DataError) as caught:
        inside(text)
    assert message in str(caught.value)


def test_the_extent_of_a_structure():
    assert extent(keys_of(STRUCTURE)) == "A:-3-13, B:1-1"
    assert extent(keys_of([("", 5, ""), ("", 9, "C")])) == "5-9C"
    assert extent(keys_of([])) == "no residues"
