import numpy as np
import pytest
from small_judging import values

import rerank
from rerank.core.errors import DataError, DataNote, FormatError, RerankError
from rerank.data.classes import Predictions, class_lists, read_predictions
from rerank.data.lists import CandidateLists


def examples(*classes, **more):
    return CandidateLists.from_arrays(
        np.zeros((len(classes), 1)), classes=list(classes), source="made", **more
    )


def expanded(lists, *texts, **more):
    out, scores = class_lists(lists, {"p": Predictions("p", texts)}, **more)
    return out, scores["p"].reshape(out.n_lists, -1)


def test_sets_become_scores_of_candidate_classes():
    lists, scores = expanded(examples("3", (), "1,3"), "1,+3.0", "REJECT", "")
    assert list(lists.classes) == ["1", "3"] * 3
    assert lists.labels.reshape(3, 2).tolist() == [[0, 1], [0, 0], [1, 1]]
    assert scores.tolist() == [[1, 1], [-1, -1], [0, 0]]


def test_rankings_become_falling_scores():
    lists, scores = expanded(examples("b", ("a", "c")), "b,a,c", "c, b ,a", ranked=True)
    assert scores.tolist() == [[2, 3, 1], [1, 2, 3]]
    assert values(lists, scores.ravel(), ["RR", "AP"]) == {"RR": 1.0, "AP": (1 + (1 + 2 / 3) / 2) / 2}


def test_examples_are_in_the_order_of_the_rows():
    lists, _ = expanded(examples("a", "b", "c", qid=[1, 2, 1]), "a", "b", "c")
    assert lists.labels.reshape(3, 3).tolist() == np.eye(3).tolist()


@pytest.mark.parametrize("metric", ["zero-one", "Hamming", "Hamming(per=class)", "error-set", "difference"])
@pytest.mark.parametrize("scores", [np.array([0.5, 1.0, 0.25, 1.0]), [3, 5, 7, 9], ["7", "8.5", "8", "7"]])
def test_scores_are_no_predictions_of_classes(metric, scores, tmp_path):
    """They became classes that no example has: a zero-one loss of 1 with a note alone."""
    path = tmp_path / "lists.letor"
    path.write_text("1 qid:1 1:5\n0 qid:1 1:2\n0 qid:2 1:5\n1 qid:2 1:2\n")
    for call in (
        lambda: rerank.evaluate(str(path), scores, [metric]),
        lambda: rerank.evaluate(str(path), {"a": scores, "b": scores[::-1]}, [metric]),
        lambda: rerank.compare(examples("a", "b", "a", "b"), {"a": list("abab"), "b": scores}, ["zero-one"]),
        lambda: rerank.metrics.hamming([1, 0, 0, 1], [2, 3, 2.5, 7]),
    ):
        with pytest.raises(
            RerankError, match="which no example has, expected a predicted class, not a score"
        ):
            call()
    labelled = CandidateLists.from_arrays([[1.0]] * 4, [1, 0, 0, 1])
    with pytest.raises(RerankError, match="no classes to measure against"):
        rerank.evaluate(labelled, [0.5, 1.0, 0.25, 1.0], [metric])


def test_classes_with_fractions_may_be_predicted():
    with pytest.warns(DataNote, match="1 predicted class that no example has"):
        assert rerank.metrics.difference([0.5, 1.5], [0.5, 2.5]) == 0.5


def test_unknown_classes_are_reported_with_their_line():
    with pytest.warns(
        DataNote, match=r"p: 1 predicted class that no example has: c \(line 2\); the examples have a, b"
    ):
        lists, _ = expanded(examples("a", "b"), "a", "c")
    assert list(lists.classes)[:3] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("classes", "texts", "ranked", "message"),
    [
        (("1", "2"), ("1", "a"), False, "p:2: found class 'a', expected a number, as in made"),
        (("a", "b"), ("a,a", "b"), False, "p:1: found class 'a' twice in 'a,a'"),
        (("a", "b"), ("a", "0.5\t1"), False, "p:2: found a class name with a control character"),
        (("a", "b"), ("a,b", "b"), True, "p:2: found 1 class, expected a ranking of all 2 classes"),
        (("a", "b"), ("REJECT", "b"), True, "p:1: found a class 'REJECT'"),
        (((), ()), ("", ""), False, "made: no example has a class"),
    ],
)
def test_predictions_that_do_not_fit_are_refused(classes, texts, ranked, message):
    with pytest.raises((DataError, FormatError), match=message):
        expanded(examples(*classes), *texts, ranked=ranked)


def test_a_class_called_reject_is_refused():
    lists = examples("a", "b")
    with pytest.raises(DataError, match="a class 'REJECT'"):
        examples("REJECT")
    with pytest.raises(DataError, match="found no classes"):
        class_lists(CandidateLists.from_arrays(np.zeros((2, 1)), [0, 1]), {})
    assert class_lists(lists, {})[1] == {}


def test_files_of_predictions(tmp_path):
    lists, path = examples("a", "b", "c"), tmp_path / "p"
    for text, expected in (
        ("a\nb\n\n", ["a", "b", ""]),
        ("\ufeffa\r\n\r\nb, c", ["a", "", "b, c"]),
        ("\n\n\n", ["", "", ""]),
    ):
        path.write_bytes(text.encode())
        assert list(read_predictions(str(path), lists).texts) == expected
    for text, n in (("a\nb\n", 2), ("a\nb\nc\n\n", 4), ("", 0)):
        path.write_text(text)
        with pytest.raises(
            FormatError, match=f"found {n} predictions, expected 3, one for each example of made"
        ):
            read_predictions(str(path), lists)


def test_hamming_and_zero_one_are_those_of_scikit_learn():
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(0)
    true, found = rng.random((2, 40, 6)) < 0.4
    true[0] = True
    names = np.array(["c1", "c2", "c3", "c4", "c5", "c6"])
    lists, scores = expanded(
        examples(*(names[row] for row in true)), *(",".join(names[row]) for row in found)
    )
    ours = values(lists, scores.ravel(), ["zero-one", "Hamming(per=class)"])
    assert ours["zero-one"] == pytest.approx(metrics.zero_one_loss(true, found))
    assert ours["Hamming(per=class)"] == pytest.approx(metrics.hamming_loss(true, found))
    ranked = rng.standard_normal((40, 6))
    true[:, 0] |= ~true.any(axis=1)  # scikit-learn takes the AP without a label for 1
    texts = [",".join(names[np.argsort(-row)]) for row in ranked]
    lists, scores = expanded(examples(*(names[row] for row in true)), *texts, ranked=True)
    expected = metrics.label_ranking_average_precision_score(true, ranked)
    assert values(lists, scores.ravel(), ["AP"])["AP"] == pytest.approx(expected)
