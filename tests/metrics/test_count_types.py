"""Counts in 32 bits: the same results as in doubles, from texts, from a store, and at the limits."""

from dataclasses import replace

import numpy as np
import pytest
from reference.everything import judged_lists

from rerank.data.store import read_store, write_store
from rerank.metrics import selecting
from rerank.metrics.base import Preparation, parse
from rerank.metrics.judges import statistics
from rerank.training.steps.keep_margin import margin_effect, tune_margin

OF_TEXTS = ["BLEU", "BLEU(smooth=add-k)", "sBLEU", "WER", "CER", "PER", "TER", "WER.sub", "CER.ins"]
OF_TREES = ["PARSEVAL", "PARSEVAL.LR", "PARSEVAL.LP", "PARSEVAL.CB", "PARSEVAL.score", "PARSEVAL(max=4)"]
COUNTED = {"BLEU": 10, "WER": 2, "PARSEVAL": 5}
LARGEST = 2**31 - 1


def results(lists, metric):
    """Everything that a judge computes of its statistics."""
    judge = parse(metric).prepare_in(Preparation(lists))
    scores = np.random.default_rng(3).normal(size=lists.n_items).round(1)
    some = np.where(scores > 0.4, np.nan, scores)
    found = [
        judge.item_values(),
        judge.per_list(scores),
        statistics([judge], some)[0],
        judge.best_of(np.arange(lists.n_items), lists.offsets),
        judge.best_of(lists.offsets[:-1], np.arange(lists.n_lists + 1)),
        [judge.random(), judge.oracle()],
        parse(f"oracle2.{metric}").prepare_in(Preparation(lists)).per_list(scores),
    ]
    assert found[1].dtype == np.float64
    margin = tune_margin(lists, judge, scores)
    record = margin_effect(lists, judge, scores, margin)
    return judge, [*found, [margin, record.value, record.without, record.gained, record.lost]]


def assert_equal(found, expected):
    for ours, theirs in zip(found, expected, strict=True):
        assert np.array_equal(ours, theirs, equal_nan=True)


@pytest.mark.parametrize("metric", [*OF_TEXTS, *OF_TREES])
def test_counts_that_fit_take_32_bits_and_change_nothing(metric, monkeypatch):
    lists = judged_lists(sizes=(1, 4, 3, 20, 5, 3, 40)).with_first_best("input")
    lists = replace(lists, references=lists.references[:1])
    monkeypatch.setattr(selecting, "_BLOCK", 7)  # values of items come in blocks
    judge, found = results(lists, metric)
    if metric not in ("sBLEU", "PARSEVAL.CB", "PARSEVAL.score"):  # means
        assert judge.per_item.dtype == np.int32
    monkeypatch.setattr(selecting, "LARGEST_COUNT", 0)
    monkeypatch.setattr(selecting, "_BLOCK", 1 << 14)
    wide, expected = results(lists, metric)
    assert wide.per_item.dtype == np.float64
    assert_equal(found, expected)


def test_a_mean_length_that_is_not_whole_stays_a_double():
    lists = judged_lists()
    assert len(lists.references) > 1
    rows = parse("TER").prepare(lists).per_item
    assert rows.dtype == np.float64
    assert np.any(rows != np.floor(rows))


@pytest.mark.parametrize("metric", COUNTED)
def test_the_largest_counts_do_not_overflow(metric, tmp_path):
    lists = judged_lists().with_first_best("input")
    rng = np.random.default_rng(1)
    rows = rng.integers(LARGEST - 50, LARGEST, (lists.n_items, COUNTED[metric]), endpoint=True)
    rows[rng.random(lists.n_items) < 0.3] = 1
    bare = replace(lists, texts=None, references=(), trees=None, gold=None)
    stores = []
    for dtype in (np.int32, np.float64):
        write_store(replace(bare, counts={metric: rows.astype(dtype)}), tmp_path / "s")
        stores.append(read_store(tmp_path / "s"))
        assert stores[-1].counts[metric].dtype == dtype
    (_, found), (_, expected) = (results(store, metric) for store in stores)
    assert_equal(found, expected)
