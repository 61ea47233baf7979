"""BLEU: statistics, corpus values and BLEU+1 beside plain twins and sacrebleu."""

from __future__ import annotations

import itertools
import math
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import bleu as twin
from reference.translations import DEGENERATE, Groups, bleu_rows, drawn_groups, lists_of

from rerank.data.judge import corpus_value
from rerank.data.strings import StringColumn
from rerank.errors import ConfigError, DataError
from rerank.metrics.base import parse
from rerank.metrics.bleu import (
    Bleu,
    bleu,
    bleu_statistics,
    from_precisions,
    sentence_bleu,
)

# White space of str.split() that is easily missed, and look-alikes that are none.
BLANKS = " \t\n\v\f\r\x1c\x1d\x1e\x1f\x85\xa0\u1680\u2000\u200a\u2028\u2029\u202f\u205f\u3000"
NO_BLANKS = (
    "\x00\x1b\x7f\x80\x84\x86\x9f\xa1\u167f\u1681\u180e\u1fff\u200b\u202a\u2060\u2fff\u3001\ufeff\U0001f600"
)
texts_of = st.text(alphabet="aab" + BLANKS + NO_BLANKS, max_size=24)
words_of = st.lists(st.sampled_from(["a", "b", "c", "abcdefgh", "abcdefghi", "é"]), max_size=12).map(" ".join)
SMOOTHINGS = [("none", None), ("floor", None), ("floor", 0.5), ("add-k", None), ("add-k", 2.5), ("exp", None)]


def counted(groups: Groups) -> list[list[float]]:
    lists = lists_of(groups)
    found: list[list[float]] = bleu_statistics(lists.texts, lists.references, lists.offsets).tolist()
    return found


@pytest.fixture(scope="module")
def sacrebleu() -> ModuleType:
    module: ModuleType = pytest.importorskip("sacrebleu", reason="sacrebleu (extra mt) is not installed")
    return module


def by_sacrebleu(module: ModuleType, groups: Groups) -> list[list[float]]:
    """Rows as ours: sacrebleu's begin with the two lengths."""
    metric = module.metrics.BLEU(tokenize="none", force=True)
    hypotheses = [text for candidates, _ in groups for text in candidates]
    of_items = [references for candidates, references in groups for _ in candidates]
    rows = metric._extract_corpus_statistics(hypotheses, list(zip(*of_items, strict=True)))
    return [[*row[2:], *row[:2]] for row in rows]


# The ten statistics


@pytest.mark.parametrize("name", DEGENERATE)
def test_statistics_of_degenerate_texts(name: str, sacrebleu: ModuleType) -> None:
    groups = DEGENERATE[name]
    assert counted(groups) == bleu_rows(groups)
    assert counted(groups) == by_sacrebleu(sacrebleu, groups)


def test_statistics_by_hand() -> None:
    groups = [(["the the the the the the the"], ["the cat is on the mat", "there is a cat on the mat"])]
    assert counted(groups) == [[2, 0, 0, 0, 7, 6, 5, 4, 7, 7]]
    groups = [(["a b c d", ""], ["a b x c d e", "a b"])]
    assert counted(groups) == [[4, 2, 0, 0, 4, 3, 2, 1, 4, 2], [0, 0, 0, 0, 0, 0, 0, 0, 0, 2]]


@pytest.mark.parametrize("n_references", [1, 2, 4])
@pytest.mark.parametrize("seed", range(8))
def test_statistics_equal_the_twin_and_sacrebleu(seed: int, n_references: int, sacrebleu: ModuleType) -> None:
    groups = drawn_groups(seed, 25, n_references)
    assert counted(groups) == bleu_rows(groups)
    assert counted(groups) == by_sacrebleu(sacrebleu, groups)


def test_statistics_of_a_wide_vocabulary() -> None:
    """Tables that fill, and long lists of references beside short ones."""
    rng = np.random.default_rng(3)
    groups = []
    for size in (1, 400, 3, 1000, 12):
        tokens = ["".join(map(chr, rng.integers(97, 123, int(k)))) for k in rng.integers(1, 13, size)]
        references = [" ".join(tokens), " ".join(rng.permutation(tokens))]
        candidates = [" ".join(np.where(rng.random(size) < 0.8, tokens, "z")) for _ in range(4)]
        groups.append((candidates, references))
    assert counted(groups) == bleu_rows(groups)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.lists(texts_of | words_of, min_size=1, max_size=4), st.tuples(*[texts_of | words_of] * 2)
        ),
        min_size=1,
        max_size=4,
    )
)
def test_statistics_of_any_text(groups: Groups) -> None:
    assert counted(groups) == bleu_rows(groups)


def test_every_blank_of_unicode_and_nothing_else_parts_tokens() -> None:
    for first in range(0, 0x11000, 0x800):
        codes = [code for code in range(first, first + 0x800) if not 0xD800 <= code < 0xE000]
        groups = [([f"a{chr(code)}b", chr(code)], ["a b"]) for code in codes]
        expected = [len(text.split()) for candidates, _ in groups for text in candidates]
        assert [row[8] for row in counted(groups)] == expected if codes else True


def test_bytes_that_are_not_utf8_are_counted_as_they_decode() -> None:
    raw = [
        b"a \xff\xfe b",
        b"\xc2",
        b"a\xc2\xa0b",
        b"\xe3\x80",
        b"\x80 a",
        b"\xe2\x80\xa8a b",
        b"\xe3a \xc2 b",
    ]
    texts = StringColumn.from_strings(raw)
    references = StringColumn.from_strings([b"a b \xc2 \xff\xfe", b"\xe3\x80 a b"])
    offsets = np.array([0, 4, 7])
    of_items = [references[0]] * 4 + [references[1]] * 3
    expected = [twin.statistics(text, [ref]) for text, ref in zip(texts, of_items, strict=True)]
    assert bleu_statistics(texts, (references,), offsets).tolist() == expected


# Corpus BLEU


@pytest.mark.parametrize(("smooth", "value"), SMOOTHINGS)
@pytest.mark.parametrize("seed", range(6))
def test_corpus_bleu_equals_the_twin_and_sacrebleu(
    smooth: str, value: float | None, seed: int, sacrebleu: ModuleType
) -> None:
    """From long texts to ones so short that orders have no match, or no n-gram."""
    amount = twin.USUAL[smooth] if value is None else value
    for n_lists, words in ((1, "ab"), (1, "abcdefgh"), (3, "abcdefghijklmnop"), (12, "abcd")):
        rows = np.array(counted(drawn_groups(seed, n_lists, words=words)))
        for sums in [*rows, rows.sum(axis=0)]:
            score = sacrebleu.metrics.BLEU.compute_bleu(
                *([int(x) for x in part] for part in (sums[:4], sums[4:8])),
                int(sums[8]),
                int(sums[9]),
                smooth_method=smooth,
                smooth_value=value,
            ).score
            found = bleu(sums, smooth, value)
            assert found == pytest.approx(score, rel=1e-12, abs=1e-12)
            assert found == pytest.approx(twin.corpus_bleu(sums, smooth, amount), rel=1e-12, abs=1e-12)
        stacked = np.stack([rows, 2 * rows])
        assert bleu(stacked, smooth, value) == pytest.approx(
            np.array([[bleu(row, smooth, value) for row in part] for part in stacked]), rel=1e-14
        )


CASED = [
    "The cat's 3.5-metre mat, \u201cquoted\u201d (U.S.) &quot;x&quot; ...",
    "a\u3000\u732b\u304c\u3044\u308b\u3002 \u00c9COLE \u0130stanbul \u1e9e!",
    "the Cat sat; on the 1,000 mats.   ",
    "ΟΔΟΣ ΣΑΣ said: no-one e-mails €5.00",
]


@pytest.mark.parametrize("lc", [False, True])
@pytest.mark.parametrize("tok", ["none", "13a", "intl", "char", "zh"])
@pytest.mark.parametrize(("smooth", "value"), [("exp", None), ("floor", 0.5), ("add-k", None)])
def test_a_judge_equals_sacrebleu(
    tok: str, lc: bool, smooth: str, value: float | None, sacrebleu: ModuleType
) -> None:
    rng = np.random.default_rng(5)
    words = " ".join(CASED).split(" ")
    hypotheses = CASED[::-1] + [" ".join(rng.permutation(words)[: 3 + k]) for k in range(30)]
    first = [*CASED, *(" ".join(rng.permutation(words)[: 4 + k]) for k in range(30))]
    second = [text.upper() for text in hypotheses]
    groups = [([h], [r, s]) for h, r, s in zip(hypotheses, first, second, strict=True)]
    more = "" if value is None else f", value={value}"
    metric = parse(f"BLEU(tok={tok}, lc={int(lc)}, smooth={smooth}{more})")
    judge = metric.prepare(lists_of(groups))
    expected = sacrebleu.corpus_bleu(
        hypotheses,
        [first, second],
        smooth_method=smooth,
        smooth_value=value,
        tokenize=tok,
        lowercase=lc,
        force=True,
    )
    assert expected.score > 1
    assert corpus_value(judge, judge.per_list(np.zeros(34))) == pytest.approx(expected.score, rel=1e-12)
    sums = judge.per_item.sum(axis=0)
    assert sums[4:8].tolist() == expected.totals or smooth == "add-k"
    assert (sums[8], sums[9]) == (expected.sys_len, expected.ref_len)


def test_bleu_of_printed_precisions() -> None:
    """The worked numbers: precisions in percent and candidates' share of the references' length."""
    assert round(float(from_precisions([65.03, 33.23, 18.30, 9.83], 0.9731, 1.0)), 2) == 24.29
    assert round(float(from_precisions([66.74, 35.29, 19.94, 11.07], 0.9725, 1.0)), 2) == 26.10


def test_zero_policies() -> None:
    nothing = [0, 0, 0, 0, 9, 8, 7, 6, 9, 9]
    empty = [0] * 9 + [5]
    short = [3, 2, 1, 0, 3, 2, 1, 0, 3, 3]  # no 4-gram at all
    partly = [9, 5, 0, 0, 10, 9, 8, 7, 10, 10]
    for smooth in ("none", "floor", "add-k", "exp"):
        assert bleu(nothing, smooth) == 0.0
        assert bleu(empty, smooth) == 0.0
    assert [bleu(short, smooth) for smooth in ("none", "floor", "exp")] == [0.0, 0.0, 0.0]
    assert bleu(short, "add-k") == pytest.approx(100.0)
    assert bleu(partly, "none") == 0.0
    assert bleu(partly, "exp") == pytest.approx(100 * (0.9 * 5 / 9 / 16 / 28) ** 0.25)
    assert bleu(partly, "floor", 0.2) == pytest.approx(100 * (0.9 * 5 / 9 / 40 / 35) ** 0.25)
    assert bleu([4, 3, 2, 1, 4, 3, 2, 1, 4, 0]) == pytest.approx(100.0)  # a reference of no tokens
    assert bleu([4, 3, 2, 1, 4, 3, 2, 1, 4, 8]) == pytest.approx(100 * math.exp(-1))


def test_sums_and_smoothing_that_do_not_fit_are_refused() -> None:
    row = [4.0, 3, 2, 1, 4, 3, 2, 1, 4, 4]
    with pytest.raises(DataError, match=r"shape \(9,\), expected \(\.\.\., 10\)"):
        bleu(row[:9])
    with pytest.raises(DataError, match="shape"):
        bleu(1.0)
    with pytest.raises(ConfigError, match="unknown smooth 'flor'; did you mean 'floor'"):
        bleu(row, "flor")
    with pytest.raises(ConfigError, match="value belongs to"):
        bleu(row, "exp", 0.5)
    for wrong in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(ConfigError, match="value is a number above 0"):
            bleu(row, "floor", wrong)
    with pytest.raises(ConfigError, match="unknown smooth 'exp'"):
        sentence_bleu(np.array([row]), "exp")
    with pytest.raises(ConfigError, match="unknown smooth"):
        Bleu(smooth="no").prepare(lists_of(DEGENERATE["one token"]))


# Sentence BLEU+1


@pytest.mark.parametrize(("smooth", "first"), [("each", 1), ("higher", 2)])
def test_sentence_bleu_equals_the_twin(smooth: str, first: int) -> None:
    groups = [*drawn_groups(1, 30, 2), *drawn_groups(2, 10, 2, "abcdefghijklm")]
    groups += [(candidates, references * 2) for candidates, references in DEGENERATE["one token"]]
    rows = bleu_rows(groups)
    expected = [twin.bleu_plus_one(row, first) for row in rows]
    assert {0.0} < set(expected)
    assert sentence_bleu(np.array(rows, dtype=float), smooth) == pytest.approx(expected, rel=1e-12, abs=0)
    name = "sBLEU" if smooth == "each" else "sBLEU(smooth=higher)"
    judge = parse(name).prepare(lists_of(groups))
    assert judge.per_item[:, 0] == pytest.approx(expected, rel=1e-12, abs=0)
    offsets = judge.stage.lists.offsets
    bounds = list(itertools.pairwise(offsets.tolist()))
    chosen = judge.per_list(np.zeros(len(expected)))
    assert corpus_value(judge, chosen) == pytest.approx(np.mean([expected[a] for a, _ in bounds]))
    assert judge.oracle() == pytest.approx(np.mean([max(expected[a:b]) for a, b in bounds]))
    assert judge.random() == pytest.approx(np.mean([np.mean(expected[a:b]) for a, b in bounds]))


def test_sentence_bleu_by_hand() -> None:
    one = np.array([[1.0, 0, 0, 0, 1, 0, 0, 0, 1, 1], [0, 0, 0, 0, 1, 0, 0, 0, 1, 2], [0] * 9 + [3]])
    assert sentence_bleu(one) == pytest.approx([100.0, 100 * 0.5**0.25 * math.exp(-1), 0.0])
    assert sentence_bleu(one, "higher") == pytest.approx([100.0, 0.0, 0.0])
