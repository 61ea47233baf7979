"""Selecting judges: the choice, exact and sampled bounds, statistics from texts or saved counts."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rerank.core.errors import DataError
from rerank.data.columns.offsets import offsets_of
from rerank.data.columns.strings import StringColumn
from rerank.data.first_best import first_largest
from rerank.data.judge import corpus_value
from rerank.data.lists import CandidateLists
from rerank.metrics.base import Preparation
from rerank.metrics.judges import statistics
from rerank.metrics.selecting import (
    MeanJudge,
    RatioJudge,
    SelectingJudge,
    SelectingMetric,
    Selection,
    TextStatistics,
    reference_count,
)


class Lengths(TextStatistics):
    """Bytes of the text and of the first reference."""

    family = "LEN"

    @property
    def width(self):
        return 2

    def count(self, texts, references, offsets):
        own = texts.lengths().astype(float)
        return np.stack([own, np.repeat(references[0].lengths(), np.diff(offsets)).astype(float)], axis=1)


class LengthRatio(SelectingMetric):
    family = "LEN"

    def prepare_in(self, preparation):
        counts = preparation.shared(Lengths())
        return RatioJudge("LEN", "LEN", preparation.of_lists(Selection), counts, better=-1)


class Product(SelectingJudge):
    """A corpus value that is no ratio of sums: needs the climb."""

    def score_from_sums(self, sums):
        return sums[..., 0] * sums[..., 1]


def plain(lengths=(3, 1, 4), **columns):
    n = sum(lengths)
    return replace(CandidateLists.from_arrays(np.zeros((n, 1)), group=list(lengths)), **columns)


def with_texts(lists, seed=0):
    rng = np.random.default_rng(seed)
    texts = StringColumn.from_strings(["x" * int(k) for k in rng.integers(0, 9, lists.n_items)])
    refs = StringColumn.from_strings(["y" * int(k) for k in rng.integers(1, 9, lists.n_lists)])
    return replace(lists, texts=texts, references=(refs,))


def all_choices(lists):
    return itertools.product(*(range(*pair) for pair in itertools.pairwise(lists.offsets.tolist())))


@given(st.lists(st.lists(st.integers(-2, 2), min_size=1, max_size=6), min_size=1, max_size=6))
def test_the_largest_score_is_chosen_and_on_ties_the_earliest(values):
    offsets = offsets_of([len(part) for part in values])
    expected = [o + part.index(max(part)) for o, part in zip(offsets, values, strict=False)]
    flat = np.concatenate(values).astype(float)
    assert first_largest(flat, offsets).tolist() == expected
    lists = plain([len(part) for part in values])
    assert Selection(lists).place(flat.astype(np.float32)).tolist() == expected


def test_infinite_scores_choose_and_nan_never():
    stage = Selection(plain((2, 2)))
    assert stage.place([-np.inf, -np.inf, -np.inf, np.inf]).tolist() == [0, 3]
    assert stage.place([np.nan, -np.inf, np.nan, np.nan]).tolist() == [1, -1]
    with pytest.raises(DataError, match="shape"):
        stage.place([0.0])


def test_judges_of_one_preparation_share_the_choice_and_the_counts():
    preparation = Preparation(with_texts(plain()))
    one, two = (LengthRatio().prepare_in(preparation) for _ in range(2))
    assert one.stage is two.stage
    assert one.per_item is two.per_item
    found = statistics([one, two], np.arange(8.0))
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], one.per_list(np.arange(8.0)))


@pytest.mark.parametrize("better", [1, -1])
@pytest.mark.parametrize("seed", range(12))
def test_the_oracle_of_a_ratio_is_exact(better, seed):
    rng = np.random.default_rng(seed)
    lists = plain((3, 1, 4, 3))
    rows = np.stack([rng.integers(0, 7, 11), rng.integers(0, 5, 11)], axis=1).astype(float)
    rows[rng.integers(11), 1] = 0.0
    rows[3, 1] = 2.0  # the list of one: some denominator is positive
    judge = RatioJudge("R", "R", Selection(lists), rows, better=better)
    every = [float(judge.score_from_sums(rows[list(c)].sum(axis=0))) for c in all_choices(lists)]
    assert judge.oracle() == max(every, key=lambda value: better * value)


@pytest.mark.parametrize("better", [1, -1])
def test_the_oracle_of_a_ratio_needs_one_denominator_only(better):
    lists = plain((2, 1))
    rows = np.array([[0.0, 0.0], [3.0, 2.0], [1.0, 0.0]])
    assert RatioJudge("R", "R", Selection(lists), rows, better=better).oracle() == 200.0
    assert np.isnan(RatioJudge("R", "R", Selection(lists), rows * [1.0, 0.0], better=better).oracle())


def test_the_oracle_of_a_mean_is_exact_and_skips_lists_that_are_not_judged():
    lists = plain((2, 2, 1))
    values = np.array([1.0, 4.0, np.nan, np.nan, 3.0])
    judged = np.array([True, False, True])
    for better, best in ((1, 3.5), (-1, 2.0)):
        judge = MeanJudge("M", "M", Selection(lists), values, better=better, judged=judged)
        assert judge.oracle() == best
        assert judge.random() == 2.75
        assert corpus_value(judge, judge.per_list(np.zeros(5))) == 2.0
        assert np.isnan(judge.item_values()[2:4]).all()
        assert judge.item_values()[4] == 3.0


@pytest.mark.parametrize("better", [1, -1])
def test_a_climb_gains_on_its_start_and_ends_if_no_single_change_gains(better):
    rng = np.random.default_rng(5)
    lists = plain((4,) * 8)
    judge = Product("P", "P", Selection(lists), rng.random((32, 2)), better=better)
    items = np.arange(32, dtype=np.int64)
    chosen = judge.best_of(items, lists.offsets)
    start = first_largest(better * judge.item_values(), lists.offsets)

    def value(choice):
        return better * corpus_value(judge, judge.of(choice))

    assert value(chosen) >= value(start)
    for i in range(8):
        for item in range(4 * i, 4 * i + 4):
            changed = chosen.copy()
            changed[i] = item
            assert value(changed) <= value(chosen) + 1e-9
    assert judge.oracle() == corpus_value(judge, judge.of(chosen))


def test_best_of_chooses_among_what_is_offered():
    lists = plain((3, 3))
    values = np.array([1.0, 2.0, 3.0, 6.0, 5.0, 4.0])
    judge = MeanJudge("M", "M", Selection(lists), values)
    items = np.array([1, 0, 5, 4], dtype=np.int64)
    assert judge.best_of(items, offsets_of([2, 2])).tolist() == [1, 4]
    ratio = RatioJudge("R", "R", Selection(lists), judge.per_item)
    assert ratio.best_of(items, offsets_of([2, 2])).tolist() == [1, 4]
    product = Product("P", "P", Selection(lists), judge.per_item)
    assert product.best_of(items, offsets_of([2, 2])).tolist() == [1, 4]


def test_random_is_exact_for_even_denominators_and_near_it_by_sampling():
    lists = plain((5,) * 60)
    rng = np.random.default_rng(2)
    rows = np.stack([rng.integers(0, 9, 300), np.repeat(rng.integers(1, 9, 60), 5)], axis=1).astype(float)
    ratio = RatioJudge("R", "R", Selection(lists), rows)
    exact = 100 * rows[:, 0].sum() / rows[:, 1].sum()
    assert ratio.random() == pytest.approx(exact, rel=1e-12)
    sampled = SelectingJudge.random(ratio)
    assert sampled == pytest.approx(exact, rel=0.02)
    assert sampled != exact
    assert sampled == SelectingJudge.random(ratio)
    rows[0, 1] += 1
    assert RatioJudge("R", "R", Selection(lists), rows).random() == pytest.approx(exact, rel=0.02)


def test_first_best_is_the_first_stages_choice():
    lists = with_texts(plain())
    assert LengthRatio().prepare(lists).first_best() is None
    judge = LengthRatio().prepare(lists.with_first_best("input"))
    assert np.array_equal(judge.first_best(), judge.per_item[[0, 3, 4]])


def test_saved_counts_replace_texts():
    lists = with_texts(plain())
    counts = Lengths().of(lists)
    saved = replace(lists, texts=None, references=(), counts={"LEN": counts})
    assert np.array_equal(LengthRatio().prepare(saved).per_item, counts)
    assert reference_count(saved) == "saved"
    assert reference_count(lists) == "1"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"texts": None}, "LEN needs the candidates' texts or saved counts"),
        ({"references": ()}, "--refs FILE"),
        ({"counts": {"LEN": np.zeros((8, 3))}}, "2 numbers per item"),
        ({"counts": {"LEN": np.full((8, 2), np.nan)}}, "2 numbers per item"),
    ],
)
def test_what_is_missing_is_a_one_line_error(change, message):
    with pytest.raises(DataError) as caught:
        LengthRatio().prepare(replace(with_texts(plain()), **change))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
