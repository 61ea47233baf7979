"""Lists without what learners must not see of lists to be ranked: labels, texts, references, counts."""

from __future__ import annotations

from rerank.data.lists import CandidateLists


def without_labels(lists: CandidateLists, *, labels: bool) -> CandidateLists:
    """Return lists with their features, base scores and ids alone, and if asked for with their labels."""
    return CandidateLists(
        lists.offsets,
        lists.features,
        labels=lists.labels if labels else None,
        base_scores=lists.base_scores,
        list_ids=lists.list_ids,
        feature_names=lists.names(),
        source=lists.source,
        selection=lists.selection,
    )
