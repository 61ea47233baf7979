"""PDB files for tests, made line by line."""

from collections.abc import Sequence

# Coordinates, one residue apart; written with three decimals.
Point = tuple[float, float, float]


def atom(
    number: int | str,
    xyz: Point | Sequence[str] = (1.0, 2.0, 3.0),
    *,
    name: str = " CA ",
    residue: str = "ALA",
    chain: str = "A",
    insertion: str = " ",
    altloc: str = " ",
    occupancy: str = "  1.00",
    record: str = "ATOM  ",
    serial: int | str = 1,
    rest: str = "  0.00           C  ",
) -> str:
    """Return a line with an atom, each field at its columns."""
    fields = "".join(f"{value:8.3f}" if isinstance(value, float) else f"{value:>8s}" for value in xyz)
    residue = f"{residue:>3s}".ljust(4)
    head = f"{record}{serial:>5} {name}{altloc}{residue}{chain}{number:>4}{insertion}   "
    return f"{head}{fields}{occupancy}{rest}"


def trace(n: int, *, start: int = 1, chain: str = "A", shift: float = 0.0) -> list[str]:
    """Return lines of ``n`` residues."""
    return [atom(start + i, (3.8 * i + shift, float(i % 3), 0.5 * i), chain=chain) for i in range(n)]


def text(*lines: str) -> bytes:
    """Return lines as the content of a file."""
    return ("\n".join(lines) + "\n").encode("ascii")
