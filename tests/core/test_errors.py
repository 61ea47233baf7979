import pickle

import pytest

from rerank.core.errors import ConfigError, DataError, DataNote, FitError, FormatError, RerankError, Spelling


def test_a_format_error_is_one_line_with_its_place():
    error = FormatError("a.txt", 3, "'x'", "a number")
    assert str(error) == "a.txt:3: found 'x', expected a number"
    assert (error.path, error.line, error.found, error.expected) == ("a.txt", 3, "'x'", "a number")
    assert str(FormatError("a.txt", None, "nothing", "a list")) == "a.txt: found nothing, expected a list"


def test_a_format_error_crosses_processes_whole():
    error = FormatError("a.txt", 3, "'x'", "a number")
    back = pickle.loads(pickle.dumps(error))  # noqa: S301  (as worker processes do)
    assert str(back) == str(error)
    assert back.line == 3


@pytest.mark.parametrize("kind", [FormatError, ConfigError, DataError, FitError])
def test_every_error_is_caught_as_one(kind):
    assert issubclass(kind, RerankError)


def test_a_note_is_a_warning_and_no_error():
    assert issubclass(DataNote, UserWarning)
    assert not issubclass(DataNote, RerankError)


@pytest.mark.parametrize("kind", [RerankError, ConfigError, DataNote])
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x1b]0;title\x07b", r"a\x1b]0;title\x07b"),
        ("a\r\nb\tc\x7f\x9b", r"a\r\nb\tc\x7f\x9b"),
        ("right \u202e to left \u2066\u200b", r"right \u202e to left \u2066\u200b"),
        ("lone \ud800 \udcff", r"lone \ud800 \udcff"),
        ("grüße, 漢字 and 🙂 stay", "grüße, 漢字 and 🙂 stay"),
    ],
)
def test_a_message_is_one_line_that_can_be_printed(kind, text, shown):
    assert str(kind(text)) == shown
    str(kind(text)).encode("utf-8")


def test_a_quoted_text_is_cut_and_the_rest_stays():
    message = str(FormatError("a.txt", 3, repr("x" * 5000), "a number of the learner's own"))
    assert message == f"a.txt:3: found '{'x' * 37}...{'x' * 20}', expected a number of the learner's own"
    assert str(ConfigError(f"found {'it' + chr(39) + 's' * 5000!r}")).endswith('sss"')
    plain = (
        "the learner's settings, which are many, are not those of the heads' table, which are few, so stop"
    )
    assert str(ConfigError(plain)) == plain


@pytest.mark.parametrize(
    "text", ["x" * 10**6, "many short words " * 10**4, "'" * 999, "a 'b" * 999, "\x1b" * 999]
)
def test_a_message_has_at_most_300_characters_and_stays_as_it_is(text):
    message = str(RerankError(f"/folder/{text}: is a folder, expected a file"))
    assert len(message) <= 300
    assert message.startswith("/folder/")
    assert message.endswith("expected a file")
    assert str(RerankError(message)) == message


@pytest.mark.parametrize(
    ("shell", "python"),
    [
        (
            "accepts none: --missing mean, list-mean or zero fills",
            "accepts none: missing='mean', list-mean or zero fills",
        ),
        ("--missing accepts empty cells", "missing accepts empty cells"),
        ("no column 'a' (--id-column)", "no column 'a' (id_column)"),
        ("give them with --refs FILE", "give them with refs=FILE"),
        ("needs labels (--label sBLEU)", "needs labels (label='sBLEU')"),
        ("begins with --init base", "begins with init base"),
        ("--set restarts: at least 1", "restarts: at least 1"),
        ("write it as --as json", "write it as as_ json"),
        ("try 'rerank eval --metric AP' first", "try 'rerank eval --metric AP' first"),
        ("x--y is --no option-- at all", "x--y is no option-- at all"),
        ("a -- b", "a -- b"),
    ],
)
def test_errors_and_notes_name_options_as_their_readers_give_them(monkeypatch, shell, python):
    assert str(DataError(shell)) == shell
    monkeypatch.setattr(Spelling, "shell", False)
    assert str(DataError(shell)) == python
    assert str(FormatError("a", 1, "b", shell)) == f"a:1: found b, expected {python}"
    assert DataError(shell).args == (shell,)
    assert str(DataNote(shell)) == python


def test_the_command_line_spells_options(tmp_path, monkeypatch, rerank):
    monkeypatch.setattr(Spelling, "shell", False)
    (tmp_path / "a.csv").write_text("qid,label,x\na,1,\na,0,2\n")
    made = rerank(
        "train", "--data", tmp_path / "a.csv", "--learner", "ridge", "--out", tmp_path / "m", code=2
    )
    assert "(--missing zero or nan, in training also mean" in made.err
