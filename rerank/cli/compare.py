"""``rerank compare``: every system against every other."""

from __future__ import annotations

from typing import ClassVar

from rerank.cli.evaluate import Paged, with_page
from rerank.cli.frame import Printed, Verb, verb, write
from rerank.core.settings import setting


class Compare(Paged, Printed, Verb):
    """Options of ``rerank compare``."""

    reads: ClassVar = True
    judges: ClassVar = ("baseline",)

    data: str = setting(
        ..., "judged lists, or judgements (qrels); - is standard input", argument=True, metavar="DATA"
    )
    systems: tuple[str, ...] = setting(
        ...,
        "two or more, as for 'rerank eval'. A run that is DATA is one of them",
        argument=True,
        metavar="SYSTEMS",
    )


@verb(Compare)
def compare(given: Compare) -> None:
    """Test every two systems: bootstrap, randomisation, Wilcoxon, t, McNemar, Holm's correction.

    \b
    rerank compare test.txt a.scores b.scores c.scores --metric AP
    rerank compare a.run b.run --qrels qrels.txt --metric AP
    """
    from rerank.evaluation.evaluate import compare_files

    with with_page(given.html, given.data, given.reading, given.systems, {}) as show:
        found = compare_files(given.data, given.systems, reading=given.reading, **given.judging)
        show(found)
    write(given.as_, found.print, found.as_json, found.tables)
