"""The contents of a set of lists and its oddities, as ``rerank validate`` reports them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rerank.core.errors import cut
from rerank.core.tables.display import Display
from rerank.core.tables.sheet import Sheet, facts_sheet
from rerank.core.tables.text import facts
from rerank.core.text import count, some
from rerank.core.types import Floats
from rerank.data.classes import ClassLabels
from rerank.data.columns.class_sets import plain_answer
from rerank.data.columns.forests import Forest
from rerank.data.columns.strings import StringColumn
from rerank.data.labels import label_copies
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense
from rerank.data.reading import Reading
from rerank.data.unjudged import has_negative, has_order, unjudged_items
from rerank.formats.sources import Data, read_judged
from rerank.report.structures import structure_facts

_MOST_NAMES = 6
_MOST_CLASSES = 10
_LONGEST_NAME = 40
_BLOCK = 1 << 20  # values compared at a time


@dataclass(repr=False)
class Contents(Display):
    """Facts as (name, text), oddities worth knowing, and faults that break other tools."""

    facts: list[tuple[str, str]]
    oddities: list[str]
    faults: list[str]

    def lines(self) -> list[str]:
        """Return aligned text."""
        return facts(self._rows())

    def sheet(self) -> Sheet:
        """Return the same as a table."""
        return facts_sheet(self._rows())

    def as_json(self) -> dict[str, Any]:
        """Return the same as plain values."""
        return {"facts": dict(self.facts), "odd": self.oddities, "faults": self.faults}

    def _rows(self) -> list[tuple[str, str]]:
        odd = [("odd", text) for text in self.oddities]
        return [*self.facts, *odd, *(("fault", text) for text in self.faults)]


def describe(lists: CandidateLists) -> Contents:
    """Return counts of lists, items, features and labels, and the oddities of each column."""
    sizes = lists.lengths
    of_classes = lists.labels is None and lists.classes is not None
    facts = [
        ("lists", f"{lists.n_lists}, of {sizes.min()} to {sizes.max()} items, median {np.median(sizes):g}"),
        ("items", str(lists.n_items)),
        ("features", _features(lists)),
        ("classes", _classes(lists)) if of_classes else ("labels", _labels(lists)),
        ("ids", _ids(lists)),
    ]
    if lists.trees is not None:
        gold = "no gold" if lists.gold is None else count(len(lists.gold), "gold tree")
        facts.append(("trees", f"{_trees(lists.trees)}; {gold}"))
    elif lists.texts is not None:
        facts.append(("texts", _texts(lists)))
    if lists.answers is not None:
        facts.append(("answers", _answers(lists.answers, lists)))
    facts += structure_facts(lists)
    facts += [(f"{name} trees", _trees(trees)) for name, trees in lists.structures.items()]
    if lists.base_scores is not None:
        facts.append(("scores", _scores(lists.base_scores)))
    found = [_scattered(lists), *_odd_texts(lists)]
    if not of_classes:  # lists of examples are of one item
        found[1:1] = [*_judgements(lists), _constant(lists), _twins(lists)]
    copies = [f"feature {name!r} is the label, perhaps scaled" for name in label_copies(lists)]
    oddities = [text for text in (*found, *copies) if text]
    return Contents(facts, oddities, doubled_ids(lists))


def _features(lists: CandidateLists) -> str:
    features = lists.features
    text = f"{features.n_features}, {features.describe()}"
    if lists.feature_names is not None:
        text += ", named" + feature_names(lists, _MOST_NAMES)
    if lists.has_missing:
        text += ", some missing (NaN)"
    return text


def feature_names(lists: CandidateLists, most: int) -> str:
    """Return the first names of features in brackets, empty if the set has none."""
    names = lists.feature_names or ()
    return f" ({some([cut(name, _LONGEST_NAME) for name in names[: most + 1]], most)})" if len(names) else ""


def _labels(lists: CandidateLists) -> str:
    if lists.unretrieved is None:
        return _label_values(lists)
    missed = int(np.count_nonzero(lists.unretrieved.values > 0))
    return f"{_label_values(lists)}; {count(missed, 'relevant item')} more in no list"


def _classes(lists: CandidateLists) -> str:
    labels = ClassLabels.of(lists)
    counts = np.bincount(labels.codes, minlength=len(labels.names)).tolist()
    pairs = [f"{cut(name, _LONGEST_NAME)} × {n}" for name, n in zip(labels.names, counts, strict=True)]
    text = f"{len(pairs)}: {some(pairs, _MOST_CLASSES)}; {labels.lengths.mean():.3g} per example"
    without = int(np.count_nonzero(labels.lengths == 0))
    return f"{text}; {count(without, 'example')} without one" if without else text


def _label_values(lists: CandidateLists) -> str:
    if lists.labels is None:
        return "none"
    judged = lists.labels[~np.isnan(lists.labels)]
    values, counts = np.unique(judged, return_counts=True)
    if len(values) == 0:
        return "none judged"
    if len(values) <= 10:
        return ", ".join(f"{value:g} × {count}" for value, count in zip(values, counts, strict=True))
    return f"{len(values)} values from {values[0]:g} to {values[-1]:g}, mean {judged.mean():.4g}"


def _ids(lists: CandidateLists) -> str:
    have = [
        name for name, column in (("list", lists.list_ids), ("item", lists.item_ids)) if column is not None
    ]
    return " and ".join(have) if have else "none"


def _texts(lists: CandidateLists) -> str:
    assert lists.texts is not None
    distinct = int(np.count_nonzero(~lists.texts.repeated(lists.offsets)))
    words = sum(len(text.split()) for text in lists.texts) / lists.n_items
    text = f"{lists.n_items}, {distinct} distinct within their lists, {words:.1f} words on average"
    return f"{text}; {count(len(lists.references), 'reference')}" if lists.references else text


def _answers(answers: StringColumn, lists: CandidateLists) -> str:
    plain = StringColumn.from_strings(map(plain_answer, answers))
    given = plain.lengths() > 0
    distinct = int(np.count_nonzero(given & ~plain.repeated(lists.offsets)))
    return f"{int(given.sum())}, {distinct / lists.n_lists:.1f} different ones in a list on average"


def _trees(trees: Forest) -> str:
    missing = int(np.count_nonzero(trees.lengths() == 0))
    words = trees.words()[0][-1] / max(len(trees) - missing, 1)
    text = f"{len(trees)}, {words:.1f} words on average"
    return text + (f", {missing} missing" if missing else "")


def _odd_texts(lists: CandidateLists) -> list[str | None]:
    """Texts that are empty or repeated in their list."""
    if lists.texts is None:
        return []
    empty = int((lists.texts.lengths() == 0).sum()) if lists.trees is None else 0
    doubled = int(np.count_nonzero(lists.texts.repeated(lists.offsets)))
    return [
        f"{count(empty, 'empty text')}" if empty else None,
        f"{count(doubled, 'duplicate text')} within a list (--distinct drops them)" if doubled else None,
    ]


def _scattered(lists: CandidateLists) -> str | None:
    if lists.rows is None:
        return None
    return "the lines of some lists are not contiguous; they were grouped, scores keep the order of the lines"


def _scores(scores: Floats) -> str:
    """The range of the first stage's scores, and how many items have none."""
    missing = int(np.isnan(scores).sum())
    if missing == len(scores):
        return "none"
    text = f"{np.nanmin(scores):.6g} to {np.nanmax(scores):.6g}"
    return f"{text}; {count(missing, 'item')} without one" if missing else text


def _judgements(lists: CandidateLists) -> list[str | None]:
    """Lists and items that are useless for training or tests."""
    single = int((lists.lengths == 1).sum())
    out = [f"{count(single, 'list')} of one item" if single else None]
    if lists.labels is None:
        return out
    begin = lists.offsets[:-1]
    unjudged = int(np.isnan(lists.labels).sum())
    top = np.fmax.reduceat(lists.labels, begin)
    low = np.fmin.reduceat(lists.labels, begin)
    none = int(np.isnan(top).sum())
    tied = int((top == low).sum())
    irrelevant = int((top <= 0).sum())
    negative = int((lists.labels < 0).sum())
    alone = bool(unjudged_items(lists).any()) and not has_negative(lists) and not has_order(lists)
    return [
        *out,
        f"{count(unjudged, 'unjudged item')}, {count(none, 'list')} with no judged item"
        if unjudged
        else None,
        "only relevant items are judged: train with --unjudged negative" if alone else None,
        f"{count(tied, 'list')} whose labels are all equal: no pair to learn from" if tied else None,
        f"{count(irrelevant, 'list')} without a relevant item (label above 0)" if irrelevant else None,
        f"{count(negative, 'label')} below 0" if negative else None,
    ]


def _constant(lists: CandidateLists) -> str | None:
    """Features that never differ within a list cannot change a ranking."""
    idle = 0
    begin = lists.offsets[:-1]
    if isinstance(lists.features, Dense):
        width = max(_BLOCK // max(lists.n_items, 1), 1)
        for first in range(0, lists.n_features, width):
            block = lists.features.values[:, first : first + width]
            equal = np.fmax.reduceat(block, begin) == np.fmin.reduceat(block, begin)
            idle += int(equal.all(axis=0).sum())
        if idle:
            return f"{count(idle, 'feature that never differs', 'features that never differ')} within a list"
        return None
    unused = lists.n_features - len(lists.features.occurring())
    return f"{count(unused, 'feature that never occurs', 'features that never occur')}" if unused else None


def _twins(lists: CandidateLists) -> str | None:
    """Items of one list with the same features, found by two random projections."""
    if lists.has_missing or lists.n_features == 0:
        return None
    rng = np.random.default_rng(0)
    first, second = (lists.features.scores(rng.standard_normal(lists.n_features)) for _ in range(2))
    index = lists.list_index
    order = np.lexsort((second, first, index))
    same = (np.diff(index[order]) == 0) & (np.diff(first[order]) == 0) & (np.diff(second[order]) == 0)
    n = int(same.sum())
    if n == 0:
        return None
    text = f"{count(n, 'item has', 'items have')} the same features as another of the list"
    if lists.labels is not None:
        differ = same & (np.diff(lists.labels[order]) != 0) & ~np.isnan(np.diff(lists.labels[order]))
        text += f", {int(differ.sum())} of them another label" if differ.any() else ""
    return text


def doubled_ids(lists: CandidateLists) -> list[str]:
    """One line with the first repeated item id, if there is one."""
    if lists.item_ids is None:
        return []
    again = lists.item_ids.repeated(lists.offsets) & (lists.item_ids.lengths() > 0)
    doubled = int(np.count_nonzero(again))
    if not doubled:
        return []
    item = int(np.argmax(again))
    list_number = int(np.searchsorted(lists.offsets, item, side="right")) - 1
    first = f"{lists.item_ids[item]!r} in list {lists.list_id(list_number)}"
    return [f"{count(doubled, 'duplicate item id')} within a list, the first {first}"]


def validate(data: Data, *, reading: Reading | None = None) -> Contents:
    """Return what lists hold: counts, labels, oddities, and faults that break other tools.

    Parameters
    ----------
    data : CandidateLists, a file or a data frame.
    reading : how a file is read.

    Returns
    -------
    Contents
        With ``facts``, ``oddities`` and ``faults``.

    Raises
    ------
    RerankError
        If a file or a frame holds no lists; FormatError with the line if the file does not follow its format.

    Examples
    --------
    >>> import rerank
    >>> rerank.validate(rerank.CandidateLists.from_arrays([[1.0], [2.0]], [0, 1], group=[2]))
    lists     1, of 2 to 2 items, median 2
    items     2
    features  1, dense float64
    labels    0 × 1, 1 × 1
    ids       none
    """
    return describe(read_judged(data, reading))
