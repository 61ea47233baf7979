"""GDT, TM-score, RMSD and coverage of the chosen models, one list after the other.

Structures are dictionaries of position by residue key. Each pair is superposed by itself; the search has a
slow twin of its own, ``superposition``.
"""

import math

import numpy as np
from reference.everything import chosen, mean, plain
from reference.metrics.superposition import rmsd

from rerank.extensions.proteins.residue_pairs import superpositions


def value(metric, lists, scores, ties):
    """The mean of the chosen model's value over lists with a model that has a residue of the native."""
    found = []
    for part in plain(lists, scores):
        if not any(model.keys() & part.native.keys() for model in part.traces):
            continue
        values = [value_of_model(metric.family, model, part.native) for model in part.traces]
        known = [one for one in values if not math.isnan(one)]
        if known:  # only an RMSD can be unknown
            one = values[chosen(part)]
            found.append(max(known) if math.isnan(one) else one)
    return mean(found)


def value_of_model(family, model, native, **asked):
    """The metric of a model, both dictionaries; NaN for an RMSD of fewer than three residues."""
    shared = sorted(model.keys() & native.keys())
    if family == "coverage":
        return len(shared) / len(native)
    if family == "RMSD" and len(shared) < 3:
        return math.nan
    if not shared:
        return 0.0
    one, other = (np.array([residues[key] for key in shared]) for residues in (model, native))
    if family == "RMSD":
        return rmsd(one, other)
    rows = np.arange(len(shared))
    *counts, tm, _ = superpositions(one, other, rows, rows, [0, len(shared)], [len(native)], **asked)[0]
    if family == "TM":
        return tm
    within = counts[1:5] if family == "GDT-TS" else counts[:4]
    return 100.0 * sum(within) / 4 / len(native)
