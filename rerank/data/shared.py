"""Lists that are in several sets, recognised by their ids and contents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rerank.core.errors import DataError
from rerank.data.lists import CandidateLists

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

    Parameters
    ----------
    names : sequence of str
        The folds.
    sets : sequence of CandidateLists
        The lists of each fold.
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
    """What makes lists the same as other ones."""
    texts = () if lists.texts is None else tuple(lists.texts)
    return lists.fingerprint(), texts, tuple(map(tuple, lists.references))
