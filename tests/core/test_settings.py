"""Settings: short errors, and where none is a value."""

from typing import ClassVar, Literal

import pytest

from rerank.core.errors import ConfigError
from rerank.core.settings import Settings, describe, setting


class Inner(Settings):
    """A section."""

    path: str | None = setting(None, "a path")


class Example(Settings):
    """One setting of each type."""

    whole: int = setting(1, "a count", ge=1, le=9)
    share: float = setting(0.5, "a share", gt=0, lt=1)
    wide: float | None = setting(None, "a width", ge=0)
    way: Literal["up", "down"] = setting("up", "a way")
    flag: bool = setting(False, "a flag")
    files: list[str] = setting([], "files")
    inner: Inner = setting(Inner(), "a section")


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("whole", 0, "found 0, expected 1 or more"),
        ("whole", 10, "found 10, expected 9 or less"),
        ("whole", 1.5, "found 1.5, expected a whole number"),
        ("whole", "x", "found 'x', expected a whole number"),
        ("whole", None, "found none, expected a whole number"),
        ("whole", "none", "found 'none', expected a whole number"),
        ("share", 0, "found 0, expected more than 0"),
        ("share", 1.0, "found 1.0, expected less than 1"),
        ("whole", "1_0", "found '1_0', expected a number"),
        ("share", "0.1_0", "found '0.1_0', expected a number"),
        ("share", "\u0660.5", "found '\u0660.5', expected a number"),
        ("share", float("nan"), "found nan, expected a finite number"),
        ("wide", "1e999", "found '1e999', expected a finite number"),
        ("wide", "x", "found 'x', expected a number"),
        ("wide", float("inf"), "found inf, expected a finite number"),
        ("way", "left", "found 'left', expected 'up' or 'down'"),
        ("flag", "maybe", "found 'maybe', expected true or false"),
        ("files", True, "found true, expected a list"),
        ("files", [1], "found 1, expected text"),
        ("inner", 3, "found 3, expected keys and values"),
    ],
)
def test_a_wrong_value_is_reported_with_what_is_expected(name, value, message):
    with pytest.raises(ConfigError) as caught:
        Example.checked({name: value}, "here")
    assert str(caught.value).startswith(f"here: {name}")
    assert str(caught.value).endswith(f": {message}")


def test_none_is_a_value_unless_the_setting_is_text():
    assert Example(wide="none").wide is None
    assert Example(inner={"path": "none"}).inner.path == "none"


def test_limits_are_shown_with_their_type():
    types = {name: kind for name, kind, *_ in describe(Example)}
    assert types["whole"] == "int >= 1 <= 9"
    assert types["wide"] == "float >= 0 | none"
    assert types["way"] == "up | down"


class Online(Settings):
    """Settings of which one has another name than it had."""

    renamed: ClassVar = {"rounds": "epochs"}
    epochs: int = setting(10, "maximum number of epochs")


class Run(Settings):
    """Settings with such a section."""

    learner: Online = setting(Online(), "the learner")


def test_a_former_name_is_an_error_that_gives_the_new_one():
    with pytest.raises(ConfigError, match=r"unknown setting 'rounds'; it is now 'epochs'$"):
        Online(rounds=3)
    with pytest.raises(ConfigError, match=r"'learner.rounds'; it is now 'epochs'$"):
        Run(learner={"rounds": 3})
