"""``rerank features vectors``: similarities of vectors as features."""

from __future__ import annotations

from typing import ClassVar

from rerank.cli.frame import Verb, Writes, inform, verb
from rerank.core.settings import setting


class Vectors(Writes, Verb):
    """Options of ``rerank features vectors``."""

    reads: ClassVar = True

    data: str = setting(..., "lists; - is standard input", argument=True, metavar="DATA")


@verb(Vectors)
def vectors(given: Vectors) -> None:
    """Add similarities of vectors: cosine, dot product and distance to the question, centrality in the list.

    --vectors has the vectors of items, --query-vectors those of questions. Files with ids are joined by
    these, others by the order of the lines.

    \b
    rerank features vectors bm25.run --vectors passages.parquet --query-vectors queries.parquet --out a.store
    """
    from rerank.extensions.vectors.extract import vector_features
    from rerank.formats.base import format_for
    from rerank.formats.sources import size_of

    made = vector_features(**given.others())
    inform(made.fitted.summary())
    inform(f"{size_of(made.lists)} to {given.out} ({given.to or format_for(given.out)})")
