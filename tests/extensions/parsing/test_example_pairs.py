"""Pairs of examples from Python: what they become, and what mistakes are reported as."""

import numpy as np
import pytest

from rerank import CandidateLists, DataError, DataNote, preference_pairs
from rerank.data.columns.forests import Forest

GOOD = ["(S (NP dogs) (VP bark))", "(S cats)"]
BAD = ["(S (NP bark) (NP dogs))", None]


class Labelled(list):
    """A tree as NLTK has them."""

    def label(self):
        return "S"


def named(question, passage):
    return {"question": question, "passage": passage}


def test_trees_become_lists_of_two():
    pairs = preference_pairs(GOOD, BAD)
    assert pairs.offsets.tolist() == [0, 2, 4]
    assert pairs.labels.tolist() == [1, 0, 1, 0]
    assert list(pairs.trees.to_strings()) == [GOOD[0], BAD[0], GOOD[1], ""]
    assert pairs.n_features == 0
    assert not pairs.structures


def test_every_kind_of_tree_is_taken():
    other = [["S", ["NP", "bark"], ["NP", "dogs"]], ""]
    assert preference_pairs([GOOD[0], Labelled(["cats"])], other).trees == preference_pairs(GOOD, BAD).trees
    assert preference_pairs(Forest.from_strings(GOOD), BAD).trees == preference_pairs(GOOD, BAD).trees


def test_named_trees_and_features():
    better = [named("(Q who)", GOOD[0]), {"tree": "(S x)"} | named("(Q what)", GOOD[1])]
    better[0]["tree"] = None
    worse = [{"tree": "(S y)"} | named("(Q who)", BAD[0]), {"tree": ""} | named("(Q what)", BAD[1])]
    pairs = preference_pairs(better, worse, features=([[1, 2], [3, 4]], np.array([[5, 6], [7, 8]])))
    assert pairs.tree_names() == ["tree", "question", "passage"]
    assert list(pairs.forest("question").to_strings()) == ["(Q who)", "(Q who)", "(Q what)", "(Q what)"]
    assert list(pairs.trees.to_strings()) == ["", "(S y)", "(S x)", ""]
    assert pairs.features.to_dense().tolist() == [[1, 2], [5, 6], [3, 4], [7, 8]]
    assert preference_pairs(GOOD, BAD, features=([[1], [2]], [[3], [4]]), feature_names=["a"]).names() == [
        "a"
    ]


def test_equal_examples_are_reported():
    with pytest.warns(DataNote, match=r"1 of 2 have two equal examples, the first is pair 2"):
        preference_pairs(["(S a)", "(S b)"], ["(S b)", "(S b)"])
    preference_pairs(["(S a)"], ["(S a)"], features=([[1]], [[2]]))  # not equal: warnings are errors


@pytest.mark.parametrize(
    ("better", "worse", "features", "message"),
    [
        ("(S a)", ["(S b)"], None, "better: found one str, expected a sequence of examples"),
        (["(S a)"], named("(S a)", ""), None, "worse: found one dict, expected a sequence"),
        (Labelled(["a"]), ["(S b)"], None, "better: found one Labelled"),
        (3, ["(S b)"], None, "better: found int, expected a sequence"),
        (GOOD, BAD[:1], None, "found 2 better examples and 1 worse ones"),
        ([], [], None, "found no examples"),
        (GOOD, [BAD[0], named("", "")], None, "pair 2, worse: found question, passage, expected tree"),
        ([{}], [{}], None, "pair 1, better: found no trees, expected a tree"),
        ([{"tree": "(S a)", "label": 1}], [{"tree": "(S b)"}], None, "pair 1, better: found 'label'; better"),
        (GOOD, [BAD[0], "(S"], None, "pair 2, worse, tree: found brackets that are not closed"),
        (GOOD, [BAD[0], 7], None, "pair 2, worse, tree: found int, expected a string in brackets"),
        ([{"a b": "(S a)"}], [{"a b": "(S b)"}], None, "pairs: .*a b"),
        ([{1: "(S a)"}], [{1: "(S b)"}], None, "pair 1, better: found the name 1, expected text"),
        (GOOD, BAD, np.zeros((4, 2)), "features: found ndarray of 4, expected two arrays"),
        (GOOD, BAD, ([[1], [2]], [[1]]), r"features of worse examples have shape \(1, 1\), expected \(2, n"),
        (GOOD, BAD, ([[1], [2]], [[1, 2], [3, 4]]), r"features have shapes \(2, 1\) and \(2, 2\)"),
        (GOOD, BAD, ([["x"], ["y"]], [[1], [2]]), "features of better examples must be numbers"),
    ],
)
def test_mistakes_are_errors_of_one_line(better, worse, features, message):
    with pytest.raises(DataError, match=message) as error:
        preference_pairs(better, worse, features=features)
    assert "\n" not in str(error.value)


def test_lists_of_several_candidates_take_the_same_trees():
    rows = [["S", ["NP", "a"]], "(S b)", Labelled(["c"])]
    lists = CandidateLists.from_arrays(
        None, [1, 0, 0], trees=rows, structures={"question": [None, "", "(Q x)"]}
    )
    assert list(lists.trees.to_strings()) == ["(S (NP a))", "(S b)", "(S c)"]
    assert list(lists.forest("question").to_strings()) == ["", "", "(Q x)"]
    with pytest.raises(DataError, match="arrays: tree: tree 2: found int"):
        CandidateLists.from_arrays(None, [1, 0], trees=["(S a)", 5])
    with pytest.raises(DataError, match="arrays: question: trees: found one str"):
        CandidateLists.from_arrays(None, [1], structures={"question": "(S a)"})
