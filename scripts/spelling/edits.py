"""The edits that turn an intended word into what was typed, counted by kind."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

VOWELS = frozenset("aeiouy")

# One edit costs UNIT; the small change only decides between alignments with equally many edits,
# so that "acommodate" lacks one of two c's, and a swap of vowels goes before one of any letters.
UNIT = 1000
TRANSPOSED = 10
SINGLE = 40  # a letter lost or added that is not next to the same letter

_ROWS = (("qwertyuiop", 0.0), ("asdfghjkl", 0.25), ("zxcvbnm", 0.75))
_KEYS = {
    letter: (column + shift, float(row))
    for row, (letters, shift) in enumerate(_ROWS)
    for column, letter in enumerate(letters)
}
FAR = 3.0  # keys; two letters further apart than this are no slip of a finger


def key_distance(a: str, b: str) -> float:
    """Distance of two keys of a QWERTY keyboard in keys, over FAR: 0 (one key) to 1 (far, or no letter)."""
    if a not in _KEYS or b not in _KEYS:
        return 1.0
    return min(math.dist(_KEYS[a], _KEYS[b]) / FAR, 1.0)


@dataclass(slots=True)
class Edits:
    """Edits between a typed and an intended word; every edit is counted in one of the six kinds."""

    missing: int = 0
    extra: int = 0
    doubled: int = 0
    substituted: int = 0
    vowel_swapped: int = 0
    transposed: int = 0
    key_distance: float = 0.0  # summed over both kinds of substitution

    @property
    def distance(self) -> int:
        """How many edits there are: the optimal string alignment distance."""
        return (
            self.missing + self.extra + self.doubled + self.substituted + self.vowel_swapped + self.transposed
        )


def _in_double(word: str, at: int) -> bool:
    """Whether the letter at ``at`` is next to the same letter."""
    return word[at] in (word[at - 1 : at], word[at + 1 : at + 2])


@cache
def _swap_cost(a: str, b: str) -> int:
    """Cost of typing ``a`` for ``b``; nothing if they are the same."""
    if a == b:
        return 0
    slip = round(20 * key_distance(a, b))
    return UNIT + (min(slip, 10) if a in VOWELS and b in VOWELS else 20 + slip)


def _letter_costs(word: str) -> list[int]:
    """Cost of each letter of ``word`` that the other word lacks."""
    return [UNIT if _in_double(word, at) else UNIT + SINGLE for at in range(len(word))]


def _costs(typed: str, intended: str) -> list[list[int]]:
    """Least cost (len(typed) + 1, len(intended) + 1) of turning prefixes into one another."""
    drop, add = _letter_costs(typed), _letter_costs(intended)
    above = [0]
    for cost in add:
        above.append(above[-1] + cost)
    table = [above]
    for i, a in enumerate(typed):
        row = [above[0] + drop[i]]
        for j, b in enumerate(intended):
            best = min(above[j] + _swap_cost(a, b), above[j + 1] + drop[i], row[j] + add[j])
            if i and j and a == intended[j - 1] and b == typed[i - 1] and a != b:
                best = min(best, table[i - 1][j - 1] + UNIT + TRANSPOSED)
            row.append(best)
        table.append(row)
        above = row
    return table


def _steps(typed: str, intended: str) -> Iterator[tuple[str, int, int]]:
    """The edits of one cheapest alignment, last first: (kind, place in typed, place in intended)."""
    table = _costs(typed, intended)
    drop, add = _letter_costs(typed), _letter_costs(intended)
    i, j = len(typed), len(intended)
    while i or j:
        here = table[i][j]
        if i and j and here == table[i - 1][j - 1] + _swap_cost(typed[i - 1], intended[j - 1]):
            i, j = i - 1, j - 1
            if typed[i] != intended[j]:
                yield "swap", i, j
        elif i and here == table[i - 1][j] + drop[i - 1]:
            i -= 1
            yield "extra", i, j
        elif j and here == table[i][j - 1] + add[j - 1]:
            j -= 1
            yield "missing", i, j
        else:
            i, j = i - 2, j - 2
            yield "transposed", i, j


def find_edits(typed: str, intended: str) -> Edits:
    """The fewest edits between two words; among equally few, those that a slip explains best."""
    edits = Edits()
    for kind, i, j in _steps(typed, intended):
        if kind == "swap":
            a, b = typed[i], intended[j]
            edits.key_distance += key_distance(a, b)
            if a in VOWELS and b in VOWELS:
                edits.vowel_swapped += 1
            else:
                edits.substituted += 1
        elif kind == "transposed":
            edits.transposed += 1
        elif _in_double(typed, i) if kind == "extra" else _in_double(intended, j):
            edits.doubled += 1
        elif kind == "extra":
            edits.extra += 1
        else:
            edits.missing += 1
    return edits
