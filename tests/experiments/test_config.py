"""Configurations of experiments: what rows become, and every mistake as one line with file and key."""

import re

import pytest

from rerank import RerankError
from rerank.core.errors import DataNote
from rerank.experiments.config import _DATA_OF_ROW, _OF_ROW, read_experiment
from rerank.experiments.planning import planned
from rerank.experiments.run import run
from rerank.learners.base import LEARNERS

from .conftest import CONFIG

DRAWN = """\
data: {train: folda/train.letor}
folds: 3
select: {metric: AP}
metrics: [AP, nDCG]
learners: {ridge: }
"""


def changed(old: str, new: str, text: str = CONFIG) -> str:
    assert old in text
    return text.replace(old, new)


# What is changed in a configuration, and what its error says.
MISTAKES = {
    "an unknown key of a row": (
        changed("epochs: 3", "epochz: 3"),
        "learners.perceptron: .*'epochz'; did you mean 'epochs'",
    ),
    "a misspelt learner": (
        changed("perceptron:", "perceptro:"),
        "learners.perceptro: unknown learner .* 'perceptron'",
    ),
    "a misspelt section": (changed("seeds:", "seedz:"), "unknown setting 'seedz'; did you mean 'seed"),
    "a misspelt part": (changed("test:", "tset:"), "unknown setting 'data.tset'; did you mean 'test'"),
    "no test lists": (re.sub("  test:.*\n", "", CONFIG), "data.test: found none"),
    "no training lists": (re.sub("  train:.*\n", "", CONFIG), "data.train: found none"),
    "no {fold} in any path": (changed("fold{fold}", "folda"), r"folds: no path of data: holds \{fold\}"),
    "no {fold} in the test lists": (
        changed("fold{fold}/test", "folda/test"),
        "data.test: no {fold} in the path",
    ),
    "folds without names": (changed("folds: [a, b]\n", ""), r"data.train: holds \{fold\}, expected folds: "),
    "a fold twice": (changed("[a, b]", "[a, a]"), "folds: 'a' is given twice"),
    "no fold": (changed("[a, b]", "[]"), r"folds: found \[\]"),
    "one drawn fold": (changed("folds: 3", "folds: 1", DRAWN), "folds: found 1, expected 2 or more"),
    "drawn folds with test lists": (
        changed("train: folda/train.letor", "train: folda/train.letor, test: folda/test.letor", DRAWN),
        "data.test: not used with folds: 3",
    ),
    "drawn folds with {fold}": (
        changed("folda", "'fold{fold}'", DRAWN).replace("'/train.letor", "/train.letor'"),
        r"data.train: holds \{fold\}",
    ),
    "two drawn folds with dev": (changed("folds: 3", "folds: 2", DRAWN), "folds: 2 leave no training lists"),
    "more folds than lists": (changed("folds: 3", "folds: 9", DRAWN), "9 folds of 8 lists: too few"),
    "fold_dev with files": (CONFIG + "fold_dev: none\n", "fold_dev: not used with folds of files"),
    "an unknown baseline": (
        changed("baseline: ridge", "baseline: rigde"),
        "baseline: found 'rigde'.* did you mean 'ridge'",
    ),
    "no metrics": (changed("[AP, nDCG@3]", "[]"), "metrics: found none"),
    "an unknown metric": (changed("nDCG@3", "nDCGG@3"), "unknown metric 'nDCGG'"),
    "a metric twice": (changed("nDCG@3", "map"), "metrics: one of AP, map is given twice"),
    "an unknown metric to choose by": (
        changed("metric: AP", "metric: APP"),
        "learners.random: unknown metric 'APP'",
    ),
    "no metric to choose by": (
        changed("select: {metric: AP}\n", ""),
        "learners.random: select.metric: not given; it is what settings and rounds are chosen by",
    ),
    "no metric to optimise": (
        changed("select: {metric: AP}", "fold_dev: none", DRAWN).replace("ridge: ", "mert: "),
        "learners.mert: select.metric: not given; it is what the learner optimises",
    ),
    "the best round without dev lists": (
        changed("select: {metric: AP}", "fold_dev: none", DRAWN).replace("ridge: ", "prank: {keep: best}"),
        "learners.prank: select.keep: best needs development lists",
    ),
    "a choice on dev lists without any": (
        changed("{metric: AP}", "{metric: AP}\nfold_dev: none", DRAWN).replace(
            "ridge: ", "ridge: {select: {by: dev}, grid: {penalty: [1, 2]}}"
        ),
        "learners.ridge: select.by: dev needs development lists",
    ),
    "the former name of train_fractions": (
        CONFIG + "ablation: [50, 100]\n",
        "unknown setting 'ablation'; it is now 'train_fractions'",
    ),
    "the former name of select.by": (
        changed("{metric: AP}", "{metric: AP, choose: dev}"),
        "unknown setting 'select.choose'; it is now 'by'",
    ),
    "no seeds": (changed("seeds: 2", "seeds: 0"), "seeds: found 0, expected 1 or more"),
    "a share of 0": (
        CONFIG + "train_fractions: [0, 50]\n",
        "train_fractions: found 0, expected whole percentages",
    ),
    "a share of 120": (CONFIG + "train_fractions: [50, 120]\n", "train_fractions: found 120"),
    "a share twice": (CONFIG + "train_fractions: [50, 50]\n", "train_fractions: 50 is given twice"),
    "a grid on an unknown setting": (
        changed("penalty: [", "penalties: ["),
        "learners.ridge: grid: unknown setting 'penalties'.*'penalty'",
    ),
    "a grid of one value that is no list": (
        changed("[0.1, 10]", "0.1"),
        "learners.ridge: grid: penalty: found 0.1, expected a list",
    ),
    "a grid of a value that cannot be": (
        changed("[0.1, 10]", "[0.1, x]"),
        "learners.ridge: grid: learner ridge: penalty: found 'x', expected a number",
    ),
    "a grid of an unknown scaling": (
        changed("{penalty: [0.1, 10]}", "{scaling: [zscore, z-score]}"),
        "learners.ridge: grid: unknown scaling 'z-score'; did you mean 'zscore'",
    ),
    "a grid that is no section": (
        changed("{penalty: [0.1, 10]}", "[0.1, 10]"),
        "learners.ridge: grid: found",
    ),
    "a setting of the row that is in its grid": (
        changed("grid: {penalty: [0.1, 10]}", "{penalty: 3, grid: {penalty: [0.1, 10]}}"),
        "learners.ridge: grid: penalty is also given",
    ),
    "an unknown key of select in a row": (
        changed("{epochs: 3}", "{epochs: 3, select: {metrik: AP}}"),
        "'select.metrik'; did you mean 'metric'",
    ),
    "an unknown key of data in a row": (
        changed("{epochs: 3}", "{epochs: 3, data: {train: x}}"),
        "unknown setting 'data.train'",
    ),
    "features of a row outside data": (
        changed("{epochs: 3}", "{epochs: 3, features: a}"),
        "features: expected data: {features: ...}",
    ),
    "a row that is a list": (
        changed("{epochs: 3}", "[3]"),
        "learners.perceptron: found .3., expected keys and values",
    ),
    "no rows": (re.sub("learners:.*", "learners: {}\n", CONFIG, flags=re.DOTALL), "learners: found none"),
    "the first stage as a row": (
        changed("  random:", "  first_best:"),
        "learners: first_best is the first stage",
    ),
    "the metric of a row twice": (
        changed("{epochs: 3}", "{metric: AP, select: {metric: RR}}"),
        "metric is 'AP' but select.metric is 'RR'",
    ),
    "a learner of classes": (
        changed("{epochs: 3}", "{name: predtron, task: multiclass}"),
        "learners.perceptron: ",
    ),
    "a configuration of train": (
        "learner: {name: ridge}\n",
        "learner: a single learner is for 'rerank train'",
    ),
    "standard input": (changed("fold{fold}/dev.letor", "'-'"), "data: found -"),
    "a missing file of a later fold": (changed("[a, b]", "[a, c]"), "foldc/train.letor: no such file"),
    "test lists that are trained on": (
        changed("/test.letor", "/train.letor"),
        "data.test: the same file as data.train, fold a",
    ),
    "test lists that choose": (
        changed("/test.letor", "/dev.letor"),
        "data.test: the same file as data.dev, fold a",
    ),
    "a metric that the lists cannot be judged by": (changed("nDCG@3", "BLEU"), "fold./test.letor: .*"),
    "an unset variable": (
        changed("fold{fold}/dev", "${RERANK_NOT_SET}/dev"),
        "environment variable RERANK_NOT_SET is not set",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_one_line_with_file_and_key(name, folder, rerank):
    text, expected = MISTAKES[name]
    (folder / "run.yaml").write_text(text)
    result = rerank("run", "run.yaml", "--out", "out", code=2)
    assert len(result.err.splitlines()) == 1, result.err
    assert re.search(expected, result.err), result.err
    assert not list((folder / "out").glob("cells/*"))


def test_folds_with_the_same_test_lists_are_refused(folder, rerank):
    (folder / "foldb" / "test.letor").write_bytes((folder / "folda" / "test.letor").read_bytes())
    result = rerank("run", "run.yaml", "--out", "out", code=2)
    assert result.err == "rerank: run.yaml: folds: 'a' and 'b' have the same test lists\n"


def test_a_comparison_given_to_train_is_for_run(folder, rerank):
    result = rerank("train", "run.yaml", "--out", "m", code=2)
    assert "run.yaml: learners: a comparison of several learners is for 'rerank run'" in result.err


@pytest.mark.parametrize(
    ("out", "expected"),
    [
        ("folda", "folda: is no folder of"),
        ("folda/train.letor", "is one of the input files|is no folder"),
        ("other", "other: is no folder of 'rerank run'"),
        ("run.yaml", "is one of the input files|is no folder"),
        ("nowhere/deep", ""),
    ],
)
def test_the_folder_of_results_must_be_one(out, expected, folder, rerank):
    (folder / "other").mkdir()
    (folder / "other" / "thesis.tex").write_text("...")
    result = rerank("run", "run.yaml", "--out", out, code=None)
    assert result.code == (2 if expected else 0), result
    assert re.search(expected, result.err)
    assert (folder / "other" / "thesis.tex").read_text() == "..."


def test_a_folder_of_another_experiment_is_refused(folder, rerank):
    rerank("run", "run.yaml", "--out", "out", "--task", 1)
    (folder / "second.yaml").write_text(CONFIG)
    result = rerank("run", "second.yaml", "--out", "out", code=2)
    assert "--out out: holds the experiment 'run', expected 'second'; choose another folder" in result.err


def test_no_learner_has_a_setting_with_the_name_of_a_key_of_rows():
    for name in LEARNERS.names():
        assert not {*_OF_ROW, *_DATA_OF_ROW} - {"features"} & set(LEARNERS.get(name).settings) - {"init"}


def rows_of(text: str, folder) -> dict:
    (folder / "run.yaml").write_text(text)
    config = read_experiment("run.yaml")
    fold = config.fold_names[0]
    return {
        row: config.train_config(row, config.training(row, fold), config.first_seed(row))
        for row in config.learners
    }


def test_rows_choose_on_dev_and_keep_the_best_round(folder):
    rows = rows_of(CONFIG, folder)
    assert rows["random"].select.by == rows["perceptron"].select.by == "none"
    assert rows["ridge"].select.by == "dev"
    assert rows["perceptron"].select.keep == "best"
    assert rows["perceptron"].learner["seed"] == 1
    assert "seed" not in rows["ridge"].learner


def test_without_dev_lists_rows_choose_on_folds_and_keep_the_last_round(folder):
    rows = rows_of(re.sub("  dev:.*\n", "", CONFIG), folder)
    assert rows["ridge"].select.by == "cv"
    assert rows["perceptron"].select.keep is None


def test_rows_override_the_grid_the_scaling_and_the_selection_of_all(folder):
    text = changed("{epochs: 3}", "{epochs: 3, scaling: none, seed: 7, select: {keep: last}, metric: RR}")
    text += "scaling: rank\ngrid: {scaling: [none, rank]}\n"
    rows = rows_of(text, folder)
    assert rows["perceptron"].grid == {}
    assert (rows["perceptron"].scaling, rows["perceptron"].learner["seed"]) == ("none", 7)
    assert (rows["perceptron"].select.keep, rows["perceptron"].select.metric) == ("last", "RR")
    assert rows["ridge"].grid == {"scaling": ["none", "rank"], "penalty": [0.1, 10]}
    assert rows["ridge"].scaling == "auto"


def test_select_of_all_rows_is_for_those_that_can_use_it(folder):
    text = changed("select: {metric: AP}", "select: {metric: AP, keep: best, by: cv, folds: 2}")
    rows = rows_of(text, folder)
    assert (rows["ridge"].select.by, rows["ridge"].select.folds, rows["ridge"].select.keep) == ("cv", 2, None)
    assert (rows["random"].select.by, rows["random"].select.folds) == ("none", None)


def test_rows_of_equal_settings_and_a_tuned_metric_alone_are_reported(folder):
    (folder / "run.yaml").write_text(
        changed("random:", "again: {name: ridge, grid: {penalty: [0.1, 10]}}").replace(", nDCG@3", "")
    )
    with pytest.warns(DataNote) as caught:
        found = run("run.yaml", "out")
    texts = [str(one.message) for one in caught]
    assert "run.yaml: rows 'again' and 'ridge' have the same settings" in texts
    assert any(
        "AP is the metric that settings are chosen by and the only one reported" in text for text in texts
    )
    assert len(found.folder.cells) == 2 * (1 + 1 + 2)
    assert len(found.trained) == 2 * (1 + 2)


def test_errors_are_those_of_this_package(folder):
    with pytest.raises(RerankError):
        read_experiment("nothing.yaml")


VALUES_OF_ROW = {
    "features": "2",
    "label": "sBLEU",
    "quantise": "best",
    "init": "base",
    "missing": "list-mean",
    "unjudged": "negative",
}


@pytest.mark.parametrize("name", _DATA_OF_ROW)
def test_rows_that_differ_in_how_data_are_used_are_different_cells(name, folder):
    learner = "mira" if name == "init" else "ridge"
    own = f"{{{name}: {VALUES_OF_ROW[name]}}}"
    text = "data: {train: folda/train.letor, test: folda/test.letor, missing: nan}\n"
    text += "select: {metric: label@1}\nmetrics: AP\nlearners:\n"
    text += f" a: {{name: {learner}}}\n b: {{name: {learner}, data: {own}}}\n"
    (folder / "run.yaml").write_text(text)
    _, found = planned("run.yaml", "out")
    assert len({cell.key for cell in found.cells}) == 2
