"""Systems that did not return every item: the score NaN."""

import numpy as np
import pytest
import pytrec_eval
from reference.everything import judged_lists
from reference.trec_eval import by_query

from rerank.data.columns.offsets import Ragged
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense
from rerank.evaluation.curves import precision_at_recall
from rerank.metrics.base import prepare_all
from rerank.metrics.judges import ranked_last, statistics
from rerank.metrics.judging import Judging
from rerank.metrics.relevance import NOT_RETURNED, Relevance

MEASURES = ("AP", "AP@3", "P@5", "R@2", "RR", "nDCG", "nDCG@3", "Success@2")
TREC = {
    "AP": "map", "P@5": "P_5", "RR": "recip_rank", "nDCG": "ndcg", "Success@5": "success_5",
    "R@5": "recall_5", "nDCG@5": "ndcg_cut_5", "AP@5": "map_cut_5", "Rprec": "Rprec", "bpref": "bpref",
    "infAP": "infAP",
}  # fmt: skip


def pooled(seed, n_lists=7, longest=9):
    """Lists of a pool, and the scores of a system that lacks some items and two whole lists."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, longest, n_lists)
    n = int(lengths.sum())
    labels = rng.choice([0.0, 0.0, 1.0, 2.0, np.nan], n)
    labels[0] = 1.0
    missed = rng.integers(0, 3, n_lists)
    lists = CandidateLists(
        np.concatenate([[0], np.cumsum(lengths)]),
        Dense(np.zeros((n, 0))),
        labels=labels,
        item_ids=StringColumn.from_strings(f"d{k}" for k in rng.permutation(n)),
        unretrieved=Ragged(
            rng.integers(-1, 3, missed.sum()).astype(float), np.concatenate([[0], np.cumsum(missed)])
        ),
    )
    scores = rng.choice([-np.inf, -1.0, 0.5, 0.5 + 1e-9, 2.0, 1e300], n)
    scores[rng.random(n) < 0.4] = np.nan
    for i in rng.permutation(n_lists)[:2]:
        scores[lists.offsets[i] : lists.offsets[i + 1]] = np.nan
    return lists, scores


def dictionaries(lists, scores):
    """What trec_eval would be given: judgements with the unretrieved documents, and the run."""
    qrels, run = {}, {}
    for i in range(lists.n_lists):
        span = range(lists.offsets[i], lists.offsets[i + 1])
        labels = {lists.item_ids[k]: lists.labels[k] for k in span if lists.labels[k] == lists.labels[k]}
        more = lists.unretrieved.values[slice(*lists.unretrieved.offsets[i : i + 2])]
        judged = {**labels, **{f"more{j}": label for j, label in enumerate(more.tolist())}}
        found = {lists.item_ids[k]: float(scores[k]) for k in span if scores[k] == scores[k]}
        if judged:
            qrels[str(i)] = judged
        if found:
            run[str(i)] = found
    return qrels, run


@pytest.mark.parametrize("seed", range(8))
def test_measures_of_retrieval_are_those_of_the_run_alone(seed):
    lists, scores = pooled(seed)
    qrels, run = dictionaries(lists, scores)
    judges = prepare_all(lists, MEASURES, Judging(ties="trec"))
    for judge, rows in zip(judges, statistics(judges, scores), strict=True):
        wanted = by_query(judge.name, qrels, run)
        assert rows[:, 1].tolist() == [float(str(i) in wanted) for i in range(lists.n_lists)]
        found = {str(i): value for i, (value, counts) in enumerate(rows.tolist()) if counts}
        assert found == pytest.approx(wanted, abs=1e-14), judge.name


@pytest.mark.parametrize("seed", range(4))
def test_they_equal_trec_evals_to_the_last_digit(seed):
    lists, scores = pooled(100 + seed, n_lists=12, longest=40)
    qrels, run = dictionaries(lists, scores)
    whole = {q: {d: int(label) for d, label in judged.items()} for q, judged in qrels.items()}
    theirs = pytrec_eval.RelevanceEvaluator(
        whole,
        {"map", "P", "recip_rank", "ndcg", "success", "recall", "ndcg_cut", "map_cut"}
        | {"Rprec", "bpref", "infAP"},
    ).evaluate(run)
    judges = prepare_all(lists, TREC)
    for judge, rows in zip(judges, statistics(judges, scores), strict=True):
        for i, (value, counts) in enumerate(rows.tolist()):
            assert value == (theirs[str(i)][TREC[judge.name]] if counts and str(i) in theirs else 0.0)


@pytest.mark.parametrize("ties", ["trec", "expected", "input"])
def test_precision_at_recall_is_that_of_the_run_alone(ties):
    lists, scores = pooled(3)
    found = precision_at_recall(stage := Relevance(lists, ties), placed := stage.place(scores))
    absent = np.isnan(scores[stage.items[placed.order]])
    assert (np.asarray(placed.above)[absent] == NOT_RETURNED).all()
    last = scores.copy()
    last[np.isnan(scores)] = -1e301  # below the others, where the rest of the judgements is not relevant
    labels = np.where(np.isnan(scores) & (lists.labels > 0), 0.0, lists.labels)
    gone = np.bincount(lists.list_index, np.isnan(scores) & (lists.labels > 0)).astype(int)
    more = gone + lists.unretrieved.count(lists.unretrieved.values > 0).astype(int)
    missed = Ragged(np.ones(int(more.sum())), np.concatenate([[0], np.cumsum(more)]))
    alone = Relevance(
        CandidateLists(
            lists.offsets, lists.features, labels=labels, item_ids=lists.item_ids, unretrieved=missed
        ),
        ties,
    )
    finite = np.where(np.isneginf(last), -1e300, last)
    if ties != "trec":  # where both are infinite
        np.testing.assert_allclose(found, precision_at_recall(alone, alone.place(finite)))
    assert found.any()


def test_the_chosen_item_is_one_that_was_returned():
    lists = judged_lists(4, sizes=(3, 2, 2), labels=[1.0, 5.0, 2.0, 3.0, 4.0, 7.0, 6.0])
    nan = np.nan
    scores = np.array([0.1, nan, 0.2, -np.inf, nan, nan, nan])
    label, loss, oracle = (
        rows[:, 0].tolist()
        for rows in statistics(prepare_all(lists, ["label@1", "loss@1", "oracle3.label@1"]), scores)
    )
    assert label == [2.0, 3.0, 0.0]  # nothing returned: as an unjudged item
    assert loss == [3.0, 1.0, 1.0]  # the worst item
    assert oracle == [2.0, 3.0, 0.0]


def test_pairs_and_correlations_have_what_was_not_returned_below():
    lists = judged_lists(4, sizes=(4, 3), labels=[0.0, 1.0, 2.0, 3.0, 0.0, 1.0, 2.0])
    nan = np.nan
    scores = np.array([nan, nan, -np.inf, 5.0, nan, nan, nan])
    below = np.array([0.0, 0.0, 1.0, 2.0, 0.0, 0.0, 0.0])
    judges = prepare_all(lists, ["PairAcc", "Spearman", "Kendall"])
    for rows, judge in zip(statistics(judges, scores), judges, strict=True):
        assert np.array_equal(rows, judge.per_list(below)), judge.name


def test_scores_keep_their_order_and_their_ties():
    nan, inf = np.nan, np.inf
    assert ranked_last(np.array([1.0, 1.0, 0.0])).tolist() == [1.0, 1.0, 0.0]
    assert ranked_last(np.array([1.0, nan, 0.0])).tolist() == [1.0, -inf, 0.0]
    assert ranked_last(np.array([inf, nan, -inf, 0.0, -0.0])).tolist() == [2.0, -inf, 0.0, 1.0, 1.0]
