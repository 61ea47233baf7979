"""The model of ordinal learners: grades, files, and how the command line shows both."""

import json

import numpy as np
import pytest
from reference.graded import whole_lists
from small_training import fit, make_learner, rewritten
from typer.testing import CliRunner

from rerank.cli.app import app
from rerank.core.errors import DataError, FormatError
from rerank.data.lists import CandidateLists
from rerank.models.base import load_model
from rerank.models.linear import ThresholdModel
from rerank.training.train import train


def made(weights=(1.0, 0.0), thresholds=(-1.0, 2.0, 2.0), labels=(0.0, 1.0, 2.5, 7.0)):
    return ThresholdModel(["a", "b"], np.array(weights), np.array(thresholds), np.array(labels))


def test_a_score_at_a_threshold_has_the_grade_above_it():
    X = [[-1.1, 0], [-1, 0], [1.9, 0], [2, 0], [50, 0]]
    lists = CandidateLists.from_arrays(X, feature_names=["a", "b"])
    # Two equal thresholds leave no room for the grade between them.
    np.testing.assert_array_equal(made().grades(lists), [0.0, 1.0, 1.0, 7.0, 7.0])
    np.testing.assert_array_equal(made().score(lists), [row[0] for row in X])


def test_grades_take_columns_by_name_and_the_scaling_of_scores():
    lists = whole_lists(1)
    names = [f"f{j}" for j in range(lists.n_features)]
    lists = lists.with_features(lists.features, names)
    model = fit(make_learner("prank", {"epochs": 3}), lists, scaling="zscore")
    X = lists.features.to_dense()
    moved = CandidateLists.from_arrays(X[:, ::-1].copy(), group=lists.lengths, feature_names=names[::-1])
    np.testing.assert_array_equal(model.grades(moved), model.grades(lists))
    below = (model.score(lists)[:, None] >= model.thresholds).sum(axis=1)
    np.testing.assert_array_equal(model.grades(lists), model.labels[below])
    assert len(set(model.grades(lists).tolist())) > 1


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"weights": (1.0,)}, "1 weights for 2 features"),
        ({"labels": (0.0, 1.0)}, "3 thresholds for 2 grades"),
        ({"thresholds": (2.0, 1.0, 3.0)}, "the thresholds are not in ascending order"),
    ],
)
def test_parts_that_do_not_fit_are_refused(parts, message):
    with pytest.raises(DataError, match=message):
        made(**parts)


def test_a_file_whose_arrays_do_not_fit_is_a_damaged_model(tmp_path):
    good, bad = str(tmp_path / "good"), str(tmp_path / "bad")
    made().save(good)
    assert load_model(good).labels.tolist() == [0.0, 1.0, 2.5, 7.0]
    rewritten(good, bad, labels=made().thresholds)
    with pytest.raises(FormatError, match="damaged model \\(3 thresholds for 3 grades\\)"):
        load_model(bad)


def test_weights_are_shown_before_thresholds():
    assert made(weights=(0.5, -3.0)).explain() == [
        ("b", -3.0),
        ("a", 0.5),
        ("[threshold of 1]", -1.0),
        ("[threshold of 2.5]", 2.0),
        ("[threshold of 7]", 2.0),
    ]


TRAIN = "0 qid:1 1:-3\n1 qid:1 1:0.5\n2.5 qid:1 1:4\n0 qid:2 1:-2\n1 qid:2 1:0\n2.5 qid:2 1:5 2:1\n"


@pytest.fixture
def files(tmp_path):
    data = tmp_path / "train.txt"
    data.write_text(TRAIN)
    paths = {"data": str(data), "odd": str(tmp_path / "odd.txt")}
    # qid 7 comes back after qid 8: lists are regrouped, grades are not.
    (tmp_path / "odd.txt").write_text("0 qid:7 1:5\n0 qid:8 1:-3\n0 qid:7 1:0.25\n0 qid:8 1:4\n")
    for learner in ("prank", "perceptron"):
        paths[learner] = str(tmp_path / learner)
        result = CliRunner().invoke(
            app, ["train", "--learner", learner, "--data", str(data), "--out", paths[learner]]
        )
        assert result.exit_code == 0, result.output
    return paths


def test_the_command_line_prints_a_grade_for_each_line_in_their_order(files):
    result = CliRunner().invoke(app, ["predict", files["prank"], files["data"], "--as", "grades"])
    assert result.exit_code == 0
    assert result.stdout.splitlines() == ["0", "1", "2.5", "0", "1", "2.5"]
    result = CliRunner().invoke(app, ["predict", files["prank"], files["odd"], "--as", "grades"])
    assert result.stdout.splitlines() == ["2.5", "0", "1", "2.5"]


def test_a_model_without_grades_raises_an_error(files):
    result = CliRunner().invoke(
        app, ["predict", files["perceptron"], files["data"], "--as", "grades"], standalone_mode=False
    )
    assert result.return_value == 2
    assert result.stdout == ""
    assert result.stderr == "rerank: --as grades: a model of kind linear predicts no grades\n"


def test_show_counts_the_weights_and_not_the_thresholds(files):
    result = CliRunner().invoke(app, ["show", files["prank"]])
    assert "2, 1 with a weight" in result.stdout
    assert "[threshold of 2.5]" in result.stdout
    shown = json.loads(CliRunner().invoke(app, ["show", files["prank"], "--as", "json"]).stdout)
    assert [row["name"] for row in shown["weights"]] == ["1", "[threshold of 1]", "[threshold of 2.5]"]


@pytest.mark.parametrize(
    ("learner", "least", "correct"),
    [("prank", 0.42, 0.60), ("oap-bpm", 0.42, 0.60), ("uneven-margin", 0.44, 0.66)],
)
def test_ohsumed_is_ranked_far_better_than_at_random(shared_data, learner, least, correct):
    from rerank.evaluation.evaluate import evaluate
    from rerank.formats import load

    values = []
    for k in range(1, 6):
        lists, test = (
            load(str(shared_data / f"ohsumed/Fold{k}/{part}.txt.gz")) for part in ("train", "test")
        )
        model = train(lists, learner, scaling="zscore")
        truth = np.minimum(test.labels, 1) if learner == "uneven-margin" else test.labels
        values.append((evaluate(test, model.score(test), ["AP"])["AP"], np.mean(model.grades(test) == truth)))
    mean_ap, right = np.mean(values, axis=0)
    assert mean_ap >= least
    assert right >= correct
