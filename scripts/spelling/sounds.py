"""Two phonetic codes of English spelling: Soundex, and a key of all the consonants."""

from __future__ import annotations

import re

_SOUNDEX = {
    letter: str(digit)
    for digit, letters in enumerate(("bfpv", "cgjkqsxz", "dt", "l", "mn", "r"), start=1)
    for letter in letters
}

# Applied in this order, each to the whole word: silent letters go, and letters that sound alike
# become one capital or small letter. Rough on purpose: who misspells obeys no exact rule.
_RULES = tuple(
    (re.compile(pattern), sound)
    for pattern, sound in (
        (r"(.)\1+", r"\1"),
        (r"^[kgp]n", "n"),
        (r"^wr", "r"),
        (r"^ps", "s"),
        (r"^x", "s"),
        (r"mb$", "m"),
        (r"[st]ch|sh|ch", "X"),
        (r"[sct]i(?=on|ou|a|en)", "X"),
        (r"th", "0"),
        (r"ph", "f"),
        (r"gh(?=[^aeiouy]|$)", ""),
        (r"dg(?=[eiy])|g(?=[eiy])", "j"),
        (r"sc(?=[eiy])|c(?=[eiy])|z", "s"),
        (r"x", "ks"),
        (r"ck|[cgq]", "k"),
        (r"v", "f"),
        (r"d", "t"),
        (r"b", "p"),
        (r"(?<=..)e$", ""),
        (r"(?<=.)[wh]", ""),
        (r"[aeiouy]+", "A"),
        (r"(.)\1+", r"\1"),  # before the vowels go: "memory" keeps both its m's
        (r"(?<=.)A", ""),
    )
)


def soundex(word: str) -> str:
    """The American Soundex code of a lower-case word: its first letter and three digits."""
    digits = []
    last = _SOUNDEX.get(word[0], "")
    for letter in word[1:]:
        digit = _SOUNDEX.get(letter, "")
        if digit and digit != last:
            digits.append(digit)
        if letter not in "hw":  # h and w do not part two letters of one code, vowels do
            last = digit
    return (word[0] + "".join(digits) + "000")[:4]


def sound_key(word: str) -> str:
    """The consonants as they sound, roughly: sh is X, th is 0, vowels at the start are A."""
    for pattern, sound in _RULES:
        word = pattern.sub(sound, word) or word
    return word
