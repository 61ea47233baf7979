"""k-best batch MIRA, candidate by candidate, with the mean of the weights taken after each visit."""

import numpy as np


def worths(judge, labels, rows, background):
    """What each candidate of a list is worth: its label, or the metric of background + row, times length."""
    if judge is None:
        return labels
    full = judge.sum_form.parameters[0] if judge.sum_form.kind == "ratio" else 100.0
    length = background[-1] + np.mean(rows[:, -1])
    return [judge.better * float(judge.score_from_sums(background + row)) / full * length for row in rows]


def mira(lists, judge, start, *, c, decay, orders, list_weights=None):
    """Returns (the mean of w after each round, [(updates, sum of losses)]); judge None learns from labels."""
    X = lists.features.to_dense().astype(np.float64)
    w = np.array(start, dtype=np.float64)
    background = None if judge is None else np.ones(judge.per_item.shape[1])
    total, visited = np.zeros_like(w), 0
    means, history = [], []
    for order in orders:
        updates, losses = 0, 0.0
        for i in order:
            cap = c if list_weights is None else c * list_weights[i]
            items = range(lists.offsets[i], lists.offsets[i + 1])
            rows = None if judge is None else judge.per_item[items.start : items.stop]
            labels = None if lists.labels is None else lists.labels[items.start : items.stop]
            worth = dict(zip(items, worths(judge, labels, rows, background), strict=True))
            known = [j for j in items if not np.isnan(worth[j])]
            if known:
                hope = max(known, key=lambda j: X[j] @ w + worth[j])
                fear = max(known, key=lambda j: X[j] @ w - worth[j])
                if worth[hope] > worth[fear]:
                    step = X[hope] - X[fear]
                    loss = worth[hope] - worth[fear] - w @ step
                    if loss > 0 and step @ step > 0:
                        w = w + min(cap, loss / (step @ step)) * step
                        updates += 1
                        losses += loss
                    if judge is not None:
                        background = decay * background + judge.per_item[hope]
            total += w
            visited += 1
        means.append(total / visited)
        history.append((updates, losses))
    return means, history
