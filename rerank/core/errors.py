"""Errors that a user can act on. The command line prints them as a single line and exits with 2."""

from __future__ import annotations

import re
from keyword import iskeyword

LONGEST_LINE = 300
LONGEST_QUOTE = 60
LONGEST_CELL = 1000
LONGEST_TEXT = 10_000
_SPACES = "\n\t\u00a0\u1680\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
_QUOTED = re.compile(r"(?<!\w)(['\"])((?:\\.|(?!\1)[^\\])+)\1(?!\w)")
_WORD = re.compile(r"\S+")


def printable(text: str, kept: str = "") -> str:
    """Return ``text`` with an escape, as in Python, for each character that cannot be printed.

    These are control characters, also those of terminals and of bidirectional text, and lone surrogates.
    Those in ``kept`` stay as they are.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in kept else c.encode("unicode_escape").decode() for c in text)


def visible(text: str) -> str:
    """Return ``text`` as ``printable`` does, except that line ends, tabs and blanks of any width stay."""
    return printable(text, _SPACES)


def cell_text(text: str) -> str:
    """Return a text for one cell of a table for people: printable, the middle of a long one left out."""
    return printable(cut(text, LONGEST_CELL))


def one_line(text: str) -> str:
    """Return ``text`` as one line of at most 300 characters that is safe to print.

    What cannot be printed is escaped; a quoted text is cut to 60 characters. If the line is still too long,
    its longest words are cut in the middle. A line that this function returned stays as it is.
    """
    if len(text) <= LONGEST_QUOTE and text.isprintable():
        return text
    line = printable(cut(text, LONGEST_TEXT))
    line = _QUOTED.sub(lambda match: match[1] + cut(match[2], LONGEST_QUOTE) + match[1], line)
    while len(line) > LONGEST_LINE:
        longest = max(_WORD.finditer(line), key=lambda match: len(match[0]))
        room = max(LONGEST_QUOTE, len(longest[0]) - (len(line) - LONGEST_LINE))
        if len(longest[0]) <= room:
            return cut(line, LONGEST_LINE)
        line = line[: longest.start()] + cut(longest[0], room) + line[longest.end() :]
    return line


def cut(text: str, room: int) -> str:
    """Return ``text`` in at most ``room`` characters: its two ends with an ellipsis between them."""
    if len(text) <= room:
        return text
    tail = room // 3
    return f"{text[: room - tail - 3].rstrip(chr(92))}...{text[-tail:]}"


# A command stays as it is; an option may have a value: a metric, a placeholder or one of these words.
_OPTION = re.compile(
    r"'rerank [^']*'|(?<![\w-])--(?:set )?(?P<name>[a-z][a-z-]*[a-z])(?: (?P<value>\w*[A-Z]\w*|error|nan|zero"
    r"|mean|list-mean|list-min|indicator|zscore|sparse|dense|skip|negative|none)(?![\w-]))?"
)


class Spelling:
    """Spelling of options in messages: ``--missing mean`` in the shell, ``missing='mean'`` in Python."""

    shell = False


def spelled(message: str) -> str:
    """Return a message with its options as who reads it gives them."""
    return message if Spelling.shell or "--" not in message else _OPTION.sub(_argument, message)


def _argument(found: re.Match[str]) -> str:
    """An option as an argument of Python."""
    name, value = found["name"], found["value"]
    if name is None:
        return found[0]
    name = name.replace("-", "_") + "_" * iskeyword(name)
    if value is None:
        return name
    return f"{name}={value}" if value.isupper() else f"{name}={value!r}"


class RerankError(Exception):
    """Base class of every error that this package raises on purpose; its message is one line."""

    def __init__(self, message: str = "") -> None:
        super().__init__(one_line(message))

    def __str__(self) -> str:
        return spelled(super().__str__())


class FormatError(RerankError):
    """A file does not follow its format.

    Parameters
    ----------
    path : str
        The file as the user named it.
    line : int or None
        The line from 1, None if no single line is wrong (an empty file, a broken archive).
    found, expected : str
        What is there and what the format requires.
    """

    def __init__(self, path: str, line: int | None, found: str, expected: str) -> None:
        self.path = path
        self.line = line
        self.found = found
        self.expected = expected
        place = path if line is None else f"{path}:{line}"
        super().__init__(f"{place}: found {found}, expected {expected}")

    def __reduce__(self) -> tuple[type[FormatError], tuple[str, int | None, str, str]]:
        return FormatError, (self.path, self.line, self.found, self.expected)


class NeedsWholeError(FormatError):
    """Something that readers and writers of whole files accept, and those of blocks do not."""


class ConfigError(RerankError):
    """A setting, name or option is unknown or out of range."""


class DataError(RerankError):
    """Arrays or columns do not fit each other, or a needed column is missing."""


class FitError(RerankError):
    """A learner cannot be fitted to this data (no pair, a missing dev set, overflow)."""


class DataNote(UserWarning):
    """A remark about the input that is not an error (regrouped lists, unknown features, ...).

    Issued by ``warnings.warn``; the command line prints each as one line on standard error.
    """

    def __init__(self, message: str = "") -> None:
        super().__init__(one_line(message))

    def __str__(self) -> str:
        return spelled(super().__str__())


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during work of which something was kept; the message tells what, and how to go on."""


def os_error(path: str, error: OSError) -> RerankError:
    """Return the one-line error for an operating system's error about ``path``."""
    if isinstance(error, FileNotFoundError):
        return RerankError(f"{path}: no such file or folder")
    if isinstance(error, IsADirectoryError):
        return RerankError(f"{path}: is a folder, expected a file")
    return RerankError(f"{path}: {(error.strerror or str(error)).lower()}")
