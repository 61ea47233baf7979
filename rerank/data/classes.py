"""Classes of examples: a column of text as class names and codes, for learners, models and metrics."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from rerank.core.errors import DataError
from rerank.core.registry import did_you_mean
from rerank.core.types import Floats, Index, Ints, Mask
from rerank.data.columns.class_sets import EXPECTED, HOW_READ, class_sets, plain_number
from rerank.data.columns.offsets import offsets_of, places_of
from rerank.data.lists import CandidateLists

_LARGEST = 1e300  # of values, so that differences and their sums are finite


@dataclass(frozen=True, eq=False, slots=True)
class ClassLabels:
    """The classes of examples as codes.

    Attributes
    ----------
    names : tuple of str
        The class names. Names that are all numbers are sorted by value, others as text.
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

        Parameters
        ----------
        lists : CandidateLists
        known : sequence of str, optional
            The class names of a model, in its order. None = those in ``lists``.

        Raises
        ------
        DataError
            If the lists have no classes, an item has a class not among ``known``, or its text is not
            a set of classes.
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
        names = ordered_names(name for some in sets for name in some) if known is None else tuple(known)
        code_of = coder(names)
        coded = []
        for k, some in enumerate(sets):
            codes = [code_of(name) for name in some]
            if None in codes:
                where, name = place(int(np.argmax(index == k))), some[codes.index(None)]
                expected = f"a class of the model: {did_you_mean(name, names)}"
                raise DataError(f"{where}: found class {name!r}, expected {expected}")
            coded.append(sorted(code for code in codes if code is not None))
        bounds = offsets_of([len(some) for some in coded])
        flat = np.array([code for some in coded for code in some], dtype=np.int32)
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


def ordered_names(given: Iterable[str]) -> tuple[str, ...]:
    """Return class names in their order: by value if all are numbers, which are one if equal, or as text."""
    names = set(given)
    numbers = {plain_number(name) for name in names}
    if None in numbers:
        return tuple(sorted(names))
    return tuple(sorted((number for number in numbers if number is not None), key=Decimal))


def coder(names: Sequence[str]) -> Callable[[str], int | None]:
    """Return the function from a class name to its place among ``names``, None for an unknown one.

    If all of ``names`` are numbers, names are compared as numbers.
    """
    plain = [plain_number(name) for name in names]
    if None in plain:
        return {name: code for code, name in enumerate(names)}.get
    codes = {number: code for code, number in enumerate(plain)}
    return lambda name: codes.get(plain_number(name) or name)
