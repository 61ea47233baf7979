"""Links and overlap features against their definitions."""

import math

import numpy as np
from reference import qa as slow

from rerank.extensions.questions.text import Tokens
from rerank.extensions.questions.trees import NAMES, Analysis, analysed, common_subsequence, links, overlaps


def lowered(form: str, tag: str | None) -> str:
    return form.lower()


def text(*forms: str) -> Analysis:
    return analysed(Tokens(forms), lowered, lowered)


def test_words_are_linked_by_key_but_not_function_words_or_punctuation() -> None:
    question = text("Who", "was", "the", "Dog", "?")
    passage = text("the", "dog", "was", "a", "dog", "who", "barks", "?")
    marks = links(question, passage)
    assert marks[0] == [False, False, False, True, False]
    assert marks[1] == [False, True, False, False, True, False, False, False]
    assert links(text(), passage) == ([], [False] * 8)


def test_a_key_that_is_empty_links_nothing() -> None:
    def nothing(form: str, tag: str | None) -> str:
        return ""

    one = analysed(Tokens(["dog"]), lowered, nothing)
    assert links(one, one) == ([False], [False])


def test_common_subsequences_are_those_of_the_table() -> None:
    rng = np.random.default_rng(1)
    for _ in range(200):
        a, b = ([str(k) for k in rng.integers(0, 4, rng.integers(0, 90))] for _ in range(2))
        assert common_subsequence(a, b) == slow.subsequence(a, b)


def test_features_are_those_of_the_definitions() -> None:
    rng = np.random.default_rng(2)
    words = ["dog", "cat", "bird", "sings", "tree", "the", "is", "?", "house"]
    for n in (1, 2, 5):
        for _ in range(20):
            texts = [text(*rng.choice(words, rng.integers(0, 9))) for _ in range(n + 1)]
            pairs = [list(zip(one.keys, one.content, strict=True)) for one in texts]
            found = overlaps(texts[0], texts[1:])
            for row, expected in zip(found, slow.overlaps(pairs[0], pairs[1:]), strict=True):
                assert tuple(f"overlap_{name}" for name in expected) == NAMES
                np.testing.assert_allclose(row, list(expected.values()), rtol=1e-12, atol=1e-12)


def test_values_of_one_list_by_hand() -> None:
    passages = [text("a", "dog", "barks"), text("cats", "sleep", ".")]
    first, second = overlaps(text("which", "dog", "barks", "?"), passages)
    # df of both words is 1 of 2 passages; bigrams of the question: which dog, dog barks.
    assert first == [2, 1, 1, 0.5, 1, 1, 1, math.log1p(3)]
    assert second == [0, 0, 0, 0, 0, 0, 0, math.log1p(2)]
