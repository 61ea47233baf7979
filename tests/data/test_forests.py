"""Forests and their reader against nested tuples, on random and degenerate trees."""

import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import trees as reference

from rerank.core.errors import ConfigError, DataError
from rerank.data.columns import forests as trees
from rerank.data.columns.forests import BracketError, Forest, TreeReader
from rerank.data.columns.strings import StringColumn

STRIPS = [(), ("traces",), ("functions",), ("traces", "functions")]
FOREST = st.lists(st.one_of(st.none(), reference.trees()), max_size=6)


def nodes(forest):
    """(symbol, size) of every node, a list for each tree."""
    strings = list(forest.vocabulary)
    pairs = [(strings[s], n) for s, n in zip(forest.symbols.tolist(), forest.sizes.tolist(), strict=True)]
    return [pairs[a:b] for a, b in itertools.pairwise(forest.offsets)]


@given(FOREST, st.sampled_from(STRIPS))
def test_trees_equal_those_of_the_twin(given_trees, strip):
    texts = [reference.brackets(tree) for tree in given_trees]
    forest = Forest.from_strings(texts, strip=strip)
    expected = [reference.parse(text, strip) for text in texts]
    assert nodes(forest) == [reference.nodes(tree) for tree in expected]
    assert list(forest.to_strings()) == [reference.brackets(tree) for tree in expected]
    assert Forest.from_strings(forest.to_strings(), strip=strip) == forest
    offsets, words = forest.words()
    strings = [forest.vocabulary[s] for s in words.tolist()]
    assert [strings[a:b] for a, b in itertools.pairwise(offsets)] == [
        reference.words(tree) for tree in expected
    ]


@given(st.text(alphabet="() \tab-=", max_size=24), st.sampled_from(STRIPS))
def test_any_text_is_read_or_refused_as_by_the_twin(text, strip):
    text = "(" + text
    try:
        expected = [reference.nodes(reference.parse(text, strip))]
    except ValueError:
        expected = None
    try:
        found = nodes(Forest.from_strings([text], strip=strip))
    except BracketError:
        found = None
    assert found == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("( (S (NP a)) )", "(S (NP a))"),
        ("(((S (NP a))))", "(S (NP a))"),
        ("( (S (NP a)) (. .))", "( (S (NP a)) (. .))"),
        ("(S1\t(S\n(NP   a)))", "(S1 (S (NP a)))"),
        ("( S (NP(DT a)(NN b)))", "(S (NP (DT a) (NN b)))"),
        ("(TOP (S a))", "(TOP (S a))"),
        ("", ""),
        (" \r\n", ""),
        ("()", ""),
        ("(())", ""),
        ("(S1 ())", ""),
        ("(X \xa0)", "(X \xa0)"),
    ],
)
def test_accepted_trees(text, expected):
    assert list(Forest.from_strings([text]).to_strings()) == [expected]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(S (NP-SBJ (-NONE- *)) (VP x))", "(S (VP x))"),
        ("(S (-LRB- -LRB-) (NP=1 b) (ADVP|PRT-TMP c))", "(S (-LRB- -LRB-) (NP b) (ADVP|PRT c))"),
        ("(S (NP (-NONE- *)) (VP (-NONE- *T*-1)))", ""),
        ("(S (SBAR (-NONE- 0) (S (-NONE- *T*))) (NP a))", "(S (NP a))"),
        ("( (S (NP (-NONE- *))) (NP-LGS a))", "(NP a)"),
    ],
)
def test_stripped_trees(text, expected):
    assert list(Forest.from_strings([text], strip=["traces", "functions"]).to_strings()) == [expected]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("abc", "tree 2: found 'abc', expected a tree in brackets"),
        (")", r"found '\)'"),
        ("(", "not closed"),
        ("(S (NP a)", r"not closed: '\(S \(NP a\)'"),
        ("(S)", "without a word"),
        ("(S (NP ) (VP b))", r"without a word, before '\) \(VP b\)\)'"),
        ("(S () (VP b))", "without a word"),
        ("(S (NP a)))", r"'\)' after the tree"),
        ("(S (NP a)) (S (NP b))", r"'\(S \(NP b\)\)' after"),
        ("(S (NP a)) b", "'b' after"),
        ("(S (NP a" + "b" * 100, r"\.\.\.'"),
    ],
)
def test_faults(text, message):
    with pytest.raises(BracketError, match=message) as caught:
        Forest.from_strings(["(S (NP a))", text])
    assert caught.value.tree == 1
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)  # noqa: S301


def test_blocks_share_a_growing_vocabulary(monkeypatch):
    texts = [f"(S (NP n{i}) (X w{i % 7} an-extraordinarily-long-word-{i % 3}))" for i in range(500)]
    whole = Forest.from_strings(texts)
    reader = TreeReader()
    blocks = [Forest.from_strings([]), *(_read(reader, texts[i : i + 99]) for i in range(0, 500, 99))]
    for before, after in itertools.pairwise(blocks):
        assert list(after.vocabulary)[: len(before.vocabulary)] == list(before.vocabulary)
    assert [tree for block in blocks for tree in block.to_strings()] == texts
    assert np.concatenate([block.symbols for block in blocks]).tolist() == whole.symbols.tolist()
    monkeypatch.setattr(trees, "PORTION", 64)
    assert Forest.from_strings(texts) == whole


def _read(reader, texts):
    column = StringColumn.from_strings(texts)
    return reader.read(column.data, np.stack([column.offsets[:-1], column.offsets[1:]], axis=1))


def test_spans_may_be_anywhere_in_the_text():
    text = np.frombuffer(b"-1\t(A b)\n-2\t(C d)", dtype=np.uint8)
    forest = TreeReader().read(text, np.array([[12, 17], [3, 8], [0, 0]]))
    assert list(forest.to_strings()) == ["(C d)", "(A b)", ""]


@given(FOREST, st.data())
def test_take(given_trees, data):
    texts = [reference.brackets(tree) for tree in given_trees]
    forest = Forest.from_strings(texts)
    index = data.draw(st.lists(st.integers(0, len(texts) - 1), max_size=5) if texts else st.just([]))
    taken = forest.take(np.array(index, dtype=np.int64))
    assert list(taken.to_strings()) == [texts[i] for i in index]
    assert [forest[i] for i in range(-len(texts), len(texts))] == texts * 2


def test_a_very_deep_tree():
    text = "(X " * 50_000 + "w" + ")" * 50_000
    forest = Forest.from_strings([text])
    assert forest.sizes.tolist() == list(range(50_001, 0, -1))
    assert forest[0] == text


def test_many_brackets_without_a_label_are_dropped_at_once():
    n = 300_000
    forest = Forest.from_strings(["(" * n + "(NN dog)" + ")" * n])
    assert nodes(forest) == [[("NN", 2), ("dog", 1)]]


def test_equal_whatever_the_numbers():
    one, two = Forest.from_strings(["(A (B c))", "(B d)"]), Forest.from_strings(["(B d)", "(A (B c))"])
    assert one != two
    assert one == two.take(np.array([1, 0]))
    assert one != Forest.from_strings(["(A (B c))", "(B e)"])
    assert one != "trees"


def test_bad_arrays_are_refused():
    words = StringColumn.from_strings(["S", "a"])

    def forest(offsets, symbols, sizes):
        return Forest(np.array(offsets), np.array(symbols, np.int32), np.array(sizes, np.int32), words)

    assert forest([0, 0, 3], [0, 0, 1], [3, 2, 1])[1] == "(S (S a))"
    for offsets, symbols, sizes in (
        ([0, 3], [0, 0, 1], [3, 3, 1]),
        ([0, 3], [0, 0, 1], [2, 1, 1]),
        ([0, 3], [0, 0, 1], [3, 0, 1]),
        ([0, 3], [0, 2, 1], [3, 2, 1]),
        ([0, 3], [0, -1, 1], [3, 2, 1]),
        ([0, 4], [0, 0, 1, 1], [4, 2, 2, 1]),
        ([0, 1], [1], [1]),
        ([0, 2], [0, 0, 1], [3, 2, 1]),
        ([0, 4, 3], [0, 0, 1], [3, 2, 1]),
        ([1, 3], [0, 0, 1], [3, 2, 1]),
        ([0, 3], [0, 0, 1], [3, 2]),
    ):
        with pytest.raises(DataError):
            forest(offsets, symbols, sizes)
    with pytest.raises(DataError, match="int32"):
        Forest(np.array([0]), np.zeros(0), np.zeros(0, np.int32), words)
    with pytest.raises(DataError, match="below 0"):
        forest([0, 3], [0, 0, 1], [3, 2, 1]).take(np.array([-1]))
    with pytest.raises(ConfigError, match="did you mean 'traces'"):
        TreeReader(["trace"])


def test_a_text_too_long_for_32_bits_is_refused_unread():
    spans = np.array([[0, 8], [8, 2**31 + 8]])
    with pytest.raises(BracketError, match=r"^tree 2: found 2,147,483,648 bytes, expected at most 2,147"):
        TreeReader().read(np.frombuffer(b"(NN dog)", dtype=np.uint8), spans)
