"""The CASP view of real protein models, against pandas and scipy list by list."""

import warnings

import pandas
import pytest
from scipy import stats

import rerank
from rerank.core.errors import DataNote
from rerank.evaluation.evaluate import evaluate_files
from rerank.metrics.judging import SETS

SYSTEMS = ("ProQ4", "3DCNN", "Ornate", "ProQ3D")  # no gaps; 23 and 8 whole targets; 55 models of 22 targets


@pytest.fixture
def path(shared_data):
    warnings.simplefilter("ignore", DataNote)
    return str(shared_data / "casp13" / "casp13_merged.csv.gz")


def expected(table, system):
    """The metrics of ``casp`` for one system on one target."""
    labels, scores = table["GDT_TS"], table[system]
    if scores.isna().all():
        return [0.0, labels.max() - labels.min(), -2.0, 0.0, 0.0, 0.0, 0.0]
    kept = labels[(labels - labels.mean()) / labels.std() >= -2]
    z = ((labels - kept.mean()) / kept.std()).clip(lower=-2)
    chosen = scores.idxmax()  # the first on ties
    last, lowest = scores.fillna(scores.min() - 1), scores.fillna(scores.min())
    first = scores.dropna().sort_values(ascending=False, kind="stable").index[:5]
    return [
        labels[chosen],
        labels.max() - labels[chosen],
        z[chosen],
        stats.pearsonr(lowest, labels).statistic,
        stats.spearmanr(last, labels).statistic,
        stats.kendalltau(last, labels).statistic,
        labels[first].max(),
    ]


def test_every_value_of_every_target(path):
    found = evaluate_files(path, [f":{name}" for name in SYSTEMS], ["casp"], samples=5).by_list()
    table = pandas.read_csv(path)
    for i, (target, part) in enumerate(table.groupby("target", sort=False)):
        assert found.list_ids[i] == target
        for system in SYSTEMS:
            values = [found.values[f":{system}", metric][i] for metric in SETS["casp"].metrics]
            assert values == pytest.approx(expected(part, system), abs=1e-9)


def test_known_means_of_the_targets_that_eight_methods_cover(path):
    """Mean z-scores of eight methods beat each; 3DCNN, which lacks 23 targets, is left out."""
    lists = rerank.load(path, missing="nan", id_column="model")
    names = [name for name in lists.feature_names if name != "3DCNN"]
    model = rerank.train(lists.with_columns(names), "combsum", scaling="list-zscore", missing="nan")
    systems = {"mean": model.score(lists.with_columns(names)), **{name: name for name in names}}
    found = rerank.evaluate(lists, systems, ["label", "z"], missing_lists="skip", samples=5)
    values = {name: results["label@1"].value for name, results in found.systems.items()}
    assert found.n_lists == 68
    assert (values["mean"], values["ProQ4"]) == (pytest.approx(56.544, abs=5e-4), pytest.approx(54.895))
    assert max(values, key=values.get) == "mean"
    assert max(names, key=values.get) == "ProQ4"
    assert found.systems["mean"]["z@1"].value == pytest.approx(1.2889, abs=5e-5)
    assert found.metrics["label@1"].oracle == pytest.approx(62.798, abs=5e-4)
    # ProQ4 has two digits: in 37 targets models of different quality share its largest score, and their
    # mean is worth less than the first of them in this file.
    first = rerank.evaluate(
        lists, {"ProQ4": "ProQ4", "Ornate": "Ornate"}, ["best"], missing_lists="skip", samples=5
    )
    assert first.systems["ProQ4"]["best"].value == pytest.approx(54.082, abs=5e-4)
