"""Names of metrics: what parses, what it prints back as, what is refused."""

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
        ("bleu", "BLEU"),
        ("BLEU(tok=none, lc=0, smooth=exp)", "BLEU"),
        ("BLEU(lc=yes,tok=13a)", "BLEU(tok=13a, lc=1)"),
        ("BLEU(smooth=floor, value=0.1)", "BLEU(smooth=floor)"),
        ("BLEU(smooth=add-k,value=0.5)", "BLEU(smooth=add-k, value=0.5)"),
        ("BLEU+1", "sBLEU"),
        ("sentence-BLEU(smooth=higher)", "sBLEU(smooth=higher)"),
        ("sBLEU(smooth=each, lc=true)", "sBLEU(lc=1)"),
        ("oracle2.sBLEU", "oracle2.sBLEU"),
        ("Oracle3.label", "oracle3.label@1"),
        ("oracle2.bleu(tok=13a, lc=true)", "oracle2.BLEU(tok=13a, lc=1)"),
        ("label", "label@1"),
        ("label-loss@1", "loss@1"),
        ("regret", "loss@1"),
        ("z-score@1", "z@1"),
        ("z(deviation=population)@1", "z@1"),
        ("z(deviation=sample)@1", "z(deviation=sample)@1"),
    ],
)
def test_a_name_prints_back_as_the_canonical_one(typed: str, canonical: str) -> None:
    metric = parse(typed)
    assert metric.name == canonical
    assert parse(metric.name) == metric
    assert hash(parse(metric.name)) == hash(metric)


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("APP", "did you mean 'AP'"),
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
        ("BLEU@4", "BLEU takes no cutoff"),
        ("BLEU(tok=13)", "expected 'none', '13a'"),
        ("BLEU(lc=maybe)", "lc: found 'maybe', expected true or false"),
        ("BLEU(smooth=add)", "'floor', 'add-k' or 'exp'"),
        ("BLEU(value=2)", "value belongs to smooth=floor or smooth=add-k"),
        ("BLEU(smooth=floor, value=0)", "value: found 0, expected more than 0"),
        ("BLEU(smooth=floor, value=some)", "value: found 'some', expected a number"),
        ("BLEU(smoth=exp)", "did you mean 'smooth'"),
        ("BLEU(order=3)", "order"),
        ("sBLEU(smooth=exp)", "smooth: found 'exp', expected 'each' or 'higher'"),
        ("sBLEU(smooth=each, value=1)", "value"),
        ("sBLEU@2", "sBLEU takes no cutoff"),
        ("oracle.BLEU", "oracle2.sBLEU"),
        ("oracle0.BLEU", "a cutoff is at least 1"),
        ("oracle5.AP", "a metric of one chosen item, such as oracle2.sBLEU, not AP"),
        ("oracle5.oracle3.BLEU", "not oracle3.BLEU"),
        ("oracle5.BLUE", "did you mean 'BLEU'"),
        ("oracle5", "unknown metric"),
        ("label@5", "oracle5.label@1"),
        ("z(deviation=mean)@1", "expected 'population' or 'sample'"),
        ("label(deviation=sample)@1", "unknown parameter 'deviation'"),
    ],
)
def test_the_error_for_a_wrong_name_states_what_is_expected(typed: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(typed)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


NONSENSE = ["WER@3", "WER(lc=2)", "WER(tok=14a)", "CER(tok=13a)", "PER(words=1)", "TER@2", "TER(asian=1)"]
NONSENSE += ["TER(lc=1)", "TER(no_punct=maybe)", "chrF@5", "chrF(nc=0)", "chrF(nw=1.5)", "chrF(beta=x)"]


@pytest.mark.parametrize("name", NONSENSE)
def test_settings_that_make_no_sense_are_refused(name: str) -> None:
    with pytest.raises(ConfigError):
        parse(name)


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
