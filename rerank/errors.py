"""Errors that a user can act on. The command line prints them as a single line and exits with 2."""

from __future__ import annotations


class RerankError(Exception):
    """Base class of every error that this package raises on purpose."""


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
