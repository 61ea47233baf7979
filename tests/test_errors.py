import pickle

import pytest

from rerank.errors import ConfigError, DataError, DataNote, FitError, FormatError, RerankError


def test_a_format_error_is_one_line_with_its_place():
    error = FormatError("a.txt", 3, "'x'", "a number")
    assert str(error) == "a.txt:3: found 'x', expected a number"
    assert (error.path, error.line, error.found, error.expected) == ("a.txt", 3, "'x'", "a number")
    assert str(FormatError("a.txt", None, "nothing", "a list")) == "a.txt: found nothing, expected a list"


def test_a_format_error_crosses_processes_whole():
    error = FormatError("a.txt", 3, "'x'", "a number")
    back = pickle.loads(pickle.dumps(error))  # noqa: S301  (as joblib's workers do)
    assert str(back) == str(error)
    assert back.line == 3


@pytest.mark.parametrize("kind", [FormatError, ConfigError, DataError, FitError])
def test_every_error_is_caught_as_one(kind):
    assert issubclass(kind, RerankError)


def test_a_note_is_a_warning_and_no_error():
    assert issubclass(DataNote, UserWarning)
    assert not issubclass(DataNote, RerankError)
