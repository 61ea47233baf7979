"""rerank.evaluate, compare, label and save on plain sequences; the examples of their docstrings run."""

import doctest
import inspect

import numpy as np
import pytest
from small_judging import evaluate as evaluation
from small_judging import values

import rerank
from rerank import CandidateLists, DataError

NAN = float("nan")
LABELS = [[1, 0, 2], [0, 1], [1, 1, 0, 0]]
SCORES = [[0.1, 0.2, 0.9], [0.8, 0.3], [1.0, 3.0, 2.0, 0.0]]
TEXTS = [["the cat sat", "a cat"], ["it rains", "it is raining", "rain"]]
REFERENCES = ["the cat sat down", "it is raining"]
FLAT_LABELS = [label for row in LABELS for label in row]
FLAT_SCORES = [score for row in SCORES for score in row]
LISTS = CandidateLists.from_arrays(np.empty((9, 0)), FLAT_LABELS, group=[3, 2, 4])
METRICS = ["AP", "RR", "nDCG@10", "P@1"]


@pytest.mark.parametrize("name", ["rerank", *sorted(set(rerank.__all__) - {"__version__"})])
def test_examples_of_docstrings(name):
    owner = rerank if name == "rerank" else getattr(rerank, name)
    text = inspect.getdoc(owner) or ""
    test = doctest.DocTestParser().get_doctest(text, {}, name, None, None)
    assert doctest.DocTestRunner().run(test).failed == 0
    if name in ("rerank", "compare", "evaluate", "label", "preference_pairs", "save", "train"):
        assert test.examples


def test_nested_and_flat_sequences_give_what_lists_give():
    expected = rerank.evaluate(LISTS, FLAT_SCORES, METRICS)
    assert rerank.evaluate(LABELS, SCORES, METRICS) == expected
    assert rerank.evaluate(LABELS, FLAT_SCORES, METRICS) == expected
    assert rerank.evaluate(FLAT_LABELS, FLAT_SCORES, METRICS, group=[3, 2, 4]) == expected
    assert rerank.evaluate(np.array(FLAT_LABELS), np.array(FLAT_SCORES), METRICS, group=[3, 2, 4]) == expected
    assert rerank.evaluate([np.array(row) for row in LABELS], SCORES, METRICS) == expected
    assert rerank.evaluate(LISTS, SCORES, METRICS) == expected
    assert set(rerank.evaluate(LABELS, SCORES)) == {"AP", "RR", "nDCG@10"}


def test_scores_follow_flat_items_whose_lists_are_not_contiguous():
    order = np.random.default_rng(0).permutation(9)
    qid = np.repeat(["a", "b", "c"], [3, 2, 4])[order]
    labels, scores = np.array(FLAT_LABELS)[order], np.array(FLAT_SCORES)[order]
    found = rerank.evaluate(labels, scores, METRICS, qid=qid)
    assert found == pytest.approx(rerank.evaluate(LABELS, SCORES, METRICS))


def test_texts_with_one_and_with_several_references():
    first = [[2, 1], [0, 1, 0]]
    assert rerank.evaluate(TEXTS, first, ["WER"], refs=REFERENCES) == {"WER": pytest.approx(100 / 7)}
    assert rerank.evaluate(TEXTS, first, refs=REFERENCES).keys() == {"BLEU"}
    several = [["the cat sat down", "the cat sat"], ["it is raining", "it rains"]]
    assert rerank.evaluate(TEXTS, first, ["WER"], refs=several) == {"WER": 0.0}


def test_labels_of_texts_are_those_of_lists():
    lists = rerank.label(TEXTS, "sBLEU", refs=REFERENCES)
    assert lists.n_lists == 2
    again = rerank.label(rerank.label(TEXTS, "sBLEU", refs=REFERENCES), "sBLEU")
    np.testing.assert_array_equal(lists.labels, again.labels)
    assert np.argmax(lists.labels[:2]) == 0


def test_saved_sequences_are_read_again(tmp_path):
    path = tmp_path / "a.store"
    rerank.save(TEXTS, path, refs=REFERENCES)
    lists = rerank.load(path)
    assert [list(lists.texts)[i] for i in (0, 3)] == ["the cat sat", "it is raining"]
    assert list(lists.references[0]) == REFERENCES
    rerank.save(LABELS, tmp_path / "b.store")
    assert rerank.load(tmp_path / "b.store").labels.tolist() == FLAT_LABELS


@pytest.mark.parametrize(
    ("data", "scores", "options", "message"),
    [
        (LABELS, [[1, 2, 3], [1, 2, 3], [1, 2, 3, 4]], {}, "list 2: found 3 scores, expected 2"),
        (LABELS, SCORES[:2], {}, "found scores of 2 lists, expected 3"),
        (LABELS, FLAT_SCORES[:4], {}, "scores"),
        (LABELS, ["high"] * 9, {}, "scores must be numbers"),
        (LABELS, SCORES, {"group": [3, 2, 4]}, "group and qid are for flat sequences"),
        (LISTS, SCORES, {"refs": REFERENCES}, "are for plain sequences, found CandidateLists"),
        (FLAT_LABELS, FLAT_SCORES, {"group": [3, 2]}, "group"),
        (["a", 1], [1, 2], {}, "found texts and numbers"),
        (TEXTS, [[1, 2], [1, 2, 3]], {"refs": REFERENCES[:1]}, "found references of 1 lists, expected 2"),
        (TEXTS, [[1, 2], [1, 2, 3]], {"refs": [["a"], ["b", "c"]]}, "different numbers of references"),
        ([], [], {}, "no items"),
        ([[], [1]], [[], [1]], {}, "list"),
    ],
)
def test_sequences_that_do_not_fit_are_one_line(data, scores, options, message):
    with pytest.raises(DataError) as caught:
        rerank.evaluate(data, scores, ["RR"] if data is not TEXTS else ["WER"], **options)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


SCATTERED = CandidateLists.from_arrays(np.eye(6), [1, 0, 0, 1, 0, 1], qid=["a", "b", "a", "b", "a", "b"])


def test_scores_are_in_the_order_of_the_callers_rows(tmp_path):
    """Row by row, however the rows are grouped: in evaluate, compare and the evaluation beneath."""
    labels = SCATTERED.input_order(SCATTERED.labels)
    best, worst = labels.tolist(), (-labels).tolist()
    assert rerank.evaluate(SCATTERED, best, ["AP"]) == {"AP": 1.0}
    assert rerank.evaluate(SCATTERED, worst, ["RR"])["RR"] == pytest.approx((1 / 3 + 1 / 2) / 2)
    nested = [[1, 0, 0], [0, 1, 1]]
    assert rerank.evaluate(SCATTERED, nested, ["AP"]) == {"AP": 1.0}
    pair = rerank.compare(SCATTERED, {"a": best, "b": worst}, ["AP"]).pairs["AP"][0]
    assert (pair.value_a, pair.wins) == (1.0, 2)
    found = evaluation(SCATTERED, {"a": best}, ["AP"])
    assert found.systems["a"]["AP"].value == values(SCATTERED, best, ["AP"])["AP"] == 1.0
    rerank.save(SCATTERED, str(tmp_path / "set.store"))
    assert rerank.evaluate(rerank.load(tmp_path / "set.store"), best, ["AP"]) == {"AP": 1.0}
    with pytest.raises(DataError, match=r"^a: the score of item 1 is NaN \(1 in all\)$"):
        rerank.compare(SCATTERED, {"a": [1, NAN, 2, 3, 4, 5], "b": best}, ["AP"])


@pytest.mark.filterwarnings("ignore::rerank.core.errors.DataNote")
@pytest.mark.parametrize("missing", ["nan", "zero", "list-mean"])
def test_nan_is_a_missing_score_if_a_policy_is_given(missing):
    """In nested, flat and several systems alike; without a policy it is an error."""
    labels, nested = [[1, 0, 0], [0, 1]], [[NAN, 2.0, -4.0], [1.0, NAN]]
    scores = {"nan": [[-9, 2, -4], [1, -9]], "zero": [[0, 2, -4], [1, 0]], "list-mean": [[-1, 2, -4], [1, 1]]}
    found = rerank.evaluate(labels, nested, ["Kendall", "P@1"], missing=missing)
    assert found == rerank.evaluate(labels, scores[missing], ["Kendall", "P@1"])
    flat = {"a": [*nested[0], *nested[1]], "b": [1, 0, 0, 0, 1]}
    pair = rerank.compare(flat["b"], flat, "Kendall", group=[3, 2], missing=missing).pairs["Kendall"][0]
    assert pair.value_a == found["Kendall"]
    with pytest.raises(DataError, match=r"^a: no score$"):
        rerank.compare(flat["b"], {"a": [NAN] * 5, "b": flat["b"]}, group=[3, 2], missing=missing)


def test_series_are_taken_by_position():
    """A filtered frame's index does not begin with 0."""

    class Series(list):
        def __getitem__(self, label):
            raise KeyError(label)

    labels, scores, qid = Series([1.0, 0.0, 0.0]), Series([0.5, 0.1, 0.2]), Series(["x", "y", "x"])
    assert rerank.evaluate(labels, scores, ["RR"], qid=qid) == {"RR": 0.5}
    assert rerank.evaluate(LISTS, Series(FLAT_SCORES), METRICS) == rerank.evaluate(
        LISTS, FLAT_SCORES, METRICS
    )


def test_lists_without_a_judgement_are_an_error_as_on_the_command_line():
    none = [[NAN, NAN], [NAN]]
    scores = [[1.0, 2.0], [3.0]]
    lists = rerank.CandidateLists.from_arrays([[1.0]] * 3, [NAN] * 3, group=[2, 1])
    for call in (
        lambda: rerank.evaluate(none, scores, "AP"),
        lambda: rerank.evaluate(none, {"a": scores, "b": scores}, ["AP", "label@1"]),
        lambda: rerank.evaluate(lists, [1.0, 2.0, 3.0], ["label@1", "Kendall"]),
        lambda: rerank.compare(none, {"a": scores, "b": scores}, "AP"),
        lambda: rerank.metrics.ndcg(none, scores),
        lambda: rerank.metrics.kendall(none, scores),
    ):
        with pytest.raises(DataError, match="no list has a judged item"):
            call()
