"""``rerank rate``, and labels by comparisons."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from rerank.cli.frame import CHOICE, READING, Printed, Verb, inform, verb, write
from rerank.core.errors import ConfigError
from rerank.core.settings import Settings, setting

_ROLES = "the column of a role (list, first, second, winner, preference, ranking, judge, length_1 ...)"


class FromComparisons(Settings):
    """Options of ``rerank label`` for comparisons."""

    from_comparisons: tuple[str, ...] = setting(
        (),
        "comparisons of the candidates, instead of --metric; see 'rerank help preferences'",
        metavar="FILE",
    )
    prior: float | None = setting(
        None, "with --from-comparisons: standard deviation of strengths in a list [1]", metavar="SD"
    )
    column: tuple[str, ...] = setting(
        (), f"with --from-comparisons: {_ROLES}", metavar="ROLE=NAME", group=READING
    )


def by_comparisons(given: Any) -> bool:
    """Label lists by comparisons if options of ``rerank label`` ask for it; return whether they do."""
    if not given.from_comparisons and given.prior is None and not given.column:
        return False
    from rerank.extensions.preferences.labels import PRIOR, label_from_comparisons
    from rerank.metrics.labelling import spread_of

    if not given.from_comparisons:
        raise ConfigError(
            f"--{'column' if given.prior is None else 'prior'}: not used without --from-comparisons"
        )
    unused = [name for name in ("metric", "per_item", "jobs") if getattr(given, name) not in (None, ())]
    if unused:
        raise ConfigError(f"--{unused[0].replace('_', '-')} and --from-comparisons: expected one of both")
    if given.out is None:
        raise ConfigError("--from-comparisons: expected --out, the file of lists to write")
    made = label_from_comparisons(
        given.data,
        list(given.from_comparisons),
        given.out,
        given.to,
        prior=PRIOR if given.prior is None else given.prior,
        columns=columns_of(given.column),
        reading=given.reading,
    )
    inform(spread_of(made, "strength"))
    return True


class Rate(Printed, Verb):
    """Options of ``rerank rate``."""

    comparisons: tuple[str, ...] = setting(
        ..., "tables or JSON Lines of comparisons; - is standard input", argument=True, metavar="COMPARISONS"
    )
    ties: Literal["half", "davidson"] = setting(
        "half", "a tie is half a win of each item, or has a probability of its own", group=CHOICE
    )
    prior: float | None = setting(
        None, "standard deviation of strengths around 0 [no prior]", metavar="SD", group=CHOICE
    )
    order: bool = setting(False, "estimate the advantage of the item that is shown first", group=CHOICE)
    length: Literal["none", "shared", "each"] = setting(
        "none", "control the length of answers: one slope, or one of each item", group=CHOICE
    )
    judge_effects: bool = setting(False, "estimate a slope of each judge: how reliable it is", group=CHOICE)
    reference: str | None = setting(
        None, "the item with strength 0; win rates are against it", metavar="NAME", group=CHOICE
    )
    intervals: Literal["auto", "bootstrap", "profile", "wald", "none"] = setting(
        "auto",
        "how intervals are computed; auto: bootstrap over prompts, or if no prompt has two comparisons "
        "profile likelihood, or wald for over 100 items and with --judge-effects",
        group=CHOICE,
    )
    samples: int = setting(1000, "samples of the bootstrap", metavar="N", ge=1, group=CHOICE)
    seed: int = setting(12345, "random seed of the bootstrap", metavar="N", ge=0, group=CHOICE)
    next: int = setting(0, "comparisons to suggest", metavar="K", ge=0, group=CHOICE)
    scale: Literal["logit", "elo"] = setting("logit", "scale of strengths", group=CHOICE)
    column: tuple[str, ...] = setting((), _ROLES, metavar="ROLE=NAME", group=READING)
    out: str = setting("-", "file to write; - is standard output", flags=("--out", "-o"), metavar="FILE")


@verb(Rate)
def rate(given: Rate) -> None:
    """Rank systems by comparisons: Bradley-Terry, Davidson, Plackett-Luce.

    \b
    rerank rate preferences.tsv
    rerank rate annotations.json --length shared --reference gpt4 --out ladder.json --as json
    rerank rate battles.jsonl --ties davidson --judge-effects --scale elo --next 10
    """
    from rerank.extensions.preferences.ladder import rate as rate_items
    from rerank.formats.sources import check_outputs

    check_outputs({} if given.out == "-" else {"--out": given.out}, list(given.comparisons))
    found = rate_items(columns=columns_of(given.column), **given.others("column", "as_", "out"))
    write(given.as_, found.lines, found.as_json, found.tables, out=given.out)


def columns_of(texts: Sequence[str]) -> dict[str, str]:
    """Return names of columns by role; raises ConfigError if a text is not ROLE=NAME."""
    found = {}
    for text in texts:
        role, _, name = text.partition("=")
        if not (role and name):
            raise ConfigError(f"--column: found {text!r}, expected ROLE=NAME")
        if role in found:
            raise ConfigError(f"--column: found {role!r} twice, expected each role once")
        found[role] = name
    return found
