"""Sets of class names as text, "1,3", "setosa", "" = none, and answers as they are compared."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal

import numpy as np

from rerank.core.errors import RerankError
from rerank.core.types import Index
from rerank.data.columns.strings import StringColumn

REJECT = "REJECT"  # what a model that may reject predicts instead of a class
HOW_READ = "(--classes; in a table, --label-column)"
EXPECTED = "expected different class names separated by commas"
_SEPARATOR = ","
_NUMBER = re.compile(r"([-+]?)0*([0-9]*)(?:\.([0-9]*?)0*)?")


def class_set(text: str) -> tuple[str, ...]:
    """Return the class names in a text such as "1,3", without blanks around them.

    A text of blanks and commas holds none. Raises ValueError if a name is empty, cannot be printed, is the
    word ``REJECT``, or is there twice; its message is what was found.
    """
    names = [name.strip() for name in text.split(_SEPARATOR)]
    if not any(names):
        return ()
    for name in names:
        if not name:
            raise ValueError(f"an empty class name in {text!r}")
        if name == REJECT:
            raise ValueError(f"a class {REJECT!r}, which is what predictions without a class are called")
        if any(ord(c) < 32 for c in name):
            raise ValueError(f"a class name with a control character, {name!r}")
    seen: set[str] = set()
    for name in names:
        plain = plain_number(name) or name
        if plain in seen:
            raise ValueError(f"class {name!r} twice in {text!r}")
        seen.add(plain)
    return tuple(names)


def class_sets(
    texts: Iterable[str], fault: Callable[[int, str], RerankError]
) -> tuple[list[tuple[str, ...]], Index]:
    """Return the different sets of classes in texts, and the number of each text's set, int64 (n).

    ``fault`` makes the error for a text that is not a set from its position and what was found.
    """
    numbers: dict[str, int] = {}
    index = np.fromiter((numbers.setdefault(text, len(numbers)) for text in texts), np.int64)
    sets = []
    for k, text in enumerate(numbers):
        try:
            sets.append(class_set(text))
        except ValueError as error:
            raise fault(int(np.argmax(index == k)), str(error)) from None
    return sets, index


def class_column(texts: Iterable[str], fault: Callable[[int, str], RerankError]) -> StringColumn:
    """Return the column of classes in texts, without blanks around names; see ``class_sets``."""
    sets, index = class_sets(texts, fault)
    return StringColumn.from_strings(_SEPARATOR.join(some) for some in sets).take(index)


def plain_number(name: str) -> str | None:
    """Return a decimal number in its shortest spelling ("+1.0" is "1"), None if the name is not one.

    The comparison is exact: numbers are never rounded. Exponents are not read as numbers.
    """
    match = _NUMBER.fullmatch(name)
    if match is None or not any(c.isdecimal() for c in name):
        return None
    sign, whole, fraction = match.groups(default="")
    value = (whole or "0") + (f".{fraction}" if fraction else "")
    return f"-{value}" if sign == "-" and value != "0" else value


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


def plain_answer(text: str) -> str:
    """Return the text by which an answer is compared: without blanks at its ends, those of Unicode as well.

    Equal texts are one answer; an empty text is no answer.
    """
    return text.strip()
