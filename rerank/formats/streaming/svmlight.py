"""SVMlight block by block: the reader of whole texts on the text of some whole lists."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator

import numpy as np

from rerank.core.errors import DataNote, FormatError
from rerank.core.files.read import is_pipe, read_head, shown
from rerank.data.lists import CandidateLists
from rerank.data.reading import ReadOptions
from rerank.formats.buffers import BOM, pieces_of_lines
from rerank.formats.feature_columns import WIDE, read_feature_names
from rerank.formats.streaming.text import TextBlocks
from rerank.formats.svmlight.read import (
    first_item,
    grouped_items,
    looks_dense,
    note_without_ids,
    open_source,
    read_items,
)
from rerank.native.formats._svmlight import scan

_QID = re.compile(rb"[ \t\r]*+[^ \t\r\n#]++[ \t\r]++qid:([^ \t\r\n#]*+)")
_EXPECTED = "lines 'label qid:ID index:value ...'"
_FIRST_LINE = re.compile(r"as on line [0-9]+")


def least_width(path: str, options: ReadOptions, wanted: int, filled: bool) -> int | None:
    """Return how many columns blocks have at least, so that they are scored as the whole file; None = no way.

    A column that a dense file has somewhere is 0 in items that leave it out, one that it has nowhere is what
    the model takes for it. Of a file that can be read twice all lines are looked at if its beginning has
    fewer columns than the model; of a pipe they cannot be.

    Parameters
    ----------
    path : str
    options : ReadOptions
    wanted : int
        The columns of the model.
    filled : bool
        Whether absent columns are something else than 0.
    """
    head = read_head(path).removeprefix(BOM)
    text = np.frombuffer(head[: head.rfind(b"\n") + 1] or b"\n", dtype=np.uint8)
    try:
        _, has_qid = first_item(head, 0, shown(path))
    except FormatError:
        return None
    first = 0 if options.zero_based else 1
    width = scan(text, first, False)[2]
    if not has_qid or width > WIDE:
        return None
    if options.feature_names is not None or width >= wanted:
        return width
    dense = options.layout == "dense" or (options.layout == "auto" and looks_dense(text, first))
    if not (filled or dense):
        return width
    if is_pipe(path):
        return None
    return max(scan(piece, first, False)[2] for piece in pieces_of_lines(path, _EXPECTED))


class SVMLightBlocks(TextBlocks):
    """The lists of a SVMlight file with qids, block by block.

    Parameters
    ----------
    path : str
    width : int
        See ``least_width``.
    """

    def __init__(self, path: str, width: int) -> None:
        super().__init__(path)
        self.width = width

    def key(self, text: bytes, begin: int, end: int) -> bytes | None:
        found = _QID.match(text, begin, end)
        return None if found is None else found[1]

    def lists(self, options: ReadOptions) -> Iterator[CandidateLists]:
        source, names = shown(self.path), None
        if options.feature_names is not None:
            names = read_feature_names(options.feature_names, first=0 if options.zero_based else 1)
        n_items = without = first_line = 0
        for block in self._texts:
            self.block, text = block, block.text
            if block.lines_before and text.startswith(BOM):
                text = b" " + text  # a mark is one at the start of a file only
            items = open_source(text, source, options)
            first_line = first_line or text.count(b"\n", 0, items.first_item) + 1
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", DataNote)
                    found = grouped_items(items, read_items(items, names, self.width))
            except FormatError as error:
                error.expected = _FIRST_LINE.sub(f"as on line {first_line}", error.expected)
                raise block.in_file(error) from None
            if found.feature_names is None:
                self.width = max(self.width, found.n_features)
            n_items += found.n_items
            ids = found.item_ids
            without += found.n_items if ids is None else int(np.count_nonzero(ids.lengths() == 0))
            yield found
        note_without_ids(source, without, n_items)

    def is_item(self, line: bytes) -> bool:
        return line.strip(b" \t\r")[:1] not in (b"", b"#")
