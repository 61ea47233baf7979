"""lDDT of the chosen models from every pair of alpha carbons, one list after the other."""

import math

from reference import atoms
from reference.everything import chosen, mean, plain


def value(metric, lists, scores, ties):
    """The mean of the chosen model's value over lists with a model that has a residue of the native."""
    found = []
    for part in plain(lists, scores):
        if not any(model.keys() & part.native.keys() for model in part.traces):
            continue
        one = value_of_model(part.traces[chosen(part)], part.native)
        found += [one] * (not math.isnan(one))
    return mean(found)


def value_of_model(model, native):
    """lDDT of dictionaries of position by key."""
    of_atoms = [{key: ("ALA", {"CA": xyz}) for key, xyz in one.items()} for one in (model, native)]
    return atoms.lddt(*of_atoms, alpha=True)
