"""Pairwise tests of systems against their definitions, and against `evaluate`."""

import numpy as np
import pytest
from scipy import stats
from small_judging import compare_all

from rerank.core.errors import ConfigError, DataError
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.evaluation.significance import holm
from rerank.metrics.base import parse


@pytest.fixture
def judged():
    rng = np.random.default_rng(0)
    labels = (rng.random(400) < 0.3).astype(float)
    labels[:10] = np.nan
    lists = CandidateLists.from_arrays(np.zeros((400, 1)), labels, group=[10] * 40)
    noise = rng.standard_normal((3, 400))
    return lists, {
        name: n + g * np.nan_to_num(labels) for name, n, g in zip("abc", noise, (2, 1, 0), strict=True)
    }


def test_numbers_are_those_of_the_definitions(judged):
    lists, systems = judged
    found = compare_all(lists, systems, ["AP"], samples=300, seed=7)
    assert (found.n_lists, found.unjudged) == (40, 1)
    judge = parse("AP").prepare(lists)
    per_list = {name: judge.per_list(scores)[1:, 0] for name, scores in systems.items()}
    pairs = found.pairs["AP"]
    assert [(p.a, p.b) for p in pairs] == [("a", "b"), ("a", "c"), ("b", "c")]
    draws = np.random.Generator(np.random.PCG64(7)).integers(39, size=(300, 39), dtype=np.int32)
    coins = np.random.Generator(np.random.PCG64(7)).integers(2, size=(300, 39), dtype=np.int32)
    for pair in pairs:
        d = per_list[pair.a] - per_list[pair.b]
        assert pair.difference == pytest.approx(d.mean())
        sampled = d[draws].mean(axis=1)
        assert pair.ci == pytest.approx(np.quantile(sampled, [0.025, 0.975]))
        assert pair.p_bootstrap == (np.sum(np.abs(sampled - sampled.mean()) >= abs(d.mean())) + 1) / 301
        extreme = np.abs(sampled)
        assert pair.p_sacrebleu == (np.sum(extreme - extreme.mean() > abs(d.mean())) + 1) / 301
        swapped = (d * (1 - 2 * coins)).mean(axis=1)
        assert pair.p_randomisation == (np.sum(np.abs(swapped) >= abs(d.mean()) * (1 - 1e-12)) + 1) / 301
        assert pair.p_wilcoxon == pytest.approx(stats.wilcoxon(np.round(d, 12)).pvalue)
        assert pair.p_t == pytest.approx(stats.ttest_1samp(d, 0).pvalue)
        assert (pair.wins, pair.losses) == ((d > 1e-9).sum(), (d < -1e-9).sum())
    assert [p.holm for p in pairs] == holm([p.p_bootstrap for p in pairs])


def test_what_cannot_be_compared(judged):
    lists, systems = judged
    with pytest.raises(ConfigError, match="two systems"):
        compare_all(lists, {"a": systems["a"]}, ["AP"])
    bare = CandidateLists.from_arrays(np.zeros((2, 1)), [np.nan, np.nan])
    with pytest.raises(DataError, match="no list has a judged item"):
        compare_all(bare, {"a": np.zeros(2), "b": np.ones(2)}, ["AP"])


def text_lists(n_lists=120):
    """Two systems' outputs of each sentence, one somewhat better, and references."""
    rng = np.random.default_rng(5)
    words = [f"w{i}" for i in range(30)]
    references, texts = [], []
    for _ in range(n_lists):
        reference = rng.choice(words, rng.integers(5, 15)).tolist()
        references.append(" ".join(reference))
        for share in (0.2, 0.3):
            texts.append(" ".join(w if rng.random() > share else str(rng.choice(words)) for w in reference))
    return CandidateLists(
        np.arange(0, 2 * n_lists + 1, 2),
        CandidateLists.from_arrays(np.zeros((2 * n_lists, 1))).features,
        texts=StringColumn.from_strings(texts),
        references=(StringColumn.from_strings(references),),
    )


def test_the_bootstrap_is_that_of_sacrebleu():
    pytest.importorskip("sacrebleu", reason="needs rerank[mt]")
    from sacrebleu.metrics import BLEU
    from sacrebleu.significance import PairedTest

    lists = text_lists()
    texts, references = list(lists.texts), [list(lists.references[0])]
    named = [("b", texts[1::2]), ("a", texts[0::2])]
    metric = {"BLEU": BLEU(tokenize="none", force=True)}
    _, found = PairedTest(named, metric, references, test_type="bs", n_samples=1000)()
    scores = np.tile([1.0, 0.0], lists.n_lists)
    (pair,) = compare_all(lists, {"a": scores, "b": -scores}, ["BLEU"]).pairs["BLEU"]
    theirs = found["BLEU"][1]
    assert pair.value_a == pytest.approx(theirs.score, abs=1e-12)
    error = np.sqrt(theirs.p_value * (1 - theirs.p_value) / 1000)
    assert abs(pair.p_sacrebleu - theirs.p_value) <= 3 * error + 1e-12
    _, found = PairedTest(named, metric, references, test_type="ar", n_samples=1000)()
    swapped = found["BLEU"][1].p_value
    error = np.sqrt(2 * swapped * (1 - swapped) / 1000)
    assert abs(pair.p_randomisation - swapped) <= 3 * error + 1e-12
