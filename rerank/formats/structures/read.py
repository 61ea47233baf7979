"""One file of structures: PDB by the project's own reader, mmCIF by gemmi, told apart by their content."""

from __future__ import annotations

import re
from collections import Counter

from rerank.core.files.streams import Buffer, inflated_bytes, plain_suffix, read_bytes, shown
from rerank.core.text import count, some
from rerank.data.columns.traces import Traces
from rerank.formats.common import note
from rerank.formats.structures.pdb import read_pdb

MMCIF_SUFFIXES = (".cif", ".mmcif")
SUFFIXES = (".pdb", ".ent", *MMCIF_SUFFIXES)
# Each structure has one of these, see ``is_structure``.
SIGNS = (b"ATOM  ", b"HETATM", b"HEADER    ", b"PFRMAT TS", b"_atom_site.", b"_entry.id")

_ATOM = re.compile(rb"^(ATOM  |HETATM)[^\n]{28}\.[^\n]{7}\.[^\n]{7}\.", re.MULTILINE)
_BLOCK = re.compile(rb"(?:\s|#[^\n]*\n)*data_", re.IGNORECASE)


def read_file(
    path: str, content: bytes | None = None, left_out: Counter[str] | None = None
) -> list[tuple[str, Traces]]:
    """Return the models of a file in PDB or mmCIF format.

    Parameters
    ----------
    path : the file, "-" = standard input; its name in errors if there is content.
    content : of the file, if it was read before (from an archive); compressed or not. None = read the file.
    left_out : OUT the HETATM residues that have an alpha carbon and are no known amino acid, by their name.

    Returns
    -------
    list of (name, Traces of one entry)
        The name is the serial number of a MODEL record, or "" for a PDB file without one.

    Raises
    ------
    FormatError
        At the first fault of the file.
    RerankError
        If it cannot be read, or is mmCIF and gemmi is not installed.
    """
    data: Buffer = read_bytes(path) if content is None else inflated_bytes(content, path)
    if is_mmcif(bytes(data[:4096]), path):
        from rerank.formats.structures.mmcif import read_mmcif

        return read_mmcif(bytes(data), shown(path), left_out)
    return read_pdb(data, shown(path), left_out)


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
