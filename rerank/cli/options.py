"""Options of reading lists, declared once and given to every verb that reads some."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_type_hints

import typer

if TYPE_CHECKING:
    from rerank.data.lists import CandidateLists

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Reading:
    """How a verb reads lists: the format, the first stage's order, and the options that were given."""

    format: str | None = None
    first_best: str | None = None
    given: dict[str, Any] = field(default_factory=dict)

    def load(self, path: str) -> CandidateLists:
        """The lists at ``path``; raises RerankError of one line."""
        from rerank.formats import load

        lists = load(path, self.format, **self.given)
        return lists if self.first_best is None else lists.with_first_best(self.first_best)


def _options(
    format: Annotated[
        str | None,
        typer.Option("--format", "-f", metavar="NAME", help="Format of the data; else by name or content."),
    ] = None,
    first_best: Annotated[
        str | None,
        typer.Option(
            "--first-best",
            metavar="input|FEATURE",
            help="The first stage's order: that of the input's lines, or a feature (larger first).",
        ),
    ] = None,
    refs: Annotated[
        list[str] | None,
        typer.Option(
            "--refs",
            "-R",
            metavar="FILE",
            help="References, one a line; repeat for several.",
        ),
    ] = None,
    merge: Annotated[
        list[str] | None,
        typer.Option("--merge", metavar="FILE", help="A further file, lists joined by id; repeatable."),
    ] = None,
    distinct: Annotated[
        bool | None, typer.Option("--distinct", help="Keep the first of a list's items of the same text.")
    ] = None,
    n_best: Annotated[
        int | None,
        typer.Option("--n-best", metavar="N", min=1, help="Lines of each list (flat)."),
    ] = None,
    qrels: Annotated[
        str | None, typer.Option("--qrels", metavar="FILE", help="TREC judgements that become labels (trec).")
    ] = None,
    strip: Annotated[
        list[str] | None,
        typer.Option(
            "--strip", metavar="traces|functions", help="Leave out of trees; repeat for both (parses)."
        ),
    ] = None,
    ids: Annotated[
        str | None, typer.Option("--ids", metavar="FILE", help="Ids of the lists, one a line (parses).")
    ] = None,
    list_column: Annotated[
        str | None,
        typer.Option("--list-column", metavar="NAME", help="The column of list ids."),
    ] = None,
    label_column: Annotated[
        str | None, typer.Option("--label-column", metavar="NAME", help="The column of labels.")
    ] = None,
    id_column: Annotated[
        str | None, typer.Option("--id-column", metavar="NAME", help="The column of item ids.")
    ] = None,
    text_column: Annotated[
        str | None, typer.Option("--text-column", metavar="NAME", help="The column of texts.")
    ] = None,
    feature_names: Annotated[
        str | None,
        typer.Option("--feature-names", metavar="FILE", help="Names of the features, one a line."),
    ] = None,
    missing: Annotated[
        str | None,
        typer.Option("--missing", metavar="zero|nan", help="What a left-out feature is [zero]."),
    ] = None,
    zero_based: Annotated[
        bool | None, typer.Option("--zero-based", help="The first feature has index 0.")
    ] = None,
    layout: Annotated[
        str | None,
        typer.Option("--layout", metavar="auto|dense|sparse", help="How features are kept [auto]."),
    ] = None,
    strict: Annotated[
        bool | None, typer.Option("--strict", help="Refuse what is otherwise mended or ignored with a note.")
    ] = None,
) -> None:
    """The signature that ``reads`` adds; never called."""


def reads(function: F) -> F:
    """Adds the options above to a command, which gets them as one ``reading: Reading``."""
    hints = get_type_hints(_options, include_extras=True)
    added = [
        parameter.replace(annotation=hints[name], kind=inspect.Parameter.KEYWORD_ONLY)
        for name, parameter in inspect.signature(_options).parameters.items()
    ]
    signature = inspect.signature(function, eval_str=True)
    own = [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for name, parameter in signature.parameters.items()
        if name != "reading"
    ]

    @functools.wraps(function)
    def command(**arguments: Any) -> Any:
        reading = {parameter.name: arguments.pop(parameter.name) for parameter in added}
        given = {
            name: value
            for name, value in reading.items()
            if value not in (None, []) and name not in ("format", "first_best")
        }
        return function(reading=Reading(reading["format"], reading["first_best"], given), **arguments)

    command.__signature__ = signature.replace(parameters=[*own, *added])  # type: ignore[attr-defined]
    command.__annotations__ = {p.name: p.annotation for p in [*own, *added]}
    del command.__wrapped__  # the new signature is the one to show
    return command  # type: ignore[return-value]
