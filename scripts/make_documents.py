#!/usr/bin/env python3
"""Make the set of data/documents-tiny: simulated queries, ten documents each, with features and grades.

A document has a hidden relevance: how well its subject fits, whether it is fresh if the query asks for news,
and how much it can be trusted. Grades 0, 1 and 2 are cut from it, with noise. Features see parts of it: bm25
and its variants see the fit with noise, days and is_news the freshness, links and clicks the trust. length
and slashes tell nothing. The first stage is bm25. Needs the standard library only.

    python scripts/make_documents.py [--out DIR]
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path

SEED = 3
QUERIES, DOCUMENTS = {"train": 60, "dev": 30, "test": 60}, 10
FEATURES = ("bm25", "bm25_title", "bm25_url", "days", "is_news", "links", "clicks", "length", "slashes")


def drawn_list(rng: random.Random) -> list[tuple[int, list[float]]]:
    """Return grade and features of each document of a query."""
    is_news, found = rng.random() < 0.4, []
    for _ in range(DOCUMENTS):
        fit, days, trust = rng.gauss(0, 1), rng.randint(0, 400), rng.gauss(0, 1)
        fresh = 1.5 * (1 - days / 200) if is_news else 0.0
        relevance = fit + fresh + 0.8 * trust + rng.gauss(0, 0.5)
        features = [
            8 + 2 * (fit + rng.gauss(0, 0.8)),
            max(0.0, 3 + 2 * (fit + rng.gauss(0, 1.2))),
            max(0.0, fit + rng.gauss(0, 1.5)),
            days,
            is_news,
            max(0, round(20 + 12 * (trust + rng.gauss(0, 0.7)))),
            max(0, round(50 + 30 * (trust + 0.4 * fit + rng.gauss(0, 0.9)))),
            rng.randint(100, 3000),
            rng.randint(1, 6),
        ]
        found.append(((relevance > 1.2) + (relevance > 2.2), [round(float(x), 2) for x in features]))
    return found


def make_documents(out: Path) -> None:
    """Write train.letor, dev.letor, test.letor and features.txt into folder ``out``."""
    rng = random.Random(SEED)
    out.mkdir(parents=True, exist_ok=True)
    for part, queries in QUERIES.items():
        lines = [
            f"{grade} qid:{part}-{query} "
            + " ".join(f"{n}:{value:g}" for n, value in enumerate(features, start=1) if value)
            + f" # d{query}-{document}\n"
            for query in range(1, queries + 1)
            for document, (grade, features) in enumerate(drawn_list(rng), start=1)
        ]
        (out / f"{part}.letor").write_text("".join(lines), encoding="ascii")
    (out / "features.txt").write_text("".join(f"{name}\n" for name in FEATURES), encoding="ascii")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    home = Path(__file__).resolve().parent.parent / "data" / "documents-tiny"
    parser.add_argument("--out", type=Path, default=home, metavar="DIR", help="folder for the files")
    make_documents(parser.parse_args().out)
