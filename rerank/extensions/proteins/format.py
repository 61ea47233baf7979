"""Format ``structures``: models of proteins as lists of candidates."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from rerank.core.errors import DataError
from rerank.core.files.read import shown
from rerank.data.columns.offsets import offsets_of
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.data.matrix import as_features
from rerank.extensions.proteins.atoms.file_traces import FileTraces
from rerank.extensions.proteins.sources import (
    SIGNS,
    STRUCTURES,
    SUFFIXES,
    holds_structures,
    is_structure,
    is_tar,
    read_structures,
)
from rerank.formats.base import FORMATS, Format, ReadOptions
from rerank.formats.common import OF_IDS


@FORMATS.register("structures", "pdb", "mmcif")
class Structures(Format):
    """Reader of PDB and mmCIF files, folders and archives of them: a folder is a list, a model an item.

    The items have CA traces and no features; ``native`` adds the native structures of the lists.
    """

    name: ClassVar[str] = "structures"
    summary: ClassVar[str] = "models of proteins: PDB or mmCIF files, folders and archives of them, only read"
    suffixes: ClassVar[tuple[str, ...]] = (*SUFFIXES, ".tar", ".tgz")
    signs: ClassVar[tuple[bytes, ...]] = (*SIGNS, b"\0")

    joins: ClassVar[tuple[str, ...]] = ("structures", "native", "residues", "match")
    folder: ClassVar[str] = STRUCTURES
    honours: ClassVar[frozenset[str]] = OF_IDS - {"structures"} | {"strict"}

    @classmethod
    def recognises(cls, head: bytes) -> bool:
        return is_structure(head) or is_tar(head)

    @classmethod
    def recognises_folder(cls, path: str) -> bool:
        return holds_structures(path)

    @classmethod
    def join(cls, lists: CandidateLists, options: ReadOptions) -> CandidateLists:
        from rerank.extensions.proteins.natives import with_structures

        return with_structures(lists, options)

    def _read(self, path: str, options: ReadOptions) -> CandidateLists:
        found = read_structures(path)
        lists: dict[str, int] = {}
        for one in found:
            lists[one.list_id] = lists.get(one.list_id, 0) + 1
        return CandidateLists(
            offsets_of(list(lists.values())),
            as_features(np.empty((len(found), 0))),
            list_ids=StringColumn.from_strings(list(lists)),
            item_ids=StringColumn.from_strings([one.item_id for one in found]),
            traces=FileTraces.joined([one.trace for one in found]),
            source=shown(path),
        )

    def _write(self, lists: CandidateLists, path: str) -> None:
        raise DataError(f"{path}: structures are read only; format store holds them")
