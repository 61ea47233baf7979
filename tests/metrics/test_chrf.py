"""chrF: statistics and values equal sacrebleu's to the bit."""

import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.metrics import chrf as twin
from reference.texts import moses_lists, text_lists

from rerank.core.errors import DataError
from rerank.data.judge import corpus_value
from rerank.metrics.base import parse
from rerank.metrics.chrf import chrf
from rerank.native.learners import _mert

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
    metrics = pytest.importorskip("sacrebleu.metrics", reason="the peer of chrF")
    theirs = metrics.CHRF(**NAMES[name])
    lists = text_lists(CANDIDATES, *REFERENCES[:files])
    judge = parse(name).prepare(lists)
    assert judge.better == 1
    for j, i in enumerate(lists.list_index):
        score = theirs.sentence_score(lists.texts[j], [strings[i] for strings in REFERENCES[:files]])
        assert judge.item_values()[j] == score.score
    chosen = [of_list[1] for of_list in CANDIDATES]
    score = theirs.corpus_score(chosen, REFERENCES[:files])
    scores = np.array([0.0, 1, 0, 0, 1, 0, 0, 1])
    assert corpus_value(judge, judge.per_list(scores)) == score.score
    assert judge.signature.split("|")[0] == score.name
    assert set(str(theirs.get_signature()).split("|")[:-1]) <= set(judge.signature.split("|"))


def test_a_score_of_sums_worked_by_hand():
    # One order: precision 1/2, recall 1/4; F2 = 5 * 1/8 / (4 * 1/2 + 1/4).
    assert chrf(np.array([2.0, 4, 1])) == pytest.approx(100 * (5 / 8) / (9 / 4))
    # An order that one side lacks does not count.
    assert chrf(np.array([2.0, 4, 1, 0, 3, 0])) == chrf(np.array([2.0, 4, 1]))
    assert chrf(np.zeros((2, 18))).tolist() == [0, 0]
    assert chrf(np.array([3.0, 3, 0])) == 0
    for wrong in (np.zeros(4), np.zeros(0), np.array(3.0)):
        with pytest.raises(DataError, match="three for each order"):
            chrf(wrong)


SIGNS = ["ab ", "abc .,!-", "aé ñ\u0301\U0001f600\u3000.", "日本語中文 。a", "a\0\x1c\x85\xa0 \udc80\udcff."]


@st.composite
def drawn_lists(draw):
    """Texts of few characters, most of them near a reference, with one to three references."""
    signs = draw(st.sampled_from(SIGNS))
    texts = st.text(signs, max_size=40)
    references = draw(st.lists(st.lists(texts, min_size=2, max_size=2), min_size=1, max_size=3))
    candidates = []
    for i in (0, 1):
        of_list = draw(st.lists(texts, min_size=1, max_size=3))
        for near in references:
            cut = draw(st.integers(0, len(near[i])))
            of_list.append(near[i][cut:] + draw(st.sampled_from(signs)) + near[i][:cut])
        candidates.append(of_list)
    return candidates, references


@settings(deadline=None)
@given(
    drawn_lists(),
    st.integers(1, 20),
    st.integers(0, 4),
    st.sampled_from([1, 2, 7]),
    st.booleans(),
    st.booleans(),
)
def test_statistics_are_those_of_counters(drawn, nc, nw, beta, lc, space):
    candidates, references = drawn
    metric = parse(f"chrF(nc={nc}, nw={nw}, beta={beta}, lc={int(lc)}, space={int(space)})")
    judge = metric.prepare(text_lists(candidates, *references))
    expected = [
        twin.chosen_statistics(metric, text, [strings[i] for strings in references])
        for i, of_list in enumerate(candidates)
        for text in of_list
    ]
    assert judge.per_item.tolist() == [
        [number for of_order in row for number in of_order] for row in expected
    ]
    assert judge.item_values().tolist() == [twin.f_score(row, beta) for row in expected]
    sums = judge.per_item.sum(axis=0).astype(float)
    assert _mert.value_of(sums, judge.sum_form.number, *judge.sum_form.parameters) == judge.score_from_sums(
        sums
    )


def test_bytes_that_are_no_text_count_as_python_decodes_them():
    texts = [b"\xff\xfe ab", b"\xe2\x82", b"\xc3\xa9.\xc3", b"\xed\xa0\x80.", b""]
    decoded = [text.decode("utf-8", "surrogateescape") for text in texts]
    metric = parse("chrF++")
    lists = text_lists([decoded], ["\udcff\xe9. \udced\udca0"])
    expected = [twin.statistics(metric, text, lists.references[0][0]) for text in decoded]
    assert metric.prepare(lists).per_item.tolist() == [
        [number for of_order in row for number in of_order] for row in expected
    ]


def test_long_texts_and_pieces_of_many_lists(monkeypatch):
    rng = np.random.default_rng(0)
    texts = ["".join(rng.choice(list("abcdefgh  ,"), size)) for size in (5_000, 1, 4_000, 300, 0, 6)]
    candidates = [[text[k:] + text[: 2 * k] for k in (0, 7, 90)] for text in texts]
    metric = parse("chrF++")
    found = metric.prepare(text_lists(candidates, texts)).per_item
    expected = [twin.statistics(metric, c, t) for t, of in zip(texts, candidates, strict=True) for c in of]
    assert found.tolist() == [[number for of_order in row for number in of_order] for row in expected]
    monkeypatch.setattr(sys.modules["rerank.metrics.chrf"], "PORTION", 1)
    assert np.array_equal(found, metric.prepare(text_lists(candidates, texts)).per_item)


def test_nothing_of_sacrebleu_is_needed(monkeypatch):
    for name in ("sacrebleu", "sacrebleu.metrics", "sacrebleu.metrics.chrf"):
        monkeypatch.setitem(sys.modules, name, None)
    assert parse("chrF").prepare(text_lists([["a", "b"]], ["a"])).item_values().tolist() == [100, 0]
    saved = replace(text_lists([["a"]], ["a"]), texts=None, references=())
    saved = replace(saved, counts={"chrF": np.tile([2.0, 4, 1], (1, 6))})
    assert parse("chrF").prepare(saved).item_values() == pytest.approx([100 * (5 / 8) / (9 / 4)])


@pytest.mark.filterwarnings("ignore:.*no capital letters")  # europarl's texts
def test_real_lists_equal_sacrebleu(shared_data):
    metrics = pytest.importorskip("sacrebleu.metrics", reason="the peer of chrF")
    lists = moses_lists(shared_data / "moses-europarl", "dev")[0].subset(np.arange(12))
    judge = parse("chrF").prepare(lists)
    first = list(lists.texts.take(lists.offsets[:-1]))
    value = corpus_value(judge, judge.first_best())
    assert value == metrics.CHRF().corpus_score(first, [list(lists.references[0])]).score
    assert value <= judge.oracle()
