"""Settings and epochs chosen from a grid, on dev or out of fold, against loops over everything."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from make import features
from small_training import all_runs, make_learner
from typer.testing import CliRunner

import rerank
from rerank.cli.app import app
from rerank.core.errors import ConfigError, DataError, FitError
from rerank.core.tables.data import to_json
from rerank.core.workers import parallel
from rerank.data.folds import folds
from rerank.data.lists import CandidateLists
from rerank.metrics.base import parse
from rerank.models.base import load_model
from rerank.models.describe import model_lines, model_record
from rerank.models.describe_training import cell_rows, choice_lines
from rerank.training.steps.tune_base import best_change

METRIC = "label@1"
GRID = {"tau": [0, 1.5], "base_scale": [1, "auto"]}


def drawn(seed=0, n_lists=30, layout="dense"):
    """Lists whose feature 2 is the base score."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 6, n_lists)
    n = int(sizes.sum())
    X = rng.integers(-2, 3, (n, 5)).astype(float)
    base = rng.normal(-50, 2, n)
    X[:, 2] = base
    y = np.round(2 * X[:, 0] + base + rng.normal(0, 2, n)).clip(-60, -40)
    lists = CandidateLists.from_arrays(features(layout, X), y, group=sizes, source=f"lists {seed}")
    return replace(lists, base_scores=base).with_first_best("input")


def value_of(lists, scores):
    judge = parse(METRIC).prepare(lists)
    return float(judge.score_from_sums(judge.per_list(scores).sum(axis=0)))


def by_hand(lists, name, settings, epochs, k, tune=False, **more):
    """The out-of-fold value of one cell and number of epochs, from K models trained one by one."""
    scores, term = np.empty(lists.n_items), np.empty(lists.n_items)
    for fold in folds(lists, k, 1):
        test = lists.subset(fold.test)
        model = rerank.train(lists.subset(fold.train), name, epochs=epochs, **settings, **more)
        items = np.flatnonzero(np.isin(lists.list_index, fold.test))
        scores[items] = model.score_items(test)
        term[items] = model.weights[2] * (test.features.column(2) if model.scaling is None else 0)
    if tune:
        return best_change(lists, parse(METRIC).prepare(lists), scores, term, term).after
    return value_of(lists, scores)


@pytest.mark.parametrize("tune", [False, True])
@pytest.mark.parametrize("layout", ["dense", "mixed"])
def test_every_cell_and_round_has_the_value_of_models_trained_one_by_one(tune, layout):
    lists = drawn(0, layout=layout)
    how = {"tune_base": "folds"} if tune else {}
    model = rerank.train(
        lists, metric=METRIC, scaling="none", epochs=5, select="cv", folds=3, grid=GRID, **how
    )
    choice = model.training.choice
    expected = []
    for tau, scale in itertools.product(*GRID.values()):
        cell = {"tau": tau, "base_scale": scale}
        values = [by_hand(lists, "perceptron", cell, r, 3, tune, scaling="none") for r in range(1, 6)]
        expected.append((cell, max(values), 1 + int(np.argmax(values))))
    found = [(cell.settings, cell.value, cell.rounds) for cell in choice.cells]
    for (settings, value, rounds), (cell, best, first) in zip(found, expected, strict=True):
        assert settings == cell
        assert value == pytest.approx(best, abs=1e-12)
        assert rounds == first
    best = int(np.argmax([value for _, value, _ in found]))
    assert (choice.chosen, choice.on, choice.folds, choice.metric) == (best + 1, "folds", 3, METRIC)
    cell = choice.cells[best]
    again = rerank.train(
        lists, metric=METRIC, scaling="none", epochs=cell.rounds, tau=cell.settings["tau"],
        base_scale=cell.settings["base_scale"], folds=3 if tune else None, **how,
    )  # fmt: skip
    np.testing.assert_allclose(model.weights, again.weights, rtol=1e-12)
    assert model.training.settings == again.training.settings | {"keep": "last"}
    if tune:
        tuned, expected = model.training.tune_base, again.training.tune_base
        assert tuned.factor == pytest.approx(expected.factor, rel=1e-12)
        assert (tuned.before, tuned.after) == (expected.before, expected.after)


def test_dev_lists_play_no_part_in_a_choice_on_folds():
    lists, dev = drawn(0), drawn(1)
    given = {"metric": METRIC, "epochs": 4, "select": "cv", "grid": GRID, "tune_base": "folds"}
    without, beside = rerank.train(lists, **given), rerank.train(lists, dev=dev, **given)
    np.testing.assert_array_equal(without.weights, beside.weights)
    assert without.training.choice == beside.training.choice
    assert [gain.use for gain in beside.training.gains if gain.part == "dev"] == ["none"]


@pytest.mark.parametrize("tune", ["none", "dev"])
def test_a_choice_on_dev_is_the_best_cell_and_its_best_round(tune):
    lists, dev = drawn(0), drawn(1)
    grid = {"scaling": ["none", "zscore"], "tau": [0, 2]}
    model = rerank.train(lists, dev=dev, metric=METRIC, epochs=4, select="dev", grid=grid, tune_base=tune)
    values = []
    for scaling, tau in itertools.product(*grid.values()):
        one = rerank.train(
            lists, dev=dev, metric=METRIC, scaling=scaling, epochs=4, keep="best", tau=tau, tune_base=tune
        )
        values.append(value_of(dev, one.score(dev)))
    choice = model.training.choice
    np.testing.assert_allclose([cell.value for cell in choice.cells], values, atol=1e-12)
    assert choice.chosen == 1 + int(np.argmax(values))
    assert value_of(dev, model.score(dev)) == pytest.approx(max(values), abs=1e-12)
    assert model.training.settings["keep"] == "best"
    assert [gain.use for gain in model.training.gains if gain.part == "dev"] == ["choice"]


def test_the_bytes_do_not_depend_on_the_number_of_workers(tmp_path):
    lists = drawn(0, layout="mixed")
    for jobs in (1, 3, 8):
        with parallel.using(jobs):
            model = rerank.train(
                lists, metric=METRIC, epochs=3, select="cv", grid=GRID, tune_base="folds", folds=3
            )
        model.save(str(tmp_path / str(jobs)))
    assert (tmp_path / "1").read_bytes() == (tmp_path / "3").read_bytes() == (tmp_path / "8").read_bytes()
    again = load_model(str(tmp_path / "1"))
    assert again.training == model.training
    assert "chosen on out-of-fold scores of 3 folds from 4 cells" in "\n".join(model_lines(again))
    assert '"choice"' in to_json(model_record(again))


def test_rounds_alone_can_be_chosen():
    lists = drawn(0)
    model = rerank.train(lists, "prank", metric=METRIC, epochs=6, select="cv", folds=2)
    (cell,) = model.training.choice.cells
    assert cell.settings == {}
    assert model.training.settings["epochs"] == cell.rounds
    assert model.training.rounds.run <= cell.rounds


@pytest.mark.parametrize(
    ("name", "grid", "settings"),
    [
        ("mert", {"restarts": [0, 2]}, {"perturbations": 0}),
        ("mira", {"c": [0.01, 1.0]}, {"epochs": 3}),
        ("pro", {"l2": [1.0, 10.0]}, {}),
        ("perceptron", {"average": ["voted", "last"]}, {"epochs": 3}),
    ],
)
def test_every_kind_of_learner_can_be_chosen_from(name, grid, settings):
    lists = drawn(0, n_lists=12)
    if "l2" in grid and "l2" not in make_learner(name, {}).get_params():
        grid = {"samples": [100, 200]}
    model = rerank.train(lists, name, metric=METRIC, select="cv", folds=2, grid=grid, **settings)
    choice = model.training.choice
    assert len(choice.cells) == 2
    assert all((cell.rounds is None) == (name in ("mert", "pro")) for cell in choice.cells)
    assert "\n".join(choice_lines(model.training)).startswith("chosen on out-of-fold scores of 2 folds")


def test_ties_are_won_by_the_first_cell():
    lists = drawn(0)
    grid = {"engine": ["reference", "fast", "auto"]}  # the same weights
    model = rerank.train(lists, metric=METRIC, epochs=3, select="cv", folds=2, grid=grid)
    assert model.training.choice.chosen == 1
    assert model.training.settings["engine"] == "reference"


def test_runs_over_seeds_share_the_choice():
    given = {"metric": METRIC, "select": "cv", "folds": 2, "grid": {"tau": [0, 1]}, "seeds": 2}
    found = all_runs(make_learner("perceptron", {"epochs": 3}), drawn(0), tune_base="folds", **given)
    first, second = (model.training.choice for model in found.by_seed.values())
    assert first == second
    assert all(model.training.tune_base is not None for model in found.by_seed.values())


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"select": "none"}, "grid: compared on dev lists or on folds: add"),
        ({"choose": "folds"}, "unknown setting 'choose'; it is now 'select'"),
        ({"select": "all"}, "select.by: found 'all', expected 'none', 'dev' or 'cv'"),
        ({"select": "dev", "grid": {}}, "select=dev: nothing to select: give a grid"),
        ({"select": "dev"}, "select=dev compares on development lists: give some"),
        ({"metric": None}, "select=cv compares by a metric: give one"),
        ({"keep": "train"}, "select=cv selects the number of epochs on folds: leave keep at last"),
        ({"grid": {"tou": [1]}}, "grid: unknown setting 'tou'; did you mean 'tau'"),
        ({"grid": {"epochs": [1, 2]}}, "grid: epochs: select=cv tries every number of epochs"),
        ({"grid": {"seed": [1, 2]}}, "grid: seeds are varied by --seeds"),
        ({"grid": {"tau": 1}}, "grid: tau: found 1, expected a list of values"),
        ({"grid": {"tau": []}}, r"grid: tau: found \[\], expected a list of values"),
        ({"grid": {"tau": "12"}}, "grid: tau: found '12', expected a list of values"),
        ({"grid": {"tau": [1, 1.0]}}, "grid: tau: the value 1.0 is given twice"),
        ({"grid": {"tau": [-1]}}, "grid: learner perceptron: tau: found -1, expected 0 or more"),
        ({"tau": 1}, "grid: tau is also given as a setting: give one of both"),
        ({"scaling": "none", "grid": {"scaling": ["zscore"]}}, "grid: scaling is also given as a setting"),
        ({"grid": {"scaling": ["zscor"]}}, "grid: unknown scaling 'zscor'; did you mean 'zscore'"),
        ({"grid": {"base_scale": [0]}}, "base_scale: found 0, expected auto or a number above 0"),
        ({"grid": {"tau": list(range(200)), "label_gap": list(range(200))}}, "grid: more than 10,000 cells"),
    ],
)
def test_what_cannot_be_chosen_is_refused_in_one_line(more, message):
    given = {"metric": METRIC, "epochs": 2, "select": "cv", "grid": {"tau": [0, 1]}} | more
    with pytest.raises(ConfigError, match=message):
        rerank.train(drawn(0, 6), **given)


def test_folds_of_too_few_lists_are_refused():
    with pytest.raises(DataError, match="5 folds of 3 lists: too few"):
        rerank.train(drawn(0, 3), metric=METRIC, epochs=2, select="cv")
    with pytest.raises(ConfigError, match="folds=3 has no effect without tune_base=folds or select=cv"):
        rerank.train(drawn(0), metric=METRIC, select="dev", grid={"tau": [0]}, folds=3)


def test_a_metric_without_a_value_is_refused():
    lists = drawn(0, 8)
    unjudged = lists.replace_labels(np.full(lists.n_items, np.nan))
    with pytest.raises(FitError, match=r"lists 0: label@1 has no value, so no settings can be chosen by it"):
        rerank.train(unjudged, "random", metric=METRIC, select="cv", folds=2, grid={"scaling": ["none"]})


def test_the_command_line_and_a_file_choose_alike(tmp_path):
    lists, run = drawn(0), CliRunner()
    train, dev = str(tmp_path / "train.store"), str(tmp_path / "dev.store")
    rerank.save(lists, train)
    rerank.save(drawn(1), dev)
    config = tmp_path / "grid.yaml"
    config.write_text(
        "data: {train: train.store, dev: dev.store}\nlearner: {epochs: 3}\nscaling: none\n"
        "select: {metric: label@1, by: cv, folds: 3, tune_base: folds}\n"
        "grid: {tau: [0, 1.5], base_scale: [1, auto]}\n"
    )
    a, b, cells = str(tmp_path / "a"), str(tmp_path / "b"), tmp_path / "cells.tsv"
    first = run.invoke(app, ["train", str(config), "--out", a, "--grid-out", str(cells)])
    assert first.exit_code == 0, first.output
    flags = ["--data", train, "--dev", dev, "--set", "epochs=3", "--scaling", "none", "-m", METRIC]
    flags += ["--select", "cv", "--folds", "3", "--tune-base", "folds", "--jobs", "2"]
    flags += ["--grid", "tau=0,1.5", "--grid", "base_scale=1,auto"]
    second = run.invoke(app, ["train", *flags, "--out", b])
    assert second.exit_code == 0, second.output
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    model = load_model(a)
    rows = cells.read_text().splitlines()
    assert rows == cell_rows(model.training)
    assert rows[0] == "tau\tbase_scale\trounds\tbase_factor\tbase_added\tlabel@1\tchosen"
    assert [row.split("\t")[-1] for row in rows[1:]].count("1") == 1
    assert "rerank: chosen on out-of-fold scores of 3 folds from 4 cells, by label@1" in first.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--grid", "tau"], "--grid tau: expected KEY=V1,V2,... for example tau=0.1,1"),
        (["--grid", "tau=1,,2"], "--grid tau=1,,2: expected KEY=V1,V2,..."),
        (["--grid", "tau=1", "--grid", "tau=2"], "--grid tau=2: the key is given twice"),
        (["--grid-out", "x.tsv"], "--grid-out: no cells without --select dev or --select cv"),
        (["--base-scale", "0"], "base_scale: found '0', expected auto or a number above 0"),
        (["--folds", "1"], "folds: found 1, expected 2 or more"),
    ],
)
def test_wrong_options_are_one_line(tmp_path, arguments, message):
    rerank.save(drawn(0), str(tmp_path / "train.store"))
    given = ["train", "--data", str(tmp_path / "train.store"), "--out", str(tmp_path / "m")]
    found = CliRunner().invoke(app, [*given, *arguments], standalone_mode=False)
    assert found.return_value == 2
    assert message in found.output
    assert found.output.count("\n") == 1
