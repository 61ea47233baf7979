"""BLEU against the slow twin and sacrebleu: statistics, smoothing, tokenizers, the climb."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.metrics import bleu as twin
from reference.texts import made, moses_lists, some_lists

from rerank.core.errors import ConfigError
from rerank.data.columns.offsets import offsets_of
from rerank.data.columns.strings import StringColumn
from rerank.data.judge import corpus_value
from rerank.metrics.base import parse, prepare_all
from rerank.metrics.bleu import BleuStatistics, bleu, bleu_statistics, from_precisions, sentence_bleu
from rerank.metrics.selecting import prepared

# All that str.split() splits at, and characters that share bytes with them.
BLANKS = [chr(c) for c in range(0x110000) if chr(c).isspace()]
WORDS = ["a", "b", "the", "abcdefgh", "abcdefgi", "abcdefghi", "abcdefghj", "xabcdefghabcdefgh", "\0", "a\0"]
WORDS += ["é", "\xa1", "\u200b", "\u2027", "\u3001", "ABC", "\x80", "߿", "\ufeff", "𝔸", "\u0080\u0086", "‐"]
TEXT = st.lists(st.sampled_from(WORDS * 2 + BLANKS + [" "] * 20), max_size=40).map("".join)


def expected_statistics(lists):
    references = list(zip(*lists.references, strict=True))
    return [
        twin.statistics(text, references[i])
        for text, i in zip(lists.texts, lists.list_index.tolist(), strict=True)
    ]


@settings(max_examples=100)
@given(
    st.integers(1, 3).flatmap(
        lambda r: st.lists(
            st.tuples(st.lists(TEXT, min_size=1, max_size=4), st.lists(TEXT, min_size=r, max_size=r)),
            min_size=1,
            max_size=4,
        )
    )
)
def test_statistics_are_those_of_the_slow_twin(parts):
    lists = made([part[0] for part in parts], [part[1] for part in parts])
    assert BleuStatistics().of(lists).tolist() == expected_statistics(lists)


@given(st.binary(max_size=60), st.binary(max_size=60))
def test_bytes_that_are_no_text_are_split_as_they_decode(text, reference):
    column, other = StringColumn.from_strings([text]), StringColumn.from_strings([reference])
    found = bleu_statistics(column, (other,), offsets_of([1]))
    assert found[0].tolist() == twin.statistics(column[0], [other[0]])


@pytest.mark.parametrize("blank", BLANKS)
def test_every_white_space_separates(blank):
    lists = made([[f"a{blank}b{blank}", "ab"]], [["a b"]])
    assert BleuStatistics().of(lists)[:, [0, 1, 8]].tolist() == [[2, 1, 2], [0, 0, 1]]


def test_long_lists_and_long_references_keep_their_counts():
    rng = np.random.default_rng(1)
    words = [f"w{i}" * (1 + i % 5) for i in range(3000)]
    references = [[" ".join(rng.choice(words, size=size))] for size in (4000, 3, 0, 900)]
    lists = made([[" ".join(rng.choice(words, size=300)), refs[0]] for refs in references], references)
    assert BleuStatistics().of(lists).tolist() == expected_statistics(lists)


SUMS = st.tuples(
    st.lists(st.integers(0, 6), min_size=4, max_size=4),
    st.lists(st.integers(0, 3), min_size=4, max_size=4),
    st.integers(0, 12),
    st.integers(0, 12),
).map(lambda p: [*p[0], *(m + t for m, t in zip(p[0], p[1], strict=True)), p[2], p[3]])


@given(SUMS, st.sampled_from(["none", "floor", "add-k", "exp"]), st.sampled_from([None, 0.5, 2.0]))
def test_scores_are_those_of_the_slow_twin(sums, smooth, value):
    value = value if smooth in ("floor", "add-k") else None
    assert bleu(sums, smooth, value) == pytest.approx(
        twin.corpus_bleu(sums, smooth, value or twin.USUAL[smooth]), rel=1e-12
    )
    rows = np.array([sums, [3, 2, 1, 1, 5, 4, 3, 2, 5, 6]], dtype=float)
    both = bleu(rows, smooth, value)
    assert both.shape == (2,)
    assert both[0] == bleu(sums, smooth, value)


@given(SUMS)
def test_bleu_plus_one_adds_to_each_or_to_the_higher_orders(sums):
    rows = np.array([sums], dtype=float)
    assert sentence_bleu(rows)[0] == pytest.approx(twin.bleu_plus_one(sums), rel=1e-12)
    assert sentence_bleu(rows, "higher")[0] == pytest.approx(twin.bleu_plus_one(sums, 2), rel=1e-12)


def test_bleu_of_the_papers_precisions():
    for precisions, ratio, published in (
        ((65.03, 33.23, 18.30, 9.83), 0.9731, 24.29),
        ((66.74, 35.29, 19.94, 11.07), 0.9725, 26.10),
    ):
        assert from_precisions(precisions, ratio, 1.0) == pytest.approx(published, abs=0.005)


def test_bleu_of_a_known_sentence_by_hand():
    lists = made([["the the the the the the the"]], [["the cat is on the mat", "there is a cat on the mat"]])
    assert BleuStatistics().of(lists)[0].tolist() == [2, 0, 0, 0, 7, 6, 5, 4, 7, 7]  # Papineni's own


SACREBLEU = [
    ("BLEU", {"tokenize": "none"}),
    ("BLEU(lc=1)", {"tokenize": "none", "lowercase": True}),
    ("BLEU(tok=13a)", {"tokenize": "13a"}),
    ("BLEU(tok=intl, lc=1)", {"tokenize": "intl", "lowercase": True}),
    ("BLEU(tok=char)", {"tokenize": "char"}),
    ("BLEU(tok=zh)", {"tokenize": "zh"}),
    ("BLEU(smooth=none)", {"tokenize": "none", "smooth_method": "none"}),
    ("BLEU(smooth=floor)", {"tokenize": "none", "smooth_method": "floor"}),
    ("BLEU(smooth=add-k, value=0.5)", {"tokenize": "none", "smooth_method": "add-k", "smooth_value": 0.5}),
]


@pytest.mark.parametrize(("name", "options"), SACREBLEU)
@pytest.mark.parametrize("n_references", [1, 3])
def test_equal_to_sacrebleu(name, options, n_references):
    metrics = pytest.importorskip("sacrebleu.metrics")
    theirs = metrics.BLEU(force=True, **options)
    for seed in range(4):
        lists = some_lists(seed, n_references=n_references)
        (judge,) = prepare_all(lists, [name])
        assert judge.name == name
        chosen = judge.stage.place(np.random.default_rng(seed).random(lists.n_items))
        wanted = theirs.corpus_score(
            [lists.texts[i] for i in chosen], [list(column) for column in lists.references]
        )
        assert corpus_value(judge, judge.of(chosen)) == pytest.approx(wanted.score, rel=1e-12)
        ours = [part for part in judge.signature.split("|")[1:] if not part.startswith("version")]
        expected = [part for part in str(theirs.get_signature()).split("|") if not part.startswith("version")]
        assert ours == expected


def test_lower_case_is_pythons():
    texts = ["ABC xyz @[`{ ß", "İSTANBUL ΟΔΟΣ Σ", "", "PLAIN"]
    for part in (texts, texts[3:]):
        assert list(prepared(StringColumn.from_strings(part), lc=True)) == [t.lower() for t in part]


def test_a_tokenizer_that_is_not_installed_is_a_clear_one_line_error(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "sacrebleu.metrics", None)
    with pytest.raises(
        ConfigError, match=r"tokenizer '13a' needs the package sacrebleu: pip install"
    ) as caught:
        parse("BLEU(tok=13a)").prepare(some_lists())
    assert "\n" not in str(caught.value)
    parse("BLEU(tok=none, lc=1)").prepare(some_lists())


def test_a_missing_requirement_of_a_tokenizer_is_a_clear_one_line_error(monkeypatch):
    metrics = pytest.importorskip("sacrebleu.metrics")

    def refuse(**options):
        raise RuntimeError("\nTokenization requires extra dependencies.\n\n    pip install more\n")

    monkeypatch.setattr(metrics, "BLEU", refuse)
    with pytest.raises(ConfigError, match="'ko-mecab' needs more than is installed") as caught:
        prepared(StringColumn.from_strings(["a b"]), "ko-mecab")
    assert "\n" not in str(caught.value)


@pytest.mark.filterwarnings("ignore:.*no capital letters")  # europarl's texts
@pytest.mark.parametrize(
    ("name", "total", "first", "lower", "oracle"),
    [
        ("syscomb-wmt10/dev", 18.92, None, None, 21.89),
        ("syscomb-wmt10/test", 18.50, None, None, 21.82),
        ("moses-europarl/dev", None, 6.68, 10.6, 11.5),
        ("moses-europarl/test", None, 7.62, 11.5, 11.9),
    ],
)
def test_real_lists_have_the_known_values(shared_data, name, total, first, lower, oracle):
    folder, _, part = name.partition("/")
    lists, totals = moses_lists(shared_data / folder, part)
    cased, lowered = prepare_all(lists, ["BLEU", "BLEU(lc=1)"])
    if total is not None:
        assert round(corpus_value(cased, cased.per_list(totals)), 2) == total
    else:
        assert round(corpus_value(cased, cased.first_best()), 2) == first
        assert round(corpus_value(lowered, lowered.first_best()), 1) == lower
    assert cased.oracle() == pytest.approx(oracle, abs=0.06)


@pytest.mark.parametrize("value", [0.0, -1.0, float("inf"), float("nan")])
def test_a_smoothing_value_is_a_finite_number_above_zero(value: float) -> None:
    with pytest.raises(ConfigError, match="value is a number above 0"):
        bleu(np.ones(10), smooth="floor", value=value)
