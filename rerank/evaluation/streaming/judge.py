"""``rerank eval`` block by block: memory holds a block of lists, and what is kept of each list.

Of each list that is its id, and its statistics by each metric under each system, under the first stage, under
a random order and under the best one. The numbers are those of the whole set: they are sums of the same rows.
Metrics whose bounds depend on all lists together (BLEU's best choice), and what only the whole set shows
(which file of scores by ids has which items), need the whole set.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from rerank.core import progress
from rerank.core.errors import NeedsWholeError
from rerank.core.files.read import is_pipe, shown
from rerank.core.types import Floats, Index, Mask
from rerank.data.columns.offsets import offsets_of
from rerank.data.columns.strings import StringColumn
from rerank.data.describe import doubled_ids
from rerank.data.first_best import first_largest
from rerank.data.joining import joined_column
from rerank.data.judge import corpus_value
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense
from rerank.data.reading import Reading
from rerank.evaluation.align_systems import FIRST_BEST as SPELLED
from rerank.evaluation.align_systems import SystemPool
from rerank.evaluation.judged import Judged, judge
from rerank.evaluation.notes import note_evaluation
from rerank.evaluation.results import WHOLE, Known, Part, Run, switched_lists
from rerank.evaluation.streaming.rankings import Rankings, rankings_of
from rerank.evaluation.systems import add_files, feature_of, read_with_all_scores
from rerank.formats.base import FORMATS, format_of
from rerank.formats.rewriting import kept_notes
from rerank.formats.scores import ScoreFile, holds_judgements, holds_numbers
from rerank.formats.streaming import blocks_of
from rerank.formats.streaming.references import with_references
from rerank.metrics.base import parse_all, prepared_by
from rerank.metrics.edit import RateJudge
from rerank.metrics.judges import ReportJudge, statistics
from rerank.metrics.judging import Judging
from rerank.metrics.ranking import RankingJudge
from rerank.metrics.selecting import MeanJudge, RatioJudge

Default = Callable[[CandidateLists], Sequence[str]]
_NONE = np.empty(0)
_FIRST, _RANDOM, _ORACLE = "\0first", "\0random", "\0oracle"  # rankings beside those of systems


def judged_in_blocks(
    path: str, systems: Sequence[str], judging: Judging, reading: Reading, default: Default, **settings: Any
) -> Judged | None:
    """Judge systems on the lists of DATA, which are read block by block; within ``inputs_opened_once``.

    Parameters
    ----------
    path : str
        DATA; "-" is standard input.
    systems : sequence of str
        Score files with a number per item line, and features of DATA.
    judging : Judging
        A baseline is one of the systems, or "first-best".
    reading : Reading
    default : callable
        Returns the metrics of lists if ``judging`` names none.
    settings
        Of ``judge``.

    Returns
    -------
    Judged or None
        What judging the whole set gives, but without its items; None if it must be read as a whole.

    Raises
    ------
    RerankError
        As for the whole set; also if only that shows what is asked for, and DATA is a pipe.
    """
    if reading.missing is not None or not (is_pipe(path) or os.path.exists(path)):
        return None
    if judging.missing_lists is not None or (reading.format is None and holds_judgements(path)):
        return None
    features = [name for name in systems if feature_of(path, name)]
    files = [name for name in systems if name not in features]
    if f"{path}:{SPELLED}" in features or f":{SPELLED}" in features:
        return None  # its scores are places among all items
    if any(is_pipe(name) or not os.path.isfile(name) or not holds_numbers(name) for name in files):
        return None
    with kept_notes() as notes:
        format = reading.format or format_of(path)
        reading = reading.with_settings(format=format)
        if FORMATS.get(format).of_runs or (is_pipe(path) and not _needs_no_whole(judging, format, default)):
            return None
        refs = () if FORMATS.get(format).reads_references else reading.refs
        bare = reading.with_settings(refs=()) if refs else reading
        blocks = blocks_of(path, format, bare)
        if blocks is None:
            notes.clear()
            return None
        kept = _Kept(path, features, files, judging, bare, default)
        try:
            with progress.step(f"judging lists of {shown(path)}", None, "list") as advance:
                some = blocks.lists(lambda: read_with_all_scores(path, bare))
                for lists in with_references(some, refs) if refs else some:
                    kept.add(lists)
                    advance(lists.n_lists)
            return kept.judged(systems, **settings)
        except NeedsWholeError:
            if not blocks.can_be_read_again():
                raise
            notes.clear()
            return None


def _needs_no_whole(judging: Judging, format: str, default: Default) -> bool:
    """Return whether all metrics are means of values of lists by their labels, whatever the lists are."""
    labels = np.array([0.0, 1.0])
    lists = CandidateLists(offsets_of([2]), Dense(np.empty((2, 0)), missing=False), labels=labels)
    metrics = judging.metrics or (default(lists) if format == "svmlight" else ())
    found = parse_all(metrics).values() if metrics else []
    return bool(found) and all(
        metric.needs == ("labels",) and metric.list_by_list and _bounds(metric.prepare(lists)) is not None
        for metric in found
    )


def _bounds(judge: ReportJudge) -> tuple[Floats, Floats] | None:
    """The statistics of each list whose sums give the values of a random order and of the best one.

    None if these depend on all lists together.
    """
    if isinstance(judge, RankingJudge):
        kind = type(judge)
        own = kind.random is RankingJudge.random and kind.oracle is RankingJudge.oracle
        return (judge.of(judge.stage.random), judge.of(judge.stage.oracle)) if own else None
    if not isinstance(judge, MeanJudge | RateJudge) or type(judge).random_of is not RatioJudge.random_of:
        return None
    rows, offsets = judge.per_item, judge.stage.lists.offsets
    below, starts = np.ascontiguousarray(rows[:, 1]), offsets[:-1]
    if not np.array_equal(np.maximum.reduceat(below, starts), np.minimum.reduceat(below, starts)):
        return None  # the best ratio of sums
    sums = np.add.reduceat(rows, starts, dtype=np.float64)
    best = first_largest(judge.better * rows[:, 0].astype(np.float64), offsets)
    return sums / np.diff(offsets)[:, None], judge.of(best)


class _KeptJudge(ReportJudge):
    """A metric of lists that are gone; a ranking is the name that its statistics were kept by."""

    def __init__(self, last: ReportJudge, judged: Mask, rows: Mapping[str, Floats]) -> None:
        super().__init__(last.name, last.signature, None)
        self.better, self.digits, self.judged = last.better, last.digits, judged
        self._last, self._rows = last, rows  # the judge of the last block knows the formula

    def of(self, placed: str) -> Floats:
        return self._rows[placed]

    def random(self) -> float:
        return corpus_value(self, self.of(_RANDOM))

    def oracle(self) -> float:
        return corpus_value(self, self.of(_ORACLE))

    def first_best(self) -> Floats | None:
        return self._rows.get(_FIRST)

    def score_from_sums(self, sums: Floats) -> Floats | float:
        return self._last.score_from_sums(sums)


class _Kept:
    """Values and ids of the lists so far."""

    def __init__(
        self,
        path: str,
        features: Sequence[str],
        files: Sequence[str],
        judging: Judging,
        reading: Reading,
        default: Default,
    ) -> None:
        self.path, self.features, self.judging, self.reading = path, features, judging, reading
        self.default = default
        self.files = {name: ScoreFile(name) for name in files}
        self.source = ""
        self.lengths: list[Index] = []
        self.ids: list[StringColumn | None] = []
        self.labels = np.empty(0)  # the largest ones
        self.judges: Mapping[str, ReportJudge] = {}
        self.judges_judged: list[list[Mask]] = []
        self.rows: dict[str, list[list[Floats]]] = {}  # by ranking: of each metric, those of each block
        self.switched: dict[str, list[int | None]] = {}
        self.rankings: Mapping[str, Rankings] | None = None

    def add(self, lists: CandidateLists) -> None:
        """Add a block of lists."""
        scores, first_block = self._scores(lists), not self.lengths
        self.source = lists.source
        self.lengths.append(lists.lengths)
        self.ids.append(lists.list_ids)
        if scores is None:
            return
        if not self.judging.metrics:
            self.judging = self.judging.with_settings(metrics=self.default(lists))
        judges = prepared_by(self.judging, lists)
        self._check(lists, judges, scores)
        for name, values in scores.items():
            self._keep(name, statistics(list(judges.values()), values))
            now = [switched_lists(judge, values) for judge in judges.values()]
            before = self.switched.setdefault(name, [0] * len(now))
            self.switched[name] = [
                None if a is None or b is None else a + b for a, b in zip(before, now, strict=True)
            ]
        first = [judge.first_best() for judge in judges.values()]
        found = [one for one in first if one is not None]
        bounds = [pair for pair in map(_bounds, judges.values()) if pair is not None]
        if len(bounds) < len(judges) or 0 < len(found) < len(first):
            raise self._needs_whole(lists, "a metric whose bounds depend on all lists together")
        if not first_block and bool(found) is not (_FIRST in self.rows):
            raise self._needs_whole(lists, "lists with and without an order of their own")
        if found:
            self._keep(_FIRST, found)
        for k, name in enumerate((_RANDOM, _ORACLE)):
            self._keep(name, [pair[k] for pair in bounds])
        self.judges_judged.append([judge.judged for judge in judges.values()])
        self.rankings = rankings_of(lists, scores, list(judges), self.rankings)
        if lists.labels is not None:
            self.labels = np.unique(np.concatenate([self.labels, lists.labels]))[-3:]  # and NaN
        self.judges = judges

    def _scores(self, lists: CandidateLists) -> dict[str, Floats] | None:
        """The scores of systems; None if a file has too few, which is an error at its end."""
        pool = SystemPool(lists, None)
        add_files(pool, self.path, self.features, self.reading)
        found = pool.own | {name: file.take(lists.n_items) for name, file in self.files.items()}
        return None if any(len(values) < lists.n_items for values in found.values()) else found

    def _check(
        self, lists: CandidateLists, judges: Mapping[str, ReportJudge], scores: Mapping[str, Floats]
    ) -> None:
        """Raise NeedsWholeError for what only the whole set shows."""
        metrics = parse_all(self.judging.metrics)
        together = next((name for name, metric in metrics.items() if not metric.list_by_list), None)
        if together is not None:
            raise self._needs_whole(lists, f"{together}, which depends on all lists together")
        if lists.rows is not None or lists.run_scores is not None or lists.unretrieved is not None:
            raise self._needs_whole(lists, "a run, or lists that are apart")
        if any(np.isnan(values).any() for values in scores.values()):
            raise self._needs_whole(lists, "items without a score")
        if doubled_ids(lists):
            raise self._needs_whole(lists, "an id of two items")
        before = [judge.signature for judge in self.judges.values()]
        if before and before != [judge.signature for judge in judges.values()]:
            raise self._needs_whole(lists, "other metrics than for the lists before")

    def _needs_whole(self, lists: CandidateLists, found: str) -> NeedsWholeError:
        return NeedsWholeError(lists.source, None, found, "what one list shows; a file is read as a whole")

    def _keep(self, name: str, rows: Sequence[Floats]) -> None:
        kept = self.rows.setdefault(name, [[] for _ in rows])
        for of_metric, one in zip(kept, rows, strict=True):
            of_metric.append(one)

    def judged(self, systems: Sequence[str], **settings: Any) -> Judged:
        """Return the result, after its notes."""
        lists = self._bare()
        for file in self.files.values():
            file.check_end(lists.n_items, lists.source)
        if self.judging.baseline is not None and self.judging.baseline not in systems:
            if _FIRST not in self.rows:
                raise self._needs_whole(lists, "no order of the lists")
            self.judging = self.judging.with_settings(baseline=None)
        rows = {name: [np.concatenate(one) for one in self.rows.pop(name)] for name in list(self.rows)}
        judges = {
            typed: _KeptJudge(
                last,
                np.concatenate([judged[m] for judged in self.judges_judged]),
                {name: of[m] for name, of in rows.items()},
            )
            for m, (typed, last) in enumerate(self.judges.items())
        }
        runs = {
            name: {WHOLE: ((Run(_NONE, known=Known(rows[name], self.switched[name])),),)} for name in systems
        }
        found = judge(
            (Part("", lists, judges),), runs, self.judging, view="systems", name=lists.source, **settings
        )
        assert self.rankings is not None
        note_evaluation(self._for_notes(lists), {name: self.rankings[name] for name in systems}, found)
        return found

    def _bare(self) -> CandidateLists:
        """All lists, of which nothing but their ids and lengths is known."""
        known = [ids for ids in self.ids if ids is not None]
        offsets = offsets_of(np.concatenate(self.lengths))
        none = Dense(np.empty((int(offsets[-1]), 0)), missing=False)
        ids = joined_column(known) if len(known) == len(self.ids) else None
        return CandidateLists(offsets, none, list_ids=ids, source=self.source)

    def _for_notes(self, lists: CandidateLists) -> CandidateLists:
        """Lists of the same longest length with the same largest labels."""
        longest, n = int(lists.lengths.max()), max(len(self.labels), 1)
        labels = np.full(n * longest, np.nan)
        labels[: len(self.labels)] = self.labels
        features = Dense(np.empty((len(labels), 0)), missing=False)
        known = labels if len(self.labels) else None
        return CandidateLists(offsets_of([longest] * n), features, labels=known, source=lists.source)
