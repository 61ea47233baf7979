"""Lists whose labels depend on a pair of features, and what a model with conjunctions adds up."""

from dataclasses import replace

import numpy as np
from make import features

from rerank.data.lists import CandidateLists

SETTINGS = {"epsilon": 0.01, "rounds": 25, "every": 5, "add": 3, "conjunctions": 7, "frequent": 6}


def drawn(seed=0, *, values=(0, 1), layout="dense", n_features=6, base=True):
    """Lists whose labels depend on two features, with ties, an unjudged item and lists without a pair."""
    rng = np.random.default_rng(seed)
    sizes = [1, 6, 5, 9, 4, 7]
    X = rng.choice(np.array(values, dtype=float), (sum(sizes), n_features))
    both = (X[:, 1] > 0) & (X[:, 3] > 0)
    y = np.round(np.clip(2.0 * both + rng.normal(0, 0.6, len(X)), 0, 3))
    y[1:7], y[10] = 2.0, np.nan
    lists = CandidateLists.from_arrays(features(layout, X), y, group=sizes, source="drawn lists")
    return replace(lists, base_scores=np.round(rng.normal(0, 1, len(X)), 1)) if base else lists


def found_steps(model):
    """The steps of a model by its literals."""
    out = {}
    for f, t, step in zip(model.feature.tolist(), model.threshold.tolist(), model.step.tolist(), strict=True):
        out[((f, t),)] = out.get(((f, t),), 0.0) + step
    made = model.conjunctions
    literals = list(zip(made.literals.feature.tolist(), made.literals.at.tolist(), strict=True))
    for i, weight in enumerate(model.weight.tolist()):
        members = made.members[made.bounds[i] : made.bounds[i + 1]].tolist()
        out[tuple(literals[k] for k in members)] = weight
    return out
