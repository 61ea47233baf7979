#!/usr/bin/env python3
"""Make the set of data/runs-tiny: two runs over an invented collection, and which documents are relevant.

A document is a bag of words; each word is one of three synonyms of a concept, and a topic is a group of
concepts. A query asks for two or three concepts of one topic, each by one of its words. The relevant
documents have all of them, by whatever words. bm25.run ranks by BM25, which sees words: it misses synonyms.
dense.json ranks by the cosine of mean concept vectors: it knows synonyms, but concepts of one topic are much
alike. Each returns DEPTH documents. Judgements are of relevant documents only. Needs the standard library.

    python scripts/make_runs.py [--out DIR]
"""

from __future__ import annotations

import argparse
import json
import math
import random
from collections import Counter
from pathlib import Path

SEED = 12
QUERIES, DOCUMENTS, DEPTH = 80, 600, 20
TOPICS, CONCEPTS, SYNONYMS = 10, 12, 3  # concepts of each topic, words of each concept
LENGTHS = (10, 24)
OFF_TOPIC = 0.2  # share of a document's words from any topic
DIMENSIONS, SPREAD, BLUR = 16, 1.0, 0.1  # of concept vectors, within a topic, and of a text's vector
MOST_RELEVANT = 6

Concept = tuple[int, int]
Word = tuple[Concept, int]
Vector = list[float]


def drawn_word(rng: random.Random, topic: int) -> Word:
    """Return a word of a topic; its first concepts and the first synonyms are the most frequent."""
    concept = min(int(rng.expovariate(0.25)), CONCEPTS - 1)
    return (topic, concept), min(int(rng.expovariate(0.9)), SYNONYMS - 1)


def drawn_document(rng: random.Random) -> list[Word]:
    """Return the words of a document about one topic."""
    topic = rng.randrange(TOPICS)
    n = rng.randint(*LENGTHS)
    return [drawn_word(rng, rng.randrange(TOPICS) if rng.random() < OFF_TOPIC else topic) for _ in range(n)]


def drawn_query(rng: random.Random, documents: list[list[Word]]) -> tuple[list[Word], list[int]]:
    """Return the words of a query and its relevant documents, a few."""
    while True:
        topic, n = rng.randrange(TOPICS), rng.randint(2, 3)
        concepts = [(topic, c) for c in rng.sample(range(CONCEPTS), n)]
        found = [i for i, words in enumerate(documents) if {c for c, _ in words}.issuperset(concepts)]
        if 1 <= len(found) <= MOST_RELEVANT:
            return [(concept, rng.randrange(SYNONYMS)) for concept in concepts], found


def bm25(query: list[Word], documents: list[list[Word]]) -> list[float]:
    """Return the BM25 score of each document (k1 = 0.9, b = 0.4, as Anserini sets them)."""
    mean = sum(map(len, documents)) / len(documents)
    frequency = {word: sum(word in words for words in documents) for word in query}
    scores = []
    for words in documents:
        counts, norm = Counter(words), 0.9 * (0.6 + 0.4 * len(words) / mean)
        score = 0.0
        for word in query:
            n = frequency[word]
            idf = math.log(1 + (len(documents) - n + 0.5) / (n + 0.5))
            score += idf * counts[word] / (counts[word] + norm)
        scores.append(score)
    return scores


def concept_vectors(rng: random.Random) -> dict[Concept, Vector]:
    """Return a vector for each concept, those of a topic around a common centre."""
    vectors = {}
    for topic in range(TOPICS):
        centre = [rng.gauss(0, 1) for _ in range(DIMENSIONS)]
        for concept in range(CONCEPTS):
            vectors[topic, concept] = [x + rng.gauss(0, SPREAD) for x in centre]
    return vectors


def vector_of(words: list[Word], vectors: dict[Concept, Vector], rng: random.Random) -> Vector:
    """Return the mean vector of the concepts of a text, of length 1, blurred."""
    total = [sum(values) for values in zip(*(vectors[concept] for concept, _ in words), strict=True)]
    length = math.sqrt(sum(x * x for x in total))
    return [x / length + rng.gauss(0, BLUR / math.sqrt(DIMENSIONS)) for x in total]


def top(scores: list[float]) -> list[tuple[str, float]]:
    """Return the documents of highest score, above 0, with their scores."""
    order = sorted(range(len(scores)), key=lambda i: (-scores[i], i))[:DEPTH]
    return [(f"d{i + 1}", round(scores[i], 4)) for i in order if scores[i] > 0]


def main() -> None:
    """Write bm25.run, dense.json and qrels.tsv."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "data" / "runs-tiny")
    out: Path = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    rng = random.Random(SEED)
    documents = [drawn_document(rng) for _ in range(DOCUMENTS)]
    vectors = concept_vectors(rng)
    points = [vector_of(words, vectors, rng) for words in documents]
    run, dense, judged = [], {}, ["query-id\tcorpus-id\tscore"]
    for number in range(1, QUERIES + 1):
        query, relevant = drawn_query(rng, documents)
        point, name = vector_of(query, vectors, rng), f"q{number}"
        ranked = enumerate(top(bm25(query, documents)), 1)
        run += [f"{name} Q0 {document} {rank} {score:.4f} bm25" for rank, (document, score) in ranked]
        cosines = [sum(a * b for a, b in zip(point, other, strict=True)) for other in points]
        dense[name] = dict(top(cosines))
        judged += [f"{name}\td{i + 1}\t1" for i in relevant]
    whole = {"mteb_model_meta": {"model_name": "dense", "revision": "1"}, "default": {"test": dense}}
    for name, text in (
        ("bm25.run", "\n".join(run)),
        ("dense.json", json.dumps(whole)),
        ("qrels.tsv", "\n".join(judged)),
    ):
        (out / name).write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
