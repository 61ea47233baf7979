"""Losses of predicted classes from sets, one example after the other."""


def value(metric, truth, predicted, names):
    """The mean loss; ``truth`` and ``predicted`` are sets of names, a prediction may be "REJECT"."""
    return sum(loss(metric, true, found, names) for true, found in zip(truth, predicted, strict=True)) / len(
        truth
    )


def loss(metric, true, found, names):
    """The loss of one prediction."""
    if found == "REJECT":
        return metric.reject
    if metric.family == "zero-one":
        return float(true != found)
    if metric.family == "Hamming":
        wrong = len((true | found) - (true & found))
        return wrong / len(names) if metric.per == "class" else wrong
    if metric.family == "error-set":
        return sum(1 for r in true for s in names if r not in found and s not in true and s in found)
    assert metric.family == "difference"
    return abs(float(next(iter(true))) - float(next(iter(found))))
