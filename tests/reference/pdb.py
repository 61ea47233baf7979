"""PDB files read line by line as docs/formats.md describes them, slowly."""

import re

from rerank.data.columns.traces import key_of
from rerank.extensions.proteins.atoms.amino_acids import LETTERS

_FIELD = re.compile(r" *[-+]?(\d+\.\d*|\.\d+)")


class FaultError(Exception):
    """The file has a fault, on a line or (None) as a whole."""

    def __init__(self, line):
        super().__init__(line)
        self.line = line


def read(text):
    """Return the models as (name, [(key, (x, y, z), letter), ...]), residues in the order of their keys."""
    models, atoms, n_atoms, closed = [], [], 0, False
    parents = {}
    for n, line in enumerate(text.split("\n"), 1):
        line = line.rstrip("\r ")
        is_atom = line.startswith("ATOM") and (line[4:5] <= " " or line[4] in "0123456789")
        if not is_atom and not line.startswith("HETATM"):
            _check(not any(ord(c) < 32 and c != "\t" for c in line), n)
            if line[:5] == "MODEL" and line[5:6] in ("", " "):
                _check(models or not n_atoms, n)
                found = re.fullmatch(r"MODEL *(\d*)(?: .*)?", line)
                _check(found and (found[1] or not line[5:].strip()) and line.isascii(), n)
                _check(line.isprintable(), n)
                serial = found[1]
                models.append((str(int(serial)) if serial else str(len(models) + 1), n, []))
                closed = False
            elif line.startswith("ENDMDL"):
                closed = bool(models)
            elif line.startswith("MODRES"):
                parents[line[12:15].strip()] = LETTERS.get(line[24:27].strip(), "X")
            else:
                _check(not re.match(r"[ \t]*(HETATM|ATOM[ \t0-9].)", line, re.IGNORECASE), n)
            continue
        n_atoms += 1
        _check(len(line) >= 54 and not closed, n)
        atom = _atom(line, n)
        if atom is not None:
            (models[-1][2] if models else atoms).append(atom)
    if not models:
        models = [("", None, atoms)]
    for _, _, own in models:
        own[:] = [one for one in own if one[4] or one[5] in parents]
    _check_repeated([own for _, _, own in models])
    names = set()
    for name, line, own in models:
        _check(own and name not in names, line)
        names.add(name)
    return [(name, _chosen(own, parents)) for name, _, own in models]


def _check(good, line):
    if not good:
        raise FaultError(line)


def _atom(line, n):
    """(key, altloc, occupancy, xyz, letter or "" if unknown, residue, line), None if no alpha carbon."""
    name, residue = line[12:16], line[17:20].strip(" ")
    if name != " CA ":
        # Other atoms only show whether columns are shifted.
        if not line[34] == line[42] == line[50] == "." or line[53] <= " ":
            _check(line.isascii() and line.isprintable(), n)
            _xyz(line, n)
        wide = line[17:20] if line[20] == " " else line[17:21]
        _check(name not in ("CA  ", "  CA") or not _letter(wide), n)
        return None
    if residue == "CA" or line[76:78] == "CA":
        return None
    _check(line.isascii() and line.isprintable(), n)
    xyz = _xyz(line, n)
    _check(re.fullmatch(r" *-?\d+", line[22:26]) and not line[26].isdigit(), n)
    _check(line[27:30] == "   ", n)
    key = key_of(line[21].strip(), int(line[22:26]), line[26].strip())
    occupancy = line[54:60]
    _check(not occupancy.strip() or _FIELD.fullmatch(occupancy), n)
    short = _letter(line[17:20])
    known = short
    if line[20] != " ":
        residue, known = line[17:21], _letter(line[17:21])
        _check(known or not short, n)
    letter = known or ("X" if line.startswith("ATOM") else "")
    return key, line[16], float(occupancy.strip() or 1), xyz, letter, residue, n


def _letter(residue):
    """The letter of a residue by its columns, 18-20 or 18-21, "" if it is unknown."""
    name = residue.strip(" ")
    return LETTERS.get(name, "") if residue == name.rjust(3) else ""


def _xyz(line, n):
    fields = [line[at : at + 8] for at in (30, 38, 46)]
    _check(all(_FIELD.fullmatch(field) for field in fields), n)
    _check(all(abs(float(field)) <= 1e5 for field in fields), n)
    return tuple(float(field) for field in fields)


def _check_repeated(models):
    again = []
    for own in models:
        seen = set()
        for atom in own:
            if atom[:2] in seen:
                again.append(atom[6])
            seen.add(atom[:2])
    _check(not again, min(again, default=None))


def _chosen(own, parents):
    best = {}
    for atom in own:
        other = best.get(atom[0])
        if other is None or (-atom[2], atom[1]) < (-other[2], other[1]):
            best[atom[0]] = atom
    return [(key, atom[3], atom[4] or parents[atom[5]]) for key, atom in sorted(best.items())]
