"""Unjudged items of training lists: left out, counted as not relevant, or refused; reported and recorded."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from small_training import fit, make_learner

import rerank
from rerank import CandidateLists
from rerank.core.errors import ConfigError, DataError
from rerank.experiments.config import read_experiment
from rerank.models.base import load_model
from rerank.models.describe import model_lines, model_record
from rerank.models.describe_training import unjudged_lines
from rerank.training.config import read_config
from rerank.training.train import train_files

RNG = np.random.default_rng(5)
X = RNG.normal(size=(60, 3))
LENGTHS = [6] * 10


def lists_of(labels: np.ndarray) -> CandidateLists:
    return CandidateLists.from_arrays(X, labels, group=LENGTHS, source="set")


def positives_only() -> np.ndarray:
    """One relevant item in each of the first eight lists, two lists without a judged item."""
    labels = np.full(60, np.nan)
    for start in range(0, 48, 6):
        labels[start + int(np.argmax(X[start : start + 6, 0] + 0.5 * X[start : start + 6, 1]))] = 1.0
    return labels


def filled(labels: np.ndarray, level: float = 0.0) -> np.ndarray:
    out = labels.copy()
    out[:48] = np.where(np.isnan(out[:48]), level, out[:48])
    return out


@pytest.mark.parametrize("learner", ["perceptron", "ridge", "listnet", "rankboost", "prank"])
def test_negative_is_the_label_0_in_judged_lists(learner: str) -> None:
    labels = positives_only()
    dev = lists_of(labels)
    counted = rerank.train(lists_of(labels), learner, dev=dev, metric="nDCG@3", unjudged="negative")
    expected = rerank.train(lists_of(filled(labels)), learner, dev=lists_of(filled(labels)), metric="nDCG@3")
    assert counted.score(dev).tolist() == expected.score(dev).tolist()
    assert expected.training.unjudged is None
    record = counted.training.unjudged
    assert (record.items, record.lists, record.label, record.positives_only) == (40, 8, 0.0, True)
    assert counted.training.data.fingerprint == lists_of(labels).fingerprint()


def test_choices_and_folds_count_them_too() -> None:
    labels = positives_only()
    options = {"metric": "nDCG@3", "select": "cv", "folds": 3, "grid": {"penalty": [0.1, 100.0]}}
    counted = rerank.train(lists_of(labels), "ridge", unjudged="negative", **options)
    expected = rerank.train(lists_of(filled(labels)), "ridge", **options)
    assert counted.training.choice == expected.training.choice
    assert np.array_equal(counted.score(lists_of(labels)), expected.score(lists_of(labels)))


def test_the_label_is_that_of_judged_items_that_are_not_relevant() -> None:
    labels = np.where(np.arange(60) % 6 == 1, -1.0, positives_only())
    model = rerank.train(lists_of(labels), "ridge", unjudged="negative")
    assert model.training.unjudged.label == -1.0
    assert unjudged_lines(model.training) == [
        "unjudged: 43 items of 10 judged lists, counted as not relevant (label -1)"
    ]


def test_positives_only_are_refused_with_the_flag_that_works() -> None:
    labels = positives_only()
    with pytest.raises(DataError) as caught:
        rerank.train(lists_of(labels), "ridge")
    assert str(caught.value) == (
        "set: no list has two different labels, so nothing is learnt without the 40 unjudged items of judged "
        "lists; --unjudged negative (unjudged='negative') counts them as not relevant"
    )
    third, fourth = np.flatnonzero(np.isnan(labels[:6]))[:2]
    labels[third] = 2.0  # two grades: something can be learnt, with a hint
    model = rerank.train(lists_of(labels), "ridge")
    assert unjudged_lines(model.training) == [
        "unjudged: 39 items of 8 judged lists, left out; no item is judged as not relevant (--unjudged "
        "negative counts them so)"
    ]
    labels[fourth] = 0.0
    model = rerank.train(lists_of(labels), "ridge")
    assert unjudged_lines(model.training) == ["unjudged: 38 items of 8 judged lists, left out"]


def test_error_names_the_first_one() -> None:
    lists = replace(lists_of(filled(positives_only())), list_ids=None)
    rerank.train(lists, "ridge", unjudged="error")  # lists without a judged item stay out
    labels = filled(positives_only())
    labels[[8, 9]] = np.nan
    with pytest.raises(
        DataError, match=r"set: 2 unjudged items in judged lists, the first is list '2', item 3;"
    ):
        rerank.train(lists_of(labels), "ridge", unjudged="error")


def test_a_learner_without_labels_refuses_the_choice_and_records_nothing() -> None:
    with pytest.raises(ConfigError, match="unjudged=negative: not used by learner rrf"):
        fit(make_learner("rrf", {}), lists_of(positives_only()), unjudged="negative")
    model = fit(make_learner("rrf", {}), lists_of(positives_only()))
    assert model.training.unjudged is None
    with pytest.raises(ConfigError, match="unjudged"):
        fit(make_learner("predtron", {"task": "multiclass"}), lists_of(positives_only()), unjudged="negative")


def test_files_models_and_show(tmp_path: Path) -> None:
    rows = [f"{q} Q0 d{i} {i} {10 - i + q % 2 * i}.5 bm25" for q in range(5) for i in range(1, 5)]
    (tmp_path / "a.run").write_text("\n".join(rows) + "\n")
    (tmp_path / "q.tsv").write_text(
        "query-id\tcorpus-id\tscore\n" + "".join(f"{q}\td2\t1\n" for q in range(5))
    )
    (tmp_path / "c.yaml").write_text(
        f"data: {{train: {tmp_path}/a.run, qrels: {tmp_path}/q.tsv, unjudged: negative}}\n"
        "learner: {name: ridge}\n"
    )
    result = train_files(read_config(str(tmp_path / "c.yaml"), []))
    line = "15 items of 5 judged lists, counted as not relevant (label 0)"
    assert f"unjudged: {line}" in result.summary()
    result.model.save(str(tmp_path / "m"))
    model = load_model(str(tmp_path / "m"))
    assert f"unjudged  {line}" in model_lines(model)
    assert model_record(model)["unjudged"]["label"] == 0.0
    with pytest.raises(ConfigError, match="unjudged"):
        read_config(str(tmp_path / "c.yaml"), ["data.unjudged=zero"])


def test_rows_of_an_experiment(tmp_path: Path) -> None:
    """The choice of the data is for rows that learn from labels; a row may have its own."""
    head = "data: {train: a.letor, test: b.letor, unjudged: negative}\nmetrics: AP\nlearners:\n"
    path = tmp_path / "e.yaml"
    path.write_text(f"{head} rrf: {{}}\n ridge: {{}}\n one: {{name: ridge, data: {{unjudged: skip}}}}\n")
    config = read_experiment(str(path))
    rows = ("rrf", "ridge", "one")
    found = [config.train_config(row, config.training(row, "1")).data.unjudged for row in rows]
    assert found == ["skip", "negative", "skip"]
    path.write_text(f"{head} rrf: {{data: {{unjudged: error}}}}\n")
    with pytest.raises(ConfigError, match=r"learners\.rrf: unjudged=error: not used by learner rrf"):
        read_experiment(str(path))
