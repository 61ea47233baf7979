"""Sources of structures: a file, a folder of models, an archive, or a folder of such folders or archives.

Each folder is a list, each model an item. Lists and items come in the natural order of their names, in which
runs of digits count as numbers: model2 before model10. The files of a tar archive are read one after the
other, and none is written to the disk. Headers are those of POSIX (ustar, pax) and GNU tar. Links, devices,
sparse files and paths that lead out of the archive are refused: no archive of structures needs them.
"""

from __future__ import annotations

import itertools
import os
import re
import stat
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from rerank.core import progress
from rerank.core.errors import ConfigError, DataError, FormatError, os_error
from rerank.core.files.archives import COMPRESSED_SUFFIXES
from rerank.core.files.read import (
    Buffer,
    inflated_bytes,
    plain_suffix,
    read_blocks,
    read_bytes,
    read_head,
    shown,
)
from rerank.core.memory import require
from rerank.core.text import count, some
from rerank.data.columns.traces import Traces
from rerank.data.lists import CandidateLists
from rerank.extensions.proteins.atoms.file_traces import FileTraces, from_file
from rerank.extensions.proteins.pdb import read_pdb
from rerank.formats.common import note, quoted

TAR = "a whole tar archive"
LARGEST = 1 << 30  # bytes of a file

_TAR_BLOCK = 512
_LONGEST_NAME = 1 << 16  # bytes of what describes the next file
_LONGEST_PATH = 4096
_REGULAR, _FOLDER = (b"0", b"\0", b"7"), b"5"
_GNU_NAME, _GNU_LINK, _PAX, _PAX_ALL = b"L", b"K", b"x", b"g"
_REFUSED = {
    b"1": "a link",
    b"2": "a symbolic link",
    b"3": "a device",
    b"4": "a device",
    b"6": "a pipe",
    b"S": "a sparse file",
}


def is_tar(head: bytes) -> bool:
    """Return whether content that starts with ``head`` is a tar archive.

    Its first header has the right sum, and a NUL, which no text has.
    """
    header = head[:_TAR_BLOCK]
    return len(header) == _TAR_BLOCK and b"\0" in header and any(header) and _sum_is_right(header)


def files_of(path: str) -> Iterator[tuple[str, bytes]]:
    """Yield the name and the content of each file of an archive ("-" = standard input), compressed or not.

    Raises FormatError if it is damaged or cut off, or holds something else than files and folders, paths that
    lead out of it, or a file of more than 1 GiB.
    """
    source = _Source(read_blocks(path), path)
    longer: str | None = None  # the name of the next file, if its header has no room for it
    size_of_next: int | None = None
    while any(header := source.take(_TAR_BLOCK, "a header")):
        if not _sum_is_right(header):
            raise FormatError(path, None, "a damaged header", TAR)
        kind = header[156:157]
        size = _number(header[124:136], path)
        if kind in (_GNU_NAME, _GNU_LINK, _PAX, _PAX_ALL):
            if size > _LONGEST_NAME:
                raise FormatError(path, None, f"a header of {size} bytes", f"at most {_LONGEST_NAME}")
            content = source.padded(size)
            if kind == _GNU_NAME:
                longer = _text(content.split(b"\0")[0])
            elif kind == _PAX:
                longer, size_of_next = _extended(content, longer, path)
            continue
        name = _checked(longer if longer is not None else _name(header), path)
        size = size if size_of_next is None else size_of_next
        longer, size_of_next = None, None
        if kind in _REFUSED or kind not in (*_REGULAR, _FOLDER):
            what = _REFUSED.get(kind, f"an entry of kind {quoted(kind)}")
            raise FormatError(path, None, f"{what}, {quoted(name)}", "files and folders")
        if kind == _FOLDER or name.endswith("/"):
            source.padded(size)
            continue
        if size > LARGEST:
            raise FormatError(path, None, f"{quoted(name)} of {size} bytes", f"at most {LARGEST}")
        yield name, source.padded(size)


class _Source:
    """The bytes of an archive in order."""

    def __init__(self, blocks: Iterable[bytes], path: str) -> None:
        self._blocks = iter(blocks)
        self._path = path
        self._rest = memoryview(b"")

    def take(self, n: int, what: str) -> bytes:
        """The next ``n`` bytes; raises FormatError if there are fewer."""
        out = bytearray()
        while len(out) < n:
            if not self._rest:
                block = next(self._blocks, None)
                if block is None:
                    raise FormatError(self._path, None, f"tar data that is cut off in {what}", TAR)
                self._rest = memoryview(block)
            part = self._rest[: n - len(out)]
            out += part
            self._rest = self._rest[len(part) :]
        return bytes(out)

    def padded(self, size: int) -> bytes:
        """The content of an entry, which fills whole blocks."""
        require(2 * min(size, LARGEST), f"a file in {self._path}")
        content = self.take(size, "a file")
        self.take(-size % _TAR_BLOCK, "a file")
        return content


def _sum_is_right(header: bytes) -> bool:
    digits = header[148:156].strip(b" \0")
    if not digits or any(digit not in b"01234567" for digit in digits):
        return False
    return int(digits, 8) == sum(header) - sum(header[148:156]) + 8 * ord(" ")


def _number(field: bytes, path: str) -> int:
    """A size: octal digits, or with the highest bit set a number in base 256."""
    if field[0] == 0x80:
        return int.from_bytes(field[1:], "big")
    digits = field.strip(b" \0")
    if any(digit not in b"01234567" for digit in digits):
        raise FormatError(path, None, f"a file's size {quoted(digits)}", TAR)
    return int(digits or b"0", 8)


def _name(header: bytes) -> str:
    name = header[:100].split(b"\0")[0]
    prefix = header[345:500].split(b"\0")[0] if header[257:263] == b"ustar\0" else b""
    return _text(prefix + b"/" + name if prefix else name)


def _text(name: bytes) -> str:
    return name.decode("utf-8", "surrogateescape")


def _extended(content: bytes, name: str | None, path: str) -> tuple[str | None, int | None]:
    """Name and size from a pax header, whose records are "LENGTH KEY=VALUE" with a newline."""
    size = None
    while content:
        digits, _, _ = content.partition(b" ")
        length = int(digits) if digits.isdigit() and len(digits) < 8 else 0
        record = content[:length]
        key, equals, value = record[len(digits) + 1 : -1].partition(b"=")
        if not equals or not record.endswith(b"\n") or len(record) != length:
            raise FormatError(path, None, "a damaged pax header", TAR)
        if key == b"path":
            name = _text(value)
        if key == b"size" and value.isdigit() and len(value) < 20:
            size = int(value)
        if key.startswith(b"GNU.sparse"):
            raise FormatError(path, None, "a sparse file", "files and folders")
        content = content[length:]
    return name, size


def _checked(name: str, path: str) -> str:
    """A name without ./ before it; raises FormatError if it is no path within the archive."""
    while name.startswith("./"):
        name = name[2:]
    if len(name) > _LONGEST_PATH:
        raise FormatError(path, None, f"a path of {len(name)} characters", f"at most {_LONGEST_PATH}")
    if name.startswith("/") or ".." in name.split("/") or "\0" in name:
        raise FormatError(path, None, f"the path {quoted(name)}", "paths within the archive")
    return name


MMCIF_SUFFIXES = (".cif", ".mmcif")
SUFFIXES = (".pdb", ".ent", *MMCIF_SUFFIXES)
# Each structure has one of these, see ``is_structure``.
SIGNS = (b"ATOM  ", b"HETATM", b"HEADER    ", b"PFRMAT TS", b"_atom_site.", b"_entry.id")

_ATOM = re.compile(rb"^(ATOM  |HETATM)[^\n]{28}\.[^\n]{7}\.[^\n]{7}\.", re.MULTILINE)
_BLOCK = re.compile(rb"(?:\s|#[^\n]*\n)*data_", re.IGNORECASE)


def read_file(
    path: str, content: bytes | None = None, left_out: Counter[str] | None = None
) -> list[tuple[str, Traces]]:
    """Return the models of a file in PDB or mmCIF format, see ``read_pdb``.

    path : the file, "-" = standard input; its name in errors if there is content.
    content : of the file, if it was read before (from an archive); compressed or not. None = read the file.
    left_out : OUT the residues that are left out, by their name.
    Raises FormatError at the first fault, RerankError if the file is mmCIF and gemmi is not installed.
    """
    data: Buffer = read_bytes(path) if content is None else inflated_bytes(content, path)
    if is_mmcif(bytes(data[:4096]), path):
        from rerank.extensions.proteins.mmcif import read_mmcif

        found = read_mmcif(bytes(data), shown(path), left_out)
    else:
        found = read_pdb(data, shown(path), left_out)
    return [(name, from_file(trace, path, k)) for k, (name, trace) in enumerate(found)]


def note_left_out(place: str, left_out: Counter[str]) -> None:
    """Warn if residues were left out by ``read_file``."""
    if left_out:
        names = some([f"{name} {n} times" if n > 1 else name for name, n in sorted(left_out.items())])
        what = f"{count(left_out.total(), 'residue')} of HETATM records with a CA atom"
        note(f"{place}: {what} left out, no known amino acids ({names})")


def is_mmcif(head: bytes, path: str) -> bool:
    """Return whether a file is mmCIF: its first word is data_..., or its name says so and it has no atoms."""
    if _BLOCK.match(head.removeprefix(b"\xef\xbb\xbf")):
        return True
    return plain_suffix(path) in MMCIF_SUFFIXES and not re.search(rb"^(ATOM  |HETATM)", head, re.MULTILINE)


def is_structure(head: bytes) -> bool:
    """Return whether content that starts with ``head`` is of a structure.

    In PDB format it has a line with an atom at the right columns, or starts as the files of the PDB or of
    CASP do; mmCIF starts with a block and has items of it.
    """
    head = head.removeprefix(b"\xef\xbb\xbf")
    if _ATOM.search(head) or head.startswith((b"HEADER    ", b"PFRMAT TS")):
        return True
    return bool(_BLOCK.match(head)) and (b"_atom_site." in head or b"_entry.id" in head)


STRUCTURES = "PDB or mmCIF files, folders of them, or .tar archives of such folders"

# What people leave beside structures; any other file in a folder must be one.
_FOREIGN_SUFFIXES = (".txt", ".md", ".csv", ".tsv", ".json", ".log", ".html", ".fasta", ".fa", ".seq")
_FOREIGN_NAMES = ("readme", "license", "thumbs.db", "__macosx")
_TAR = re.compile(r"\.(tar|tgz|tbz2?|txz|tar\.(gz|bz2|xz|zst))$", re.IGNORECASE)
_DIGITS = re.compile(r"([0-9]+)")
_SHOWN = 3
_SNIFFED = 8  # entries of a folder that are looked at to find out what it is


class Structure(NamedTuple):
    """One model: the names of its list and its item, Traces of one entry, and its file for messages."""

    list_id: str
    item_id: str
    trace: Traces
    place: str


def read_structures(path: str) -> list[Structure]:
    """Return the structures of a file, a folder or an archive; docs/formats.md has the rules.

    Files of a folder that cannot be structures by their name are skipped with a note. The items of a list are
    contiguous; lists and items are in the natural order of their names. Raises FormatError at the first fault
    of a file, or if there is no structure, DataError if two lists, or items of a list, have the same name.
    """
    skipped, left_out = list[str](), Counter[str]()
    lists: dict[str, list[Structure]] = {}
    with progress.step(f"reading {os.path.basename(shown(path))}", None, "file") as advance:
        for one in _each(path, skipped, left_out):
            own = lists.setdefault(one.list_id, [])
            if own and os.path.dirname(own[0].place) != os.path.dirname(one.place):
                both = f"{own[0].place} and {one.place}"
                raise DataError(f"two folders are both list {one.list_id!r}: {both}")
            own.append(one)
            advance(1)
    if skipped:
        some = ", ".join(skipped[:_SHOWN]) + ", ..." * (len(skipped) > _SHOWN)
        note(f"{shown(path)}: {count(len(skipped), 'file')} skipped, no structures by their names ({some})")
    note_left_out(shown(path), left_out)
    if not lists:
        raise FormatError(shown(path), None, "no structures", STRUCTURES)
    for own in lists.values():
        own.sort(key=lambda one: natural(one.item_id))
        for one, other in itertools.pairwise(own):
            if one.item_id == other.item_id:
                raise DataError(f"{other.place}: an item {one.item_id!r} again, as {one.place}")
    return [one for name in sorted(lists, key=natural) for one in lists[name]]


def natural(name: str) -> tuple[list[tuple[int, str] | str], str]:
    """Return a key that sorts names with runs of digits by their value, on ties by their characters."""
    parts = _DIGITS.split(name)
    numbers = (part.lstrip("0") for part in parts)
    return [(len(n), n) if i % 2 else parts[i] for i, n in enumerate(numbers)], name


def stem_of(name: str) -> str:
    """Return the name of a file without the suffixes of a compression and of a format of structures."""
    base = os.path.basename(name)
    stem, suffix = os.path.splitext(base)
    if suffix.lower() in COMPRESSED_SUFFIXES:
        base = stem
        stem, suffix = os.path.splitext(base)
    return stem if suffix.lower() in SUFFIXES else base


def holds_structures(folder: str) -> bool:
    """Return whether a folder is one of structures: a few of its files, or those of its folders, are.

    Names with the suffixes of structures or archives count, and so does the content of other files.
    """
    for name in _entries(folder)[:_SNIFFED]:
        place = os.path.join(folder, name)
        within = [os.path.join(place, one) for one in _entries(place)] if os.path.isdir(place) else [place]
        for file in within[:_SNIFFED]:
            if os.path.isfile(file) and not _is_foreign(file) and _seems_one(file):
                return True
    return False


def _seems_one(file: str) -> bool:
    stem, suffix = os.path.splitext(file)
    name = stem if suffix.lower() in COMPRESSED_SUFFIXES else file
    return (
        _TAR.search(file) is not None
        or os.path.splitext(name)[1].lower() in SUFFIXES
        or (os.access(file, os.R_OK) and is_structure(read_head(file)))
    )


def _entries(folder: str) -> list[str]:
    """The names in a folder in their order; raises RerankError if it cannot be read."""
    try:
        return sorted(os.listdir(folder), key=natural)
    except OSError as error:
        raise os_error(folder, error) from None


def _is_foreign(name: str) -> bool:
    """Return whether the name of a file or a folder shows that it holds no structures."""
    base = os.path.basename(name.rstrip("/"))
    stem = base.lower().split(".")[0]
    return base.startswith(".") or stem in _FOREIGN_NAMES or base.lower().endswith(_FOREIGN_SUFFIXES)


def _each(path: str, skipped: list[str], left_out: Counter[str]) -> Iterator[Structure]:
    """The structures of a path in any order."""
    if path != "-" and os.path.isdir(path):
        yield from _of_folder(path, skipped, left_out, outer=True)
    elif _TAR.search(path) or is_tar(read_head(path)):
        yield from _of_archive(path, skipped, left_out)
    else:
        stem = "stdin" if path == "-" else stem_of(path)
        yield from _models(stem, stem, path, left_out)


def _of_folder(folder: str, skipped: list[str], left_out: Counter[str], outer: bool) -> Iterator[Structure]:
    """The structures of a folder: its files, or if it is the outer one those of its folders and archives."""
    name = os.path.basename(os.path.realpath(folder))
    first: dict[bool, str] = {}  # an entry that is a list, and one that is an item
    for entry in _entries(folder):
        place = os.path.join(folder, entry)
        if _is_foreign(entry):
            skipped.append(entry)
            continue
        try:
            mode = os.stat(place).st_mode
        except OSError as error:
            raise os_error(place, error) from None
        is_list = stat.S_ISDIR(mode) or _TAR.search(entry) is not None
        first.setdefault(is_list, entry)
        if not (stat.S_ISDIR(mode) or stat.S_ISREG(mode)):
            raise FormatError(place, None, "a pipe, socket or device", "a file or a folder")
        if is_list and not outer:
            raise FormatError(place, None, "a folder or archive in a folder of models", "models")
        if len(first) == 2:
            both = f"{quoted(first[True])} and {quoted(first[False])}"
            raise FormatError(folder, None, f"folders or archives beside files ({both})", STRUCTURES)
        if stat.S_ISDIR(mode):
            yield from _of_folder(place, skipped, left_out, outer=False)
        elif is_list:
            yield from _of_archive(place, skipped, left_out)
        else:
            yield from _models(name, stem_of(entry), place, left_out)


def _of_archive(path: str, skipped: list[str], left_out: Counter[str]) -> Iterator[Structure]:
    """The structures of an archive; the files of a folder in it are a list."""
    stem = "stdin" if path == "-" else _TAR.sub("", os.path.basename(path))
    folders: set[str] = set()  # that hold files
    above: set[str] = set()  # that hold those folders
    for name, content in files_of(path):
        if any(_is_foreign(part) for part in name.split("/")):
            skipped.append(os.path.basename(name))
            continue
        folder = os.path.dirname(name)
        if folder not in folders:
            outer = set(_above(folder))
            if folder in above or outer & folders:
                raise FormatError(f"{shown(path)}/{name}", None, "folders beside files", STRUCTURES)
            folders.add(folder)
            above |= outer
        list_id, place = os.path.basename(folder) or stem, f"{shown(path)}/{name}"
        yield from _models(list_id, stem_of(name), place, left_out, content)


def _above(folder: str) -> Iterator[str]:
    """The folders that a folder of an archive is in; "" is the outermost one."""
    while folder:
        folder = os.path.dirname(folder)
        yield folder


def _models(
    list_id: str, stem: str, place: str, left_out: Counter[str], content: bytes | None = None
) -> Iterator[Structure]:
    """The models of a file: an item each, whose name has the serial number if there are several."""
    models = read_file(place, content, left_out)
    for name, trace in models:
        item_id = f"{stem}:{name}" if len(models) > 1 else stem
        yield Structure(list_id, item_id, trace, shown(place))


def attach_structures(lists: CandidateLists, path: str, *, strict: bool = False) -> CandidateLists:
    """Return the lists with the structure of each item, see ``read_structures``.

    Items without a structure have an empty one (an error under ``strict``), and structures without an item
    are left out; both are counted in notes, and so are items that have the same ids. Raises ConfigError if
    the lists have structures already, or lack ids, DataError if no item has a structure.
    """
    if lists.traces is not None:
        raise ConfigError(f"{lists.source}: holds its own structures, so structures={path!r} cannot be given")
    if lists.list_ids is None or lists.item_ids is None:
        lacks = "lists" if lists.list_ids is None else "items"
        hint = "" if lists.list_ids is None else "; --id-column NAME names a table's column of them"
        raise ConfigError(
            f"{lists.source}: has no ids of {lacks}, so structures={path!r} cannot be joined to its "
            f"items{hint}"
        )
    found = read_structures(path)
    places = {(one.list_id, one.item_id): i for i, one in enumerate(found)}
    of_list = (lists.list_ids[i] for i in lists.list_index.tolist())
    names = list(zip(of_list, lists.item_ids, strict=True))
    doubled = len(names) - len(set(names))
    if doubled:
        counts = Counter(names)
        again = next(k for k, name in enumerate(names) if counts[name] > 1)
        what = f"{count(doubled, 'item')} with the ids of another, and so with the same structure"
        note(f"{lists.source}: {what} (the first is {lists.place_of(again)})")
    which = np.array([places.get(name, len(found)) for name in names], dtype=np.int64)
    missing = np.flatnonzero(which == len(found))
    if len(missing):
        text = f"{count(len(missing), 'item')} of {lists.source} without a structure in {shown(path)}"
        first = lists.place_of(int(missing[0]))
        if len(missing) == lists.n_items:
            other = f"list {found[0].list_id!r}, item {found[0].item_id!r}"
            raise DataError(f"{text}, that is all: the first is {first}, the first structure {other}")
        if strict:
            raise DataError(f"{text}: the first is {first}")
        note(f"{text} (the first is {first})")
    unused = len(found) - len(np.unique(which[which < len(found)]))
    if unused:
        note(f"{shown(path)}: {count(unused, 'structure')} of {len(found)} without an item in {lists.source}")
    empty = Traces(np.zeros(2, np.int64), np.empty(0, np.uint64), np.empty((0, 3)), np.empty(0, np.uint8))
    return lists.with_structures(traces=FileTraces.joined([*(one.trace for one in found), empty]).take(which))
