"""Lists that occur in two sets: recognised by hashes of their features, or equal in two folds."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterator, Sequence

import numpy as np

from rerank.core.errors import DataError, DataNote
from rerank.core.text import count
from rerank.data.lists import CandidateLists

# A sketch holds so many hashes at most, the smallest ones: 8 KB.
SKETCHED = 512
DIGITS = 16
# Different lists may have the same features: 6 % of those of a system combination did.
LEAST_SHARE = 0.1


def sketch(lists: CandidateLists, *, poor: bool = False) -> str:
    """Return hashes of the lists' features as hexadecimal digits, the smallest 512 if there are more.

    Lists without three different items, which chance makes equal, are in it if ``poor``.
    """
    return "".join(sorted(set(_hashes(lists, lists.names(), poor)))[:SKETCHED])


def overlap(known: str, names: Sequence[str], lists: CandidateLists) -> float:
    """Return the share of lists, 0 to 1, whose features are in a sketch; 0 if it may be chance.

    known : str
        As ``sketch`` gives it. If it is full, the share is that of the lists whose hashes it could hold.
    names : sequence of str, the feature columns of the lists that were hashed.
    lists : CandidateLists, other lists; columns are matched by name.
    """
    found = found_in(known, names, lists, poor=False)
    share = sum(found) / max(len(found), 1)
    return share if share >= LEAST_SHARE else 0.0


def strangers(known: str, names: Sequence[str], lists: CandidateLists) -> float:
    """Return the share of lists, 0 to 1, whose features are not in a sketch that was made with ``poor``.

    Parameters are those of ``overlap``. Lists with missing features are left out.
    """
    found = found_in(known, names, lists, poor=True)
    return 1.0 - sum(found) / len(found) if found else 0.0


def found_in(known: str, names: Sequence[str], lists: CandidateLists, poor: bool) -> list[bool]:
    """Return whether each list that a sketch could hold is in it; parameters are those of ``overlap``."""
    hashes = {known[at : at + DIGITS] for at in range(0, len(known), DIGITS)}
    largest = max(hashes) if len(hashes) >= SKETCHED else "g"  # above all digits
    return [one in hashes for one in _hashes(lists, names, poor) if one <= largest]


def shared_lists(known: CandidateLists, lists: CandidateLists) -> int:
    """Return the number of lists that have the id and the features of a known list; without ids 0.

    known, lists : CandidateLists, columns are matched by name.
    """
    if known.list_ids is None or lists.list_ids is None:
        return 0
    names = known.names()
    rows = dict(zip(known.list_ids, _projections(known, names), strict=True))
    found = zip(lists.list_ids, _projections(lists, names), strict=True)
    return sum(row is not None and rows.get(name) == row for name, row in found)


def _hashes(lists: CandidateLists, names: Sequence[str], poor: bool = False) -> Iterator[str]:
    """A hash of each list's projected items; see ``_projections``."""
    for row in _projections(lists, names, poor):
        if row is not None:
            yield hashlib.blake2b(row, digest_size=DIGITS // 2).hexdigest()


def _projections(lists: CandidateLists, names: Sequence[str], poor: bool = False) -> Iterator[bytes | None]:
    """Each list's projected items; None without three different ones, which are too poor to recognise.

    With ``poor`` those count too. None if the projection is not finite.

    They are rounded to float32, so that it does not matter in which order a sum is added up.
    """
    places = lists.places_in(names)
    w = np.append(np.random.Generator(np.random.PCG64(0)).random(len(names)), 0.0)[places]
    with np.errstate(over="ignore"):
        projected = lists.features.scores(w).astype(np.float32)
    for row in np.split(projected, lists.offsets[1:-1]):
        ordered = np.sort(row)  # np.unique would import masked arrays
        rich = poor or np.count_nonzero(ordered[1:] != ordered[:-1]) > 1
        yield row.tobytes() if rich and np.isfinite(row).all() else None


def copy_groups(lists: CandidateLists) -> list[int]:
    """Return a number for each list, equal for lists that are copies: the first list of each group.

    Copies have the same prompt, or without prompts the same features in the same order, to the precision of
    ``sketch``. Lists without three different items are too poor to recognise.
    """
    keys: list[object]
    if lists.prompts is not None:
        keys = list(lists.prompts)
    else:
        keys = [i if row is None else row for i, row in enumerate(_projections(lists, lists.names()))]
    first: dict[object, int] = {}
    return [first.setdefault(key, i) for i, key in enumerate(keys)]


def note(text: str) -> None:
    """Warn with a DataNote."""
    warnings.warn(text, DataNote, stacklevel=4)


def note_trained_on(known: str, names: Sequence[str], lists: CandidateLists, what: str) -> bool:
    """Warn if many lists have the features of training lists, and return whether they have.

    Parameters are those of ``overlap``; ``what`` is what the note calls the training lists.
    """
    share = overlap(known, names, lists)
    if share:
        note(f"{lists.source}: {share:.0%} of the lists have the features of {what}")
    return share > 0


def note_shared(known: CandidateLists, lists: CandidateLists, what: str) -> None:
    """Warn if lists are in another part too: many by their features, or some by id and features.

    ``what`` is what the note calls the other part.
    """
    if not note_trained_on(sketch(known), known.names(), lists, what) and (n := shared_lists(known, lists)):
        note(f"{lists.source}: {count(n, 'list')} with the id and the features of one of the {what}")


Place = tuple[int, int]


def shared_ids(sets: Sequence[CandidateLists]) -> Iterator[tuple[Place, Place]]:
    """Yield pairs of places (set, list) whose lists have one id; sets without ids share none."""
    seen: dict[str, Place] = {}
    for k, lists in enumerate(sets):
        places = {name: (k, i) for i, name in enumerate(lists.list_ids or ())}
        yield from ((seen[name], place) for name, place in places.items() if name in seen)
        seen = places | seen


def check_apart(names: Sequence[str], sets: Sequence[CandidateLists]) -> None:
    """Raise DataError if a list is in two folds.

    Lists are the same if id, features, judgements and texts are; folds without ids are compared as wholes.

    names : sequence of str, the folds.
    sets : sequence of CandidateLists, the lists of each fold.
    """
    reason = "tests over folds need every list once"
    for (k, i), (m, j) in shared_ids(sets):
        if _content(sets[k].subset([i])) == _content(sets[m].subset([j])):
            found = f"list {sets[k].list_id(i)!r} is in the lists of folds {names[k]} and {names[m]}"
            raise DataError(f"{found}; {reason}")
    wholes: dict[object, str] = {}
    for name, lists in zip(names, sets, strict=True) if len(sets) > 1 else ():
        earlier = name if lists.list_ids is not None else wholes.setdefault(_content(lists), name)
        if earlier != name:
            raise DataError(f"folds {earlier} and {name} have the same lists; {reason}")


def _content(lists: CandidateLists) -> tuple[object, ...]:
    """Return a key that is equal for lists with the same content."""
    texts = () if lists.texts is None else tuple(lists.texts)
    return lists.fingerprint(), texts, tuple(map(tuple, lists.references))
