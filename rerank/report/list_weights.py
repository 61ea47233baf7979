"""Weights of training lists, as text and JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from rerank.core.tables.display import Display
from rerank.core.text import count
from rerank.core.types import Floats


@dataclass(frozen=True, eq=False, repr=False)
class ListWeights(Display):
    """A weight for each training list, and how it was found.

    Attributes
    ----------
    weights : float64 (n_lists)
        Of mean 1, in the order of the training lists.
    ids : list of str
        Of the training lists.
    figures : mapping of str to float
        See ``rerank.transductive.weighting.lists.WeighedLists``.
    settings : mapping of str to Any
        The kernel, the basis and their settings.
    scaling : str
        The scaling of features, fitted on the training lists.
    seed : int
    sources : (str, str)
        Names of the training lists and of the lists to be ranked.
    sizes : (int, int)
        How many there are of each.
    """

    weights: Floats
    ids: list[str]
    figures: Mapping[str, float]
    settings: Mapping[str, Any]
    scaling: str
    seed: int
    sources: tuple[str, str]
    sizes: tuple[int, int]

    def as_json(self) -> dict[str, Any]:
        """Return the figures with full precision."""
        return {
            "train": {"source": self.sources[0], "lists": self.sizes[0]},
            "test": {"source": self.sources[1], "lists": self.sizes[1]},
            "settings": {name: value for name, value in self.settings.items() if value is not None},
            "scaling": self.scaling,
            "seed": self.seed,
            "figures": {name: None if np.isnan(value) else value for name, value in self.figures.items()},
        }


def weighing_facts(found: ListWeights) -> list[tuple[str, str]]:
    """Return the figures as names and texts."""
    figures, settings, (train, test) = found.figures, found.settings, found.sources
    own = [f"{name} {settings[name]:g}" for name in ("components", "ridge") if settings[name] is not None]
    kernel = settings["kernel"] + (f" ({', '.join(own)})" if own else "")
    used, centres = int(figures["active"]), count(int(figures["centres"]), "centre")
    rows = [
        ("lists", f"{found.sizes[0]} of {train}, weighted for {found.sizes[1]} of {test}"),
        ("kernel", f"{kernel}, scaling {found.scaling}"),
        ("basis", f"{settings['basis']}, {used} of {centres} used"),
    ]
    if settings["basis"] == "gaussian":
        left_out = f"mean log w of left-out lists {figures['held_out']:.4f}"
        rows.append(("width", f"{figures['width']:.6g}, {left_out}"))
    rows += [
        ("likelihood", f"mean log w {figures['likelihood']:.4f}"),
        ("quartiles", " ".join(f"{figures[name]:.4f}" for name in ("q25", "median", "q75"))),
        ("largest", f"{found.weights.max():.4f}"),
        ("effective", f"{figures['effective']:.1%} of the lists"),
        ("zeros", f"{figures['zeros']:.1%} of the weights are below 1e-6"),
    ]
    for name, source, what in (
        ("equal_items", train, "of equal items, similar to no list"),
        ("equal_items_unlabelled", test, "of equal items, left out"),
        ("unlike", test, "similar to no training list, left out"),
    ):
        if figures[name]:
            rows.append(("note", f"{source}: {count(int(figures[name]), 'list')} {what}"))
    return rows
