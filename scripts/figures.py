"""Check that every figure of the pages has an entry in scripts/figures.json; ``make lint`` runs it.

A figure is a measured number: one with decimals; one before ×, %, or a unit of time or memory; one before
"to" or "/" and a figure, as in "2 to 3 s"; and any number after the first cell in a row of a table that has
a figure. No figures are code, links, versions, years, numbers of sections and equations, and the constants
that the file lists.

An entry has the figures of a section, or of a row of a table that has a column of commands, in the order in
which they are printed. It has the command that gives them, the commit and the date at which they were written
into the page, and the class of the machine. A page that prints another figure than its entry fails.

    python scripts/figures.py                                        check all pages
    python scripts/figures.py --record PAGE [SECTION [COMMAND...]]   make entries of what the page prints now

``make numbers`` measures again what is cheap, by configs/reproduce.yaml.
"""

from __future__ import annotations

import argparse
import datetime
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from lint_prose import ROOT, pages

FILE = ROOT / "scripts" / "figures.json"
MACHINE = "2 shared cores, x86-64, 24 GiB"

# Blocks of code, code, targets of links.
_CODE = re.compile(r"^(```|~~~).*?^\1 *$|^    [^\n]*$|`[^`\n]*`|\]\([^)]*\)", re.DOTALL | re.MULTILINE)
# No part of a name (P@1), a version (3.11.2), a compound (50-best), a power or a path.
_NUMBER = re.compile(
    r"(?<![\w@.^*-])(?<![^0-9]/)(?<![0-9],)[+-]?(?P<digits>[0-9]{1,3}(?:,[0-9]{3})+|[0-9]*\.[0-9]+|[0-9]+)"
    r"(?![\w^]|[.,]?[0-9]|-[A-Za-z])"
)
_UNIT = re.compile(r"\s*(?:×(?!\s*[0-9])|%|µs|ms|CPU|s\b|seconds|minutes|[KMG]B\b)")
_CONVENTION = (
    r"95\s*%(?=\s+intervals?)|80\s+%\s+of\s+samples|p\s+<\s+0?\.05|0?\.05\s+after|[0-9.]+\s*Å"
    r"|0\.5, 1, 2 and 4 Å"
)
_CITED = re.compile(
    r"(?:[Ss]ections?|[Cc]hapters?|[Ee]quations?|Tables?|Figures?|[Tt]hesis,?|[Vv]ersion|Python|LETOR|YAML|Proposition"
    r"|Theorem|[\w-]+-TK|LightGBM|onnxruntime)\s$"
)
# What stands between the numbers of a range, or of several values of one kind.
_JOINED = re.compile(r"\s*(?:to|/)\s+")
_YEAR = re.compile(r"(?:19[5-9]|20[0-4])\d$")
_HEADING = re.compile(r"^#+ +(.*)$")


@dataclass(frozen=True)
class Figure:
    """A figure of a page: the line, the section or the row of a table, and the number as it is printed."""

    line: int
    section: str
    number: str


def figures(text: str, constants: tuple[str, ...] = ()) -> Iterator[Figure]:
    """Yield the figures of a page, without those in the phrases that are ``constants``."""
    shown = _CODE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    phrases = [r"\s+".join(map(re.escape, phrase.split())) for phrase in constants]
    spans = [found.span() for phrase in (*phrases, _CONVENTION) for found in re.finditer(phrase, text)]
    rows = list(_rows(text, shown))
    numbers = []
    for found in _NUMBER.finditer(shown):
        line = shown.count("\n", 0, found.start())
        is_given = any(first <= found.start() and found.end() <= last for first, last in spans)
        is_cited = _CITED.search(shown, max(0, found.start() - 20), found.start())
        if not is_given and not is_cited and found.start() >= rows[line][1]:
            numbers.append((line, found))
    measured: set[int] = set()  # where measured numbers begin
    for _, found in reversed(numbers):
        joined = _JOINED.match(shown, found.end())
        if (
            "." in found["digits"]
            or _UNIT.match(shown, found.end())
            or (joined is not None and joined.end() in measured)
        ):
            measured.add(found.start())
    shown_lines = shown.split("\n")
    has_figure = {line for line, found in numbers if found.start() in measured}
    for line, found in numbers:
        row = shown_lines[line] if line in has_figure and shown_lines[line][:1] == "|" else ""
        at = found.start() - shown.rfind("\n", 0, found.start()) - 1
        is_value = row and at > row.find("|", 1) and not _YEAR.match(found["digits"])
        if found.start() in measured or is_value:
            yield Figure(line + 1, rows[line][0], found[0])


def _rows(text: str, shown: str) -> Iterator[tuple[str, int]]:
    """Yield the section of each line, and where its figures begin.

    In a table with a column of commands, each row is a section of its own, and its first cell has conditions.
    """
    heading, has_commands, at = "", False, 0
    for line, plain in zip(text.split("\n"), shown.split("\n"), strict=True):
        found = _HEADING.match(plain)
        heading = found[1].strip() if found else heading
        is_row = plain.startswith("|")
        has_commands = is_row and (
            has_commands or plain.rstrip("| ").rpartition("|")[2].strip().startswith("command")
        )
        if has_commands:
            first = line.split("|")[1]
            yield f"{heading}: {first.strip()}", at + len(first) + 2
        else:
            yield heading, at
        at += len(line) + 1


def faults(page: str, text: str, record: dict[str, Any]) -> Iterator[str]:
    """Yield a line for each figure of a page without an entry, and for each entry that the page lacks."""
    entries = record["pages"].get(page, {})
    found: dict[str, list[Figure]] = {section: [] for section in entries}
    for figure in figures(text, tuple(record["constants"].get(page, ()))):
        found.setdefault(figure.section, []).append(figure)
    for section, printed in found.items():
        wanted = entries[section]["figures"] if section in entries else []
        numbers = [figure.number for figure in printed]
        changes = SequenceMatcher(None, wanted, numbers, autojunk=False).get_opcodes()
        again = f"measure it, then python scripts/figures.py --record {page} {section!r}"
        for kind, begin, end, first, last in changes:
            if kind != "equal":
                for figure in printed[first:last]:
                    yield f"{page}:{figure.line}: {figure.number}: no entry in scripts/figures.json; {again}"
                for number in wanted[begin:end]:
                    yield f"{page}: {number}: an entry of {section!r}, which the page does not print there"
    for section, entry in entries.items():
        for key in ("command", "commit", "date", "machine"):
            if not entry.get(key):
                yield f"{page}: {section!r}: no {key} in scripts/figures.json"


def head() -> str:
    """Return the commit that is checked out."""
    command = ["git", "rev-parse", "--short", "HEAD"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def recorded(
    page: str, text: str, record: dict[str, Any], section: str | None, command: str | None, commit: str
) -> None:
    """Make the entries of a page, or of one section, of what it prints now at a commit."""
    found: dict[str, list[str]] = {}
    for figure in figures(text, tuple(record["constants"].get(page, ()))):
        found.setdefault(figure.section, []).append(figure.number)
    old = record["pages"].get(page, {})
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    entries = {}
    for name, numbers in found.items():
        entry = old.get(name, {})
        if entry.get("figures") != numbers and section in (None, name):
            given = command or entry.get("command", "")
            entry = {
                "command": given,
                "commit": commit,
                "date": today,
                "machine": MACHINE,
                "figures": numbers,
            }
        if entry:
            entries[name] = entry
    record["pages"][page] = entries


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return 1 if a figure has no entry."""
    parser = argparse.ArgumentParser(
        "figures", description="Check that every figure of the pages has an entry."
    )
    parser.add_argument("--record", nargs="+", metavar="PAGE", help="a page, a section of it, its commands")
    asked = parser.parse_args(arguments)
    record = json.loads(FILE.read_text(encoding="utf-8"))
    if asked.record:
        page, *more = asked.record
        section, command = (more[0] if more else None), "; ".join(more[1:]) or None
        recorded(page, (ROOT / page).read_text(encoding="utf-8"), record, section, command, head())
        FILE.write_text(as_text(record), encoding="utf-8")
    found: list[str] = []
    for path in pages():
        page = path.relative_to(ROOT).as_posix()
        found += faults(page, path.read_text(encoding="utf-8"), record)
    gone = [page for page in record["pages"] if not (ROOT / page).exists()]
    found += [f"{page}: has entries in scripts/figures.json, but no such page" for page in gone]
    print("".join(f"{line}\n" for line in found), end="")
    return 1 if found else 0


def as_text(record: dict[str, Any]) -> str:
    """Return the record as JSON, each list of figures on one line."""
    text = json.dumps(record, indent=1, ensure_ascii=False)
    return re.sub(r"\[\n[^\]]*\]", lambda found: re.sub(r"\s*\n\s*", " ", found[0]), text) + "\n"


if __name__ == "__main__":
    sys.exit(main())
