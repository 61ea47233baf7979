"""Beams of NeMo: the TSV files of eval_beamsearch_ngram."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar

import numpy as np

from rerank.core.errors import ConfigError, FormatError
from rerank.core.files.read import shown
from rerank.core.text import count
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.extensions.speech.references import in_order
from rerank.extensions.speech.utterances import Hypothesis, Recogniser, Utterance, decoded
from rerank.formats.base import FORMATS, ReadOptions
from rerank.formats.builders import each_line
from rerank.formats.common import finite, note, quoted


@FORMATS.register("nemo-beams")
class NemoBeams(Recogniser):
    """Reader of preds_out_*.tsv: ``text<TAB>score``, ``n_best`` lines for each utterance, without ids.

    ``n_best`` is the size of the beam; if references are given, it is by default the number of lines divided
    by theirs. References are a manifest, or plain lines, in the order of the utterances; the ids of a
    manifest become those of the lists. Scores that rise within lists are noted: the beam then has another
    size, or the file was rescored.
    """

    name: ClassVar[str] = "nemo-beams"
    summary: ClassVar[str] = (
        "NeMo's beams (preds_out_*.tsv: text, score), --n-best lines per utterance, only read"
    )
    honours: ClassVar[frozenset[str]] = Recogniser.honours | {"n_best"}

    def _read(self, path: str, options: ReadOptions) -> CandidateLists:
        references = [in_order(name) for name in options.refs]
        n_lists = len(references[0][1]) if references else 0
        if not options.n_best and not n_lists:
            text = "nemo-beams does not contain the size of the beam; give n_best (--n-best) or refs"
            raise ConfigError(f"{shown(path)}: {text}")
        self._size, self._n_lists = options.n_best, n_lists
        lists = super()._read(path, options.with_settings(refs=()))
        for name, (_, column) in zip(options.refs, references, strict=True):
            if len(column) != lists.n_lists:
                found = count(len(column), "reference")
                raise FormatError(
                    shown(name), None, found, f"{lists.n_lists}, one for each list of {shown(path)}"
                )
        scores = lists.base_scores
        if scores is not None and lists.n_items > 1:
            rises = np.diff(scores) > 0
            rises[lists.offsets[1:-1] - 1] = False
            n = len(np.unique(np.searchsorted(lists.offsets, np.flatnonzero(rises), side="right")))
            if n:
                what = f"scores rise within {n} of {count(lists.n_lists, 'list')}"
                note(f"{lists.source}: {what}: is {lists.lengths[0]} the size of the beam?")
        names = references[0][0] if references else None
        if names is not None and len(set(names)) == len(names):
            lists = replace(lists, list_ids=StringColumn.from_strings(names))
        return replace(lists, references=tuple(column for _, column in references))

    def utterances(self, path: str, options: ReadOptions) -> Iterator[Utterance]:
        hypotheses = []
        for number, line in enumerate(each_line(path), 1):
            text, tab, score = decoded(line, path, number).rstrip("\r").rpartition("\t")
            if not tab:
                raise FormatError(shown(path), number, quoted(line), "a text, a tab and a score")
            value = finite(score.strip().encode(), shown(path), number, "score")
            hypotheses.append(Hypothesis(text.strip(), value))
        n = len(hypotheses)
        if not n:
            raise FormatError(shown(path), None, "an empty file", "lines of a text, a tab and a score")
        size = self._size or n // self._n_lists
        if not size or n % size or (not self._size and n % self._n_lists):
            expected = (
                f"a multiple of {size}" if self._size else f"as many for each of {self._n_lists} references"
            )
            raise FormatError(shown(path), None, count(n, "line"), expected)
        for place in range(0, n, size):
            yield Utterance(str(place // size), hypotheses[place : place + size], line=place + 1)
