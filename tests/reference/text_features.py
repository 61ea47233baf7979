"""Features of a question and a text, straight from their definitions: slow and obviously correct."""

import itertools
import math
import re
from collections import Counter

NEAR = 8


def words_of(text):
    return re.findall(r"[A-Za-z0-9]+(?:[.,][0-9]+)*", text)


def counts_of(texts):
    """(texts with each term, tokens of each, number of texts, of tokens, of terms)."""
    bags = [Counter(w.lower() for w in words_of(text)) for text in texts]
    df = Counter(term for bag in bags for term in bag)
    cf = Counter()
    for bag in bags:
        cf.update(bag)
    return df, cf, len(texts), sum(cf.values()), len(cf)


def grams(words, n):
    found = set()
    for word in words:
        padded = f" {word.lower()} "
        found |= {padded[i : i + n] for i in range(len(padded) - n + 1)} or {padded}
    return found


def vector(bag, idf):
    return {term: math.log1p(tf) * idf(term) for term, tf in bag.items()}


def cosine(one, other):
    dot = sum(value * other.get(term, 0.0) for term, value in one.items())
    lengths = math.sqrt(sum(v * v for v in one.values()) * sum(v * v for v in other.values()))
    return dot / lengths if lengths else 0.0


def features(question, texts, corpus, stop=(), k1=1.2, b=0.75, mu=1000.0, lam=0.1):
    """A dictionary of features for each text of a list."""
    df, cf, n_texts, n_tokens, n_terms = corpus

    def idf(term):
        return math.log(1 + (n_texts - df[term] + 0.5) / (df[term] + 0.5))

    def p(term):
        return (cf[term] + 1) / (n_tokens + n_terms + 1)

    raw = list(enumerate(words_of(question)))
    kept = [(i, w) for i, w in raw if w.lower() not in stop] or raw
    q = [w.lower() for _, w in kept]
    terms = set(q)
    bags = [Counter(w.lower() for w in words_of(text)) for text in texts]
    units = []
    for bag in bags:
        v = vector(bag, idf)
        length = math.sqrt(sum(x * x for x in v.values()))
        units.append({t: x / length for t, x in v.items()} if length else {})
    out = []
    for k, text in enumerate(texts):
        surface = words_of(text)
        d, bag, n = [w.lower() for w in surface], bags[k], len(surface)
        at = [i for i, w in enumerate(d) if w in terms]
        both = terms & set(d)
        f = {}
        norm = k1 * (1 - b + b * n / (n_tokens / n_texts))
        f["bm25"] = sum(idf(t) * bag[t] / (bag[t] + norm) for t in q)
        f["ql_dirichlet"] = sum(math.log((bag[t] + mu * p(t)) / (n + mu)) for t in q) / len(q)
        jm = [math.log(1 + (1 - lam) / lam * (bag[t] / n if n else 0) / p(t)) for t in q]
        f["ql_jelinek_mercer"] = sum(jm) / len(q)
        f["tfidf_cosine"] = cosine(vector(Counter(q), idf), vector(bag, idf))
        f["coverage"] = len(both) / len(terms)
        f["idf_sum"] = sum(map(idf, both))
        f["idf_coverage"] = f["idf_sum"] / sum(map(idf, terms))
        f["idf_max"] = max(map(idf, both), default=0)
        f["tf_sum"] = math.log1p(len(at))
        f["tf_share"] = len(at) / n if n else 0
        f["jaccard"] = len(both) / len(terms | set(d))
        ordered = near = 0
        for (i, w), (j, x) in itertools.pairwise(kept):
            w, x = w.lower(), x.lower()
            ordered += any(d[s] == w and s + j - i < n and d[s + j - i] == x for s in range(n))
            pairs = [(s, t) for s in at for t in at if s < t < s + NEAR]
            near += any((d[s], d[t]) in ((w, x), (x, w)) for s, t in pairs)
        f["ordered_pairs"], f["near_pairs"] = ordered / max(len(q) - 1, 1), near / max(len(q) - 1, 1)
        spans = [t - s + 1 for s in at for t in at if both and both <= set(d[s : t + 1])]
        f["window"] = len(both) / min(spans) if spans else 0
        gaps = [t - s for s in at for t in at if s < t and d[s] != d[t]]
        f["closest_pair"] = 1 / min(gaps) if gaps else 0
        f["first_position"] = 1 / (at[0] + 1) if at else 0
        longest = 0
        for s in at:
            for i in range(len(q)):
                run = 0
                while i + run < len(q):
                    place = s + kept[i + run][0] - kept[i][0]
                    if place >= n or d[place] != q[i + run]:
                        break
                    run += 1
                longest = max(longest, run)
        f["longest_run"] = longest / len(q)
        for size in (3, 5):
            wanted = grams(q, size)
            f[f"char{size}"] = len(wanted & grams(d, size)) / len(wanted)
        of_numbers = {w.lower() for _, w in kept if w[0].isdigit()}
        of_names = {w.lower() for i, w in kept if w[0].isupper() and i > 0}
        f["numbers"] = len(of_numbers & both) / len(of_numbers) if of_numbers else 0
        f["names"] = len(of_names & both) / len(of_names) if of_names else 0
        f["new_numbers"] = math.log1p(sum(w[0].isdigit() and w.lower() not in terms for w in surface))
        f["new_names"] = math.log1p(sum(w[0].isupper() and w.lower() not in terms for w in surface))
        f["length"], f["question_length"] = math.log1p(n), len(q)
        others = Counter()
        for j, unit in enumerate(units):
            if j != k:
                others.update(unit)
        alone = [t for t in bag if not any(t in other for j, other in enumerate(bags) if j != k)]
        f["novelty"] = len(alone) / max(len(bag), 1)
        f["centrality"] = cosine(units[k], others)
        out.append(f)
    return out
