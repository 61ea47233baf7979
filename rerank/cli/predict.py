"""``rerank predict``: a model and lists in, scores or rankings out."""

from __future__ import annotations

from typing import ClassVar

from rerank.cli.frame import OUTPUTS, RUNNING, Verb, Workers, inform, verb
from rerank.core.settings import setting
from rerank.core.text import count
from rerank.data.text_reading import EncoderPlaces
from rerank.extensions.diversity.options import Diversifying, chosen_model


class Predict(EncoderPlaces, Workers, Verb):
    """Options of ``rerank predict``."""

    reads: ClassVar = True
    configures: ClassVar = Diversifying
    renamed: ClassVar = {"cheating": "allow_oracle"}

    model: str = setting(..., "a model file written by 'rerank train'", argument=True, metavar="MODEL")
    data: str = setting(..., "lists to score; - is standard input", argument=True, metavar="DATA")
    as_: str | None = setting(
        None,
        "one score per input line; one predicted label per input line; one probability of being the "
        "list's best item per input line; one prediction per example (default of models of classes); "
        "list, item, rank and score; a TREC run; the file reordered; the best candidate of each list",
        metavar="scores|grades|probabilities|classes|table|run|nbest|best",
        key="as",
    )
    out: str = setting("-", "file to write; - is standard output", flags=("--out", "-o"), metavar="FILE")
    tag: str | None = setting(None, "name of the run (--as run) [rerank]", metavar="NAME")
    keep_margin: str | None = setting(
        None, "instead of the model's margin: the lead that another item needs", metavar="M|none"
    )
    transductive_report: str | None = setting(
        None, "write what a transductive model did to each list (TSV)", metavar="FILE", group=OUTPUTS
    )
    allow_oracle: bool = setting(False, "allow oracle models, which use the test labels")
    cache: str | None = setting(
        None,
        "store the ranker that a transductive model makes for each list, and use it again for the same list",
        metavar="DIR",
        group=RUNNING,
    )
    cache_nearest: int | None = setting(
        None, "rankers of the K nearest cached lists instead of new ones", metavar="K", ge=1, group=RUNNING
    )
    cache_by: str | None = setting(
        None,
        "descriptors for nearest-list search: principal axes or feature histograms [list-kernel]",
        metavar="list-kernel|histogram",
        group=RUNNING,
    )


@verb(Predict)
def predict(given: Predict) -> None:
    """Score lists with a model.

    \b
    rerank predict model test.txt > scores.txt
    """
    from rerank.models.predict import predict as run

    model = chosen_model(given.model, given.typed, given.out, given.keep_margin, given.reading)
    found = run(model, given.data, given.as_, streamed=True, **given.others("model", "data", "as_"))
    for line in getattr(found.model, "decision_lines", list)():
        inform(line)
    if given.allow_oracle:
        from rerank.models.base import USES_TEST_LABELS

        inform(USES_TEST_LABELS)
    if found.adaptation is not None:
        from rerank.models.adaptation import adaptation_line

        inform(adaptation_line(found.adaptation))
    if found.switched is not None:
        lists = count(found.lists.n_lists, "list")
        inform(f"keep margin {found.model.keep_margin:.6g}: {found.switched} of {lists} switch")
