"""trec_eval's measures from dictionaries: {query: {document: label}} and {query: {document: score}}."""

import math
from collections.abc import Mapping, Sequence

import numpy as np

Nested = Mapping[str, Mapping[str, float]]


def order(run: Mapping[str, float]) -> list[str]:
    """Documents by score as float32, the larger id by bytes first on ties."""
    with np.errstate(over="ignore"):  # 1e300 is infinite there
        return sorted(run, key=lambda document: (np.float32(run[document]), document.encode()), reverse=True)


def dcg(labels: Sequence[float]) -> float:
    """Gains are the labels above 0, divided by log2(1 + place)."""
    return sum(max(label, 0.0) / math.log2(1 + place) for place, label in enumerate(labels, 1))


def measure(name: str, judged: Mapping[str, float], run: Mapping[str, float]) -> float:
    """One query by NAME or NAME@k: AP, RR, P, R, Success, nDCG or label@1 (of the first document)."""
    family, _, cutoff = name.partition("@")
    k = int(cutoff) if cutoff else len(run) + len(judged)
    labels = [judged.get(document, 0.0) for document in order(run)][:k]
    hits = [label >= 1 for label in labels]
    n_relevant = sum(label >= 1 for label in judged.values())
    places = [place for place, hit in enumerate(hits, 1) if hit]
    if family == "label":
        return labels[0] if labels else 0.0
    if family == "P":
        return len(places) / k
    if family == "RR":
        return 1 / places[0] if places else 0.0
    if family == "Success":
        return float(bool(places))
    if n_relevant == 0:
        return 0.0
    if family == "R":
        return len(places) / n_relevant
    if family == "AP":
        return sum(found / place for found, place in enumerate(places, 1)) / n_relevant
    assert family == "nDCG"
    return dcg(labels) / dcg(sorted(judged.values(), reverse=True)[:k])


def by_query(name: str, qrels: Nested, run: Nested) -> dict[str, float]:
    """Every judged query; one that the run misses counts as if it returned nothing (trec_eval -c)."""
    return {query: measure(name, judged, run.get(query, {})) for query, judged in qrels.items()}
