"""Lines of SVMlight with classes in place of labels, as LIBSVM's multilabel sets have them."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace

import numpy as np

from rerank.core.errors import DataError, FormatError
from rerank.core.files.streams import Buffer
from rerank.data.columns.class_sets import EXPECTED, class_column
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.formats.buffers import BOM
from rerank.formats.common import STORE, contains, note

# The start of an item line: a label, or none if a qid or a feature is first. Nothing is read twice.
_START = re.compile(rb"^[ \t\r]*+(?:([^ \t\r\n#:]++)(?![^ \t\r\n#])|(?=[^ \t\r\n#]))", re.MULTILINE)
_BLANK_LINE = re.compile(rb"\n[ \t\r]*+\n")
_NO_NAME = np.isin(np.arange(256), list(b" \t\r\n#:"))


class LabelTexts:
    """The labels of a file as text, and its content with a number in place of each label.

    A label such as ``1,3`` or ``setosa`` is a set of classes. A line that begins with a qid or a feature has
    none. A blank line is no example, here as in other files, which is reported.

    Attributes
    ----------
    replaced : bytes
        The content, line for line, with the label 0 everywhere.
    """

    def __init__(self, data: Buffer, path: str) -> None:
        self._data = bytes(data).removeprefix(BOM)
        self._path = path
        self._texts: list[bytes] = []
        self.replaced = _START.sub(self._replace, self._data)
        blank = _BLANK_LINE.search(self._data, 0, len(self._data.rstrip()))
        if blank is not None:
            line = self._data.count(b"\n", 0, blank.end())
            note(
                f"{path}: blank lines (the first is {line}) are skipped; an example has a class or a feature"
            )

    def _replace(self, match: re.Match[bytes]) -> bytes:
        self._texts.append(match[1] or b"")
        return b"0 " if match[1] is None else b"0"

    def of(self, lists: CandidateLists) -> CandidateLists:
        """Return the lists of the content with classes instead of labels.

        Raises
        ------
        FormatError
            If a label is not a set of classes; it names the line.
        """
        classes = class_column(StringColumn.from_strings(self._texts), self._fault)
        if lists.rows is not None:
            classes = classes.take(lists.rows)
        return replace(lists, labels=None, classes=classes)

    def _fault(self, row: int, found: str) -> FormatError:
        match = next(itertools.islice(_START.finditer(self._data), row, None))
        line = self._data.count(b"\n", 0, match.end()) + 1
        return FormatError(self._path, line, found, EXPECTED.removeprefix("expected "))


def written(lists: CandidateLists, path: str) -> StringColumn:
    """Return the classes of each item as a line begins with them.

    Raises
    ------
    DataError
        If a class would be read back as another one, or an example without a class as a blank line.
    """
    assert lists.classes is not None
    classes = class_column(
        lists.classes, lambda item, found: DataError(f"{path}: item {item + 1}: found {found}")
    )
    bad = contains(classes, _NO_NAME[classes.data])
    if np.any(bad):
        name = classes[int(np.argmax(bad))]
        raise DataError(f"{path}: svmlight cannot hold the class {name!r} (a blank, # or :); {STORE}")
    blank = classes.lengths() == 0
    if np.any(blank) and lists.list_ids is None:
        values = lists.features.to_dense() if lists.has_missing else np.zeros((1, lists.n_features))
        if values.shape[1] == 0 or (lists.has_missing and np.isnan(values[blank]).all(axis=1).any()):
            raise DataError(f"{path}: svmlight cannot hold an example without classes and features; {STORE}")
    return classes
