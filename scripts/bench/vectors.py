#!/usr/bin/env python3
"""Measure the CPU seconds of reading vectors from an npy file, and of their similarities.

100,000 items in lists of 100, 256 float32 numbers each.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import numpy as np

from rerank import CandidateLists
from rerank.data.reading import Reading
from rerank.extensions.vectors.similarities import similarities
from rerank.formats.vector_files import with_vectors


def main() -> None:
    """Print the seconds of both parts, the best of three."""
    rng, n, size = np.random.default_rng(0), 100_000, 100
    lists = CandidateLists.from_arrays(np.empty((n, 0)), group=[size] * (n // size))
    with tempfile.TemporaryDirectory() as folder:
        items, queries = f"{folder}/items.npy", f"{folder}/queries.npy"
        np.save(items, rng.standard_normal((n, 256), dtype=np.float32))
        np.save(queries, rng.standard_normal((n // size, 256), dtype=np.float32))
        assert Path(items).stat().st_size > 1024 * n
        best = [np.inf, np.inf]
        for _ in range(3):
            start = time.process_time()
            read = with_vectors(lists, Reading(vectors=items, query_vectors=queries))
            middle = time.process_time()
            assert read.vectors is not None
            similarities(read, read.vectors, read.query_vectors)
            spent = middle - start, time.process_time() - middle
            best = [min(pair) for pair in zip(best, spent, strict=True)]
    print(f"{n:,} items of 256 numbers: reading {best[0]:.2f} s, four features {best[1]:.2f} s of CPU")


if __name__ == "__main__":
    main()
