"""Utilities, posteriors and expected gains against every pair and item, one by one."""

from dataclasses import replace

import numpy as np
import pytest
from reference import decision as slow

import rerank
from rerank.core.errors import ConfigError, DataError
from rerank.data.columns.forests import Forest
from rerank.data.columns.strings import StringColumn
from rerank.data.first_best import first_largest
from rerank.data.lists import CandidateLists
from rerank.extensions.decision import utilities as module
from rerank.extensions.decision.expressions import automatic, utility_of
from rerank.extensions.decision.gain import decided, expected_gains, posterior, tuned
from rerank.extensions.decision.utilities import Pairing, distinct
from rerank.metrics.base import parse
from rerank.metrics.edit import EditRate

SIZES = (1, 2, 5, 7, 3)
TEXT_METRICS = ("sBLEU", "sBLEU(smooth=higher)", "BLEU", "chrF", "chrF++", "TER", "WER", "CER", "PER")
TREE_METRICS = ("PARSEVAL", "PARSEVAL.score", "PARSEVAL.EX", "PARSEVAL.0CB")


def texts(seed, sizes=SIZES, longest=8):
    """Texts with an empty one, and equal ones in a list."""
    rng = np.random.default_rng(seed)
    n = sum(sizes)
    found = [" ".join(rng.choice(["x", "y", "Zz", "w,"], rng.integers(0, longest))) for _ in range(n)]
    found[4] = found[3]
    found[5] = ""
    return found


def trees(seed, sizes=SIZES):
    """Binary trees over the words of their list, with punctuation, equal ones, and a missing parse."""
    rng = np.random.default_rng(seed)

    def grown(words):
        if len(words) == 1:
            return f"({rng.choice(['NN', '.', 'VB'] if words[0] == '.' else ['NN', 'VB'])} {words[0]})"
        at = int(rng.integers(1, len(words)))
        return f"({rng.choice(['S', 'NP', 'VP'])} {grown(words[:at])} {grown(words[at:])})"

    found = []
    for size in sizes:
        words = [*"abcdefg"[: rng.integers(1, 7)], "."]
        found += [f"(TOP {grown(words)})" for _ in range(size)]
    found[4] = found[3]
    return found


def lists_of(strings, sizes=SIZES, **columns):
    lists = CandidateLists.from_arrays(np.zeros((sum(sizes), 1)), group=sizes, feature_names=["f"])
    if strings is None:
        return replace(lists, **columns)
    if strings[0][:1] == "(":
        return replace(lists, trees=Forest.from_strings(strings), **columns)
    return replace(lists, texts=StringColumn.from_strings(strings), **columns)


def slow_tables(lists, strings, value):
    return [
        np.array([[value(strings[c], strings[o]) for o in range(a, b)] for c in range(a, b)])
        for a, b in zip(lists.offsets[:-1], lists.offsets[1:], strict=True)
    ]


@pytest.mark.parametrize("batch", [None, 10])
@pytest.mark.parametrize("name", [*TEXT_METRICS, *TREE_METRICS])
def test_utilities_are_those_of_single_pairs(name, batch, monkeypatch):
    if batch:
        monkeypatch.setattr(module, "_PAIRS", batch)
        monkeypatch.setattr(module, "_TREE_PAIRS", batch)
    strings = (trees if name in TREE_METRICS else texts)(len(name))
    lists = lists_of(strings)
    expected = slow_tables(lists, strings, lambda c, o: slow.metric_of_pair(name, c, o))
    found = list(utility_of(name).tables(Pairing.within(lists)))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)


@pytest.mark.parametrize("name", ["WER", "CER", "PER"])
def test_edits_of_a_pair_are_counted_once(name, monkeypatch):
    counted, count = [], EditRate.count

    def noting(self, texts, references, offsets):
        counted.append(len(texts))
        return count(self, texts, references, offsets)

    monkeypatch.setattr(EditRate, "count", noting)
    lists = lists_of([f"a{k} b" for k in range(18)])
    tables = list(utility_of(name).tables(Pairing.within(lists)))
    assert sum(counted) == sum(n * (n + 1) // 2 for n in SIZES)
    assert [table.shape for table in tables] == [(n, n) for n in SIZES]


@pytest.mark.parametrize("name", ["kernel:gaussian(gamma=0.3)", "kernel:sst(tree)"])
def test_kernels_of_a_pair_are_computed_once(name):
    rng = np.random.default_rng(2)
    lists = CandidateLists.from_arrays(rng.normal(size=(40, 3)), group=[1, 39])
    lists = replace(lists, trees=Forest.from_strings(trees(5, (1, 39))))
    pairing = Pairing.within(lists)
    each = list(utility_of(name).tables(Pairing(lists, lists.subset([0, 1]), pairing.of)))
    for table, full in zip(utility_of(name).tables(pairing), each, strict=True):
        np.testing.assert_array_equal(table, table.T)
        np.testing.assert_allclose(table, full, rtol=1e-12)


@pytest.mark.parametrize("temperature", [0.0, 0.3, 1.0, 1e9, np.inf])
@pytest.mark.parametrize("name", [*TEXT_METRICS, "PARSEVAL", "votes"])
def test_the_choice_is_that_of_brute_force(name, temperature):
    strings = (trees if name == "PARSEVAL" else texts)(3)
    lists = lists_of(strings)
    scores = np.round(np.random.default_rng(1).normal(size=lists.n_items), 1)
    scores[3] = scores[4] = scores[3:8].max()  # tied, with equal texts
    value = (lambda c, o: float(c == o != "")) if name == "votes" else None
    tables = slow_tables(lists, strings, value or (lambda c, o: slow.metric_of_pair(name, c, o)))
    found = decided(lists, scores, utility_of(name), temperature)
    chosen = first_largest(found, lists.offsets)
    for i, table in enumerate(tables):
        here = slice(lists.offsets[i], lists.offsets[i + 1])
        probabilities = slow.softmax(scores[here].tolist(), temperature)
        np.testing.assert_allclose(posterior(lists, scores, temperature)[here], probabilities, atol=1e-12)
        expected = slow.gains(table, probabilities)
        np.testing.assert_allclose(found[here], expected, atol=1e-9)
        gap = sorted(expected)[-2:]
        if len(gap) == 1 or gap[1] - gap[0] > 1e-9:
            assert chosen[i] - lists.offsets[i] == slow.choice(expected)


def test_equal_texts_add_up_their_probabilities_and_the_first_is_chosen():
    lists = lists_of(["a b", "c d", "c d", "c e"], sizes=(4,))
    scores = np.log([0.4, 0.15, 0.25, 0.2])
    found = decided(lists, scores, utility_of("votes"))
    np.testing.assert_allclose(found, [0.4, 0.4, 0.4, 0.2])
    once = decided(lists_of(["a b", "c d", "c e"], sizes=(3,)), np.log([0.4, 0.4, 0.2]), utility_of("WER"))
    twice = decided(lists, scores, utility_of("WER"))
    np.testing.assert_allclose(twice[[0, 1, 3]], once)
    assert twice[1] == twice[2]
    assert first_largest(twice, lists.offsets)[0] == 1


def test_huge_scores_and_gaps_give_probabilities():
    lists = lists_of(None, sizes=(3, 2))
    found = posterior(lists, np.array([1e300, -1e300, 1e300, -1e308, 1e308]), 1.0)
    np.testing.assert_array_equal(found, [0.5, 0, 0.5, 0, 1])


def test_given_weights_are_divided_by_their_sum_and_wmaj_is_the_special_case():
    rng = np.random.default_rng(5)
    sizes = (6, 1, 4)
    weights = rng.random(11)
    answers = [str(a) for a in rng.integers(0, 3, 11)]
    answers[8] = ""  # does not vote
    right = np.array([float(a == "1") for a in answers])
    lists = CandidateLists.from_arrays(np.zeros((11, 1)), right, group=sizes, answers=answers)
    gains = decided(lists, weights, utility_of("votes"), kind="given")
    for i, (a, b) in enumerate(zip(lists.offsets[:-1], lists.offsets[1:], strict=True)):
        for c in range(a, b):
            votes = sum(weights[o] for o in range(a, b) if answers[o] == answers[c] != "")
            assert gains[c] == pytest.approx(votes / weights[a:b].sum()), i
    chosen = right[first_largest(gains, lists.offsets)].mean()
    assert chosen == pytest.approx(rerank.evaluate(lists, weights, ["wmaj"])["wmaj"])


@pytest.mark.parametrize(
    ("kind", "scores", "message"),
    [
        ("softmax", [0.0, np.nan, 1.0], r"found nan, expected finite scores"),
        ("softmax", [0.0, np.inf, 1.0], r"found inf, expected finite scores"),
        ("given", [0.0, 0.0, 1.0], r"list '1': every weight is 0, expected one above 0"),
        ("given", [0.5, -0.5, 1.0], r"found -0.5, expected weights of 0 or more"),
    ],
)
def test_posteriors_that_there_are_not(kind, scores, message):
    with pytest.raises(DataError, match=message):
        posterior(lists_of(None, sizes=(2, 1)), np.array(scores), 1.0, kind)


@pytest.mark.parametrize("temperature", [-1.0, np.nan])
def test_temperatures_that_there_are_not(temperature):
    with pytest.raises(ConfigError, match="temperature: found"):
        posterior(lists_of(None, sizes=(2,)), np.zeros(2), temperature)


def test_pseudo_references_from_other_lists_with_the_same_ids():
    ids = StringColumn.from_strings
    own = lists_of(["a b", "a c", "x"], sizes=(2, 1), list_ids=ids(["p", "q"]))
    others = lists_of(["x", "y z", "a c", "a d", "a e"], sizes=(2, 3), list_ids=ids(["q", "p"]))
    scores = np.array([1.0, 0.5, 0.3, 0.2, 0.1])
    found = decided(own, scores, utility_of("WER"), 2.0, others=others)
    weights = slow.softmax([0.3, 0.2, 0.1], 2.0)
    expected = [
        sum(p * slow.metric_of_pair("WER", c, o) for p, o in zip(weights, ("a c", "a d", "a e"), strict=True))
        for c in ("a b", "a c")
    ]
    np.testing.assert_allclose(found[:2], expected)
    with pytest.raises(DataError, match=r"1 of 2 lists of .* have no list there \(the first is 'p'\)"):
        decided(own, scores[:2], utility_of("WER"), others=others.subset([0]))
    with pytest.raises(DataError, match="two lists have the same id"):
        decided(own, scores, utility_of("WER"), others=replace(others, list_ids=ids(["p", "p"])))
    with pytest.raises(DataError, match="found no list ids"):
        decided(own, scores, utility_of("WER"), others=replace(others, list_ids=None))


def test_kernels_and_features_are_utilities():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5, 2))
    lists = CandidateLists.from_arrays(X, group=[3, 2], feature_names=["a", "b"])
    (first, second) = utility_of("kernel:gaussian(gamma=0.5)").tables(Pairing.within(lists))
    for c in range(3):
        for o in range(3):
            assert first[c, o] == pytest.approx(np.exp(-0.5 * np.sum((X[c] - X[o]) ** 2)))
    assert second.shape == (2, 2)
    (first, _) = utility_of("feature:b").tables(Pairing.within(lists))
    np.testing.assert_allclose(first, -np.abs(X[:3, 1][:, None] - X[:3, 1]))


def test_structures_are_as_similar_to_themselves_as_can_be():
    from reference.everything import judged_lists

    lists = judged_lists(4, sizes=(5, 1, 2))
    lengths = lists.traces.lengths
    for name, largest in (("GDT-TS", 100.0), ("TM", 1.0)):
        tables = utility_of(name).tables(Pairing.within(lists))
        for table, a, b in zip(tables, lists.offsets[:-1], lists.offsets[1:], strict=True):
            np.testing.assert_array_equal(np.diag(table), np.where(lengths[a:b] > 0, largest, 0))
            np.testing.assert_allclose(table, table.T)
            assert table.max() <= largest


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("AP", "judges rankings"),
        ("label@1", "compares a candidate with no other one"),
        ("sBLUE", "did you mean"),
        ("ngram7", "n-grams go up to 4"),
        ("kernel:nothing", "nothing"),
        ("matrix:/nowhere/at/all.tsv", "no such file or folder"),
    ],
)
def test_utilities_that_there_are_not(text, message):
    with pytest.raises(ConfigError, match=message):
        utility_of(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sBLEU", "needs the candidates' texts, there are none"),
        ("PARSEVAL", "needs the candidates' trees, there are none"),
        ("votes", "votes need the candidates' answers or texts"),
        ("feature:g", "no feature 'g'"),
        ("GDT-TS", "no structures to compare"),
    ],
)
def test_lists_that_lack_what_is_compared(text, message):
    with pytest.raises(DataError, match=message):
        decided(lists_of(None), np.zeros(sum(SIZES)), utility_of(text))


def test_auto_stands_for_the_first_column_that_is_there():
    lists = lists_of(texts(0))
    assert automatic(lists) == "sBLEU"
    assert automatic(replace(lists, answers=lists.texts)) == "votes"
    assert automatic(lists_of(trees(0), texts=lists.texts)) == "PARSEVAL"
    assert automatic(lists_of(None)) == "kernel:gaussian"


def test_distinct_items_are_the_first_of_each_content():
    column = StringColumn.from_strings(["b", "a", "b", "b", "b", "a"])
    firsts, places = distinct(column, np.array([0, 4, 6]))
    assert [list(one) for one in firsts] == [[0, 1], [4, 5]]
    assert places.tolist() == [0, 1, 0, 0, 0, 1]
    forest = Forest.from_strings(["(A (B b))", "(A b)", "(A (B b))"])
    firsts, places = distinct(forest, np.array([0, 3]))
    assert (firsts[0].tolist(), places.tolist()) == ([0, 1], [0, 1, 0])


def test_the_scores_decide_unless_a_temperature_is_better():
    lists = lists_of(["a", "b", "a", "c", "a", "b"], sizes=(3, 3))
    labels = np.array([0.0, 1, 0, 0, 0, 1])
    judge = parse("label@1").prepare(lists.replace_labels(labels))
    tables = list(utility_of("votes").tables(Pairing.within(lists)))
    found = tuned(lists, labels, tables, judge)
    assert (found.temperature, found.value, found.without) == (None, 1.0, 1.0)
    votes = np.array([1.0, 0.9, 1.0, 0.0, 0.9, 1.0])  # the first list is lost, whatever the temperature is
    assert tuned(lists, votes, tables, judge).temperature is None
    lists = lists_of(["a", "b", "b", "c"], sizes=(4,))
    judge = parse("label@1").prepare(lists.replace_labels(np.array([0.0, 1, 1, 0])))
    tables = list(utility_of("votes").tables(Pairing.within(lists)))
    scores = np.array([1.0, 0.9, 0.9, 0.0])
    found = tuned(lists, scores, tables, judge)
    assert (found.value, found.without) == (1.0, 0.0)
    gains = expected_gains(tables, Pairing.within(lists), posterior(lists, scores, found.temperature))
    assert gains.argmax() == 1
    lower = [value for temperature, value in found.tried if temperature < found.temperature]
    assert all(value < 1 for value in lower)


def test_lists_whose_scores_are_all_equal_have_equal_probabilities_to_try():
    lists = lists_of(["a", "b", "b"], sizes=(3,))
    judge = parse("label@1").prepare(lists.replace_labels(np.array([0.0, 1, 1])))
    tables = list(utility_of("votes").tables(Pairing.within(lists)))
    assert tuned(lists, np.zeros(3), tables, judge).temperature == np.inf


@pytest.mark.parametrize("name", ["sBLEU", "BLEU(lc=1)", "chrF++", "chrF(nc=3, space=1)", "ngram2"])
def test_texts_of_other_lists_are_counted_as_the_metric_counts_them(name, monkeypatch):
    """Also of texts beyond ASCII, and if few lists are numbered at a time."""
    from rerank.extensions.decision import ngrams

    ids = StringColumn.from_strings(["p", "q"])
    own = ["É é b.", "", "\u3042 \u3044 a", "a,a a"]
    others = ["é b .", "\u3042\u3044 a", "\U0001f600 x", "A a", "a a"]
    pairing = Pairing.by_id(
        lists_of(own, sizes=(2, 2), list_ids=ids), lists_of(others, sizes=(2, 3), list_ids=ids)
    )
    found = list(utility_of(name).tables(pairing))
    monkeypatch.setattr(ngrams, "PORTION", 1)
    monkeypatch.setattr(ngrams, "_BYTES", 1)
    again = list(utility_of(name).tables(pairing))
    for k, (rows, columns) in enumerate(((own[:2], others[:2]), (own[2:], others[2:]))):
        np.testing.assert_array_equal(found[k], again[k])
        if name != "ngram2":
            expected = [[slow.metric_of_pair(name, c, o) for o in columns] for c in rows]
            np.testing.assert_allclose(found[k], expected, atol=1e-12)
