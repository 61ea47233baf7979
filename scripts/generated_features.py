#!/usr/bin/env python3
"""What generated features are like, and which kinds rankers choose: Table 5.3, Figure 5.3 of Duh (2009).

For each test list of each FOLD (a folder with train.txt.gz and test.txt.gz) a ranker is made by ``fg``. The
first table has, for each kind of generated features, how well a single original feature explains one of them:
r² over the list's items with the original feature for which it is largest; the mean over all generated
features, the largest, and where that is. The second table counts the kinds among the --top weak rankers of
largest weight.
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np

import rerank
from rerank.core.types import Floats
from rerank.data.lists import CandidateLists
from rerank.extensions.transductive.generation import GeneratedModel
from rerank.extensions.transductive.lists import single
from rerank.extensions.transductive.model import TransductiveModel
from rerank.formats import load

ORIGINAL = "original"


class Likeness(NamedTuple):
    """A generated feature of a list and the original one that explains it best."""

    r2: float
    generated: str
    original: str
    list_id: str


def determination(generated: Floats, original: Floats) -> Floats:
    """Return the coefficient of determination of each two columns, float64 (n_generated, n_original).

    It is the squared correlation over the items, 0 if one of the two is constant.
    """
    a, b = (values - values.mean(axis=0) for values in (generated, original))
    norms = np.sqrt(np.outer((a**2).sum(axis=0), (b**2).sum(axis=0)))
    products = a.T @ b
    found: Floats = np.divide(products, norms, out=np.zeros_like(products), where=norms > 0) ** 2
    return found


def kind_of(feature: str, generated: Iterable[str]) -> str:
    """Return the kernel that made a feature, or "original"."""
    return feature.rpartition("#")[0] if feature in generated else ORIGINAL


def kinds_chosen(model: GeneratedModel, top: int) -> str:
    """Return the kinds among the weak rankers of largest weight, such as "linear + original"."""
    rankers = model.inner.explain()[:top]
    return " + ".join(sorted({kind_of(name.split(" ")[0], model.names) for name, _ in rankers}))


def examined(
    train: CandidateLists, test: CandidateLists, rounds: int, top: int
) -> tuple[list[Likeness], list[str]]:
    """Return what each generated feature of each list is like, and the kinds that each ranker chooses."""
    model = rerank.train(train, "fg", base={"name": "rankboost", "rounds": rounds, "keep": "last"})
    assert isinstance(model, TransductiveModel)
    ready, like, chosen = model.prepared(test), [], []
    originals = ready.names()
    for i in range(test.n_lists):
        ranker = model.ranker(test, i).model
        if not isinstance(ranker, GeneratedModel):
            continue
        one = single(ready, i, labels=False)
        r2 = determination(ranker.columns(one), one.features.to_dense())
        for row, name in zip(r2, ranker.names, strict=True):
            best = int(np.argmax(row))
            like.append(Likeness(float(row[best]), name, originals[best], test.list_id(i)))
        chosen.append(kinds_chosen(ranker, top))
    return like, chosen


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folds", nargs="+", type=Path, metavar="FOLD")
    parser.add_argument("--rounds", type=int, default=300, help="rounds of RankBoost (300)")
    parser.add_argument("--top", type=int, default=5, help="weak rankers that are looked at (5)")
    asked = parser.parse_args()
    like: list[Likeness] = []
    chosen: list[str] = []
    for fold in asked.folds:
        train, test = (load(str(fold / f"{part}.txt.gz")) for part in ("train", "test"))
        found = examined(train, test, asked.rounds, asked.top)
        like += found[0]
        chosen += found[1]
    by_kind: dict[str, list[Likeness]] = defaultdict(list)
    for one in like:
        by_kind[one.generated.rpartition("#")[0]].append(one)
    print(f"{'kind':16}{'features':>9}{'mean r²':>9}{'largest':>9}  generated, original, list")
    for kind, rows in by_kind.items():
        most, mean = max(rows), np.mean([row.r2 for row in rows])
        where = ", ".join((most.generated, most.original, most.list_id))
        print(f"{kind:16}{len(rows):9}{mean:9.3f}{most.r2:9.3f}  {where}")
    print(f"\n{'lists':>5}  kinds among the {asked.top} weak rankers of largest weight")
    for kinds, n in Counter(chosen).most_common():
        print(f"{n:5}  {kinds}")


if __name__ == "__main__":
    main()
