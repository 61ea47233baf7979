"""Small lists of texts with references: made of strings, drawn, degenerate, or read from Moses' form."""

import gzip
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from reference.metrics import bleu

from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists

Groups = Sequence[tuple[Sequence[str], Sequence[str]]]  # (candidates, references) of each list


def text_lists(candidates, *references, **columns):
    """Lists of candidates (a list of strings each) with references (one string per list, for each file)."""
    lengths = [len(of_list) for of_list in candidates]
    plain = CandidateLists.from_arrays(np.zeros((sum(lengths), 1)), group=lengths)
    return replace(
        plain,
        texts=StringColumn.from_strings([text for of_list in candidates for text in of_list]),
        references=tuple(StringColumn.from_strings(strings) for strings in references),
        **columns,
    )


def moses_lists(folder, part):
    """(lists with texts, one reference and the order of the file as first best; totals of the items)."""
    with gzip.open(folder / f"{part}.nbest.gz", "rt", encoding="utf-8", newline="\n") as file:
        lines = [line.rstrip("\n").split(" ||| ") for line in file]
    with gzip.open(folder / f"{part}.ref.gz", "rt", encoding="utf-8", newline="\n") as file:
        references = [line.rstrip("\n") for line in file]
    candidates = {}
    for line in lines:
        candidates.setdefault(line[0], []).append(line[1])
    assert list(candidates) == [str(i) for i in range(len(references))]
    assert list(Counter(line[0] for line in lines)) == list(candidates)
    order = -np.arange(len(lines), dtype=np.float64)
    lists = text_lists(list(candidates.values()), references, first_best=order)
    return lists, np.array([float(line[3]) for line in lines])


def made(lists, references):
    """Lists of candidates with references, given for each list."""
    return text_lists(lists, *zip(*references, strict=True))


def lists_of(groups: Groups, **columns: Any) -> CandidateLists:
    """Lists of candidates and their references."""
    return replace(made([texts for texts, _ in groups], [refs for _, refs in groups]), **columns)


def some_lists(seed=0, n_lists=20, n_references=2):
    rng = np.random.default_rng(seed)
    words = ["der", "Hund", "beißt", "den", "Mann", ".", "nicht", "heute,", "3.5", "internationalisiert"]

    def sentence():
        return " ".join(rng.choice(words, size=rng.integers(0, 12)))

    lists = [[sentence() for _ in range(rng.integers(1, 7))] for _ in range(n_lists)]
    return made(lists, [[sentence() for _ in range(n_references)] for _ in range(n_lists)])


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
