"""Evaluations: what their JSON holds, baselines, gaps, lists left out."""

import numpy as np
import pytest
from small_judging import evaluate, values

from rerank.core.errors import ConfigError, DataError
from rerank.data.lists import CandidateLists
from rerank.evaluation.judged import Judged

NAN = float("nan")


def data(n_lists: int = 30, unjudged: int = 2) -> tuple[CandidateLists, dict[str, np.ndarray]]:
    rng = np.random.default_rng(4)
    n = 8 * n_lists
    labels = rng.integers(0, 3, n).astype(float)
    labels[: 8 * unjudged] = NAN
    lists = CandidateLists.from_arrays(rng.normal(size=(n, 2)), labels, group=[8] * n_lists)
    good = np.nan_to_num(labels) + rng.normal(scale=0.5, size=n)
    return lists, {"good": good, "poor": rng.normal(size=n)}


def evaluated(**settings: object) -> Judged:
    lists, systems = data()
    lists = lists.with_first_best("input")
    return evaluate(lists, systems, ["MAP", "nDCG@5", "PairAcc"], samples=200, **settings)  # type: ignore[arg-type]


def test_json_has_the_keys_of_the_contract() -> None:
    record = evaluated().as_json()
    assert list(record) == ["lists", "items", "unjudged", "baseline", "bootstrap", "metrics", "systems"]
    assert (record["lists"], record["items"], record["unjudged"]) == (30, 240, 2)
    assert list(record["metrics"]) == ["AP", "nDCG@5", "PairAcc"]
    for metric in record["metrics"].values():
        assert list(metric) == ["signature", "first_best", "random", "oracle"]
    assert [system["name"] for system in record["systems"]] == ["good", "poor"]
    keys = ["value", "ci", "gap", "p_bootstrap", "p_wilcoxon", "wins", "ties", "losses"]
    for system in record["systems"]:
        assert list(system["metrics"]) == ["AP", "nDCG@5", "PairAcc"]
        for result in system["metrics"].values():
            assert list(result) == keys
            assert result["ci"][0] <= result["value"] <= result["ci"][1]
            assert result["wins"] + result["ties"] + result["losses"] == 28
    assert record["baseline"] == "first_best"


def test_values_gap_and_bounds_are_as_defined() -> None:
    lists, systems = data()
    lists = lists.with_first_best("input")
    record = evaluated().as_json()
    for name, scores in systems.items():
        (system,) = (system for system in record["systems"] if system["name"] == name)
        found = values(lists, scores, ["MAP", "nDCG@5", "PairAcc"])
        assert list(found) == ["MAP", "nDCG@5", "PairAcc"]
        for key, value in zip(("AP", "nDCG@5", "PairAcc"), found.values(), strict=True):
            bounds = record["metrics"][key]
            assert system["metrics"][key]["value"] == value
            gap = (value - bounds["first_best"]) / (bounds["oracle"] - bounds["first_best"])
            assert system["metrics"][key]["gap"] == pytest.approx(gap)
    first = values(lists, -np.arange(lists.n_items, dtype=float), ["AP"])["AP"]
    assert record["metrics"]["AP"]["first_best"] == first
    labels = np.nan_to_num(lists.labels, nan=-1.0)
    assert record["metrics"]["AP"]["oracle"] == values(lists, labels, ["AP"])["AP"]


def test_a_named_baseline_is_tested_against_and_not_tested() -> None:
    record = evaluated(baseline="poor").as_json()
    good, poor = (system["metrics"]["AP"] for system in record["systems"])
    assert record["baseline"] == "poor"
    assert good["p_bootstrap"] < 0.05
    assert good["wins"] > good["losses"]
    assert [poor[key] for key in ("p_bootstrap", "p_wilcoxon", "wins", "ties", "losses")] == [None] * 5


def test_without_first_best_there_is_neither_gap_nor_baseline() -> None:
    lists, systems = data()
    record = evaluate(lists, systems, ["AP"], samples=50).as_json()
    assert record["baseline"] is None
    assert record["metrics"]["AP"]["first_best"] is None
    for system in record["systems"]:
        assert system["metrics"]["AP"]["gap"] is None
        assert system["metrics"]["AP"]["p_bootstrap"] is None


def test_a_first_stage_as_good_as_the_oracle_leaves_no_gap() -> None:
    lists = CandidateLists.from_arrays(np.zeros((4, 1)), [1.0, 0.0, 2.0, 0.0], group=[2, 2])
    record = evaluate(lists.with_first_best("input"), {"s": np.zeros(4)}, ["AP"], samples=10).as_json()
    assert record["systems"][0]["metrics"]["AP"]["gap"] is None


def test_unjudged_lists_change_nothing_but_their_count() -> None:
    lists, systems = data()
    rest = lists.subset(np.arange(2, lists.n_lists))
    full = evaluate(lists, systems, ["AP", "PairAcc"], samples=50).as_json()
    part = evaluate(rest, {k: v[16:] for k, v in systems.items()}, ["AP", "PairAcc"], samples=50).as_json()
    assert part["unjudged"] == 0
    assert full["systems"] == part["systems"]
    assert full["metrics"] == part["metrics"]


def test_an_evaluation_is_the_same_twice_and_hears_its_seed() -> None:
    assert evaluated().as_json() == evaluated().as_json()
    assert evaluated(seed=1).as_json()["systems"] != evaluated(seed=2).as_json()["systems"]


def test_what_is_no_number_is_null() -> None:
    lists = CandidateLists.from_arrays(np.zeros((2, 1)), [0.0, 0.0])
    record = evaluate(lists, {"s": np.zeros(2)}, ["AP", "PairAcc"], no_relevant="skip", samples=5).as_json()
    for name in ("AP", "PairAcc"):
        assert record["metrics"][name]["oracle"] is None
        assert record["systems"][0]["metrics"][name]["value"] is None
        assert record["systems"][0]["metrics"][name]["ci"] is None


def test_per_list_rows_average_to_the_value() -> None:
    evaluation = evaluated()
    rows = list(evaluation.per_list("good"))
    assert {system for _, system, _, _ in rows} == {"good"}
    of_ap = [value for _, _, metric, value in rows if metric == "AP"]
    assert len(of_ap) == 28
    assert np.mean(of_ap) == pytest.approx(evaluation.systems["good"]["AP"].value)
    assert rows[0][0] == "3"  # the first two lists are unjudged
    assert {system for _, system, _, _ in evaluation.per_list()} == {"good", "poor", "first_best"}
    with pytest.raises(ConfigError, match="did you mean 'good'"):
        list(evaluation.per_list("goood"))


def test_wrong_usage_is_a_clear_one_line_error() -> None:
    lists, systems = data()
    with pytest.raises(ConfigError, match="unknown baseline 'god'; did you mean 'good'"):
        evaluate(lists, systems, ["AP"], baseline="god")
    with pytest.raises(ConfigError, match="call the system something else"):
        evaluate(lists, {"first_best": systems["good"]}, ["AP"])
    with pytest.raises(DataError, match="good: scores have shape"):
        evaluate(lists, {"good": np.zeros(3)}, ["AP"])
    with pytest.raises(ConfigError, match="samples"):
        evaluate(lists, systems, ["AP"], samples=0)
    unjudged = CandidateLists.from_arrays(np.zeros((2, 1)), [NAN, NAN])
    with pytest.raises(DataError, match="no list has a judged item"):
        evaluate(unjudged, {"s": np.zeros(2)}, ["AP"])
