"""Trees given as Python objects: the same forest as from brackets, and what is refused."""

import pytest

from rerank.core.errors import DataError
from rerank.data.array_inputs import forest_of
from rerank.data.columns.forests import Forest


class Tree(list):
    """What NLTK's class Tree is to us."""

    def __init__(self, label, children):
        super().__init__(children)
        self._label = label

    def label(self):
        return self._label


DOG = "(NP (DT the) (NN dog))"


def test_every_form_is_the_same_tree():
    nested = ["NP", ["DT", "the"], ("NN", "dog")]
    nltk = Tree("NP", [Tree("DT", ["the"]), Tree("NN", ["dog"])])
    chunked = Tree("NP", [("the", "DT"), ("dog", "NN")])
    forest = forest_of([DOG, nested, tuple(nested), nltk, chunked, DOG.encode()])
    assert forest == Forest.from_strings([DOG] * 6)
    assert forest_of(forest) is forest
    assert forest_of(iter([nested])) == forest_of([DOG])


def test_missing_parses_and_outer_brackets():
    forest = forest_of([None, "", [], (), "(())", ["", ["S", "x"]], Tree("", [Tree("S", ["x"])])])
    assert forest.lengths().tolist() == [0, 0, 0, 0, 0, 2, 2]
    assert len(forest_of([])) == 0


def test_subtrees_may_be_one_object():
    dog = ["NN", "dog"]
    assert forest_of([["S", dog, dog]])[0] == "(S (NN dog) (NN dog))"


def test_depth_is_not_limited():
    tree, nltk = "w", "w"
    for _ in range(50_000):
        tree, nltk = ["A", tree], Tree("A", [nltk])
    assert forest_of([tree, nltk]).lengths().tolist() == [50_001] * 2
    while isinstance(tree, list):  # Python itself frees deep lists by recursion
        tree, nltk = tree[-1], nltk[-1]


LOOP = ["S", "x"]
LOOP.append(["T", LOOP])


@pytest.mark.parametrize(
    ("trees", "message"),
    [
        (DOG, "found one str, expected a sequence of trees"),
        (Tree("S", ["x"]), "found one Tree, expected a sequence"),
        (7, "found int, expected a sequence"),
        (["NP", ["DT", "the"]], "tree 1: found 'NP', expected a tree in brackets"),
        ([DOG, 3.5], "tree 2: found float, expected a string in brackets, a tree of NLTK, or a list"),
        ([["S", ["NN", "(x"]]], r"tree 1: found the word '\(x', expected one without brackets"),
        ([["S P", "x"]], "tree 1: found the label 'S P'"),
        ([["S", "x\ty"]], "without brackets and blanks"),
        ([["S", ""]], "found an empty word"),
        ([["S", []]], "found an empty list, expected a label"),
        ([["S", [["T", "x"]]]], "found a list of 1, expected a label"),
        ([["S", 3]], "found 3, expected a label"),
        ([["S"]], "a bracket without a word"),
        ([["S", None]], "found NoneType, expected a label"),
        ([Tree(7, ["x"])], "found the label 7, expected a string"),
        ([Tree("S", [("a", "b", "c")])], "found a tuple of 3 in a tree of NLTK"),
        ([LOOP], "tree 1: found a tree that contains itself"),
    ],
)
def test_refused(trees, message):
    with pytest.raises(DataError, match=message):
        forest_of(trees)
