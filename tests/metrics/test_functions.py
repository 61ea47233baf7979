"""Metrics as functions of plain sequences: what rerank.evaluate gives, under each metric's name."""

import doctest
import importlib
import inspect
import pkgutil
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import sacrebleu

import rerank
import rerank.metrics.bleu  # must not hide the function
from rerank import metrics
from rerank.core.errors import ConfigError, DataError
from rerank.metrics.base import FAMILIES
from rerank.metrics.functions import names

LABELS, SCORES = [[1, 0, 2], [0, 1, 0, 1]], [[0.1, 0.2, 0.9], [0.8, 0.3, 0.2, 0.1]]
HYPS = ["the cat sat on the mat", "it is raining cats", "dogs are here"]
REFS = ["the cat sat on a mat", "it is raining cats and dogs", "here are the dogs"]
OTHERS = ["a cat sat on a mat", "it rains", "dogs"]


@pytest.mark.filterwarnings("ignore:.*clashes:rerank.core.errors.DataNote")
@pytest.mark.filterwarnings("ignore:.*alpha carbons alone:rerank.core.errors.DataNote")
@pytest.mark.filterwarnings("ignore:ERR@1. max is the largest label:rerank.core.errors.DataNote")
@pytest.mark.parametrize("name", sorted(set(names().values())))
def test_every_family_is_a_function_with_the_value_of_evaluate(name):
    kind = FAMILIES.get(name)
    function = next(getattr(metrics, one) for one, family in names().items() if family == name)
    assert kind.summary in inspect.getdoc(function)
    assert set(kind.settings) - {"cutoff"} <= set(inspect.signature(function).parameters)
    cutoff = "cutoff" in kind.settings
    options, metric = ({"k": 1}, f"{name}@1") if cutoff else ({}, name)
    if kind.of_classes:
        gold, predicted = ["1", "2", "3"], ["1", "3", "2"]
        lists = rerank.CandidateLists.from_arrays(np.empty((3, 0)), classes=gold)
        assert function(gold, predicted) == rerank.evaluate(lists, predicted, [name])[name]
    elif kind.needs == ("labels",):
        assert function(LABELS, SCORES, **options) == rerank.evaluate(LABELS, SCORES, metric)[metric]
    elif "texts" in kind.needs:
        expected = rerank.evaluate([[text] for text in HYPS], [0, 0, 0], metric, refs=REFS)[metric]
        assert function(HYPS, REFS, **options) == expected
    elif "natives" in kind.needs:
        rng = np.random.default_rng(0)
        natives = [rng.normal(0, 5, (n, 3)) for n in (9, 4)]
        models = [xyz + rng.normal(0, 1, xyz.shape) for xyz in natives]
        lists = rerank.CandidateLists.from_arrays(None, traces=models, natives=natives, group=[1, 1])
        assert function(models, natives) == rerank.evaluate(lists, [0.0, 0.0], name)[name] > 0
    else:
        trees = ["(S (NP (N dog)) (V barks))"]
        parses = rerank.CandidateLists.from_arrays(None, trees=trees, group=[1])
        parses = replace(parses, gold=parses.trees)
        assert function(trees, trees) == rerank.evaluate(parses, [0.0], name)[name]


def test_references_in_every_shape():
    expected = sacrebleu.corpus_bleu(HYPS, [REFS, OTHERS], tokenize="none").score
    assert metrics.bleu(HYPS, [REFS, OTHERS]) == pytest.approx(expected, abs=1e-12)
    assert metrics.bleu(HYPS, list(zip(REFS, OTHERS, strict=True))) == metrics.bleu(HYPS, [REFS, OTHERS])
    assert metrics.bleu(pd.Series(HYPS), np.array(REFS)) == metrics.bleu(HYPS, [REFS])
    assert metrics.bleu(["a b"], ["a c"]) == metrics.bleu(["a b"], [["a c"]])
    square = [REFS[:2], OTHERS[:2]]
    assert metrics.wer(HYPS[:2], square, streams=True) == metrics.wer(
        HYPS[:2], list(zip(*square, strict=True)), streams=False
    )
    several = [[hyp, ref] for hyp, ref in zip(HYPS, REFS, strict=True)]
    assert metrics.wer(several, REFS, scores=[[0, 1]] * 3) == 0.0


def test_flat_sequences_and_settings():
    flat = [label for row in LABELS for label in row]
    scores = [score for row in SCORES for score in row]
    assert metrics.ndcg(flat, scores, group=[3, 4], k=2) == metrics.ndcg(LABELS, SCORES, k=2)
    assert metrics.ndcg(flat, scores, qid=list("aaabbbb"), k=2) == metrics.ndcg(LABELS, SCORES, k=2)
    assert metrics.ap(flat, scores, group=[3, 4], rel=2) == 0.5
    assert metrics.map is metrics.map
    assert metrics.map(LABELS, SCORES) == metrics.ap(LABELS, SCORES)
    assert metrics.ndcg_exp(LABELS, SCORES, k=3) != metrics.ndcg(LABELS, SCORES, k=3)


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda: metrics.bleu("the cat", "a cat"), "hyps: found the text 'the cat', expected a sequence"),
        (lambda: metrics.bleu(HYPS, "a cat"), "refs: found the text 'a cat', expected a sequence"),
        (lambda: metrics.bleu(HYPS, REFS[:1]), "refs: found 1 entries of 1, expected one for each of 3"),
        (lambda: metrics.bleu(HYPS[:2], [REFS[:2]] * 2), "give streams=True or streams=False"),
        (lambda: metrics.bleu([HYPS], REFS), "expected their scores (scores=), too"),
        (lambda: metrics.bleu([None], ["a"]), "hyps: found None, expected a text"),
        (lambda: metrics.bleu(["a"], [[None]]), "refs: entry 1: found NoneType, expected a text"),
        (lambda: metrics.bleu(pd.Series(HYPS), pd.Series(REFS)[::-1]), "hyps and refs have different"),
        (lambda: metrics.ndcg(pd.Series([1, 0]), pd.Series([1, 2])[::-1]), "labels and scores"),
        (lambda: metrics.ndcg(LABELS, SCORES, K=3), "argument 'K'; expected ndcg(labels, scores"),
        (lambda: metrics.p(LABELS, SCORES), "missing a required argument: 'k'"),
        (lambda: metrics.ndcg(["a"], [1]), "labels: found texts, expected numbers"),
        (lambda: metrics.ndcg("good", [1]), "found the text 'good', expected the labels or the texts"),
        (lambda: metrics.ndcg(LABELS, "good"), "scores: found the text 'good', expected 7 numbers"),
        (lambda: metrics.ndcg(LABELS, SCORES, k=0), "cutoff: found 0, expected 1 or more"),
        (lambda: metrics.rmsd([np.eye(3)], [np.eye(3)] * 2), "natives: found 2 structures, expected 1"),
        (lambda: metrics.hamming(["a"], ["a", "b"]), "predicted: found 2 predictions, expected 1"),
    ],
)
def test_mistakes_are_errors_of_one_line(use, message):
    with pytest.raises((ConfigError, DataError)) as caught:
        use()
    assert message in str(caught.value)


def test_no_file_hides_a_function():
    for module in pkgutil.iter_modules(metrics.__path__):
        importlib.import_module(f"rerank.metrics.{module.name}")
    assert all(callable(getattr(metrics, name)) for name in names())
    assert {"bleu", "chrf", "ter", "ndcg", "wer", "ap"} <= set(dir(metrics))
    from rerank.metrics.bleu import Bleu  # noqa: F401

    with pytest.raises(AttributeError, match="no attribute 'ndgc'; did you mean 'ndcg'"):
        metrics.ndgc  # noqa: B018


def test_the_example_runs():
    test = doctest.DocTestParser().get_doctest(metrics.__doc__, {}, "rerank.metrics", None, None)
    assert doctest.DocTestRunner().run(test).failed == 0


def test_the_package_needs_no_import_of_its_own():
    code = "import rerank; print(rerank.metrics.wer(['a b'], ['a c']), rerank.list_similarity.__name__)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "50.0 list_similarity\n"
