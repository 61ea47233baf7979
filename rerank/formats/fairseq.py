"""What fairseq-generate prints: ``H-ID<TAB>score<TAB>hypothesis`` and the lines that go with it."""

from __future__ import annotations

import re
from typing import ClassVar

import numpy as np

from rerank.data.columns.offsets import offsets_of
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense
from rerank.errors import DataError
from rerank.files import shown
from rerank.formats.base import FORMATS, Format, ReadOptions
from rerank.formats.fairseq_lines import Hypothesis, Output, read_output

_HYPOTHESIS = re.compile(rb"^H-[0-9]+\t", re.MULTILINE)


@FORMATS.register("fairseq")
class Fairseq(Format):
    """Reader of fairseq-generate's output.

    Lists are ordered by their number, whatever the order of the file (fairseq sorts by length), items
    as in the file, which is first-best. Texts are those of the D lines (detokenised) where there are
    any, else of the H lines; references are the T lines. Features: ``score``; of the P lines, if there
    are any, ``P_sum``, ``P_mean`` and ``P_min`` of their scores; ``length``, the tokens of the H line.
    The score is ``base_scores`` too.
    """

    name: ClassVar[str] = "fairseq"
    summary: ClassVar[str] = "S-, T-, H-, D-, P- lines of fairseq-generate (read only)"
    honours: ClassVar[frozenset[str]] = frozenset({"strict", "refs", "distinct"})

    @classmethod
    def recognises(cls, head: bytes) -> bool:
        return _HYPOTHESIS.search(head) is not None

    def _read(self, path: str, options: ReadOptions) -> CandidateLists:
        return _lists(read_output(path, options.strict), shown(path))

    def _write(self, lists: CandidateLists, path: str) -> None:
        """Raise DataError: nothing but the decoder can write what its P lines say."""
        raise DataError(f"{path}: fairseq is read only; write moses, jsonl or store")


def _lists(output: Output, source: str) -> CandidateLists:
    numbers = np.array([h.number for h in output.hypotheses], dtype=np.int64)
    unique, codes = np.unique(numbers, return_inverse=True)
    rows = np.argsort(codes, kind="stable").astype(np.int64)
    items = [output.hypotheses[row] for row in rows.tolist()]
    with_positions = items[0].positions is not None
    features = np.array([_features(h, with_positions) for h in items])
    references: tuple[StringColumn, ...] = ()
    if output.references:
        references = (StringColumn.from_strings(output.references[n] for n in unique.tolist()),)
    names = ["score", "P_sum", "P_mean", "P_min", "length"]
    return CandidateLists(
        offsets_of(np.bincount(codes)),
        Dense(features),
        base_scores=features[:, 0].copy(),
        first_best=-rows.astype(np.float64),
        list_ids=StringColumn.from_strings(str(n) for n in unique.tolist()),
        rows=None if np.array_equal(rows, np.arange(len(rows))) else rows,
        feature_names=names if with_positions else ["score", "length"],
        texts=StringColumn.from_strings(h.text if h.detokenised is None else h.detokenised for h in items),
        references=references,
        source=source,
    )


def _features(h: Hypothesis, with_positions: bool) -> list[float]:
    length = float(len(h.text.split()))
    if not with_positions or h.positions is None:
        return [h.score, length]
    total = sum(h.positions)
    return [h.score, total, total / len(h.positions), min(h.positions), length]
