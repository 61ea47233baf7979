"""Labels of candidates from comparisons within their lists, and comparisons of texts as lists."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from rerank.core.errors import ConfigError, DataError
from rerank.core.files.read import opening_once
from rerank.core.text import count
from rerank.core.types import Floats, Index
from rerank.data.columns.offsets import offsets_of
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense
from rerank.data.reading import Reading
from rerank.extensions.preferences.comparisons import Comparisons, comparisons_of
from rerank.extensions.preferences.models import Likelihood, Pairs, Rankings
from rerank.formats.base import FORMATS, Format, ReadOptions, save
from rerank.formats.common import note, quoted
from rerank.formats.samples import keys_of
from rerank.formats.sources import as_lists, checked_format

PRIOR = 1.0  # the standard deviation of strengths in a list unless another one is given
_DIGITS = 9  # labels are rounded, so that what is tied is not a pair
_KEYS = (
    {"chosen", "rejected"},
    {"generator_1", "generator_2", "preference"},
    {"model_a", "model_b", "winner"},
)


@opening_once
def label_from_comparisons(
    data: Any,
    comparisons: Any,
    out: str | None = None,
    to: str | None = None,
    *,
    prior: float = PRIOR,
    columns: Any = None,
    reading: Reading | None = None,
) -> CandidateLists:
    """Return lists whose labels are the strengths of their candidates, by comparisons within each list.

    Strengths are Bradley and Terry's (of rankings, Plackett and Luce's) with a normal prior around 0, for
    each list by itself; ties are half a win of each. What no comparison names is unjudged, NaN. Learners of
    pairs then learn from every two candidates of a list that were judged, also from those that were not
    compared themselves; candidates that are as strong are no pair.

    Parameters
    ----------
    data : lists, or their file.
    comparisons : see ``comparisons_of``; lists are named by ids or prompts, candidates by ids, by numbers
        from 1 without ids, or by texts.
    out, to : file that the lists are written to, and its format; None = none, by its suffix.
    prior : standard deviation of strengths.
    columns : names of columns of the comparisons, by role.
    reading : how the lists are read.

    Returns
    -------
    CandidateLists

    Raises
    ------
    RerankError
        If a comparison names a list or a candidate that is not there, with its line.

    Examples
    --------
    >>> import rerank
    >>> lists = rerank.CandidateLists.from_arrays([[1.0], [2.0], [3.0]], qid=["q"] * 3, item_ids=list("abc"))
    >>> games = [{"list": "q", "first": "a", "second": "b", "winner": "first"}]
    >>> rerank.label_from_comparisons(lists, games).labels.round(3).tolist()
    [0.337, -0.337, nan]
    """
    if out is None and to is not None:
        raise ConfigError(f"--to {to}: not used without --out, which names the file of lists")
    target = None if out is None else checked_format(out, to, data, reading)
    lists = as_lists(data, reading=reading)
    given = comparisons_of(comparisons, columns)
    if not given.named_lists and lists.n_lists > 1:
        raise DataError(f"{given.source}: found no column of lists, expected one for {lists.n_lists} lists")
    places = _places(lists, given)
    made = lists.replace_labels(_labels(lists.n_items, places, given, lists.list_index, prior))
    if out is not None:
        save(made, out, target)
    return made


def _places(lists: CandidateLists, given: Comparisons) -> dict[tuple[int, int], list[int]]:
    """The items that each (list, item) of comparisons means; raises DataError for unknown ones."""
    ids = {lists.list_id(i): i for i in range(lists.n_lists)}
    if lists.prompts is not None:
        for i, prompt in enumerate(lists.prompts):
            ids.setdefault(prompt, i)
    by_id: dict[tuple[int, str], list[int]] = {}
    by_text: dict[tuple[int, str], list[int]] = {}
    for k, i in enumerate(lists.list_index.tolist()):
        name = lists.item_ids[k] if lists.item_ids is not None else str(k - int(lists.offsets[i]) + 1)
        by_id.setdefault((i, name), []).append(k)
        if lists.texts is not None:
            by_text.setdefault((i, lists.texts[k]), []).append(k)
    out: dict[tuple[int, int], list[int]] = {}
    for k in range(len(given)):
        number = int(given.lists[k])
        place_of_list = ids.get(given.list_ids[number]) if given.named_lists else 0
        if place_of_list is None:
            name = quoted(given.list_ids[number])
            raise DataError(f"{given.place(k)}: found list {name}, expected one of {lists.source}")
        i = place_of_list
        names = given.rankings[k] if given.rankings is not None else (given.first[k], given.second[k])
        for item in map(int, names):
            if (number, item) in out:
                continue
            text = given.texts.get((number, item), given.items[item])
            place = by_id.get((i, given.items[item])) if not given.by_text else None
            place = place or by_text.get((i, text))
            if place is None:
                found = f"{given.place(k)}: found item {quoted(given.items[item])}"
                where = f"list {lists.list_id(i)!r} of {lists.source}"
                raise DataError(f"{found}, expected one of {where}")
            out[number, item] = place
    return out


def _labels(
    n_items: int, places: dict[tuple[int, int], list[int]], given: Comparisons, of_list: Index, prior: float
) -> Floats:
    """Strengths by item, float64 (n_items), NaN = not compared; reports what they cannot express."""
    node = {key: k for k, key in enumerate(places)}
    labels = np.full(n_items, np.nan)
    strengths, model = _strengths(node, given, prior)
    for key, k in node.items():
        labels[places[key]] = strengths[k]
    _report(model, strengths, [next(iter(place)) for place in places.values()], of_list)
    return labels


def _strengths(
    node: dict[tuple[int, int], int], given: Comparisons, prior: float
) -> tuple[Floats, Likelihood]:
    """The strength of each (list, item), and the likelihood."""
    if not (prior > 0 and np.isfinite(prior)):
        raise ConfigError(f"--prior: found {prior:g}, expected a standard deviation above 0")
    lists = given.lists.tolist()
    model: Likelihood
    if given.rankings is not None:
        rankings = [
            np.array([node[i, item] for item in ranking.tolist()])
            for i, ranking in zip(lists, given.rankings, strict=True)
        ]
        model = Rankings(len(node), rankings, given.lists, prior=prior)
    else:
        sides = [
            np.array([node[key] for key in zip(lists, codes.tolist(), strict=True)], dtype=np.int64)
            for codes in (given.first, given.second)
        ]
        model = Pairs(
            len(node), sides[0], sides[1], given.outcomes, np.zeros(len(lists), np.int64), prior=prior
        )
    found: Floats = np.round(model.maximum(), _DIGITS) + 0.0
    return found, model


def _report(model: Likelihood, strengths: Floats, first: list[int], of_list: Index) -> None:
    """Note comparisons that labels contradict, and lists in which some candidates were never connected."""
    from rerank.extensions.preferences.connections import components

    if isinstance(model, Pairs):
        wins = np.concatenate([model.outcomes[:, 0], model.outcomes[:, 2]])
        pairs = np.concatenate([model.first, model.second]), np.concatenate([model.second, model.first])
        lost = float(wins[strengths[pairs[0]] <= strengths[pairs[1]]].sum())
        if lost > 0:
            share = f"{lost:.6g} of {wins.sum():.6g} wins"
            note(f"labels tie or contradict {share}: judges disagree, or wins are cyclic")
    lists = of_list[np.array(first, dtype=np.int64)]
    parts = components(model)
    apart = len(parts) - len(np.unique(lists))
    if apart > 0:
        several = np.bincount([lists[part[0]] for part in parts])
        n = int(np.count_nonzero(several > 1))
        note(
            f"comparisons of {count(n, 'list')} fall apart into components (the first is list number "
            f"{int(np.argmax(several > 1)) + 1}): the order between them is the prior's alone"
        )


@FORMATS.register("preferences", "chosen-rejected")
class Preferences(Format):
    """Reader of comparisons as lists: a list for each prompt, with the answers as candidates and labels.

    Labels are those of ``label_from_comparisons``. Candidates are in the order in which they appear.
    """

    name: ClassVar[str] = "preferences"
    summary: ClassVar[str] = "comparisons: chosen and rejected answers, AlpacaEval, Arena; read only"
    honours: ClassVar[frozenset[str]] = frozenset({"refs", "distinct"})
    refines: ClassVar[str | None] = "jsonl"
    signs: ClassVar[tuple[bytes, ...]] = (b"rejected", b"preference", b"winner")

    @classmethod
    def recognises(cls, head: bytes) -> bool:
        keys = keys_of(head.lstrip().removeprefix(b"["))
        return any(wanted <= keys for wanted in _KEYS)

    def _read(self, path: str, options: ReadOptions) -> CandidateLists:
        given = comparisons_of(path)
        if not given.named_lists:
            raise DataError(f"{given.source}: found no lists, expected a prompt or a list of each comparison")
        return lists_of(given)

    def _write(self, lists: CandidateLists, path: str) -> None:
        raise DataError(f"{path}: {self.name} is read only; write jsonl or store")


def lists_of(given: Comparisons, prior: float = PRIOR) -> CandidateLists:
    """Return the lists of comparisons: candidates in the order of appearance, labels, texts and prompts."""
    keys: dict[tuple[int, int], None] = {}
    for k, i in enumerate(given.lists.tolist()):
        names = (
            given.rankings[k].tolist() if given.rankings is not None else [given.first[k], given.second[k]]
        )
        keys.update(((i, int(item)), None) for item in names)
    ordered = sorted(keys, key=lambda key: key[0])  # stable: by list
    sizes = np.bincount([i for i, _ in ordered])
    offsets = offsets_of(sizes)
    of_list = np.repeat(np.arange(len(sizes)), sizes)
    texts = [given.texts.get(key, given.items[key[1]] if given.by_text else "") for key in ordered]
    named = [given.prompts.get(i) != given.list_ids[i] for i in range(len(sizes))]
    return CandidateLists(
        offsets,
        Dense(np.empty((len(ordered), 0))),
        labels=_labels(len(ordered), {key: [k] for k, key in enumerate(ordered)}, given, of_list, prior),
        list_ids=StringColumn.from_strings(
            [
                name if own else str(i + 1)
                for i, (name, own) in enumerate(zip(given.list_ids, named, strict=True))
            ]
        ),
        item_ids=None if given.by_text else StringColumn.from_strings([given.items[j] for _, j in ordered]),
        texts=StringColumn.from_strings(texts) if any(texts) else None,
        prompts=StringColumn.from_strings([given.prompts[i] for i in range(len(sizes))])
        if given.prompts
        else None,
        source=given.source,
    )
