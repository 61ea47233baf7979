"""Small lists in the form of parses: a log probability, indicators, and counts for PARSEVAL."""

import numpy as np
from scipy.sparse import csr_array

from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists


def parse_lists(seed: int, n_lists: int = 20, size: int = 6, n_features: int = 30) -> CandidateLists:
    """Lists whose first feature is the base score, and whose indicators know what it does not."""
    rng = np.random.default_rng(seed)
    n = n_lists * size
    gold = np.repeat(rng.integers(8, 20, n_lists), size).astype(float)
    lost = rng.integers(0, 6, n).astype(float)
    base = -10.0 - lost - 3.0 * rng.random(n)
    ones = (rng.random((n, n_features)) < 0.2) | (
        (np.arange(n_features) < 6) & (np.arange(n_features) < lost[:, None])
    )
    made = CandidateLists.from_arrays(csr_array(np.column_stack([base, ones])), group=[size] * n_lists)
    unknown = np.full(n, np.nan)
    order = np.lexsort((-base, made.list_index))  # a parser writes its best parse first
    return CandidateLists(
        made.offsets,
        made.features.take(order),
        labels=((gold - lost) / gold)[order],
        base_scores=base[order],
        first_best=-np.arange(n, dtype=np.float64),
        list_ids=StringColumn.from_strings(f"s{seed}.{i}" for i in range(n_lists)),
        feature_names=("logprob", *(f"rule {f}" for f in range(n_features))),
        counts={"PARSEVAL": np.column_stack([gold - lost, gold, gold, unknown, unknown])[order]},
        source="small parses",
    )
