"""Reading PDB files compared with gemmi and Biopython: MB per CPU second.

Makes full-atom files, and one file of many models with a million atoms, then reads them with each reader. The
peers build their whole hierarchy of atoms; rerank keeps alpha carbons.

    python scripts/bench/structures.py [--files 1000] [--atoms 2000] [--repeat 3]

A peer that is not installed is left out: ``pip install gemmi biopython`` installs both.
"""

from __future__ import annotations

import argparse
import importlib
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from common import cpu_seconds, installed

from rerank.extensions.proteins.sources import read_file, read_structures

NAMES = ("N", "CA", "C", "O", "CB", "CG", "CD", "CE")
LARGE = 1_000_000  # atoms of one file


def atoms(n: int, rng: np.random.Generator) -> str:
    """Lines of ``n`` atoms, eight to a residue."""
    xyz = rng.uniform(-99, 99, (n, 3))
    return "".join(
        f"ATOM  {i % 99_999 + 1:5d}  {NAMES[i % 8]:<3s} ALA A{i // 8 + 1:4d}    "
        f"{xyz[i, 0]:8.3f}{xyz[i, 1]:8.3f}{xyz[i, 2]:8.3f}  1.00  0.00           {NAMES[i % 8][0]}  \n"
        for i in range(n)
    )


def peers() -> dict[str, Callable[[str], Any]]:
    """The readers of a file that are installed."""
    found: dict[str, Callable[[str], Any]] = {}
    if installed("gemmi"):
        import gemmi

        found["gemmi"] = gemmi.read_pdb
    if installed("Bio"):
        parser = importlib.import_module("Bio.PDB").PDBParser(QUIET=True)
        found["biopython"] = lambda path: parser.get_structure("x", path)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="PDB readers side by side")
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--atoms", type=int, default=2000, help="of each file, 79,992 at most")
    parser.add_argument("--repeat", type=int, default=3)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(1)
    with tempfile.TemporaryDirectory() as name:
        folder, large = Path(name) / "models", Path(name) / "large.pdb"
        folder.mkdir()
        for i in range(args.files):
            (folder / f"m{i}.pdb").write_text(atoms(args.atoms, rng), encoding="ascii")
        part = atoms(50_000, rng)
        models = LARGE // 50_000
        large.write_text("".join(f"MODEL {i}\n{part}ENDMDL\n" for i in range(models)), encoding="ascii")
        paths = sorted(str(path) for path in folder.iterdir())
        size = sum(path.stat().st_size for path in folder.iterdir()) / 1e6
        print(f"{args.files} files of {args.atoms} atoms, {size:.0f} MB; one of {LARGE:,} atoms")
        report(
            "rerank", size, lambda: read_structures(str(folder)), lambda: read_file(str(large)), args.repeat
        )
        for peer, read in peers().items():
            repeat = 1 if peer == "biopython" else args.repeat
            report(peer, size, lambda: [read(path) for path in paths], lambda: read(str(large)), repeat)  # noqa: B023


def report(name: str, size: float, folder: Callable[[], Any], large: Callable[[], Any], repeat: int) -> None:
    seconds = cpu_seconds(folder, repeat)
    print(f"{name:10} {size / seconds:6.0f} MB/CPU s  large file {cpu_seconds(large, repeat):6.2f} CPU s")


if __name__ == "__main__":
    main()
