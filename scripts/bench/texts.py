"""Features of 100,000 texts of 100 words, compared with bm25s, which computes one of them.

    python scripts/bench/texts.py [--quick]

CPU seconds of counting the words of 1,000 lists of 100 generated texts, and of all features. bm25s indexes
the same texts. Its values of BM25 are checked on one list.
"""

from __future__ import annotations

import importlib

import numpy as np
from common import arguments, cpu_seconds, installed

from rerank.core.types import Floats, Index
from rerank.data.columns.strings import StringColumn
from rerank.extensions.texts.features import NAMES, features_of
from rerank.extensions.texts.statistics import Statistics, count_corpus
from rerank.extensions.texts.tokens import Tokeniser

SIZE, WORDS, VOCABULARY = 100, 100, 60_000


def drawn(n_lists: int) -> tuple[list[str], list[str]]:
    """Questions of 8 words and texts, whose words have Zipf's frequencies."""
    rng = np.random.default_rng(1)
    letters = list("abcdefghijklmnoprstuvw")
    words = ["".join(rng.choice(letters, rng.integers(2, 10))) for _ in range(VOCABULARY)]
    p = 1 / np.arange(1, VOCABULARY + 1)
    texts = rng.choice(VOCABULARY, (n_lists * SIZE, WORDS), p=p / p.sum()).tolist()
    questions = rng.choice(VOCABULARY, (n_lists, 8), p=p / p.sum()).tolist()
    return [" ".join(words[j] for j in row) for row in questions], [
        " ".join(words[j] for j in row) for row in texts
    ]


def main() -> None:
    """Print a line for each measurement."""
    given = arguments(__doc__ or "", "a tenth of the lists").parse_args()
    asked, texts = drawn(100 if given.quick else 1_000)
    questions, column = StringColumn.from_strings(asked), StringColumn.from_strings(texts)
    offsets: Index = np.arange(0, len(texts) + 1, SIZE)
    made: list[Statistics | Floats] = []
    tokeniser = Tokeniser()

    def count() -> None:
        made.append(count_corpus(column, tokeniser))

    def compute() -> None:
        assert isinstance(made[0], Statistics)
        made.append(features_of(questions, column, offsets, made[0], tokeniser))

    print(f"{len(texts):,} texts: counting words {cpu_seconds(count):.1f} s", flush=True)
    print(f"{len(NAMES)} features {cpu_seconds(compute):.1f} s", flush=True)
    if not installed("bm25s"):
        return
    bm25s = importlib.import_module("bm25s")
    peer = bm25s.BM25(k1=1.2, b=0.75, method="lucene", dtype="float64")

    def index() -> None:
        peer.index([text.split() for text in texts], show_progress=False)

    print(f"bm25s: splitting at blanks and indexing {cpu_seconds(index):.1f} s", flush=True)
    values = made[1]
    assert not isinstance(values, Statistics)
    expected = peer.get_scores(asked[0].split())[:SIZE]
    np.testing.assert_allclose(values[:SIZE, list(NAMES).index("bm25")], expected, rtol=1e-9)
    print("equal values of BM25")


if __name__ == "__main__":
    main()
