"""WER, CER and PER: against slow twins, rapidfuzz, jiwer, and the counts that came with real data."""

import gzip
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.metrics import edit as reference
from reference.texts import moses_lists, text_lists
from small_judging import evaluate

from rerank.data.columns.strings import StringColumn
from rerank.data.judge import SelectingJudge, corpus_value
from rerank.metrics.base import FAMILIES, parse
from rerank.metrics.edit import counted as counts
from rerank.metrics.edit import numbers
from rerank.native.data import _numbers
from rerank.native.metrics import _edit

KINDS = ("WER", "CER", "PER")
# Blanks of Unicode; U+200B, which is not a blank; letters of one to four bytes, and words past 8 bytes.
ATOMS = ["a", "b", "ab", "é", "中", "😀", "incomprehensible", "incomprehensiblf", " ", "\t", "\u2003", "\x85"]
ATOMS += ["\u3000", "\u200b", "\n", "\x1f", "  "]
texts = st.lists(st.sampled_from(ATOMS), max_size=12).map("".join)
long_texts = st.lists(st.sampled_from("ab cdé"), min_size=55, max_size=150).map("".join)


def counted(kind, candidates, *references, **options):
    return FAMILIES.get(kind)(**options).of(text_lists(candidates, *references))


def twin(kind, candidates, *references):
    return [
        reference.statistics(kind, text, [file[i] for file in references])
        for i, of_list in enumerate(candidates)
        for text in of_list
    ]


@st.composite
def sets(draw, strings=texts):
    n_lists = draw(st.integers(1, 4))
    candidates = [draw(st.lists(strings, min_size=1, max_size=4)) for _ in range(n_lists)]
    files = draw(st.integers(1, 3))
    return candidates, [draw(st.lists(strings, min_size=n_lists, max_size=n_lists)) for _ in range(files)]


@pytest.mark.parametrize("kind", KINDS)
@settings(deadline=None)
@given(sets() | sets(long_texts))
def test_counts_equal_the_twin(kind, drawn):
    candidates, references = drawn
    assert counted(kind, candidates, *references).tolist() == twin(kind, candidates, *references)


@pytest.mark.parametrize("length", [1, 63, 64, 65, 127, 128, 129, 200])
def test_blocks_of_64_meet_without_a_seam(length):
    rng = np.random.default_rng(length)
    known = [str(word) for word in rng.integers(0, 9, length)]
    candidates = []
    for size in (0, 1, length, 3 * length):
        candidates.append(" ".join(str(word) for word in rng.integers(0, 9, size)))
        kept = [word for word in known if rng.random() < 0.8]
        candidates.append(" ".join(kept[size // 2 :] + ["x"] * (size % 5)))
    assert counted("WER", [candidates], [" ".join(known)]).tolist() == twin(
        "WER", [candidates], [" ".join(known)]
    )


def test_long_texts_in_a_band_equal_rapidfuzz():
    """Blocks' ends, moved parts that need a wider band, and one candidate with several references."""
    distance = pytest.importorskip("rapidfuzz.distance", reason="the peer of CER").Levenshtein.distance
    rng = np.random.default_rng(3)
    for size in (1, 63, 64, 65, 128, 129, 300, 700):
        for signs in ("ab", "abcdefghijklmn", "aé日\U0001f600"):
            known = ["".join(rng.choice(list(signs), size)) for _ in range(3)]
            near = []
            for text in known:
                cut = int(rng.integers(0, size))
                kept = np.where(rng.random(size) < 0.2, "", list(text))
                near += [text[cut:] + text[:cut], "".join(kept), "x".join(kept), text[:cut], text]
            for candidates, references in (
                ([near], [[k] for k in known[:2]]),
                ([[n] for n in near], [near[::-1]]),
            ):
                expected = [
                    min((distance(r[i], text), -len(r[i])) for r in references)
                    for i, of_list in enumerate(candidates)
                    for text in of_list
                ]
                found = counted("CER", candidates, *references).tolist()
                assert found == [[edits, -length] for edits, length in expected]
    assert counted("CER", [["ab"]], ["xb"], ["ab"]).tolist() == [[0, 2]]


@pytest.mark.parametrize("kind", list(_numbers.KINDS))
@settings(deadline=None)
@given(sets(), st.integers(1, 40))
def test_pieces_change_nothing(kind, drawn, portion):
    candidates, references = drawn
    lists = text_lists(candidates, *references)
    given_ = (lists.texts, lists.references, lists.offsets)
    pieces = list(numbers(*given_, kind=kind, portion=portion))
    whole = numbers(*given_, kind=kind)
    assert [int(piece.offsets[0]) for piece in pieces] == [
        0,
        *(int(piece.offsets[-1]) for piece in pieces[:-1]),
    ]
    assert pieces[-1].offsets[-1] == lists.n_items
    rows = [counts(_edit.levenshtein, iter(of), np.empty((lists.n_items, 2))) for of in (pieces, whole)]
    assert np.array_equal(*rows)


@settings(deadline=None)
@given(st.lists(st.binary(max_size=9), min_size=1, max_size=5), st.binary(max_size=9))
def test_bytes_that_are_no_text_count_as_python_decodes_them(candidates, known):
    lists = replace(
        text_lists([["x"] * len(candidates)], ["x"]),
        texts=StringColumn.from_strings(candidates),
        references=(StringColumn.from_strings([known]),),
    )
    decoded = [[text.decode("utf-8", "surrogateescape") for text in candidates]]
    against = [known.decode("utf-8", "surrogateescape")]
    for kind in KINDS:
        assert parse(kind).of(lists).tolist() == twin(kind, decoded, against)


def test_values_worked_by_hand():
    assert counted("WER", [["b a c d"]], ["a b c"]).tolist() == [[3, 3]]
    assert counted("PER", [["b a c d"]], ["a b c"]).tolist() == [[1, 3]]
    assert counted("CER", [[" kitten "]], ["sitting"]).tolist() == [[3, 7]]
    assert counted("CER", [["a b"]], ["ab"]).tolist() == [[1, 2]]  # blanks inside are characters


def test_tokenizer_and_case_change_the_words():
    assert counted("WER", [["A b"]], ["a B"]).tolist() == [[2, 2]]
    assert counted("WER", [["A b"]], ["a B"], lc=True).tolist() == [[0, 2]]
    assert counted("CER", [["Äb"]], ["äB"], lc=True).tolist() == [[0, 2]]
    pytest.importorskip("sacrebleu", reason="tokenizers are sacrebleu's")
    assert counted("PER", [["a,b"]], ["b , a"], tok="13a").tolist() == [[0, 3]]


@pytest.mark.parametrize("kind", KINDS)
def test_without_tokens_a_rate_is_0_or_100(kind):
    judge = parse(kind).prepare(text_lists([["", " a ", "a b"], ["c", ""]], ["", "  "]))
    lengths = judge.per_item[:, 0]
    assert judge.per_item[:, 1].tolist() == [0] * 5
    assert lengths.tolist() == ([0, 1, 3, 1, 0] if kind == "CER" else [0, 1, 2, 1, 0])
    assert judge.item_values().tolist() == [0, 100, 100, 100, 0]
    assert judge.oracle() == 0
    assert judge.score_from_sums(np.zeros(2)) == 0
    assert judge.score_from_sums(np.array([[0.0, 0], [3, 0], [3, 2]])).tolist() == [0, 100, 150]


def test_a_judge_declares_what_it_counts():
    lists = text_lists([["a", "b"]], ["a"], ["b"])
    judge = parse("WER(lc=1)").prepare(lists)
    assert isinstance(judge, SelectingJudge)
    assert (judge.name, judge.better) == ("WER(lc=1)", -1)
    assert judge.signature.startswith("WER|nrefs:2|mref:fewest|case:lc|tok:none|version:")
    one = parse("CER").prepare(replace(lists, references=lists.references[:1]))
    assert one.signature.startswith("CER|nrefs:1|case:mixed|unit:chars|version:")
    assert parse("wer").name == "WER"


def random_pairs(seed, n_words, n=300):
    rng = np.random.default_rng(seed)
    words = np.array([f"w{i}" for i in range(40)])
    known = [words[rng.integers(0, 40, n_words)].tolist() for _ in range(n)]
    return known, [
        [words[rng.integers(40)] if rng.random() < 0.3 else word for word in line if rng.random() < 0.9]
        for line in known
    ]


def test_corpus_rates_equal_jiwer():
    jiwer = pytest.importorskip("jiwer", reason="jiwer is the oracle")
    known, lines = random_pairs(1, 12)
    references, candidates = [" ".join(line) for line in known], [" ".join(line) for line in lines]
    lists = text_lists([[text] for text in candidates], references)
    scores = np.zeros(lists.n_items)
    for kind, theirs in (("WER", jiwer.wer), ("CER", jiwer.cer)):
        judge = parse(kind).prepare(lists)
        assert corpus_value(judge, judge.per_list(scores)) == 100 * theirs(references, candidates)


@pytest.mark.parametrize(
    ("part", "first", "oracle", "highest"), [("dev", 43.65, 29.95, 44.01), ("test", 42.83, 30.96, 41.74)]
)
def test_the_recognisers_lists_have_the_rates_they_came_with(shared_data, part, first, oracle, highest):
    lists, totals = moses_lists(shared_data / "asr-pocketsphinx", part)
    judge = parse("WER").prepare(lists)
    result = evaluate(lists, {"total": totals}, ["WER"])
    value = corpus_value(judge, judge.per_list(totals))
    assert [round(x, 2) for x in (corpus_value(judge, judge.first_best()), judge.oracle(), value)] == [
        first,
        oracle,
        highest,
    ]
    assert result.metrics["WER"].oracle == judge.oracle()


def test_the_recognisers_counts_are_reproduced(shared_data):
    folder = shared_data / "asr-pocketsphinx"
    with gzip.open(folder / "edits.tsv.gz", "rt") as file:
        rows = np.array([[int(cell) for cell in line.split()] for line in file], dtype=float)
    for odd, part in enumerate(("dev", "test")):  # its lists are dev's and test's by turns
        counts = parse("WER").of(moses_lists(folder, part)[0])
        assert np.array_equal(counts, rows[rows[:, 0] % 2 == odd, 2:])
