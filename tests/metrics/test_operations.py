"""Substitutions, insertions and deletions against a slow twin and jiwer; the sentence error rate."""

import numpy as np
import pytest
from reference.metrics import operations as slow
from reference.texts import text_lists
from small_judging import values

from rerank.core.errors import DataError
from rerank.metrics import operations
from rerank.metrics.base import parse, prepare_all

RATES = {"WER": ["WER.sub", "WER.ins", "WER.del"], "CER": ["CER.sub", "CER.ins", "CER.del"]}


def sentence(rng, most, words="abcd"):
    return " ".join(rng.choice(list(words), rng.integers(0, most)))


def changed(rng, text):
    """The text with some words lost, repeated or replaced."""
    out = []
    for word in text.split():
        out += [[word], [word, word], [], [rng.choice(list("abcdef"))]][rng.choice(4, p=[0.7, 0.1, 0.1, 0.1])]
    return " ".join(out)


def counted(kind, candidates, *references):
    return operations.Operations(rate=parse(kind)).of(text_lists(candidates, *references))


@pytest.mark.parametrize("kind", RATES)
@pytest.mark.parametrize(("most", "n_lists"), [(3, 60), (12, 60), (90, 6)])
def test_counts_equal_the_twin_and_sum_to_the_edits(kind, most, n_lists):
    rng = np.random.default_rng(most)
    references = [[sentence(rng, most) for _ in range(n_lists)] for _ in range(2)]
    candidates = [
        [sentence(rng, most), changed(rng, references[0][i]), references[1][i]] for i in range(n_lists)
    ]
    found = counted(kind, candidates, *references)
    rows = [
        slow.statistics(kind, text, [file[i] for file in references])
        for i, of_list in enumerate(candidates)
        for text in of_list
    ]
    assert found.tolist() == rows
    edits = parse(kind).of(text_lists(candidates, *references))
    assert np.array_equal(np.column_stack([found[:, :3].sum(axis=1), found[:, 3]]), edits)


def test_counts_equal_those_of_jiwer():
    jiwer = pytest.importorskip("jiwer", reason="jiwer is the oracle")
    rng = np.random.default_rng(4)
    references = [sentence(rng, most) or "a" for most in [4] * 60 + [30] * 30 + [300] * 6]
    candidates = [[changed(rng, text), sentence(rng, 40)] for text in references]
    for kind, theirs in (("WER", jiwer.process_words), ("CER", jiwer.process_characters)):
        found = counted(kind, candidates, references)
        for i, of_list in enumerate(candidates):
            for j, text in enumerate(of_list):
                made = theirs(references[i], text)
                wanted = [made.substitutions, made.insertions, made.deletions]
                assert found[2 * i + j, :3].tolist() == wanted, (references[i], text)


@pytest.mark.parametrize("kind", RATES)
def test_the_three_rates_sum_to_the_error_rate(kind):
    lists = text_lists([["a b c d", "a x d"], ["b"], ["", "a"]], ["a b d", "a b", ""], ["a x", "c", ""])
    for scores in ([1.0, 0.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 0.0, 1.0]):
        found = values(lists, np.array(scores), [kind, *RATES[kind]])
        assert sum(found[name] for name in RATES[kind]) == pytest.approx(found[kind], abs=1e-12)
    judges = prepare_all(lists, RATES[kind])
    assert "|alignment:rapidfuzz|nrefs:2|mref:fewest|case:mixed|" in judges[0].signature
    nothing = text_lists([["", "a"]], [""])
    assert values(nothing, np.array([0.0, 1.0]), RATES[kind]) == dict(
        zip(RATES[kind], (0, 100, 0), strict=True)
    )


def test_sentence_error_rate():
    lists = text_lists([["A  b", "a c"], ["d"], ["e"]], ["a b", "d", "f"], ["a c", "x", "g"])
    scores = np.array([1.0, 0.0, 0.0, 0.0])
    assert values(lists, scores, ["SER", "SER(lc=1)"]) == {
        "SER": pytest.approx(200 / 3),
        "SER(lc=1)": pytest.approx(100 / 3),
    }
    judge = parse("SER").prepare(lists)
    assert judge.oracle() == pytest.approx(100 / 3)
    assert judge.random() == pytest.approx(100 * (0.5 + 0 + 1) / 3)
    assert judge.better == -1


def test_texts_that_are_too_long_to_align_are_refused(monkeypatch):
    monkeypatch.setattr(operations, "MOST_BYTES", 1 << 20)
    text = "a " * 10_000
    with pytest.raises(DataError, match=r"WER.operations: found texts whose alignment takes 1 MiB, expected"):
        counted("WER", [[text]], [text])
    assert values(text_lists([[text]], [text]), np.zeros(1), ["WER"]) == {"WER": 0.0}
