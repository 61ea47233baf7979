"""Loading JSON Lines compared with json, orjson and polars: MB per CPU second and peak memory.

Makes three files: a list per line, a candidate per line with an object of features, and samples (best of n:
a completion per line, whose numbers are keys of their own). Every reader loads each of them in a process of
its own into what a learner needs: a matrix of features, labels, the texts and the list of each candidate. All
must find the same values. Times are of the best of several loads without start-up (imports); the peak is the
resident memory of the whole process after one load.

    python scripts/bench/json_lines.py [--quick] [--mb 40] [--features 2 8 32] [--repeat 3] [--growth]

``--growth`` loads files of a hundredth, a tenth and all of the size with rerank alone. A peer that is not
installed is left out.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import operator
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import common
import numpy as np
from common import absent, installed

from rerank.core.system import PEAK_UNIT

SHAPES = ("lists", "items", "samples")
PEERS = ("json", "orjson", "polars")
SIZE = 8  # candidates of a list
NUMBERS = ("cumulative_logprob", "reward", "n_tokens")
Loaded = tuple[Any, Any, Any, Any]  # features, labels, texts, list of each candidate


def make_file(path: Path, shape: str, n_features: int, n_bytes: float) -> None:
    """Write lists of a shape until there are ``n_bytes``."""
    rng = np.random.default_rng(1)
    words = common.draw_words(rng)
    written = 0
    number = 0
    with path.open("w", encoding="utf-8") as file:
        while written < n_bytes:
            for line in lines_of(rng, words, shape, n_features, number):
                written += file.write(json.dumps(line) + "\n")
            number += 1


def lines_of(
    rng: np.random.Generator, words: list[str], shape: str, n_features: int, number: int
) -> Iterator[dict[str, Any]]:
    """Yield the lines of one list."""

    def text(n: int) -> str:
        return " ".join(words[i] for i in rng.integers(0, len(words), n))

    if shape == "samples":
        prompt = text(30)
        for _ in range(SIZE):
            response = f"{text(25)}\nSo the answer is “{rng.integers(100)}”."
            yield {
                "prompt_id": number,
                "prompt": prompt,
                "response": response,
                "predicted_answer": str(rng.integers(100)),
                "correct": bool(rng.random() < 0.5),
                "cumulative_logprob": -50 * rng.random(),
                "reward": rng.normal(),
                "n_tokens": int(rng.integers(10, 999)),
            }
        return
    candidates = []
    for _ in range(SIZE):
        values = rng.normal(size=n_features)
        features = {
            f"feature{j}": round(value, 4) if j % 3 else int(9 * abs(value)) for j, value in enumerate(values)
        }
        score = round(-20 * rng.random(), 4)
        candidates.append(
            {"text": text(15), "label": int(rng.integers(2)), "score": score, "features": features}
        )
    if shape == "lists":
        yield {"id": f"s{number}", "candidates": candidates, "references": [text(15)]}
    else:
        yield from ({"list": f"s{number}", **candidate} for candidate in candidates)


def loader(reader: str, shape: str, path: str) -> Callable[[], Loaded]:
    """Return a function that loads ``path``; imports happen here, before the clock starts."""
    if reader == "polars":
        import polars

        return lambda: by_polars(polars, shape, path)
    if reader == "rerank":
        from rerank.formats import load

        return lambda: by_rerank(load, path)
    if reader == "orjson":
        import orjson

        return lambda: by_lines(orjson.loads, shape, path)
    return lambda: by_lines(json.loads, shape, path)


def by_rerank(load: Callable[..., Any], path: str) -> Loaded:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        lists = load(path, format="jsonl")
    return lists.features, lists.labels, lists.texts, (lists.offsets, lists.list_ids)


def by_lines(loads: Callable[[bytes], Any], shape: str, path: str) -> Loaded:
    """Load a file as a script with a JSON parser and numpy does."""
    rows: list[Any] = []
    labels: list[float] = []
    texts: list[str] = []
    lists: list[Any] = []
    values = None
    with open(path, "rb") as file:
        for line in file:
            entry = loads(line)
            if shape == "samples":
                rows.append((entry["cumulative_logprob"], entry["reward"], entry["n_tokens"]))
                labels.append(entry["correct"])
                texts.append(entry["response"])
                lists.append(entry["prompt_id"])
                continue
            candidates = entry["candidates"] if shape == "lists" else (entry,)
            name = entry["id" if shape == "lists" else "list"]
            for candidate in candidates:
                if values is None:
                    values = operator.itemgetter(*candidate["features"])
                rows.append(values(candidate["features"]))
                labels.append(candidate["label"])
                texts.append(candidate["text"])
                lists.append(name)
    return np.array(rows, dtype=np.float64), np.array(labels, dtype=np.float64), texts, lists


def by_polars(polars: Any, shape: str, path: str) -> Loaded:
    frame = polars.read_ndjson(path)
    if shape == "samples":
        rows = frame.select(NUMBERS).cast(polars.Float64).to_numpy()
        return rows, frame["correct"].cast(polars.Float64).to_numpy(), frame["response"], frame["prompt_id"]
    if shape == "lists":
        frame = frame.select(polars.col("id").alias("list"), "candidates").explode("candidates")
        frame = frame.unnest("candidates")
    rows = frame["features"].struct.unnest().cast(polars.Float64).to_numpy()
    return rows, frame["label"].cast(polars.Float64).to_numpy(), frame["text"], frame["list"]


def digest(loaded: Loaded) -> str:
    """Return a digest of what was found."""
    features, labels, texts, lists = loaded
    if isinstance(lists, tuple):
        features = features.to_dense()
        lists = np.repeat(np.array(list(lists[1])), np.diff(lists[0])).tolist()
    found = hashlib.sha256(np.ascontiguousarray(features, dtype=np.float64).tobytes())
    found.update(np.asarray(labels, dtype=np.float64).tobytes())
    for strings in (texts, lists):
        found.update("\0".join(map(str, strings)).encode())
    return found.hexdigest()


def measure(reader: str, shape: str, path: str, repeat: int) -> dict[str, Any]:
    """Return CPU seconds, the peak of memory in MB and the digest."""
    load = loader(reader, shape, path)
    with tempfile.TemporaryDirectory() as folder:  # modules that the first load imports
        small = Path(folder) / "small.jsonl"
        make_file(small, shape, 1, 1)
        loader(reader, shape, str(small))()
    start = time.process_time()
    loaded = load()
    seconds = [time.process_time() - start]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * PEAK_UNIT / 1e6
    found = digest(loaded)
    del loaded
    for _ in range(repeat - 1):
        start = time.process_time()
        load()
        seconds.append(time.process_time() - start)
    return {"cpu": min(seconds), "first": seconds[0], "peak": peak, "digest": found}


def in_process(reader: str, shape: str, path: Path, repeat: int) -> dict[str, Any]:
    """Return what ``measure`` finds in a process of its own."""
    command = [sys.executable, __file__, "--repeat", str(repeat), "--child", reader, shape, str(path)]
    done = subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"{reader}: exit status {done.returncode}")
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def compare(folder: Path, shape: str, n_features: int, args: argparse.Namespace) -> None:
    """Print a row for a file with each reader."""
    path = folder / f"{shape}.jsonl"
    make_file(path, shape, n_features, args.mb * 1e6)
    size = path.stat().st_size / 1e6
    peers = [peer for peer in PEERS if absent(peer) is None]
    found = {reader: in_process(reader, shape, path, args.repeat) for reader in ("rerank", *peers)}
    path.unlink()
    for reader, result in found.items():
        if result["digest"] != found["rerank"]["digest"]:
            sys.exit(f"{shape}: {reader} found other values than rerank")
    print(f"{shape}, {n_features} features, {size:.0f} MB")
    own = found["rerank"]["cpu"]
    for reader, result in found.items():
        ratio = "" if reader == "rerank" else f"  rerank is {result['cpu'] / own:5.2f} x as fast"
        speed = f"{size / result['cpu']:6.0f} MB per CPU s (first load {size / result['first']:4.0f})"
        print(f"  {reader:7} {speed}  peak {result['peak']:5.0f} MB{ratio}")


def grow(folder: Path, shape: str, args: argparse.Namespace) -> None:
    """Print how CPU time and memory grow with the file."""
    for share in (0.01, 0.1, 1.0):
        path = folder / f"{shape}.jsonl"
        make_file(path, shape, args.features[0], share * args.mb * 1e6)
        found = in_process("rerank", shape, path, args.repeat)
        size = path.stat().st_size / 1e6
        print(f"{shape:8} {size:7.2f} MB  {1000 * found['cpu']:7.1f} ms  peak {found['peak']:5.0f} MB")
        path.unlink()


def main() -> None:
    parser = common.arguments(__doc__, quick="files of 1 MB, loaded once")
    parser.add_argument("--mb", type=float, default=40.0, help="size of each file (default 40)")
    parser.add_argument("--features", type=int, nargs="+", default=[2, 8, 32])
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--growth", action="store_true")
    parser.add_argument("--child", nargs=3, metavar=("READER", "SHAPE", "PATH"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        reader, shape, path = args.child
        print(json.dumps(measure(reader, shape, path, args.repeat)))
        return
    if args.quick:
        args.mb, args.features, args.repeat = 1.0, [2], 1
    for peer in PEERS:
        installed(peer)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for shape in SHAPES:
            if args.growth:
                grow(folder, shape, args)
                continue
            for n_features in args.features if shape != "samples" else [len(NUMBERS)]:
                compare(folder, shape, n_features, args)


if __name__ == "__main__":
    main()
