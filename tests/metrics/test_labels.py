"""Labels of the chosen items: mean, loss and z-score, unjudged items and lists, exact bounds."""

import csv
import gzip
import math

import numpy as np
import pytest
from make import lists as lists_of
from small_judging import evaluate, values

from rerank.core.errors import ConfigError, DataError
from rerank.data.judge import corpus_value
from rerank.data.lists import CandidateLists
from rerank.metrics.base import parse, prepare_all
from rerank.metrics.judges import statistics
from rerank.metrics.judging import Judging

NAN = float("nan")
NAMES = ["label@1", "loss@1", "z@1", "z(deviation=sample)@1"]


def test_by_hand():
    lists = lists_of([[1.0, 5.0, 3.0], [2.0, 4.0]])
    scores = [0.0, 0.0, 1.0, 0.5, 0.5]  # chooses 3 of the first, and of the tied ones the earlier: 2
    found = values(lists, scores, NAMES)
    assert found["label@1"] == 2.5
    assert found["loss@1"] == 2.0
    assert found["z@1"] == pytest.approx((0.0 - 1.0) / 2)
    assert found["z(deviation=sample)@1"] == pytest.approx(-1.0 / math.sqrt(2) / 2)


def casp_z(labels, chosen, **options):
    """casp-z@1 of one list."""
    bracket = ",".join(f"{key}={value}" for key, value in options.items())
    scores = np.zeros(len(labels))
    scores[chosen] = 1.0
    return values(lists_of([labels]), scores, [name := f"casp-z({bracket})@1"])[name]


def test_casp_z_by_hand():
    # Mean 34, sample deviation 13.5: the z-score of 0 is -2.5. The rest has mean 340 / 9.
    labels = [0.0, 30.0, 30.0, 30.0, 40.0, 40.0, 40.0, 40.0, 40.0, 50.0]
    spread = math.sqrt((3 * (340 / 9 - 30) ** 2 + 5 * (40 - 340 / 9) ** 2 + (50 - 340 / 9) ** 2) / 8)
    assert casp_z(labels, 9) == pytest.approx((50 - 340 / 9) / spread)
    assert casp_z(labels, 1) == pytest.approx((30 - 340 / 9) / spread)
    assert casp_z(labels, 0) == -2.0
    assert casp_z(labels, 0, floor=0) == casp_z(labels, 1, floor=0) == 0.0
    population = casp_z(labels, 9, deviation="population")
    assert population == pytest.approx((50 - 340 / 9) / spread * math.sqrt(9 / 8))
    assert values(lists_of([labels]), np.array(labels), ["z@1"])["z@1"] < 1.3 < casp_z(labels, 9)


def test_casp_z_of_odd_lists():
    assert casp_z([7.0], 0) == casp_z([7.0, 7.0, 7.0], 1) == casp_z([0.1] * 7, 3) == 0.0
    # All but one are equal: of six or more that one is dropped, and what is left has no deviation.
    assert casp_z([0.1] * 9 + [0.0], 9, floor=0) == casp_z([0.1] * 9 + [0.0], 0) == 0.0
    assert casp_z([0.1] * 9 + [0.0], 9) == -2.0
    # Of five its z-score is exactly -2 with the population's deviation, which is not below -2.
    for low in (0.1, 0.7, 1 / 3):
        assert casp_z([low + 0.3] * 4 + [low], 0, deviation="population") == pytest.approx(0.5)
    assert casp_z([1.0, NAN, 3.0], 1) == pytest.approx(-1.0 / math.sqrt(2))  # as the lowest judged one
    with pytest.raises(DataError, match="no list has a judged item"):
        casp_z([NAN, NAN], 0)


def test_casp_z_of_a_list_of_which_nothing_was_returned_is_the_floor():
    lists = lists_of([[1.0, 2.0], [1.0, 2.0]])
    scores = np.array([0.0, 1.0, NAN, NAN])
    names = ["casp-z@1", "casp-z(floor=0)@1", "z@1"]
    found = [rows[:, 0].tolist() for rows in statistics(prepare_all(lists, names), scores)]
    best = pytest.approx(math.sqrt(0.5))
    assert found == [[best, -2.0], [best, 0.0], [1.0, -1.0]]
    with pytest.raises(ConfigError, match=r"floor.*-2.*0"):
        parse("casp-z(floor=-1)@1")


def test_every_list_against_numpy():
    rng = np.random.default_rng(0)
    parts = [rng.normal(50, 10, rng.integers(2, 9)) for _ in range(30)]
    lists = lists_of([*parts])
    scores = rng.random(lists.n_items)
    judges = prepare_all(lists, NAMES)
    assert len({id(judge.stage) for judge in judges}) == 1
    for i, (part, *rows) in enumerate(zip(parts, *statistics(judges, scores), strict=True)):
        chosen = part[int(np.argmax(scores[lists.offsets[i] : lists.offsets[i + 1]]))]
        away = chosen - part.mean()
        wanted = [chosen, part.max() - chosen, away / part.std(), away / part.std(ddof=1)]
        assert [row[0] for row in rows] == pytest.approx(wanted)
        assert [row[1] for row in rows] == [1.0] * 4


def test_unjudged_items_gain_nothing_and_unjudged_lists_do_not_count():
    lists = lists_of([[2.0, NAN, 6.0], [NAN, NAN], [4.0]])
    scores = [0.0, 1.0, 0.0, 1.0, 0.0, 0.0]
    found = values(lists, scores, NAMES)
    assert found["label@1"] == 2.0  # (0 + 4) / 2
    assert found["loss@1"] == 3.0
    assert found["z@1"] == -0.5  # of mean 4 and deviation 2; a list of one has none
    for judge in prepare_all(lists, NAMES):
        assert judge.judged.tolist() == [True, False, True]
        assert np.isfinite(judge.per_item).all()
        assert not judge.per_item[3:5].any()
        assert f"unjudged:{'lowest' if 'z' in judge.name else 'min(0,lowest)'}" in judge.signature
    record = evaluate(lists, {"s": scores}, NAMES, samples=20).as_json()
    assert record["unjudged"] == 1


def test_judgements_that_are_all_positive_tell_items_apart():
    """As P@1 does; items without a label used to count as the lowest one, here 1."""
    lists = lists_of([[NAN, 1.0, NAN, NAN], [1.0, NAN]]).with_first_best("input")
    names = ["label@1", "loss@1", "P@1"]
    for judge in prepare_all(lists, names, Judging(ties="input")):
        bounds = [corpus_value(judge, judge.first_best()), judge.random(), judge.oracle()]
        assert bounds == ([0.5, 0.625, 0.0] if judge.name == "loss@1" else [0.5, 0.375, 1.0])
    below = values(lists_of([[-3.0, NAN, -1.0]]), [0.0, 1.0, 0.0], ["label@1", "loss@1"])
    assert below == {"label@1": -3.0, "loss@1": 2.0}


def test_bounds_are_exact():
    lists = lists_of([[1.0, 5.0, 3.0], [2.0, 4.0]]).with_first_best("input")
    label, loss, z, _ = (judge for judge in prepare_all(lists, NAMES))
    assert (label.oracle(), loss.oracle()) == (4.5, 0.0)
    assert z.oracle() == pytest.approx((2 / math.sqrt(8 / 3) + 1) / 2)
    assert (label.random(), loss.random()) == (3.0, 1.5)
    assert z.random() == pytest.approx(0.0, abs=1e-15)
    assert (label.better, loss.better, z.better) == (1, -1, 1)
    assert corpus_value(label, label.first_best()) == 1.5
    assert corpus_value(loss, loss.first_best()) == 3.0
    assert label.item_values().tolist() == [1.0, 5.0, 3.0, 2.0, 4.0]


def test_lists_of_equal_labels_have_z_zero_whatever_rounding_does():
    lists = lists_of([[0.1] * 3, [0.7] * 7, [3.0, 1.0]])
    for name in NAMES[2:]:
        judge = parse(name).prepare(lists)
        assert judge.per_item[:10, 0].tolist() == [0.0] * 10
        assert "constant:0" in judge.signature


def test_an_evaluation_shows_them_in_a_table():
    lists = lists_of([*([float(i), 1.0, 2.0] for i in range(9))])
    text = evaluate(lists, {"s": np.arange(27.0)}, NAMES[:3], samples=20).text()
    assert "loss@1 (lower is better)" in text
    assert "2.0000" in text


def test_lists_without_labels_are_refused():
    lists = CandidateLists.from_arrays(np.zeros((2, 1)))
    for name in NAMES:
        with pytest.raises(DataError, match="no labels"):
            parse(name).prepare(lists)


def casp13(shared_data):
    """Targets that have Ornate, models with all of eight scores, GDT_TS as labels; and their mean z."""
    with gzip.open(shared_data / "casp13" / "casp13_merged.csv.gz", "rt", newline="") as lines:
        rows = list(csv.DictReader(lines))
    names = [name for name in rows[0] if name not in ("target", "model", "3DCNN", "GDT_TS")]
    rows = [row for row in rows if all(row[name] for name in names)]
    X = np.array([[float(row[name]) for name in names] for row in rows])
    labels = [float(row["GDT_TS"]) for row in rows]
    lists = CandidateLists.from_arrays(X, labels, qid=[row["target"] for row in rows])
    X = lists.features.values
    z = np.zeros(lists.n_items)
    for begin, end in zip(lists.offsets[:-1], lists.offsets[1:], strict=True):
        part = X[begin:end]
        z[begin:end] = ((part - part.mean(0)) / part.std(0)).mean(axis=1)
    return lists, z


def test_protein_models_have_the_known_values(shared_data):
    lists, z = casp13(shared_data)
    assert lists.n_lists == 68
    found = values(lists, z, ["label@1", "z@1"])
    assert found["label@1"] == pytest.approx(56.5, abs=0.05)
    assert found["z@1"] == pytest.approx(1.29, abs=0.01)
    assert parse("label@1").prepare(lists).oracle() == pytest.approx(62.8, abs=0.05)
