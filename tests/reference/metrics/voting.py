"""Votes over answers, by going through all subsets of k samples, with exact sums."""

import math
from fractions import Fraction

from reference.everything import mean
from reference.metrics.best import over_draws


def weights(metric, scores, voters):
    """The weight of each vote, up to a factor of all ``voters``."""
    kind = getattr(metric, "weight", None)
    if kind is None:
        return [Fraction(1)] * len(scores)
    if kind == "score":
        return [Fraction(score) for score in scores]
    if kind == "exp":
        largest = max(scores[i] for i in voters)
        return [Fraction(math.exp(min(score - largest, 0.0))) for score in scores]
    less = [sum(other < score for other in scores) for score in scores]
    return [
        Fraction(2 * low + sum(other == score for other in scores) + 1, 2)
        for low, score in zip(less, scores, strict=True)
    ]


def value(metric, lists, scores, ties):
    """The corpus value of maj@k or wmaj@k."""

    def vote(part, labels, draw):
        # Ranks are those among the samples that may be drawn.
        offered = part.scores[: metric.cutoff] if metric.draw == "first" else part.scores
        voters = [i for i in draw if part.answers[i]]
        weight = weights(metric, offered, voters) if voters else []
        judged, votes, first = {}, {}, {}
        for i, label in enumerate(part.labels[: len(offered)]):
            if not math.isnan(label):
                judged.setdefault(part.answers[i], []).append(label)
        for i in voters:
            answer = part.answers[i]
            votes[answer] = votes.get(answer, 0) + weight[i]
            first.setdefault(answer, i)
        if not votes:
            return min(0.0, *labels)
        tied = [answer for answer in votes if votes[answer] == max(votes.values())]
        if metric.ties == "first":
            tied = [min(tied, key=first.get)]
        return mean([mean(judged.get(answer, [min(0.0, *labels)])) for answer in tied])

    return over_draws(metric, lists, scores, vote)
