"""Names of metrics: what parses, what it prints back as, what is refused."""

from __future__ import annotations

from typing import ClassVar

import pytest

from rerank.core.errors import ConfigError
from rerank.metrics.base import FAMILIES, parse, parse_all
from rerank.metrics.oracle import TopOracle


@pytest.mark.parametrize(
    ("typed", "canonical"),
    [
        ("AP", "AP"),
        ("MAP", "AP"),
        ("map", "AP"),
        ("AP@100", "AP@100"),
        ("map_cut_100", "AP@100"),
        ("AP(rel=2)@100", "AP(rel=2)@100"),
        ("AP(rel=2.5)", "AP(rel=2.5)"),
        ("AP(rel=1)", "AP"),
        ("MRR", "RR"),
        ("recip_rank", "RR"),
        ("RR@10", "RR@10"),
        ("P@5", "P@5"),
        ("P_5", "P@5"),
        ("precision@5", "P@5"),
        ("P(rel=2)@5", "P(rel=2)@5"),
        ("recall_20", "R@20"),
        ("Recall@20", "R@20"),
        ("pass@1", "pass@1"),
        ("Pass@10", "pass@10"),
        ("Best-of@8", "best@8"),
        ("best(draw=first)@8", "best(draw=first)@8"),
        ("majority@8", "maj@8"),
        ("wmaj(weight=score)", "wmaj"),
        ("pass(rel=2)@4", "pass(rel=2)@4"),
        ("pass(rel=1)@4", "pass(rel=1)@4"),
        ("success_5", "Success@5"),
        ("Success(rel=2)@5", "Success(rel=2)@5"),
        ("hit-rate@3", "Success@3"),
        ("nDCG", "nDCG"),
        ("NDCG@10", "nDCG@10"),
        ("ndcg_cut_10", "nDCG@10"),
        ("nDCG(dcg='exp-log2')@10", "nDCG-exp@10"),
        ('nDCG(dcg="log2")@10', "nDCG@10"),
        ("ndcg-LETOR@10", "nDCG-letor@10"),
        ("pairs", "PairAcc"),
        ("PairAcc(over=pairs)", "PairAcc(over=pairs)"),
    ],
)
def test_a_name_prints_back_as_the_canonical_one(typed: str, canonical: str) -> None:
    metric = parse(typed)
    assert metric.name == canonical
    assert parse(metric.name) == metric


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("AQ", "did you mean 'AP'"),
        ("ndgc@10", "did you mean 'nDCG'"),
        ("P", "P needs a cutoff"),
        ("R", "R needs a cutoff"),
        ("pass", "pass needs a cutoff, such as pass@1"),
        ("Success", "Success needs a cutoff"),
        ("best(draw=first)", "draw needs a number of samples, such as best(draw=first)@4"),
        ("maj(short=all)", "short needs a number of samples, such as maj(short=all)@4"),
        ("maj(subsets=9)", "subsets needs draws of k samples, such as maj(subsets=500)@4"),
        ("wmaj(weight=log)@4", "weight: found 'log'"),
        ("pass(rel=-1)@2", "rel: found -1, expected 0 or more"),
        ("Success(rel=0)@2", "rel: found 0, expected more than 0"),
        ("AP@0", "at least 1"),
        ("AP(rl=2)", "did you mean 'rel'"),
        ("AP(rel=0)", "rel: found 0, expected more than 0"),
        ("AP(rel=two)", "rel: found 'two', expected a number"),
        ("AP(rel=2,rel=3)", "once for each key"),
        ("AP(2)", "key=value"),
        ("nDCG(dcg=loge)", "found 'loge', expected 'log2', 'exp-log2' or 'letor'"),
        ("nDCG-exp(dcg=log2)", "unknown parameter 'dcg'"),
        ("PairAcc@3", "no cutoff"),
        ("PairAcc(over=items)", "expected 'lists' or 'pairs'"),
        ("oracle5x.AP", "unknown metric"),
        ("", "cannot read"),
        ("AP(", "cannot read"),
        ("AP 3", "cannot read"),
    ],
)
def test_the_error_for_a_wrong_name_states_what_is_expected(typed: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(typed)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_measure_named_twice_is_kept_as_first_typed() -> None:
    assert {typed: metric.name for typed, metric in parse_all(["MAP", "AP", "P_5"]).items()} == {
        "MAP": "AP",
        "P_5": "P@5",
    }
    with pytest.raises(ConfigError, match="no metric"):
        parse_all([])
    assert list(parse_all("P@10")) == ["P@10"]


def test_a_prefix_wraps_another_metric(monkeypatch: pytest.MonkeyPatch) -> None:
    FAMILIES.names()  # the families of the package, before one more

    class Best(TopOracle):
        family: ClassVar[str] = "best."

    monkeypatch.setitem(FAMILIES._entries, "best.", Best)
    metric = parse("best5.WER(lc=1)")
    assert isinstance(metric, Best)
    assert metric.cutoff == 5
    assert metric.inner.name == "WER(lc=1)"
