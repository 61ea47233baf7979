"""Which lists to send to a second stage: order, costs, values at budgets, new lists."""

import json
from dataclasses import replace
from pathlib import Path

import make
import numpy as np
import pytest

import rerank as product
from rerank.core.errors import ConfigError, DataError, FormatError
from rerank.extensions.selection.budget import ExpectedGain, first_stage_values
from rerank.extensions.selection.selective import parts_of
from rerank.metrics.judging import Judging


def drawn(n_lists=60, seed=0, told=True):
    """Lists whose first stage is unsure where it is wrong (if ``told``), and a second stage that is right."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(3, 8, n_lists)
    lists = make.lists(sizes=sizes.tolist(), seed=seed, grades=(0, 1), unjudged=0.0)
    labels = np.zeros(lists.n_items)
    labels[lists.offsets[:-1] + rng.integers(0, sizes)] = 1.0
    skill = rng.choice([0.0, 4.0], n_lists) if told else np.full(n_lists, 1.0)
    first = skill[lists.list_index] * labels + rng.normal(size=lists.n_items)
    return replace(lists, labels=labels, first_best=first), labels + 0.1 * rng.normal(size=lists.n_items)


def value(lists, scores):
    return product.evaluate(lists, scores, "RR")["RR"]


@pytest.mark.parametrize("cost", ["lists", "items"])
def test_a_budget_sends_the_lists_of_largest_expected_gain_per_cost(cost):
    lists, second = drawn()
    found = product.budget(lists, second, "RR", cost=cost, budgets=[0.25, 0.5])
    costs = np.ones(60) if cost == "lists" else lists.lengths.astype(float)
    x = first_stage_values(lists, lists.first_best)
    gains = np.array(
        [
            value(lists.subset([i]), second[a:b]) - value(lists.subset([i]), lists.first_best[a:b])
            for i, (a, b) in enumerate(zip(lists.offsets[:-1], lists.offsets[1:], strict=True))
        ]
    )
    expected = np.full(60, gains.mean())
    for train, test in parts_of(lists, np.arange(60), 5, Judging().seed):
        model = ExpectedGain.fit(x[train], gains[train])
        expected[test] += model.of(x[test]) - model.mean
    np.testing.assert_allclose(found.expected * 60, expected, atol=1e-9)
    for row in found.spent:
        left, sent = row.budget * costs.sum(), np.zeros(60)
        for i in np.argsort(-expected / costs, kind="stable"):
            sent[i] = min(1.0, max(left, 0.0) / costs[i])
            left -= costs[i]
        before = value(lists, lists.input_order(lists.first_best))
        assert row.value == pytest.approx(before + (sent * gains).mean())
        assert row.random == pytest.approx(before + row.budget * gains.mean())
        assert row.gain == pytest.approx(row.value - row.random)
        assert row.lists == pytest.approx(sent.sum())
        assert row.value <= row.oracle + 1e-12
    assert found.spent[1].gain > 0.03  # what the first stage says helps
    assert found.spent[1].p < 0.05
    areas = found.areas()
    assert areas["random"] < areas["expected"] < areas["oracle"]


def test_a_first_stage_that_tells_nothing_is_no_worse_than_chance():
    """Nothing is learnt from noise: out of fold, a fitted order of no worth would be below random."""
    gains = np.random.default_rng(1).normal(size=200)
    model = ExpectedGain.fit(np.random.default_rng(2).normal(size=(200, 3)), gains)
    np.testing.assert_array_equal(model.weights, 0.0)
    lists, second = drawn(told=False)
    lists = replace(lists, first_best=np.arange(lists.n_items, dtype=float))
    row = product.budget(lists, second, "RR", budgets=[0.5]).spent[0]
    assert abs(row.gain) < 0.05
    same = product.budget(lists, lists.first_best, "RR", budgets=[0.5]).spent[0]
    assert (same.gain, same.p, same.value) == (0.0, 1.0, same.random)


def test_the_ridge_is_the_one_of_least_error_on_lists_left_out():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 3)) * [1, 100, 0]
    gains = x[:, 0] + 0.3 * rng.normal(size=40)
    found = ExpectedGain.fit(x, gains)
    z = (x - x.mean(axis=0)) / np.where(x.std(axis=0) > 0, x.std(axis=0), np.inf)

    def error(ridge):
        left = []
        for i in range(40):
            kept = np.arange(40) != i
            # The leverage form leaves the list out of the regression, not out of the mean and the scale.
            rest = gains - gains.mean()
            a = z.T @ z + ridge * np.eye(3)
            h = 1 / 40 + z[i] @ np.linalg.inv(a) @ z[i]
            left.append((rest[i] - z[i] @ np.linalg.solve(a, z.T @ rest)) / (1 - h))
            assert kept.sum() == 39
        return np.sum(np.square(left))

    best = min((1.0, 10.0, 100.0, 1000.0), key=error)
    weights = np.linalg.solve(z.T @ z + best * np.eye(3), z.T @ (gains - gains.mean()))
    np.testing.assert_allclose(found.weights, weights, rtol=1e-9)
    assert found.of(np.array([[np.inf, 0.0, 0.0]])) == found.of(np.array([[x[:, 0].max(), 0.0, 0.0]]))


def test_new_lists_and_files(rerank, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lists, second = drawn()
    new, _ = drawn(20, seed=5)
    product.save(lists, "l.store")
    product.save(replace(new, labels=None), "new.store")
    np.savetxt("s.txt", second)
    given = ("budget", "l.store", "s.txt", "-m", "RR")
    done = rerank(
        *given, "--budget", ".5", "--new", "new.store", "--per-list", "o.tsv", "--curve", "c.tsv",
        "--as", "json",
    )  # fmt: skip
    found = product.budget(lists, second, "RR", budgets=[0.5], new=new)
    record = json.loads(done.out)
    assert record["budgets"][0]["value"] == pytest.approx(found.spent[0].value)
    rows = [line.split("\t") for line in Path("o.tsv").read_text().splitlines()]
    assert rows[0] == ["list", "cost", "expected_gain", "spent"]
    gains = [float(row[2]) for row in rows[1:]]
    assert gains == sorted(gains, reverse=True)
    order = np.argsort(-found.new_expected, kind="stable")
    assert [row[0] for row in rows[1:]] == [new.list_id(i) for i in order.tolist()]
    assert float(rows[-1][3]) == 1.0
    curve = [line.split("\t") for line in Path("c.tsv").read_text().splitlines()[1:]]
    assert {row[0] for row in curve} == {"expected", "oracle", "random"}
    ends = [float(row[2]) for row in curve if row[1] == "1.0"]
    assert ends == pytest.approx([value(lists, second)] * 3)
    text = rerank(*given).out
    assert "first stage alone" in text
    assert [line.split()[0] for line in text.splitlines()[1:4]] == ["10%", "25%", "50%"]


def test_costs_are_read_by_list_and_refused_if_they_are_none(rerank, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lists, second = drawn(12)
    product.save(lists, "l.store")
    np.savetxt("s.txt", second)
    costs = np.arange(1.0, 13.0)
    Path("costs").write_text(
        "list\tweight\n" + "".join(f"{lists.list_id(i)}\t{c}\n" for i, c in enumerate(costs))
    )
    by_file = product.budget(lists, second, "RR", cost="costs", budgets=[0.3])
    assert by_file.spent == product.budget(lists, second, "RR", cost=costs, budgets=[0.3]).spent
    for bad, text in (
        (costs[:3], "cost: found 3 numbers, expected 12, one for each list"),
        (
            np.where(costs == 5, 0.0, costs),
            f"cost of list '{lists.list_id(4)}': found 0, expected a number above 0",
        ),
        (np.where(costs == 5, np.inf, costs), f"cost of list '{lists.list_id(4)}': found inf"),
    ):
        with pytest.raises(DataError, match=text):
            product.budget(lists, second, "RR", cost=bad)
    Path("costs").write_text("list\tweight\nnowhere\t1\n")
    with pytest.raises(FormatError, match="costs:2"):
        product.budget(lists, second, "RR", cost="costs")
    for setting, text in (
        ({"budgets": [1.0]}, "budget: found 1, expected a share between 0 and 1"),
        ({"budgets": []}, "no budget is named"),
        ({"folds": 1}, "folds: found 1, expected 2 or more"),
        ({"cost": costs, "new": lists}, "expected lists or items with new lists"),
        ({"baseline": second, "new": lists}, "baseline: not used with new lists"),
    ):
        with pytest.raises(ConfigError, match=text):
            product.budget(lists, second, "RR", **setting)
    with pytest.raises(DataError, match="found no ranking of a first stage"):
        product.budget(lists, second, "RR", new=replace(lists, first_best=None, base_scores=None))
    with pytest.raises(DataError, match="found 3 judged lists, expected 5 or more"):
        product.budget(lists.subset([0, 1, 2]), second[: lists.offsets[3]], "RR")
    given = ("budget", "l.store", "s.txt", "-m", "RR")
    assert "--budget: found 'half', expected a share" in rerank(*given, "--budget", "half", code=2).err
    assert "--new: not used without --per-list" in rerank(*given, "--new", "l.store", code=2).err
