"""Systems and judgements brought together on one set of lists, by the ids of lists and items.

If judgements come alone (qrels), or with a run, the lists are the union of what DATA and the systems
returned; otherwise they are those of DATA. An item that a system did not return has the score NaN.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from rerank.core.errors import ConfigError, DataError
from rerank.core.files.read import read_head, shown
from rerank.core.text import count
from rerank.core.types import Floats, Index, Mask
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.data.overlap import note
from rerank.data.pool import Places, Pool, pool_lists, widened
from rerank.metrics.base import Metric, parse_all
from rerank.metrics.judges import first_stage
from rerank.metrics.selecting import SelectingMetric

if TYPE_CHECKING:
    from rerank.formats.scores import Scored
    from rerank.formats.trec.qrels import Judgements

FIRST_BEST = "first-best"
# Scores that a system lacks of items of lists of which it has others, and what a note says of each policy.
# A list of which it has none is for ``missing_lists``, whatever the policy is: one value for all would choose
# the first item.
MISSING_SCORES = {
    "error": "",
    "nan": "not returned by this system",
    "zero": "taken as 0",
    "list-mean": "taken as the mean of the list's other scores",
}
NOTHING = b"(nothing returned)"  # the item of a list of which no system returned anything


class Systems(Struct, frozen=True, eq=False):
    """Systems of an evaluation.

    Attributes
    ----------
    lists : CandidateLists
        The judged lists.
    scores : mapping of str to float64 (n_items)
        By system, in the order of the caller's rows; NaN = not returned.
    missing_lists : str, optional
        How a judged list counts of which a system returned nothing; None if no list is affected.
    missing : str, optional
        What fills scores that a system lacks, one of MISSING_SCORES; None if nothing does.
    """

    lists: CandidateLists
    scores: Mapping[str, Floats]
    missing_lists: str | None = None
    missing: str | None = None

    def in_order(self, names: Iterable[str]) -> Systems:
        """Return the same with the systems ``names`` in that order, after any others."""
        last = list(names)
        first = [name for name in self.scores if name not in last]
        return replace(self, scores={name: self.scores[name] for name in [*first, *last]})


def read_judgements(path: str) -> Judgements:
    """Return the judgements of a file; raises DataError if it is a run."""
    from rerank.formats.trec import TRECRun
    from rerank.formats.trec.qrels import read_qrels

    if TRECRun.recognises(read_head(path)):
        raise DataError(f"{shown(path)}: is a run, expected judgements (qrels); is it swapped with DATA?")
    return read_qrels(path)


def _stand_in(judgements: Judgements, query: int) -> bytes:
    """Return the item of a list that no system returned: a document that is not relevant, or NOTHING."""
    start, stop = judgements.offsets[query : query + 2].tolist()
    bad = np.flatnonzero(judgements.labels[start:stop] <= 0)
    return judgements.documents.bytes_at(start + int(bad[0])) if len(bad) else NOTHING


class SystemPool(Struct, eq=False):
    """The parts of ``Systems`` before they are brought together.

    Attributes
    ----------
    base : CandidateLists, optional
        The lists of DATA; None if DATA is judgements alone.
    qrels : Judgements, optional
        Judgements that are not among the labels of ``base``.
    own : dict of str to float64 (n_items)
        Scores of the items of ``base``, in their order; NaN = none.
    by_id : dict of str to Scored
        Other scores.
    missing : str, optional
        One of MISSING_SCORES; None = nan.
    """

    base: CandidateLists | None
    qrels: Judgements | None
    own: dict[str, Floats] = field(default_factory=dict)
    by_id: dict[str, Scored] = field(default_factory=dict)
    missing: str | None = None

    def together(
        self,
        metrics: Sequence[str] | None = None,
        missing_lists: str | None = None,
        *,
        with_first_best: bool = False,
    ) -> Systems:
        """Return what is compared.

        Parameters
        ----------
        metrics : those that were asked for; None = the default ones.
        missing_lists : how a judged list counts of which a system returned nothing: "any" (0 if DATA
            or another system has some of it, otherwise it is left out; None is the same), "zero" (0 in any
            case, as with trec_eval -c), or "skip" (it is left out for all systems).
        with_first_best : whether the first stage is one of the systems.

        Raises
        ------
        ConfigError
            If a metric has no value for these systems, or ``missing_lists`` would not be used.
        DataError
            If ids do not fit, or a score is missing and that is an error.
        """
        if self.qrels is not None and self.missing is not None:
            why = f"documents that a run does not return have no rank by {self.qrels.source}"
            raise ConfigError(f"missing (--missing) is not used: {why}")
        if self.base is None and self.qrels is not None and not self.by_id:
            raise ConfigError(f"{self.qrels.source}: holds judgements alone; give the runs that they judge")
        lists, scores, held = self._joined(metrics, missing_lists == "zero")
        absent, missing = 0, None
        if self.qrels is None:
            scores, missing = _with_missing(lists, scores, held, self.missing or "nan")
        if self.qrels is not None:
            assert lists.list_ids is not None
            returned = np.bincount(_known(self.qrels.places_of(lists.list_ids)))
            absent = len(self.qrels.queries) - int(np.count_nonzero(returned))
            lists = self.qrels.on(lists)
            if with_first_best and len(self.by_id) + (self.base is not None) > 1:
                note(f"{self.qrels.source}: random and oracle order what all runs returned together")
        first = first_stage(lists) if with_first_best else None
        every = scores if first is None else {FIRST_BEST: first, **scores}
        partial = self.by_id or self.qrels is not None or any(np.isnan(v).any() for v in every.values())
        if missing_lists is not None and not partial:
            raise ConfigError(
                "missing_lists (--missing-lists) is for runs: here every system has scores of all items"
            )
        counted = _counted(lists, scores, every, missing_lists or "any", absent, _worth(lists, metrics))
        return replace(counted, missing=missing)

    def _joined(
        self, metrics: Sequence[str] | None, zero: bool
    ) -> tuple[CandidateLists, dict[str, Floats], Mask]:
        """The lists, scores in the order of their items, and whether an item is one of DATA."""
        base, qrels = self.base, self.qrels
        if base is not None and not self.by_id and not (zero and qrels is not None):
            return base, self.own, np.ones(base.n_items, dtype=bool)
        pool = Pool()
        of_base = None if base is None else pool.add(base)
        places: dict[str, Places] = {}
        for name, one in self.by_id.items():
            if base is not None and qrels is None:
                _check_overlap(name, one, base, pool, metrics)
            places[name] = pool.add(one.lists, new_lists=qrels is not None)
            if qrels is not None and not len(_known(qrels.places_of(_queries(one.lists)))):
                raise DataError(f"{name}: has no query in common with {qrels.source}")
        if qrels is not None:
            if self.by_id:
                _check_metrics(metrics, qrels)
            for number in range(len(qrels.queries)) if zero else ():
                query = qrels.queries.bytes_at(number)
                if query not in pool:
                    pool.add_item(query, _stand_in(qrels, number))
        offsets = pool.offsets()
        if base is None or of_base is None:
            lists = pool_lists(pool, " and ".join(self.by_id) if len(self.by_id) < 3 else "the runs")
        else:
            grown = offsets[-1] > base.n_items
            lists = widened(base, of_base, pool) if grown else base
        scores = {}
        for name, own in self.own.items():
            assert of_base is not None
            scores[name] = _spread(own, of_base, lists)
        scores |= {name: _spread(one.scores, places[name], lists) for name, one in self.by_id.items()}
        held = np.zeros(lists.n_items, dtype=bool)
        if of_base is not None:
            held[of_base.items(lists.offsets)] = True
        return lists, scores, held


def _with_missing(
    lists: CandidateLists, scores: dict[str, Floats], held: Mask, policy: str
) -> tuple[dict[str, Floats], str | None]:
    """Scores with those filled in that systems lack of items of DATA (``held``), reported for each system.

    The second value is the policy if it filled anything.

    Raises
    ------
    DataError
        If the policy is "error" and a score is missing.
    """
    from rerank.data.missing import list_means

    held = held & lists.judged_lists()[lists.list_index] if lists.labels is not None else held
    n_lists = int(np.count_nonzero(np.logical_or.reduceat(held, lists.offsets[:-1])))
    out, changed = {}, None
    for name, values in scores.items():
        gone = held & np.isnan(values)
        if policy == "error" and gone.any():
            where = lists.place_of(int(np.argmax(gone)))
            found = f"{np.count_nonzero(gone):,} of {np.count_nonzero(held):,} items, the first is {where}"
            hint = "--missing nan ranks them below the others, zero and list-mean fill them"
            raise DataError(f"{name}: no score for {found}; {hint}")
        gone &= _returned(lists, values)[lists.list_index]
        if gone.any():
            changed = None if policy == "nan" else policy
            where = f"in {len(np.unique(lists.list_index[gone]))} of {count(n_lists, 'judged list')}"
            note(f"{name}: no score for {count(int(gone.sum()), 'item')} {where}; {MISSING_SCORES[policy]}")
        if policy == "zero":
            values = np.where(gone, 0.0, values)
        elif policy == "list-mean":
            values = np.where(gone, list_means(values, np.isnan(values), lists.offsets, np.nan), values)
        out[name] = values
    return out, changed


def _worth(lists: CandidateLists, metrics: Sequence[str] | None) -> str:
    """Return the value of a list of which a system returned nothing, for a note."""
    names = metrics or (["AP"] if lists.labels is not None else ["BLEU"])
    negative = lists.labels is not None and bool((lists.labels < 0).any())
    counts: dict[str, list[str]] = {}
    for text, metric in parse_all(names).items():
        inner: Metric = getattr(metric, "inner", metric)
        what = inner.unreturned
        if negative and what == "0" and isinstance(inner, SelectingMetric):
            what = "0 or its lowest label below 0"  # as an unjudged item
        counts.setdefault(what, []).append(text)
    several = len(counts) > 1
    return "each counts " + ", ".join(
        f"{what} ({', '.join(of)})" if several else what for what, of in counts.items()
    )


def _spread(scores: Floats, places: Places, lists: CandidateLists) -> Floats:
    """Scores of a source by items of ``lists``, NaN for others; lists that the pool lacks are dropped."""
    at = places.items(lists.offsets)
    out = np.full(lists.n_items, np.nan)
    out[at[at >= 0]] = scores[at >= 0]
    return out


def _queries(lists: CandidateLists) -> StringColumn:
    return lists.list_ids or StringColumn.from_strings(map(lists.list_id, range(lists.n_lists)))


def _known(places: Index) -> Index:
    return places[places >= 0]


def _check_overlap(
    name: str, one: Scored, base: CandidateLists, pool: Pool, metrics: Sequence[str] | None
) -> None:
    """Warn if scores are of other lists or items than those of DATA; raise if no more can be meant."""
    found = pool.find(one.lists)
    source = base.source
    if (found.lists < 0).all():
        ids = f"its first list is {one.lists.list_id(0)!r}, that of {source} {base.list_id(0)!r}"
        raise DataError(f"{name}: has no list of {source}; {ids}")
    strange = int(np.count_nonzero((found.lists >= 0) & (found.numbers < 0)))
    if (found.numbers < 0).all():
        ids = f"its first item is {one.lists.place_of(0)}"
        raise DataError(f"{name}: has lists of {source}, but none of their items; {ids}")
    elsewhere = len(np.unique(one.lists.list_index[found.lists < 0]))
    if elsewhere:
        first = one.lists.list_id(int(one.lists.list_index[np.argmax(found.lists < 0)]))
        unknown = f"{count(elsewhere, 'list')} of {one.lists.n_lists} not in {source}, such as {first!r}"
        note(f"{name}: {unknown}; left out")
    if not strange:
        return
    at = int(np.argmax((found.lists >= 0) & (found.numbers < 0)))
    what = f"{count(strange, 'item')} of {one.lists.n_items} not in the lists of {source}"
    example = f"{what}, such as {one.lists.place_of(at)}"
    if base.item_ids is None:
        raise DataError(f"{name}: {example}, which has no ids of items: they are numbered from 1")
    if base.unretrieved is not None:
        hint = "give the judgements themselves (qrels)"
        raise DataError(f"{name}: {example}, where documents may be judged that are not in it; {hint}")
    of_items = [text for text, metric in parse_all(metrics or ["AP"]).items() if _of_items(metric)]
    if of_items or base.labels is None:
        needs = of_items[0] if of_items else "their lists"
        raise DataError(f"{name}: {example}; {needs} cannot judge them")
    note(f"{name}: {example}; they take ranks as unjudged ones, as in trec_eval")


def _of_items(metric: Metric) -> bool:
    """Return whether a metric cannot judge an item that DATA lacks, or its gain beside the others."""
    inner: Metric = getattr(metric, "inner", metric)
    by_id = inner.needs in (("labels",), ("subtopics",))
    return not by_id or (isinstance(inner, SelectingMetric) and inner.of_pool)


def _check_metrics(metrics: Sequence[str] | None, qrels: Judgements) -> None:
    """Raise ConfigError if a metric depends on what else is in the lists: they are made of the systems."""
    lowest = qrels.labels.min()
    for text, metric in parse_all(metrics or ["AP"]).items():
        if getattr(metric, "inner", metric).of_pool:
            why = "depends on all items of a list, and these are what the systems returned"
            raise ConfigError(f"{text}: {why}; ask for a measure of retrieval, such as AP or nDCG@10")
        if getattr(metric, "inner", metric).needs != ("labels",):
            raise ConfigError(f"{text}: needs more than labels, which is all that {qrels.source} holds")
        if lowest < 0 and not metric.uses_ties:
            why = (
                f"gives unjudged documents the lowest label of their list, and {qrels.source} has {lowest:g}"
            )
            raise ConfigError(f"{text}: {why}; ask for a measure of retrieval, such as AP or nDCG@10")


def _counted(
    lists: CandidateLists,
    scores: dict[str, Floats],
    every: dict[str, Floats],
    policy: str,
    absent: int,
    counts: str,
) -> Systems:
    """The systems on the lists that count.

    ``every`` are the scores of all that must return a list, ``absent`` the judged lists that are not here,
    ``counts`` what one counts that a system misses.
    """
    judged = np.ones(lists.n_lists, dtype=bool)
    if lists.labels is not None:
        judged = lists.judged_lists(unretrieved=True)
    missed = {name: judged & ~_returned(lists, values) for name, values in every.items()}
    missing = policy if absent or any(which.any() for which in missed.values()) else None
    n = int(np.count_nonzero(judged))
    if policy == "skip":
        kept = ~np.logical_or.reduce(list(missed.values()))
        if not (kept & judged).any():
            raise DataError(f"{lists.source}: no judged list of which every system returned something")
        if not kept.all():
            left = int(np.count_nonzero(~kept))
            names = ", ".join(name for name, which in missed.items() if which.any())
            note(f"{lists.source}: {left} of {n} judged lists left out, of which {names} returned nothing")
            items = kept[lists.list_index]
            lists, scores = (
                lists.subset(np.flatnonzero(kept)),
                {name: values[items] for name, values in scores.items()},
            )
    else:
        for name, which in missed.items():
            if which.any():
                found = int(np.count_nonzero(which))
                note(f"{name}: returned nothing of {found} of {n} judged lists; {counts}")
    return Systems(lists, {name: lists.input_order(values) for name, values in scores.items()}, missing)


def _returned(lists: CandidateLists, scores: Floats) -> Mask:
    """Return whether scores (n_items) return something of each list: bool (n_lists)."""
    found: Mask = np.logical_or.reduceat(~np.isnan(scores), lists.offsets[:-1])
    return found
