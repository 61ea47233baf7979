"""Structures of models and natives in words, for ``rerank validate``."""

from __future__ import annotations

import numpy as np

from rerank.core.text import count
from rerank.core.types import Floats
from rerank.data.columns.traces import Traces, chain_codes
from rerank.data.lists import CandidateLists


def structure_facts(lists: CandidateLists) -> list[tuple[str, str]]:
    """Return facts about models, natives, and how much of the natives the models cover."""
    facts = []
    if lists.traces is not None:
        facts.append(("models", _sizes(lists.traces)))
    if lists.natives is not None:
        facts.append(("natives", _sizes(lists.natives)))
    if lists.traces is not None and lists.natives is not None:
        shares = covered(lists)
        known = ~np.isnan(shares)
        shares, lengths = shares[known], lists.natives.lengths[lists.list_index[known]]
        if len(shares):
            low, middle, high = (f"{value:g}" for value in _spread(np.round(shares * lengths)))
            facts.append(("matched", f"{low} to {high} residues of model and native, median {middle}"))
            low, middle, high = (f"{100 * value:.4g}" for value in _spread(shares))
            full = f"{int((shares == 1).sum())} of {count(len(shares), 'model')} complete"
            facts.append(("coverage", f"{low} to {high}% of the native, median {middle}%; {full}"))
    return facts


def covered(lists: CandidateLists) -> Floats:
    """Return the share of its native's residues that each model has, float64 (n_items).

    NaN if there is no native or no model. Both columns must be there.
    """
    models, natives = lists.traces, lists.natives
    assert models is not None
    assert natives is not None
    out = np.full(lists.n_items, np.nan)
    for i in range(lists.n_lists):
        keys = natives.keys[natives.of(i)]
        for item in range(*lists.offsets[i : i + 2].tolist()):
            own = models.keys[models.of(item)]
            if len(keys) and len(own):
                out[item] = len(np.intersect1d(own, keys, assume_unique=True)) / len(keys)
    return out


def _sizes(traces: Traces) -> str:
    """Residues and chains of structures, and how many are empty."""
    there = np.flatnonzero(traces.lengths > 0)
    missing = len(traces) - len(there)
    text = f"{len(there)}"
    if len(there):
        low, middle, high = (f"{value:g}" for value in _spread(traces.lengths[there].astype(np.float64)))
        chains = [len(np.unique(chain_codes(traces.keys[traces.of(i)]))) for i in there.tolist()]
        least, most = min(chains), max(chains)
        of_chains = count(most, "chain") if least == most else f"{least} to {most} chains"
        text += f", {low} to {high} residues, median {middle}, {of_chains}"
    return text + (f"; {missing} missing" if missing else "")


def _spread(values: Floats) -> tuple[float, float, float]:
    return float(values.min()), float(np.median(values)), float(values.max())
