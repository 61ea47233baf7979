"""maj@k and wmaj@k: ties, weights, samples without an answer, answers with two labels, drawn subsets."""

import itertools
import warnings
from dataclasses import replace

import numpy as np
import pytest
from small_judging import value

from rerank.core.errors import DataError, DataNote
from rerank.data.columns.strings import StringColumn
from rerank.data.describe import describe
from rerank.data.lists import CandidateLists
from rerank.metrics import voting
from rerank.metrics.base import parse

NAN = float("nan")


def lists_of(answers: list[str], right: str = "R", **columns: object) -> CandidateLists:
    """Lists of answers, a letter for each sample, _ = none; R is right."""
    labels = [float(letter == right) for part in answers for letter in part]
    lists = CandidateLists.from_arrays(np.zeros((len(labels), 1)), labels, group=list(map(len, answers)))
    texts = StringColumn.from_strings("" if letter == "_" else letter for part in answers for letter in part)
    return replace(lists, answers=texts, **columns)


def test_the_most_frequent_answer_wins_and_ties_are_as_stated() -> None:
    for answers, expected, first in (
        ("RRa", 1.0, 1.0),
        ("aaR", 0.0, 0.0),
        ("aR", 0.5, 0.0),
        ("Ra", 0.5, 1.0),
        ("aRbRa", 0.5, 0.0),
        ("R__", 1.0, 1.0),
        ("___", 0.0, 0.0),
        ("abcR", 0.25, 0.0),
    ):
        lists = lists_of([answers])
        assert value(lists, np.zeros(len(answers)), "maj") == expected
        assert value(lists, np.zeros(len(answers)), "maj(ties=first)") == first
    lists = lists_of(["aRR", "RRa"])
    assert value(lists, np.zeros(6), "maj(draw=first)@2") == 0.75
    assert value(lists, np.zeros(6), "maj@2") == pytest.approx((1 + 0.5 + 0.5) / 3)


@pytest.mark.parametrize("blank", [" ", "\t", "\n", "\u00a0", "\u3000", "\u2003"])
def test_blanks_at_the_ends_of_answers_do_not_count(blank: str) -> None:
    texts = ["b", "a", f"a{blank}", f"{blank}a", blank]
    lists = replace(lists_of(["bRRRb"]), answers=StringColumn.from_strings(texts))
    for metric in ("maj", "wmaj", "maj@4", "wmaj(weight=exp)@4"):
        plain = replace(lists, answers=StringColumn.from_strings([text.strip() for text in texts]))
        assert value(lists, np.ones(5), metric) == value(plain, np.ones(5), metric)
    assert value(lists, np.ones(5), "maj") == 1.0
    assert ("answers", "4, 2.0 different ones in a list on average") in describe(lists).facts


@pytest.mark.parametrize("metric", ["maj@4", "maj(ties=first)@4", "wmaj@4", "wmaj(weight=exp, ties=first)@4"])
def test_votes_among_many_answers_equal_those_counted_in_a_table(
    metric: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(1)
    answers = "".join(map(chr, rng.integers(0x4E00, 0x4E80, 300))).replace(chr(0x4E03), "_")
    lists, scores = lists_of([answers], right=chr(0x4E05)), np.round(rng.random(300), 1)
    scored = replace(lists, labels=np.array([float(ord(letter) % 5) for letter in answers]))
    table = value(scored, scores, metric)
    monkeypatch.setattr(voting, "_DENSE", 0)
    assert value(scored, scores, metric) == pytest.approx(table, rel=1e-14)


def test_weights_are_scores_their_exponents_or_ranks() -> None:
    lists = lists_of(["Raab"])
    assert value(lists, [0.9, 0.4, 0.4, 0.0], "wmaj") == 1.0
    assert value(lists, [0.75, 0.5, 0.25, 0.0], "wmaj") == 0.5
    assert value(lists, [0.1 + 0.2, 0.3, 0.0, 0.0], "wmaj") == 0.5  # rounding is no lead
    assert value(lists, [0.0, 0.0, 0.0, 0.0], "wmaj") == pytest.approx(1 / 3)
    assert value(lists, [0.0, -1.0, -1.0, -9.0], "wmaj(weight=exp)") == 1.0
    assert value(lists, [0.0, -0.5, -0.5, -9.0], "wmaj(weight=exp)") == 0.0
    assert value(lists, [1e308, -1e308, 0.0, 0.0], "wmaj(weight=exp)") == 1.0
    # Exponents are relative to the samples that vote: none of them is 0 because of others far above.
    assert value(lists_of(["Ra_"]), [0.0, -1.0, 2000.0], "wmaj(weight=exp)") == 1.0
    assert value(lists_of(["Rab"]), [-2000.0, -3000.0, 0.0], "wmaj(weight=exp)@2") == pytest.approx(1 / 3)
    assert value(lists, [5.0, 2.0, 1.0, 4.0], "wmaj(weight=rank)") == 1.0  # 4 : 1 + 2 : 3
    assert value(lists, [3.0, 2.0, 2.0, 1.0], "wmaj(weight=rank)") == 0.0  # 4 : 2.5 + 2.5 : 1
    for scores, metric, message in (
        (
            [-1.0, 0, 0, 0],
            "wmaj@2",
            r"list '1', item 1 is -1, expected .*wmaj\(weight=exp\)@2 takes exp\(score",
        ),
        ([0, np.inf, 0, 0], "wmaj", "item 2 is inf, expected a finite weight of 0 or more"),
        ([0, -np.inf, 0, 0], "wmaj(weight=exp)", "item 2 is -inf"),
    ):
        with pytest.raises(DataError, match=message):
            value(lists, scores, metric)


def test_equal_weights_are_a_majority_vote() -> None:
    rng = np.random.default_rng(1)
    lists = lists_of(["".join(rng.choice(list("Rabc_"), 12)) for _ in range(6)])
    for k in ("", "@3", "@7", "@11"):
        for ties in ("expected", "first"):
            plain = value(lists, np.zeros(72), f"maj(ties={ties}){k}")
            for metric, score in (("wmaj", 0.1), ("wmaj(weight=exp)", -3.0), ("wmaj(weight=rank)", 2.0)):
                name = metric.replace(")", f", ties={ties})") if ")" in metric else f"wmaj(ties={ties})"
                assert value(lists, np.full(72, score), name + k) == pytest.approx(plain, abs=1e-12)


def test_drawn_subsets_are_close_to_all_of_them() -> None:
    rng = np.random.default_rng(2)
    lists = lists_of(["".join(rng.choice(list("RRRabc_"), 11)) for _ in range(40)])
    scores = rng.random(440)
    for metric in ("maj", "wmaj", "wmaj(weight=rank, ties=first)"):
        base, _, bracket = metric.partition("(")
        inside = f"{bracket.removesuffix(')')}, " if bracket else ""
        drawn, exact = (value(lists, scores, f"{base}({inside}subsets={n})@5") for n in (100, 462))
        assert drawn == pytest.approx(exact, abs=0.01)
        assert drawn != exact


def test_bounds_of_a_weighted_vote() -> None:
    lists = lists_of(["aR", "a_", "RR"])
    judge = parse("wmaj").prepare(lists)
    assert judge.oracle() == pytest.approx(2 / 3)
    assert 1 / 3 <= judge.random() <= 2 / 3
    assert judge.random() == judge.random()
    assert parse("wmaj@1").prepare(lists).oracle() == pytest.approx(0.5)
    assert judge.first_best() is None
    order = np.array([2.0, 1.0] * 3)
    ranked = parse("wmaj").prepare(replace(lists, first_best=order))
    assert ranked.first_best()[:, 0].tolist() == [0, 0, 1]
    for base, expected in ((np.array([0.0, 0.5] * 3), 1.0), (np.array([-1.0, -2.0] * 3), 0.0)):
        scored = parse("wmaj").prepare(replace(lists, first_best=order, base_scores=base))
        assert scored.first_best()[0, 0] == expected


def test_answers_with_two_labels_are_reported_and_count_their_mean() -> None:
    lists = replace(lists_of(["aab", "RRR"]), labels=np.array([1.0, 0.0, 0.0, 1.0, NAN, 1.0]))
    with pytest.warns(
        DataNote, match=r"arrays: 1 answers have samples .* the first in list '1', answer 'a'; the mean"
    ):
        assert value(lists, np.zeros(6), "maj") == 0.75
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        unjudged = replace(lists_of(["ab", "R_"]), labels=np.array([NAN, -1.0, 1.0, NAN]))
        assert value(unjudged, np.zeros(4), "maj") == pytest.approx((-1.0 + 1.0) / 2)


def test_a_vote_needs_answers() -> None:
    lists = replace(lists_of(["ab"]), answers=None)
    with pytest.raises(
        DataError, match=r"arrays: votes need the samples' answers, found none \(--answer-column"
    ):
        parse("maj").prepare(lists)


def test_the_value_of_a_list_does_not_depend_on_others() -> None:
    rng = np.random.default_rng(4)
    lists = lists_of(["".join(rng.choice(list("Rabc"), 14)) for _ in range(4)])
    scores = rng.random(56)
    for metric in ("maj@6", "wmaj@6"):
        rows = parse(metric).prepare(lists).per_list(scores)
        for i, j in itertools.permutations(range(4), 2):
            part = lists.subset([i, j])
            own = np.concatenate([scores[14 * i : 14 * i + 14], scores[14 * j : 14 * j + 14]])
            assert np.array_equal(parse(metric).prepare(part).per_list(own), rows[[i, j]])
