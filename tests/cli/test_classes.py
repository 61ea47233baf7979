"""Examples with classes from files to a report: train, predict, eval, compare, validate, convert, split."""

import numpy as np
import pytest

import rerank
import rerank as package
from rerank.core.errors import ConfigError, DataError, DataNote, FitError, FormatError
from rerank.data.lists import CandidateLists
from rerank.data.reading import Reading
from rerank.evaluation.evaluate import compare_files, evaluate_files
from rerank.models.classes import ClassesModel

pytestmark = pytest.mark.filterwarnings("ignore::rerank.core.errors.DataNote")

MULTILABEL = "1,3 1:1 2:0.5\n3 1:-1 2:1\n 1:-2 2:-1\n1 1:2 2:-1\n1,3 1:0.5 2:2\n3 1:-3 2:3\n"
SPECIES = (
    'petal,species,sepal\n1,setosa,2\n4,virginica,-1\n1.5,setosa,2\n3.5,virginica,-2\n2.5,"versicolor",0\n'
)
TASKS = ["binary", "multiclass", "ordinal", "multilabel", "multilabel-ranking"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.svm").write_text(MULTILABEL)
    (tmp_path / "iris.csv").write_text(SPECIES)
    (tmp_path / "grades.svm").write_text("1 1:0\n2 1:1\n3 1:2\n2 1:1.1\n1 1:-1\n3 1:3\n")
    (tmp_path / "linear.svm").write_text("1 qid:1 1:1\n0 qid:1 1:0\n")
    return tmp_path


def train(rerank, data, task, *more, code=0):
    words = ("train", "--data", data, "--learner", "predtron", "--set", f"task={task}", "--out", "m", *more)
    return rerank(*words, code=code)


def test_multilabel_from_file_to_report(folder, rerank):
    train(rerank, "train.svm", "multilabel")
    lines = rerank("predict", "m", "train.svm").out
    assert lines == "1,3\n3\n\n1\n1,3\n3\n"
    (folder / "p").write_text(lines)
    report = rerank("eval", "train.svm", "p", "-m", "Hamming", "-m", "error-set", "-m", "zero-one").out
    assert report.count("0.0000") == 6
    assert "6 lists, 12 items" in report


def test_names_as_classes(folder, rerank):
    train(rerank, "iris.csv", "multiclass", "--label-column", "species")
    (folder / "unlabelled.csv").write_text("sepal,petal\n2,1\n-1,4\n")
    assert rerank("predict", "m", "unlabelled.csv").out == "setosa\nvirginica\n"
    shown = rerank("show", "m").out
    assert "setosa, versicolor, virginica" in shown
    assert "petal [setosa]" in shown


def test_ordinal_difference(folder, rerank):
    train(rerank, "grades.svm", "ordinal")
    (folder / "p").write_text("1\n2\n1\n2.0\n+1\n3\n")
    report = rerank("eval", "grades.svm", "p", "-m", "difference").out
    assert "0.3333" in report


def test_rankings_of_classes(folder, rerank):
    train(rerank, "train.svm", "multilabel-ranking")
    (folder / "p").write_text(rerank("predict", "m", "train.svm").out)
    assert set((folder / "p").read_text().split()) <= {"1,3", "3,1"}
    assert "AP" in rerank("eval", "train.svm", "p", "--classes", "-m", "AP", "-m", "nDCG").out
    (folder / "p").write_text("1,3\n3\n1,3\n1,3\n1,3\n1,3\n")
    found = rerank("eval", "train.svm", "p", "--classes", "-m", "AP", code=2).err
    assert "p:2: found 1 class, expected a ranking of all 2 classes" in found
    found = rerank("eval", "train.svm", "p", "-m", "AP", "-m", "zero-one", code=2).err
    assert "zero-one judges sets of classes and AP rankings of them: ask for one kind" in found


def test_two_systems_are_compared(folder, rerank):
    (folder / "a").write_text("1,3\n3\n\n1\n1,3\n3\n")
    (folder / "b").write_text("1\n\n\n1\n1,3\n3\n")
    found = compare_files("train.svm", ["a", "b"], ["Hamming", "zero-one"])
    assert found.pairs["Hamming"][0].value_b == pytest.approx(2 / 6)
    assert found.pairs["zero-one"][0].losses == 0
    assert "zero-one" in rerank("compare", "train.svm", "a", "b", "-m", "zero-one").out
    report = evaluate_files("train.svm", ["a", "b"], baseline="a", reading=Reading(classes=True))
    assert list(report.metrics) == ["zero-one", "Hamming"]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("1\n" * 5, "p: found 5 predictions, expected 6, one for each example of train.svm"),
        ("1\n" * 6 + "\n", "p: found 7 predictions"),
        ("1\n1\n1,1\n1\n1\n1\n", "p:3: found class '1' twice"),
        ("1\n1\nsetosa\n1\n1\n1\n", "p:3: found class 'setosa', expected a number, as in train.svm"),
        ("1\t2\n" * 6, "p:1: found a class name with a control character"),
        ("1\n1\nREJECT\n1\n1\n1\n", "train.svm: example 3 is REJECT, which has no Hamming"),
    ],
)
def test_predictions_that_do_not_fit(folder, rerank, lines, message):
    (folder / "p").write_text(lines)
    assert message in rerank("eval", "train.svm", "p", "-m", "Hamming", code=2).err


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("1\n" * 6, "p: predicts '1' for every example"),
        (
            "0.5\n1\n-2\n7\n0.25\n1\n",
            "p: 4 predicted classes that no example has: -2, 0.25, 0.5, ... (line 3)",
        ),
    ],
)
def test_odd_predictions_are_reported(folder, rerank, lines, message):
    (folder / "p").write_text(lines)
    assert message in rerank("eval", "train.svm", "p", "-m", "Hamming").err


def test_outputs_of_predict(folder, rerank):
    train(rerank, "train.svm", "multilabel")
    scores = [
        line.split("\t") for line in rerank("predict", "m", "train.svm", "--as", "scores").out.splitlines()
    ]
    assert [[float(cell) > 0 for cell in row] for row in scores[:3]] == [
        [True, True],
        [False, True],
        [False, False],
    ]
    table = [
        line.split("\t") for line in rerank("predict", "m", "train.svm", "--as", "table").out.splitlines()
    ]
    assert len(table) == 12
    assert [row[:3] for row in table[2:4]] == [["2", "3", "1"], ["2", "1", "2"]]
    for name in ("run", "best", "grades", "nbest"):
        found = rerank("predict", "m", "train.svm", "--as", name, code=2).err
        assert f"--as {name}: a model of classes predicts classes, scores, table" in found
    assert (
        "--keep-margin is for models of lists"
        in rerank("predict", "m", "train.svm", "--keep-margin", "1", code=2).err
    )
    rerank("train", "--data", "linear.svm", "--out", "l")
    found = rerank("predict", "l", "linear.svm", "--as", "classes", code=2).err
    assert "--as classes: a model of kind linear predicts no classes" in found


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--metric", "AP"), "metric: found AP, expected zero-one, Hamming, error-set or difference"),
        (("--seeds", "2"), "seeds: runs are compared by a metric: give one"),
        (("--keep-margin", "1"), "keep_margin: not used by learner predtron for tasks with classes"),
        (("--tune-base", "dev"), "tune_base: not used by"),
        (("--select", "cv", "--grid", "eta=1,2"), "select=cv: settings for tasks with classes"),
        (("--base-scale", "2"), "base_scale: not used by"),
        (("--first-best", "input"), "data.first_best: not used by"),
        (("--label", "sBLEU"), "data.label: not used by"),
        (("--scaling", "list-zscore"), "scaling list-zscore: train.svm has one example per list"),
    ],
)
def test_what_class_tasks_do_not_use_is_refused(folder, rerank, more, message):
    assert message in train(rerank, "train.svm", "multilabel", *more, code=2).err


def test_learners_and_data_that_do_not_fit_each_other(folder, rerank):
    found = rerank("train", "--data", "train.svm", "--classes", "--out", "m", code=2).err
    assert "data.classes: learner perceptron learns from labels" in found
    examples = CandidateLists.from_arrays([[0.0], [1.0]], classes=["a", "b"])
    with pytest.raises(
        FitError, match=r"no judged item; learner perceptron learns from labels, not from classes"
    ):
        package.train(examples)
    labelled = CandidateLists.from_arrays([[0.0], [1.0]], [0, 1])
    with pytest.raises(
        FitError, match=r"no classes; learner predtron learns from them \(--classes; in a table"
    ):
        package.train(labelled, learner="predtron", task="multiclass")
    with pytest.raises(DataError, match=r"found no classes, expected examples with some \(--classes"):
        package.train(examples, learner="predtron", task="binary", dev=labelled, metric="zero-one")
    assert (
        "train.svm:1: found label '1,3', expected a number (--classes"
        in rerank("validate", "train.svm", code=1).out
    )


@pytest.mark.parametrize("task", TASKS)
def test_the_files_of_every_task_are_the_same_twice(folder, rerank, task):
    data = {"binary": "iris2.csv", "multiclass": "iris.csv", "ordinal": "grades.svm"}.get(task, "train.svm")
    (folder / "iris2.csv").write_text("species,x,y\na,1,2\nb,2,1\na,0,3\nb,3,0\n")
    more = ("--label-column", "species") if data.endswith("csv") else ()
    train(rerank, data, task, *more)
    first, lines = (folder / "m").read_bytes(), rerank("predict", "m", data).out
    train(rerank, data, task, *more, "--jobs", "2")
    assert (folder / "m").read_bytes() == first
    assert rerank("predict", "m", data).out == lines
    (folder / "p").write_text(lines)
    kind = ("--classes", "-m", "AP") if task == "multilabel-ranking" else ("-m", "zero-one")
    rerank("eval", data, "p", *more, *kind)


def test_the_round_that_is_best_on_dev_is_kept(folder, rerank):
    (folder / "dev.csv").write_text("petal,species,sepal\n2,setosa,2\n9,lily,9\n3.4,virginica,-2\n")
    words = ("--dev", "dev.csv", "--metric", "zero-one", "--keep", "best", "--curve", "curve.tsv")
    err = train(rerank, "iris.csv", "multiclass", "--label-column", "species", *words).err
    assert "dev.csv: 1 class that no training example has: lily (such as example 2)" in err
    assert "dev zero-one 0.3333" in err
    assert "kept" in rerank("show", "m").out
    rows = (folder / "curve.tsv").read_text().splitlines()
    assert rows[0].split("\t") == ["round", "updates", "loss", "train", "dev"]
    (folder / "p").write_text(rerank("predict", "m", "dev.csv").out)
    assert "0.3333" in rerank("eval", "dev.csv", "p", "--label-column", "species", "-m", "zero-one").out
    (folder / "dev.csv").write_text("petal,sepal\n2,2\n")
    found = train(rerank, "iris.csv", "multiclass", "--label-column", "species", *words, code=2).err
    assert "dev.csv" in found


def test_validate_convert_and_split(folder, rerank):
    found = rerank("validate", "--classes", "train.svm").out
    assert "classes   2: 1 × 3, 3 × 4; 1.17 per example; 1 example without one" in found
    rerank("convert", "--classes", "train.svm", "--out", "out.csv")
    assert (folder / "out.csv").read_text().startswith('label,1,2\n"1,3",1.0,0.5\n')
    rerank("convert", "--classes", "out.csv", "--out", "back.svm")
    assert (folder / "back.svm").read_text() == MULTILABEL
    rerank(
        "split",
        "--classes",
        "train.svm",
        "--part",
        "a=0.5",
        "--part",
        "b=0.5",
        "--suffix",
        ".svm",
        "--out",
        "parts",
    )
    both = [line for part in "ab" for line in (folder / "parts" / f"{part}.svm").read_text().splitlines()]
    assert sorted(both) == sorted(MULTILABEL.splitlines())
    assert (folder / "parts" / "a.svm").read_text().count("\n") == 3


def test_qids_keep_examples_together_and_lines_their_order(folder, rerank):
    (folder / "q.svm").write_text("a qid:1 1:1\nb qid:2 1:-1\na qid:1 1:2\nb qid:2 1:-3\n")
    train(rerank, "q.svm", "binary")
    assert rerank("predict", "m", "q.svm").out == "a\nb\na\nb\n"
    (folder / "p").write_text("a\nb\nb\nb\n")
    assert "0.2500" in rerank("eval", "q.svm", "p", "-m", "zero-one").out


def test_python_takes_and_gives_plain_values():
    X, classes = [[0.0, 1.0], [2.0, 0.0], [3.0, 1.0]], [["b", "a"], "a", ()]
    lists = CandidateLists.from_arrays(X, classes=classes)
    assert package.evaluate(lists, [{"a", "b"}, ["a"], ""]) == {"zero-one": 0.0, "Hamming": 0.0}
    assert package.evaluate(lists, ["a,b", "b", "a"], ["error-set"]) == {"error-set": 1 / 3}
    assert package.evaluate(lists, ["a,b", ["b", "a"], ("a", "b")], ["RR"]) == {"RR": 0.5}
    numbers = CandidateLists.from_arrays(X, classes=[1, 2, 3])
    assert package.evaluate(numbers, np.array([1.0, 3.0, 3.0]), ["difference"]) == {"difference": 1 / 3}
    pair = package.compare(numbers, {"x": [1, 2, 3], "y": ["1", "REJECT", 1]}, ["zero-one"]).pairs[
        "zero-one"
    ][0]
    assert (pair.value_a, pair.value_b) == (0.0, 2 / 3)
    for wrong, message in (
        ([1, 2], "scores: 2 predictions, expected 3"),
        ("abc", "scores: found str"),
        ([1, None, 2], "prediction of row 2 is missing"),
    ):
        with pytest.raises(DataError, match=message):
            package.evaluate(numbers, wrong)


def test_importance_of_class_models_is_refused(folder):
    model = ClassesModel(["1", "2"], np.eye(2), ("1", "3"), "multilabel")
    with pytest.raises(
        ConfigError, match="a model of kind classes has no importance of features within lists"
    ):
        rerank.permutation_importance(model, "train.svm", "AP")


def test_formats_without_classes_are_refused(folder, rerank):
    (folder / "a.jsonl").write_text('{"prompt_id": 1, "label": 1, "x": 2}\n')
    assert "format jsonl cannot honour classes=True" in train(rerank, "a.jsonl", "multilabel", code=2).err


def test_errors_of_files_name_their_line(folder):
    (folder / "bad.svm").write_text("1 1:1\n2,2 1:1\n")
    with pytest.raises(FormatError, match=r"bad\.svm:2: found class '2' twice in '2,2'"):
        package.load("bad.svm", classes=True)
    (folder / "odd.svm").write_text("1;2 1:1\n")
    with pytest.warns(DataNote, match="'1;2' is the name of one class"):
        package.load("odd.svm", classes=True)
