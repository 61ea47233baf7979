"""The similarity of a candidate to the others of its list: minimum Bayes risk as a feature.

The feature is the mean or median utility of a candidate over the other candidates of its list, each with the
same probability (Duh 2009, 3.3.1: the median). Candidates with the same text each count on their own, so a
text that many systems gave is similar to many. Items that cannot be compared have 0, such as proteins
without a structure.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rerank.core.errors import ConfigError
from rerank.core.registry import did_you_mean
from rerank.core.types import Floats
from rerank.core.workers import parallel
from rerank.data.lists import CandidateLists
from rerank.data.reading import Reading
from rerank.extensions.decision.expressions import utility_of
from rerank.extensions.decision.utilities import StructureUtility, Utility
from rerank.formats.base import save
from rerank.formats.sources import Data, checked_format, read_lists

STATISTICS = ("mean", "median")


def consensus(lists: CandidateLists, by: str | Utility, statistic: str = "mean") -> Floats:
    """Return the consensus of each item, float64 (n_items); larger is more similar, 0 in a list of one.

    Parameters
    ----------
    lists : CandidateLists
    by : str or Utility
        A utility, see ``rerank.extensions.decision.expressions``: ngram1 .. ngram4, a metric of single
        candidates (errors are negated), or the name of a feature (minus the distance of its values).
    statistic : {"mean", "median"}
        Over the other candidates of the list.

    Raises
    ------
    ConfigError
        If ``by`` or ``statistic`` is unknown.
    DataError
        If the lists lack what is compared.
    """
    if statistic not in STATISTICS:
        raise ConfigError(f"unknown statistic {statistic!r}; {did_you_mean(statistic, STATISTICS)}")
    utility = utility_of(by, lists) if isinstance(by, str) else by
    out = np.zeros(lists.n_items)
    for items, table in utility.compared(lists):
        k = len(items)
        if k > 1:
            others = table[~np.eye(k, dtype=bool)].reshape(k, k - 1)
            out[items] = others.mean(axis=1) if statistic == "mean" else np.median(others, axis=1)
    return out


def consensus_features(
    data: Data,
    by: Sequence[str],
    out: str | None = None,
    to: str | None = None,
    *,
    statistic: str = "mean",
    jobs: int | None = None,
    cluster: str | None = None,
    reading: Reading | None = None,
) -> CandidateLists:
    """Return lists with features for the similarity of each candidate to the others of its list.

    Parameters
    ----------
    data : a file of lists, or CandidateLists, with texts, trees, structures, or the features named.
    by : utilities: ngram1 to ngram4, a metric such as sBLEU, WER or GDT-TS, or a feature; ``rerank help
        decision`` lists them. The feature of each is named consensus.WHAT.STATISTIC.
    out : file that the lists are written to, "-" = standard output; None = none.
    to : name of its format; None = by its suffix.
    statistic : "mean" or "median" over the other candidates.
    jobs, cluster : threads that superpose structures, or the workers of a cluster; see
        ``core.workers.parallel.using``.
    reading : how the file is read.

    Returns
    -------
    CandidateLists

    Raises
    ------
    RerankError
        If a similarity is unknown or given twice, texts or structures are missing, or a file cannot be read
        or written.
    """
    target = None if out is None else checked_format(out, to, data, reading)
    with parallel.using(jobs, cluster):
        lists = read_lists(data, reading)
        utilities = [utility_of(what, lists) for what in by]
        structures = [one for one in utilities if isinstance(one, StructureUtility)]
        if structures:  # compared once for all of them
            metrics = [one.metric for one in structures]
            pairs = metrics[0].pairs_of(lists, metrics)
            for one in structures:
                one.pairs = pairs
        columns = {f"consensus.{one.text}.{statistic}": consensus(lists, one, statistic) for one in utilities}
        if len(columns) < len(by):
            raise ConfigError("a similarity is given twice")
        made = lists.with_added(columns)
        if out is not None and target is not None:
            save(made, out, target)
    return made
