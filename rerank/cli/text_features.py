"""``rerank features text`` and ``features vectors``: features of questions and candidates."""

from __future__ import annotations

from typing import ClassVar

from rerank.cli.frame import Verb, Writes, inform, verb
from rerank.core.settings import setting
from rerank.training.text_options import TextSettings, VectorSettings


class Text(Writes, Verb):
    """Options of ``rerank features text``."""

    reads: ClassVar = True
    configures: ClassVar = TextSettings

    data: str = setting(
        ..., "lists with questions and texts; - is standard input", argument=True, metavar="DATA"
    )


@verb(Text)
def text(given: Text) -> None:
    """Add features of questions and texts: BM25, query likelihood, coverage, proximity, n-grams, novelty.

    Words are counted in the texts of DATA, or of --background. 'rerank train --features-from text' counts
    them in the training lists, and the model computes the features of any others.

    \b
    rerank features text train.jsonl --query question --text text --stemmer english --out train.store
    rerank features text bm25.run --queries queries.tsv --collection passages.tsv --out train.letor
    """
    from rerank.extensions.texts.extract import text_features
    from rerank.formats.base import format_for
    from rerank.formats.sources import size_of

    made = text_features(given.data, given.typed, **given.others("data"))
    inform(made.fitted.summary())
    inform(f"{size_of(made.lists)} to {given.out} ({given.to or format_for(given.out)})")


class Vectors(Writes, Verb):
    """Options of ``rerank features vectors``."""

    reads: ClassVar = True
    configures: ClassVar = VectorSettings

    data: str = setting(..., "lists; - is standard input", argument=True, metavar="DATA")


@verb(Vectors)
def vectors(given: Vectors) -> None:
    """Add similarities of vectors: cosine, dot product and distance to the question, centrality in the list.

    --vectors has the vectors of items, --query-vectors those of questions. Files with ids are joined by
    these, others by the order of the lines. --encoder makes vectors of texts; --cross-encoder scores pairs.

    \b
    rerank features vectors bm25.run --vectors passages.parquet --query-vectors queries.parquet --out a.store
    rerank features vectors train.jsonl --encoder minilm --vector-cache cache --out train.store
    """
    from rerank.extensions.vectors.extract import vector_features
    from rerank.formats.base import format_for
    from rerank.formats.sources import size_of

    made = vector_features(given.data, given.typed, **given.others("data"))
    inform(made.fitted.summary())
    inform(f"{size_of(made.lists)} to {given.out} ({given.to or format_for(given.out)})")
