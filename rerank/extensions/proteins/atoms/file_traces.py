"""CA traces that remember their files, so that metrics can read the other atoms when they are asked for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rerank.core.types import Index, Mask
from rerank.data.columns.offsets import offsets_of, places_of
from rerank.data.columns.strings import StringColumn
from rerank.data.columns.traces import Keys, Traces


class FileTraces(Traces, frozen=True, eq=False):
    """CA traces with the files that they were read from. A store keeps the traces alone.

    Attributes
    ----------
    own : uint64 (n_residues)
        The key of each residue in its file: ``keys`` may be those of a native that it was matched with.
    files : StringColumn (n)
        Where each structure was read: a file, or an archive, a slash and the path within it. "" = nowhere.
    numbers : int64 (n)
        The place of each structure among the models of its file.
    """

    own: Keys
    files: StringColumn
    numbers: Index

    def take(self, which: Index) -> FileTraces:
        places, _ = places_of(self.offsets, which)
        return _filed(
            super().take(which),
            self.own[places],
            [self.files.bytes_at(i) for i in which.tolist()],
            self.numbers[which],
        )

    def kept(self, which: Mask) -> FileTraces:
        return _filed(super().kept(which), self.own[which], self.files, self.numbers)

    @classmethod
    def joined(cls, parts: Sequence[Traces]) -> Traces:
        """Return the structures of several columns; one without files makes the whole one without."""
        bare = Traces.joined(parts)
        if any(not isinstance(part, FileTraces) and len(part.keys) for part in parts):
            return bare
        own, files, numbers = [], list[bytes](), []
        for part in parts:
            filed = part if isinstance(part, FileTraces) else None
            own.append(part.keys if filed is None else filed.own)
            files += [b"" if filed is None else filed.files.bytes_at(i) for i in range(len(part))]
            numbers.append(np.zeros(len(part), dtype=np.int64) if filed is None else filed.numbers)
        return _filed(bare, np.concatenate(own), files, np.concatenate(numbers))


def _filed(traces: Traces, own: Keys, files: Sequence[str | bytes], numbers: Index) -> FileTraces:
    column = files if isinstance(files, StringColumn) else StringColumn.from_strings(files)
    return FileTraces(traces.offsets, traces.keys, traces.xyz, traces.residues, own, column, numbers)


def from_file(traces: Traces, place: str, number: int) -> FileTraces:
    """Return the structure that was read as model ``number`` of the file ``place``."""
    return _filed(traces, traces.keys, [place], np.array([number], dtype=np.int64))


def arranged(traces: Traces, item: Index, keys: Keys, rows: Index) -> Traces:
    """Return the same structures with residues ``rows`` (n) and other ``keys`` (n).

    ``item`` (n) has the structure of each residue. Keys rise within a structure.
    """
    offsets = offsets_of(np.bincount(item, minlength=len(traces)))
    made = Traces(offsets, keys, traces.xyz[rows], traces.residues[rows])
    if not isinstance(traces, FileTraces):
        return made
    return _filed(made, traces.own[rows], traces.files, traces.numbers)
