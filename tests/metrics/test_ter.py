"""TER: against a slow twin and sacrebleu, on made and on real lists."""

import random
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.metrics import ter as reference
from reference.texts import moses_lists, text_lists

from rerank.core.errors import ConfigError
from rerank.data.judge import corpus_value
from rerank.metrics.base import parse
from rerank.metrics.edit import Ter

few_words = st.lists(st.sampled_from("abcde"), max_size=14).map(" ".join)


def counted(candidates, *references, **options):
    return Ter(**options).of(text_lists(candidates, *references))


def edits(hypothesis, known):
    return counted([[hypothesis]], [known])[0, 0]


@st.composite
def moved(draw, most=12):
    """(reference, candidate with blocks moved about and some words changed)."""
    known = draw(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=most))
    words = list(known)
    for _ in range(draw(st.integers(0, 3))):
        start, stop = sorted(draw(st.tuples(*[st.integers(0, len(words))] * 2)))
        block, rest = words[start:stop], words[:start] + words[stop:]
        at = draw(st.integers(0, len(rest)))
        words = rest[:at] + block + rest[at:]
    for _ in range(draw(st.integers(0, 2))):
        words[draw(st.integers(0, len(words) - 1))] = draw(st.sampled_from("abxy"))
    return " ".join(known), " ".join(words)


@settings(deadline=None)
@given(
    st.lists(st.lists(few_words, min_size=1, max_size=3), min_size=1, max_size=3),
    st.lists(st.lists(few_words, min_size=3, max_size=3), min_size=1, max_size=3),
)
def test_counts_equal_the_twin(candidates, files):
    files = [strings[: len(candidates)] for strings in files]
    expected = [
        reference.statistics(text, [strings[i] for strings in files])
        for i, of_list in enumerate(candidates)
        for text in of_list
    ]
    assert counted(candidates, *files).tolist() == expected


@settings(deadline=None)
@given(moved())
def test_shifted_blocks_equal_the_twin(pair):
    known, text = pair
    assert edits(text, known) == reference.edits(text.split(), known.split())


def drawn(seed, n, n_words, size, spread):
    """n pairs of a reference and a candidate of words, up to ``size`` long."""
    rng = random.Random(seed)
    for _ in range(n):
        known = [str(rng.randrange(n_words)) for _ in range(rng.randrange(size // 2, size))]
        text = list(known)
        for _ in range(rng.randrange(4)):
            start = rng.randrange(len(text))
            block = text[start : start + rng.randrange(1, 12)]
            del text[start : start + len(block)]
            at = rng.randrange(len(text) + 1)
            text[at:at] = block
        text = [w if rng.random() > spread else str(rng.randrange(n_words + 3)) for w in text]
        yield known, [w for w in text if rng.random() > spread / 2] * rng.choice([1, 1, 1, 2])


@pytest.mark.parametrize(
    ("n", "n_words", "size", "spread"),
    [(25, 400, 60, 0.1), (3, 60, 100, 0.3), (8, 5, 40, 0.4), (4, 3000, 200, 0.5), (1, 4, 90, 0.2)],
)
def test_longer_texts_equal_sacrebleu(n, n_words, size, spread):
    theirs = pytest.importorskip("sacrebleu.metrics.lib_ter", reason="sacrebleu is the oracle")
    for known, text in drawn(2, n, n_words, size, spread):
        assert edits(" ".join(text), " ".join(known)) == theirs.translation_edit_rate(text, known)[0]


@pytest.mark.parametrize(("n", "m"), [(1, 200), (3, 130), (200, 1), (130, 3), (70, 30), (30, 70), (40, 55)])
def test_lengths_far_apart_equal_the_twin(n, m):
    rng = random.Random(n * m)
    text, known = ([str(rng.randrange(50)) for _ in range(size)] for size in (n, m))
    assert edits(" ".join(text), " ".join(known)) == reference.edits(text, known)


def test_values_worked_by_hand():
    assert edits("b c a", "a b c") == 1  # one shift
    assert edits("d e a b c x", "a b c d e") == 2  # a shift and a deletion
    assert edits("a x", "a b c") == 2
    assert edits("The CAT", "the cat") == 0  # lower case by default


def test_a_block_longer_than_ten_words_moves_in_two_shifts():
    words = [f"w{i}" for i in range(24)]
    assert edits(" ".join(words[12:] + words[:12]), " ".join(words)) == 2
    assert edits(" ".join(words[10:20] + words[:10]), " ".join(words[:20])) == 1


def test_nothing_moves_farther_than_fifty_words():
    words = [f"w{i}" for i in range(60)]
    assert edits(" ".join(words[1:50] + words[:1]), " ".join(words[:50])) == 1
    assert edits(" ".join(words[1:] + words[:1]), " ".join(words)) == 2


def test_empty_texts():
    judge = parse("TER").prepare(text_lists([["", "a b"], ["", "a"]], ["a b", " "]))
    assert judge.per_item.tolist() == [[2, 2], [0, 2], [0, 0], [1, 0]]
    assert judge.item_values().tolist() == [100, 0, 0, 100]
    assert judge.oracle() == 0


def test_several_references_give_the_fewest_edits_and_their_mean_length():
    assert counted([["a b c d"]], ["a b c"], ["x y z v w u"], ["a"]).tolist() == [[1, 10 / 3]]


def test_unicode_blanks_and_case_are_pythons():
    assert edits("a\u3000b\x85C", "A B c") == 0
    assert edits("ΟΔΟΣ", "οδος") == 0  # the last sigma has a form of its own
    assert counted([["The"]], ["the"], case_sensitive=True).tolist() == [[1, 1]]


OPTIONS = [
    {},
    {"normalized": True},
    {"no_punct": True},
    {"case_sensitive": True},
    {"normalized": True, "asian": True},
    {"normalized": True, "no_punct": True, "asian": True, "case_sensitive": True},
]
CANDIDATES = [
    ["Hello, World! It's 3.5 &amp; more -- isn't it?", "world hello it's 3,5 & more", ""],
    ["我 喜欢 红色。the Red one", "red 我喜欢 (the) one;", "ひらがな と カタカナ"],
]
REFERENCES = [["Hello world, it's 3.5 & more.", "我喜欢红色。The red one"], ["", "the red one ！"]]


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: "-".join(options) or "default")
@pytest.mark.parametrize("files", [1, 2])
def test_statistics_and_values_equal_sacrebleus(options, files):
    metrics = pytest.importorskip("sacrebleu.metrics", reason="sacrebleu is the oracle")
    theirs = metrics.TER(**{{"asian": "asian_support"}.get(key, key): on for key, on in options.items()})
    lists = text_lists(CANDIDATES, *REFERENCES[:files])
    keys = ", ".join(f"{key}=1" for key in options)
    metric = parse(f"TER({keys})" if keys else "TER")
    judge = metric.prepare(lists)
    assert parse(metric.name) == metric
    for j, i in enumerate(lists.list_index):
        known = [strings[i] for strings in REFERENCES[:files]]
        score = theirs.sentence_score(lists.texts[j], known)
        assert judge.per_item[j, 0] == score.num_edits
        assert judge.per_item[j, 1] == score.ref_length
        assert judge.item_values()[j] == score.score
    chosen = [of_list[1] for of_list in CANDIDATES]
    scores = np.array([0.0, 1, 0, 0, 1, 0])
    value = theirs.corpus_score(chosen, [list(file) for file in REFERENCES[:files]]).score
    assert corpus_value(judge, judge.per_list(scores)) == value
    # Our signature has everything that sacrebleu's has, except the version.
    assert set(str(theirs.get_signature()).split("|")[:-1]) <= set(judge.signature.split("|"))


def test_the_error_for_options_without_sacrebleu_names_what_to_install(monkeypatch):
    for name in ("sacrebleu", "sacrebleu.tokenizers", "sacrebleu.tokenizers.tokenizer_ter"):
        monkeypatch.setitem(sys.modules, name, None)
    lists = text_lists([["a"]], ["a"])
    with pytest.raises(ConfigError, match=r"TER\(normalized=1\) needs the package sacrebleu: pip install"):
        parse("TER(normalized=1)").prepare(lists)
    assert parse("TER").prepare(lists).oracle() == 0


@pytest.mark.parametrize(
    ("folder", "every"), [("asr-pocketsphinx", 3), ("moses-europarl", 41), ("syscomb-wmt10", 97)]
)
@pytest.mark.parametrize("part", ["dev", "test"])
def test_real_candidates_have_sacrebleus_edits(shared_data, folder, every, part):
    theirs = pytest.importorskip("sacrebleu.metrics.lib_ter", reason="sacrebleu is the oracle")
    lists, _ = moses_lists(shared_data / folder, part)
    items = np.arange(0, lists.n_items, every)
    known = [lists.references[0][i].lower().split() for i in range(lists.n_lists)]
    expected = [
        theirs.translation_edit_rate(lists.texts[j].lower().split(), known[lists.list_index[j]])
        for j in items
    ]
    assert Ter().of(lists)[items].tolist() == [list(map(float, pair)) for pair in expected]


def test_real_lists_with_two_references_equal_sacrebleu(shared_data):
    metrics = pytest.importorskip("sacrebleu.metrics", reason="sacrebleu is the oracle")
    lists, _ = moses_lists(shared_data / "asr-pocketsphinx", "dev")
    # The reference of the next sentence as a second one.
    second = lists.references[0].take(np.roll(np.arange(lists.n_lists), -1))
    lists = replace(lists, references=(*lists.references, second)).subset(np.arange(40))
    judge = parse("TER").prepare(lists)
    first = list(lists.texts.take(lists.offsets[:-1]))
    score = metrics.TER().corpus_score(first, [list(column) for column in lists.references])
    assert corpus_value(judge, judge.first_best()) == pytest.approx(score.score, rel=1e-14)
    assert judge.first_best().sum(axis=0).tolist() == [score.num_edits, score.ref_length]
