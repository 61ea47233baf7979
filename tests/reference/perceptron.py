"""Shen & Joshi's Algorithms 1 and 2, by their pseudo-code, with means taken after each list or pair."""

import numpy as np
from reference.pairs import pairs_of_list


def violated(tau, s, h_and_c, j, l):
    """z_j <= z_l + c * tau, with z = s - tau * h."""
    h, c = h_and_c
    return s[j] - tau * h[j] <= s[l] - tau * h[l] + c * tau


def h_of(function, labels):
    """h of each item and c, so that g(j, l) = h[j] - h[l] + c."""
    judged = labels[~np.isnan(labels)]
    rank = np.array([1 + np.sum(judged > label) for label in labels], dtype=float)
    if function.margin == "even":
        return np.zeros(len(labels)), 1.0
    if function.margin == "uneven":
        return rank**-function.margin_power, 0.0
    return labels, 0.0


def worst_pair(ordered, s, h_and_c, tau, labels, target):
    """The violated pair with the largest z_l + c * tau - z_j, in a list, which is empty if none is violated.

    Each j has one rival, the l with the largest z_l. ``target`` "highest": only the item tied for best with
    the largest score counts as j, for the pairs of best against rest. The first wins on ties.
    """
    h, c = h_and_c
    z = [s[i] - tau * h[i] for i in range(len(s))]
    rivals = {}
    for j, l in ordered:
        rivals.setdefault(j, []).append(l)
    if target == "highest":
        best = [i for i in range(len(s)) if labels[i] == np.nanmax(labels)]
        rivals = {max(best, key=lambda i: z[i]): next(iter(rivals.values()))}
    found = None
    for j, others in rivals.items():
        l = max(others, key=lambda i: z[i])
        excess = z[l] + c * tau - z[j]
        if z[j] <= z[l] + c * tau and (found is None or excess > found[0]):
            found = (excess, j, l)
    return [] if found is None else [found[1:]]


def mean_squared_norm(lists, relation, function):
    """The mean of |x_j - x_l|^2 over all pairs of all lists."""
    X = lists.features.to_dense().astype(float)
    squares = []
    for i in range(lists.n_lists):
        first, last = lists.offsets[i], lists.offsets[i + 1]
        for j, l in pairs_of_list(relation, function, lists.labels[first:last].tolist()):
            squares.append(np.sum((X[first + j] - X[first + l]) ** 2))
    return np.mean(squares)


def mean_margin(lists, relation, function):
    """The mean of g over all pairs of all lists."""
    margins = []
    for first, last in zip(lists.offsets[:-1], lists.offsets[1:], strict=True):
        margins += pairs_of_list(relation, function, lists.labels[first:last].tolist()).values()
    return np.mean(margins)


def shuffled(ordered, rng):
    """Fisher and Yates, inside out."""
    out = []
    for pair in ordered:
        at = int(rng.random() * (len(out) + 1))
        out.append(pair)
        out[at], out[-1] = out[-1], out[at]
    return out


class Additive:
    """Weights that updates are added to."""

    def __init__(self, start):
        self.value = start.copy()

    def add(self, u):
        self.value = self.value + u


class Balanced:
    """Two positive weights for each one, which updates multiply and divide: Winnow's."""

    def __init__(self, start, rate):
        self.rate = rate
        self.plus = start / 2 + np.sqrt(start**2 / 4 + 1)
        self.minus = 1 / self.plus

    def add(self, u):
        self.plus = self.plus * np.exp(self.rate * u)
        self.minus = self.minus * np.exp(-self.rate * u)

    @property
    def value(self):
        return self.plus - self.minus


def perceptron(
    lists,
    relation,
    function,
    *,
    algorithm,
    tau,
    epochs,
    dimension=0.0,
    orders=None,
    rivals="all",
    target="first",
    step="margin",
    start=None,
    list_weights=None,
    seed=None,
    rate=0.0,
):
    """Returns (last w, mean w, [(updates, violated)] a round). ``orders`` are the visits of each round
    among the lists that have a pair and a weight; default in order. With a ``seed`` Algorithm 1 shuffles the
    pairs of each list, one after the other going to the place of one before it, and takes the mean over
    pairs. With a ``rate`` it is balanced Winnow."""

    def weights(start, value=1.0):
        return Balanced(start, rate * value) if rate else Additive(start)

    X = lists.features.to_dense().astype(float)
    blocks = []
    for i in range(lists.n_lists):
        rows = slice(lists.offsets[i], lists.offsets[i + 1])
        labels = lists.labels[rows]
        pairs = pairs_of_list(relation, function, labels.tolist())
        weight = 1.0 if list_weights is None else list_weights[i]
        if pairs and weight > 0:
            # As the kernels do: pairs by falling label of j, then of l.
            place = {j: at for at, j in enumerate(np.lexsort((np.arange(len(labels)), -labels)))}
            ordered = sorted(pairs, key=lambda jl: (place[jl[0]], place[jl[1]]))
            own = weights(np.zeros(len(labels)), np.sqrt(dimension))
            blocks.append((X[rows], ordered, labels, h_of(function, labels), own, weight))
    w = weights(np.zeros(X.shape[1]) if start is None else start)
    total = np.zeros(X.shape[1])
    visited = 0
    history = []
    for r in range(epochs):
        updates = mistakes = 0
        rng = None if seed is None else np.random.default_rng((seed, visited))
        for v in range(len(blocks)) if orders is None else orders[r]:
            x, ordered, labels, h, own, weight = blocks[v]
            before = mistakes

            def margin(j, l, h=h, weight=weight):
                return weight * (1.0 if step == "one" else h[0][j] - h[0][l] + h[1])

            def scores(x=x, own=own):
                return x @ w.value + (np.sqrt(dimension) if rate else dimension) * own.value

            def update(u, x=x, own=own):
                w.add(u @ x)
                own.add(u)

            def pair(j, l, labels=labels, margin=margin):
                u = np.zeros(len(labels))
                u[j], u[l] = margin(j, l), -margin(j, l)
                return u

            if rivals == "top":
                for j, l in worst_pair(ordered, scores(), h, tau, labels, target):
                    update(pair(j, l))
                    mistakes += 1
            elif algorithm == 1:
                if rng is not None:
                    ordered = shuffled(ordered, rng)
                for j, l in ordered:
                    if violated(tau, scores(), h, j, l):
                        update(pair(j, l))
                        mistakes += 1
                    if rng is not None:
                        total += w.value
                        visited += 1
            else:
                s = scores()
                u = np.zeros(len(s))
                for j, l in ordered:
                    if violated(tau, s, h, j, l):
                        u[j] += margin(j, l)
                        u[l] -= margin(j, l)
                        mistakes += 1
                update(u)
            updates += mistakes > before
            if rng is None:
                total += w.value
                visited += 1
        history.append((updates, mistakes))
        if updates == 0:
            break
    return w.value, total / visited, history
