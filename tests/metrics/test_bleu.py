"""BLEU: statistics and corpus values beside plain twins and sacrebleu, saved counts, bounds, real data."""

from __future__ import annotations

import gzip
import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import bleu as twin

from rerank.data.judge import corpus_value
from rerank.data.lists import CandidateLists, offsets_of
from rerank.data.strings import StringColumn
from rerank.errors import ConfigError, DataError
from rerank.metrics.base import Preparation, parse
from rerank.metrics.bleu import (
    Bleu,
    BleuStatistics,
    bleu,
    bleu_statistics,
    from_precisions,
    sentence_bleu,
)
from rerank.metrics.evaluation import evaluate
from rerank.metrics.selecting import first_largest

# White space of str.split() that is easily missed, and look-alikes that are none.
BLANKS = " \t\n\v\f\r\x1c\x1d\x1e\x1f\x85\xa0\u1680\u2000\u200a\u2028\u2029\u202f\u205f\u3000"
NO_BLANKS = (
    "\x00\x1b\x7f\x80\x84\x86\x9f\xa1\u167f\u1681\u180e\u1fff\u200b\u202a\u2060\u2fff\u3001\ufeff\U0001f600"
)
texts_of = st.text(alphabet="aab" + BLANKS + NO_BLANKS, max_size=24)
words_of = st.lists(st.sampled_from(["a", "b", "c", "abcdefgh", "abcdefghi", "é"]), max_size=12).map(" ".join)
SMOOTHINGS = [("none", None), ("floor", None), ("floor", 0.5), ("add-k", None), ("add-k", 2.5), ("exp", None)]
USUAL = {"none": 0.0, "floor": 0.1, "add-k": 1.0, "exp": 0.0}

Groups = Sequence[tuple[Sequence[str], Sequence[str]]]  # (candidates, references) of each list


def lists_of(groups: Groups, **columns: Any) -> CandidateLists:
    sizes = [len(candidates) for candidates, _ in groups]
    texts = StringColumn.from_strings(text for candidates, _ in groups for text in candidates)
    columns.setdefault("texts", texts)
    if "references" not in columns:
        by_place = zip(*(references for _, references in groups), strict=True)
        columns["references"] = tuple(map(StringColumn.from_strings, by_place))
    plain = CandidateLists.from_arrays(np.zeros((sum(sizes), 1)), group=sizes)
    return replace(plain, **columns)


def counted(groups: Groups) -> list[list[float]]:
    lists = lists_of(groups)
    found: list[list[float]] = bleu_statistics(lists.texts, lists.references, lists.offsets).tolist()
    return found


def by_twin(groups: Groups) -> list[list[float]]:
    return [twin.statistics(text, references) for candidates, references in groups for text in candidates]


def drawn_groups(seed: int, n_lists: int = 6, n_references: int = 1, words: str = "abcde") -> Groups:
    rng = np.random.default_rng(seed)

    def text(most: int) -> str:
        return " ".join(words[k] for k in rng.integers(0, len(words), int(rng.integers(0, most))))

    return [
        ([text(14) for _ in range(rng.integers(1, 6))], [text(14) for _ in range(n_references)])
        for _ in range(n_lists)
    ]


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

DEGENERATE: dict[str, Groups] = {
    "everything empty": [([""], [""])],
    "no candidate": [(["", " ", "\u3000\t"], ["a b c d e"])],
    "no reference": [(["a", "a b c d e", ""], [""])],
    "no text in one list of three": [(["a b"], ["a b"]), ([""], [""]), (["a b c"], ["a c"])],
    "one token": [(["a", "b", "a a"], ["a"])],
    "shorter than an order": [(["a b", "a b c", "a b c d"], ["a b c d"])],
    "repeated": [(["the the the the the the the", "the cat the cat"], ["the cat is on the mat the cat"])],
    "blanks around": [(["  a  b ", "a\xa0b", "\u2028a\u2029b\u3000", "a\tb\r\n"], ["a b"])],
    "eight bytes and more": [
        (["abcdefgh abcdefghi abcdefg", "abcdefgi bbcdefgh abcdefghj"], ["abcdefg abcdefgh abcdefghi"])
    ],
    "very long": [
        (["x" * 5000 + " " + "x" * 5001, "x" * 4999 + "y"], ["x" * 5000 + " " + "x" * 5001]),
        (["é" * 3000 + "\u3000a"], ["a " + "é" * 3000]),
    ],
    "closest length, shorter on ties": [
        (["a b c d", "a b", "a", "", "a b c d e f g h i"], ["a b", "a b c d e f", "a b c d e f g"])
    ],
    "the larger count of any reference": [(["a a a b b", "a a a a"], ["a a b", "a b b", ""])],
    "the same token in another list": [(["a b"], ["a b"]), (["a b"], ["c d"]), (["a b"], ["b a"])],
}


@pytest.mark.parametrize("name", DEGENERATE)
def test_statistics_of_degenerate_texts(name: str, sacrebleu: ModuleType) -> None:
    groups = DEGENERATE[name]
    assert counted(groups) == by_twin(groups)
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
    assert counted(groups) == by_twin(groups)
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
    assert counted(groups) == by_twin(groups)


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
    assert counted(groups) == by_twin(groups)


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
    amount = USUAL[smooth] if value is None else value
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
    rows = by_twin(groups)
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


# Saved counts, names, errors


def test_saved_counts_stand_in_for_texts() -> None:
    groups = drawn_groups(4, 8, 2)
    full = lists_of(groups)
    scores = np.random.default_rng(0).random(full.n_items)
    counts = {"BLEU": np.array(counted(groups))}
    bare = replace(full, texts=None, references=(), counts=counts)
    for name in ("BLEU", "BLEU(smooth=add-k)", "sBLEU"):
        judge, saved = parse(name).prepare(full), parse(name).prepare(bare)
        assert np.array_equal(judge.per_list(scores), saved.per_list(scores))
        assert judge.oracle() == saved.oracle()
        assert "nrefs:2|" in judge.signature
        assert "nrefs:saved|" in saved.signature
    other = replace(full, counts={"BLEU": counts["BLEU"] * 2})
    assert parse("BLEU").prepare(other).per_item is other.counts["BLEU"]
    lowered = {"BLEU(lc=1)": counts["BLEU"]}
    assert parse("BLEU(lc=1)").prepare(replace(bare, counts=lowered)).per_item is lowered["BLEU(lc=1)"]


def test_absent_texts_and_wrong_counts_are_told() -> None:
    full = lists_of(DEGENERATE["one token"])
    with pytest.raises(
        DataError, match="BLEU needs the candidates' texts or saved counts, there are neither"
    ):
        parse("BLEU").prepare(replace(full, texts=None))
    with pytest.raises(DataError, match="BLEU needs references; give them with --refs FILE"):
        parse("sBLEU").prepare(replace(full, references=()))
    with pytest.raises(DataError, match=r"BLEU\(lc=1\) needs the candidates' texts"):
        parse("BLEU(lc=1)").prepare(replace(full, texts=None, counts={"BLEU": np.ones((3, 10))}))
    for wrong in (np.ones((3, 9)), np.full((3, 10), np.nan)):
        with pytest.raises(DataError, match="saved counts of BLEU must be 10 numbers an item"):
            parse("BLEU").prepare(replace(full, counts={"BLEU": wrong}))


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("BLEU", "BLEU"),
        ("bleu", "BLEU"),
        ("BLEU(tok=none, lc=0, smooth=exp)", "BLEU"),
        ("BLEU(lc=yes,tok=13a)", "BLEU(tok=13a, lc=1)"),
        ("BLEU(smooth=floor, value=0.1)", "BLEU(smooth=floor)"),
        ("BLEU(smooth=add-k, value=0.5)", "BLEU(smooth=add-k, value=0.5)"),
        ("BLEU+1", "sBLEU"),
        ("sentence-BLEU(smooth=higher)", "sBLEU(smooth=higher)"),
        ("sBLEU(smooth=each, lc=1)", "sBLEU(lc=1)"),
    ],
)
def test_names_print_back(typed: str, name: str) -> None:
    metric = parse(typed)
    assert metric.name == name
    assert parse(name) == metric
    assert hash(parse(name)) == hash(metric)


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("BLEU@4", "BLEU takes no cutoff"),
        ("sBLEU@4", "sBLEU takes no cutoff"),
        ("BLEU(tok=13b)", "unknown tokenizer '13b'.*13a"),
        ("BLEU(lc=maybe)", "lc is 1 or 0, got 'maybe'"),
        ("BLEU(smooth=exq)", "unknown smooth 'exq'.*exp"),
        ("sBLEU(smooth=exp)", "unknown smooth 'exp'"),
        ("BLEU(value=1)", "value belongs to smooth=floor or smooth=add-k"),
        ("BLEU(smooth=floor, value=0)", "value is a number above 0, got 0"),
        ("BLEU(smooth=floor, value=some)", "value is a number above 0, got 'some'"),
        ("sBLEU(smooth=each, value=1)", "value"),
        ("BLEU(order=3)", "order"),
    ],
)
def test_names_that_mean_nothing_are_refused(typed: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parse(typed)


def test_signatures_tell_settings_apart() -> None:
    lists = lists_of(DEGENERATE["one token"])
    names = ["BLEU", "BLEU(lc=1)", "BLEU(smooth=none)", "BLEU(smooth=floor)", "BLEU(smooth=add-k)"]
    names += ["BLEU(smooth=floor, value=0.001)", "BLEU(smooth=floor, value=0.002)"]
    names += ["sBLEU", "sBLEU(smooth=higher)", "sBLEU(lc=1)"]
    signatures = [parse(name).prepare(lists).signature for name in names]
    assert len(set(signatures)) == len(names)
    assert signatures[0].startswith("BLEU|nrefs:1|case:mixed|eff:no|tok:none|smooth:exp|version:")


# Bounds


def small_lists(seed: int) -> CandidateLists:
    rng = np.random.default_rng(seed)
    groups = drawn_groups(seed, int(rng.integers(1, 5)), words="abc")
    n_items = sum(len(candidates) for candidates, _ in groups)
    return lists_of(groups, first_best=rng.random(n_items))


@pytest.mark.parametrize("smooth", ["none", "floor", "add-k", "exp"])
def test_the_oracle_lies_between_its_starts_and_the_best_choice(smooth: str) -> None:
    reached = []
    for seed in range(150):
        lists = small_lists(seed)
        judge = parse(f"BLEU(smooth={smooth})").prepare(lists)
        offsets = lists.offsets
        rows = [judge.per_item[a:b].tolist() for a, b in itertools.pairwise(offsets.tolist())]
        best = twin.best_choice(rows, smooth, USUAL[smooth])
        oracle = judge.oracle()
        singly = first_largest(sentence_bleu(judge.per_item), offsets)
        least = 1e-12 + oracle * (1 + 1e-12)
        assert corpus_value(judge, judge.first_best()) <= least
        assert corpus_value(judge, judge.of(singly)) <= least
        assert corpus_value(judge, judge.of(offsets[:-1])) <= least
        assert oracle <= 1e-12 + best * (1 + 1e-12)
        reached.append(oracle == pytest.approx(best, rel=1e-9))
    assert np.mean(reached) > 0.9  # a climb, so not always


@pytest.mark.parametrize("seed", range(20))
def test_the_climb_takes_only_what_is_offered_and_ends_where_no_change_gains(seed: int) -> None:
    judge = parse("BLEU").prepare(small_lists(seed))
    lists = judge.stage.lists
    rng = np.random.default_rng(seed)
    parts = [rng.permutation(np.arange(a, b))[:2] for a, b in itertools.pairwise(lists.offsets.tolist())]
    items, offsets = np.concatenate(parts), offsets_of([len(part) for part in parts])
    chosen = judge.best_of(items, offsets)
    assert all(item in part for item, part in zip(chosen, parts, strict=True))
    value = corpus_value(judge, judge.of(chosen))
    for i, part in enumerate(parts):
        for item in part:
            changed = chosen.copy()
            changed[i] = item
            assert corpus_value(judge, judge.of(changed)) <= value * (1 + 1e-9) + 1e-12


def test_of_equal_choices_the_first_offered_is_taken() -> None:
    judge = parse("BLEU").prepare(lists_of([(["a b c d", "a b c d", "x"], ["a b c d"])] * 2))
    offsets = np.array([0, 3, 6])
    assert judge.best_of(np.array([2, 1, 0, 5, 3, 4]), offsets).tolist() == [1, 3]
    assert judge.oracle() == pytest.approx(100.0)


def test_a_climb_of_nothing_matched_is_zero() -> None:
    judge = parse("BLEU").prepare(lists_of([(["", "x"], ["a b c d"]), (["y", ""], [""])]))
    assert judge.oracle() == 0.0
    assert judge.random() == 0.0
    assert corpus_value(judge, judge.per_list(np.zeros(4))) == 0.0


def test_random_is_the_same_each_time_and_between_the_bounds() -> None:
    groups = drawn_groups(9, 20, words="abcd")
    values = [parse("BLEU").prepare(lists_of(groups)).random() for _ in range(2)]
    assert values[0] == values[1]
    judge = parse("BLEU").prepare(lists_of(groups))
    assert 0 < values[0] < judge.oracle()
    single = lists_of([(candidates[:1], references) for candidates, references in groups])
    judge = parse("BLEU").prepare(single)
    assert judge.random() == pytest.approx(judge.oracle(), rel=1e-12)


def test_item_values_are_bleu_of_each_item() -> None:
    groups = drawn_groups(11, 10)
    judge = parse("BLEU(smooth=floor)").prepare(lists_of(groups))
    expected = [twin.corpus_bleu(row, "floor", 0.1) for row in by_twin(groups)]
    assert judge.item_values() == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_judges_share_counts_by_tokenizer_and_case() -> None:
    preparation = Preparation(lists_of([(["The cat", "a"], ["the cat"])]))
    names = ["BLEU", "BLEU(smooth=none)", "sBLEU", "BLEU(lc=1)"]
    judges = [parse(name).prepare_in(preparation) for name in names]
    assert judges[0].per_item is judges[1].per_item
    assert preparation.shared(BleuStatistics()) is judges[0].per_item
    assert judges[3].per_item[0, 0] == 2.0 > judges[0].per_item[0, 0] == 1.0


def test_evaluate_judges_bleu_and_ap_in_one_call() -> None:
    groups = drawn_groups(6, 30, words="abcd")
    n_items = sum(len(candidates) for candidates, _ in groups)
    rng = np.random.default_rng(1)
    labels = (rng.random(n_items) < 0.4).astype(float)
    lists = lists_of(groups, labels=labels).with_first_best("input")
    scores = rng.random(n_items)
    found = evaluate(lists, {"s": scores}, ["BLEU", "sBLEU", "AP"], samples=200)
    assert list(found.metrics) == ["BLEU", "sBLEU", "AP"]
    chosen = first_largest(scores, lists.offsets)
    rows = np.array(by_twin(groups), dtype=float)
    result = found.systems["s"]["BLEU"]
    assert result.value == pytest.approx(twin.corpus_bleu(rows[chosen].sum(axis=0)))
    assert found.metrics["BLEU"].first_best == pytest.approx(
        twin.corpus_bleu(rows[lists.offsets[:-1]].sum(axis=0))
    )
    assert result.ci is not None
    assert result.ci[0] < result.value < result.ci[1]
    alone = evaluate(lists, {"s": scores}, ["AP"], samples=200)
    assert found.systems["s"]["AP"] == alone.systems["s"]["AP"]
    again = evaluate(lists, {"s": scores}, ["BLEU", "sBLEU", "AP"], samples=200)
    assert again.as_json() == found.as_json()


# Real data: nine systems' translations of the news test of 2010

BEST_ON_DEV = 3  # the system with the largest BLEU of dev, which is not the best of test
SINGLE = {"dev": 19.13, "test": 18.84}
LARGEST_TOTAL = {"dev": 18.92, "test": 18.50}
ORACLE = {"dev": 21.89, "test": 21.82}


def moses_lists(folder: Path, part: str) -> tuple[CandidateLists, np.ndarray, np.ndarray]:
    """The lists, their totals and the number of the system of each item."""
    with gzip.open(folder / f"{part}.nbest.gz", "rt", encoding="utf-8", newline="\n") as file:
        fields = [line.rstrip("\n").split(" ||| ") for line in file]
    with gzip.open(folder / f"{part}.ref.gz", "rt", encoding="utf-8", newline="\n") as file:
        references = [line.rstrip("\n") for line in file]
    groups: list[tuple[list[str], list[str]]] = [([], [reference]) for reference in references]
    for field in fields:
        groups[int(field[0])][0].append(field[1])
    systems = np.array([field[2].split("Sys= ")[1].split().index("1") for field in fields])
    return lists_of(groups), np.array([float(field[3]) for field in fields]), systems


@pytest.mark.shared
@pytest.mark.parametrize("part", ["dev", "test"])
def test_translations_of_nine_systems(part: str, shared_data: Path, sacrebleu: ModuleType) -> None:
    lists, totals, systems = moses_lists(shared_data / "syscomb-wmt10", part)
    judge = parse("BLEU").prepare(lists)
    texts, references = list(lists.texts), [list(lists.references[0])]

    def checked(scores: np.ndarray) -> float:
        chosen = first_largest(scores, lists.offsets)
        value = corpus_value(judge, judge.per_list(scores))
        expected = sacrebleu.corpus_bleu([texts[j] for j in chosen], references, tokenize="none", force=True)
        assert value == pytest.approx(expected.score, rel=1e-12)
        return value

    singles = [checked((systems == k).astype(float)) for k in range(systems.max() + 1)]
    assert round(singles[BEST_ON_DEV], 2) == SINGLE[part]
    assert part == "test" or max(singles) == singles[BEST_ON_DEV]
    by_total = checked(totals)
    assert round(by_total, 2) == LARGEST_TOTAL[part]
    oracle = judge.oracle()
    assert oracle > max(*singles, by_total)
    assert round(oracle, 2) >= ORACLE[part]
    groups = list(zip(texts, lists.list_index.tolist(), strict=True))[::7]
    rows = [twin.statistics(text, [references[0][i]]) for text, i in groups]
    assert judge.per_item[::7].tolist() == rows
