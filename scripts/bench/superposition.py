"""Superpositions compared with TMscore: counts, TM-scores and CPU time of both in one run.

    RERANK_DATA=... python scripts/bench/superposition.py

The pairs are those of the shared data: ``gdt/pdb.tar.gz`` and ``gdt/tmscore_reference.csv``. TMscore is found
on PATH. If either is missing there is nothing to compare, which is reported. The CPU time of its process
includes start and reading; that of a process on four residues is subtracted. rerank's time is that of the
search, from arrays.
"""

from __future__ import annotations

import csv
import os
import re
import resource
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

import numpy as np
from common import arguments, cpu_seconds

from rerank.core.types import Floats
from rerank.data.columns.offsets import offsets_of
from rerank.extensions.proteins.residue_pairs import superpositions

Row = tuple[str, int, Floats, float, float]


def read(path: Path) -> dict[str, tuple[str, list[float]]]:
    """Return the lines and positions of the alpha carbons by residue number."""
    out: dict[str, tuple[str, list[float]]] = {}
    for line in path.read_text().splitlines():
        if line.startswith("ENDMDL"):
            break
        if line.startswith("ATOM") and line[12:16].strip() == "CA":
            out.setdefault(line[22:27], (line, [float(line[at : at + 8]) for at in (30, 38, 46)]))
    return out


def tmscore(model: Path, native: Path) -> tuple[list[float], float]:
    """Return GDT-TS, GDT-HA and TM-score as printed, and the CPU seconds of the process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    text = subprocess.run(["TMscore", model, native], capture_output=True, text=True, check=True).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    names = ("GDT-TS-score=", "GDT-HA-score=", r"TM-score\s+=")
    values = [re.search(rf"^{name}\s*([\d.]+)", text, re.MULTILINE) for name in names]
    return [float(value[1]) for value in values if value], cpu


def main() -> None:
    arguments(__doc__ or "").parse_args()
    shared = os.environ.get("RERANK_DATA")
    if shared is None or shutil.which("TMscore") is None:
        print("superposition: skipped, needs RERANK_DATA with gdt/, and TMscore on PATH")
        return
    with tempfile.TemporaryDirectory() as place:
        with tarfile.open(Path(shared, "gdt", "pdb.tar.gz")) as archive:
            archive.extractall(place, filter="data")
        with Path(shared, "gdt", "tmscore_reference.csv").open() as lines:
            names = [(row["model"], row["native"], row["kind"]) for row in csv.DictReader(lines)]
        report(measured(Path(place, "pdb"), names))


def measured(folder: Path, names: list[tuple[str, str, str]]) -> list[Row]:
    """Return kind, length, differences from TMscore and both CPU times of pairs of model and native."""
    small = folder / "small.pdb"
    first = list(read(folder / names[0][0]).values())[:4]
    small.write_text("".join(line + "\n" for line, _ in first) + "TER\n")
    start = min(tmscore(small, small)[1] for _ in range(20))
    rows = []
    for model_name, native_name, kind in names:
        model, native = read(folder / model_name), read(folder / native_name)
        shared = [key for key in native if key in model]
        a, b = (np.array([chain[key][1] for key in shared]) for chain in (model, native))
        order = np.arange(len(shared))
        given = (a, b, order, order, offsets_of([len(shared)]), [len(native)])
        seconds = cpu_seconds(lambda given=given: superpositions(*given), times=3)  # type: ignore[misc]
        found = superpositions(*given)[0]
        ours = [found[1:5].mean() / len(native), found[:4].mean() / len(native), found[5]]
        theirs, cpu = tmscore(folder / model_name, folder / native_name)
        rows.append((kind, len(native), np.array(ours) - theirs, seconds, cpu - start))
    return rows


def report(rows: list[Row]) -> None:
    """Print the differences and the ratio of CPU times by kind of pair, and the times by length."""
    for kind in ("all", *sorted({row[0] for row in rows})):
        some = [row for row in rows if kind in ("all", row[0])]
        differences = np.array([row[2] for row in some])
        ratio = sum(row[3] for row in some) / sum(row[4] for row in some)
        print(f"{kind}: {len(some)} pairs, CPU {ratio:.2f} of TMscore's")
        for name, of_name in zip(("GDT-TS", "GDT-HA", "TM"), differences.T, strict=True):
            above, below = (of_name > 1e-4).sum(), (of_name < -1e-4).sum()
            print(
                f"  {name} above {above} below {below} mean {of_name.mean():+.4f} least {of_name.min():+.4f}"
            )
    for length in sorted({row[1] for row in rows}):
        mine, theirs_ms = (1e3 * np.mean([r[at] for r in rows if r[1] == length]) for at in (3, 4))
        print(f"{length} residues: {mine:.2f} ms, TMscore {theirs_ms:.2f} ms")


if __name__ == "__main__":
    main()
