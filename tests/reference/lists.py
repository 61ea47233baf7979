"""Lists as Python lists of tuples: what CandidateLists must agree with."""


def by_qid(qids):
    """(qid, input rows of its items) in order of first appearance."""
    out = []
    for row, qid in enumerate(qids):
        for known, rows in out:
            if known == qid:
                rows.append(row)
                break
        else:
            out.append((qid, [row]))
    return out


def scores(X, w):
    """w·x of every row, one addition after the other."""
    out = []
    for row in X:
        total = 0.0
        for value, weight in zip(row, w, strict=True):
            total += float(value) * float(weight)
        out.append(total)
    return out


def csr(X):
    """indptr, indices, data of the non-zero values of X."""
    indptr, indices, data = [0], [], []
    for row in X:
        for j, value in enumerate(row):
            if value != 0:
                indices.append(j)
                data.append(float(value))
        indptr.append(len(indices))
    return indptr, indices, data
