"""Alignment of amino acid sequences."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import sequences as slow

from rerank.core.errors import RerankError
from rerank.extensions.proteins.matching import BLOSUM62, align


def letters(text):
    return np.frombuffer(text.encode(), dtype=np.uint8)


def partners(a, b):
    return align(letters(a), letters(b))[1].tolist()


def test_blosum62_is_symmetric_and_knows_the_twenty_amino_acids():
    assert np.array_equal(BLOSUM62, BLOSUM62.T)
    assert [int(BLOSUM62[ord(a), ord(b)]) for a, b in ("WW", "AA", "YV", "VI", "DL", "XA", "BB")] == [
        *(11, 4, -1, 3, -4, 0, 0)
    ]
    assert BLOSUM62.diagonal()[letters("ARNDCQEGHILKMFPSTWYV")].min() == 4
    assert np.count_nonzero(BLOSUM62.any(axis=0)) == 20


@given(st.text("AWKCX", min_size=1, max_size=5), st.text("AWKCX", min_size=1, max_size=4))
def test_no_alignment_of_short_sequences_scores_higher(a, b):
    score, found = align(letters(a), letters(b))
    assert score == slow.best_score(letters(a), letters(b))
    assert score == slow.score_of(letters(a), letters(b), found.tolist())


@given(st.text("ARNDX", min_size=1, max_size=40), st.text("ARNDX", min_size=1, max_size=40))
def test_the_kernel_chooses_the_alignment_of_the_slow_twin(a, b):
    score, found = align(letters(a), letters(b))
    assert (score, found.tolist()) == slow.align(letters(a), letters(b))


def test_missing_residues_are_gaps_and_overhangs_are_free():
    native = "MKTAYIAKQRQISFVKSHFSRQLEERLGLIEVQ"
    assert partners(native[10:20], native) == list(range(10, 20))
    without = native[:12] + native[17:]
    assert partners(without, native) == [*range(12), *range(17, len(native))]
    assert partners(native, without) == [*range(12), *[-1] * 5, *range(12, len(without))]
    assert partners("GGGG" + native[:-3], native) == [-1, -1, -1, -1, *range(len(native) - 3)]


def test_unknown_residues_pair_in_order():
    assert partners("XXX", "XXX") == [0, 1, 2]
    assert partners("AXW", "AKW") == [0, 1, 2]
    assert partners("W", "C") == [-1]


def test_what_does_not_fit_into_memory_is_refused(monkeypatch):
    monkeypatch.setenv("RERANK_MEMORY", "70M")
    long = np.full(10_000, ord("A"), dtype=np.uint8)
    with pytest.raises(RerankError, match="the alignment of 10,000 with 10,000 residues"):
        align(long, long)
