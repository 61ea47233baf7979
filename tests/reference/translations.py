"""Small lists of candidates and references as plain strings, for tests of metrics of texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from reference.metrics import bleu

from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists

Groups = Sequence[tuple[Sequence[str], Sequence[str]]]  # (candidates, references) of each list


def lists_of(groups: Groups, **columns: Any) -> CandidateLists:
    sizes = [len(candidates) for candidates, _ in groups]
    texts = StringColumn.from_strings(text for candidates, _ in groups for text in candidates)
    columns.setdefault("texts", texts)
    if "references" not in columns:
        by_place = zip(*(references for _, references in groups), strict=True)
        columns["references"] = tuple(map(StringColumn.from_strings, by_place))
    plain = CandidateLists.from_arrays(np.zeros((sum(sizes), 1)), group=sizes)
    return replace(plain, **columns)


def bleu_rows(groups: Groups) -> list[list[float]]:
    return [bleu.statistics(text, references) for candidates, references in groups for text in candidates]


def drawn_groups(seed: int, n_lists: int = 6, n_references: int = 1, words: str = "abcde") -> Groups:
    rng = np.random.default_rng(seed)

    def text(most: int) -> str:
        return " ".join(words[k] for k in rng.integers(0, len(words), int(rng.integers(0, most))))

    return [
        ([text(14) for _ in range(rng.integers(1, 6))], [text(14) for _ in range(n_references)])
        for _ in range(n_lists)
    ]


DEGENERATE: dict[str, Groups] = {
    "everything empty": [([""], [""])],
    "no candidate": [(["", " ", "\u3000\t"], ["a b c d e"])],
    "no reference": [(["a", "a b c d e", ""], [""])],
    "no text in one list of three": [(["a b"], ["a b"]), ([""], [""]), (["a b c"], ["a c"])],
    "one token": [(["a", "b", "a a"], ["a"])],
    "shorter than an order": [(["a b", "a b c", "a b c d"], ["a b c d"])],
    "repeated": [(["the the the the the the the", "the cat the cat"], ["the cat is on the mat the cat"])],
    "blanks around": [(["  a  b ", "a\xa0b", "\u2028a\u2029b\u3000", "a\tb\r\n"], ["a b"])],
    "zero bytes are letters": [(["a \0a \0\0a", "\0a a\0 a"], ["\0a b"]), (["\0", "\0\0"], ["\0 \0\0\0"])],
    "eight bytes and more": [
        (["abcdefgh abcdefghi abcdefg", "abcdefgi bbcdefgh abcdefghj"], ["abcdefg abcdefgh abcdefghi"])
    ],
    "very long": [
        (["x" * 5000 + " " + "x" * 5001, "x" * 4999 + "y"], ["x" * 5000 + " " + "x" * 5001]),
        (["é" * 3000 + "\u3000a"], ["a " + "é" * 3000]),
    ],
    "closest length, shorter on ties": [
        (["a b c d", "a b", "a", "", "a b c d e f g h i"], ["a b", "a b c d e f", "a b c d e f g"])
    ],
    "the larger count of any reference": [(["a a a b b", "a a a a"], ["a a b", "a b b", ""])],
    "the same token in another list": [(["a b"], ["a b"]), (["a b"], ["c d"]), (["a b"], ["b a"])],
}
