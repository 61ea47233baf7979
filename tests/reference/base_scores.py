"""The feature that is the base score, found by fractions: every column, every item."""

from fractions import Fraction


def fits(base, column, lists):
    """(c, whether column = c * base + constants of lists, within the tolerances), c None without a spread."""
    x, b = [], []
    for i in range(lists.n_lists):
        items = range(int(lists.offsets[i]), int(lists.offsets[i + 1]))
        for values, out in ((column, x), (base, b)):
            mean = sum(Fraction(float(values[j])) for j in items) / len(items)
            out += [Fraction(float(values[j])) - mean for j in items]
    square, size = sum(v * v for v in b), sum(v * v for v in x)
    if square == 0 or size == 0:
        return None, False
    c = sum(p * q for p, q in zip(x, b, strict=True)) / square
    residuals = [(p - c * q) ** 2 for p, q in zip(x, b, strict=True)]
    typical = sum(residuals) <= Fraction(1, 10**6) * size
    largest = max(residuals) * len(x) <= Fraction(1, 10**4) * size
    return c, c != 0 and typical and largest


def base_column(lists):
    """(index, factor) of the first feature that is the base score, or None."""
    base = lists.base_scores
    if base is None or any(value != value for value in base):
        return None
    X = lists.features.to_dense()
    for j in range(X.shape[1]):
        if any(value != value for value in X[:, j]):
            continue
        c, fit = fits(base, X[:, j], lists)
        if fit:
            return j, float(c)
    return None
