"""Features of a pair of words, on values worked out by hand and against a slow twin."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from spelling.edits import Edits, find_edits, key_distance
from spelling.features import FEATURES, feature_values
from spelling.sounds import sound_key, soundex

words = st.text("abely", min_size=1, max_size=7)


def slow_distance(a: str, b: str) -> int:
    """Optimal string alignment distance, straight from its recursive definition."""
    if not a or not b:
        return len(a) + len(b)
    if a[-1] == b[-1]:
        return slow_distance(a[:-1], b[:-1])
    ways = [slow_distance(a[:-1], b), slow_distance(a, b[:-1]), slow_distance(a[:-1], b[:-1])]
    if len(a) > 1 and len(b) > 1 and (a[-1], a[-2]) == (b[-2], b[-1]):
        ways.append(slow_distance(a[:-2], b[:-2]))
    return 1 + min(ways)


@given(words, words)
def test_the_kinds_of_edits_add_up_to_the_distance(a: str, b: str) -> None:
    assert find_edits(a, b).distance == slow_distance(a, b)


@given(words, words)
def test_a_word_is_as_far_from_another_as_that_from_it(a: str, b: str) -> None:
    assert find_edits(a, b).distance == find_edits(b, a).distance
    assert find_edits(a, a) == Edits()


@pytest.mark.parametrize(
    ("typed", "intended", "edits"),
    [
        ("cat", "cat", Edits()),
        ("acomodate", "accommodate", Edits(doubled=2)),
        ("untill", "until", Edits(doubled=1)),
        ("freind", "friend", Edits(transposed=1)),
        ("seperate", "separate", Edits(vowel_swapped=1, key_distance=math.hypot(1.75, 1) / 3)),
        ("enviroment", "environment", Edits(missing=1)),
        ("athelete", "athlete", Edits(extra=1)),
        ("vord", "word", Edits(substituted=1, key_distance=1.0)),
        ("wprd", "word", Edits(substituted=1, key_distance=1 / 3)),
        ("a", "bcd", Edits(missing=2, substituted=1, key_distance=2 / 3)),
    ],
)
def test_edits_of_known_misspellings(typed: str, intended: str, edits: Edits) -> None:
    found = find_edits(typed, intended)
    assert found.key_distance == pytest.approx(edits.key_distance)
    found.key_distance = edits.key_distance
    assert found == edits


def test_key_distance_is_in_keys_of_a_qwerty_keyboard() -> None:
    assert key_distance("q", "q") == 0
    assert key_distance("q", "w") == pytest.approx(1 / 3)
    assert key_distance("q", "a") == pytest.approx(math.hypot(0.25, 1) / 3)
    assert key_distance("q", "p") == key_distance("a", "'") == 1


@pytest.mark.parametrize(
    ("word", "code"),
    [
        ("robert", "r163"),
        ("rupert", "r163"),
        ("ashcraft", "a261"),
        ("tymczak", "t522"),
        ("pfister", "p236"),
        ("honeyman", "h555"),
        ("a", "a000"),
    ],
)
def test_soundex_is_the_national_archives(word: str, code: str) -> None:
    assert soundex(word) == code


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("phisics", "physics"),
        ("nite", "knight"),
        ("recieve", "receive"),
        ("neccessary", "necessary"),
        ("attension", "attention"),
    ],
)
def test_words_that_sound_alike_share_a_key(a: str, b: str) -> None:
    assert sound_key(a) == sound_key(b)


def test_the_sound_key_keeps_consonants_apart_and_is_never_empty() -> None:
    assert sound_key("memory") == "mmr"
    assert sound_key("shoe") == "X"
    assert sound_key("thigh") == "0"
    assert all(sound_key(word) for word in ("e", "a", "gh", "eye", "why", "w"))


def test_all_features_of_one_pair() -> None:
    values = dict(zip(FEATURES, feature_values("acommodate", "accommodated", 1000), strict=True))
    expected = {
        "distance": 2,
        "distance_per_letter": 2 / 12,
        "missing_letters": 1,  # the d at the end
        "extra_letters": 0,
        "doubled_letters": 1,  # the second c
        "substituted_letters": 0,
        "swapped_vowels": 0,
        "transposed_letters": 0,
        "key_distance": 0,
        "log_frequency": 0.3,
        "length_difference": 2,
        "same_first_letter": 1,
        "same_last_letter": 0,
        "common_prefix": 2 / 12,
        "common_suffix": 0,
        "bigram_overlap": 2 * 10 / (11 + 13),  # of the query's eleven, only e$ is not shared
        "letter_overlap": 2 * 10 / (10 + 12),
        "foreign_letters": 0,
        "same_soundex": 1,
        "sound_distance": 1,  # Akmtt and Akmttt
    }
    assert values == pytest.approx(expected)


@given(words, words, st.integers(1, 10**11))
def test_features_are_small_and_best_for_the_word_itself(query: str, candidate: str, count: int) -> None:
    values = dict(zip(FEATURES, feature_values(query, candidate, count), strict=True))
    itself = dict(zip(FEATURES, feature_values(query, query, count), strict=True))
    for name, value in values.items():
        assert 0 <= value <= max(len(query), len(candidate), 1.1)
        rises = name.startswith(("same_", "common_")) or name.endswith(("overlap", "frequency"))
        assert value <= itself[name] if rises else value >= itself[name] == 0
