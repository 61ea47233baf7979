"""DockQ and lDDT of assemblies compared with the package DockQ and with biotite, from files, in one run.

    python scripts/bench/docking.py [MODEL NATIVE]...

Without files two dimers and a trimer of made chains are compared. Both read the files anew each time; DockQ
runs in one process, over the same assignments of chains. lDDT is that of alpha carbons: biotite does not
resolve symmetric atoms. A peer that is not installed is left out: ``pip install DockQ biotite`` installs both
(DockQ asks for numpy below 2 and runs with a later one if it is compiled for it).
"""

from __future__ import annotations

import gc
import importlib
import tempfile
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from common import arguments, cpu_seconds, installed

import rerank
from rerank.core.types import Floats
from rerank.metrics.base import parse

RESIDUES = 150
LETTERS = ("ALA", "SER", "VAL", "LEU")
SIDES = {"ALA": ("CB",), "SER": ("CB", "OG"), "VAL": ("CB", "CG1", "CG2"), "LEU": ("CB", "CG", "CD1", "CD2")}

Residues = list[tuple[str, dict[str, Floats]]]


def chain(rng: np.random.Generator, at: Floats, n: int) -> Residues:
    """Residues of a compact walk, by name, with the positions of their atoms."""
    place, direction = at.copy(), rng.normal(size=3)
    out = []
    for _ in range(n):
        direction = 0.6 * direction / np.linalg.norm(direction) + rng.normal(size=3) - 0.08 * (place - at)
        place = place + 3.8 * direction / np.linalg.norm(direction)
        name = str(rng.choice(LETTERS))
        names = ("N", "CA", "C", "O", *SIDES[name])
        out.append((name, {atom: place + (atom != "CA") * rng.normal(0, 1.0, 3) for atom in names}))
    return out


def write(path: Path, chains: list[Residues], rng: np.random.Generator, noise: float) -> None:
    """Write a PDB file of chains with noise, each moved by some of it."""
    lines = list[str]()
    for letter, residues in zip("ABCDEF", chains, strict=False):
        by = rng.normal(0, noise, 3)
        for number, (name, atoms) in enumerate(residues, 1):
            for atom, xyz in atoms.items():
                x, y, z = xyz + by + rng.normal(0, noise, 3)
                lines.append(
                    f"ATOM  {len(lines) % 99999:5d}  {atom:<3} {name} {letter}{number:4d}    "
                    f"{x:8.3f}{y:8.3f}{z:8.3f}  1.00  0.00           {atom[0]}\n"
                )
    path.write_text("".join([*lines, "END\n"]))


def made(folder: Path) -> list[tuple[str, str]]:
    """Models and natives: dimers of 300 and 600 residues, a trimer of 450."""
    rng = np.random.default_rng(1)
    out = []
    for name, n_chains, n in (
        ("dimer", 2, RESIDUES),
        ("large dimer", 2, 2 * RESIDUES),
        ("trimer", 3, RESIDUES),
    ):
        turns = [2 * np.pi * k / n_chains for k in range(n_chains)]
        chains = [chain(rng, 11.0 * np.array([np.cos(t), np.sin(t), 0.0]), n) for t in turns]
        paths = folder / f"{name} model.pdb", folder / f"{name}.pdb"
        write(paths[0], chains, rng, 0.5)
        write(paths[1], chains, rng, 0.0)
        out.append((str(paths[0]), str(paths[1])))
    return out


def ours(name: str, model: str, native: str) -> float:
    lists = rerank.load(model, native=native, match="sequence")
    judge: Any = parse(name).prepare(lists)
    return float(judge.own_values()[0])


def of_package(peer: Any, model: str, native: str) -> float:
    """GlobalDockQ over the best mapping of chains, as its command computes it."""
    one, other = peer.load_PDB(model), peer.load_PDB(native)
    chains = [chain.id for chain in one], [chain.id for chain in other]
    clusters, reverse = peer.group_chains(one, other, *chains, allowed_mismatches=20)
    maps = peer.get_all_chain_maps(clusters, {}, reverse, *chains)
    best = max((peer.run_on_all_native_interfaces(one, other, m) for m in maps), key=lambda found: found[1])
    for name in ("get_aligned_residues", "get_residue_distances", "align_chains", "list_atoms_per_residue"):
        getattr(peer, name).cache_clear()
    for name in ("subset_atoms", "run_on_chains"):
        getattr(peer, name).cache_clear()
    return float(best[1] / len(best[0]))


def of_biotite(model: str, native: str) -> float:
    """lDDT of the alpha carbons that both have; equal numbers of them."""
    structure, pdb = (
        importlib.import_module("biotite.structure"),
        importlib.import_module("biotite.structure.io.pdb"),
    )
    atoms = [pdb.PDBFile.read(path).get_structure(model=1) for path in (native, model)]
    alpha = [one[(one.atom_name == "CA") & (one.element != "CA")] for one in atoms]
    return float(structure.lddt(*alpha))


def peers() -> list[tuple[str, str, Callable[[str, str], float]]]:
    """Metric, name and function of each peer that is installed."""
    found: list[tuple[str, str, Callable[[str, str], float]]] = []
    if installed("DockQ"):
        found.append(("DockQ", "DockQ", partial(of_package, importlib.import_module("DockQ.DockQ"))))
    if installed("biotite"):
        found.append(("lDDT-CA", "biotite", of_biotite))
    return found


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("files", nargs="*", metavar="FILE")
    files = parser.parse_args().files
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        pairs = list(zip(files[::2], files[1::2], strict=True)) or made(Path(folder))
        print("file, metric, rerank, CPU ms, peer, CPU ms, ratio")
        for model, native in pairs:
            for metric, name, peer in peers():
                try:
                    values = ours(metric, model, native), peer(model, native)
                except ValueError as error:
                    print(f"{Path(model).stem}, {metric}: {name} cannot read it ({error})")
                    continue
                own = cpu_seconds(partial(ours, metric, model, native), times=3)
                other = cpu_seconds(partial(peer, model, native), times=3)
                gc.collect()
                print(
                    f"{Path(model).stem}, {metric}, {values[0]:.4f}, {own * 1e3:.1f}, "
                    f"{name} {values[1]:.4f}, {other * 1e3:.1f}, {own / other:.2f}"
                )
            whole = cpu_seconds(partial(ours, "lDDT", model, native), times=3)
            print(f"{Path(model).stem}, lDDT, {ours('lDDT', model, native):.4f}, {whole * 1e3:.1f}")


if __name__ == "__main__":
    main()
