"""Single lists and candidates of CandidateLists, as people look at them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, overload

import numpy as np

from rerank.core.errors import DataError
from rerank.core.registry import did_you_mean
from rerank.core.types import Floats, Index
from rerank.data.arrays import without_missing
from rerank.data.matrix import Dense, Features

_SHOWN = 6  # features of a candidate's repr
_LONGEST = 40  # characters of a text there


class NotThereError(DataError, IndexError):
    """No list, or no candidate, has this number or id."""


@dataclass(frozen=True)
class Candidate:
    """One item of a list.

    Attributes
    ----------
    list_id, id : str, its number from 1 if the lists have no ids.
    label : float, none if it is unjudged.
    text : str, optional
    classes : str, optional
    base_score : float, the first stage's score.
    features : dict of str to float, by name; NaN = missing. Features of sparse lists that are 0 are left out.
    item : int, its place among the items of all lists.
    """

    list_id: str
    id: str
    label: float | None
    text: str | None
    classes: str | None
    base_score: float | None
    features: dict[str, float] = field(repr=False)
    item: int = field(repr=False)

    def __repr__(self) -> str:
        facts = [f"{self.id!r} of list {self.list_id!r}"]
        if self.text is not None:
            text = self.text if len(self.text) <= _LONGEST else self.text[: _LONGEST - 3] + "..."
            facts.append(f"text={text!r}")
        if self.classes is not None:
            facts.append(f"classes={self.classes!r}")
        facts += [
            f"{name}={value:g}"
            for name, value in (("label", self.label), ("base_score", self.base_score))
            if value is not None
        ]
        some = [f"{name}: {value:g}" for name, value in list(self.features.items())[:_SHOWN]]
        more = [f"... {len(self.features) - _SHOWN} more"] if len(self.features) > _SHOWN else []
        return f"Candidate({', '.join(facts)}, features={{{', '.join([*some, *more])}}})"


class CandidateList(Sequence[Candidate]):
    """One of the lists, a sequence of its candidates.

    Parameters
    ----------
    lists : CandidateLists
    place : int, which one, from 0.
    """

    def __init__(self, lists: Any, place: int) -> None:
        self._lists = lists
        self.place = place
        self._first = int(lists.offsets[place])
        self._length = int(lists.offsets[place + 1]) - self._first

    @property
    def id(self) -> str:
        """The id of the list, its number from 1 if the set has none."""
        return str(self._lists.list_id(self.place))

    @property
    def lists(self) -> Any:
        """The list alone, as CandidateLists."""
        return self._lists.subset([self.place])

    @property
    def features(self) -> Floats:
        """The features, float64 (n, n_features)."""
        return self._lists.features.take(slice(self._first, self._first + self._length)).to_dense()

    @property
    def labels(self) -> Floats | None:
        """The labels, float64 (n), NaN = unjudged; None if nothing is judged."""
        return self._part(self._lists.labels)

    @property
    def base_scores(self) -> Floats | None:
        """The first stage's scores, float64 (n), None without a first stage."""
        return self._part(self._lists.base_scores)

    @property
    def ids(self) -> list[str]:
        """The ids of the candidates, their numbers from 1 if the set has none."""
        found = self._strings(self._lists.item_ids)
        return [str(place + 1) for place in range(self._length)] if found is None else found

    @property
    def texts(self) -> list[str] | None:
        """The texts of the candidates."""
        return self._strings(self._lists.texts)

    @property
    def prompt(self) -> str | None:
        """Return the prompt or question of the candidates."""
        prompts = self._lists.prompts
        return None if prompts is None else str(prompts[self.place])

    @property
    def references(self) -> list[str]:
        """The references of the list."""
        return [str(column[self.place]) for column in self._lists.references]

    def to_frame(self, library: str = "pandas") -> Any:
        """Return a data frame with a row for each candidate; see ``CandidateLists.to_frame``."""
        return self.lists.to_frame(library)

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, place: int) -> Candidate: ...
    @overload
    def __getitem__(self, place: slice) -> list[Candidate]: ...
    def __getitem__(self, place: int | slice) -> Candidate | list[Candidate]:
        if isinstance(place, slice):
            return [self[i] for i in range(*place.indices(self._length))]
        if not -self._length <= place < self._length:
            text = f"list {self.id!r} has {self._length} candidates, found the index {place}"
            raise NotThereError(f"{text}, expected {-self._length} to {self._length - 1}")
        place = int(place) % self._length
        lists, item = self._lists, self._first + place
        label = None if lists.labels is None else float(lists.labels[item])
        names = lists.names()
        return Candidate(
            self.id,
            str(place + 1) if lists.item_ids is None else lists.item_ids[item],
            None if label is None or label != label else label,
            None if lists.texts is None else lists.texts[item],
            None if lists.classes is None else lists.classes[item],
            None if lists.base_scores is None else float(lists.base_scores[item]),
            {names[j]: value for j, value in _row(lists.features, item)},
            item,
        )

    def __repr__(self) -> str:
        texts = [repr(self[place]) for place in range(min(self._length, 5))]
        more = [f"... {self._length - 5} more"] if self._length > 5 else []
        return "\n  ".join([f"CandidateList {self.id!r} of {self._length}:", *texts, *more])

    def _repr_html_(self) -> str:
        return str(self.lists._repr_html_())

    def _part(self, values: Floats | None) -> Floats | None:
        return None if values is None else values[self._first : self._first + self._length]

    def _strings(self, column: Sequence[str] | None) -> list[str] | None:
        if column is None:
            return None
        return [column[item] for item in range(self._first, self._first + self._length)]


def _row(features: Features, item: int) -> Iterator[tuple[int, float]]:
    """Yield column and value of an item's features; of sparse features, those that are stored."""
    one = features.take(slice(item, item + 1))
    if isinstance(one, Dense):
        yield from enumerate(one.values[0].tolist())
        return
    row = one.compressed()
    values = [1.0] * row.n_values if row.data is None else row.data.tolist()
    yield from zip(row.indices.tolist(), values, strict=True)


def each_list(lists: Any) -> Iterator[CandidateList]:
    """Yield every list."""
    return (CandidateList(lists, index) for index in range(len(lists)))


def chosen(lists: Any, key: Any) -> int | Index:
    """Return the lists that an index means: the place of one, or the places of several, int64.

    Raises NotThereError if there is none.

    Parameters
    ----------
    lists : CandidateLists
    key : a number or an id for one list; a slice, a mask, numbers or ids for several.
    """
    n = len(lists)
    if isinstance(key, str):
        return place_of(lists, key)
    if isinstance(key, slice):
        return np.arange(n, dtype=np.int64)[key]
    if np.ndim(key) == 0:
        if isinstance(key, bool) or not isinstance(key, int | np.integer):
            expected = "expected a number, an id, a slice, a mask or an array of numbers or ids"
            raise DataError(f"{lists.source}: lists[{key!r}]: found {type(key).__name__}, {expected}")
        if not -n <= key < n:
            raise NotThereError(f"{lists.source}: no list {key}, expected {-n} to {n - 1}")
        return int(key) % n
    which = without_missing(key, f"{lists.source}: the chosen lists")
    if which.dtype.kind in "UO" and all(isinstance(one, str) for one in which.ravel()):
        return np.array([place_of(lists, str(one)) for one in which.ravel()], dtype=np.int64)
    if which.dtype == bool:
        if which.shape != (n,):
            raise DataError(f"{lists.source}: a mask of shape {which.shape}, expected ({n},)")
        return np.flatnonzero(which).astype(np.int64)
    if which.dtype.kind in "iu" and which.ndim == 1:
        bad = which[(which < -n) | (which >= n)]
        if len(bad):
            raise NotThereError(f"{lists.source}: no list {bad[0]}, expected {-n} to {n - 1}")
        return which.astype(np.int64) % n
    raise DataError(f"{lists.source}: lists are chosen by numbers, ids or a mask, found {which.dtype}")


def place_of(lists: Any, name: str) -> int:
    """Return the place of the list with an id; raise NotThereError, with the nearest, if there is not one."""
    places = [i for i, known in enumerate(_ids(lists)) if known == name]
    if len(places) == 1:
        return places[0]
    if places:
        raise NotThereError(f"{lists.source}: {len(places)} lists have the id {name!r}; choose by number")
    raise NotThereError(f"{lists.source}: no list {name!r}; {did_you_mean(name, set(_ids(lists)))}")


def _ids(lists: Any) -> Iterator[str]:
    """The ids of lists, their numbers from 1 if there are none."""
    return map(str, range(1, len(lists) + 1)) if lists.list_ids is None else iter(lists.list_ids)
