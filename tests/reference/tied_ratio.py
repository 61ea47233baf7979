"""Pairs of a list of which a share is tied: each pair's part by sorting all differences."""

import itertools
import math

TIE = 1e-10


def tied_parts(share, unlabelled, G):
    """How much of each pair is tied: those with the smallest differences, equal ones alike."""
    size = {pair: abs(G[pair[0]] - G[pair[1]]) for pair in unlabelled}
    left, out = share * len(unlabelled), {}
    order = sorted(unlabelled, key=lambda pair: size[pair])
    while order:
        equal = [pair for pair in order if size[pair] - size[order[0]] <= TIE]
        part = min(max(left / len(equal), 0.0), 1.0)
        out.update(dict.fromkeys(equal, part))
        left -= len(equal)
        order = order[len(equal) :]
    return out


def loss_of(share, unlabelled, G):
    tied = tied_parts(share, unlabelled, G)
    each = ((tied[i, j], abs(G[i] - G[j])) for i, j in unlabelled)
    return math.fsum(t * 2 * math.cosh(d) + (1 - t) * math.exp(-d) for t, d in each)


def least_loss(n_tied, unlabelled, G):
    """The least loss over all ways to tie so many pairs."""
    d = {pair: abs(G[pair[0]] - G[pair[1]]) for pair in unlabelled}
    return min(
        math.fsum(2 * math.cosh(d[p]) if p in some else math.exp(-d[p]) for p in unlabelled)
        for some in itertools.combinations(unlabelled, n_tied)
    )


def losses_of(share):
    """``losses`` of reference.pseudo_margin."""

    def losses(method, labelled, unlabelled, F, G):
        weights = [w for *_, w in labelled]
        first = math.fsum(w * math.exp(F[b] - F[a]) for a, b, w in labelled)
        factor = method.gamma * math.fsum(weights) / len(unlabelled)
        return first, factor * loss_of(share, unlabelled, G)

    return losses


def signed_of(share):
    """``signed`` of reference.pseudo_margin."""

    def signed(method, factor, unlabelled, G):
        out = []
        for (i, j), t in tied_parts(share, unlabelled, G).items():
            out += [(i, j, t * factor * math.exp(G[j] - G[i])), (j, i, t * factor * math.exp(G[i] - G[j]))]
            if abs(G[i] - G[j]) > TIE:
                a, b = (i, j) if G[i] > G[j] else (j, i)
                out.append((a, b, (1 - t) * factor * math.exp(G[b] - G[a])))
        return out

    return signed
