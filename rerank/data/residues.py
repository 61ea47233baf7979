"""Ranges of residues, such as "A:12-90,A:110-150": how they are written, and which residues they contain."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rerank.core.errors import DataError
from rerank.core.text import some
from rerank.core.types import Mask
from rerank.data.columns.traces import (
    CHAIN_LENGTH,
    Keys,
    chain_codes,
    chain_name,
    key_of,
    residue_name,
    without_chain,
)

EXPECTED = "ranges such as 12-90, A:12-90,A:110-150 or A (a whole chain)"
_RESIDUE = r"(-?[0-9]{1,8})([A-Za-z]?)"
_RANGE = re.compile(rf"{_RESIDUE}(?:\s*-\s*{_RESIDUE})?")
_CHAIN = re.compile(rf"[!-+\-0-9;-~]{{1,{CHAIN_LENGTH}}}")  # no comma, colon, or . and / of paths
_LAST_INSERTION = 0xFF  # above every insertion code
_LAST = (1 << 32) - 1


@dataclass(frozen=True, slots=True)
class Range:
    """Residues of a chain from one to another, both included.

    Attributes
    ----------
    text : as it was written.
    chain : its name; None = the only chain there is.
    first, last : keys of residues in no chain.
    """

    text: str
    chain: str | None
    first: int
    last: int


def parse_ranges(text: str) -> tuple[Range, ...]:
    """Return the ranges that a text lists, separated by commas.

    A range is ``12-90``, ``A:12-90`` in chain A, one residue (``12``, ``A:12``) or a whole chain (``A``, or
    ``A:`` if its name looks like a number). Numbers may be negative (``-5-20``) and have an insertion code
    (``12B``). A number without one stands for all residues of this number, so 12-90 contains 90A.

    Raises
    ------
    DataError
        If the text is something else, a range is reversed, or two overlap.
    """
    ranges = tuple(_range(part.strip()) for part in text.split(","))
    if len({one.chain is None for one in ranges}) > 1:
        raise DataError(
            f"residues {text!r}: found ranges with a chain and without, expected it in all or none"
        )
    for i, one in enumerate(ranges):
        for other in ranges[:i]:
            if one.chain == other.chain and one.first <= other.last and other.first <= one.last:
                raise DataError(f"residues {text!r}: {other.text} and {one.text} overlap")
    return ranges


def _range(text: str) -> Range:
    chain, colon, numbers = text.rpartition(":")
    match = _RANGE.fullmatch(numbers.strip())
    if match is None:
        whole = chain if colon and not numbers else text if not colon else ""
        if not _CHAIN.fullmatch(whole) or (not colon and re.match(r"-?[0-9]", whole)):
            raise DataError(f"residues: found {text!r}, expected {EXPECTED}")
        return Range(text, whole, 0, _LAST)
    if colon and not _CHAIN.fullmatch(chain):
        raise DataError(f"residues: found {text!r}, expected a chain of up to {CHAIN_LENGTH} characters")
    number, insertion, to, to_insertion = match.groups()
    if to is None:
        to, to_insertion = number, insertion
    first = key_of("", int(number), insertion)
    last = key_of("", int(to), to_insertion) | (0 if to_insertion else _LAST_INSERTION)
    if last < first:
        raise DataError(f"residues: {text!r} is reversed, expected the smaller number first")
    return Range(text, chain if colon else None, first, last)


def within(keys: Keys, ranges: Sequence[Range]) -> Mask:
    """Return which residues of a structure are in one of the ranges, bool (n).

    Parameters
    ----------
    keys : uint64 (n)
        In any order.
    ranges : from ``parse_ranges``.

    Raises
    ------
    DataError
        If the ranges name no chain and the structure has several, or a range contains no residue.
    """
    codes, numbers = chain_codes(keys), without_chain(keys)
    chains = [chain_name(code) for code in np.unique(codes)]
    out = np.zeros(len(keys), dtype=bool)
    for one in ranges:
        if one.chain is None and len(chains) > 1:
            raise DataError(
                f"residues {one.text}: found chains {some(chains, 8)}, expected one, as in "
                f"{chains[0]}:{one.text}"
            )
        inside = (numbers >= np.uint64(one.first)) & (numbers <= np.uint64(one.last))
        if one.chain is not None:
            inside &= codes == np.uint64(key_of(one.chain, 0) >> 32)
        if not inside.any():
            missing = one.chain is not None and one.chain not in chains
            what = f"chain {one.chain!r}" if missing else one.text
            raise DataError(f"residues: found no {what}, expected ranges of {extent(np.unique(keys))}")
        out |= inside
    return out


def extent(keys: Keys) -> str:
    """Return what residues a structure has, chain by chain, for messages: "A:1-120, B:5-90"."""
    if not len(keys):
        return "no residues"
    starts = np.flatnonzero(np.diff(chain_codes(keys), prepend=~chain_codes(keys[:1])))
    ends = [*starts[1:], len(keys)]
    names = [(residue_name(keys[a]), residue_name(keys[b - 1])) for a, b in zip(starts, ends, strict=True)]
    return some([f"{first}-{last.rpartition(':')[2]}" for first, last in names], 8)
