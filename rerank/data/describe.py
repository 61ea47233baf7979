"""Candidate lists in words and as a table: their contents and warnings, their first items.

CandidateLists describe themselves by these functions, which therefore cannot import them.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import numpy as np
from msgspec import Struct

from rerank.core.errors import DataError, cut
from rerank.core.tables.display import Display
from rerank.core.tables.table import Table, facts_table, table_of
from rerank.core.tables.text import facts
from rerank.core.text import count, some
from rerank.core.types import Floats, Index
from rerank.data.columns.class_sets import class_sets, coder, ordered_names, plain_answer
from rerank.data.columns.forests import Forest
from rerank.data.columns.strings import StringColumn
from rerank.data.columns.traces import Traces, chain_codes
from rerank.data.matrix import Dense

_LOG_PROBABILITY = re.compile(r"(?<![A-Za-z])log_?p(rob)?", re.IGNORECASE)
_ABOVE_ZERO = 1e-3  # more than rounding
_MOST_NAMES = 6
_MOST_CLASSES = 10
_LONGEST_NAME = 40
_MOST_ITEMS = 10  # of lists in a notebook
_MOST_FEATURES = 8
_SAMPLE = 256
_BLOCK = 1 << 20  # values compared at a time


class Contents(Display, Struct):
    """Facts as (name, text), warnings, and faults that break other tools."""

    facts: list[tuple[str, str]]
    warnings: list[str]
    faults: list[str]

    def lines(self) -> list[str]:
        """Return aligned text."""
        return facts(self._rows())

    def tables(self) -> list[Table]:
        """Return the same as a table."""
        return [facts_table(self._rows())]

    def frame_columns(self) -> dict[str, list[str]]:
        """Return names of facts and texts."""
        names, texts = zip(*self._rows(), strict=True)
        return {"fact": list(names), "text": list(texts)}

    def as_json(self) -> dict[str, Any]:
        """Return the same as plain values."""
        return {"facts": dict(self.facts), "warnings": self.warnings, "faults": self.faults}

    def _rows(self) -> list[tuple[str, str]]:
        warnings = [("warning", text) for text in self.warnings]
        return [*self.facts, *warnings, *(("fault", text) for text in self.faults)]


def describe(lists: Any) -> Contents:
    """Return counts of lists, items, features and labels, and warnings about each column."""
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
    facts += _structures(lists)
    facts += [(f"{name} trees", _trees(trees)) for name, trees in lists.structures.items()]
    if lists.base_scores is not None:
        facts.append(("scores", _scores(lists.base_scores)))
    grouped = "the lines of some lists are not contiguous; they were grouped, scores keep their order"
    found = [None if lists.rows is None else grouped, *_odd_texts(lists)]
    for name in filter(_LOG_PROBABILITY.search, lists.feature_names or ()):
        above = int(np.count_nonzero(lists.features.column(lists.column_of(name)) > _ABOVE_ZERO))
        if above and "neg" not in name.lower():
            what = f"{above} of {lists.n_items} values of {cut(name, _LONGEST_NAME)!r}"
            found.append(f"{what} are positive; if smaller is better, negate the column")
    if not of_classes:  # lists of examples are of one item
        found[1:1] = [*_judgements(lists), _constant(lists), _twins(lists)]
    copies = [f"feature {name!r} is the label, perhaps scaled" for name in label_copies(lists)]
    warnings = [text for text in (*found, *copies) if text]
    return Contents(facts, warnings, doubled_ids(lists))


def _features(lists: Any) -> str:
    features = lists.features
    text = f"{features.n_features}, {features.describe()}"
    if lists.feature_names is not None:
        text += ", named" + feature_names(lists, _MOST_NAMES)
    if lists.has_missing:
        text += ", some missing (NaN)"
    return text


def feature_names(lists: Any, most: int) -> str:
    """Return the first names of features in brackets, empty if the set has none."""
    names = lists.feature_names or ()
    return f" ({some([cut(name, _LONGEST_NAME) for name in names[: most + 1]], most)})" if len(names) else ""


def _labels(lists: Any) -> str:
    if lists.unretrieved is None:
        return _label_values(lists)
    missed = int(np.count_nonzero(lists.unretrieved.values > 0))
    return f"{_label_values(lists)}; {count(missed, 'relevant item')} more in no list"


def _classes(lists: Any) -> str:
    sets, index = class_sets(lists.classes, lambda at, found: DataError(f"{lists.source}: found {found}"))
    lengths = np.array([len(some) for some in sets])[index]
    names = ordered_names(name for some in sets for name in some)
    codes = [[coder(names)(name) for name in some] for some in sets]
    counts = Counter(code for k in index.tolist() for code in codes[k])
    pairs = [f"{cut(name, _LONGEST_NAME)} × {counts[i]}" for i, name in enumerate(names)]
    text = f"{len(pairs)}: {some(pairs, _MOST_CLASSES)}; {lengths.mean():.3g} per example"
    without = int(np.count_nonzero(lengths == 0))
    return f"{text}; {count(without, 'example')} without one" if without else text


def _label_values(lists: Any) -> str:
    if lists.labels is None:
        return "none"
    judged = lists.labels[~np.isnan(lists.labels)]
    values, counts = np.unique(judged, return_counts=True)
    if len(values) == 0:
        return "none judged"
    if len(values) <= 10:
        return ", ".join(f"{value:g} × {count}" for value, count in zip(values, counts, strict=True))
    return f"{len(values)} values from {values[0]:g} to {values[-1]:g}, mean {judged.mean():.4g}"


def _ids(lists: Any) -> str:
    have = [
        name for name, column in (("list", lists.list_ids), ("item", lists.item_ids)) if column is not None
    ]
    return " and ".join(have) if have else "none"


def _texts(lists: Any) -> str:
    assert lists.texts is not None
    distinct = int(np.count_nonzero(~lists.texts.repeated(lists.offsets)))
    words = sum(len(text.split()) for text in lists.texts) / lists.n_items
    text = f"{lists.n_items}, {distinct} distinct within their lists, {words:.1f} words on average"
    return f"{text}; {count(len(lists.references), 'reference')}" if lists.references else text


def _answers(answers: StringColumn, lists: Any) -> str:
    plain = StringColumn.from_strings(map(plain_answer, answers))
    given = plain.lengths() > 0
    distinct = int(np.count_nonzero(given & ~plain.repeated(lists.offsets)))
    return f"{int(given.sum())}, {distinct / lists.n_lists:.1f} different ones in a list on average"


def _trees(trees: Forest) -> str:
    missing = int(np.count_nonzero(trees.lengths() == 0))
    words = trees.words()[0][-1] / max(len(trees) - missing, 1)
    text = f"{len(trees)}, {words:.1f} words on average"
    return text + (f", {missing} missing" if missing else "")


def _odd_texts(lists: Any) -> list[str | None]:
    """Texts that are empty or repeated in their list."""
    if lists.texts is None:
        return []
    empty = int((lists.texts.lengths() == 0).sum()) if lists.trees is None else 0
    doubled = int(np.count_nonzero(lists.texts.repeated(lists.offsets)))
    return [
        f"{count(empty, 'empty text')}" if empty else None,
        f"{count(doubled, 'duplicate text')} within a list (--distinct drops them)" if doubled else None,
    ]


def _scores(scores: Floats) -> str:
    """The range of the first stage's scores, and how many items have none."""
    missing = int(np.isnan(scores).sum())
    if missing == len(scores):
        return "none"
    text = f"{np.nanmin(scores):.6g} to {np.nanmax(scores):.6g}"
    return f"{text}; {count(missing, 'item')} without one" if missing else text


def _judgements(lists: Any) -> list[str | None]:
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
    partly = np.isnan(lists.labels) & ~np.isnan(np.repeat(top, lists.lengths))
    alone = bool(partly.any()) and not np.any(lists.labels <= 0) and not np.any(top > low)
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


def _constant(lists: Any) -> str | None:
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


def _twins(lists: Any) -> str | None:
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


def doubled_ids(lists: Any) -> list[str]:
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


def label_copies(lists: Any) -> list[str]:
    """Return the names of features that are the label, perhaps scaled: a model of them learns nothing else.

    Labels of one value, or of fewer than ten judged items, have none.
    """
    if lists.labels is None:
        return []
    judged = np.flatnonzero(~np.isnan(lists.labels))
    labels = lists.labels[judged]
    if len(judged) < 10 or labels.min() == labels.max():
        return []
    ends = judged[[int(np.argmin(labels)), int(np.argmax(labels))]]
    share = (lists.labels - labels.min()) / (labels.max() - labels.min())
    low, high = lists.features.take(ends).to_dense().astype(np.float64)
    step = high - low

    def fits(column: Floats, items: Index, j: int) -> bool:
        line = low[j] + step[j] * share[items]
        return bool(np.allclose(column, line, rtol=1e-9, atol=1e-9 * abs(step[j])))

    some = np.array(sorted({*ends.tolist(), *judged[:: max(len(judged) // _SAMPLE, 1)].tolist()}))
    sample = lists.features.take(some)
    suspects = np.flatnonzero(np.isfinite(step) & (step != 0)).tolist()
    suspects = [j for j in suspects if fits(sample.column(j), some, j)]
    names = lists.names()
    return [names[j] for j in suspects if fits(lists.features.column(j)[judged], judged, j)]


def _structures(lists: Any) -> list[tuple[str, str]]:
    """Facts about models, natives, and how much of the natives the models cover."""
    facts = []
    if lists.traces is not None:
        facts.append(("models", _sizes(lists.traces)))
    if lists.natives is not None:
        facts.append(("natives", _sizes(lists.natives)))
    if lists.traces is not None and lists.natives is not None:
        shares = coverage(lists)
        known = ~np.isnan(shares)
        shares, lengths = shares[known], lists.natives.lengths[lists.list_index[known]]
        if len(shares):
            low, middle, high = (f"{value:g}" for value in _spread(np.round(shares * lengths)))
            facts.append(("matched", f"{low} to {high} residues of model and native, median {middle}"))
            low, middle, high = (f"{100 * value:.4g}" for value in _spread(shares))
            full = f"{int((shares == 1).sum())} of {count(len(shares), 'model')} complete"
            facts.append(("coverage", f"{low} to {high}% of the native, median {middle}%; {full}"))
    return facts


def coverage(lists: Any) -> Floats:
    """Return the share of its native's residues that each model has, float64 (n_items).

    NaN if there is no native or no model. Both columns must be there.
    """
    models, natives = lists.traces, lists.natives
    assert models is not None
    assert natives is not None
    out = np.full(lists.n_items, np.nan)
    for i in range(lists.n_lists):
        keys = natives.keys[natives.of(i)]
        for item in range(*lists.offsets[i : i + 2].tolist()):
            own = models.keys[models.of(item)]
            if len(keys) and len(own):
                out[item] = len(np.intersect1d(own, keys, assume_unique=True)) / len(keys)
    return out


def _sizes(traces: Traces) -> str:
    """Residues and chains of structures, and how many are empty."""
    there = np.flatnonzero(traces.lengths > 0)
    missing = len(traces) - len(there)
    text = f"{len(there)}"
    if len(there):
        low, middle, high = (f"{value:g}" for value in _spread(traces.lengths[there].astype(np.float64)))
        chains = [len(np.unique(chain_codes(traces.keys[traces.of(i)]))) for i in there.tolist()]
        least, most = min(chains), max(chains)
        of_chains = count(most, "chain") if least == most else f"{least} to {most} chains"
        text += f", {low} to {high} residues, median {middle}, {of_chains}"
    return text + (f"; {missing} missing" if missing else "")


def _spread(values: Floats) -> tuple[float, float, float]:
    return float(values.min()), float(np.median(values)), float(values.max())


def first_items(lists: Any) -> Table:
    """Return the first items, with their first features, as a table."""
    rows: list[dict[str, Any]] = []
    left = max(0, lists.n_features - _MOST_FEATURES)
    for one in lists:
        for item in one[: _MOST_ITEMS - len(rows)]:
            record: dict[str, Any] = {"list": item.list_id, "id": item.id}
            record |= {} if item.text is None else {"text": item.text}
            record |= {} if item.classes is None else {"classes": item.classes}
            if lists.labels is not None:
                record |= {"label": item.label}
            names = [name for name in lists.names()[:_MOST_FEATURES] if name not in record]
            rows.append(record | {name: item.features.get(name, 0.0) for name in names})
        if len(rows) >= _MOST_ITEMS:
            break
    notes = [f"{count(lists.n_lists, 'list')}, {count(lists.n_items, 'item')}"]
    notes += [f"{count(left, 'more feature')}"] * bool(left)
    return table_of(rows, notes=notes)
