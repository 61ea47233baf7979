"""Which residue of a model stands for which residue of the native."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rerank.data.columns.traces import Traces, chain_codes, key_of, numbers, residue_name, without_chain
from rerank.extensions.proteins.matching import first_difference, given_keys, is_uniform, partners, shift

SEQUENCE = "MKTAYIAKQRQISFVKSHFSRQLEERLGLIEVQAPILSRVGDGTQDNLSG"


def traces(*structures):
    """A column of structures, each of chains: name to residues by number (or number and insertion code)."""
    rows = [
        sorted(
            (key_of(chain, *(k if isinstance(k, tuple) else (k,))), ord(letter))
            for chain, one in of.items()
            for k, letter in one.items()
        )
        for of in structures
    ]
    offsets = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    keys = np.array([key for row in rows for key, _ in row], dtype=np.uint64)
    letters = np.array([letter for row in rows for _, letter in row], dtype=np.uint8)
    xyz = np.arange(3.0 * len(keys)).reshape(-1, 3)  # tells the residues apart
    return Traces(offsets, keys, xyz, letters)


def chain(text, first=1):
    return {first + i: letter for i, letter in enumerate(text)}


def one_list(models, native, method="number"):
    found = partners(models, native, np.array([0, len(models)]), method)
    return found, given_keys(models, native, found, np.ones(len(models), dtype=bool))


def names(column, i=0):
    return [residue_name(key) for key in column.keys[column.of(i)]]


def test_the_same_number_and_insertion_code():
    native = traces({"A": {1: "M", 2: "K", (2, "A"): "K", 4: "A"}})
    found, keyed = one_list(traces({"A": {1: "M", 2: "R", 3: "T", 4: "X"}}), native)
    assert names(keyed) == ["A:1", "A:2", "A:4"]
    assert found.of.tolist() == [0, 1, -1, 3]
    assert (found.matched[0], found.compared[0], found.equal[0]) == (3, 2, 1)
    assert found.identity[0] == 0.5


@pytest.mark.parametrize("name", ["", "A", "Z", "BB"])
def test_names_of_single_chains_do_not_matter(name):
    _, keyed = one_list(traces({name: chain("MKT")}), traces({"H": chain("MKTA")}))
    assert names(keyed) == ["H:1", "H:2", "H:3"]


@pytest.mark.parametrize("method", ["number", "sequence"])
def test_of_several_chains_the_names_must_agree(method):
    native = traces({"A": chain(SEQUENCE[:8]), "B": chain(SEQUENCE[20:28])})
    models = traces({"B": chain(SEQUENCE[20:28])}, {"C": {}, "A": chain(SEQUENCE[:8]), "D": chain("MKT")})
    found, keyed = one_list(models, native, method)
    assert set(names(keyed, 0)) == {f"B:{k}" for k in range(1, 9)}
    assert set(names(keyed, 1)) == {f"A:{k}" for k in range(1, 9)}
    assert found.matched.tolist() == [8, 8]


def test_chains_of_other_names_match_no_number():
    native = traces({"A": chain("MKT"), "B": chain("MKT")})
    found, keyed = one_list(traces({"C": chain("MKT")}), native)
    assert found.matched.tolist() == [0]
    assert keyed.lengths.tolist() == [0]
    assert found.identity.tolist() == [1.0]


def test_chains_of_other_names_are_paired_by_sequence_and_come_in_the_natives_order():
    native = traces({"H": chain(SEQUENCE[:20]), "L": chain(SEQUENCE[25:45])})
    models = traces({"A": chain(SEQUENCE[25:45], 101), "B": chain(SEQUENCE[:20], 7), "C": chain("WWW")})
    _, keyed = one_list(models, native, "sequence")
    assert names(keyed) == names(native)
    assert bytes(keyed.residues).decode() == SEQUENCE[:20] + SEQUENCE[25:45]
    assert len(np.unique(keyed.xyz[:, 0])) == 40


def test_a_shifted_model_is_matched_by_sequence():
    native = traces({"A": chain(SEQUENCE)})
    models = traces({"A": chain(SEQUENCE, 12)}, {"": chain(SEQUENCE[:30] + SEQUENCE[35:], 300)})
    found, _ = one_list(models, native)
    assert found.matched.tolist() == [39, 0]
    assert found.identity[0] < 0.3
    ours, theirs = first_difference(models, native, found, 0)
    assert (residue_name(models.keys[ours]), residue_name(native.keys[theirs])) == ("A:12", "A:12")
    found, keyed = one_list(models, native, "sequence")
    assert found.equal.tolist() == [50, 45]
    assert shift(models, native, found, 0) == (-11, 1.0)
    assert shift(models, native, found, 1) == (-299, 30 / 45)
    assert names(keyed, 1) == [f"A:{k}" for k in (*range(1, 31), *range(36, 51))]
    assert first_difference(models, native, found, 0) is None


def test_residues_that_do_not_count_have_no_partner_but_are_aligned():
    native = traces({"A": chain(SEQUENCE)})
    counted = np.zeros(50, dtype=bool)
    counted[5:10] = counted[40:] = True
    models = traces({"A": chain(SEQUENCE, 3)})
    found = partners(models, native, np.array([0, 1]), "sequence", counted)
    assert found.matched.tolist() == [15]
    assert np.flatnonzero(found.of >= 0).tolist() == [*range(5, 10), *range(40, 50)]


def test_lists_without_a_native_and_models_without_residues_stay_as_they_are():
    models = traces({"A": chain("MKT")}, {}, {"A": chain("MKT")}, {})
    native = traces({"B": chain("MKTA")}, {})
    lists = np.array([0, 2, 4])
    for method in ("number", "sequence"):
        found = partners(models, native, lists, method)
        keyed = given_keys(models, native, found, np.repeat([True, False], 2))
        assert names(keyed, 0) == ["B:1", "B:2", "B:3"]
        assert names(keyed, 2) == ["A:1", "A:2", "A:3"]
        assert keyed.lengths.tolist() == [3, 0, 3, 0]
        assert found.matched.tolist() == [3, 0, 0, 0]


def test_sequences_that_tell_nothing():
    letters = [np.frombuffer(text.encode(), dtype=np.uint8) for text in ("AAAAAAAAAG", "XX", "", "AAAAG")]
    assert [is_uniform(one) for one in letters] == [True, True, True, False]


RESIDUES = st.dictionaries(st.tuples(st.sampled_from("AB"), st.integers(-3, 6)), st.sampled_from("MKX"))


@given(st.lists(st.tuples(RESIDUES, st.lists(RESIDUES, min_size=1, max_size=3)), min_size=1, max_size=3))
def test_matching_by_number_is_that_of_dictionaries(sets):
    def column(structures):
        by_chain = [
            {c: {k: letter for (d, k), letter in one.items() if c == d} for c, _ in one} for one in structures
        ]
        return traces(*by_chain)

    natives = column([native for native, _ in sets])
    models = column([model for _, some in sets for model in some])
    lists = np.cumsum([0, *(len(some) for _, some in sets)])
    found = partners(models, natives, lists, "number")
    item = 0
    for i, (native, some) in enumerate(sets):
        here = natives.of(i)
        for model in some:
            own = models.of(item)
            item += 1
            chains = {c for c, _ in native}, {c for c, _ in model}
            (there,) = chains[0] if list(map(len, chains)) == [1, 1] else (None,)
            expected = sum((there or c, k) in native for c, k in model)
            assert found.matched[item - 1] == expected
            for row in range(own.start, own.stop):
                if found.of[row] >= 0:
                    assert here.start <= found.of[row] < here.stop
                    pair = np.array([models.keys[row], natives.keys[found.of[row]]])
                    assert len(set(numbers(pair))) == 1
                    assert there or len(set(chain_codes(pair))) == 1
                    assert len(set(without_chain(pair))) == 1
