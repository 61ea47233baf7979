"""Consensus features against pairs looked at one by one."""

from collections import Counter

import numpy as np
import pytest

from rerank.core.errors import ConfigError, DataError, DataNote
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.extensions.decision import utilities as module
from rerank.extensions.decision.consensus import consensus
from rerank.formats import load
from rerank.metrics.base import parse


def lists_of(texts, group):
    return CandidateLists(
        np.cumsum([0, *group]).astype(np.int64),
        CandidateLists.from_arrays(np.arange(2.0 * len(texts)).reshape(-1, 2) ** 1.5).features,
        texts=StringColumn.from_strings(texts),
        feature_names=["a", "b"],
    )


def some_lists(seed=0):
    rng = np.random.default_rng(seed)
    group = [1, 2, 5, 7]
    texts = [" ".join(rng.choice(["x", "y", "z", "w"], rng.integers(0, 8))) for _ in range(sum(group))]
    texts[4] = texts[3]
    return lists_of(texts, group)


def grams(text, n):
    words = text.split()
    return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))


def precision(candidate, other, n):
    mine, theirs = grams(candidate, n), grams(other, n)
    total = sum(mine.values())
    return sum(min(c, theirs[g]) for g, c in mine.items()) / total if total else 0.0


def slow(lists, similarity, statistic):
    out = np.zeros(lists.n_items)
    for i in range(lists.n_lists):
        items = range(lists.offsets[i], lists.offsets[i + 1])
        for c in items:
            values = [similarity(c, o) for o in items if o != c]
            if values:
                out[c] = np.mean(values) if statistic == "mean" else np.median(values)
    return out


@pytest.mark.parametrize("statistic", ["mean", "median"])
@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_ngram_precision_of_every_other(n, statistic, monkeypatch):
    lists = some_lists()
    texts = list(lists.texts)
    expected = slow(lists, lambda c, o: precision(texts[c], texts[o], n), statistic)
    np.testing.assert_allclose(consensus(lists, f"ngram{n}", statistic), expected, atol=1e-15)
    monkeypatch.setattr(module, "_PAIRS", 10)  # batches of one list change nothing
    np.testing.assert_allclose(consensus(lists, f"ngram{n}", statistic), expected, atol=1e-15)


def test_a_metric_of_every_other():
    lists = some_lists(1)
    texts = list(lists.texts)

    def value(c, o):
        one = lists_of([texts[c]], [1])
        one = CandidateLists(
            one.offsets, one.features, texts=one.texts, references=(StringColumn.from_strings([texts[o]]),)
        )
        return parse("sBLEU").prepare(one).item_values()[0]

    np.testing.assert_allclose(consensus(lists, "sBLEU", "median"), slow(lists, value, "median"), atol=1e-12)


def test_closeness_of_a_feature():
    lists = some_lists()
    column = lists.features.column(1)
    expected = slow(lists, lambda c, o: -abs(column[c] - column[o]), "mean")
    np.testing.assert_allclose(consensus(lists, "b"), expected)


@pytest.mark.parametrize(
    ("by", "message"),
    [
        ("ngram5", "n-grams go up to 4"),
        ("AP", "judges rankings"),
        ("nDCG@3", "judges rankings"),
        ("sBLUE", "did you"),
    ],
)
def test_similarities_there_are_not(by, message):
    with pytest.raises(ConfigError, match=message):
        consensus(some_lists(), by)


def test_texts_and_the_statistic_are_checked():
    with pytest.raises(DataError, match="needs the candidates' texts"):
        consensus(CandidateLists.from_arrays(np.zeros((2, 1))), "ngram1")
    with pytest.raises(ConfigError, match="unknown statistic"):
        consensus(some_lists(), "ngram1", "mode")


def test_the_features_of_a_real_system_combination(shared_data):
    with pytest.warns(DataNote, match="by content"):
        lists = load(shared_data / "syscomb-wmt10" / "test.nbest.gz")
    for n in (1, 2, 3, 4):
        np.testing.assert_allclose(
            consensus(lists, f"ngram{n}"), lists.features.column(lists.column_of(f"Cons_{n - 1}")), atol=6e-6
        )
