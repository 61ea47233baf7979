"""Classes of examples: a column of text as class names and codes, for learners, models and metrics."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

import numpy as np
from msgspec import Struct

from rerank.core import memory
from rerank.core.errors import DataError, DataNote, FormatError
from rerank.core.files.read import read_bytes, shown
from rerank.core.registry import did_you_mean
from rerank.core.text import count, some
from rerank.core.types import Floats, Index, Ints, Mask
from rerank.data.columns.class_sets import (
    EXPECTED,
    HOW_READ,
    REJECT,
    class_sets,
    coder,
    ordered_names,
    plain_number,
)
from rerank.data.columns.offsets import offsets_of, places_of
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense

_LARGEST = 1e300  # of values, so that differences and their sums are finite
_CELL_BYTES = 40  # of a candidate class: label, scores, name


class ClassLabels(Struct, frozen=True, eq=False):
    """The classes of examples as codes.

    Attributes
    ----------
    names : tuple of str, the class names. Names that are all numbers are sorted by value, others as text.
    offsets : int64 (n_items + 1)
    codes : int32 (n)
        The classes of item i are ``names[c]`` for c in ``codes[offsets[i]:offsets[i + 1]]``, which rise.
    """

    names: tuple[str, ...]
    offsets: Index
    codes: Ints

    @classmethod
    def of(cls, lists: CandidateLists, known: Sequence[str] | None = None) -> ClassLabels:
        """Return the classes of the items of ``lists``.

        Raises DataError if the lists have no classes, an item has a class not among ``known``, or its text is
        not a set of classes.

        known : sequence of str, the class names of a model, in its order. None = those in ``lists``.
        """
        if lists.classes is None:
            raise DataError(f"{lists.source}: found no classes, expected examples with some {HOW_READ}")

        def place(item: int) -> str:
            return f"{lists.source}: {example_of(lists, item)}"

        return cls.from_texts(lists.classes, place, known)

    @classmethod
    def from_texts(
        cls, texts: Iterable[str], place: Callable[[int], str], known: Sequence[str] | None = None
    ) -> ClassLabels:
        """Return the classes in ``texts``, see ``of``; ``place`` names a text by its position in errors."""
        sets, index = class_sets(
            texts, lambda at, found: DataError(f"{place(at)}: found {found}, {EXPECTED}")
        )
        names = ordered_names(name for own in sets for name in own) if known is None else tuple(known)
        code_of = coder(names)
        coded = []
        for k, own in enumerate(sets):
            codes = [code_of(name) for name in own]
            if None in codes:
                where, name = place(int(np.argmax(index == k))), own[codes.index(None)]
                expected = f"a class of the model: {did_you_mean(name, names)}"
                raise DataError(f"{where}: found class {name!r}, expected {expected}")
            coded.append(sorted(code for code in codes if code is not None))
        bounds = offsets_of([len(own) for own in coded])
        flat = np.array([code for own in coded for code in own], dtype=np.int32)
        places, offsets = places_of(bounds, index)
        return cls(names, offsets, flat[places])

    @property
    def n_items(self) -> int:
        """The number of items."""
        return len(self.offsets) - 1

    @property
    def lengths(self) -> Index:
        """The number of classes of each item, int64 (n_items)."""
        return np.diff(self.offsets)

    def indicator(self) -> Mask:
        """Return whether each item has each class, bool (n_items, n_classes)."""
        out = np.zeros((self.n_items, len(self.names)), dtype=bool)
        out[np.repeat(np.arange(self.n_items), self.lengths), self.codes] = True
        return out


def class_values(names: Sequence[str]) -> Floats:
    """Return the numbers that class names spell, float64; DataError if one is not a number or too large."""
    for name in names:
        if plain_number(name) is None or abs(float(name)) > _LARGEST:
            raise DataError(f"found class {name!r}, expected classes that are numbers, such as 1, 2, 3")
    return np.array([float(name) for name in names], dtype=np.float64)


def example_of(lists: CandidateLists, item: int) -> str:
    """Return how messages name an item: as an example by the caller's row, from 1."""
    return f"example {(item if lists.rows is None else int(lists.rows[item])) + 1}"


class Predictions(Struct, frozen=True, eq=False):
    """Predictions of a system for each example, in the order of the caller's rows.

    Attributes
    ----------
    source : str, for messages.
    texts : sequence of str, sets or rankings of classes, or ``REJECT``.
    numbers : bool, whether they were given as an array of numbers with fractions, as scores are.
    """

    source: str
    texts: Sequence[str]
    numbers: bool = False


def read_predictions(path: str, lists: CandidateLists) -> Predictions:
    """Return the lines of a file, one for each example of ``lists``; ``-`` is standard input.

    An empty line predicts no class. Raises FormatError if there are too few lines or too many.
    """
    text = bytes(read_bytes(path)).removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape")
    lines = [line.strip(" \r") for line in text.removesuffix("\n").split("\n")] if text else []
    if len(lines) != lists.n_items:
        expected = f"{lists.n_items}, one for each example of {lists.source}"
        raise FormatError(shown(path), None, f"{len(lines)} predictions", expected)
    return Predictions(shown(path), lines)


class _Sets(Struct, frozen=True, eq=False):
    """The sets of classes in texts: different ones, and the number of each text's; and which are rejected."""

    source: str
    sets: list[tuple[str, ...]]
    index: Index
    rejected: Mask

    @classmethod
    def of(cls, source: str, texts: Sequence[str], refused: bool) -> _Sets:
        rejected = np.array([refused and text == REJECT for text in texts], dtype=bool)
        plain = ["" if no else text for text, no in zip(texts, rejected.tolist(), strict=True)]

        def fault(row: int, found: str) -> FormatError:
            return FormatError(source, row + 1, found, EXPECTED.removeprefix("expected "))

        return cls(source, *class_sets(plain, fault), rejected)

    def names(self) -> set[str]:
        return {name for names in self.sets for name in names}

    def line_of(self, holds: Callable[[tuple[str, ...]], bool]) -> int:
        """The first line, from 1, whose set is such a one."""
        chosen = np.array([holds(names) for names in self.sets])
        return int(np.argmax(chosen[self.index])) + 1


def class_lists(
    lists: CandidateLists,
    systems: Mapping[str, Predictions],
    *,
    ranked: bool = False,
    known: Sequence[str] = (),
) -> tuple[CandidateLists, dict[str, Floats]]:
    """Return examples as lists of candidate classes, and predictions as scores of these.

    Each example becomes a list of all classes, with label 1 for those that it has and 0 for the others. A
    predicted set becomes scores: 1 for its classes and 0 for the others, or -1 for all if the prediction is
    ``REJECT``. A predicted ranking becomes scores that fall from the first class to the last.

    The classes are those of the examples, those of all predictions and ``known``; a DataNote reports classes
    that are predicted but that no example has. Raises DataError or FormatError if the examples have no
    classes, a prediction is not a set of classes, or a ranking lacks a class.

    Parameters
    ----------
    lists : CandidateLists, examples with classes.
    ranked : bool, whether each prediction is a ranking of all classes, the best first, and not a set.
    known : sequence of str, further classes that could be predicted.

    Returns
    -------
    lists : CandidateLists
        A list for each of the caller's rows, in their order. ``classes`` has the candidate classes.
    scores : mapping of str to float64 (n_examples * n_classes)
    """
    if lists.classes is None:
        raise DataError(f"{lists.source}: found no classes, expected examples with some {HOW_READ}")
    rows = lists.input_order(np.arange(lists.n_items, dtype=np.int64))
    truth = _Sets.of(lists.source, list(lists.classes.take(rows)), refused=False)
    found = {name: _Sets.of(one.source, one.texts, refused=not ranked) for name, one in systems.items()}
    for name, one in found.items():
        _check_names(truth, one, systems[name].numbers)
    names = ordered_names(truth.names().union(known, *(one.names() for one in found.values())))
    if not names:
        raise DataError(f"{lists.source}: no example has a class")
    n, m = lists.n_items, len(names)
    memory.require(_CELL_BYTES * n * m * (1 + len(found)), f"{n:,} examples x {m:,} classes")
    expanded = CandidateLists(
        offsets_of(np.full(n, m)),
        Dense(np.empty((n * m, 0))),
        labels=_values(truth, names, lambda codes: np.ones(len(codes))).ravel(),
        classes=StringColumn.from_strings(names).take(np.tile(np.arange(m), n)),
        source=lists.source,
    )
    if ranked:
        for one in found.values():
            _check_rankings(one, names)
        return expanded, {
            name: _values(one, names, lambda codes: np.arange(m, 0.0, -1)).ravel()
            for name, one in found.items()
        }
    scores = {}
    for name, one in found.items():
        values = _values(one, names, lambda codes: np.ones(len(codes)))
        values[one.rejected] = -1.0
        scores[name] = values.ravel()
    return expanded, scores


def _values(of: _Sets, names: Sequence[str], value: Callable[[list[int]], Floats]) -> Floats:
    """``value`` of each set's codes at their places, 0 elsewhere: float64 (n_texts, n_names)."""
    code_of = coder(names)
    out = np.zeros((len(of.sets), len(names)))
    for row, some_names in zip(out, of.sets, strict=True):
        codes = [code for name in some_names if (code := code_of(name)) is not None]
        row[codes] = value(codes)
    return out[of.index]


def _check_names(truth: _Sets, system: _Sets, numbers: bool) -> None:
    """Raise an error, or warn, if predicted classes are not those of the examples.

    Numbers are scores, not classes, if none is a class of the examples, or if they were given as ``numbers``
    and no class has a fraction.
    """
    known, given = truth.names(), system.names()
    numeric = bool(known) and all(map(plain_number, known))
    odd = sorted(name for name in given if numeric and plain_number(name) is None)
    if odd:
        line = system.line_of(lambda names: odd[0] in names)
        raise FormatError(system.source, line, f"class {odd[0]!r}", f"a number, as in {truth.source}")
    code_of = coder(ordered_names(known))
    new = sorted(name for name in given if code_of(name) is None)
    scores = _scores_among(new, known)
    if scores and (numbers or len(new) == len(given) > 1):
        line = system.line_of(lambda names: scores[0] in names)
        expected = f"a predicted class, not a score; the examples have {some(ordered_names(known))}"
        raise FormatError(system.source, line, f"class {scores[0]!r}, which no example has", expected)
    if new:
        line = system.line_of(lambda names: new[0] in names)
        what = f"{count(len(new), 'predicted class', 'predicted classes')} that no example has: {some(new)}"
        text = f"{system.source}: {what} (line {line}); the examples have {some(ordered_names(known))}"
        warnings.warn(text, DataNote, stacklevel=4)


def _scores_among(new: Sequence[str], known: Collection[str]) -> list[str]:
    """The predicted classes that may be scores: numbers, if no example has a class with a fraction."""

    def number(name: str) -> float | None:
        try:
            return float(name)
        except ValueError:
            return None

    if any((number(name) or 0.0) % 1 for name in known):
        return []
    found = [name for name in new if number(name) is not None]
    return sorted(found, key=lambda name: not float(name) % 1)  # fractions first


def _check_rankings(system: _Sets, names: Sequence[str]) -> None:
    """Raise FormatError at the first line that does not rank all classes."""
    short = [k for k, ranking in enumerate(system.sets) if len(ranking) < len(names)]
    if short:
        line = system.line_of(lambda ranking: len(ranking) < len(names))
        found = f"{count(len(system.sets[system.index[line - 1]]), 'class', 'classes')}"
        raise FormatError(system.source, line, found, f"a ranking of all {len(names)} classes")
