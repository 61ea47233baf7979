"""TREC runs block by block: the reader of whole runs on the text of some whole queries."""

from __future__ import annotations

from collections.abc import Iterator

from rerank.core.errors import FormatError, NeedsWholeError
from rerank.core.files.read import shown
from rerank.data.lists import CandidateLists
from rerank.data.reading import ReadOptions
from rerank.formats.streaming.text import TextBlocks
from rerank.formats.trec import SIX_FIELDS, as_lists, note_disorder, run_in


class RunBlocks(TextBlocks):
    """The queries of a run, block by block."""

    def key(self, text: bytes, begin: int, end: int) -> bytes | None:
        fields = text[begin:end].split(None, 1)
        return fields[0] if fields else None

    def lists(self, options: ReadOptions) -> Iterator[CandidateLists]:
        source, tag = shown(self.path), None
        by_rank = by_line = n_queries = 0
        for block in self._texts:
            self.block = block
            if not block.text.strip():
                continue
            try:
                run, tags, disorder = run_in(source, [block.lines()], options.strict)
            except FormatError as error:
                raise block.in_file(error) from None
            tag = tag or run.tag
            if len(tags) > 1 or run.tag != tag:
                raise NeedsWholeError(
                    source, block.lines_before + 1, "several tags", f"the tag {tag!r} of the first lines"
                )
            by_rank, by_line = by_rank + disorder[0], by_line + disorder[1]
            n_queries += len(run.queries)
            yield as_lists(run, options)
        if tag is None:
            raise FormatError(source, None, "no line of a run", SIX_FIELDS)
        note_disorder(source, by_rank, by_line, n_queries)
