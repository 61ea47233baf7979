"""Format ``subtopics``: judgements by subtopic as lists of judged documents, or joined to other lists."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from rerank.core.errors import DataError
from rerank.core.files.read import shown
from rerank.data.columns.offsets import offsets_of
from rerank.data.lists import CandidateLists
from rerank.data.matrix import as_features
from rerank.extensions.diversity.subtopics import largest, read_entries, with_subtopics
from rerank.formats.base import FORMATS, Format, ReadOptions


@FORMATS.register("subtopics", "diversity-qrels")
class Subtopics(Format):
    """Reader of ndeval's judgements: query, subtopic, document and judgement in each line.

    A query is a list, and its judged documents are the items; their labels are the largest judgements. The
    option ``subtopics`` joins such a file to lists of any format that has ids.
    """

    name: ClassVar[str] = "subtopics"
    summary: ClassVar[str] = "judgements by subtopic, query subtopic document judgement (ndeval), only read"
    joins: ClassVar[tuple[str, ...]] = ("subtopics",)

    @classmethod
    def join(cls, lists: CandidateLists, options: ReadOptions) -> CandidateLists:
        assert options.subtopics is not None  # it was given
        return with_subtopics(lists, options.subtopics)

    def _read(self, path: str, options: ReadOptions) -> CandidateLists:
        found = largest(read_entries(path), shown(path))
        bare = CandidateLists(
            offsets_of(np.diff(found.offsets)),
            as_features(np.empty((len(found.documents), 0))),
            list_ids=found.queries,
            item_ids=found.documents,
            source=shown(path),
        )
        return with_subtopics(bare, path)

    def _write(self, lists: CandidateLists, path: str) -> None:
        raise DataError(f"{path}: judgements by subtopic are read only; format store holds them")
