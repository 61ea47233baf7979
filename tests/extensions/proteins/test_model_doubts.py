"""Notes of consensus features on models that are numbered in another way or of another protein."""

import warnings

import numpy as np
import pytest

from rerank import CandidateLists
from rerank.core.errors import DataNote
from rerank.data.columns.traces import Traces, key_of
from rerank.extensions.decision.consensus import consensus

SEQUENCE = "MKLVEARTWGQNDSHICPFYAEEKLLRV"
rng = np.random.default_rng(3)
XYZ = np.cumsum(rng.normal(size=(len(SEQUENCE), 3)), axis=0) * 2


def model(first=1, chain="A", sequence=SEQUENCE):
    keys = np.array([key_of(chain, first + i) for i in range(len(sequence))], dtype=np.uint64)
    residues = np.frombuffer(sequence.encode(), dtype=np.uint8)
    return Traces(np.array([0, len(keys)]), keys, XYZ[: len(keys)], residues)


def values(*models):
    n = len(models)
    lists = CandidateLists.from_arrays(np.zeros((n, 1)), qid=["t"] * n, source="models")
    return consensus(lists.with_structures(traces=Traces.joined(models)), "GDT-TS")


@pytest.mark.parametrize(
    ("odd", "text"),
    [
        (
            model(10),
            r"1 model of other amino acids than most in the list \(list 't', item 3: 10 is M, in most G",
        ),
        (
            model(100),
            r"1 model with less than half of the residues of most others in the list \(list 't', item 3",
        ),
        (model(sequence=SEQUENCE[::-1]), r"1 model of other amino acids .*item 3: 1 is V, in most M"),
    ],
)
def test_a_model_of_other_numbers_or_sequence_is_noted(odd, text):
    with pytest.warns(DataNote, match=text):
        values(model(), model(), odd, model())


def test_a_part_a_mutation_and_chains_of_poly_alanine_are_not_noted():
    part = model(sequence=SEQUENCE[:8])
    mutated = model(sequence=SEQUENCE[:9] + "A" + SEQUENCE[10:])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        values(model(), model(), part, mutated, model(sequence="A" * len(SEQUENCE)))
