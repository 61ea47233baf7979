"""chrF: equal to sacrebleu's, which counts it."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.nbest import moses_lists, text_lists

from rerank.data.judge import corpus_value
from rerank.errors import ConfigError, DataError
from rerank.metrics.base import parse
from rerank.metrics.chrf import chrf

CANDIDATES = [["the cat sat", "The cat, sat!", ""], ["ein Häuschen", "ein haus", "\u3000"], ["a", "b"]]
REFERENCES = [["the cat sat down", "das Häuschen", ""], ["A cat sat", "", "ab"]]
NAMES = {
    "chrF": {},
    "chrF++": {"word_order": 2},
    "chrF(nc=3, nw=1, beta=3)": {"char_order": 3, "word_order": 1, "beta": 3},
    "chrF(lc=1, space=1)": {"lowercase": True, "whitespace": True},
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("files", [1, 2])
def test_values_equal_sacrebleus(name, files):
    metrics = pytest.importorskip("sacrebleu.metrics", reason="sacrebleu counts chrF")
    theirs = metrics.CHRF(**NAMES[name])
    lists = text_lists(CANDIDATES, *REFERENCES[:files])
    judge = parse(name).prepare(lists)
    assert judge.better == 1
    for j, i in enumerate(lists.list_index):
        score = theirs.sentence_score(lists.texts[j], [strings[i] for strings in REFERENCES[:files]])
        assert judge.item_values()[j] == pytest.approx(score.score, rel=1e-13)
    chosen = [of_list[1] for of_list in CANDIDATES]
    score = theirs.corpus_score(chosen, REFERENCES[:files])
    scores = np.array([0.0, 1, 0, 0, 1, 0, 0, 1])
    assert corpus_value(judge, judge.per_list(scores)) == pytest.approx(score.score, rel=1e-13)
    assert judge.signature.split("|")[0] == score.name
    assert set(str(theirs.get_signature()).split("|")[:-1]) <= set(judge.signature.split("|"))


@settings(deadline=None)
@given(st.lists(st.tuples(*[st.text("ab é", max_size=8)] * 2), min_size=1, max_size=4))
def test_a_corpus_of_short_texts_equals_sacrebleu(pairs):
    metrics = pytest.importorskip("sacrebleu.metrics", reason="sacrebleu counts chrF")
    texts, references = map(list, zip(*pairs, strict=True))
    judge = parse("chrF").prepare(text_lists([[text] for text in texts], references))
    expected = metrics.CHRF().corpus_score(texts, [references]).score
    assert judge.score_from_sums(judge.per_item.sum(axis=0)) == pytest.approx(expected, rel=1e-13)


def test_a_score_of_sums_worked_by_hand():
    # One order: precision 1/2, recall 1/4; F2 = 5 * 1/8 / (4 * 1/2 + 1/4).
    assert chrf(np.array([2.0, 4, 1])) == pytest.approx(100 * (5 / 8) / (9 / 4))
    # An order that one side lacks does not count.
    assert chrf(np.array([2.0, 4, 1, 0, 3, 0])) == chrf(np.array([2.0, 4, 1]))
    assert chrf(np.zeros((2, 18))).tolist() == [0, 0]
    assert chrf(np.array([3.0, 3, 0])) == 0
    with pytest.raises(DataError, match="three for each order"):
        chrf(np.zeros(4))


def test_names_are_canonical():
    for name, canonical in (("chrF2", "chrF"), ("chrF++", "chrF(nw=2)"), ("chrf(nc=6)", "chrF")):
        assert parse(name).name == canonical
        assert parse(parse(name).name) == parse(name)


@pytest.mark.parametrize("name", ["chrF@5", "chrF(nc=0)", "chrF(nw=1.5)", "chrF(beta=x)", "chrF(eps=1)"])
def test_what_makes_no_sense_is_refused(name):
    with pytest.raises(ConfigError):
        parse(name)


def test_without_sacrebleu_the_error_names_what_to_install(monkeypatch):
    for name in ("sacrebleu", "sacrebleu.metrics", "sacrebleu.metrics.chrf"):
        monkeypatch.setitem(sys.modules, name, None)
    lists = text_lists([["a"]], ["a"])
    with pytest.raises(ConfigError, match=r"chrF needs the package sacrebleu: pip install 'rerank\[mt\]'"):
        parse("chrF").prepare(lists)
    saved = replace(lists, texts=None, references=(), counts={"chrF": np.tile([2.0, 4, 1], (1, 6))})
    assert parse("chrF").prepare(saved).item_values() == pytest.approx([100 * (5 / 8) / (9 / 4)])


@pytest.mark.shared
def test_real_lists_equal_sacrebleu(shared_data):
    metrics = pytest.importorskip("sacrebleu.metrics", reason="sacrebleu counts chrF")
    lists = moses_lists(shared_data / "moses-europarl", "dev")[0].subset(np.arange(12))
    judge = parse("chrF").prepare(lists)
    first = list(lists.texts.take(lists.offsets[:-1]))
    value = corpus_value(judge, judge.first_best())
    assert value == pytest.approx(metrics.CHRF().corpus_score(first, [list(lists.references[0])]).score)
    assert value <= judge.oracle()
