"""The configuration of a reproduction: steps of commands, and the numbers that they give."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from reproduce.printed import Kind, examples, numbers_in
from rerank.core.errors import ConfigError
from rerank.core.files.read import read_bytes
from rerank.core.registry import did_you_mean
from rerank.core.settings import Settings, setting
from rerank.training.config import yaml_values

# A regular expression with one group, or the keys that lead to a value in the JSON of the step's last line.
Finder = str | list[str | int]


_ASSIGNED = re.compile(r"[A-Z_][A-Z0-9_]*=")


class Step(Settings):
    """Commands that are run one after the other, and what they need."""

    run: list[str] = setting([], "lines 'rerank VERB ...' and 'python SCRIPT.py ...', after NAME=VALUE")
    cheap: bool = setting(False, "takes at most five CPU minutes, so that --cheap runs it")
    needs: list[str] = setting([], "files and folders without which the step is not run; ${NAME} is expanded")


class Number(Settings):
    """Words of the text with one number or several, and how these are found in the output of a step.

    ``find`` is a regular expression with one group, or a list with an entry for each number: a regular
    expression or the path of a value in JSON. Of 'A to B' with one expression, A and B are the least and the
    largest of all its matches.
    """

    text: str = setting("", "what it is")
    printed: str = setting("", "the words as they are printed, with their numbers")
    step: str = setting("", "the step that gives it")
    kind: Kind = setting("exact", "exact, or measured: a time or a ratio of times, which is not judged")
    find: str | list[Finder] = setting("", "how the numbers are found")

    def finders(self) -> list[Finder]:
        """Return an entry for each number, or the single one of a range."""
        return [self.find] if isinstance(self.find, str) else self.find

    @property
    def is_range(self) -> bool:
        """Return whether one expression finds both ends of 'A to B'."""
        return len(self.finders()) == 1 and len(numbers_in(self.printed)) == 2 and " to " in self.printed


class Reproduction(Settings):
    """What is run to regenerate the numbers of a text.

    Commands run in a folder that has links to ``folders``. Commands that the text shows with their output
    (lines of a block that begin with $) are compared with it line by line if a step runs them.
    """

    text: list[str] = setting([], "the files whose numbers are regenerated", path=True)
    folders: list[str] = setting([], "folders that commands see under their own names", path=True)
    steps: dict[str, Step] = setting({}, "commands by name")
    numbers: list[Number] = setting([], "the numbers of the text")
    given: list[str] = setting([], "words of the text whose numbers are conditions, not results")

    def content(self) -> str:
        """Return the texts, one after the other."""
        return "\n".join(bytes(read_bytes(path)).decode("utf-8", "replace") for path in self.text)

    def outputs(self) -> Iterator[tuple[str, str, str]]:
        """Yield step, command and output of each command that the text shows with its output."""
        shown = dict(examples(self.content()))
        for name, step in self.steps.items():
            for line in step.run:
                if shown.get(line, "").strip() not in ("", "..."):
                    yield name, line, shown[line]

    def is_timed(self, step: str) -> bool:
        """Return whether a number of the step is measured, so that it runs alone."""
        return any(number.step == step and number.kind == "measured" for number in self.numbers)


def read_reproduction(path: str) -> Reproduction:
    """Return the reproduction that a YAML file describes; its paths are relative to the file.

    Raises
    ------
    ConfigError, FormatError, RerankError
        With the file and the key, also if the text does not contain what it should print.
    """
    values = yaml_values(path)
    beside = Path(path).parent
    for key in ("text", "folders"):
        if isinstance(values.get(key), list):
            values[key] = [os.path.normpath(beside / str(name)) for name in values[key]]
    if isinstance(values.get("numbers"), list):
        values["numbers"] = [
            Number.checked(entry, f"{path}: numbers: {entry.get('printed')!r}")
            if isinstance(entry, dict)
            else entry
            for entry in values["numbers"]
        ]
    config = Reproduction.checked(values, path)
    if not config.text:
        raise ConfigError(f"{path}: text: not given, expected the files whose numbers are regenerated")
    for fault in _faults(config):
        raise ConfigError(f"{path}: {fault}")
    return config


def _faults(config: Reproduction) -> Iterator[str]:
    """What is wrong, beginning with the key."""
    for name in config.folders:
        if not os.path.isdir(name):
            yield f"folders: {name}: no such folder"
    yield from _faults_of_steps(config)
    for number in config.numbers:
        yield from _faults_of_number(number, config)
    for words in config.given:
        if words not in config.content():
            yield f"given: {words!r} is not in {', '.join(config.text)}"


def _faults_of_steps(config: Reproduction) -> Iterator[str]:
    used = {number.step for number in config.numbers} | {name for name, _, _ in config.outputs()}
    for name, step in config.steps.items():
        if not re.fullmatch(r"[\w.-]*\w", name):
            yield f"steps: found the name {name!r}, expected letters, digits, '-', '_' and '.'"
        if not step.run:
            yield f"steps.{name}.run: no command"
        for line in step.run:
            yield from (f"steps.{name}.run: {line}: {fault}" for fault in _command_faults(line))
        if name not in used:
            yield f"steps.{name}: gives no number and no output of {', '.join(config.text)}"


def _faults_of_number(number: Number, config: Reproduction) -> Iterator[str]:
    where = f"numbers: {number.printed or number.text!r}"
    if not number.printed or number.printed not in config.content():
        yield f"{where} is not in {', '.join(config.text)}"
    if number.step not in config.steps:
        yield f"{where}: no step {number.step!r}; {did_you_mean(number.step, config.steps)}"
    n, finders = len(numbers_in(number.printed)), number.finders()
    if not n:
        yield f"{where}: has no number"
    if len(finders) != n and not number.is_range:
        yield f"{where}: found {len(finders)} entries of find, expected {n}, one for each number"
    for finder in finders:
        if isinstance(finder, str):
            try:
                groups = re.compile(finder).groups
            except re.error as error:
                yield f"{where}: find: {finder}: {error}"
                continue
            if groups != 1:
                yield f"{where}: find: {finder}: found {groups} groups, expected one"


def command_of(line: str) -> tuple[dict[str, str], list[str]]:
    """Return the variables (NAME=VALUE) before a command, and its words; ValueError for an open quotation."""
    words = shlex.split(line)
    n = next((i for i, word in enumerate(words) if not _ASSIGNED.match(word)), len(words))
    return {name: value for name, _, value in (word.partition("=") for word in words[:n])}, words[n:]


def _command_faults(line: str) -> Iterator[str]:
    try:
        _, words = command_of(line)
    except ValueError as error:
        yield str(error).lower()
        return
    script = words[:1] == ["python"] and len(words) > 1 and words[1].endswith(".py")
    if not script and not (words[:1] == ["rerank"] and len(words) > 1):
        yield "expected 'rerank VERB ...' or 'python SCRIPT.py ...'"
