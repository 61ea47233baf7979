"""What a ranker knows about a candidate: numbers that a linear model can use as they are.

Edits and letters are counted (key_distance adds fractions), everything else lies in 0 to about 1;
each feature is monotone (more edits, less likely; more letters shared, more likely).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from functools import lru_cache

from spelling.edits import Edits, find_edits
from spelling.sounds import sound_key, soundex

FREQUENCY_TOP = 10.0  # log10 of about the commonest word's count


def _shared(a: str, b: str) -> int:
    """Length of the longest common prefix."""
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def _dice(a: Counter[str], b: Counter[str]) -> float:
    """Dice coefficient of two bags: 0 (nothing shared) to 1 (equal)."""
    return 2.0 * (a & b).total() / (a.total() + b.total())


@lru_cache(maxsize=1 << 16)
def _bigrams(word: str) -> Counter[str]:
    """Pairs of neighbouring letters; the ends of the word count as letters."""
    padded = f"^{word}$"
    return Counter(padded[i : i + 2] for i in range(len(padded) - 1))


_sound_key = lru_cache(maxsize=1 << 16)(sound_key)
_soundex = lru_cache(maxsize=1 << 16)(soundex)


Feature = Callable[[str, str, int, Edits], float]  # (query, candidate, count, edits)

FEATURES: dict[str, Feature] = {
    "distance": lambda _q, _c, _n, e: e.distance,
    "distance_per_letter": lambda q, c, _n, e: e.distance / max(len(q), len(c)),
    "missing_letters": lambda _q, _c, _n, e: e.missing,
    "extra_letters": lambda _q, _c, _n, e: e.extra,
    "doubled_letters": lambda _q, _c, _n, e: e.doubled,
    "substituted_letters": lambda _q, _c, _n, e: e.substituted,
    "swapped_vowels": lambda _q, _c, _n, e: e.vowel_swapped,
    "transposed_letters": lambda _q, _c, _n, e: e.transposed,
    "key_distance": lambda _q, _c, _n, e: e.key_distance,
    "log_frequency": lambda _q, _c, n, _e: math.log10(n) / FREQUENCY_TOP,
    "length_difference": lambda q, c, _n, _e: abs(len(q) - len(c)),
    "same_first_letter": lambda q, c, _n, _e: q[0] == c[0],
    "same_last_letter": lambda q, c, _n, _e: q[-1] == c[-1],
    "common_prefix": lambda q, c, _n, _e: _shared(q, c) / max(len(q), len(c)),
    "common_suffix": lambda q, c, _n, _e: _shared(q[::-1], c[::-1]) / max(len(q), len(c)),
    "bigram_overlap": lambda q, c, _n, _e: _dice(_bigrams(q), _bigrams(c)),
    "letter_overlap": lambda q, c, _n, _e: _dice(Counter(q), Counter(c)),
    "foreign_letters": lambda q, c, _n, _e: len(set(q) - set(c)),
    "same_soundex": lambda q, c, _n, _e: _soundex(q) == _soundex(c),
    "sound_distance": lambda q, c, _n, _e: find_edits(_sound_key(q), _sound_key(c)).distance,
}


def feature_values(query: str, candidate: str, count: int) -> list[float]:
    """Values of FEATURES, in that order, for two lower-case words that are not empty.

    ``count`` is how often the candidate is seen in text, at least 1.
    """
    edits = find_edits(query, candidate)
    return [float(value(query, candidate, count, edits)) for value in FEATURES.values()]
