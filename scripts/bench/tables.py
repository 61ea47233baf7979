"""Loading CSV and TSV compared with pandas and polars: CPU seconds, MB per CPU second and peak memory.

Makes tables by a seeded generator and loads each with every reader in a process of its own, on one thread.
A reader's time covers what a user needs: the feature matrix as float64, the labels, the bounds of the lists,
and ids and texts if the table has them. It excludes start-up (imports). All must find the same values; the
default parser of pandas is off by an ulp at times, so numbers are compared to 1e-12. The peak is that of the
process minus its memory before loading.

    python scripts/bench/tables.py [--mb 30] [--repeat 5] [--growth] [--quick] [SHAPE ...]

``--growth`` loads texts and narrow tables of 1, 10 and 100 times 1 MB instead. A peer that is not installed
is named and left out.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from common import arguments, draw_words, installed
from reader import resident

from rerank.core.system import PEAK_UNIT

READERS = ("rerank", "pandas", "pandas-pyarrow", "polars")
MODULES = {"pandas-pyarrow": "pyarrow"}
PER_LIST = 20
# Shape: columns, how numbers are printed, the suffix, whether with ids and quoted texts, the line of a quote.
SHAPES: dict[str, tuple[int, str, str, bool, bool]] = {
    "texts": (8, "%.4f", ".csv", True, False),
    "wide": (136, "%.6f", ".csv", False, False),
    "wide-one-quote": (136, "%.6f", ".csv", False, True),
    "narrow": (10, "%.4f", ".csv", False, False),
    "ints": (20, "%d", ".csv", False, False),
    "digits17": (20, "%.17g", ".csv", False, False),
    "tsv": (20, "%.6f", ".tsv", False, False),
    "gz": (20, "%.6f", ".csv.gz", False, False),
}
ROWS = {"texts": 4200, "wide": 870, "wide-one-quote": 870, "narrow": 14000, "ints": 18000, "digits17": 2650}
Arrays = dict[str, Any]


def lines(shape: str, n_rows: int) -> Iterator[str]:
    """Yield the header and ``n_rows`` rows, 20 a list."""
    columns, form, suffix, with_text, with_quote = SHAPES[shape]
    rng = np.random.default_rng(1)
    mark = "\t" if suffix == ".tsv" else ","
    words = draw_words(rng)
    names = [f"f{j + 1}" for j in range(columns)]
    yield mark.join(["qid", *(["id", "text"] if with_text else []), "label", *names]) + "\n"
    for start in range(0, n_rows, 1000):
        size = min(1000, n_rows - start)
        values = rng.standard_normal((size, columns)) * (100 if form == "%d" else 3)
        labels = rng.integers(0, 5, size)
        picked = rng.integers(0, len(words), (size, 24))
        for i in range(size):
            row = [f"q{(start + i) // PER_LIST}"]
            if with_text:
                text = " ".join(words[k] for k in picked[i])
                row += [f"doc{start + i}", f'"{text[:40]}, ""{text[40:60]}""{text[60:]}"']
            row += [str(labels[i]), *(form % value for value in values[i].tolist())]
            if with_quote and start + i == 3:
                row[-1] = f'"{row[-1]}"'
            yield mark.join(row) + "\n"


def make_file(folder: Path, shape: str, mb: float) -> Path:
    """Write a table of about ``mb`` MB of text."""
    path = folder / f"{shape}{SHAPES[shape][2]}"
    # Piece by piece: a process that is started inherits the peak memory of the one that starts it.
    with gzip.open(path, "wb", 6) if path.suffix == ".gz" else path.open("wb") as file:
        file.writelines(line.encode() for line in lines(shape, int(ROWS.get(shape, 5300) * mb)))
    return path


def loader(reader: str, path: str) -> Callable[[], Arrays]:
    """Return a function that loads ``path``; imports happen here, before the clock starts."""
    if reader == "polars":
        import polars

        mark = "\t" if ".tsv" in path else ","
        return lambda: _of_frame(polars.read_csv(path, separator=mark), lambda f, names: f.select(names))
    if reader.startswith("pandas"):
        import pandas  # type: ignore[import-untyped]

        engine: Any = "pyarrow" if reader == "pandas-pyarrow" else "c"
        mark = "\t" if ".tsv" in path else ","
        return lambda: _of_frame(pandas.read_csv(path, sep=mark, engine=engine), lambda f, names: f[names])
    import warnings

    from rerank.formats import load

    warnings.simplefilter("ignore")
    return lambda: _of_lists(load(path))


def _of_frame(frame: Any, select: Callable[[Any, list[str]], Any]) -> Arrays:
    """The arrays of a data frame; rows of a list are contiguous."""
    names = [name for name in frame.columns if name not in ("qid", "id", "text", "label")]
    ids = frame["qid"]
    changed = (ids != ids.shift(1)).to_numpy().copy()
    changed[0] = True
    bounds = np.append(np.flatnonzero(changed), len(ids))
    features = np.ascontiguousarray(select(frame, names).to_numpy(), dtype=np.float64)
    labels = frame["label"].to_numpy().astype(np.float64)
    texts = {name: frame[name] for name in ("id", "text") if name in frame.columns}
    return {"features": features, "labels": labels, "bounds": bounds, **texts}


def _of_lists(lists: Any) -> Arrays:
    texts = {"id": lists.item_ids, "text": lists.texts}
    given = {name: column for name, column in texts.items() if column is not None}
    return {"features": lists.features.values, "labels": lists.labels, "bounds": lists.offsets, **given}


def digest(arrays: Arrays) -> dict[str, Any]:
    """What must be equal: sums with weights by place, and hashes of bounds and texts."""
    features = arrays["features"]
    rows = np.arange(1, len(features) + 1) / len(features)
    out: dict[str, Any] = {
        "shape": list(features.shape),
        "sums": [float(x) for x in rows @ features],
        "labels": float(rows @ arrays["labels"]),
        "bounds": hashlib.sha256(np.asarray(arrays["bounds"], dtype=np.int64).tobytes()).hexdigest(),
    }
    for name in ("id", "text"):
        if name in arrays:
            joined = "\n".join(arrays[name])
            out[name] = hashlib.sha256(joined.encode()).hexdigest()
    return out


def measure(load: Callable[[], Arrays], repeat: int) -> dict[str, Any]:
    """The best CPU seconds of some loads in this process, its peak in MB over the start, and the values."""
    before, times, peak = resident(), [], 0.0
    for _ in range(repeat):
        start = time.process_time()
        loaded = load()
        times.append(time.process_time() - start)
        if not peak:
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * PEAK_UNIT / 1e6 - before
    return {"cpu": min(times), "peak": peak, "values": digest(loaded)}


def compare(path: Path, readers: list[str], repeat: int) -> dict[str, dict[str, Any]]:
    """Load a table with every reader, by turns; raise SystemExit if one finds other values."""
    results: dict[str, dict[str, Any]] = {}
    for _ in range(2):
        for reader in readers:
            command = [sys.executable, __file__, "--repeat", str(repeat), "--child", reader, str(path)]
            environment = {**os.environ, "POLARS_MAX_THREADS": "1", "OMP_NUM_THREADS": "1"}
            done = subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True, env=environment)
            if done.returncode:
                sys.exit(f"{reader}: exit status {done.returncode}")
            found = json.loads(done.stdout)
            known = results.setdefault(reader, found)
            known["cpu"] = min(known["cpu"], found["cpu"])
    first = results[readers[0]]["values"]
    for reader, result in results.items():
        values = result["values"]
        for key in ("sums", "labels"):
            if not np.allclose(values[key], first[key], rtol=1e-12, atol=1e-9):
                sys.exit(f"{path.name}: {reader} finds other {key} than {readers[0]}")
        if any(values[key] != first[key] for key in first if key not in ("sums", "labels")):
            sys.exit(f"{path.name}: {reader} finds other lists or texts than {readers[0]}")
    return results


def report(label: str, mb: float, results: dict[str, dict[str, Any]]) -> None:
    own = results["rerank"]["cpu"]
    for reader, result in results.items():
        ratio = "" if reader == "rerank" else f"  rerank is {result['cpu'] / own:5.2f} x as fast"
        speed = f"{result['cpu']:7.3f} s {mb / result['cpu']:6.0f} MB/s"
        print(f"{label:15} {reader:15} {speed}  peak {result['peak']:6.0f} MB{ratio}", flush=True)


def main() -> None:
    parser = arguments(__doc__ or "", quick="tables of 1 MB, once")
    parser.add_argument("shapes", nargs="*", metavar="SHAPE", help=f"of {', '.join(SHAPES)}")
    parser.add_argument("--mb", type=float, default=30.0)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--growth", action="store_true", help="1, 10 and 100 MB")
    parser.add_argument("--child", nargs=2, metavar=("READER", "PATH"))
    args = parser.parse_args()
    if args.child:
        print(json.dumps(measure(loader(*args.child), args.repeat)))
        return
    unknown = [shape for shape in args.shapes if shape not in SHAPES]
    if unknown:
        parser.error(f"unknown shape {unknown[0]!r}, expected one of {', '.join(SHAPES)}")
    needed = {reader: MODULES.get(reader, reader) for reader in READERS}
    readers = [reader for reader in READERS if installed(needed[reader])]
    sizes = [1.0, 10.0, 100.0] if args.growth else [1.0 if args.quick else args.mb]
    shapes = args.shapes or (["texts", "narrow"] if args.growth else list(SHAPES))
    for shape in shapes:
        for mb in sizes:
            with tempfile.TemporaryDirectory() as folder:
                path = make_file(Path(folder), shape, mb)
                results = compare(path, readers, 1 if args.quick else args.repeat)
                size = mb if path.suffix == ".gz" else path.stat().st_size / 1e6
                report(f"{shape} {size:.0f} MB", size, results)


if __name__ == "__main__":
    main()
