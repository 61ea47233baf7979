"""Measures straight from dictionaries, against lists made of them and against pytrec_eval."""

import functools
import operator
import random
import warnings
from typing import Any

import pytest
import pytrec_eval

import rerank
from rerank.core.errors import DataNote, RerankError
from rerank.evaluation import mappings
from rerank.evaluation.mappings import values_of_mappings

METRICS = [
    "AP",
    "AP@3",
    "AP(rel=2)",
    "RR",
    "RR@2",
    "P@3",
    "P(rel=2)@1",
    "R@3",
    "R@5",
    "Rprec",
    "Rprec(rel=2)",
]
METRICS += ["Success@2", "Success(rel=2)@5", "nDCG", "nDCG@3", "nDCG@10"]
THEIRS = {"map": "AP", "recip_rank": "RR", "Rprec": "Rprec", "ndcg": "nDCG", "P_5": "P@5", "recall_5": "R@5"}
THEIRS |= {"map_cut_5": "AP@5", "ndcg_cut_5": "nDCG@5", "success_5": "Success@5"}
ASKED = {"map", "recip_rank", "Rprec", "ndcg", "P.5", "recall.5", "map_cut.5", "ndcg_cut.5", "success.5"}


def drawn(rng: random.Random, most: int, labels: list[Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return judgements and a run: ties, also of float32 alone, unjudged and unretrieved documents."""
    qrels: dict[str, Any] = {}
    run: dict[str, Any] = {}
    scores = [0.5, 1, -3.0, 1e-9, 0.1, 0.1 + 1e-12, 7, -0.0, 0.0, 2**60]
    for q in range(rng.randrange(1, 12)):
        names = rng.sample([f"d{k}" for k in range(2 * most)] + ["D", "d", "d 1", "~", "d1" * 9], most)
        chosen = names[: rng.randrange(1, most + 1)]
        run[f"q{q}"] = {d: rng.choice([*scores, rng.gauss(0, 1)]) for d in chosen}
        judged = rng.sample(names, rng.randrange(1, most))
        qrels[f"q{q}"] = {d: rng.choice(labels) for d in judged}
    order = rng.sample(list(qrels), len(qrels))
    return {q: qrels[q] for q in order}, run


def both_ways(
    monkeypatch: pytest.MonkeyPatch, qrels: Any, run: Any, metrics: Any
) -> tuple[Any, list[str], bool]:
    """Return what lists give, or the error, and the notes; check that evaluate gives the same.

    The last value is whether that came straight from the dictionaries.
    """
    outcomes = []
    straight = []
    for general in (True, False):

        def through(*args: Any, general: bool = general) -> Any:
            found = None if general else values_of_mappings(*args)
            straight.append(found is not None)
            return found

        monkeypatch.setattr(mappings, "values_of_mappings", through)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", DataNote)
            try:
                found = rerank.evaluate(qrels, run, metrics)
                stated = [dict(found), found.signatures, found.digits]
            except RerankError as error:
                stated = [type(error), str(error)]
            outcomes.append((repr(stated), [str(note.message) for note in caught]))
    assert outcomes[0] == outcomes[1]
    return stated, outcomes[0][1], straight[-1]


@pytest.mark.parametrize("most", [2, 12, 200])
def test_equal_to_lists(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    rng = random.Random(most)
    straight = 0
    for _ in range(40 if most < 100 else 8):
        qrels, run = drawn(rng, most, [0, 1, 2, 3.5, -1, 0.5] if rng.random() < 0.8 else [0, 1])
        metrics = rng.sample(METRICS, rng.randrange(1, len(METRICS)))
        _, notes, quick = both_ways(monkeypatch, qrels, run, metrics)
        straight += quick
        assert not (quick and notes)
    assert straight > 3
    assert both_ways(monkeypatch, {"q": {"a": 1}}, {"q": {"a": 1}}, None)[2]


@pytest.mark.parametrize("seed", range(12))
def test_equal_to_pytrec_eval(seed: int) -> None:
    rng = random.Random(seed)
    qrels, run = drawn(rng, 30, [0, 1, 2, 3, -1])
    for judged in qrels.values():
        judged["far"] = 1
    qrels[next(iter(run))] |= dict.fromkeys(next(iter(run.values())), 1)
    run = {q: {d: float(score) for d, score in found.items()} for q, found in run.items()}
    found = values_of_mappings(qrels, run, list(THEIRS.values()))
    assert found is not None
    by_query = pytrec_eval.RelevanceEvaluator(qrels, ASKED).evaluate(run)
    for theirs, ours in THEIRS.items():
        for query in run:  # to the last bit
            alone = values_of_mappings({query: qrels[query]}, {query: run[query]}, ours)
            if alone is not None:
                assert alone[ours] == by_query[query][theirs], ours
        # One after the other: from Python 3.12 on, sum() keeps what rounding loses.
        total = functools.reduce(operator.add, (by_query[q][theirs] for q in run))
        assert found[ours] == total / len(run)


PLAIN = {"q": {"a": 1, "b": 0}, "p": {"c": 2}}
RUN = {"q": {"a": 0.5, "z": 0.7}, "p": {"c": 1.0}}


class Text(str):
    pass


@pytest.mark.parametrize(
    ("qrels", "run", "metrics"),
    [
        ({**PLAIN, "r": {"a": 1}}, RUN, ["AP"]),
        (PLAIN, {**RUN, "r": {"a": 1.0}}, ["AP"]),
        ({**PLAIN, "r": {"a": 1}}, {**RUN, "s": {"a": 1.0}}, ["AP"]),
        ({"q": {"x": 1}, "p": {"c": 2}}, {"q": {"a": 1}, "p": {"d": 1}}, ["AP"]),
        ({"q": {"a": 0}}, {"q": {"a": 1}}, ["AP"]),
        (PLAIN, {**RUN, "p": {}}, ["AP"]),
        ({**PLAIN, "p": {}}, RUN, ["AP"]),
        ({}, {}, ["AP"]),
        (PLAIN, {**RUN, "p": {"": 1.0, "c": 1.0}}, ["AP"]),
        (PLAIN, {**RUN, "p": {"ä": 1.0, "c": 1.0}}, ["AP"]),
        (PLAIN, {**RUN, "p": {"\ud800": 1.0}}, ["AP"]),
        (PLAIN, {**RUN, "p": {1: 1.0}}, ["AP"]),
        (PLAIN, {**RUN, "p": {1: 1.0, "1": 2.0}}, ["AP"]),
        ({**PLAIN, "p": {1: 1.0, "1": 2.0}}, {**RUN, "p": {"1": 1}}, ["AP"]),
        (PLAIN, {**RUN, "p": {Text("c"): 1.0}}, ["AP"]),
        (PLAIN, {**RUN, "p": {"c": float("nan")}}, ["AP"]),
        (PLAIN, {**RUN, "p": {"c": float("inf")}}, ["AP"]),
        (PLAIN, {**RUN, "p": {"c": 1e300, "d": 1e200}}, ["AP"]),
        (PLAIN, {**RUN, "p": {"c": 10**400}}, ["AP"]),
        (PLAIN, {**RUN, "p": {"c": "1.5"}}, ["AP"]),
        (PLAIN, {**RUN, "p": {"c": None}}, ["AP"]),
        (PLAIN, {**RUN, "p": {"c": True}}, ["AP"]),
        (PLAIN, {**RUN, "p": [("c", 1)]}, ["AP"]),
        ({**PLAIN, "p": {"c": float("nan")}}, RUN, ["AP"]),
        ({**PLAIN, "p": {"c": 1e200}}, RUN, ["nDCG"]),
        ({**PLAIN, "p": {"c": 1e308, "d": 1e308}}, RUN, ["nDCG"]),
        (PLAIN, RUN, ["ndcg@10"]),
        (PLAIN, RUN, ["nDCG-exp"]),
        (PLAIN, RUN, ["bpref"]),
        (PLAIN, RUN, ["BLEU"]),
        (PLAIN, RUN, ["APP"]),
        (PLAIN, RUN, []),
        (PLAIN, RUN, [5]),
        ({"q": {f"d{k}": 1 for k in range(1025)}}, {"q": {"d1": 1.0}}, ["AP"]),
    ],
)
def test_what_is_not_plain_goes_the_general_way(
    monkeypatch: pytest.MonkeyPatch, qrels: Any, run: Any, metrics: Any
) -> None:
    try:
        assert not both_ways(monkeypatch, qrels, run, metrics)[2]
    except (AttributeError, TypeError):
        assert metrics == [5]


def test_plain_ones_go_straight(monkeypatch: pytest.MonkeyPatch) -> None:
    wide = {"q": {f"d{k}": k for k in range(1024)}}
    for qrels, run in ((PLAIN, RUN), (wide, wide), (PLAIN, {"p": {"c": 2**62}, "q": {"b": -3e38}})):
        assert both_ways(monkeypatch, qrels, run, ["AP", "nDCG", "P@2000", "AP"])[2]
