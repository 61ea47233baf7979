"""Tuners over shards: the model of all lists in memory, byte by byte where sums are exact."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from learners.test_line_search import drawn

import rerank
from rerank.core.errors import ConfigError, FitError, RerankError
from rerank.core.workers import parallel
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense
from rerank.data.shards.write import write_shards
from rerank.learners.sums import searches
from rerank.learners.sums.in_step import InStep
from rerank.models.base import Model
from rerank.training.data import NO_SIDE_INPUTS
from rerank.training.options import options_of
from rerank.training.pipeline import pipeline_of
from rerank.training.sums.fit import fit_shards, heading_of


def stored(lists: CandidateLists, size: int) -> int:
    """Write lists in shards of about ``size`` bytes; return how many there are."""
    blocks = (lists.subset([k]) for k in range(lists.n_lists))
    return len(write_shards(blocks, "s", size).shards)


def fitted(name: str, given: dict[str, Any]) -> Model:
    """The model of the shards."""
    pipeline = pipeline_of(options_of(name, given))
    return fit_shards(pipeline, heading_of(pipeline, "s"), None, NO_SIDE_INPUTS)


def texts(seed: int = 5, n_lists: int = 23) -> CandidateLists:
    """Lists of texts with references, whose features tell something of their labels."""
    lists = drawn(seed, n_lists=n_lists)
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(lists.n_items, 4)).round(2)
    features[:, 0] += lists.labels
    return lists.with_features(Dense(features), None)


SIZES = {10**6: 1, 4000: 2, 1200: 5}


def same(found: Model, expected: Model) -> None:
    assert found.weights.tobytes() == expected.weights.tobytes()
    own, theirs = found.training.rounds, expected.training.rounds
    assert own == theirs


@pytest.mark.parametrize("metric", ["BLEU", "WER", "chrF", "label@1"])
def test_mert_has_the_bytes_of_all_lists_in_memory(metric, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lists = texts()
    for given in ({}, {"directions": "both", "l2": 0.5, "average": 2}):
        settings = {"metric": metric, "restarts": 4, "perturbations": 1, **given}
        expected = rerank.train(lists, "mert", **settings)
        for size, n in SIZES.items():
            assert stored(lists, size) == n
            with parallel.using(2):
                same(fitted("mert", settings), expected)


@pytest.mark.parametrize("bare", [False, True])
def test_coordinate_ascent_is_that_of_all_lists_in_memory(bare, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lists = texts(3)
    if bare:  # any pairs of items are drawn
        lists = lists.replace_labels(None)
    settings = {"metric": "WER" if bare else "label@1", "restarts": 2, "scaling": "none"}
    expected = rerank.train(lists, "coordinate-ascent", **settings)
    for size in SIZES:
        stored(lists, size)
        with parallel.using(2):
            same(fitted("coordinate-ascent", settings), expected)
    settings["metric"] = "nothing"
    with pytest.raises(ConfigError, match="nothing"):
        fitted("coordinate-ascent", settings)


@pytest.mark.parametrize("given", [{}, {"value": "sentence", "shuffle": False}])
def test_mira_visits_the_lists_of_each_shard(given, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lists = texts(3, 40)
    settings = {"metric": "BLEU", "epochs": 6, **given}
    expected = rerank.train(lists, "mira", **settings)
    assert stored(lists, 10**6) == 1
    found = fitted("mira", settings)
    same(found, expected)
    assert found.curve == expected.curve
    assert stored(lists, 2000) >= 3
    one, two = fitted("mira", settings), None
    with parallel.using(2):
        two = fitted("mira", settings)
    assert one.weights.tobytes() == two.weights.tobytes()
    assert not np.array_equal(one.weights, expected.weights)
    assert one.training.rounds.kept <= 6
    best = one.curve[one.training.rounds.kept - 1]["train"]  # keep=train
    assert best == max(row["train"] for row in one.curve)
    assert best == pytest.approx(rerank.evaluate(lists, one.score(lists), ["BLEU"])["BLEU"], rel=1e-12)
    assert sum(row["updates"] for row in one.curve) > 0


def test_mira_mixes_as_its_twin(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lists = texts(4, 30)
    n = stored(lists, 1500)
    given = {"metric": "WER", "epochs": 1, "keep": "last", "shuffle": False, "init": "zero"}
    found = fitted("mira", given)
    ends = []
    for k in range(n):
        with suppress(FitError):  # a list of one candidate: its shard is left out
            ends.append(rerank.train(f"s/{k:05}.store", "mira", **given))
    assert 3 <= len(ends) < n
    sizes = [one.training.data.lists for one in ends]
    np.testing.assert_allclose(
        found.weights, np.average([one.weights for one in ends], axis=0, weights=sizes)
    )


def test_scores_that_overflow_are_an_error(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lists = texts(3)
    lists = lists.with_features(Dense(np.sign(lists.features.values) * 1.7e308), None)
    stored(lists, 4000)
    with pytest.raises(FitError, match=r"^s: the scores overflow; scale the features"):
        fitted("coordinate-ascent", {"metric": "WER", "restarts": 5, "scaling": "none"})


def test_mert_finds_the_weights_of_the_first_stage(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lists = texts()
    base = lists.features.values @ [0.5, -0.25, 0.0, 2.0] + np.repeat(np.arange(lists.n_lists), lists.lengths)
    lists = replace(lists, base_scores=base.round(5))
    settings = {"metric": "WER", "restarts": 2, "perturbations": 1}
    expected = rerank.train(lists, "mert", **settings)
    assert expected.training.rounds.init == "base"
    for size in SIZES:
        stored(lists, size)
        found = fitted("mert", settings)
        np.testing.assert_allclose(found.initial, expected.initial, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(found.weights, expected.weights, rtol=1e-9, atol=1e-12)
        assert found.training.rounds.init == "base"
    wide = lists.with_features(Dense(np.ones((lists.n_items, 201))), None)
    stored(wide, 10**7)
    with pytest.raises(
        FitError, match="201 features are too many to find the first stage's weights in shards"
    ):
        fitted("mert", settings)


def test_a_search_may_send_every_corner_or_few(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lists = texts(7, 60)
    settings = {"metric": "BLEU", "restarts": 3, "perturbations": 1}
    expected = rerank.train(lists, "mert", **settings)
    stored(lists, 4000)
    sent: list[int] = []
    counted = searches.LinePart.corners

    def corners(self: Any, *question: Any) -> Any:
        found = counted(self, *question)
        sent.append(sum(len(gamma) for gamma, _ in found))
        return found

    monkeypatch.setattr(searches.LinePart, "corners", corners)
    totals = []
    for most in (1, 40):
        monkeypatch.setattr(searches, "_LISTS_OF_BUCKET", 1)
        monkeypatch.setattr(searches, "_MOST_BUCKETS", most)
        sent.clear()
        same(fitted("mert", settings), expected)
        totals.append(sum(sent))
    assert totals[1] < 0.75 * totals[0]


def test_tasks_in_step_ask_together():
    asked: list[list[tuple[int, int]]] = []

    def answer(questions: list[tuple[int, int]]) -> list[int]:
        asked.append(questions)
        return [10 * one for _, one in questions]

    together = InStep(answer)

    def task(n: int) -> int:
        return sum(together.ask(k) for k in range(n))

    assert together.each(task, [(3,), (1,), (0,)]) == [30, 0, 0]
    assert asked == [[(0, 0), (1, 0)], [(0, 1)], [(0, 2)]]
    assert together.ask(4) == 40

    def failing(n: int) -> int:
        together.ask(n)
        raise FitError(str(n)) if n else AssertionError

    with pytest.raises(FitError, match=r"^1$"):
        together.each(failing, [(1,), (2,)])

    def gone(_: Any) -> list[int]:
        raise RerankError("the scheduler is gone")

    ended = InStep(gone)
    with pytest.raises(RerankError, match="gone"):
        ended.each(ended.ask, [(1,), (2,)])
