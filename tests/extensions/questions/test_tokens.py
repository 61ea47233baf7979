"""Tokens of plain and tagged text, function words."""

import pytest

from rerank.core.errors import DataError
from rerank.extensions.questions.text import is_content, is_word, split_tags, tokenise


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Who's there?", "Who 's there ?"),
        ("They don't and can't.", "They do n't and ca n't ."),
        ("the dogs' O'Hara, hip-hop!", "the dogs ' O'Hara , hip-hop !"),
        ("Mr. Fox of the U.S. paid $1,250.50 (3.5%).", "Mr. Fox of the U.S. paid $ 1,250.50 ( 3.5 % ) ."),
        ("``Tara,'' he says ... -- no", "`` Tara , '' he says ... -- no"),
        ('He said: "AT&T; a/b"', 'He said : " AT&T ; a / b "'),
        ("we’ll see _ x_y", "we ’ll see _ x _ y"),
        ("über\u00a0Ärger\tend.\n", "über Ärger end ."),
        ("", ""),
    ],
)
def test_plain_text(text: str, tokens: str) -> None:
    assert tokenise(text) == tokens.split()


def test_no_character_is_lost() -> None:
    text = "A (B) [c]'s d--e..f \u2026 g_h, 1,2,x 3.4.5 n't 'd \ud7a3 \U0001f600 O''K"
    assert "".join(tokenise(text)) == "".join(text.split())


def test_the_last_separator_of_a_token_counts() -> None:
    tokens = split_tags("dogs_NNS  __, a_b_NN ", "_")
    assert (list(tokens.forms), list(tokens.tags or ())) == (["dogs", "_", "a_b"], ["NNS", ",", "NN"])
    assert list(split_tags("", "_").forms) == []
    for bad in ("dogs", "dogs_", "_NNS", "a_DT dogs/NNS"):
        with pytest.raises(DataError, match="expected word_TAG"):
            split_tags(bad, "_")


def test_function_words_and_punctuation_are_no_content() -> None:
    assert [
        w for w in ("The", "dog", "n't", "'s", "?", "-LRB-", "_", "3", "Was", "WAS", "é") if is_content(w)
    ] == ["dog", "3", "é"]
    assert is_word("the")
    assert not is_word("-RCB-")
