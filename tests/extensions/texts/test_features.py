"""Features of questions and texts against a slow twin, in any language, and in the corners."""

import numpy as np
import pytest
from reference import text_features as twin

from rerank.core.errors import ConfigError, DataError
from rerank.data.columns.strings import StringColumn
from rerank.extensions.texts.features import NAMES, USUAL, Weighting, features_of
from rerank.extensions.texts.statistics import blocks, count_corpus
from rerank.extensions.texts.tokens import Tokeniser

WORDS = ["Rome", "rome", "the", "the", "a", "river", "1999", "50,000", "Tiber", "flows", "in", "3.5", "km"]
WORDS += ["long", "Long", "rivers", "riv"]


def drawn(rng, most):
    return " ".join(rng.choice(WORDS, rng.integers(0, most)).tolist())


def computed(questions, lists, stop=(), corpus=None, weighting=USUAL, **words):
    texts = StringColumn.from_strings(text for one in lists for text in one)
    offsets = np.cumsum([0, *map(len, lists)])
    tokeniser = Tokeniser(**words)
    statistics = count_corpus(texts if corpus is None else StringColumn.from_strings(corpus), tokeniser)
    columns = StringColumn.from_strings(questions)
    return features_of(columns, texts, offsets, statistics, tokeniser, stop_words=stop, weighting=weighting)


@pytest.mark.parametrize("seed", range(6))
def test_as_the_definitions_say(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    lists = [[drawn(rng, 14) for _ in range(rng.integers(1, 6))] for _ in range(8)]
    lists[0] = ["", lists[0][0], lists[0][0]]  # an empty text, and two equal ones
    questions = [f"{drawn(rng, 7)} the Tiber" for _ in lists]
    questions[1] = "the"  # a stop word alone is looked for
    stop = ("the", "a") if seed % 2 else ()
    corpus = None if seed < 3 else [drawn(rng, 14) for _ in range(5)]
    if seed == 1:
        monkeypatch.setattr("rerank.extensions.texts.statistics._BLOCK", 60)
    found = computed(questions, lists, stop, corpus, Weighting(0.9, 0.4, 50.0, 0.3))
    counts = twin.counts_of([t for one in lists for t in one] if corpus is None else corpus)
    expected = [
        row
        for question, texts in zip(questions, lists, strict=True)
        for row in twin.features(question, texts, counts, stop, 0.9, 0.4, 50.0, 0.3)
    ]
    for j, name in enumerate(NAMES):
        np.testing.assert_allclose(
            found[:, j], [row[name] for row in expected], rtol=1e-9, atol=1e-12, err_msg=name
        )


def test_bm25_of_bm25s():
    bm25s = pytest.importorskip("bm25s", reason="the peer is not installed")
    rng = np.random.default_rng(3)
    texts = [f"{drawn(rng, 30)} rome" for _ in range(50)]
    peer = bm25s.BM25(k1=1.2, b=0.75, method="lucene", dtype="float64")
    peer.index([[w.lower() for w in twin.words_of(text)] for text in texts], show_progress=False)
    found = computed(["tiber rome river rome"], [texts])[:, list(NAMES).index("bm25")]
    np.testing.assert_allclose(found, peer.get_scores(["tiber", "rome", "river", "rome"]), rtol=1e-12)


def test_words_of_any_language():
    words = Tokeniser().words_of
    assert words("Don't pay 50,000.5, it's v2.") == ["Don", "t", "pay", "50,000.5", "it", "s", "v2"]
    assert words("Größe naïve") == ["Größe", "naïve"]
    assert words("नमस्ते दुनिया") == ["नमस्ते", "दुनिया"]  # vowel signs are part of a word
    assert words("東京都 is ２０") == ["東京", "京都", "is", "20"]
    assert words("ｱ中") == ["ア中"]
    assert words("สวัสดี")[:2] == ["สว", "วั"]
    assert Tokeniser(unspaced="characters").words_of("東京") == ["東", "京"]
    assert words("안녕 мир") == ["안녕", "мир"]
    assert words("…!") == []


def test_both_ways_of_splitting_give_the_same_numbers():
    rng = np.random.default_rng(0)
    texts = [drawn(rng, 40) + end for end in ("", ".", ",5", "é", " x.5.6y", "\u0301")]
    tokeniser, names = Tokeniser(), {}
    tokens = tokeniser.split(StringColumn.from_strings(texts))
    spelt = [word for text in texts for word in tokeniser.words_of(text)]
    assert tokens.words.tolist() == [names.setdefault(word, len(names)) for word in spelt]
    assert np.diff(tokens.bounds).tolist() == [len(tokeniser.words_of(text)) for text in texts]
    many = StringColumn.from_strings(f"word{i} word{i % 7}" for i in range(3000))  # the table grows
    again = Tokeniser().split(many).words.reshape(-1, 2)
    assert len(np.unique(again[:, 0])) == 3000


def test_stems():
    pytest.importorskip("snowballstemmer", reason="extra rerank[qa]")
    found = computed(["rivers flowing"], [["the river flows", "nothing"]], stemmer="english")
    assert found[:, list(NAMES).index("coverage")].tolist() == [1, 0]
    with pytest.raises(ConfigError, match="unknown language 'englisch'; did you mean 'english'"):
        Tokeniser("englisch")


def test_a_question_without_a_word():
    with pytest.raises(DataError, match=r"^question 2: found ' \?', expected a question with a word"):
        computed(["rome", " ?"], [["rome"], ["rome"]])


def test_blocks_hold_every_list_once():
    texts = StringColumn.from_strings("x" * n for n in (5, 0, 30, 2, 2))
    ranges = list(blocks(texts, np.array([0, 2, 3, 5])))
    assert ranges[0][0] == 0
    assert ranges[-1][1] == 3
    assert [a[1] for a in ranges[:-1]] == [b[0] for b in ranges[1:]]
