"""Numbers that a text prints, beside the same numbers found again."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["exact", "measured"]

# A number that is no part of a name (P@1, n2), of a version (3.11.2), of a compound (50-best) or of a path.
_NUMBER = re.compile(
    r"(?<![\w@./])(?<![0-9],)(?P<number>[0-9]{1,3}(?:,[0-9]{3})+|[0-9]*\.[0-9]+|[0-9]+)(?!\w|[.,]?[0-9]|-[A-Za-z])"
)
_BLOCK = re.compile(r"^```(?:console)?\n(\$ .*?)^```$", re.DOTALL | re.MULTILINE)


def number_spans(text: str) -> list[tuple[int, int]]:
    """Return where numbers begin and end in a text; digits of names, versions and paths are none."""
    return [match.span("number") for match in _NUMBER.finditer(text)]


def numbers_in(text: str) -> list[str]:
    """Return the numbers of a text as they are printed."""
    return [text[begin:end] for begin, end in number_spans(text)]


def value_of(number: str) -> float:
    """Return the value of a printed number, such as 990,000 or .449."""
    return float(number.replace(",", ""))


def styled(value: float, like: str) -> str:
    """Return ``value`` with the decimals, the commas and the leading zero of the number ``like``."""
    _, _, decimals = like.partition(".")
    text = f"{value:{',' if ',' in like else ''}.{len(decimals)}f}"
    return text.replace("0.", ".", 1) if like.startswith(".") and text.lstrip("-").startswith("0.") else text


def replaced(text: str, values: Sequence[float]) -> str:
    """Return a text with ``values`` in the place of its numbers, each in the style of the one it replaces."""
    out, at = [], 0
    for (begin, end), value in zip(number_spans(text), values, strict=True):
        out += [text[at:begin], styled(value, text[begin:end])]
        at = end
    return "".join([*out, text[at:]])


def examples(text: str) -> list[tuple[str, str]]:
    """Return the commands (lines ``$ ...``) of a Markdown text's blocks, each with the output below it."""
    return [example for block in _BLOCK.findall(text) for example in commands(block)]


def commands(block: str) -> list[tuple[str, str]]:
    """Return each command of a block, a line ``$ ...``, with the output shown below it."""
    parts = re.split(r"^\$ (.*)\n", block, flags=re.MULTILINE)
    return list(zip(parts[1::2], parts[2::2], strict=True))


@dataclass(frozen=True)
class Regenerated:
    """Something that a text prints, and what was found in its place.

    Attributes
    ----------
    text : what it is.
    step : the commands that give it.
    kind : exact, or measured on this machine and not judged.
    printed : the words of the text, with their numbers.
    found : the same words with the numbers found; None if there are none.
    quotients : found / printed of each number, if it is measured.
    missing : why nothing was found.
    excused : whether that is for a reason outside, such as data that are absent.
    """

    text: str
    step: str
    kind: Kind
    printed: str
    found: str | None = None
    quotients: tuple[float, ...] = ()
    missing: str | None = None
    excused: bool = False

    @property
    def verdict(self) -> str:
        """Return same, differs, measured, or why nothing was found."""
        if self.found is None:
            return self.missing or "not found"
        if self.kind == "measured":
            return "measured"
        return "same" if self.found == self.printed else "differs"

    @property
    def good(self) -> bool:
        """Return False if an exact number differs, or one is missing without an excuse."""
        return self.excused if self.found is None else self.verdict != "differs"

    def as_json(self) -> dict[str, Any]:
        """Return plain values by name."""
        return {
            "text": self.text,
            "step": self.step,
            "kind": self.kind,
            "printed": self.printed,
            "found": self.found,
            "verdict": self.verdict,
            "quotients": list(self.quotients),
        }


def regenerated(text: str, step: str, kind: Kind, printed: str, values: Sequence[float]) -> Regenerated:
    """Return the words ``printed`` with ``values`` in the place of their numbers."""
    quotients: tuple[float, ...] = ()
    if kind == "measured":
        old = [value_of(number) for number in numbers_in(printed)]
        quotients = tuple(new / was for new, was in zip(values, old, strict=True) if was)
    return Regenerated(text, step, kind, printed, replaced(printed, values), quotients)


def same_output(shown: str, found: str) -> bool:
    """Return whether an output is the one shown, in which a line of three dots stands for any lines."""
    shown, found = ("".join(f"{line.rstrip()}\n" for line in text.splitlines()) for text in (shown, found))
    lines = shown.splitlines(keepends=True)
    pattern = "".join("(?:.*\n)*" if line.strip() == "..." else re.escape(line) for line in lines)
    return re.fullmatch(pattern, found) is not None
