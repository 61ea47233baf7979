"""Errors that a user can act on. The command line prints one as a single line and exits with 2."""

from __future__ import annotations


class RerankError(Exception):
    """Base of every error this package raises on purpose."""


class FormatError(RerankError):
    """A file does not hold what its format asks for.

    ``line`` counts from 1 and is None where no line is to blame (an empty file, a broken archive).
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
    """Arrays or columns do not fit each other, or a needed column is absent."""


class FitError(RerankError):
    """A learner cannot be fitted to this data (no pair, a missing dev set, overflow)."""


class DataNote(UserWarning):
    """Something about the input that is no error but that a user should hear (regrouped lists, ...).

    Given by ``warnings.warn``; the command line prints each as one line on standard error.
    """
